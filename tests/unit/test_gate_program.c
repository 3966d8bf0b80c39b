/*
 * tapward-gate as the supervisor starts it: own uid, empty root, sealed. What
 * it does here it does under its seccomp filter, which kills for a call that
 * is missing in it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
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
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/message_audit.h"
#include "base/message_dial.h"
#include "base/process.h"
#include "client_hello.h"
#include "counts_support.h"
#include "gate_fixture.h"
#include "policy_support.h"
#include "proxy/ca_make.h"
#include "proxy/roots.h"

#define GATE_UID "2130000001"
#define DEADLINE_MS 10000

#define POLICY_FORMAT                                                          \
	"[policy]\nversion = 1\n"                                              \
	"[allow through]\nhost = through.example.org\nport = %u\n"             \
	"tls = passthrough\n"
#define POLICY_NOTHING "[policy]\nversion = 1\n"

struct stage {
	struct event_base *base;
	char root[64];
	char peer_path[80];
	pid_t pid;
	int pidfd;
	uint16_t ports[GATE_SOCKET_COUNT];
	struct chan *supervisor, *dialler, *recorder;
	int broker;
	int origin; /* our end of the connection that was dialled */

	unsigned int hellos, readies, adoptions, dials, records;
	struct message_hello hello;
	struct message_gate_policy_ack ack;
	struct message_gate_status status;
	enum reason last_reason;
	bool is_stopped;
};

/* --- what the gate says --- */

static int
on_hello(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;

	(void)c;
	s->hellos++;
	return message_hello_decode(&msg->body, &s->hello);
}

static int
on_ready(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;

	(void)c;
	(void)msg;
	s->readies++;
	return 0;
}

static int
on_ack(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;

	(void)c;
	return message_gate_policy_ack_decode(&msg->body, &s->ack);
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;

	(void)c;
	return message_gate_status_decode(&msg->body, &s->status);
}

static int
on_sockets(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;
	struct message_gate_net net;

	(void)c;
	s->adoptions++;
	return message_gate_net_decode(&msg->body, &net);
}

static int
on_dial(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;
	struct message_dialed answer = { .reason = REASON_NONE };
	struct message_dial m;
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int pair[2], rc = message_dial_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	s->dials++;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     pair),
	    0);
	s->origin = pair[1];
	message_dialed_encode(&w, &answer);
	rc = chan_send(c, MSG_DIALED, msg->id, &w, &pair[0], 1);
	(void)close(pair[0]);
	return rc;
}

static int
on_audit(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct stage *s = arg;
	struct audit_text text;
	struct audit_record r;
	int rc = message_audit_decode(&msg->body, &text, &r);

	(void)c;
	if (rc != 0)
		return rc;
	s->records++;
	s->last_reason = r.reason;
	return 0;
}

static const struct chan_rule supervisor_rules[] = {
	{ MSG_HELLO, MESSAGE_SMALL_BYTES, 0, 0, on_hello },
	{ MSG_GATE_READY, 0, 0, 0, on_ready },
	{ MSG_GATE_POLICY_ACK, MESSAGE_SMALL_BYTES, 0, 0, on_ack },
	{ MSG_GATE_STATUS_ANSWER, MESSAGE_SMALL_BYTES, 0, 0, on_status },
	{ MSG_GATE_SOCKETS, MESSAGE_SMALL_BYTES, GATE_SOCKET_COUNT,
	    GATE_SOCKET_COUNT, on_sockets },
};

static const struct chan_rule dialler_rules[] = {
	{ MSG_DIAL, MESSAGE_SMALL_BYTES, 0, 0, on_dial },
};

static const struct chan_rule recorder_rules[] = {
	{ MSG_AUDIT, AUDIT_BODY_MAX_BYTES, 0, 0, on_audit },
};

