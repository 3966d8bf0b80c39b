/*
 * A session with the virtual machine of a sandbox: commands and copies, one at
 * a time, over vmm/frame.h. What comes back was written by a guest and is not
 * believed: bytes go where they were asked for, text was checked.
 */
#ifndef TAPWARD_CLI_SESSION_H
#define TAPWARD_CLI_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/cli.h"
#include "vmm/archive_read.h"
#include "vmm/archive_write.h"
#include "vmm/frame.h"

struct session;

/* How a command or a copy ended. */
struct session_end {
	enum frame_end end;
	uint32_t value;
	enum frame_limit limit;
	char text[FRAME_TEXT_MAX + 1];
};

/*
 * A new session; SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH are read by it
 * until it is closed, and do nothing by themselves. Its errors are printed. 0,
 * or the exit status.
 */
int session_open(const struct cli *cli, const char *name, struct session **ret);
/* What it still runs is ended by the other side. NULL is fine. */
void session_close(struct session *s);

/*
 * Each of the following gives 0, -EINTR when a signal ended the wait, or
 * another -errno, with err set. After a failure the session is of no use.
 */

/* Waits until commands can be run. on_state may be NULL. */
typedef void session_on_state(const struct frame_state *state, void *arg);
int session_await_ready(struct session *s, session_on_state *on_state,
    void *arg, struct err *err);

struct session_command {
	const char *const *argv; /* NULL-terminated, at least one */
	const char *const *env;  /* NAME=VALUE; NULL-terminated, or NULL */
	const char *cwd, *user;  /* NULL: the image's */
	bool has_tty;            /* ours, which goes into raw mode */
	bool ends_on_signal;     /* -EINTR at once; it does not get it */
	uint32_t timeout_ms;     /* 0: none */
	uint64_t output_max;     /* bytes; 0: no limit */
	int in_fd;               /* -1: nothing to read */
	int out_fd, err_fd;
};

/*
 * Runs it; signals go to it. A second one ends the wait with -EINTR: then the
 * command was not waited for.
 */
int session_run(struct session *s, const struct session_command *c,
    struct session_end *ret, struct err *err);

/*
 * from_fd (taken) to path in the guest, absolute. merge: onto what is there.
 * ret_totals may be NULL.
 */
struct session_put {
	int from_fd;
	const char *path, *user;
	bool merge;
	archive_filter *filter; /* or NULL */
	void *filter_arg;
	const int *copy_fd; /* or NULL; gets the archive as it is sent */
};
int session_put(struct session *s, const struct session_put *p,
    struct session_end *ret, struct archive_totals *ret_totals,
    struct err *err);
/* path of the guest to name in dir_fd, within limits. */
struct session_get {
	const char *path, *user;
	int dir_fd;
	const char *name;
	struct archive_limits limits;
	archive_skipped *on_skipped; /* or NULL */
};
int session_get(struct session *s, const struct session_get *g,
    struct session_end *ret, struct archive_totals *ret_totals,
    struct err *err);
/* The archive of path as it comes, unread, into fd: at most max bytes. */
int session_get_archive(struct session *s, const char *path, int fd,
    uint64_t max, struct session_end *ret, struct err *err);

/* The status that a shell would give, and a text for people or "". */
int session_status(const struct session_end *end);

#endif
