/* Sandboxes in the supervisor: the object and what is shown of it. */
#include "daemon/sandbox.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "conf/budget.h"
#include "daemon/counters.h"
#include "daemon/files.h"
#include "daemon/jobs.h"
#include "daemon/link_api.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

/* How late a sandbox may end whose host slept meanwhile. */
#define TTL_LOOK_MS 30000

/* Unlike any before, over restarts and reboots, without a counter on disk. */
static uint64_t
next_generation(struct supervisor *sv)
{
	uint64_t now = clock_wall_ms();

	sv->last_generation =
	    now > sv->last_generation ? now : sv->last_generation + 1;
	return sv->last_generation;
}

struct sandbox *
sandbox_add(struct supervisor *sv, const char *name)
{
	struct sandbox *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->sv = sv;
	(void)snprintf(s->state.name, sizeof(s->state.name), "%s", name);
	s->state.generation = next_generation(sv);
	s->policy = POLICY_SET_NONE;
	s->next = POLICY_SET_NONE;
	s->wires = WIRES_NONE;
	s->guest_ns_fd = -1;
	s->hold_fd = -1;
	s->nflog_fd = -1;
	s->waiting.text_fd = -1;
	s->retry_ms = JOB_RETRY_MIN_MS;
	for (size_t i = 0; i < GATE_SOCKET_COUNT; i++)
		s->gate_fds[i] = -1;
	LIST_INIT(&s->questions.waiting);
	LIST_INIT(&s->questions.standing);
	LIST_INSERT_HEAD(&sv->sandboxes, s, entry);
	sv->sandbox_count++;
	return s;
}

