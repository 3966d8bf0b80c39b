/*
 * See gate_fixture.h.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "counts_support.h"
#include "make_policy.h"
#include "proxy/audit.h"
#include "proxy/conn.h"
#include "proxy/dial.h"
#include "proxy/dns.h"
#include "proxy/inspect.h"
#include "proxy/lease.h"
#include "proxy/listen.h"
#include "proxy/meter.h"
#include "proxy/pool.h"
#include "proxy/relay.h"
#include "proxy/synth.h"

#define DEADLINE_MS 10000

/* --- instead of inspect.c --- */

/* One test runs at a time, and has one fixture. */
static struct fixture *current;

void
inspect_start(struct conn *c)
{
	current->inspected = c;
	current->inspect_count++;
}

void
inspect_policy_changed(struct conn *c)
{
	(void)c;
	current->inspect_changes++;
}

void
inspect_free(struct inspect *i)
{
	(void)i;
	current->inspect_frees++;
}

/* --- instead of pool.c --- */

void
pool_revoke(struct gate *g, const char *credential)
{
	struct fixture *f = current;

	assert_ptr_equal(g, &f->gate);
	f->pool_revokes++;
	(void)snprintf(f->pool_revoked, sizeof(f->pool_revoked), "%s",
	    credential == NULL ? "" : credential);
}

/* --- the peers --- */

static int
on_audit(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct fixture *f = arg;
	struct fixture_record *rec = &f->records[f->record_count];
	int rc;

	(void)c;
	assert_true(f->record_count < FIXTURE_RECORDS_MAX);
	rc = message_audit_decode(&msg->body, &rec->text, &rec->r);
	if (rc != 0)
		return rc;
	memcpy(rec->host, rec->r.host.ptr, rec->r.host.len);
	memcpy(rec->detail, rec->r.detail.ptr, rec->r.detail.len);
	f->record_count++;
	return 0;
}

static int
connect_origin(const struct fixture *f)
{
	int fd = fixture_guest(INADDR_LOOPBACK, f->origin_port);

	assert_int_equal(fd_set_nonblock(fd, true), 0);
	return fd;
}

static int
on_dial(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct fixture *f = arg;
	struct message_dialed answer = { .reason = REASON_NONE,
		.address = "192.0.2.1:443" };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int fd = -1, rc;

	assert_true(f->dial_count < FIXTURE_DIALS_MAX);
	rc = message_dial_decode(&msg->body, &f->dials[f->dial_count]);
	if (rc != 0)
		return rc;
	f->dial_count++;
	if (f->dialling == FIXTURE_DIAL_HOLD)
		return 0;
	if (f->dialling == FIXTURE_DIAL_REFUSE)
		answer.reason = f->refusal;
	else
		fd = connect_origin(f);
	message_dialed_encode(&w, &answer);
	rc = chan_send(c, MSG_DIALED, msg->id, &w, &fd, fd == -1 ? 0 : 1);
	fd_close(&fd);
	return rc;
}

static int
on_cancel(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct fixture *f = arg;

	(void)c;
	(void)msg;
	f->cancel_count++;
	return 0;
}

static int
on_lease_request(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct fixture *f = arg;
	int rc = message_lease_request_decode(&msg->body, &f->lease_request);

	(void)c;
	if (rc != 0)
		return rc;
	f->lease_id = msg->id;
	f->lease_count++;
	return 0;
}

static int
on_lease_rejected(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_lease_rejected m;

	(void)c;
	(void)arg;
	return message_lease_rejected_decode(&msg->body, &m);
}

static const struct chan_rule recorder_rules[] = {
	{ MSG_AUDIT, AUDIT_BODY_MAX_BYTES, 0, 0, on_audit },
};

static const struct chan_rule dialler_rules[] = {
	{ MSG_DIAL, MESSAGE_SMALL_BYTES, 0, 0, on_dial },
	{ MSG_DIAL_CANCEL, 0, 0, 0, on_cancel },
};

static const struct chan_rule broker_rules[] = {
	{ MSG_LEASE_REJECTED, MESSAGE_SMALL_BYTES, 0, 0, on_lease_rejected },
	{ MSG_LEASE_REQUEST, LEASE_REQUEST_BODY_MAX_BYTES, 0, 0,
	    on_lease_request },
};

static void
on_recorder_closed(struct chan *c, void *arg)
{
	struct fixture *f = arg;

	chan_free(c);
	f->recorder = NULL;
}

static void
on_dialler_closed(struct chan *c, void *arg)
{
	struct fixture *f = arg;

	chan_free(c);
	f->dialler = NULL;
}

