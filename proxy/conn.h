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

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"
#include "base/reason.h"
#include "conf/verdict.h"
#include "proxy/gate.h"

struct event;
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
	struct conn *next, *prev;
	uint64_t id;
	int fd;
	enum conn_state state;
	enum conn_front front;
	uint16_t port;              /* the guest asked for */
	uint32_t dst;               /* address it dialled, host byte order */
	char sni[HOST_NAME_SIZE];   /* canonical, "" until seen */
	/* CONNECT's name, canonical; "" when there was no CONNECT */
	char connect_host[HOST_NAME_SIZE];
	bool offers_http11;         /* ALPN of the ClientHello */
	bool offers_h2;
	uint64_t opened_ms;         /* clock_mono_ms() */
	uint32_t policy_generation; /* judged under */

	struct event *event;        /* on fd while PEEK or DIAL */
	struct event *timer;
	struct relay *relay;
	struct inspect *inspect;
};

/*
 * Ends it: audit record if none was written for its decision, descriptor
 * closed, memory freed on the next turn of the loop. reason REASON_NONE: it
 * ended in order. A reset is sent when the reason is not REASON_NONE and no
 * answer was given.
 */
void conn_close(struct conn *c, enum reason reason);

/*
 * For inspect.c after it answered 200 to a CONNECT: the connection goes back
 * to PEEK as CONN_FRONT_TLS, with connect_host and port set. Its descriptor
 * must have no events left on it and no byte read past the CONNECT head.
 */
void conn_restart_as_tls(struct conn *c);

/* (Re)arms the only timer of the connection; on expiry it is closed. */
void conn_set_timeout(struct conn *c, uint32_t timeout_ms, enum reason why);

#endif
