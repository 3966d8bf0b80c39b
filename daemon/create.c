/*
 * Making a sandbox: whole, or with nothing left behind. The device opens in
 * the last step but one, when the gate serves; the state file, which makes it
 * count after a crash, is written last.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "daemon/boot.h"
#include "daemon/connect.h"
#include "daemon/counters.h"
#include "daemon/files.h"
#include "daemon/jobs.h"
#include "daemon/link_api.h"
#include "daemon/link_broker.h"
#include "daemon/link_ca.h"
#include "daemon/supervisor.h"

/* In the guest's namespace. */
#define GUEST_DEVICE "eth0"

static void
on_compiled(void *arg, int rc, const struct answer *a)
{
	struct sandbox *s = arg;

	sandbox_set_findings(s, a->findings);
	if (rc == 0) {
		s->policy.image_fd = steal_fd(&a->fds[0]);
		memcpy(s->policy.digest, a->digest, sizeof(s->policy.digest));
		memcpy(s->state.policy_digest, a->digest,
		    sizeof(s->state.policy_digest));
	}
	steps_resume(&s->job, rc,
	    rc == -EINVAL ? "the policy has errors"
		: rc != 0 ? a->text
			  : NULL);
}

static int
compile(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	const struct compile_text text = {
		.fd = s->policy.text_fd,
		.display_name = s->state.display_name,
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
	policy_set_done(&s->policy);
}

static int
map(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = policy_set_map(&s->policy, s->sv->ceiling.policy);

	if (rc == -E2BIG)
		return err_at(err, s->state.display_name, 0,
		    "names more than %d ports or %d tcp hosts%s; use fewer",
		    NET_PORTS_MAX, NET_RESERVED_MAX,
		    s->learns ? ", with those of the ceiling" : "");
	return rc != 0 ? rc
		       : policy_set_check_credentials(&s->policy,
			     s->sv->config->host, err);
}

/* Another sandbox that has the same CA. */
static bool
is_ca_shared(const struct sandbox *s)
{
	const struct sandbox *other;

	LIST_FOREACH(other, &s->sv->sandboxes, entry)
	if (other != s && strcmp(other->state.ca_id, s->state.ca_id) == 0)
		return true;
	return false;
}

static void
on_ca(void *arg, int rc, const struct answer *a)
{
	struct sandbox *s = arg;

	if (rc == 0)
		rc = link_ca_keep(s, a);
	steps_resume(&s->job, rc, rc == -EINVAL ? a->text : NULL);
}

static int
make_ca(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	AUTO_CLOSE int fd = -1;
	int rc;

	/* One that is shared is there, or its maker is still at it. */
	if (is_ca_shared(s)) {
		rc = link_ca_open_key(s, &fd);
		return rc == 0
		    ? 0
		    : err_os(err, rc, "CA %s is not there yet; try again",
			  s->state.ca_id);
	}
	rc = link_ca_make(s, on_ca, s);
	if (rc == -EAGAIN)
		return err_os(err, rc, "tapward-ca is being restarted");
	return rc == 0 ? STEP_WAIT : rc;
}

static void
make_ca_undo(void *arg)
{
	struct sandbox *s = arg;

	asks_cancel(&s->sv->services[SERVICE_CA].asks, s);
	if (!is_ca_shared(s))
		link_ca_remove(s->sv, s->state.ca_id);
}

static int
make_folder(void *arg, struct err *err)
{
	const struct files_owner folder = { 0, 0, 0711 };
	struct sandbox *s = arg;
	char path[SUPERVISOR_PATH_SIZE];
	int rc;

	supervisor_run_path(s->sv, path, "sandboxes/%s", s->state.name);
	rc = files_make_dir(path, &folder);
	if (rc == 0)
		rc = link_ca_give_certificate(s);
	if (rc == 0)
		rc = sandbox_keep_policy(s, &s->policy);
	return rc == 0 ? 0 : err_os(err, rc, "%s", path);
}

static void
make_folder_undo(void *arg)
{
	struct sandbox *s = arg;
	char path[SUPERVISOR_PATH_SIZE];
	int rc;

	supervisor_run_path(s->sv, path, "sandboxes/%s", s->state.name);
	rc = files_remove_dir(path);
	if (rc != 0)
		log_err("sandbox", "%s: %s", path, strerror(-rc));
}

/* By it a namespace that a crash left behind is known to be ours. */
static int
note_namespace(const struct sandbox *s)
{
	char path[SUPERVISOR_PATH_SIZE], text[32];

	sandbox_path(s, "netns", path, sizeof(path));
	(void)snprintf(text, sizeof(text), "%" PRIu64 "\n",
	    s->state.netns_inode);
	return files_write_atomic(path, text, strlen(text));
}

static int
take_namespace(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	struct pool_pair pair;
	int rc = pool_take(&s->sv->pool, &jobs_gate_owner, s, &pair, err);

	if (rc != 0)
		return rc;
	s->net = pair.net;
	s->gate = pair.gate;
	s->state.netns_inode = sandbox_net_inode(s->net);
	rc = note_namespace(s);
	return rc == 0 ? 0 : err_os(err, rc, "run-dir");
}

static void
take_namespace_undo(void *arg)
{
	struct sandbox *s = arg;
	int rc;

	/* The gate came with it, and may not have got as far as its step. */
	connect_gate_undo(s);
	rc = sandbox_net_remove(s->net);
	s->net = NULL;
	if (rc != 0)
		log_warn("network", "sandbox=%s removal: %s", s->state.name,
		    strerror(-rc));
}

static int
open_device(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	const struct net_request req = {
		.name = s->state.name,
		.device = s->state.device == API_DEVICE_VETH ? NET_DEVICE_VETH
							     : NET_DEVICE_TAP,
		.owner = s->state.tap_owner_uid,
		.guest = { s->guest_ns_fd, GUEST_DEVICE, true },
		.open = policy_set_opening(&s->policy,
		    link_broker_grants_metadata(s)),
	};
	int rc = sandbox_net_finish(s->net, &req, err);

	if (rc == 0)
		rc = sandbox_watch(s);
	fd_close(&s->guest_ns_fd);
	return rc;
}

static void
open_device_undo(void *arg)
{
	struct sandbox *s = arg;

	counters_end(s);
	if (s->device_event != NULL)
		event_free(s->device_event);
	if (s->ruleset_event != NULL)
		event_free(s->ruleset_event);
	s->device_event = NULL;
	s->ruleset_event = NULL;
}

static int
keep(void *arg, struct err *err)
{
	int rc = sandbox_keep(arg);

	return rc == 0 ? 0 : err_os(err, rc, "state file");
}

static void
keep_undo(void *arg)
{
	struct sandbox *s = arg;
	char path[SUPERVISOR_PATH_SIZE];

	sandbox_path(s, "state", path, sizeof(path));
	if (unlink(path) == -1 && errno != ENOENT)
		log_err("sandbox", "%s: %s", path, strerror(errno));
	s->is_kept = false;
}

const struct step create_steps[] = {
	{ "compile", compile, compile_undo },
	{ "map", map, NULL },
	{ "ca", make_ca, make_ca_undo },
	{ "folder", make_folder, make_folder_undo },
	{ "namespace", take_namespace, take_namespace_undo },
	{ STEP_GATE, connect_gate, connect_gate_undo },
	{ "recorder", connect_recorder, connect_recorder_undo },
	{ "dialler", connect_dialler, connect_dialler_undo },
	{ "broker", connect_broker, connect_broker_undo },
	{ STEP_START, connect_start, connect_start_undo },
	{ "device", open_device, open_device_undo },
	{ "state", keep, keep_undo },
};
const size_t create_step_count = sizeof(create_steps) / sizeof(create_steps[0]);

static const struct steps_plan create_plan = {
	.table = create_steps,
	.count = sizeof(create_steps) / sizeof(create_steps[0]),
	.timeout_ms = JOB_CREATE_MS,
};

static void
answer(const struct sandbox *s, enum api_result result, const char *text)
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
}

