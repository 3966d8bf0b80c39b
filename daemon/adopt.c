/*
 * A supervisor that starts takes up what an earlier one left: each sandbox
 * with a whole state file of this boot goes on, and whatever else lies about
 * in run-dir is ended and swept away.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/boot.h"
#include "daemon/connect.h"
#include "daemon/counters.h"
#include "daemon/files.h"
#include "daemon/jobs.h"
#include "daemon/learning.h"
#include "daemon/link_broker.h"
#include "daemon/link_ca.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"
#include "daemon/sweep.h"

/* Its gate, with the sockets that only it still holds; or none. */
static int
find_gate(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc =
	    gate_adopt(s->sv, s->state.name, &jobs_gate_owner, s, &s->gate);

	(void)err;
	if (rc == 0)
		return STEP_WAIT;
	log_warn("adopt", "sandbox=%s has no gate: %s", s->state.name,
	    strerror(-rc));
	s->is_gate_lost = true;
	return 0;
}

static void
on_packet_log(void *arg, int rc, const struct answer *a)
{
	struct sandbox *s = arg;

	if (rc == 0 && a->fd_count == 1)
		s->nflog_fd = steal_fd(&a->fds[0]);
	steps_resume(&s->job, 0, NULL);
}

/* The recorder holds the one socket that can be bound to its group. */
static int
find_packet_log(void *arg, struct err *err)
{
	struct sandbox *s = arg;

	(void)err;
	if (!s->sv->services[SERVICE_RECORDER].was_adopted)
		return 0;
	return link_recorder_nflog_back(s, on_packet_log, s) == 0 ? STEP_WAIT
								  : 0;
}

static int
load_memfd(const struct sandbox *s, const char *file, int *ret_fd)
{
	AUTO_CLOSE int fd = -1;
	char path[SUPERVISOR_PATH_SIZE];

	sandbox_path(s, file, path, sizeof(path));
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	return files_to_memfd(file, fd, POLICY_IMAGE_MAX_BYTES, ret_fd);
}

static int
load_policy(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = load_memfd(s, "policy.image", &s->policy.image_fd);

	if (rc == 0)
		rc = load_memfd(s, "policy.ini", &s->policy.text_fd);
	if (rc == 0)
		rc = policy_set_map(&s->policy, s->sv->ceiling.policy);
	if (rc != 0)
		return err_os(err, rc, "its policy");
	s->learns = policy_set_learns(&s->policy);
	/* The ceiling and who may learn can be others now, gate or no gate. */
	if (!learning_settle(s))
		return err_at(err, NULL, 0, "it may not learn any longer");
	/* Of a reload that was cut short; what counts is the image. */
	(void)snprintf(s->state.policy_digest, sizeof(s->state.policy_digest),
	    "%s", policy_digest(s->policy.policy));
	return 0;
}

static void
fill_sockets(struct sandbox *s, struct net_sockets *ret)
{
	static const enum net_socket map[GATE_SOCKET_COUNT] = {
		[GATE_SOCKET_TCP] = NET_SOCKET_TRANSPARENT,
		[GATE_SOCKET_EXPLICIT] = NET_SOCKET_PROXY,
		[GATE_SOCKET_DNS_UDP] = NET_SOCKET_DNS_UDP,
		[GATE_SOCKET_DNS_TCP] = NET_SOCKET_DNS_TCP,
		[GATE_SOCKET_SNTP] = NET_SOCKET_SNTP,
	};

	*ret = NET_SOCKETS_NONE;
	for (size_t i = 0; i < GATE_SOCKET_COUNT; i++)
		ret->fd[map[i]] = steal_fd(&s->gate_fds[i]);
	ret->fd[NET_SOCKET_LOG] = steal_fd(&s->nflog_fd);
}

static int
take_network(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	const struct net_request req = {
		.name = s->state.name,
		.device = s->state.device == API_DEVICE_VETH ? NET_DEVICE_VETH
							     : NET_DEVICE_TAP,
		.owner = s->state.tap_owner_uid,
		.open = policy_set_opening(&s->policy,
		    link_broker_grants_metadata(s)),
	};
	struct net_kept kept = { .inode = s->state.netns_inode };
	int rc;

	fill_sockets(s, &kept.sockets);
	rc = sandbox_net_adopt(&s->sv->host, &s->sv->plan, &req, &kept, &s->net,
	    err);
	return rc == 0 ? sandbox_watch(s) : rc;
}