static void
on_broker_closed(struct chan *c, void *arg)
{
	struct fixture *f = arg;

	chan_free(c);
	f->broker = NULL;
}

static struct chan *
peer_new(struct fixture *f, int (*set)(struct gate *, int),
    const struct chan_rule *rules, size_t rule_count, chan_closed *on_closed)
{
	int fds[2];
	struct chan *c;

	assert_int_equal(chan_pair(fds), 0);
	assert_int_equal(set(&f->gate, fds[0]), 0);
	c = chan_new(f->base, fds[1], rules, rule_count, on_closed, f);
	assert_non_null(c);
	return c;
}

void
fixture_new_recorder(struct fixture *f)
{
	f->recorder =
	    peer_new(f, audit_port_set, recorder_rules, 1, on_recorder_closed);
}

void
fixture_new_broker(struct fixture *f)
{
	f->broker =
	    peer_new(f, lease_port_set, broker_rules, 2, on_broker_closed);
}

/* --- the sockets --- */

static int
listen_somewhere(uint32_t address, uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr = { htonl(address) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1024), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

int
fixture_guest(uint32_t address, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(address) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

int
fixture_guest_here(struct fixture *f)
{
	return fixture_guest(INADDR_LOOPBACK, f->port);
}

static bool
has_connection(struct fixture *f, void *arg)
{
	struct pollfd p = { .fd = f->origin, .events = POLLIN };

	(void)arg;
	return poll(&p, 1, 0) == 1;
}

int
fixture_accept(struct fixture *f)
{
	int fd;

	fixture_until(f, has_connection, NULL);
	fd = accept4(f->origin, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd != -1);
	return fd;
}

ssize_t
fixture_read(struct fixture *f, int fd, void *buf, size_t len)
{
	uint64_t end_ms = clock_mono_ms() + DEADLINE_MS;
	uint8_t *at = buf;
	size_t got = 0;

	while (got < len) {
		ssize_t n = recv(fd, at + got, len - got, MSG_DONTWAIT);

		if (n == 0)
			return (ssize_t)got;
		if (n == -1 && errno != EAGAIN)
			return -errno;
		if (n > 0)
			got += (size_t)n;
		assert_true(clock_mono_ms() < end_ms);
		fixture_turn(f);
	}
	return (ssize_t)got;
}

void
fixture_write(int fd, const void *buf, size_t len)
{
	assert_int_equal(send(fd, buf, len, MSG_NOSIGNAL), (ssize_t)len);
}

/* --- the loop --- */

void
fixture_turn(struct fixture *f)
{
	assert_true(event_base_loop(f->base, EVLOOP_NONBLOCK) != -1);
}

void
fixture_until(struct fixture *f, fixture_condition *c, void *arg)
{
	uint64_t end_ms = clock_mono_ms() + DEADLINE_MS;

	while (!c(f, arg)) {
		if (clock_mono_ms() >= end_ms)
			fail_msg("the condition did not come to hold");
		fixture_turn(f);
	}
}

static bool
has_records(struct fixture *f, void *arg)
{
	return f->record_count >= *(size_t *)arg;
}

const struct fixture_record *
fixture_wait_record(struct fixture *f, size_t n)
{
	fixture_until(f, has_records, &n);
	return &f->records[f->record_count - 1];
}

static bool
has_no_connection(struct fixture *f, void *arg)
{
	(void)arg;
	return f->gate.conn_count == 0;
}

void
fixture_wait_closed(struct fixture *f)
{
	fixture_until(f, has_no_connection, NULL);
}

/* --- all of it --- */

static void
on_accepted(int fd, void *arg)
{
	struct fixture *f = arg;

	conn_open(&f->gate, fd, false);
}

/* text with each "PORT" replaced; the caller frees it. */
static char *
with_port(const char *text, uint16_t port)
{
	size_t size = 2 * strlen(text) + 64;
	char *out = calloc(1, size);
	struct wr w = wr_init(out, size - 1);

	assert_non_null(out);
	while (*text != '\0') {
		if (strncmp(text, "PORT", 4) == 0) {
			wr_fmt(&w, "%u", (unsigned int)port);
			text += 4;
		} else {
			wr_u8(&w, (uint8_t)*text++);
		}
	}
	assert_true(wr_ok(&w));
	return out;
}

static struct policy *
compile_text(const char *text, uint16_t port, bool is_ceiling, bool learns)
{
	char *full = with_port(text, port);
	const struct compile_input in = { .display_name = is_ceiling
		    ? "ceiling.ini"
		    : "tapward.ini",
		.text = span_of(full),
		.is_ceiling = is_ceiling,
		.learns = learns };
	struct policy *p = make_policy_of(&in);

	assert_non_null(p);
	free(full);
	return p;
}

static void
set_limits(struct gate *g)
{
	g->limits = (struct message_gate_limits){ .connections = 256,
		.head_max_bytes = 65536,
		.head_timeout_ms = 10000,
		.idle_timeout_ms = 60000,
		.relay_idle_timeout_ms = 60000,
		.connect_timeout_ms = 5000,
		.tls_timeout_ms = 10000,
		.mint_per_second = 50,
		.leaf_cache = 512,
		.dns_per_second = 100,
		.synthetic_addresses = 64,
		.streams = 100,
		.wait_bytes = 65536,
		.large_bytes = 1 << 20,
		.idle_origins = 64,
		.decode_memory_bytes = 1 << 20,
		.sign_memory_bytes = 4 << 20,
		.decode_ratio = 1100,
		.push_commands_bytes = 65536,
		.push_look_bytes = 1 << 20,
		.lfs_batch_bytes = 1 << 16,
		.lfs_objects = 100,
		.lfs_grant_s = 3600,
		.push_refused_bytes = 8 << 20,
		.asks = 4,
		.ask_memory_bytes = 65536,
		.ask_timeout_ms = 5000 };
	g->net = (struct message_gate_net){ .guest_ip = INADDR_LOOPBACK,
		.gateway_ip = INADDR_LOOPBACK,
		.synthetic_base = 0x7f000000,
		.synthetic_prefix = 8 };
}

static void
make_gate(struct fixture *f)
{
	struct gate *g = &f->gate;

	g->scratch = malloc(GATE_SCRATCH_BYTES);
	assert_non_null(g->scratch);
	g->synth = synth_new(g->net.synthetic_base, g->net.synthetic_prefix,
	    g->limits.synthetic_addresses);
	assert_non_null(g->synth);
	assert_int_equal(conns_init(g), 0);
	assert_int_equal(relays_new(g), 0);
	f->counts = counts_memfd();
	assert_int_equal(meters_new(g, f->counts), 0);
	assert_int_equal(dns_new(g), 0);
	f->recorder =
	    peer_new(f, audit_port_set, recorder_rules, 1, on_recorder_closed);
	f->dialler =
	    peer_new(f, dial_port_set, dialler_rules, 2, on_dialler_closed);
	fixture_new_broker(f);
}

static struct fixture *
fixture_make(const char *policy, const char *ceiling, bool learns)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	assert_true(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
	current = f;
	f->base = event_base_new();
	assert_non_null(f->base);
	f->gate.base = f->base;
	f->gate.policy_generation = 1;
	f->listening = listen_somewhere(INADDR_ANY, &f->port);
	f->origin = listen_somewhere(INADDR_LOOPBACK, &f->origin_port);
	set_limits(&f->gate);
	f->gate.pair.policy = compile_text(policy, f->port, false, learns);
	if (ceiling != NULL)
		f->gate.pair.ceiling =
		    compile_text(ceiling, f->port, true, learns);
	make_gate(f);
	f->listener = listener_new(f->base, f->listening, on_accepted, f);
	assert_non_null(f->listener);
	return f;
}

struct fixture *
fixture_new(const char *policy, const char *ceiling)
{
	return fixture_make(policy, ceiling, false);
}

struct fixture *
fixture_new_learning(const char *policy, const char *ceiling)
{
	return fixture_make(policy, ceiling, true);
}

static void
unref(const struct policy *p)
{
	policy_unref((struct policy *)(uintptr_t)p);
}

void
fixture_reload(struct fixture *f, const char *policy)
{
	const struct policy *before = f->gate.pair.policy;

	f->gate.pair.policy =
	    compile_text(policy, f->port, false, policy_learns(before));
	f->gate.policy_generation++;
	meters_policy_changed(&f->gate);
	conns_policy_changed(&f->gate);
	unref(before);
}

void
fixture_free(struct fixture *f)
{
	struct gate *g = &f->gate;

	listener_free(f->listener);
	conns_done(g);
	relays_free(g);
	meters_free(g);
	fd_close(&f->counts);
	dns_free(g);
	synth_free(g->synth);
	dial_port_free(g);
	lease_port_free(g);
	audit_port_free(g);
	chan_free(f->recorder);
	chan_free(f->dialler);
	chan_free(f->broker);
	unref(g->pair.policy);
	unref(g->pair.ceiling);
	free(g->scratch);
	fd_close(&f->listening);
	fd_close(&f->origin);
	event_base_free(f->base);
	free(f);
	current = NULL;
}
