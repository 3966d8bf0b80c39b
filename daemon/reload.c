/*
 * A new policy for a sandbox that runs. The ruleset, the dialler and the broker
 * take it one after the other; if one does not, those before get the old one
 * back. Between two of them the stricter of both counts, since each judges for
 * itself. The gate comes last and has no say: it may have been taken over, and
 * one that does not take the policy is replaced by one that starts with it.
 */
#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "base/message.h"
#include "daemon/connect.h"
#include "daemon/jobs.h"
#include "daemon/link_api.h"
#include "daemon/link_broker.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

/* A gate takes a policy in a turn of its loop. */
#define GATE_POLICY_MS 2000

static void
on_compiled(void *arg, int rc, const struct answer *a)
{
	struct sandbox *s = arg;

	sandbox_set_findings(s, a->findings);
	if (rc == 0) {
		s->next.image_fd = steal_fd(&a->fds[0]);
		memcpy(s->next.digest, a->digest, sizeof(s->next.digest));
	}
	steps_resume(&s->job, rc,
	    rc == -EINVAL ? "the policy has errors; the one before stays"
		: rc != 0 ? a->text
			  : NULL);
}

static int
compile(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	const struct compile_text text = {
		.fd = s->next.text_fd,
		.display_name = s->next.display_name,
		.learns = s->learns,
	};
	int rc = compiler_ask(&s->sv->compiler, &text, on_compiled, s);

	(void)err;
	return rc == 0 ? STEP_WAIT : rc;
}

static void
compile_undo(void *arg)
{
	struct sandbox *s = arg;

	compiler_cancel(&s->sv->compiler, s);
	policy_set_done(&s->next);
}

static int
map(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = policy_set_map(&s->next, s->sv->ceiling.policy);

	return rc != 0
	    ? rc
	    : policy_set_check_credentials(&s->next, s->sv->config->host, err);
}

static int
update_network(struct sandbox *s, const struct policy_set *p, struct err *err)
{
	const struct net_opening open =
	    policy_set_opening(p, link_broker_grants_metadata(s));

	return sandbox_net_update(s->net, &open, err);
}

static int
network(void *arg, struct err *err)
{
	struct sandbox *s = arg;

	return update_network(s, &s->next, err);
}

static void
network_undo(void *arg)
{
	struct sandbox *s = arg;
	struct err err;

	if (update_network(s, &s->policy, &err) != 0)
		log_err("reload", "sandbox=%s: %s", s->state.name, err.text);
}

static int
send_to_gate(struct sandbox *s, const struct policy_set *p)
{
	const int fds[] = { p->image_fd, s->sv->ceiling.image_fd };
	const struct message_gate_policy m = {
		.has_ceiling = s->sv->ceiling.image_fd != -1,
	};
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s->gate == NULL)
		return -ENOTCONN;
	message_gate_policy_encode(&w, &m);
	return gate_send(s->gate, MSG_GATE_POLICY, &w, fds,
	    m.has_ceiling ? 2 : 1);
}

static void
on_answer(void *arg, int rc, const struct answer *a)
{
	struct sandbox *s = arg;

	steps_resume(&s->job, rc, rc == 0 ? NULL : a->text);
}

/* What is undone is told without waiting for the answer. */
static void
on_undone(void *arg, int rc, const struct answer *a)
{
	const struct sandbox *s = arg;

	if (rc != 0)
		log_err("reload", "sandbox=%s: %s", s->state.name, a->text);
}

/*
 * Without a gate nobody asks in its name, and dialler and broker may not even
 * know it: they are told when the next one is connected.
 */
static int
dialler_policy(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc;

	(void)err;
	if (s->gate == NULL)
		return 0;
	rc = link_dialler_policy(s, &s->next, on_answer, s);
	return rc == 0 ? STEP_WAIT : rc;
}

static void
dialler_policy_undo(void *arg)
{
	struct sandbox *s = arg;

	asks_cancel(&s->sv->services[SERVICE_DIALLER].asks, s);
	if (s->gate != NULL)
		(void)link_dialler_policy(s, &s->policy, on_undone, s);
}

static int
broker_policy(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc;

	(void)err;
	if (s->gate == NULL)
		return 0;
	rc = link_broker_policy(s, &s->next, on_answer, s);
	return rc == 0 ? STEP_WAIT : rc;
}

static void
broker_policy_undo(void *arg)
{
	struct sandbox *s = arg;

	asks_cancel(&s->sv->services[SERVICE_BROKER].asks, s);
	if (s->gate != NULL)
		(void)link_broker_policy(s, &s->policy, on_undone, s);
}

/*
 * The files, and with them what a later supervisor takes up. A crash between
 * the two leaves a state that names another digest than the image has, and the
 * sandbox is then given the image anew (adopt.c).
 */
static int
files(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	const struct state before = s->state;
	int rc = sandbox_keep_policy(s, &s->next);

	if (rc == 0) {
		memcpy(s->state.policy_digest, s->next.digest,
		    sizeof(s->state.policy_digest));
		memcpy(s->state.display_name, s->next.display_name,
		    sizeof(s->state.display_name));
		rc = sandbox_keep(s);
	}
	if (rc == 0)
		return 0;
	s->state = before;
	return err_os(err, rc, "files of the sandbox");
}

static void
gate_refused(struct sandbox *s, const char *how)
{
	log_warn("reload", "sandbox=%s gate=replaced: %s", s->state.name, how);
	gate_kill(s->gate);
}

static void
on_gate_late(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *s = arg;

	(void)fd;
	(void)what;
	if (!steps_waits_at(&s->job, STEP_GATE_POLICY))
		return;
	gate_refused(s, "it does not take the policy in time");
	steps_resume(&s->job, 0, NULL);
}

