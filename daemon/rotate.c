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
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

#define LOG_NAME "audit.jsonl"
/* audit-2026-01-31T23:59:59.123Z.jsonl; also what logrotate(8) makes of it */
#define OLDER_PATTERN "audit-*.jsonl"
/* What logrotate or an operator has compressed. */
#define PACKED ".gz"
/* Files that one look takes away: the log tells of each. */
#define DROPS_AT_ONCE 16
/* Of the first line: its number and its time are in them. */
#define HEAD_BYTES 80
#define TIME_KEY "\"time\":\""

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

/*
 * When the log's first line was written; 0 if that cannot be told. Its first
 * bytes are the recorder's own: {"seq":N,"time":"2026-01-31T23:59:59.123Z".
 */
static uint64_t
began_ms(int dir)
{
	AUTO_CLOSE int fd = openat(dir, LOG_NAME,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char text[HEAD_BYTES + 1];
	struct tm tm = { 0 };
	const char *at;
	ssize_t n = fd == -1 ? -1 : pread(fd, text, HEAD_BYTES, 0);

	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strstr(text, TIME_KEY);
	if (at == NULL ||
	    strptime(at + strlen(TIME_KEY), "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return 0;
	return (uint64_t)timegm(&tm) * 1000;
}

static bool
is_due(const struct supervisor *sv, int dir)
{
	const struct hostconf *h = sv->config->host;
	const uint64_t now_ms = clock_wall_ms();
	uint64_t began;
	struct stat st;

	if ((h->rotate_bytes == 0 && h->rotate_age_ms == 0) ||
	    fstatat(dir, LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    st.st_size == 0)
		return false;
	if (h->rotate_bytes != 0 && (uint64_t)st.st_size >= h->rotate_bytes)
		return true;
	if (h->rotate_age_ms == 0)
		return false;
	began = began_ms(dir);
	return began != 0 && began < now_ms &&
	    now_ms - began >= h->rotate_age_ms;
}

static int
is_older(const struct dirent *entry)
{
	return fnmatch(OLDER_PATTERN, entry->d_name, 0) == 0 ||
	    fnmatch(OLDER_PATTERN PACKED, entry->d_name, 0) == 0;
}

static size_t
length_unpacked(const char *name)
{
	const size_t len = strlen(name), end = strlen(PACKED);

	return len > end && strcmp(name + len - end, PACKED) == 0 ? len - end
								  : len;
}

/*
 * In the order of the chain: by bytes, since the locale is nobody's business,
 * and what is compressed by the name that it had. While it is made both are
 * there, and are one.
 */
static int
compare_names(const char *a, const char *b)
{
	const size_t la = length_unpacked(a), lb = length_unpacked(b);
	const int rc = memcmp(a, b, la < lb ? la : lb);

	if (rc != 0 || la == lb)
		return rc;
	return la < lb ? -1 : 1;
}

static int
by_name(const struct dirent **a, const struct dirent **b)
{
	const int rc = compare_names((*a)->d_name, (*b)->d_name);

	/* What is whole comes before what is being made of it. */
	return rc != 0 ? rc : strcmp((*a)->d_name, (*b)->d_name);
}

/* Is this one of the log that is not to be kept? `newer` come after it. */
static bool
is_too_old(const struct supervisor *sv, int dir, const char *name, int newer)
{
	const struct hostconf *h = sv->config->host;
	const uint64_t now_s = clock_wall_ms() / 1000;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1 ||
	    !S_ISREG(st.st_mode))
		return false;
	if (h->keep_files != 0 && newer >= (int)h->keep_files)
		return true;
	return h->keep_age_ms != 0 && (uint64_t)st.st_mtime < now_s &&
	    now_s - (uint64_t)st.st_mtime > h->keep_age_ms / 1000;
}

static void
drop(struct supervisor *sv, int dir, const char *name)
{
	char text[AUDIT_DETAIL_MAX];

	if (unlinkat(dir, name, 0) == -1) {
		log_warn("rotate", "%s/%s: %s", sv->config->host->log_dir, name,
		    strerror(errno));
		return;
	}
	(void)snprintf(text, sizeof(text),
	    "no longer kept, by [audit] keep: %.200s", name);
	link_recorder_event(sv, NULL, text, REASON_NONE);
}

/* The oldest first, until one is to be kept: no hole comes into the chain. */
static void
drop_oldest(struct supervisor *sv, int dir)
{
	const struct hostconf *h = sv->config->host;
	struct dirent **names = NULL;
	bool goes_on = h->keep_files != 0 || h->keep_age_ms != 0;
	int n = goes_on ? scandirat(dir, ".", &names, is_older, by_name) : 0;

	for (int i = 0; i < n; i++) {
		goes_on = goes_on && i < DROPS_AT_ONCE &&
		    is_too_old(sv, dir, names[i]->d_name, n - 1 - i);
		if (goes_on)
			drop(sv, dir, names[i]->d_name);
		free(names[i]);
	}
	free(names);
}

static void
told_rotated(struct supervisor *sv)
{
	log_event(LOG_EVENT_AUDIT_ROTATED, NULL, "rotate",
	    "%s/" LOG_NAME " was moved aside", sv->config->host->log_dir);
	link_recorder_event(sv, NULL, "rotated: goes on from the file before",
	    REASON_NONE);
}

static void
move_on(struct supervisor *sv, int dir)
{
	int rc = move_aside(dir);

	if (rc == 0)
		rc = link_recorder_open_log(sv);
	if (rc != 0)
		log_err("rotate", "%s/" LOG_NAME ": %s",
		    sv->config->host->log_dir, strerror(-rc));
	else
		told_rotated(sv);
}

void
rotate_check(struct supervisor *sv)
{
	AUTO_CLOSE int dir = -1;

	/* Without a recorder nobody would go on with the chain. */
	if (!service_is_up(&sv->services[SERVICE_RECORDER]))
		return;
	dir = open_log_dir(sv);
	if (dir < 0)
		return;
	if (is_due(sv, dir))
		move_on(sv, dir);
	drop_oldest(sv, dir);
}

static void
on_check(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	rotate_check(arg);
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
open_older(int dir, const char *name)
{
	return openat(dir, name,
	    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The names in their order; fewer than 0 without a folder. */
static int
list_older(const struct supervisor *sv, int *ret_dir, struct dirent ***ret)
{
	*ret = NULL;
	*ret_dir = open_log_dir(sv);
	return *ret_dir < 0 ? -1
			    : scandirat(*ret_dir, ".", ret, is_older, by_name);
}

static void
free_names(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

unsigned int
rotate_open_older(const struct supervisor *sv, const char *after, int *ret_fds,
    unsigned int max, char ret_last[RECORDER_FILE_SIZE], bool *ret_has_more)
{
	AUTO_CLOSE int dir = -1;
	struct dirent **names;
	const int n = list_older(sv, &dir, &names);
	const char *last = after;
	unsigned int count = 0;
	int i = 0;

	for (; i < n && count < max; i++) {
		const char *name = names[i]->d_name;
		int fd;

		/* Also one that is compressed now, beside what it was. */
		if (compare_names(name, last) <= 0)
			continue;
		last = name;
		fd = open_older(dir, name);
		if (fd != -1)
			ret_fds[count++] = fd;
	}
	*ret_has_more = i < n;
	(void)snprintf(ret_last, RECORDER_FILE_SIZE, "%s", last);
	free_names(names, n);
	return count;
}

int
rotate_open_newest(const struct supervisor *sv)
{
	AUTO_CLOSE int dir = -1;
	struct dirent **names;
	const int n = list_older(sv, &dir, &names);
	const int fd = n > 0 ? open_older(dir, names[n - 1]->d_name) : -1;

	free_names(names, n);
	return fd;
}
