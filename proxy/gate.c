/*
 * The gate's life, see gate_run.h.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/log.h"
#include "proxy/audit.h"
#include "proxy/conn.h"
#include "proxy/dial.h"
#include "proxy/dns.h"
#include "proxy/gate_run.h"
#include "proxy/hold.h"
#include "proxy/lease.h"
#include "proxy/lfs_grants.h"
#include "proxy/listen.h"
#include "proxy/meter.h"
#include "proxy/pool.h"
#include "proxy/redirect.h"
#include "proxy/relay.h"
#include "proxy/sntp.h"
#include "proxy/synth.h"
#include "proxy/tls.h"

#define AREA "gate"

void
gate_run_init(struct gate_run *r, struct event_base *base)
{
	*r = (struct gate_run){ .gate = { .base = base } };
	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		r->sockets[i] = -1;
}

static struct policy *
own(const struct policy *p)
{
	/* The pair shows its policies read-only; the references are ours. */
	return (struct policy *)(uintptr_t)p;
}

static void
pair_unref(const struct policy_pair *pair)
{
	policy_unref(own(pair->policy));
	policy_unref(own(pair->ceiling));
}

/* Nothing new comes in. */
static void
stop_listening(struct gate_run *r)
{
	listener_free(r->tcp);
	listener_free(r->explicit_proxy);
	dns_udp_stop(r->dns_udp);
	dns_tcp_stop(r->dns_tcp);
	sntp_stop(r->sntp);
	r->tcp = r->explicit_proxy = NULL;
	r->dns_udp = NULL;
	r->dns_tcp = NULL;
	r->sntp = NULL;
}

void
gate_run_stop(struct gate_run *r)
{
	stop_listening(r);
	if (r->gate.conns != NULL)
		conns_end(&r->gate);
}

void
gate_run_done(struct gate_run *r)
{
	struct gate *g = &r->gate;

	stop_listening(r);
	conns_done(g);
	relays_free(g);
	meters_free(g);
	redirects_free(g);
	lfs_grants_free(g);
	holds_free(g);
	pool_free(g);
	tls_state_free(g);
	dns_free(g);
	synth_free(g->synth);
	dial_port_free(g);
	lease_port_free(g);
	audit_port_free(g);
	pair_unref(&g->pair);
	free(g->scratch);
	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		fd_close(&r->sockets[i]);
}

int
gate_run_set_net(struct gate_run *r, const struct message_gate_net *net,
    int sockets[GATE_SOCKET_COUNT])
{
	if (r->sockets[0] != -1)
		return -EALREADY;
	for (int i = 0; i < GATE_SOCKET_COUNT; i++) {
		int rc = fd_set_nonblock(sockets[i], true);

		if (rc != 0)
			return rc;
	}
	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		r->sockets[i] = steal_fd(&sockets[i]);
	r->gate.net = *net;
	return 0;
}

/* Both, or none. ceiling -1 for none. */
static int
map_pair(int policy, int ceiling, struct policy_pair *ret)
{
	struct policy *p, *c = NULL;
	int rc = policy_map(policy, &p);

	if (rc != 0)
		return rc;
	if (ceiling != -1)
		rc = policy_map(ceiling, &c);
	if (rc != 0) {
		policy_unref(p);
		return rc;
	}
	*ret = (struct policy_pair){ .policy = p, .ceiling = c };
	return 0;
}

static int
set_ports(struct gate *g, struct gate_start_fds *fds)
{
	int rc = audit_port_set(g, steal_fd(&fds->recorder));

	if (rc == 0)
		rc = dial_port_set(g, steal_fd(&fds->dialler));
	if (rc == 0)
		rc = lease_port_set(g, steal_fd(&fds->broker));
	return rc;
}

static int
make_parts(struct gate *g, const struct gate_start_fds *fds)
{
	int rc;

	g->scratch = malloc(GATE_SCRATCH_BYTES);
	g->synth = synth_new(g->net.synthetic_base, g->net.synthetic_prefix,
	    g->limits.synthetic_addresses);
	if (g->scratch == NULL || g->synth == NULL)
		return -ENOMEM;
	rc = conns_init(g);
	if (rc == 0)
		rc = relays_new(g);
	if (rc == 0)
		rc = pool_new(g);
	if (rc == 0)
		rc = dns_new(g);
	if (rc == 0)
		rc = meters_new(g, fds->counts);
	if (rc == 0)
		rc = redirects_new(g);
	if (rc == 0)
		rc = holds_new(g);
	if (rc == 0)
		rc = tls_state_new(g, fds->ca, fds->roots);
	return rc;
}