void
reload_on_gate(struct sandbox *s, const char *digest)
{
	if (!steps_waits_at(&s->job, STEP_GATE_POLICY))
		return;
	if (strcmp(digest, s->next.digest) != 0)
		gate_refused(s, "it refused the policy");
	steps_resume(&s->job, 0, NULL);
}

static int
gate_policy(void *arg, struct err *err)
{
	const struct timeval tv = { .tv_sec = GATE_POLICY_MS / 1000 };
	struct sandbox *s = arg;

	(void)err;
	/* Records that come from here on are by the new one. */
	link_recorder_policy(s, s->next.digest);
	/* It died meanwhile: the next one starts with the new policy. */
	if (s->gate == NULL)
		return 0;
	if (s->gate_late == NULL)
		s->gate_late = evtimer_new(s->sv->base, on_gate_late, s);
	if (s->gate_late == NULL || event_add(s->gate_late, &tv) == -1 ||
	    send_to_gate(s, &s->next) != 0) {
		gate_refused(s, "it cannot be told of the policy");
		return 0;
	}
	return STEP_WAIT;
}

static const struct step reload_steps[] = {
	{ "compile", compile, compile_undo },
	{ "map", map, NULL },
	{ "network", network, network_undo },
	{ "dialler policy", dialler_policy, dialler_policy_undo },
	{ "broker policy", broker_policy, broker_policy_undo },
	{ "files", files, NULL },
	{ STEP_GATE_POLICY, gate_policy, NULL },
};

static const struct steps_plan reload_plan = {
	.table = reload_steps,
	.count = sizeof(reload_steps) / sizeof(reload_steps[0]),
	.timeout_ms = JOB_RELOAD_MS,
};

bool
reload_is_on(const struct sandbox *s)
{
	return s->job.is_running && s->job.table == reload_steps;
}

static void
answer(struct sandbox *s, enum api_result result, const char *text)
{
	struct message_api_sandbox about;
	struct message_api_answer a = {
		.result = (uint8_t)result,
		.text = text,
		.findings = { (const uint8_t *)s->findings, s->findings_len },
	};

	if (result == API_OK) {
		sandbox_describe(s, &about);
		a.payload = API_PAYLOAD_SANDBOX;
		a.sandbox = &about;
	}
	link_api_answer(s->sv, &s->request, &a, -1);
	s->request = (struct sandbox_request){ 0 };
}

static enum api_result
result_of(int rc)
{
	if (rc == -EINVAL)
		return API_INVALID;
	return rc == -EAGAIN || rc == -EPIPE || rc == -ECANCELED
	    ? API_UNAVAILABLE
	    : API_FAILED;
}

static void
on_done(void *arg, int rc, const struct err *err)
{
	struct sandbox *s = arg;

	if (s->gate_late != NULL)
		(void)event_del(s->gate_late);
	if (rc == 0) {
		policy_set_done(&s->policy);
		s->policy = policy_set_steal(&s->next);
		sandbox_say(s, "reload");
		answer(s, API_OK, "");
	} else {
		log_event(LOG_EVENT_POLICY_REFUSED,
		    &(const struct log_about){ .sandbox = s->state.name },
		    "sandbox", "name=%s reload: %s", s->state.name, err->text);
		answer(s, result_of(rc), err->text);
	}
	jobs_after(s);
}

/* False: it was answered, and jobs_after() is not called. */
static bool
begin(struct sandbox *s)
{
	s->request = s->waiting.request;
	s->next.text_fd = steal_fd(&s->waiting.text_fd);
	sandbox_set_findings(s, (struct span){ NULL, 0 });
	memcpy(s->next.display_name, s->waiting.display_name,
	    sizeof(s->next.display_name));
	if (steps_start(&s->job, &reload_plan, s->sv->base, on_done, s) == 0)
		return true;
	policy_set_done(&s->next);
	answer(s, API_FAILED, "out of memory");
	return false;
}

bool
reload_waiting_start(struct sandbox *s)
{
	return s->waiting.text_fd != -1 && begin(s);
}

void
reload_waiting_refuse(struct sandbox *s, const char *text)
{
	if (s->waiting.text_fd == -1)
		return;
	fd_close(&s->waiting.text_fd);
	link_api_refuse(s->sv, &s->waiting.request, API_UNAVAILABLE, text);
}

void
reload_start(struct sandbox *s, const struct message_api_request *m,
    const struct sandbox_request *to, int text_fd)
{
	reload_waiting_refuse(s, "another policy came after it");
	s->waiting.request = *to;
	s->waiting.text_fd = text_fd;
	(void)snprintf(s->waiting.display_name, sizeof(s->waiting.display_name),
	    "%s", m->display_name);
	if (!s->job.is_running)
		(void)begin(s);
}

/* What the ceiling opens of the network beside the policy. */
static void
read_again(struct sandbox *s)
{
	int rc =
	    s->learns ? policy_set_read(&s->policy, s->sv->ceiling.policy) : 0;

	if (rc != 0)
		log_err("reload", "sandbox=%s ports of the ceiling: %s",
		    s->state.name, strerror(-rc));
}

void
reload_push(struct sandbox *s)
{
	read_again(s);
	link_recorder_policy(s, s->state.policy_digest);
	(void)send_to_gate(s, &s->policy);
	/* Whoever is down gets it when it comes up. */
	(void)link_dialler_policy(s, &s->policy, on_undone, s);
	(void)link_broker_policy(s, &s->policy, on_undone, s);
	/* What the credentials open may be another than before. */
	network_undo(s);
}
