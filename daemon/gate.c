/* Gates, see gate.h. */
#include "daemon/gate.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/message.h"
#include "conf/budget.h"
#include "daemon/recorder_bucket.h"
#include "daemon/supervisor.h"

/*
 * Questions and their ends: an honest one asks HOLD_RATE a second at most
 * (proxy/hold.h), and we may have been busy for a while.
 */
#define ASKS_PER_S 100
#define ASKS_BURST 1000
/* One that stands still is not asked again and again. */
#define STATUSES_OPEN_MAX 4

struct gate {
	LIST_ENTRY(gate) entry; /* of those that were retired */
	struct event *late;     /* the same */
	bool is_stopped;
	struct supervisor *sv;
	struct proc *proc;
	const struct gate_owner *owner;
	void *arg;
	uid_t uid;
	bool is_adopted;
	/*
	 * What it still has to answer. One that was taken over says whatever
	 * it likes as often as it likes; each such message is our time.
	 */
	unsigned int starts_open, policies_open;
	bool has_sockets_back;
	struct bucket asks;
	struct asks statuses; /* who waits for one */
	unsigned int statuses_open;
	struct message_gate_status status; /* as it last said */
	char peer[SUPERVISOR_PATH_SIZE];   /* "" before there is one */
	/* Between start and hello: what it is told then. Borrowed. */
	const struct sandbox_net *net;
};

/* Which of the namespace's sockets is which of the gate's. */
static const enum net_socket socket_map[GATE_SOCKET_COUNT] = {
	[GATE_SOCKET_TCP] = NET_SOCKET_TRANSPARENT,
	[GATE_SOCKET_EXPLICIT] = NET_SOCKET_PROXY,
	[GATE_SOCKET_DNS_UDP] = NET_SOCKET_DNS_UDP,
	[GATE_SOCKET_DNS_TCP] = NET_SOCKET_DNS_TCP,
	[GATE_SOCKET_SNTP] = NET_SOCKET_SNTP,
};

/* Tells it where it is. */
static int
send_net(struct gate *g)
{
	const struct net_plan *plan = &g->sv->plan;
	const struct net_sockets *s = sandbox_net_sockets(g->net);
	const struct message_gate_net m = {
		.guest_ip = plan->guest_ip,
		.gateway_ip = plan->gateway_ip,
		.synthetic_base = plan->synthetic_net,
		.synthetic_prefix = plan->synthetic_prefix_len,
	};
	uint8_t buf[64];
	struct wr w = wr_init(buf, sizeof(buf));
	int fds[GATE_SOCKET_COUNT];

	for (size_t i = 0; i < GATE_SOCKET_COUNT; i++)
		fds[i] = s->fd[socket_map[i]];
	message_gate_net_encode(&w, &m);
	return proc_send(g->proc, MSG_GATE_NET, 0, &w, fds, GATE_SOCKET_COUNT);
}

static void
on_hello(struct proc *p, const struct message_hello *hello, void *arg)
{
	struct gate *g = arg;

	if (!g->is_adopted && send_net(g) != 0) {
		proc_kill(p);
		return;
	}
	g->owner->on_hello(hello, g->arg);
}

static void
on_gone(struct proc *p, void *arg)
{
	struct gate *g = arg;

	(void)p;
	g->owner->on_gone(g->arg);
}

/* False: nobody asked. */
static bool
take_answer(unsigned int *open)
{
	if (*open == 0)
		return false;
	(*open)--;
	return true;
}

static int
on_ready(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate *g = proc_arg(arg);

	(void)c;
	(void)msg;
	if (!take_answer(&g->starts_open))
		return -EPROTO;
	g->owner->on_started(g->arg);
	return 0;
}

static int
on_policy_ack(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate *g = proc_arg(arg);
	struct message_gate_policy_ack m;
	int rc = message_gate_policy_ack_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (!take_answer(&g->policies_open))
		return -EPROTO;
	g->owner->on_policy(m.policy, g->arg);
	return 0;
}

static int
on_sockets(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate *g = proc_arg(arg);
	struct message_gate_net m;
	int rc = message_gate_net_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (!g->is_adopted || g->has_sockets_back)
		return -EPROTO;
	g->has_sockets_back = true;
	g->owner->on_sockets(msg->fds, g->arg);
	return 0;
}

static int
on_ask(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate *g = proc_arg(arg);
	struct message_ask m;
	int rc = message_ask_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (msg->id == 0 || !rd_done(&msg->body) ||
	    !bucket_take(&g->asks, clock_mono_ms()))
		return -EPROTO;
	return g->owner->on_ask == NULL ? 0
					: g->owner->on_ask(msg->id, &m, g->arg);
}

