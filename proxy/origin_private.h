/*
 * What the origin*.c and h2_origin*.c files share. For nobody else.
 *
 * States: NEW, DIAL (asked the dialler), TLS (handshake), READY (nothing
 * sent), ASKED (head sent, no whole head came back), ANSWER (its body), ENDED
 * (all of it was taken), IDLE (in the pool), DEAD (buried).
 */
#ifndef TAPWARD_PROXY_ORIGIN_PRIVATE_H
#define TAPWARD_PROXY_ORIGIN_PRIVATE_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "proxy/blocks.h"
#include "proxy/buf.h"
#include "proxy/dial.h"
#include "proxy/h2_head.h"
#include "proxy/origin.h"
#include "proxy/pool.h"
#include "proxy/stream.h"
#include "proxy/tls.h"
#include "wire/chunked.h"
#include "wire/http_write.h"

enum origin_state {
	ORIGIN_NEW,
	ORIGIN_DIAL,
	ORIGIN_TLS,
	ORIGIN_READY,
	ORIGIN_ASKED,
	ORIGIN_ANSWER,
	ORIGIN_ENDED,
	ORIGIN_IDLE,
	ORIGIN_DEAD,
};

struct h2_origin;
struct origin_proof;

struct origin {
	struct grave grave; /* first: a grave is its origin */
	struct gate *gate;
	struct origin_key key;
	struct origin *next, *prev;
	uint64_t generation;  /* gate_origin_generation() it is of */
	uint32_t revocations; /* when it was given to x */
	enum origin_state state;
	struct exchange *x;           /* NULL while idle */
	struct injection *credential; /* that was sent last; or NULL */

	struct dial *dial;
	bool is_connecting; /* link is in the pool's list of those */
	int fd;
	char address[ADDRESS_TEXT_SIZE];
	struct tls_origin tls;
	struct origin_proof
	    *proof; /* of a handshake that shows a certificate */
	struct stream stream;
	bool has_stream;
	struct event timer; /* of the handshake, or of being idle */
	struct event kick;
	uint64_t idle_since_ms;
	uint32_t idle_max_ms;
	bool was_idle; /* this exchange found it in the pool */

	/* the request */
	struct buf out;
	enum http_method method;
	enum http_framing up_framing;
	uint64_t up_left;
	bool is_up_whole;
	bool is_up_blocked; /* the exchange waits for room */
	bool is_write_failed;

	/* the answer */
	struct buf in;
	struct http_scan scan;
	unsigned int interim_count;
	bool has_answer_bytes;
	bool is_bulk; /* the last read took as much as it could */
	bool keeps;   /* the connection can carry another exchange */
	enum http_framing framing;
	uint64_t left; /* of the body, or of what is ready */
	struct chunked chunked;
	size_t ready; /* decoded bytes at the front of in */
	bool is_chunked_done;
	bool is_down_ended;  /* of a tunnel; the other way may go on */
	struct buf trailers; /* their section, as it came */

	/* As a stream of HTTP/2; then dial to stream above are not used. */
	bool is_h2;
	struct h2_origin *h2;     /* NULL: it has left its connection */
	TAILQ_ENTRY(origin) link; /* of its connection's, or of connecting */
	int32_t stream_id;   /* 0 before its head is sent, and once it ended */
	struct h2_head head; /* that comes in: its head, then its trailers */
	struct h2_head up_trailers;
	bool is_head_large;
	bool is_deferred;   /* the session waits for more of the body */
	bool is_up_sent;    /* with its end */
	bool is_down_whole; /* all of the answer came */
	uint64_t received;  /* body bytes */
	struct blocks held; /* those that were not taken yet */
	size_t window_more; /* its share of the connection's window_left */
};

/* origin_send.c: writes what is in out. */
void origin_write(struct origin *o);

/* origin_answer.c */
/* Connected: the exchange may ask, unless it has an answer already. */
void origin_answer_await(struct origin *o);
void origin_answer_begin(struct origin *o);
/* Reads what is there, and goes on. */
void origin_answer_read(struct origin *o);
/* Goes on with what was read before. */
void origin_answer_run(struct origin *o);

/* --- origin_tunnel.c --- */
/* The 101 was let through: bytes go both ways. */
void origin_tunnel_begin(struct origin *o);
/* The origin closed its direction; is_cut: no more can be written, either. */
void origin_tunnel_ended(struct origin *o, bool is_cut);
/* What was to be written is: closes our direction if the guest did. */
void origin_tunnel_written(struct origin *o);

#endif
