/*
 * One request and its answer, between a guest's half and an origin's half.
 * The halves know their version of HTTP; the exchange knows the verdict, the
 * credential, the origin, time-outs and the audit record.
 *
 * The guest's half makes it, gives it the request and the pieces of its body,
 * and is told by struct exchange_guest_ops what to answer. All calls of both
 * directions may come from inside each other; an exchange that is over is
 * buried (proxy/pool.h), so that none of them is left with freed memory.
 *
 * States: JUDGE, PUSH (reads what a push by git asks for, see
 * exchange_push.c), GRANTS (the broker has not yet said what a guest may not
 * bring), LEASE (asks the broker), SIGN (the body is gathered, since what is to
 * be signed hangs on it), CONNECT (dials, TLS), OPEN (head sent; bodies go both
 * ways), OVER. exchange_enter() is the only writer.
 */
#ifndef TAPWARD_PROXY_EXCHANGE_H
#define TAPWARD_PROXY_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "proxy/deny.h"
#include "proxy/gate.h"
#include "proxy/origin.h"
#include "wire/http.h"

struct exchange;

/* How the body of an answer ends. */
enum exchange_body {
	EXCHANGE_BODY_NONE, /* none, whatever a length says (HEAD, 304) */
	EXCHANGE_BODY_LENGTH,
	EXCHANGE_BODY_UNKNOWN, /* exchange_guest_ops.end tells */
	/*
	 * A WebSocket is open: bytes go both ways, and each way ends by itself,
	 * by exchange_guest_ops.end and by exchange_up_end().
	 */
	EXCHANGE_BODY_TUNNEL,
};

/* Head of an answer. Borrowed until the callee returns. */
struct exchange_head {
	unsigned int status;
	struct span reason;
	struct http_fields fields; /* as they may be sent on */
	enum exchange_body body;
	bool has_length; /* to be declared; with BODY_NONE too */
	uint64_t length;
	/*
	 * The request's body is not whole yet: the guest's connection must
	 * not carry another request (RFC 9112 9.3).
	 */
	bool is_early;
};

/*
 * What the guest's half does for an exchange; arg as given to exchange_start.
 * None of them calls back into the exchange: it gathers, and goes on when the
 * callback that is running has returned.
 */
struct exchange_guest_ops {
	/* The request's body may come: says 100 if the guest waits for it. */
	void (*want_body)(void *arg);
	/* The origin takes body bytes again. */
	void (*resume_body)(void *arg);
	void (*head)(void *arg, const struct exchange_head *h);
	/* Returns how many bytes were taken; the rest is offered again. */
	size_t (*body)(void *arg, struct span data);
	/* Fields behind the body; end comes next. Borrowed. */
	void (*trailers)(void *arg, const struct http_fields *f);
	void (*end)(void *arg);
	/* The answer broke off after its head: show that it is not whole. */
	void (*cut)(void *arg);
	/* Nothing was answered yet: answers this. */
	void (*refuse)(void *arg, const struct deny *d);
	/*
	 * It is over and its record is written; after end (of a tunnel when
	 * both ways ended), cut or refuse. The guest's half forgets it.
	 */
	void (*over)(void *arg);
};

/* Where requests of one guest connection come from. */
struct exchange_front {
	struct gate *gate;
	enum scheme scheme;
	/*
	 * What every request must name: the SNI, which is CONNECT's name too.
	 * "": each request's own authority decides (plain HTTP).
	 */
	const char *host;
	uint16_t port; /* that the guest dialled; 0: the request's own */
	bool is_h2;    /* many of its requests may come at once */
	/* Set with the first record: the connection needs none of its own. */
	bool *is_recorded;
};

/*
 * Judges the request and goes on by itself. req is borrowed until it returns.
 * *slot is set before any call of ops; ops->over may have been called when
 * this returns. 0, or -ENOMEM (nothing was told to ops).
 */
int exchange_start(const struct exchange_front *front,
    const struct http_request *req, const struct exchange_guest_ops *ops,
    void *arg, struct exchange **slot);
/* Bytes of the request's body; returns how many were taken. */
size_t exchange_up(struct exchange *x, struct span data);
/* Fields behind the body, before exchange_up_end(). */
void exchange_up_trailers(struct exchange *x, const struct http_fields *f);
void exchange_up_end(struct exchange *x);
/* May exchange_up() be called now, and would it take something? */
bool exchange_wants_body(const struct exchange *x);
/* Somebody is being asked about it, for as long as that takes. */
bool exchange_is_held(const struct exchange *x);
/* The guest's half takes answer bytes again. */
void exchange_resume(struct exchange *x);
/* The request turned out to be bad: refuses, or cuts, and ends. */
void exchange_reject(struct exchange *x, enum reason reason,
    const char *detail);
/* The guest is gone: ends it without a word; ops->over comes. */
void exchange_abort(struct exchange *x, enum reason reason, const char *detail);
/* The policy was replaced: ends it if it is denied now. */
void exchange_policy_changed(struct exchange *x);

/* --- told by the pool --- */
/* Something is free that an exchange may have waited for. */
void exchange_line_go_on(struct gate *g);
/* What waits for this key will not be able to share a connection. */
void exchange_line_tell(struct gate *g, const struct origin_key *key);

/*
 * A lease of this credential (NULL: of any) was revoked: ends the WebSockets
 * that were opened with one.
 */
void exchange_tunnels_revoke(struct gate *g, const char *credential);

/* --- told by the origin's half --- */
void exchange_origin_ready(struct exchange *x);
/* What an origin that failed has made of the request. */
enum exchange_fate {
	EXCHANGE_FATE_UNKNOWN, /* it may have acted on it */
	/* Nothing came back on a connection that had been idle: most likely
	 * it had closed that before. */
	EXCHANGE_FATE_STALE,
	EXCHANGE_FATE_UNSEEN, /* nothing: it said so (RFC 9113 8.7) */
};
/* detail is printable, of our own words. */
void exchange_origin_failed(struct exchange *x, enum reason reason,
    bool by_ceiling, const char *detail, enum exchange_fate fate);
void exchange_origin_head(struct exchange *x, const struct http_response *res);
size_t exchange_origin_body(struct exchange *x, struct span data);
/* Fields behind the body, before exchange_origin_end(). False: it is over. */
bool exchange_origin_trailers(struct exchange *x, const struct http_fields *f);
/* The answer is whole. */
void exchange_origin_end(struct exchange *x);
/* The origin takes request bytes again. */
void exchange_origin_room(struct exchange *x);
/* Of a tunnel: all of the guest's bytes are written, and our way is closed. */
void exchange_origin_sent(struct exchange *x);
/* Bytes moved: the time-out starts anew. */
void exchange_alive(struct exchange *x);

/* The lease of its request, borrowed; NULL without one. x may be NULL. */
struct injection *exchange_injection(const struct exchange *x);

#endif
