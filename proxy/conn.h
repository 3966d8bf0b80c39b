/*
 * One connection of the guest, from accept to close.
 *
 * States: PEEK (first bytes, not consumed: MSG_PEEK), DIAL (relay only: waits
 * for the dialler), RELAY (bytes go both ways unseen), INSPECT (inspect.c owns
 * the descriptor's events), CLOSING (freed on the next turn). conn_enter() is
 * the only writer of state. After conn_close() nobody touches the connection.
 */
#ifndef TAPWARD_PROXY_CONN_H
#define TAPWARD_PROXY_CONN_H

#include <event2/event_struct.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/names.h"
#include "base/reason.h"
#include "conf/verdict.h"
#include "proxy/gate.h"
#include "proxy/meter.h"

struct inspect;
struct relay;

enum conn_state {
	CONN_PEEK,
	CONN_DIAL,
	CONN_RELAY,
	CONN_INSPECT,
	CONN_CLOSING,
	CONN_STATES
};

/* By what the guest came in. */
enum conn_front {
	CONN_FRONT_TLS,      /* a TLS port, or the inside of a CONNECT to one */
	CONN_FRONT_HTTP,     /* plain HTTP by port */
	CONN_FRONT_EXPLICIT, /* the explicit proxy on the gateway */
	CONN_FRONT_TCP,      /* reserved address of a scheme = tcp rule */
};

struct conn {
	struct gate *gate;
	TAILQ_ENTRY(conn) link;
	uint64_t id;
	int fd;
	enum conn_state state;
	enum conn_front front;
	uint16_t port; /* the guest asked for */
	uint32_t dst;  /* address it dialled, host byte order */
	/* canonical, "" until seen; TCP: the host that dst is reserved for */
	char sni[HOST_NAME_SIZE];
	char
	    *connect_host; /* CONNECT's name, canonical; NULL without CONNECT */
	bool has_record_size_limit; /* of the ClientHello */
	uint64_t opened_ms;         /* clock_mono_ms() */
	uint32_t policy_generation; /* judged under */
	/*
	 * An audit record tells of it. inspect.c sets it with its first request
	 * record; else conn_close() writes one.
	 */
	bool is_recorded;
	/* The guest was told why (alert, 403): its end is in order, no reset.
	 */
	bool is_answered;
	bool is_closing;    /* the guest's end of stream is in sight */
	const char *detail; /* for its record: one clause, static; or NULL */
	enum reason timeout_reason;

	struct meter_bit spent; /* the budget that has ended it */

	struct event event; /* on fd in RELAY, in PEEK once it waits */
	struct event timer;
	struct relay *relay;
	struct inspect *inspect;
};

/*
 * Ends it: audit record if none was written for its decision, descriptor
 * closed, memory freed on the next turn of the loop. reason REASON_NONE: it
 * ended in order. A reset is sent when the reason is not REASON_NONE and no
 * answer was given (is_answered).
 */
void conn_close(struct conn *c, enum reason reason);

/*
 * For inspect.c after it answered 200 to a CONNECT to host (canonical, copied)
 * and port: the connection goes back to PEEK as CONN_FRONT_TLS, or is joined
 * to its origin at once if the policy says scheme = tcp. Its descriptor must
 * have no events left on it and no byte read past the CONNECT head. c->inspect
 * is freed in here: the caller returns without touching it or c.
 */
void conn_restart_as_tls(struct conn *c, const char *host, uint16_t port);

/* (Re)arms the only timer of the connection; on expiry it is closed. */
void conn_set_timeout(struct conn *c, uint32_t timeout_ms, enum reason why);

/* The name it is judged by: SNI, CONNECT's, an address's; "" if none. */
const char *conn_host(const struct conn *c);

/*
 * For listen.c: a connection that was accepted; takes fd. is_explicit: on the
 * gateway's proxy port. It may be closed again when this returns.
 */
void conn_open(struct gate *g, int fd, bool is_explicit);

/* For relay.c: a budget has ended it. */
void conn_spend(struct conn *c, enum reason reason, struct meter_bit budget);
/* For relay.c: the dialler has answered. */
void conn_relay_begins(struct conn *c);
void conn_relay_failed(struct conn *c, enum reason reason);

/* For gate.c. */
int conns_init(struct gate *g); /* 0 or -errno */
/* Judges all anew: ends what the policy in force does not allow. */
void conns_policy_changed(struct gate *g);
/* Ends all, each with its record. */
void conns_end(struct gate *g);
/* Ends all and frees them at once: not from inside a callback of one. */
void conns_done(struct gate *g);

#endif
