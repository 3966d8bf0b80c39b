/*
 * What the h2_guest*.c files share. For nobody else.
 */
#ifndef TAPWARD_PROXY_H2_GUEST_PRIVATE_H
#define TAPWARD_PROXY_H2_GUEST_PRIVATE_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "proxy/blocks.h"
#include "proxy/h2_guest.h"
#include "proxy/h2_head.h"
#include "proxy/h2_link.h"
#include "proxy/pool.h"

/* One request. It lives as long as its stream. */
struct h2_stream {
	struct h2_guest *h;
	TAILQ_ENTRY(h2_stream) link;
	int32_t id;
	struct exchange *x; /* NULL before, and once it is over */

	/* the request */
	struct h2_head head; /* its head, then its trailers */
	bool is_head_large;
	bool has_request;
	bool is_head_method;
	bool is_grpc;
	bool expects_continue;
	bool is_whole;
	bool is_end_invited; /* has a window that its end alone can use */
	bool is_held;        /* its head is judged at the end of the stream */
	uint64_t declared;   /* by content-length; 0: nothing to hold to it */
	struct blocks in;    /* of its body, not taken yet */
	uint64_t received;   /* body bytes */
	size_t window_more;  /* its share of the connection's window_left */
	bool is_up_ended;
	bool is_up_blocked;

	/* the answer */
	struct buf out;
	struct h2_head trailers;
	bool is_ended;        /* nothing comes behind out and trailers */
	bool is_deferred;     /* the session waits for more of it */
	bool is_down_blocked; /* the exchange waits for room */
	/*
	 * Its end is sent, and until then the guest may end its own direction;
	 * 0: it was not sent, or the guest has.
	 */
	uint64_t linger_ms;
};

TAILQ_HEAD(h2_stream_list, h2_stream);

struct h2_guest {
	struct grave grave; /* first: a grave is its h2_guest */
	struct h2_guest_spec spec;
	struct gate *gate;
	struct h2_link link;
	struct h2_stream_list streams;
	size_t stream_count;
	size_t window_left; /* that streams may have more than usual */
	bool is_running;    /* h2_guest_run() is on the stack */
	bool is_settled;    /* somebody was told that it is finished */
	bool is_dead;
	bool is_readable; /* a read may give something */
	bool is_ended;    /* the guest closed its direction */
	bool has_work;    /* some stream may be pumped */
	bool has_room;    /* some exchange may be resumed */

	struct event timer;
	struct event kick;
	struct event linger; /* of the streams that have linger_ms */
	uint64_t timer_ms;   /* when it fires; 0: not set */
	uint64_t moved_ms;   /* bytes went, or a stream ended */
	uint64_t bytes_seen; /* of link.bytes */
	uint64_t head_ms;    /* since when a head is not whole; 0 */
};

/* --- h2_guest.c --- */
/* Runs it when the callback that is running has returned. */
void h2_guest_kick(struct h2_guest *h);

/* The answer is whole, the request is not. */
void h2_guest_linger(struct h2_guest *h, struct h2_stream *s);

/* --- h2_guest_session.c --- */
/* 0 or -ENOMEM. */
int h2_guest_session(struct h2_guest *h);
/* Takes it off its connection; ends its exchange for detail. */
void h2_stream_free(struct h2_stream *s, const char *detail);

/* --- h2_guest_stream.c --- */
extern const struct exchange_guest_ops h2_guest_ops;
/* The head is whole: judges it, or holds it until the stream ends. */
void h2_stream_begin(struct h2_stream *s);
/* It ended, for detail, while its head was held: a record. */
void h2_stream_lost(struct h2_stream *s, const char *detail);
/* What is no request by RFC 9113: a stream error, and a record. */
void h2_stream_malformed(struct h2_stream *s, const char *detail);
/* Bytes of its body; those that cannot be taken now are kept. */
void h2_stream_body(struct h2_stream *s, struct span data);
/* All of a frame of it came; is_last: the stream's end, too. */
void h2_stream_frame_end(struct h2_stream *s, bool is_last);
/* Gives the exchange what it takes. */
void h2_stream_pump(struct h2_stream *s);
h2_read_body h2_stream_read; /* of its answer */

#endif
