/*
 * The audit log moved aside, see rotate.h. Files are named by the time at
 * which they ended, so that their names sort as they were written.
 */
#include "daemon/rotate.h"

#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

#define LOG_NAME "audit.jsonl"
/* audit-2026-01-31T23:59:59.123Z.jsonl; also what logrotate(8) makes of it */
#define OLDER_PATTERN "audit-*.jsonl"

static int
open_log_dir(const struct supervisor *sv)
{
	int fd = open(sv->config->host->log_dir,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd == -1 ? -errno : fd;
}

static int
move_aside(int dir)
{
	char name[CLOCK_TEXT_SIZE + 16], now[CLOCK_TEXT_SIZE];

	(void)snprintf(name, sizeof(name), "audit-%s.jsonl",
	    clock_text(clock_wall_ms(), now));
	return renameat2(dir, LOG_NAME, dir, name, RENAME_NOREPLACE) == -1
	    ? -errno
	    : 0;
}

static void
check(struct supervisor *sv)
{
	const uint64_t most = sv->config->host->rotate_bytes;
	struct stat st;
	int rc, dir;

	/* Without a recorder nobody would go on with the chain. */
	if (most == 0 || !service_is_up(&sv->services[SERVICE_RECORDER]))
		return;
	dir = open_log_dir(sv);
	if (dir < 0)
		return;
	if (fstatat(dir, LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    (uint64_t)st.st_size < most) {
		(void)close(dir);
		return;
	}
	rc = move_aside(dir);
	(void)close(dir);
	if (rc == 0)
		rc = link_recorder_open_log(sv);
	if (rc != 0)
		log_err("rotate", "%s/" LOG_NAME ": %s",
		    sv->config->host->log_dir, strerror(-rc));
	else
		link_recorder_event(sv, NULL,
		    "rotated: goes on from the file before", REASON_NONE);
}

static void
on_check(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	check(arg);
}

int
rotate_start(struct supervisor *sv)
{
	const struct timeval every = { .tv_sec = ROTATE_CHECK_S };

	sv->rotate_event = event_new(sv->base, -1, EV_PERSIST, on_check, sv);
	return sv->rotate_event == NULL ||
		event_add(sv->rotate_event, &every) == -1
	    ? -ENOMEM
	    : 0;
}

void
rotate_stop(struct supervisor *sv)
{
	if (sv->rotate_event != NULL)
		event_free(sv->rotate_event);
	sv->rotate_event = NULL;
}

static int
is_older(const struct dirent *entry)
{
	return fnmatch(OLDER_PATTERN, entry->d_name, 0) == 0;
}

/* By bytes: the locale is nobody's business. */
static int
by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

unsigned int
rotate_open_older(const struct supervisor *sv, int *ret_fds, unsigned int max)
{
	struct dirent **names = NULL;
	int dir = open_log_dir(sv);
	unsigned int count = 0;
	int n = dir < 0 ? -1 : scandirat(dir, ".", &names, is_older, by_name);

	for (int i = 0; i < n; i++) {
		if (n - i <= (int)max) {
			int fd = openat(dir, names[i]->d_name,
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

			if (fd != -1)
				ret_fds[count++] = fd;
		}
		free(names[i]);
	}
	free(names);
	if (dir >= 0)
		(void)close(dir);
	return count;
}