static enum api_result
result_of(int rc)
{
	switch (rc) {
	case -EINVAL:
	case -EPERM:
		return API_INVALID;
	case -EEXIST:
		return API_EXISTS;
	case -EAGAIN:
	case -ECANCELED:
		return API_UNAVAILABLE;
	default:
		return API_FAILED;
	}
}

static void
on_done(void *arg, int rc, const struct err *err)
{
	struct sandbox *s = arg;

	s->sv->creating--;
	if (rc != 0) {
		log_event(LOG_EVENT_SANDBOX_FAILED,
		    &(const struct log_about){ .sandbox = s->state.name },
		    "sandbox", "name=%s create: %s", s->state.name, err->text);
		answer(s, result_of(rc), err->text);
		sandbox_discard(s);
		return;
	}
	s->phase = SANDBOX_RUNNING;
	sandbox_say(s, "created");
	answer(s, API_OK, "");
	jobs_after(s);
}

static void
fill_state(struct sandbox *s, const struct message_api_request *m)
{
	struct state *st = &s->state;
	bool is_own_ca = m->ca[0] == '\0';

	st->device = m->device;
	st->owner_uid = m->peer_uid;
	st->owner_gid = m->peer_gid;
	st->is_tied = m->is_tied ? 1 : 0;
	st->tap_owner_uid =
	    m->owner_uid == API_OWNER_PEER ? m->peer_uid : m->owner_uid;
	(void)snprintf(st->ca_id, sizeof(st->ca_id), "%s",
	    is_own_ca ? m->name : m->ca);
	(void)snprintf(st->display_name, sizeof(st->display_name), "%s",
	    m->display_name);
	boot_id(st->boot_id);
	st->created_wall_ms = clock_wall_ms();
	if (m->ttl_s != 0) {
		const uint64_t ttl_ms = (uint64_t)m->ttl_s * 1000;

		st->ttl_end_wall_ms = st->created_wall_ms + ttl_ms;
		st->ttl_end_boot_ms = clock_boot_ms() + ttl_ms;
	}
}

void
create_start(struct supervisor *sv, const struct message_api_request *m,
    const struct sandbox_request *to, struct create_fds *fds)
{
	struct sandbox *s = sandbox_add(sv, m->name);
	int rc;

	if (s == NULL) {
		link_api_refuse(sv, to, API_FAILED, "out of memory");
		return;
	}
	s->request = *to;
	s->phase = SANDBOX_CREATING;
	s->policy.text_fd = steal_fd(&fds->text);
	s->guest_ns_fd = steal_fd(&fds->netns);
	s->hold_fd = steal_fd(&fds->hold);
	s->learns = m->learns;
	fill_state(s, m);
	sv->creating++;
	rc = steps_start(&s->job, &create_plan, sv->base, on_done, s);
	if (rc != 0) {
		sv->creating--;
		answer(s, API_FAILED, "out of memory");
		sandbox_discard(s);
	}
}
