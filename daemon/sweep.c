/*
 * The sweep. Two daemons may run on one host, so only what run-dir says is
 * ours is touched: a namespace by the inode that was noted before it got its
 * name, a process by the socket that it listens at.
 */
#include "daemon/sweep.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "daemon/files.h"
#include "daemon/supervisor.h"

#define END_MS 5000
/*
 * A machine whose supervisor died before it was met ends by itself, while the
 * next supervisor is there already: for so long its group is looked for.
 */
#define CGROUP_SWEEP_MS 500
#define CGROUP_SWEEPS 40

/* The process that listens at path, if it is a gate of ours, ends. */
static void
end_listener(struct supervisor *sv, const char *path)
{
	AUTO_CLOSE int fd = -1, pidfd = -1;
	struct ucred cred;
	socklen_t len = sizeof(cred);
	int rc;

	if (chan_connect(path, &fd) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return;
	/*
	 * Root: it had not called listen() itself yet, so its channel is
	 * broken and it ends by itself.
	 */
	if (!uids_is_gate(&sv->uids, cred.uid) ||
	    process_open(cred.pid, &pidfd) != 0)
		return;
	rc = process_end(pidfd, END_MS);
	log_info("sweep", "gate pid=%d ended%s%s", (int)cred.pid,
	    rc == 0 ? "" : ": ", rc == 0 ? "" : strerror(-rc));
}

static void
sweep_peer(const char *name, void *arg)
{
	struct supervisor *sv = arg;
	char path[SUPERVISOR_PATH_SIZE];
	bool is_gate = strncmp(name, "g.", 2) == 0;
	bool is_sandbox =
	    strncmp(name, "s.", 2) == 0 || strncmp(name, "v.", 2) == 0;

	if (!is_gate && (!is_sandbox || sandbox_find(sv, name + 2) != NULL))
		return;
	supervisor_run_path(sv, path, "peer/%s", name);
	end_listener(sv, path);
	(void)unlink(path);
}

void
sweep_peers(struct supervisor *sv)
{
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_run_path(sv, path, "peer");
	(void)files_each(path, sweep_peer, sv);
}

/*
 * Only if it is the one that was noted; or if the name is a file that no
 * namespace was bound to yet, or any longer. 0 or -errno.
 */
static int
sweep_namespace(struct supervisor *sv, const char *name)
{
	AUTO_CLOSE int fd = -1;
	char path[SUPERVISOR_PATH_SIZE], text[32], found[32];
	char netns[NETNS_NAME_SIZE];
	uint64_t inode = 0;
	int rc;

	(void)snprintf(netns, sizeof(netns), "%s%s", NETNS_PREFIX, name);
	supervisor_run_path(sv, path, "sandboxes/%s/netns", name);
	if (files_read_text(path, text, sizeof(text)) != 0)
		return 0;
	rc = netns_name_open(netns, &fd);
	if (rc == -EINVAL)
		return netns_name_remove(netns);
	if (rc == 0)
		rc = netns_inode(fd, &inode);
	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	(void)snprintf(found, sizeof(found), "%" PRIu64 "\n", inode);
	if (strcmp(text, found) != 0)
		return 0;
	return sandbox_net_sweep(&sv->host, &sv->plan, netns);
}

void
sweep_sandbox(struct supervisor *sv, const char *name)
{
	char path[SUPERVISOR_PATH_SIZE];
	int rc;

	log_info("sweep", "sandbox=%s was half made", name);
	supervisor_run_path(sv, path, "peer/v.%s", name);
	end_listener(sv, path);
	(void)unlink(path);
	supervisor_run_path(sv, path, "peer/s.%s", name);
	end_listener(sv, path);
	(void)unlink(path);
	rc = sweep_namespace(sv, name);
	if (rc != 0)
		log_err("sweep", "namespace of %s: %s", name, strerror(-rc));
	supervisor_run_path(sv, path, "sandboxes/%s", name);
	rc = files_remove_dir(path);
	if (rc != 0)
		log_err("sweep", "%s: %s", path, strerror(-rc));
}

static void
on_sweep_cgroups(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval tv = { 0, CGROUP_SWEEP_MS * 1000L };
	struct supervisor *sv = arg;

	(void)fd;
	(void)what;
	cgroup_host_sweep(&sv->cgroups);
	if (++sv->cgroup_sweeps < CGROUP_SWEEPS)
		(void)event_add(sv->cgroup_sweep, &tv);
}

void
sweep_cgroups(struct supervisor *sv)
{
	sv->cgroup_sweep = evtimer_new(sv->base, on_sweep_cgroups, sv);
	if (sv->cgroup_sweep == NULL)
		cgroup_host_sweep(&sv->cgroups);
	else
		on_sweep_cgroups(-1, 0, sv);
}

void
sweep_cgroups_end(struct supervisor *sv)
{
	if (sv->cgroup_sweep != NULL)
		event_free(sv->cgroup_sweep);
	sv->cgroup_sweep = NULL;
}

static void
sweep_disk(const char *name, void *arg)
{
	struct supervisor *sv = arg;
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_state_path(sv, path, "vm/%s", name);
	(void)unlink(path);
}

void
sweep_disks(struct supervisor *sv)
{
	char path[SUPERVISOR_PATH_SIZE];

	supervisor_state_path(sv, path, "vm");
	(void)files_each(path, sweep_disk, sv);
}