static int
on_ask_cancel(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct gate *g = proc_arg(arg);

	(void)c;
	if (!bucket_take(&g->asks, clock_mono_ms()))
		return -EPROTO;
	if (g->owner->on_ask_cancel != NULL)
		g->owner->on_ask_cancel(msg->id, g->arg);
	return 0;
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct answer a = { .text = "", .digest = "" };
	struct gate *g = proc_arg(arg);
	int rc = message_gate_status_decode(&msg->body, &g->status);

	(void)c;
	if (rc != 0)
		return rc;
	if (!take_answer(&g->statuses_open))
		return -EPROTO;
	return asks_answer(&g->statuses, msg->id, 0, &a) ? 0 : -EPROTO;
}

static const struct chan_rule gate_rules[] = {
	PROC_HELLO_RULE,
	{ MSG_ASK, MESSAGE_SMALL_BYTES, 0, 0, on_ask },
	{ MSG_ASK_CANCEL, 0, 0, 0, on_ask_cancel },
	{ MSG_GATE_STATUS_ANSWER, MESSAGE_SMALL_BYTES, 0, 0, on_status },
	{ MSG_GATE_READY, 0, 0, 0, on_ready },
	{ MSG_GATE_POLICY_ACK, MESSAGE_SMALL_BYTES, 0, 0, on_policy_ack },
	{ MSG_GATE_SOCKETS, MESSAGE_SMALL_BYTES, GATE_SOCKET_COUNT,
	    GATE_SOCKET_COUNT, on_sockets },
};

static struct gate *
gate_new(struct supervisor *sv, const struct gate_owner *owner, void *arg)
{
	struct gate *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->sv = sv;
	g->owner = owner;
	g->arg = arg;
	asks_init(&g->statuses);
	bucket_init(&g->asks, ASKS_PER_S, ASKS_BURST, clock_mono_ms());
	return g;
}

static struct proc_spec
make_spec(struct gate *g)
{
	struct process_limits limits = g->sv->config->gate_process;

	/* It has one file, which lies in memory that is everybody's. */
	limits.file_bytes = sizeof(struct budget_table);
	return (struct proc_spec){
		.program = "tapward-gate",
		.role = "gate",
		.uid = g->uid,
		.root_fd = g->sv->root_fd,
		.netns_fd = g->net == NULL ? -1 : sandbox_net_fd(g->net),
		.peer_path = g->peer,
		.limits = limits,
		.rules = gate_rules,
		.rule_count = sizeof(gate_rules) / sizeof(gate_rules[0]),
		.on_hello = on_hello,
		.on_gone = on_gone,
		.arg = g,
	};
}

int
gate_start(struct supervisor *sv, const struct sandbox_net *net,
    const struct gate_owner *owner, void *arg, struct gate **ret)
{
	struct gate *g = gate_new(sv, owner, arg);
	struct proc_spec spec;
	int rc;

	if (g == NULL)
		return -ENOMEM;
	rc = uids_take(&sv->uids, &g->uid);
	if (rc != 0) {
		free(g);
		return rc;
	}
	g->net = net;
	/* A live gate has its uid alone, so the name is free. */
	supervisor_run_path(sv, g->peer, "peer/g.%u", g->uid);
	spec = make_spec(g);
	rc = proc_start(sv->base, &spec, &g->proc);
	if (rc != 0) {
		gate_free(g);
		return rc;
	}
	*ret = g;
	return 0;
}

int
gate_adopt(struct supervisor *sv, const char *sandbox,
    const struct gate_owner *owner, void *arg, struct gate **ret)
{
	struct gate *g = gate_new(sv, owner, arg);
	struct proc_spec spec;
	int rc;

	if (g == NULL)
		return -ENOMEM;
	g->is_adopted = true;
	supervisor_run_path(sv, g->peer, "peer/s.%s", sandbox);
	spec = make_spec(g);
	rc = proc_adopt(sv->base, &spec, &g->proc);
	if (rc == 0)
		rc = uids_take_this(&sv->uids, proc_uid(g->proc));
	if (rc != 0) {
		proc_free(g->proc);
		(void)unlink(g->peer);
		free(g);
		return rc;
	}
	g->uid = proc_uid(g->proc);
	*ret = g;
	return 0;
}

void
gate_set_owner(struct gate *g, const struct gate_owner *owner, void *arg)
{
	g->owner = owner;
	g->arg = arg;
}

int
gate_name(struct gate *g, const char *sandbox)
{
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_run_path(g->sv, path, "peer/s.%s", sandbox);
	if (rename(g->peer, path) == -1)
		return -errno;
	memcpy(g->peer, path, sizeof(g->peer));
	return 0;
}

void
gate_kill(struct gate *g)
{
	proc_kill(g->proc);
}

/* They hear that there is no answer. */
static void
forget_askers(struct gate *g)
{
	asks_fail(&g->statuses, -EAGAIN, "");
}

void
gate_free(struct gate *g)
{
	if (g == NULL)
		return;
	forget_askers(g);
	proc_free(g->proc);
	(void)unlink(g->peer);
	uids_give_back(&g->sv->uids, g->uid);
	free(g);
}

