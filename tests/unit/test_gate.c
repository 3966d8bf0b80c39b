/*
 * A gate's life as the supervisor drives it: sockets, start, policies, peers.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "count_fds.h"
#include "counts_support.h"
#include "policy_support.h"
#include "proxy/gate_run.h"
#include "proxy/inspect.h"
#include "proxy/pool.h"
#include "proxy/tls.h"
#include "wire/sntp.h"

#define POLICY_A "[policy]\nversion = 1\n[allow a]\nhost = a.example.org\n"
#define POLICY_B "[policy]\nversion = 1\n[allow b]\nhost = b.example.org\n"

#define POLICY_TCP                                                             \
	"[policy]\nversion = 1\n"                                              \
	"[allow db]\nhost = db.example.org\nport = 5432\nscheme = tcp\n"

/* --- instead of the inspected path, which needs a CA --- */

void
inspect_start(struct conn *c)
{
	conn_close(c, REASON_NONE);
}

void
inspect_policy_changed(struct conn *c)
{
	(void)c;
}

void
inspect_free(struct inspect *i)
{
	(void)i;
}

static unsigned int flushes;

int
tls_state_new(struct gate *g, int ca_fd, int roots_fd)
{
	(void)g;
	(void)roots_fd;
	return ca_fd == -1 ? -EBADF : 0;
}

void
tls_state_free(struct gate *g)
{
	(void)g;
}

int
pool_new(struct gate *g)
{
	(void)g;
	return 0;
}

void
pool_free(struct gate *g)
{
	(void)g;
}

void
pool_flush(struct gate *g)
{
	(void)g;
	flushes++;
}

void
pool_revoke(struct gate *g, const char *credential)
{
	(void)g;
	(void)credential;
}

/* --- */

struct stage {
	struct event_base *base;
	struct gate_run run;
	uint16_t ports[GATE_SOCKET_COUNT];
	int peers[3];
};

