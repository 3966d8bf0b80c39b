/*
 * What the h1_guest*.c files share. For nobody else.
 */
#ifndef TAPWARD_PROXY_H1_GUEST_PRIVATE_H
#define TAPWARD_PROXY_H1_GUEST_PRIVATE_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "proxy/buf.h"
#include "proxy/h1_guest.h"
#include "proxy/pool.h"
#include "wire/chunked.h"
#include "wire/http.h"

enum h1_state {
	H1_HEAD,
	H1_LOOK,      /* at a chunked body, before the request goes on */
	H1_BODY,      /* of the request, while the answer may have begun */
	H1_WAIT,      /* the request is whole, the answer is not */
	H1_TUNNEL,    /* a WebSocket is open */
	H1_DRAIN,     /* refused in the middle of a body: reads and drops */
	H1_CLOSE,     /* writes the rest */
	H1_LINGER,    /* our direction is closed, the guest's is not yet */
	H1_CONNECTED, /* writes the 200 to CONNECT */
	H1_DEAD,
	H1_STATES
};

struct h1_guest {
	struct grave grave; /* first: a grave is its h1_guest */
	struct h1_guest_spec spec;
	struct gate *gate;
	enum h1_state state;
	struct buf in, out;
	struct exchange *x;
	bool is_running;  /* h1_guest_run() is on the stack */
	bool is_settled;  /* it is finished, and somebody was told */
	bool is_readable; /* a read may give something */
	bool is_ended;    /* the guest closed its direction */
	bool has_seen_request;

	/* One timer, moved only when it would fire too late. */
	struct event timer;
	struct event kick;
	struct event closed;  /* while its request is held */
	uint64_t deadline_ms; /* 0: none */
	uint64_t timer_ms;    /* when it fires; 0: not set */
	uint64_t used_ms;     /* when the deadline was set */
	bool is_resting;      /* idle for long: it holds no buffers */

	/* the request */
	struct http_scan scan;
	/* While it is looked at or taken: of the head in front of in. */
	size_t head_len;
	size_t looked;     /* how far was looked */
	bool is_look_over; /* what is there will do */
	enum http_method method;
	unsigned int minor;
	bool keeps;   /* another request may follow */
	bool is_last; /* the guest said that none does */
	bool takes_trailers;
	bool expects_continue;
	enum http_framing framing;
	uint64_t left;
	struct chunked chunked;
	size_t ready; /* decoded bytes at the front of in */
	bool is_whole;
	bool is_broken; /* the body's framing is wrong */
	bool is_up_blocked;
	struct h1_connect connect;

	/* the answer */
	bool is_answer_chunked;
	struct buf trailers; /* written, for its end */
	bool is_down_blocked;
	bool is_down_ended; /* of a tunnel */
	bool is_cut;
	uint64_t dropped; /* bytes read while draining */
};

/* --- h1_guest.c --- */
void h1_guest_enter(struct h1_guest *h, enum h1_state next);
/* Runs it when the callback that is running has returned. */
void h1_guest_kick(struct h1_guest *h);
/* Reads. True: there is more in the buffer, or the end was noticed. */
bool h1_guest_fill(struct h1_guest *h);
/* Nobody wants what comes in now: it would be told again and again. False. */
bool h1_guest_pause(struct h1_guest *h);

/* --- h1_guest_time.c --- */
void h1_guest_init_timer(struct h1_guest *h);
/* Milliseconds from now; 0: none. */
void h1_guest_set_deadline(struct h1_guest *h, uint64_t ms);

/* --- h1_guest_head.c --- */
/* Takes a head out of in. False: it is not whole yet. */
bool h1_guest_take_head(struct h1_guest *h);
/* An answer of ours to what is no request; then closes. */
void h1_guest_refuse_head(struct h1_guest *h, struct deny *d);
/* The head that len bytes of in hold goes on; they are taken. */
void h1_guest_take_request(struct h1_guest *h, const struct http_request *req,
    size_t len);

/* --- h1_guest_look.c --- */
/* Begins to look at the body behind the head of len bytes. */
void h1_guest_look(struct h1_guest *h, const struct http_request *req,
    size_t len);
bool h1_guest_step_look(struct h1_guest *h);
/* Time is up. */
void h1_guest_end_look(struct h1_guest *h);

/* --- h1_guest_tunnel.c --- */
/* Its 101 is being written: what makes it one, and the state. */
void h1_guest_open_tunnel(struct h1_guest *h, struct wr *w);
bool h1_guest_step_tunnel(struct h1_guest *h);

/* --- h1_guest_answer.c --- */
extern const struct exchange_guest_ops h1_guest_ops;
/* Whole answer into out. */
void h1_guest_write_deny(struct h1_guest *h, const struct deny *d, bool keeps);

#endif
