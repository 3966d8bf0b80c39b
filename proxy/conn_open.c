/*
 * The beginning of a guest connection: who gets one, and by what front it
 * came in. Protocol goes by port, never by what the bytes look like.
 */
#include "proxy/conn.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proxy/audit.h"
#include "proxy/conn_private.h"
#include "proxy/synth.h"

/* Between two records of connections over the cap. */
#define OVER_CAP_MS 1000

#define PORT_HTTP 80
#define PORT_TLS 443

/* A `scheme = tcp` host: nothing to look at but address and port. */
void
conn_judge_tcp(struct conn *c)
{
	struct verdict v = conn_verdict(c);

	c->policy_generation = c->gate->policy_generation;
	if (v.action != ACTION_ALLOW || v.scheme != SCHEME_TCP) {
		conn_close(c,
		    v.action == ACTION_ALLOW ? REASON_NO_RULE : v.reason);
		return;
	}
	if (!audit_is_ready(c->gate)) {
		conn_close(c, REASON_AUDIT_UNAVAILABLE);
		return;
	}
	conn_enter(c, CONN_DIAL);
}

static bool
read_destination(struct conn *c)
{
	struct sockaddr_in to = { 0 };
	socklen_t len = sizeof(to);

	/* TPROXY: the local address is the one that the guest dialled. */
	if (getsockname(c->fd, (struct sockaddr *)&to, &len) == -1 ||
	    to.sin_family != AF_INET)
		return false;
	c->dst = ntohl(to.sin_addr.s_addr);
	c->port = ntohs(to.sin_port);
	return true;
}

/*
 * What is spoken on a port that has no scheme of its own. The name is what the
 * guest was told this address stands for: a hint at the rule that it has in
 * mind, which then has to hold for the name in the connection.
 */
static enum conn_front
front_by_hint(const struct conn *c)
{
	const char *name = synth_find(c->gate->synth, c->dst);
	struct verdict v;

	if (name == NULL)
		return CONN_FRONT_TLS;
	v = policy_judge_connect(&c->gate->pair, name, c->port);
	return v.scheme == SCHEME_HTTP ? CONN_FRONT_HTTP : CONN_FRONT_TLS;
}

static bool
is_reserved(struct conn *c)
{
	struct policy_tcp tcp;
	size_t len;

	if (!policy_tcp_find(&c->gate->pair,
		synth_to_policy(c->gate->synth, c->dst), c->port, &tcp))
		return false;
	len = strlen(tcp.host);
	assert(len < sizeof(c->sni));
	memcpy(c->sni, tcp.host, len);
	return true;
}

static enum conn_front
front_of(struct conn *c)
{
	if (is_reserved(c))
		return CONN_FRONT_TCP;
	if (c->port == PORT_HTTP)
		return CONN_FRONT_HTTP;
	if (c->port == PORT_TLS)
		return CONN_FRONT_TLS;
	return front_by_hint(c);
}

static void
conn_begin(struct conn *c)
{
	switch (c->front) {
	case CONN_FRONT_TLS:
		conn_enter(c, CONN_PEEK);
		break;
	case CONN_FRONT_HTTP:
	case CONN_FRONT_EXPLICIT:
		conn_enter(c, CONN_INSPECT);
		break;
	case CONN_FRONT_TCP:
		conn_judge_tcp(c);
		break;
	}
}

/* A guest can do this by the thousand: counted, told once a second. */
static void
tell_over_cap(struct gate *g)
{
	struct conns *cs = g->conns;
	struct audit_record r = audit_record_init(AUDIT_CONNECT);
	uint64_t now_ms = clock_mono_ms();
	char text[64];
	struct wr w = wr_init(text, sizeof(text));

	if (cs->over_cap_ms != 0 && now_ms - cs->over_cap_ms < OVER_CAP_MS)
		return;
	wr_fmt(&w, "%llu connections refused",
	    (unsigned long long)cs->over_cap);
	r.reason = REASON_LIMIT_CONNECTIONS;
	r.detail = (struct span){ w.buf, w.len };
	audit_send(g, &r);
	cs->over_cap = 0;
	cs->over_cap_ms = now_ms;
}

/* Takes fd. NULL: no memory, or not a connection that can be told. */
static struct conn *
conn_new(struct gate *g, int fd, bool is_explicit)
{
	struct conn *c = calloc(1, sizeof(*c));

	if (c != NULL) {
		c->gate = g;
		c->fd = fd;
	}
	if (c == NULL || !read_destination(c)) {
		free(c);
		fd_reset(&fd);
		return NULL;
	}
	conn_assign_events(c);
	c->id = ++g->next_conn_id;
	c->opened_ms = clock_mono_ms();
	c->policy_generation = g->policy_generation;
	c->front = is_explicit ? CONN_FRONT_EXPLICIT : front_of(c);
	if (is_explicit)
		c->port = 0;
	return c;
}

void
conn_open(struct gate *g, int fd, bool is_explicit)
{
	bool is_over_cap = g->conn_count >= g->limits.connections;
	struct conn *c;

	if (is_over_cap) {
		fd_reset(&fd);
		g->conns->over_cap++;
	}
	if (g->conns->over_cap > 0)
		tell_over_cap(g);
	if (is_over_cap)
		return;
	c = conn_new(g, fd, is_explicit);
	if (c == NULL)
		return;
	TAILQ_INSERT_TAIL(&g->conns->open, c, link);
	g->conn_count++;
	g->status.accepted++;
	conn_begin(c);
}
