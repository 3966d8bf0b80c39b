/*
 * tapward-gate: the proxy process of one sandbox. It parses what a guest
 * sends, so it can do as little as possible: it has no files, and can make no
 * socket. What it serves on and speaks to was handed to it.
 */
#include <errno.h>
#include <event2/event.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "proxy/audit.h"
#include "proxy/gate_run.h"
#include "proxy/hold.h"
#include "proxy/tls.h"

#define AREA "gate"
#define STOP_LOOK_MS 5
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int
on_net(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	struct message_gate_net m;
	int rc = message_gate_net_decode(&msg->body, &m);

	(void)c;
	return rc != 0 ? rc : gate_run_set_net(r, &m, msg->fds);
}

static struct gate_start_fds
start_fds(struct chan_msg *msg)
{
	bool has_ceiling = msg->fd_count > GATE_START_CEILING;

	return (struct gate_start_fds){
		.dialler = steal_fd(&msg->fds[GATE_START_DIALLER]),
		.broker = steal_fd(&msg->fds[GATE_START_BROKER]),
		.recorder = steal_fd(&msg->fds[GATE_START_RECORDER]),
		.ca = msg->fds[GATE_START_CA],
		.roots = msg->fds[GATE_START_ROOTS],
		.counts = msg->fds[GATE_START_COUNTS],
		.policy = msg->fds[GATE_START_POLICY],
		.ceiling = has_ceiling ? msg->fds[GATE_START_CEILING] : -1,
	};
}

static int
on_start(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	struct message_gate_start m;
	struct gate_start_fds fds;
	int rc = message_gate_start_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (m.has_ceiling != (msg->fd_count > GATE_START_CEILING))
		return -EBADMSG;
	fds = start_fds(msg);
	rc = gate_run_start(r, &m, &fds);
	/* Half a gate is none: the supervisor replaces it. */
	if (rc != 0)
		die(AREA, "sandbox=%s start: %s", m.sandbox, strerror(-rc));
	log_info(AREA, "sandbox=%s policy=%s", m.sandbox, gate_run_policy(r));
	return chan_send(c, MSG_GATE_READY, msg->id, NULL, NULL, 0);
}

static int
on_policy(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	struct message_gate_policy m;
	struct message_gate_policy_ack ack = { { 0 } };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int rc = message_gate_policy_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	if (m.has_ceiling != (msg->fd_count == 2))
		return -EBADMSG;
	rc = gate_run_set_policy(r, msg->fds[0],
	    m.has_ceiling ? msg->fds[1] : -1);
	if (rc == -EPROTO && !r->is_started)
		return rc;
	if (rc != 0)
		log_err(AREA, "policy refused: %s", strerror(-rc));
	memcpy(ack.policy, gate_run_policy(r), sizeof(ack.policy));
	message_gate_policy_ack_encode(&w, &ack);
	return chan_send(c, MSG_GATE_POLICY_ACK, msg->id, &w, NULL, 0);
}

static int
on_peer(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	struct message_gate_peer m;
	int rc = message_gate_peer_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	return gate_run_set_peer(r, m.which, steal_fd(&msg->fds[0]));
}

static int
on_roots(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	int rc;

	(void)c;
	if (!r->is_started)
		return -EPROTO;
	rc = tls_state_set_roots(&r->gate, msg->fds[0]);
	if (rc != 0)
		log_err(AREA, "roots refused: %s", strerror(-rc));
	return 0;
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	struct message_gate_status m = r->gate.status;
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	size_t len = strnlen(gate_run_policy(r), sizeof(m.policy) - 1);

	m.connections = r->gate.conn_count;
	memcpy(m.policy, gate_run_policy(r), len);
	message_gate_status_encode(&w, &m);
	return chan_send(c, MSG_GATE_STATUS_ANSWER, msg->id, &w, NULL, 0);
}

/* All records have gone, or will go soon; who waits for us is not patient. */
static void
on_stopped(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval later = { 0, STOP_LOOK_MS * 1000L };
	struct gate_run *r = arg;

	(void)fd;
	(void)what;
	if (audit_is_told(&r->gate) ||
	    event_base_once(r->gate.base, -1, EV_TIMEOUT, on_stopped, r,
		&later) == -1)
		(void)event_base_loopbreak(r->gate.base);
}