static int
bound(int type, uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static int
set_net(struct stage *s)
{
	static const int types[GATE_SOCKET_COUNT] = {
		[GATE_SOCKET_TCP] = SOCK_STREAM,
		[GATE_SOCKET_EXPLICIT] = SOCK_STREAM,
		[GATE_SOCKET_DNS_UDP] = SOCK_DGRAM,
		[GATE_SOCKET_DNS_TCP] = SOCK_STREAM,
		[GATE_SOCKET_SNTP] = SOCK_DGRAM,
	};
	const struct message_gate_net net = { .synthetic_base = 0xc6120000,
		.synthetic_prefix = 15 };
	int fds[GATE_SOCKET_COUNT], rc;

	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		fds[i] = bound(types[i], &s->ports[i]);
	rc = gate_run_set_net(&s->run, &net, fds);
	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		fd_close(&fds[i]);
	return rc;
}

static int
start(struct stage *s, int ca)
{
	struct message_gate_start m = { .sandbox = "ci-1",
		.generation = 7,
		.limits = { .connections = 10,
		    .relay_idle_timeout_ms = 1000,
		    .connect_timeout_ms = 1000,
		    .dns_per_second = 10,
		    .synthetic_addresses = 16,
		    .streams = 100,
		    .wait_bytes = 65536,
		    .large_bytes = 1 << 20,
		    .idle_origins = 64,
		    .decode_memory_bytes = 1,
		    .sign_memory_bytes = 4 << 20,
		    .decode_ratio = 1,
		    .push_commands_bytes = 1,
		    .push_look_bytes = 1,
		    .lfs_batch_bytes = 1,
		    .lfs_objects = 1,
		    .lfs_grant_s = 1,
		    .push_refused_bytes = 1,
		    .asks = 1,
		    .ask_memory_bytes = 1,
		    .ask_timeout_ms = 1 } };
	struct gate_start_fds fds = { .ca = ca,
		.roots = -1,
		.counts = counts_memfd(),
		.policy = policy_memfd(POLICY_A, false),
		.ceiling = -1 };
	int *const ports[] = { &fds.dialler, &fds.broker, &fds.recorder };
	int rc;

	for (int i = 0; i < 3; i++) {
		int pair[2];

		assert_int_equal(chan_pair(pair), 0);
		*ports[i] = pair[0];
		s->peers[i] = pair[1];
	}
	rc = gate_run_start(&s->run, &m, &fds);
	for (int i = 0; i < 3; i++)
		fd_close(ports[i]);
	fd_close(&fds.policy);
	fd_close(&fds.counts);
	return rc;
}

static int
setup(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->base = event_base_new();
	for (int i = 0; i < 3; i++)
		s->peers[i] = -1;
	gate_run_init(&s->run, s->base);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct stage *s = *state;

	gate_run_done(&s->run);
	for (int i = 0; i < 3; i++)
		fd_close(&s->peers[i]);
	event_base_free(s->base);
	free(s);
	return 0;
}

static void
serves_after_net_and_start(void **state)
{
	struct stage *s = *state;

	assert_int_equal(set_net(s), 0);
	assert_string_equal(gate_run_policy(&s->run), "");
	assert_int_equal(start(s, 0), 0);
	assert_int_equal(strlen(gate_run_policy(&s->run)), 64);
	assert_string_equal(s->run.gate.sandbox, "ci-1");
}

static void
refuses_messages_out_of_order(void **state)
{
	struct stage *s = *state;
	int pair[2], policy = policy_memfd(POLICY_B, false);

	assert_int_equal(start(s, 0), -EALREADY);
	for (int i = 0; i < 3; i++)
		fd_close(&s->peers[i]);
	assert_int_equal(gate_run_set_policy(&s->run, policy, -1), -EPROTO);
	assert_int_equal(chan_pair(pair), 0);
	assert_int_equal(gate_run_set_peer(&s->run, GATE_START_DIALLER,
			     pair[0]),
	    -EPROTO);
	assert_int_equal(set_net(s), 0);
	assert_int_equal(set_net(s), -EALREADY);
	assert_int_equal(start(s, 0), 0);
	(void)close(pair[1]);
	(void)close(policy);
}

static void
is_of_no_use_without_a_ca(void **state)
{
	struct stage *s = *state;

	assert_int_equal(set_net(s), 0);
	assert_int_equal(start(s, -1), -EBADF);
	assert_false(s->run.is_started);
}

static void
takes_another_policy_over(void **state)
{
	struct stage *s = *state;
	int policy = policy_memfd(POLICY_B, false);
	char before[DIGEST_TEXT_SIZE];
	struct verdict v;

	assert_int_equal(set_net(s), 0);
	assert_int_equal(start(s, 0), 0);
	memcpy(before, gate_run_policy(&s->run), sizeof(before));
	flushes = 0;
	assert_int_equal(gate_run_set_policy(&s->run, policy, -1), 0);
	assert_string_not_equal(gate_run_policy(&s->run), before);
	assert_int_equal(flushes, 1);
	assert_int_equal(s->run.gate.policy_generation, 2);
	v = policy_judge_connect(&s->run.gate.pair, "b.example.org", 443);
	assert_int_equal(v.action, ACTION_ALLOW);
	v = policy_judge_connect(&s->run.gate.pair, "a.example.org", 443);
	assert_int_equal(v.action, ACTION_DENY);
	(void)close(policy);
}

static void
keeps_the_policy_when_the_next_is_broken(void **state)
{
	struct stage *s = *state;
	char before[DIGEST_TEXT_SIZE];
	int bad, good = policy_memfd(POLICY_B, false);

	assert_int_equal(set_net(s), 0);
	assert_int_equal(start(s, 0), 0);
	memcpy(before, gate_run_policy(&s->run), sizeof(before));
	assert_int_equal(fd_memfd_sealed("bad", "no image", 8, &bad), 0);
	assert_true(gate_run_set_policy(&s->run, bad, -1) < 0);
	/* A good policy with a broken ceiling neither. */
	assert_true(gate_run_set_policy(&s->run, good, bad) < 0);
	assert_string_equal(gate_run_policy(&s->run), before);
	assert_int_equal(s->run.gate.policy_generation, 1);
	(void)close(bad);
	(void)close(good);
}

static int
deferred_s(const struct stage *s)
{
	int seconds = -1;
	socklen_t len = sizeof(seconds);

	assert_int_equal(getsockopt(s->run.sockets[GATE_SOCKET_TCP],
			     IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, &len),
	    0);
	return seconds;
}

/* Where an origin may speak first, nobody waits for the guest's bytes. */
static void
waits_for_first_bytes_unless_there_is_a_tcp_rule(void **state)
{
	struct stage *s = *state;
	int tcp = policy_memfd(POLICY_TCP, false);
	int other = policy_memfd(POLICY_B, false);

	assert_int_equal(set_net(s), 0);
	assert_int_equal(start(s, 0), 0);
	assert_true(deferred_s(s) > 0);
	assert_int_equal(gate_run_set_policy(&s->run, tcp, -1), 0);
	assert_int_equal(deferred_s(s), 0);
	assert_int_equal(gate_run_set_policy(&s->run, other, -1), 0);
	assert_true(deferred_s(s) > 0);
	(void)close(tcp);
	(void)close(other);
}

static void
takes_new_peers(void **state)
{
	struct stage *s = *state;
	int pair[2];

	assert_int_equal(set_net(s), 0);
	assert_int_equal(start(s, 0), 0);
	for (uint8_t which = 0; which < 3; which++) {
		assert_int_equal(chan_pair(pair), 0);
		assert_int_equal(gate_run_set_peer(&s->run, which, pair[0]), 0);
		fd_close(&s->peers[which]);
		s->peers[which] = pair[1];
	}
	assert_int_equal(chan_pair(pair), 0);
	assert_int_equal(gate_run_set_peer(&s->run, GATE_START_CA, pair[0]),
	    -EPROTO);
	(void)close(pair[1]);
}

static void
tells_the_time(void **state)
{
	struct stage *s = *state;
	uint8_t packet[SNTP_PACKET_BYTES] = { 0x23 }; /* version 4, client */
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int guest =
	    socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	uint64_t end_ms = clock_mono_ms() + 10000, answers = 0;
	ssize_t n;

	assert_int_equal(set_net(s), 0);
	assert_int_equal(start(s, 0), 0);
	to.sin_port = htons(s->ports[GATE_SOCKET_SNTP]);
	/* What is no question, or one too many, has no answer. */
	(void)sendto(guest, packet, 10, 0, (struct sockaddr *)&to, sizeof(to));
	for (int i = 0; i < 40; i++)
		(void)sendto(guest, packet, sizeof(packet), 0,
		    (struct sockaddr *)&to, sizeof(to));
	while (answers == 0 && clock_mono_ms() < end_ms) {
		(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
		n = recv(guest, packet, sizeof(packet), 0);
		answers += n == SNTP_PACKET_BYTES ? 1 : 0;
	}
	assert_int_equal(packet[0] & 7, 4);
	for (int i = 0; i < 20; i++)
		(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
	while (recv(guest, packet, sizeof(packet), 0) == SNTP_PACKET_BYTES)
		answers++;
	assert_in_range(answers, 1, 20);
	(void)close(guest);
}

static void
leaves_nothing_open(void **state)
{
	struct stage *s = *state;
	int before = count_fds(), policy;

	for (int i = 0; i < 5; i++) {
		assert_int_equal(set_net(s), 0);
		assert_int_equal(start(s, 0), 0);
		policy = policy_memfd(POLICY_B, false);
		assert_int_equal(gate_run_set_policy(&s->run, policy, -1), 0);
		(void)close(policy);
		gate_run_done(&s->run);
		for (int j = 0; j < 3; j++)
			fd_close(&s->peers[j]);
		gate_run_init(&s->run, s->base);
	}
	assert_int_equal(count_fds(), before);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(serves_after_net_and_start),
		TEST(refuses_messages_out_of_order),
		TEST(is_of_no_use_without_a_ca),
		TEST(takes_another_policy_over),
		TEST(keeps_the_policy_when_the_next_is_broken),
		TEST(waits_for_first_bytes_unless_there_is_a_tcp_rule),
		TEST(takes_new_peers),
		TEST(tells_the_time),
		TEST(leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