/* Which services know nothing of the sandboxes there are. */
static unsigned int
strangers(const struct supervisor *sv)
{
	unsigned int which = 0;

	if (!sv->services[SERVICE_RECORDER].is_same)
		which |= WIRES_RECORDER;
	if (!sv->services[SERVICE_DIALLER].is_same)
		which |= WIRES_DIALLER;
	if (!sv->services[SERVICE_BROKER].is_same)
		which |= WIRES_BROKER;
	return which;
}

static int
reconnect(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	unsigned int which = strangers(s->sv);

	(void)err;
	if ((which & WIRES_RECORDER) != 0 && link_recorder_nflog(s) == 0)
		counters_begin(s);
	if (s->is_gate_lost)
		return 0;
	if (which != 0)
		wires_mend(s, which);
	/* The ceiling may be another now. */
	reload_push(s);
	return 0;
}

/* A guest that goes on; one that a command was waiting for goes with it. */
static int
find_vm(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = vm_adopt(s);

	if (rc == 0 || s->state.is_tied == 0)
		return 0;
	(void)err_at(err, NULL, 0, "its virtual machine is gone");
	return -ESRCH;
}

static const struct step adopt_steps[] = {
	{ STEP_GATE, find_gate, NULL },
	{ "packet log", find_packet_log, NULL },
	{ "policy", load_policy, NULL },
	{ "network", take_network, NULL },
	{ "connections", reconnect, NULL },
	{ "virtual machine", find_vm, NULL },
};

static const struct steps_plan adopt_plan = {
	.table = adopt_steps,
	.count = sizeof(adopt_steps) / sizeof(adopt_steps[0]),
	.timeout_ms = JOB_ADOPT_MS,
};

static void
on_done(void *arg, int rc, const struct err *err)
{
	struct sandbox *s = arg;
	struct supervisor *sv = s->sv;

	sv->adopting--;
	if (rc != 0) {
		log_err("adopt", "sandbox=%s is removed: %s", s->state.name,
		    err->text);
		sandbox_free(s);
	} else {
		s->phase = SANDBOX_RUNNING;
		sandbox_say(s, "adopted");
		jobs_after(s);
	}
	startup_progress(sv);
}

static void
adopt_one(struct supervisor *sv, const struct state *state)
{
	struct sandbox *s = sandbox_add(sv, state->name);

	if (s == NULL)
		die("adopt", "no memory");
	s->state = *state;
	s->phase = SANDBOX_ADOPTING;
	s->is_kept = true;
	if (state->generation > sv->last_generation)
		sv->last_generation = state->generation;
	sv->adopting++;
	if (steps_start(&s->job, &adopt_plan, sv->base, on_done, s) != 0)
		die("adopt", "no memory");
}

/* A whole state of this boot, of the sandbox that the folder names. */
static bool
read_state(struct supervisor *sv, const char *name, struct state *ret)
{
	char path[SUPERVISOR_PATH_SIZE], text[STATE_TEXT_MAX + 1];
	char boot[BOOT_ID_SIZE];

	supervisor_run_path(sv, path, "sandboxes/%s/state", name);
	boot_id(boot);
	return files_read_text(path, text, sizeof(text)) == 0 &&
	    state_parse(span_of(text), ret) == 0 &&
	    strcmp(ret->name, name) == 0 && strcmp(ret->boot_id, boot) == 0;
}

static void
look_at(const char *name, void *arg)
{
	struct supervisor *sv = arg;
	struct state state;

	if (!sandbox_name_is_valid(name))
		return;
	if (read_state(sv, name, &state))
		adopt_one(sv, &state);
	else
		sweep_sandbox(sv, name);
}

void
adopt_all(struct supervisor *sv)
{
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_run_path(sv, path, "sandboxes");
	(void)files_each(path, look_at, sv);
	sweep_peers(sv);
	sweep_disks(sv);
	sweep_cgroups(sv);
	link_ca_sweep(sv);
}