static void
on_guest(int fd, void *arg)
{
	conn_open(arg, fd, false);
}

static void
on_explicit(int fd, void *arg)
{
	conn_open(arg, fd, true);
}

/*
 * Whoever speaks TLS or HTTP speaks first, so that a connection need not be
 * looked at before its first bytes are there: one wait less for each. With a
 * `scheme = tcp` rule the origin may be the first to speak, and a guest that
 * waits for it would wait until the kernel gives up waiting for the guest.
 */
static void
set_deferred(const struct gate_run *r)
{
	int seconds = policy_tcp_all(&r->gate.pair, NULL, 0) > 0 ? 0 : 1;

	/* Without it everything works as well. */
	(void)setsockopt(r->sockets[GATE_SOCKET_TCP], IPPROTO_TCP,
	    TCP_DEFER_ACCEPT, &seconds, sizeof(seconds));
}

static int
listen_all(struct gate_run *r)
{
	struct gate *g = &r->gate;
	const int *s = r->sockets;
	int on = 1;

	/* What is accepted inherits it. */
	if (setsockopt(s[GATE_SOCKET_TCP], IPPROTO_TCP, TCP_NODELAY, &on,
		sizeof(on)) == -1 ||
	    setsockopt(s[GATE_SOCKET_EXPLICIT], IPPROTO_TCP, TCP_NODELAY, &on,
		sizeof(on)) == -1)
		return -errno;
	set_deferred(r);
	r->tcp = listener_new(g->base, s[GATE_SOCKET_TCP], on_guest, g);
	r->explicit_proxy =
	    listener_new(g->base, s[GATE_SOCKET_EXPLICIT], on_explicit, g);
	r->dns_udp = dns_udp_start(g, s[GATE_SOCKET_DNS_UDP]);
	r->dns_tcp = dns_tcp_start(g, s[GATE_SOCKET_DNS_TCP]);
	r->sntp = sntp_start(g, s[GATE_SOCKET_SNTP]);
	if (r->tcp == NULL || r->explicit_proxy == NULL || r->dns_udp == NULL ||
	    r->dns_tcp == NULL || r->sntp == NULL)
		return -ENOMEM;
	return 0;
}

int
gate_run_start(struct gate_run *r, const struct message_gate_start *m,
    struct gate_start_fds *fds)
{
	struct gate *g = &r->gate;
	int rc;

	if (r->is_started || r->sockets[0] == -1)
		return -EALREADY;
	memcpy(g->sandbox, m->sandbox, sizeof(g->sandbox));
	g->generation = m->generation;
	g->limits = m->limits;
	g->decode = (struct decode_budget){
		.max_bytes = m->limits.decode_memory_bytes,
		.ratio = m->limits.decode_ratio,
	};
	g->passthrough_ech = m->passthrough_ech;
	g->policy_generation = 1;
	rc = map_pair(fds->policy, fds->ceiling, &g->pair);
	if (rc == 0)
		rc = set_ports(g, fds);
	if (rc == 0)
		rc = make_parts(g, fds);
	if (rc == 0)
		rc = listen_all(r);
	r->is_started = rc == 0;
	return rc;
}

int
gate_run_set_policy(struct gate_run *r, int policy, int ceiling)
{
	struct gate *g = &r->gate;
	struct policy_pair before = g->pair, after;
	int rc;

	if (!r->is_started)
		return -EPROTO;
	rc = map_pair(policy, ceiling, &after);
	if (rc != 0)
		return rc;
	g->pair = after;
	g->policy_generation++;
	meters_policy_changed(g);
	/* What the new one denies ends for that, before anything else ends. */
	conns_policy_changed(g);
	/* What was asked for under the old one is asked for anew. */
	lease_forget_all(g);
	pool_flush(g);
	pair_unref(&before);
	set_deferred(r);
	log_info(AREA, "sandbox=%s policy=%s", g->sandbox, gate_run_policy(r));
	return 0;
}

int
gate_run_set_peer(struct gate_run *r, uint8_t which, int fd)
{
	static int (*const set[])(struct gate *, int) = {
		[GATE_START_DIALLER] = dial_port_set,
		[GATE_START_BROKER] = lease_port_set,
		[GATE_START_RECORDER] = audit_port_set,
	};

	if (!r->is_started || which >= sizeof(set) / sizeof(set[0])) {
		fd_close(&fd);
		return -EPROTO;
	}
	return set[which](&r->gate, fd);
}

const char *
gate_run_policy(const struct gate_run *r)
{
	return r->gate.pair.policy == NULL ? ""
					   : policy_digest(r->gate.pair.policy);
}
