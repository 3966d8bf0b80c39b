/*
 * c-ares, see dialler_ares.h. It owns its sockets and says by a callback what
 * it waits for on each; we keep one event for each socket and one timer.
 */
#include "proxy/dialler_ares.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ares.h>
#include <ares_nameser.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"

/* First wait for an answer; c-ares doubles it at each of TRIES. */
#define TRY_TIMEOUT_MS 1000
#define TRIES 3
/* RFC 9715 and DNS flag day 2020: fits every path unfragmented. */
#define EDNS_UDP_BYTES 1232
/* A socket for each resolver, UDP and TCP; c-ares has no more. */
#define SOCKETS_MAX (2 * DIALLER_RESOLVERS_MAX)

#define LANES 2

struct watched {
	int fd; /* -1: not used */
	short what;
	struct event *event;
};

/*
 * One channel of c-ares. Its resolvers cannot be put into another order while
 * a question is open, and it cannot be made anew in a sealed process, so there
 * are two: new questions go to the one, the other runs dry.
 */
struct dialler_lane {
	struct dialler_ares *ares;
	ares_channel channel;
	unsigned int open; /* questions */
	struct event *timer;
	struct watched sockets[SOCKETS_MAX];
};

struct dialler_ares {
	struct event_base *base;
	struct dialler_lane lanes[LANES];
	struct dialler_lane *current;
	unsigned int count;
	struct message_resolver resolvers[DIALLER_RESOLVERS_MAX];
	unsigned int first;      /* who is asked first */
	bool is_late;            /* that one was silent */
	uint64_t turned_boot_ms; /* when first was set */
	bool has_resolvers;
};

/* Until c-ares wants to try again, or not at all while nothing is asked. */
static void
set_timer(struct dialler_lane *l)
{
	struct timeval buf;
	const struct timeval *next = ares_timeout(l->channel, NULL, &buf);

	if (next == NULL)
		(void)evtimer_del(l->timer);
	else
		(void)evtimer_add(l->timer, next);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_lane *l = arg;

	(void)fd;
	(void)what;
	ares_process_fd(l->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(l);
}

static void
on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_lane *l = arg;

	ares_process_fd(l->channel, (what & EV_READ) ? fd : ARES_SOCKET_BAD,
	    (what & EV_WRITE) ? fd : ARES_SOCKET_BAD);
	set_timer(l);
}

static struct watched *
find_socket(struct dialler_lane *l, int fd)
{
	for (int i = 0; i < SOCKETS_MAX; i++)
		if (l->sockets[i].fd == fd)
			return &l->sockets[i];
	return NULL;
}

static void
unwatch(struct watched *w)
{
	if (w->event != NULL)
		event_free(w->event);
	*w = (struct watched){ .fd = -1 };
}

/*
 * c-ares opens, reuses and closes sockets and tells here. A socket that could
 * not be watched times out, which is an answer.
 */
static void
on_socket_state(void *arg, ares_socket_t fd, int wants_read, int wants_write)
{
	struct dialler_lane *l = arg;
	const short what =
	    (short)((wants_read ? EV_READ : 0) | (wants_write ? EV_WRITE : 0));
	struct watched *w = find_socket(l, fd);

	if (w != NULL && w->what == what)
		return;
	if (w != NULL)
		unwatch(w);
	else
		w = find_socket(l, -1);
	if (what == 0 || w == NULL)
		return;
	w->event = event_new(l->ares->base, fd, (short)(what | EV_PERSIST),
	    on_socket, l);
	if (w->event == NULL || event_add(w->event, NULL) == -1) {
		unwatch(w);
		return;
	}
	w->fd = fd;
	w->what = what;
}

/* Each option that is left out is looked for in a file or the environment. */
static int
init_channel(struct dialler_lane *l)
{
	char lookups[] = "b";
	struct ares_options o = {
		.flags =
		    ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = TRY_TIMEOUT_MS,
		.tries = TRIES,
		.ndots = 1,
		.lookups = lookups,
		.sock_state_cb = on_socket_state,
		.sock_state_cb_data = l,
		.ednspsz = EDNS_UDP_BYTES,
	};
	const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
	    ARES_OPT_NDOTS | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB |
	    ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_SORTLIST |
	    ARES_OPT_EDNSPSZ | ARES_OPT_NOROTATE;

	return ares_init_options(&l->channel, &o, mask) == ARES_SUCCESS
	    ? 0
	    : -ENOMEM;
}

static int
lane_begin(struct dialler_lane *l, struct dialler_ares *a)
{
	l->ares = a;
	l->timer = evtimer_new(a->base, on_timer, l);
	return l->timer == NULL ? -ENOMEM : init_channel(l);
}

static void
lane_end(struct dialler_lane *l)
{
	if (l->channel != NULL)
		ares_destroy(l->channel);
	for (int i = 0; i < SOCKETS_MAX; i++)
		unwatch(&l->sockets[i]);
	if (l->timer != NULL)
		event_free(l->timer);
}