static int
on_stop(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;

	(void)c;
	(void)msg;
	gate_run_stop(r);
	on_stopped(-1, 0, r);
	return 0;
}

static int
on_asked(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate_run *r = arg;
	struct message_asked m;
	int rc = message_asked_decode(&msg->body, &m);

	(void)c;
	if (rc == 0)
		holds_answer(&r->gate, msg->id, &m);
	return rc;
}

static const struct chan_rule rules[] = {
	{ MSG_GATE_NET, MESSAGE_SMALL_BYTES, GATE_SOCKET_COUNT,
	    GATE_SOCKET_COUNT, on_net },
	{ MSG_GATE_START, MESSAGE_SMALL_BYTES, GATE_START_CEILING,
	    GATE_START_CEILING + 1, on_start },
	{ MSG_GATE_POLICY, MESSAGE_SMALL_BYTES, 1, 2, on_policy },
	{ MSG_GATE_PEER, MESSAGE_SMALL_BYTES, 1, 1, on_peer },
	{ MSG_GATE_ROOTS, MESSAGE_SMALL_BYTES, 1, 1, on_roots },
	{ MSG_GATE_STATUS, 0, 0, 0, on_status },
	{ MSG_GATE_STOP, 0, 0, 0, on_stop },
	{ MSG_ASKED, MESSAGE_SMALL_BYTES, 0, 0, on_asked },
};

static void
hello(struct message_hello *ret, void *arg)
{
	static const char role[] = "gate";
	const struct gate_run *r = arg;
	size_t len = strnlen(gate_run_policy(r), sizeof(ret->policy) - 1);

	memcpy(ret->role, role, sizeof(role));
	memcpy(ret->sandbox, r->gate.sandbox, sizeof(ret->sandbox));
	ret->generation = r->gate.generation;
	memcpy(ret->policy, gate_run_policy(r), len);
	ret->policy[len] = '\0';
}

/* A new supervisor gets what only we still hold: the sandbox's sockets. */
static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	struct gate_run *r = arg;
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int rc;

	r->gate.supervisor = c->supervisor;
	if (adopted)
		holds_unheard(&r->gate);
	if (!adopted || r->sockets[0] == -1)
		return;
	message_gate_net_encode(&w, &r->gate.net);
	rc = chan_send(c->supervisor, MSG_GATE_SOCKETS, 0, &w, r->sockets,
	    GATE_SOCKET_COUNT);
	if (rc != 0)
		log_warn(AREA, "sockets not handed back: %s", strerror(-rc));
}

/* Goes on under the last policy; a gate of the pool has nothing to go on. */
static void
on_supervisor_gone(struct child *c, void *arg)
{
	struct gate_run *r = arg;

	/* Another supervisor knows nothing of what this one was asked. */
	r->gate.supervisor = NULL;
	holds_unheard(&r->gate);
	if (!r->is_started)
		child_stop(c);
}

/*
 * The C library's, for OpenSSL, which asks before it gives random bytes, so as
 * to notice a fork: six system calls of a handshake. A gate is not forked: it
 * begins with exec, and clone is none of the calls that it may make.
 */
__attribute__((visibility("default"))) pid_t
getpid(void)
{
	static pid_t own;

	if (own == 0)
		own = (pid_t)syscall(SYS_getpid);
	return own;
}

/* Beside what every program of ours may do (base/confine.c). */
static const struct confine_call calls[] = {
	{ "accept4", "guests, on sockets that were handed to us" },
	{ "getsockname", "the address that a guest dialled" },
	{ "setsockopt", "resets; the asked address of a DNS question" },
	{ "shutdown", "an end of stream is passed on" },
	{ "splice", "relays" },
	{ "pipe2", "relays: between two splices" },
};

static const struct confine_profile profile = {
	.program = "tapward-gate",
	.calls = calls,
	.call_count = COUNT(calls),
};

static const struct child_spec spec = {
	.profile = &profile,
	.rules = rules,
	.rule_count = COUNT(rules),
	.hello = hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = on_supervisor_gone,
};

int
main(int argc, char **argv)
{
	struct child child;
	struct gate_run run;

	child_init(&child, argc, argv);
	/* It reads no files later, and would be killed for trying. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		die(AREA, "no TLS library");
	gate_run_init(&run, child.base);
	return child_serve(&child, &spec, &run);
}