/* Only a gate that was killed or stopped closes its channels. */
static void
on_closed(struct chan *c, void *arg)
{
	const struct stage *s = arg;

	(void)c;
	if (!s->is_stopped)
		fail_msg("the gate is gone");
}

static void
turn(struct stage *s)
{
	(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
}

#define UNTIL(s, condition)                                                    \
	do {                                                                   \
		uint64_t end_ms = clock_mono_ms() + DEADLINE_MS;               \
                                                                               \
		while (!(condition)) {                                         \
			if (clock_mono_ms() >= end_ms)                         \
				fail_msg("never: %s", #condition);             \
			turn(s);                                               \
		}                                                              \
	} while (0)

/* --- starting it --- */

static struct chan *
supervise(struct stage *s, int fd)
{
	return chan_new(s->base, fd, supervisor_rules,
	    sizeof(supervisor_rules) / sizeof(supervisor_rules[0]), on_closed,
	    s);
}

static void
spawn_gate(struct stage *s)
{
	const char *const argv[] = { TAPWARD_GATE_PROGRAM, GATE_UID, GATE_UID,
		NULL };
	int pair[2], fds[CHILD_FD_COUNT];
	const struct process_spec spec = { .path = TAPWARD_GATE_PROGRAM,
		.argv = argv,
		.fds = fds,
		.fd_count = CHILD_FD_COUNT,
		.netns_fd = -1,
		.stderr_fd = -1 };

	memcpy(s->root, "/tmp/tapward-gate.XXXXXX", 25);
	assert_non_null(mkdtemp(s->root));
	(void)snprintf(s->peer_path, sizeof(s->peer_path), "%s.peer", s->root);
	assert_int_equal(chan_pair(pair), 0);
	fds[0] = pair[0];
	fds[1] = open(s->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(chan_listen(s->peer_path, &fds[2]), 0);
	assert_int_equal(process_spawn(&spec, &s->pid, &s->pidfd), 0);
	for (size_t i = 0; i < CHILD_FD_COUNT; i++)
		(void)close(fds[i]);
	s->supervisor = supervise(s, pair[1]);
}

static int
bound(int type, uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void
send_net(struct stage *s)
{
	const struct message_gate_net net = { .synthetic_base = 0xc6120000,
		.synthetic_prefix = 15 };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int fds[GATE_SOCKET_COUNT];

	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		fds[i] = bound(i == GATE_SOCKET_DNS_UDP || i == GATE_SOCKET_SNTP
			? SOCK_DGRAM
			: SOCK_STREAM,
		    &s->ports[i]);
	message_gate_net_encode(&w, &net);
	assert_int_equal(chan_send(s->supervisor, MSG_GATE_NET, 0, &w, fds,
			     GATE_SOCKET_COUNT),
	    0);
	for (int i = 0; i < GATE_SOCKET_COUNT; i++)
		(void)close(fds[i]);
}

/* A CA, and its certificate as the only root. */
static void
make_ca(int *ret_ca, int *ret_roots)
{
	struct ca_made made;
	struct span both;
	uint8_t *image;
	size_t len;
	uint32_t count;

	assert_int_equal(ca_make("test", 3600, &made), 0);
	both = secret_span(&made.both);
	assert_int_equal(fd_memfd_sealed("ca", both.ptr, both.len, ret_ca), 0);
	secret_done(&made.both);
	assert_int_equal(roots_build((struct span){ made.cert, made.cert_len },
			     &image, &len, &count),
	    0);
	assert_int_equal(fd_memfd_sealed("roots", image, len, ret_roots), 0);
	free(image);
}

static void
send_start(struct stage *s)
{
	const struct message_gate_start m = { .sandbox = "ci-1",
		.generation = 7,
		.limits = { 64, 65536, 10000, 60000, 60000, 5000, 5000, 50, 64,
		    100, 64, 100, 65536, 1 << 20, 64, 1 << 20, 1100, 1 << 20,
		    65536, 1 << 20, 1 << 20, 65536, 100, 3600, 4, 65536,
		    5000 } };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int dialler[2], broker[2], recorder[2], fds[GATE_START_CEILING];
	char text[512];

	(void)snprintf(text, sizeof(text), POLICY_FORMAT,
	    (unsigned int)s->ports[GATE_SOCKET_TCP]);
	assert_int_equal(chan_pair(dialler), 0);
	assert_int_equal(chan_pair(broker), 0);
	assert_int_equal(chan_pair(recorder), 0);
	fds[GATE_START_DIALLER] = dialler[0];
	fds[GATE_START_BROKER] = broker[0];
	fds[GATE_START_RECORDER] = recorder[0];
	make_ca(&fds[GATE_START_CA], &fds[GATE_START_ROOTS]);
	fds[GATE_START_COUNTS] = counts_memfd();
	fds[GATE_START_POLICY] = policy_memfd(text, false);
	message_gate_start_encode(&w, &m);
	assert_int_equal(chan_send(s->supervisor, MSG_GATE_START, 0, &w, fds,
			     GATE_START_CEILING),
	    0);
	for (size_t i = 0; i < GATE_START_CEILING; i++)
		(void)close(fds[i]);
	s->dialler =
	    chan_new(s->base, dialler[1], dialler_rules, 1, on_closed, s);
	s->recorder =
	    chan_new(s->base, recorder[1], recorder_rules, 1, on_closed, s);
	s->broker = broker[1];
}

static void
send_policy(struct stage *s, const char *text)
{
	const struct message_gate_policy m = { .has_ceiling = false };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int fd = policy_memfd(text, false);

	message_gate_policy_encode(&w, &m);
	assert_int_equal(chan_send(s->supervisor, MSG_GATE_POLICY, 1, &w, &fd,
			     1),
	    0);
	(void)close(fd);
}

static int
setup(void **state)
{
	struct stage *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->base = event_base_new();
	s->origin = -1;
	spawn_gate(s);
	UNTIL(s, s->hellos == 1);
	assert_string_equal(s->hello.role, "gate");
	assert_string_equal(s->hello.sandbox, "");
	send_net(s);
	send_start(s);
	UNTIL(s, s->readies == 1);
	*state = s;
	return 0;
}

static int
teardown(void **state)
{
	struct stage *s = *state;

	/* It is still there: no call of it was missing in its filter. */
	if (!s->is_stopped)
		assert_int_equal(process_signal(s->pidfd, 0), 0);
	assert_int_equal(process_end(s->pidfd, DEADLINE_MS), 0);
	(void)close(s->pidfd);
	chan_free(s->supervisor);
	chan_free(s->dialler);
	chan_free(s->recorder);
	(void)close(s->broker);
	fd_close(&s->origin);
	event_base_free(s->base);
	assert_int_equal(unlink(s->peer_path), 0);
	assert_int_equal(rmdir(s->root), 0);
	free(s);
	return 0;
}

/* --- the guest --- */

static int
guest_socket(int type, uint16_t port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(fd_set_nonblock(fd, true), 0);
	return fd;
}

/* A joined guest; its bytes have come to s->origin. */
static int
join(struct stage *s)
{
	int guest = guest_socket(SOCK_STREAM, s->ports[GATE_SOCKET_TCP]);
	uint8_t hello[512], got[512];
	size_t len = client_hello("through.example.org", false, hello);

	assert_int_equal(send(guest, hello, len, 0), len);
	UNTIL(s, s->origin != -1);
	UNTIL(s, recv(s->origin, got, len, 0) == (ssize_t)len);
	assert_memory_equal(got, hello, len);
	return guest;
}

static void
answers_a_question(struct stage *s)
{
	static const uint8_t question[] = { 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0,
		1, 'a', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1 };
	int guest = guest_socket(SOCK_DGRAM, s->ports[GATE_SOCKET_DNS_UDP]);
	uint8_t got[512];

	assert_int_equal(send(guest, question, sizeof(question), 0),
	    sizeof(question));
	UNTIL(s, recv(guest, got, sizeof(got), 0) > 0);
	(void)close(guest);
}

static void
serves_under_its_filter(void **state)
{
	struct stage *s = *state;
	static uint8_t big[262144];
	size_t sent = 0, got = 0;
	int guest = join(s);

	answers_a_question(s);
	/* Enough for pipes and splice. */
	while (got < sizeof(big)) {
		ssize_t n = send(s->origin, big + sent, sizeof(big) - sent,
		    MSG_NOSIGNAL | MSG_DONTWAIT);

		sent += n > 0 ? (size_t)n : 0;
		n = recv(guest, big, sizeof(big), 0);
		got += n > 0 ? (size_t)n : 0;
		turn(s);
	}
	(void)close(guest);
	UNTIL(s, recv(s->origin, big, 1, 0) == 0);
}

static void
swaps_the_policy_and_ends_what_it_denies(void **state)
{
	struct stage *s = *state;
	int guest = join(s);
	char got;

	send_policy(s, POLICY_NOTHING);
	UNTIL(s, s->ack.policy[0] != '\0');
	assert_string_not_equal(s->ack.policy, s->hello.policy);
	UNTIL(s, recv(guest, &got, 1, 0) == -1 && errno == ECONNRESET);
	UNTIL(s, s->last_reason == REASON_POLICY_RELOADED);
	(void)close(guest);
}

static void
tells_its_status(void **state)
{
	struct stage *s = *state;
	int guest = join(s);

	assert_int_equal(chan_send(s->supervisor, MSG_GATE_STATUS, 1, NULL,
			     NULL, 0),
	    0);
	UNTIL(s, s->status.accepted == 1);
	assert_int_equal(s->status.connections, 1);
	assert_int_equal(strlen(s->status.policy), 64);
	(void)close(guest);
}

static void
goes_on_without_a_supervisor_and_is_found_again(void **state)
{
	struct stage *s = *state;
	int guest, fd;

	chan_free(s->supervisor);
	s->supervisor = NULL;
	guest = join(s);
	answers_a_question(s);
	assert_int_equal(chan_connect(s->peer_path, &fd), 0);
	s->supervisor = supervise(s, fd);
	UNTIL(s, s->adoptions == 1);
	assert_int_equal(s->hellos, 2);
	assert_string_equal(s->hello.sandbox, "ci-1");
	assert_int_equal(s->hello.generation, 7);
	assert_int_equal(strlen(s->hello.policy), 64);
	/* The new one can do what the old one could. */
	send_policy(s, POLICY_NOTHING);
	UNTIL(s, s->ack.policy[0] != '\0');
	(void)close(guest);
}

static void
records_what_is_open_and_ends_when_it_is_stopped(void **state)
{
	struct stage *s = *state;
	struct pollfd ended = { .fd = s->pidfd, .events = POLLIN };
	int guest = join(s);
	unsigned int before = s->records;

	assert_int_equal(chan_send(s->supervisor, MSG_GATE_STOP, 0, NULL, NULL,
			     0),
	    0);
	assert_int_equal(poll(&ended, 1, DEADLINE_MS), 1);
	s->is_stopped = true;
	/* What it said before is still there to be read. */
	(void)event_base_loop(s->base, EVLOOP_NONBLOCK);
	assert_int_equal(s->records, before + 1);
	assert_int_equal(s->last_reason, REASON_GATE_RESTART);
	(void)close(guest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(serves_under_its_filter),
		TEST(swaps_the_policy_and_ends_what_it_denies),
		TEST(tells_its_status),
		TEST(goes_on_without_a_supervisor_and_is_found_again),
		TEST(records_what_is_open_and_ends_when_it_is_stopped),
	};

	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return EXIT_FAILURE;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