static void
free_event(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

void
sandbox_discard(struct sandbox *s)
{
	questions_done(s);
	free_event(&s->device_event);
	free_event(&s->ruleset_event);
	free_event(&s->ttl_event);
	free_event(&s->count_event);
	free_event(&s->hold_event);
	free_event(&s->retry);
	free_event(&s->gate_late);
	wires_close(&s->wires);
	policy_set_done(&s->policy);
	policy_set_done(&s->next);
	fd_close(&s->guest_ns_fd);
	fd_close(&s->hold_fd);
	fd_close(&s->nflog_fd);
	fd_close(&s->waiting.text_fd);
	for (size_t i = 0; i < GATE_SOCKET_COUNT; i++)
		fd_close(&s->gate_fds[i]);
	free(s->findings);
	LIST_REMOVE(s, entry);
	s->sv->sandbox_count--;
	free(s);
}

void
sandbox_free(struct sandbox *s)
{
	/* First of all: the guest stops sending. */
	vm_free(s->vm);
	s->vm = NULL;
	/* Before its gate loses whom it asks: what is open ends as it is. */
	gate_stop(s->gate);
	/* And of one that ended without ever having been ours. */
	cgroup_host_sweep(&s->sv->cgroups);
	for (size_t i = create_step_count; i > 0; i--)
		if (create_steps[i - 1].undo != NULL)
			create_steps[i - 1].undo(s);
	sandbox_discard(s);
}

void
sandbox_leave(struct sandbox *s)
{
	vm_leave(s->vm);
	gate_leave(s->gate);
	sandbox_net_forget(s->net);
	sandbox_discard(s);
}

struct sandbox *
sandbox_find(const struct supervisor *sv, const char *name)
{
	struct sandbox *s;

	LIST_FOREACH(s, &sv->sandboxes, entry)
	if (strcmp(s->state.name, name) == 0)
		return s;
	return NULL;
}

bool
sandbox_has_gate(const struct sandbox *s)
{
	return s->phase == SANDBOX_RUNNING && gate_is_ready(s->gate);
}

void
sandbox_path(const struct sandbox *s, const char *file, char *buf, size_t size)
{
	int n = snprintf(buf, size, "%s/sandboxes/%s/%s",
	    s->sv->config->host->run_dir, s->state.name, file);

	if (n < 0 || (size_t)n >= size)
		die("sandbox", "path too long");
}

int
sandbox_keep(struct sandbox *s)
{
	char path[SUPERVISOR_PATH_SIZE], text[STATE_TEXT_MAX];
	struct wr w = wr_init(text, sizeof(text));
	int rc;

	state_write(&w, &s->state);
	if (!wr_ok(&w))
		return -EMSGSIZE;
	sandbox_path(s, "state", path, sizeof(path));
	rc = files_write_atomic(path, text, w.len);
	if (rc == 0)
		s->is_kept = true;
	return rc;
}

int
sandbox_keep_policy(const struct sandbox *s, const struct policy_set *policy)
{
	const struct files_owner secret = { 0, 0, 0600 };
	char path[SUPERVISOR_PATH_SIZE];
	int rc;

	sandbox_path(s, "policy.image", path, sizeof(path));
	rc = files_copy_atomic(path, policy->image_fd, &secret);
	if (rc != 0)
		return rc;
	sandbox_path(s, "policy.ini", path, sizeof(path));
	return files_copy_atomic(path, policy->text_fd, &secret);
}

int
sandbox_open_counts(const struct sandbox *s, int flags, int *ret_fd)
{
	char path[SUPERVISOR_PATH_SIZE];
	AUTO_CLOSE int fd = -1;

	sandbox_path(s, "counts", path, sizeof(path));
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1)
		return -errno;
	if ((flags & O_CREAT) != 0 &&
	    ftruncate(fd, (off_t)sizeof(struct budget_table)) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static const char *
device_word(enum device_state state)
{
	return state == DEVICE_GONE ? "detached" : "attached";
}

/* The device or the ruleset changed; what a stranger did is put right. */
static void
on_network(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *s = arg;
	struct net_event ev = { 0 };
	struct err err;
	int rc = sandbox_net_check(s->net, &ev, &err);
	bool was_detached = s->is_detached;

	(void)fd;
	(void)what;
	if (rc != 0) {
		log_err("network", "sandbox=%s: %s; its device is closed",
		    s->state.name, err.text);
		s->is_detached = true;
	} else {
		s->is_detached = ev.state == DEVICE_GONE;
	}
	if (ev.reinstalled)
		sandbox_say(s, "ruleset mended");
	if (was_detached != s->is_detached)
		sandbox_say(s, device_word(ev.state));
}

static void
on_hold(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *s = arg;
	uint8_t buf[64];

	(void)what;
	if (read(fd, buf, sizeof(buf)) > 0)
		return;
	free_event(&s->hold_event);
	remove_sandbox(s, "ended: the command that it was made for has ended");
}

/* Of a tied sandbox, while the supervisor that made it lives. */
static int
watch_hold(struct sandbox *s)
{
	if (s->hold_fd == -1)
		return 0;
	s->hold_event = event_new(s->sv->base, s->hold_fd, EV_READ | EV_PERSIST,
	    on_hold, s);
	return s->hold_event == NULL || event_add(s->hold_event, NULL) == -1
	    ? -ENOMEM
	    : 0;
}

static int
watch_fd(struct sandbox *s, int fd, struct event **ret)
{
	*ret = event_new(s->sv->base, fd, EV_READ | EV_PERSIST, on_network, s);
	return *ret == NULL || event_add(*ret, NULL) == -1 ? -ENOMEM : 0;
}

/*
 * The host's date may be set, and the host may sleep, while a timer counts
 * neither: looked at again every so often.
 */
static int
wait_ttl(struct sandbox *s)
{
	uint64_t now = clock_boot_ms(), end = s->state.ttl_end_boot_ms;
	uint64_t left = end > now ? end - now : 0;
	struct timeval tv;

	if (left > TTL_LOOK_MS)
		left = TTL_LOOK_MS;
	tv = (struct timeval){
		.tv_sec = (time_t)(left / 1000),
		.tv_usec = (suseconds_t)(left % 1000) * 1000,
	};
	return event_add(s->ttl_event, &tv) == -1 ? -ENOMEM : 0;
}

static void
on_ttl(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *s = arg;

	(void)fd;
	(void)what;
	if (clock_boot_ms() >= s->state.ttl_end_boot_ms || wait_ttl(s) != 0)
		remove_sandbox(s, "ended: its time is over");
}

static int
watch_ttl(struct sandbox *s)
{
	if (s->state.ttl_end_boot_ms == 0)
		return 0;
	s->ttl_event = evtimer_new(s->sv->base, on_ttl, s);
	return s->ttl_event == NULL ? -ENOMEM : wait_ttl(s);
}

int
sandbox_watch(struct sandbox *s)
{
	int rc = watch_fd(s, sandbox_net_device_fd(s->net), &s->device_event);

	if (rc == 0)
		rc = watch_fd(s, sandbox_net_ruleset_fd(s->net),
		    &s->ruleset_event);
	if (rc == 0)
		rc = counters_watch(s);
	if (rc == 0)
		rc = watch_hold(s);
	return rc == 0 ? watch_ttl(s) : rc;
}

/* By how it begins; what is not here has changed something of it. */
static enum log_event
event_of(const char *what)
{
	static const struct {
		const char *begin;
		enum log_event event;
	} rows[] = {
		{ "created", LOG_EVENT_SANDBOX_CREATED },
		{ "adopted", LOG_EVENT_SANDBOX_ADOPTED },
		{ "removed", LOG_EVENT_SANDBOX_ENDED },
		{ "ended", LOG_EVENT_SANDBOX_ENDED },
		{ "made anew", LOG_EVENT_SANDBOX_ENDED },
		{ "gate replaced", LOG_EVENT_GATE_REPLACED },
		{ "reload", LOG_EVENT_POLICY_RELOADED },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(what, rows[i].begin, strlen(rows[i].begin)) == 0)
			return rows[i].event;
	return LOG_EVENT_SANDBOX_CHANGED;
}

void
sandbox_say(struct sandbox *s, const char *what)
{
	log_event(event_of(what),
	    &(const struct log_about){ .sandbox = s->state.name }, "sandbox",
	    "name=%s %s", s->state.name, what);
	link_recorder_event(s->sv, s, what, REASON_NONE);
	link_api_event(s, what);
}

void
sandbox_set_findings(struct sandbox *s, struct span text)
{
	free(s->findings);
	s->findings = NULL;
	s->findings_len = 0;
	if (text.len == 0)
		return;
	s->findings = malloc(text.len);
	if (s->findings == NULL)
		return;
	memcpy(s->findings, text.ptr, text.len);
	s->findings_len = text.len;
}

static void
describe_policy(const struct sandbox *s, struct message_api_sandbox *ret)
{
	memcpy(ret->policy_file, s->state.display_name,
	    sizeof(ret->policy_file));
	memcpy(ret->policy_digest, s->state.policy_digest,
	    sizeof(ret->policy_digest));
	for (size_t i = 0; i < API_CREDENTIALS_MAX; i++) {
		const char *name = policy_credential_at(s->policy.policy, i);
		struct message_api_credential *c = &ret->credentials[i];

		if (name[0] == '\0')
			break;
		(void)snprintf(c->name, sizeof(c->name), "%s", name);
		config_tell_credential(s->sv->config, c);
		ret->credential_count++;
	}
}

static void
describe_network(const struct sandbox *s, struct message_api_sandbox *ret)
{
	const struct net_plan *plan = &s->sv->plan;

	(void)snprintf(ret->netns, sizeof(ret->netns), "%s/%s", NETNS_DIR,
	    sandbox_net_name(s->net));
	(void)snprintf(ret->device_name, sizeof(ret->device_name), "%s",
	    sandbox_net_device(s->net));
	ret->guest_ip = plan->guest_ip;
	ret->gateway_ip = plan->gateway_ip;
	ret->prefix = plan->prefix_len;
	memcpy(ret->guest_mac, plan->guest_mac, sizeof(ret->guest_mac));
	ret->proxy_port = plan->proxy_port;
}

/* The one that runs, or else how the last one ended. */
static void
describe_vm(const struct sandbox *s, struct message_api_sandbox *ret)
{
	ret->has_vm = s->vm != NULL || s->had_vm;
	if (s->vm != NULL)
		vm_describe(s->vm, &ret->vm);
	else if (s->had_vm)
		ret->vm.said = s->vm_last;
}

enum api_state
sandbox_state(const struct sandbox *s)
{
	if (s->phase == SANDBOX_RESTARTING || s->phase == SANDBOX_ADOPTING)
		return API_STATE_RESTARTING;
	return s->is_detached ? API_STATE_DETACHED : API_STATE_RUNNING;
}

void
sandbox_describe(const struct sandbox *s, struct message_api_sandbox *ret)
{
	const struct state *st = &s->state;

	*ret = (struct message_api_sandbox){
		.state = (uint8_t)sandbox_state(s),
		.device = st->device,
		.owner_uid = st->owner_uid,
		.generation = st->generation,
		.created_wall_ms = st->created_wall_ms,
		.ttl_end_wall_ms = st->ttl_end_wall_ms,
		.gate_pid = s->gate == NULL ? 0 : (int32_t)gate_pid(s->gate),
		.gate_restarts = s->gate_restarts,
	};
	memcpy(ret->name, st->name, sizeof(ret->name));
	memcpy(ret->ca_id, st->ca_id, sizeof(ret->ca_id));
	memcpy(ret->dropped, s->dropped, sizeof(ret->dropped));
	ret->is_tied = st->is_tied != 0;
	ret->learns = s->learns;
	describe_vm(s, ret);
	sandbox_path(s, "ca.pem", ret->ca, sizeof(ret->ca));
	describe_network(s, ret);
	describe_policy(s, ret);
}
