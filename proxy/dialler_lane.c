/*
 * c-ares on libevent, see dialler_lane.h. It owns its sockets and says by a
 * callback what it waits for on each; we keep one event for each socket and
 * one timer.
 */
#include "proxy/dialler_lane.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <ares_nameser.h>

/* RFC 9715 and DNS flag day 2020: fits every path unfragmented. */
#define EDNS_UDP_BYTES 1232

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

	l->reading_fd = (what & EV_READ) ? fd : -1;
	ares_process_fd(l->channel, (what & EV_READ) ? fd : ARES_SOCKET_BAD,
	    (what & EV_WRITE) ? fd : ARES_SOCKET_BAD);
	l->reading_fd = -1;
	set_timer(l);
}

static struct dialler_lane_socket *
find_socket(struct dialler_lane *l, int fd)
{
	for (int i = 0; i < DIALLER_LANE_SOCKETS_MAX; i++)
		if (l->sockets[i].fd == fd)
			return &l->sockets[i];
	return NULL;
}

static void
unwatch(struct dialler_lane_socket *w)
{
	if (w->event != NULL)
		event_free(w->event);
	*w = (struct dialler_lane_socket){ .fd = -1 };
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
	struct dialler_lane_socket *w = find_socket(l, fd);

	if (w != NULL && w->what == what)
		return;
	if (w != NULL)
		unwatch(w);
	else
		w = find_socket(l, -1);
	if (what == 0 || w == NULL)
		return;
	w->event =
	    event_new(l->base, fd, (short)(what | EV_PERSIST), on_socket, l);
	if (w->event == NULL || event_add(w->event, NULL) == -1) {
		unwatch(w);
		return;
	}
	w->fd = fd;
	w->what = what;
}

/* Each option that is left out is looked for in a file or the environment. */
static int
init_channel(struct dialler_lane *l, const struct dialler_lane_how *how)
{
	char lookups[] = "b";
	struct ares_options o = {
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES |
		    ARES_FLAG_EDNS |
		    (how->takes_failures ? ARES_FLAG_NOCHECKRESP : 0),
		.timeout = how->timeout_ms,
		.tries = how->tries,
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

int
dialler_lane_init(struct dialler_lane *l, struct event_base *base,
    const struct dialler_lane_how *how)
{
	l->base = base;
	l->reading_fd = -1;
	for (int i = 0; i < DIALLER_LANE_SOCKETS_MAX; i++)
		l->sockets[i].fd = -1;
	l->timer = evtimer_new(base, on_timer, l);
	return l->timer == NULL ? -ENOMEM : init_channel(l, how);
}

void
dialler_lane_done(struct dialler_lane *l)
{
	if (l->channel != NULL)
		ares_destroy(l->channel);
	for (int i = 0; i < DIALLER_LANE_SOCKETS_MAX; i++)
		unwatch(&l->sockets[i]);
	if (l->timer != NULL)
		event_free(l->timer);
}

void
dialler_lane_cancel(struct dialler_lane *l)
{
	ares_cancel(l->channel);
	set_timer(l);
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
dialler_lane_set(struct dialler_lane *l, const struct message_resolver *all,
    unsigned int count, unsigned int first)
{
	struct ares_addr_port_node nodes[DIALLER_RESOLVERS_MAX];

	for (unsigned int i = 0; i < count; i++) {
		nodes[i] = node_of(&all[(first + i) % count]);
		if (i > 0)
			nodes[i - 1].next = &nodes[i];
	}
	return ares_set_servers_ports(l->channel, count > 0 ? nodes : NULL) ==
		ARES_SUCCESS
	    ? 0
	    : -ENOMEM;
}

void
dialler_lane_ask(struct dialler_lane *l, const char *host, uint16_t type,
    ares_callback done, void *arg)
{
	ares_query(l->channel, host, C_IN, type, done, arg);
	set_timer(l);
}

struct span
dialler_lane_packet(const unsigned char *packet, int len)
{
	return (struct span){ .ptr = packet,
		.len = packet == NULL || len < 0 ? 0 : (size_t)len };
}

static bool
is_at(const struct message_resolver *r, const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in4 = (const struct sockaddr_in *)ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

	if (r->address.family == 4)
		return ss->ss_family == AF_INET &&
		    ntohs(in4->sin_port) == r->port &&
		    memcmp(&in4->sin_addr, r->address.bytes, 4) == 0;
	return ss->ss_family == AF_INET6 && ntohs(in6->sin6_port) == r->port &&
	    memcmp(&in6->sin6_addr, r->address.bytes, 16) == 0;
}

unsigned int
dialler_lane_sender(const struct dialler_lane *l,
    const struct message_resolver *all, unsigned int count)
{
	struct sockaddr_storage ss = { 0 };
	socklen_t len = sizeof(ss);
	unsigned int i = 0;

	if (l->reading_fd == -1 ||
	    getpeername(l->reading_fd, (struct sockaddr *)&ss, &len) == -1)
		return count;
	while (i < count && !is_at(&all[i], &ss))
		i++;
	return i;
}

enum dialler_fault
dialler_lane_fault(int status)
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
