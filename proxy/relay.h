/*
 * Joins a guest's connection to an origin's, bytes unseen: passthrough and
 * `scheme = tcp`.
 */
#ifndef TAPWARD_PROXY_RELAY_H
#define TAPWARD_PROXY_RELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"
#include "base/reason.h"
#include "proxy/conn.h"
#include "proxy/meter.h"

struct relay;

/* What a relay has to say in the record of its connection. */
struct relay_account {
	uint64_t up;         /* bytes that the origin took */
	uint64_t down;       /* bytes that the guest took */
	const char *address; /* of the origin; "" while there is none */
	const char *how;     /* it ended: one clause, "" in order */
	bool by_ceiling;     /* the dialler refused for the ceiling */
};

/* Makes g->relays. 0 or -ENOMEM. */
int relays_new(struct gate *g);
void relays_free(struct gate *g); /* every relay is gone by then */

/*
 * Asks for the origin of conn_host(c), which v allows; sets c->relay. -ENOMEM,
 * -EDQUOT if a budget does not let it through (*ret says which), or 0: then
 * conn_relay_begins() or conn_close() follows from the loop.
 */
int relay_dial(struct conn *c, const struct verdict *v,
    struct meter_refusal *ret);
/* Another policy allows it, too: it counts for what v says. */
void relay_rejoin(struct relay *r, const struct verdict *v);
/* The origin is there: moves bytes from here on, until conn_close(). */
void relay_begin(struct relay *r);
/* c->fd can be read, or was closed (libevent's EV_ bits). */
void relay_on_guest(struct relay *r, short what);
/* The other end is to be reset too. */
bool relay_is_broken(const struct relay *r);
struct relay_account relay_account(const struct relay *r);
/* Closes the origin's connection. NULL is fine. */
void relay_free(struct relay *r);

#endif
