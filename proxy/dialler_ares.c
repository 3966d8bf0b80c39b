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

/* First wait for an answer; c-ares doubles it at each of TRIES. */
#define TRY_TIMEOUT_MS 1000
#define TRIES 3
/* RFC 9715 and DNS flag day 2020: fits every path unfragmented. */
#define EDNS_UDP_BYTES 1232
/* A socket for each resolver, UDP and TCP; c-ares has no more. */
#define SOCKETS_MAX (2 * DIALLER_RESOLVERS_MAX)

struct watched {
	int fd; /* -1: not used */
	short what;
	struct event *event;
};

struct dialler_ares {
	struct event_base *base;
	ares_channel channel;
	struct event *timer;
	struct watched sockets[SOCKETS_MAX];
	bool has_resolvers;
};

/* Until c-ares wants to try again, or not at all while nothing is asked. */
static void
set_timer(struct dialler_ares *a)
{
	struct timeval buf;
	const struct timeval *next = ares_timeout(a->channel, NULL, &buf);

	if (next == NULL)
		(void)evtimer_del(a->timer);
	else
		(void)evtimer_add(a->timer, next);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_ares *a = arg;

	(void)fd;
	(void)what;
	ares_process_fd(a->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_timer(a);
}

static void
on_socket(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_ares *a = arg;

	ares_process_fd(a->channel, (what & EV_READ) ? fd : ARES_SOCKET_BAD,
	    (what & EV_WRITE) ? fd : ARES_SOCKET_BAD);
	set_timer(a);
}

static struct watched *
find_socket(struct dialler_ares *a, int fd)
{
	for (int i = 0; i < SOCKETS_MAX; i++)
		if (a->sockets[i].fd == fd)
			return &a->sockets[i];
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
	struct dialler_ares *a = arg;
	const short what =
	    (short)((wants_read ? EV_READ : 0) | (wants_write ? EV_WRITE : 0));
	struct watched *w = find_socket(a, fd);

	if (w != NULL && w->what == what)
		return;
	if (w != NULL)
		unwatch(w);
	else
		w = find_socket(a, -1);
	if (what == 0 || w == NULL)
		return;
	w->event =
	    event_new(a->base, fd, (short)(what | EV_PERSIST), on_socket, a);
	if (w->event == NULL || event_add(w->event, NULL) == -1) {
		unwatch(w);
		return;
	}
	w->fd = fd;
	w->what = what;
}

/* Each option that is left out is looked for in a file or the environment. */
static int
init_channel(struct dialler_ares *a)
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
		.sock_state_cb_data = a,
		.ednspsz = EDNS_UDP_BYTES,
	};
	const int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
	    ARES_OPT_NDOTS | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB |
	    ARES_OPT_SERVERS | ARES_OPT_DOMAINS | ARES_OPT_SORTLIST |
	    ARES_OPT_EDNSPSZ | ARES_OPT_NOROTATE;

	return ares_init_options(&a->channel, &o, mask) == ARES_SUCCESS
	    ? 0
	    : -ENOMEM;
}

int
dialler_ares_new(struct event_base *base, struct dialler_ares **ret)
{
	struct dialler_ares *a;
	int rc;

	if (access("/dev/urandom", R_OK) == -1)
		return -ENOENT;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	a->base = base;
	for (int i = 0; i < SOCKETS_MAX; i++)
		a->sockets[i].fd = -1;
	a->timer = evtimer_new(base, on_timer, a);
	rc = a->timer == NULL ? -ENOMEM : init_channel(a);
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
	if (a->channel != NULL)
		ares_destroy(a->channel);
	for (int i = 0; i < SOCKETS_MAX; i++)
		unwatch(&a->sockets[i]);
	if (a->timer != NULL)
		event_free(a->timer);
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

int
dialler_ares_set_resolvers(struct dialler_ares *a,
    const struct message_resolver *resolvers, unsigned int count)
{
	struct ares_addr_port_node nodes[DIALLER_RESOLVERS_MAX];

	assert(count <= DIALLER_RESOLVERS_MAX);
	for (unsigned int i = 0; i < count; i++) {
		nodes[i] = node_of(&resolvers[i]);
		if (i > 0)
			nodes[i - 1].next = &nodes[i];
	}
	/* It refuses to take others while a question is open. */
	ares_cancel(a->channel);
	set_timer(a);
	a->has_resolvers = false;
	if (ares_set_servers_ports(a->channel, count > 0 ? nodes : NULL) !=
	    ARES_SUCCESS)
		return -ENOMEM;
	a->has_resolvers = count > 0;
	return 0;
}

static void
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is c-ares' */
on_answer(void *arg, int status, int timeouts, unsigned char *packet,
    int packet_len)
{
	struct dialler_query *q = arg;
	const struct span s = { .ptr = packet,
		.len =
		    packet == NULL || packet_len < 0 ? 0 : (size_t)packet_len };

	(void)timeouts;
	q->done(s, status == ARES_ECANCELLED || status == ARES_EDESTRUCTION,
	    q->arg);
}

void
dialler_ares_ask(struct dialler_ares *a, const char *host, uint16_t type,
    struct dialler_query *q)
{
	/* c-ares 1.18.1 would leak the question. */
	if (!a->has_resolvers) {
		q->done((struct span){ NULL, 0 }, false, q->arg);
		return;
	}
	ares_query(a->channel, host, C_IN, type, on_answer, q);
	set_timer(a);
}