void
gate_stop(struct gate *g)
{
	if (gate_is_ready(g))
		g->is_stopped =
		    proc_send(g->proc, MSG_GATE_STOP, 0, NULL, NULL, 0) == 0;
}

static void
free_retired(struct gate *g)
{
	LIST_REMOVE(g, entry);
	event_free(g->late);
	gate_free(g);
}

/* What it still says is nobody's business. */
static void
on_retired_hello(const struct message_hello *hello, void *arg)
{
	(void)hello;
	(void)arg;
}

static void
on_retired_started(void *arg)
{
	(void)arg;
}

static void
on_retired_policy(const char *digest, void *arg)
{
	(void)digest;
	(void)arg;
}

static void
on_retired_sockets(int fds[GATE_SOCKET_COUNT], void *arg)
{
	(void)fds;
	(void)arg;
}

static void
on_retired_gone(void *arg)
{
	free_retired(arg);
}

static const struct gate_owner retired_owner = {
	.on_hello = on_retired_hello,
	.on_started = on_retired_started,
	.on_policy = on_retired_policy,
	.on_sockets = on_retired_sockets,
	.on_gone = on_retired_gone,
};

static void
on_retired_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	log_warn("gate", "pid=%d does not end by itself", (int)gate_pid(arg));
	free_retired(arg);
}

/*
 * Its socket gets the name of a gate that serves nobody, which the next
 * supervisor ends if this one does not.
 */
static bool
rename_retired(struct gate *g)
{
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_run_path(g->sv, path, "peer/g.%u", g->uid);
	if (rename(g->peer, path) == -1)
		return false;
	memcpy(g->peer, path, sizeof(g->peer));
	return true;
}

void
gate_retire(struct gate *g)
{
	const struct timeval tv = { 0, GATE_STOP_MS * 1000L };

	if (g == NULL || !g->is_stopped || !rename_retired(g)) {
		gate_free(g);
		return;
	}
	g->late = evtimer_new(g->sv->base, on_retired_late, g);
	if (g->late == NULL || event_add(g->late, &tv) == -1) {
		if (g->late != NULL)
			event_free(g->late);
		gate_free(g);
		return;
	}
	forget_askers(g);
	gate_set_owner(g, &retired_owner, g);
	LIST_INSERT_HEAD(&g->sv->retired_gates, g, entry);
}

void
gates_end_retired(struct supervisor *sv)
{
	struct gate *g;
	int left_ms = GATE_STOP_MS;

	while ((g = LIST_FIRST(&sv->retired_gates)) != NULL) {
		const uint64_t began = clock_mono_ms();

		proc_await(g->proc, left_ms);
		left_ms -= (int)(clock_mono_ms() - began);
		left_ms = left_ms < 0 ? 0 : left_ms;
		free_retired(g);
	}
}

void
gate_leave(struct gate *g)
{
	if (g == NULL)
		return;
	forget_askers(g);
	proc_leave(g->proc);
	free(g);
}

bool
gate_is_ready(const struct gate *g)
{
	return g != NULL && proc_is_ready(g->proc);
}

pid_t
gate_pid(const struct gate *g)
{
	return proc_pid(g->proc);
}

uid_t
gate_uid(const struct gate *g)
{
	return g->uid;
}

uint64_t
gate_start_ticks(const struct gate *g)
{
	return proc_start_ticks(g->proc);
}

int
gate_send(struct gate *g, uint16_t type, const struct wr *body, const int *fds,
    unsigned int fd_count)
{
	int rc = proc_send(g->proc, type, 0, body, fds, fd_count);

	if (rc == 0 && type == MSG_GATE_START)
		g->starts_open++;
	if (rc == 0 && type == MSG_GATE_POLICY)
		g->policies_open++;
	return rc;
}

int
gate_ask_status(struct gate *g, ask_done *done, void *arg)
{
	uint32_t id;
	int rc;

	if (!gate_is_ready(g))
		return -EAGAIN;
	if (g->statuses_open == STATUSES_OPEN_MAX)
		return -EBUSY;
	id = proc_next_id(g->proc);
	rc = asks_add(&g->statuses, id, done, arg);
	if (rc != 0)
		return rc;
	rc = proc_send(g->proc, MSG_GATE_STATUS, id, NULL, NULL, 0);
	if (rc == 0)
		g->statuses_open++;
	else
		asks_cancel(&g->statuses, arg);
	return rc;
}

void
gate_forget_asker(struct gate *g, const void *arg)
{
	if (g != NULL)
		asks_cancel(&g->statuses, arg);
}

const struct message_gate_status *
gate_status(const struct gate *g)
{
	static const struct message_gate_status none;

	return g == NULL ? &none : &g->status;
}

void
gate_answer(struct gate *g, uint32_t number, const struct message_asked *m)
{
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	message_asked_encode(&w, m);
	(void)proc_send(g->proc, MSG_ASKED, number, &w, NULL, 0);
}