int
dialler_ares_new(struct event_base *base, struct dialler_ares **ret)
{
	struct dialler_ares *a;
	int rc = 0;

	if (access("/dev/urandom", R_OK) == -1)
		return -ENOENT;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	a->base = base;
	a->current = &a->lanes[0];
	for (int i = 0; i < LANES; i++)
		for (int k = 0; k < SOCKETS_MAX; k++)
			a->lanes[i].sockets[k].fd = -1;
	for (int i = 0; i < LANES && rc == 0; i++)
		rc = lane_begin(&a->lanes[i], a);
	if (rc != 0) {
		dialler_ares_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void
dialler_ares_free(struct dialler_ares *a)
{
	if (a == NULL)
		return;
	for (int i = 0; i < LANES; i++)
		lane_end(&a->lanes[i]);
	free(a);
}

static struct ares_addr_port_node
node_of(const struct message_resolver *m)
{
	struct ares_addr_port_node n = {
		.family = m->address.family == 4 ? AF_INET : AF_INET6,
		.udp_port = m->port,
		.tcp_port = m->port,
	};

	memcpy(&n.addr, m->address.bytes,
	    m->address.family == 4 ? sizeof(n.addr.addr4)
				   : sizeof(n.addr.addr6));
	return n;
}

/* All of them, from a->first on; l has no open question. */
static int
set_servers(const struct dialler_ares *a, struct dialler_lane *l)
{
	struct ares_addr_port_node nodes[DIALLER_RESOLVERS_MAX];

	for (unsigned int i = 0; i < a->count; i++) {
		nodes[i] = node_of(&a->resolvers[(a->first + i) % a->count]);
		if (i > 0)
			nodes[i - 1].next = &nodes[i];
	}
	return ares_set_servers_ports(l->channel,
		   a->count > 0 ? nodes : NULL) == ARES_SUCCESS
	    ? 0
	    : -ENOMEM;
}

int
dialler_ares_set_resolvers(struct dialler_ares *a,
    const struct message_resolver *resolvers, unsigned int count)
{
	int rc;

	assert(count <= DIALLER_RESOLVERS_MAX);
	for (int i = 0; i < LANES; i++) {
		ares_cancel(a->lanes[i].channel);
		set_timer(&a->lanes[i]);
	}
	a->count = count;
	if (count > 0)
		memcpy(a->resolvers, resolvers, count * sizeof(resolvers[0]));
	a->first = 0;
	a->is_late = false;
	rc = set_servers(a, a->current);
	a->has_resolvers = rc == 0 && count > 0;
	return rc;
}

/* Whom to ask first from now on; how it was if the other lane is not dry. */
static void
turn_to(struct dialler_ares *a, unsigned int first)
{
	struct dialler_lane *other =
	    &a->lanes[a->current == &a->lanes[0] ? 1 : 0];
	const unsigned int before = a->first;

	if (other->open > 0)
		return;
	a->first = first;
	if (set_servers(a, other) != 0) {
		a->first = before;
		return;
	}
	a->current = other;
	a->is_late = false;
	a->turned_boot_ms = clock_boot_ms();
	log_info("dialler", "resolver=%u of %u is asked first", first + 1,
	    a->count);
}

static void
keep_order(struct dialler_ares *a)
{
	if (a->count < 2)
		return;
	if (a->is_late)
		turn_to(a, (a->first + 1) % a->count);
	else if (a->first != 0 &&
	    clock_boot_ms() - a->turned_boot_ms >= DIALLER_RESOLVER_REST_MS)
		turn_to(a, 0);
}

/*
 * What a status without an answer means. c-ares says ECONNREFUSED of a resolver
 * that is not there, and of one that answers SERVFAIL or REFUSED.
 */
static enum dialler_fault
fault_of(int status)
{
	switch (status) {
	case ARES_ECANCELLED:
	case ARES_EDESTRUCTION:
		return DIALLER_FAULT_CANCELLED;
	case ARES_ETIMEOUT:
		return DIALLER_FAULT_TIMEOUT;
	case ARES_ENOMEM:
		return DIALLER_FAULT_TOO_MANY;
	default:
		return DIALLER_FAULT_FAILED;
	}
}

static void
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is c-ares' */
on_answer(void *arg, int status, int timeouts, unsigned char *packet,
    int packet_len)
{
	struct dialler_query *q = arg;
	struct dialler_ares *a = q->lane->ares;
	const enum dialler_fault fault = fault_of(status);
	const struct span s = { .ptr = packet,
		.len =
		    packet == NULL || packet_len < 0 ? 0 : (size_t)packet_len };

	q->lane->open--;
	if (timeouts > 0 && fault != DIALLER_FAULT_CANCELLED &&
	    q->lane == a->current)
		a->is_late = true;
	q->done(s, s.len > 0 ? DIALLER_FAULT_NONE : fault, q->arg);
}

void
dialler_ares_ask(struct dialler_ares *a, const char *host, uint16_t type,
    struct dialler_query *q)
{
	/* c-ares 1.18.1 would leak the question. */
	if (!a->has_resolvers) {
		q->done((struct span){ NULL, 0 }, DIALLER_FAULT_NO_RESOLVER,
		    q->arg);
		return;
	}
	keep_order(a);
	q->lane = a->current;
	q->lane->open++;
	ares_query(q->lane->channel, host, C_IN, type, on_answer, q);
	set_timer(a->current);
}
