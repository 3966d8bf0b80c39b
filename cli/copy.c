/* See copy.h. */
#include "cli/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "cli/git_patch.h"
#include "cli/git_run.h"
#include "cli/git_view.h"
#include "cli/guest.h"
#include "cli/new_file.h"
#include "vmm/archive.h"

/* Where copies go that say no place. */
#define GUEST_FOLDER "/job"
/* A guest that never ends to send fills no disk: a large checkout is 10^6
 * files, a large model 100 GB. */
#define ENTRIES_MAX 4000000
#define BYTES_MAX (256ull << 30)

bool
copy_parse(char *text, bool is_upload, struct copy *ret)
{
	char *colon = strchr(text, ':');
	struct copy c = COPY_NONE;

	c.is_upload = is_upload;
	c.from = text;
	if (colon != NULL) {
		*colon = '\0';
		c.to = colon + 1;
	} else {
		c.to = is_upload ? GUEST_FOLDER : ".";
	}
	if (*c.from == '\0' || *c.to == '\0')
		return false;
	*ret = c;
	return true;
}

/* The last part of a path, without its slashes; "" if there is none. */
static void
last_part(const char *path, char ret[ARCHIVE_NAME_MAX + 1])
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	if (end - start > ARCHIVE_NAME_MAX)
		start = end;
	memcpy(ret, path + start, end - start);
	ret[end - start] = '\0';
}

static int
told(const struct session_end *end, const char *what)
{
	return command_tell(end, what) == 0 ? 0 : GUEST_STATUS_OURS;
}

/* A file goes into GUEST_FOLDER under its own name, a folder becomes it. */
static int
guest_path(const struct copy *c, int fd, char *buf, size_t size,
    struct err *err)
{
	char name[ARCHIVE_NAME_MAX + 1];
	struct stat st;

	if (*c->to != '/')
		return err_at(err, NULL, 0,
		    "%s: a path in the guest begins with /", c->to);
	if (fstat(fd, &st) == -1)
		return err_os(err, -errno, "%s", c->from);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return err_at(err, NULL, 0,
		    "%s: is neither a file nor a folder", c->from);
	last_part(c->from, name);
	if (strcmp(c->to, GUEST_FOLDER) == 0 && S_ISREG(st.st_mode))
		(void)snprintf(buf, size, GUEST_FOLDER "/%s", name);
	else if ((size_t)snprintf(buf, size, "%s", c->to) >= size)
		return err_os(err, -ENAMETOOLONG, "%s", c->to);
	return 0;
}

/* What is to go up, and to where. */
static int
open_source(const struct copy *c, char path[FRAME_PATH_MAX + 1], int *ret_fd,
    struct err *err)
{
	AUTO_CLOSE int fd = open(c->from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc;

	if (fd == -1)
		return err_os(err, -errno, "%s", c->from);
	rc = guest_path(c, fd, path, FRAME_PATH_MAX + 1, err);
	if (rc == 0)
		*ret_fd = steal_fd(&fd);
	return rc;
}

/* How it is read: a folder of a repository by git's list. */
static int
narrow(struct copy *c, struct session_put *p, struct err *err)
{
	if (c->view == NULL)
		return 0;
	p->filter = git_view_filter;
	p->filter_arg = c->view;
	if (!c->keeps)
		return 0;
	p->copy_fd = &c->before_fd;
	return git_file_new(&c->before_fd, err);
}

int
copy_up(struct session *s, struct copy *c)
{
	char path[FRAME_PATH_MAX + 1];
	struct session_put p = { .path = path,
		.user = c->user,
		.merge = c->merge };
	struct archive_totals totals;
	struct session_end end;
	struct err err = { "" };
	int rc = open_source(c, path, &p.from_fd, &err);

	if (rc == 0)
		rc = narrow(c, &p, &err);
	if (rc == 0)
		rc = session_put(s, &p, &end, &totals, &err);
	if (rc != 0)
		return cli_fail(&err, GUEST_STATUS_OURS);
	if (totals.skipped > 0)
		(void)fprintf(stderr,
		    "tapward: %s: %" PRIu64
		    " sockets, devices or FIFOs were left out\n",
		    c->from, totals.skipped);
	return told(&end, c->from);
}

static void
on_skipped(const char *path, struct span target, void *arg)
{
	(void)arg;
	(void)target;
	(void)fprintf(stderr,
	    "tapward: %s: a link that leads out of the copy; not made\n", path);
}

/*
 * Where it goes: an existing folder gets it under its own name, else the path
 * names what is made.
 */
static int
open_target(const struct copy *c, char name[ARCHIVE_NAME_MAX + 1], int *ret_fd,
    struct err *err)
{
	AUTO_FREE char *folder = NULL;
	struct stat st;
	bool is_folder =
	    stat(c->to, &st) == 0 && S_ISDIR(st.st_mode) && !c->merge;
	const char *slash = strrchr(c->to, '/');

	last_part(is_folder ? c->from : c->to, name);
	if (is_folder)
		folder = strdup(c->to);
	else if (slash == NULL)
		folder = strdup(".");
	else
		folder = strndup(c->to, (size_t)(slash - c->to) + 1);
	if (folder == NULL)
		return err_os(err, -ENOMEM, "%s", c->to);
	if (*name == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_at(err, NULL, 0,
		    "%s: say under which name it is to be made", c->to);
	*ret_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *ret_fd == -1 ? err_os(err, -errno, "%s", folder) : 0;
}

/* Where what comes down is made. */
static int
open_down(const struct copy *c, char name[ARCHIVE_NAME_MAX + 1], int *ret_fd,
    struct err *err)
{
	return *c->from != '/'
	    ? err_at(err, NULL, 0, "%s: a path in the guest begins with /",
		  c->from)
	    : open_target(c, name, ret_fd, err);
}

static int
check_down(const struct copy *c, struct err *err)
{
	AUTO_CLOSE int dir = -1;
	char name[ARCHIVE_NAME_MAX + 1];
	struct stat st;
	int rc = open_down(c, name, &dir, err);

	if (rc == 0 && !c->merge &&
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		rc = err_os(err, -EEXIST, "%s: %s", c->to, name);
	return rc;
}

static void
tell_nested(const struct copy *c)
{
	char text[ARCHIVE_PATH_TEXT_SIZE];
	const struct span first = span_of(git_view_nested(c->view));

	if (git_view_nested_count(c->view) == 0)
		return;
	(void)fprintf(stderr,
	    "tapward: %s: %zu repositories in it are no part of it and were"
	    " left out, such as %s\n",
	    c->from, git_view_nested_count(c->view),
	    log_quote(text, sizeof(text), first));
}

/* What is to go up: a folder, with is_git, as git sees it. */
static int
check_up(struct copy *c, struct err *err)
{
	AUTO_CLOSE int fd = -1;
	char path[FRAME_PATH_MAX + 1];
	struct stat st;
	int rc = open_source(c, path, &fd, err);

	if (rc != 0 || !c->is_git || fstat(fd, &st) == -1 ||
	    !S_ISDIR(st.st_mode))
		return rc;
	rc = git_view_new(c->from, &c->view, err);
	if (rc == 0)
		tell_nested(c);
	return rc;
}

int
copy_check(struct copy *c)
{
	struct err err = { "" };
	int rc = c->is_upload ? check_up(c, &err) : check_down(c, &err);

	return rc == 0 ? 0 : cli_fail(&err, GUEST_STATUS_OURS);
}

void
copy_done(struct copy *c)
{
	git_view_free(c->view);
	c->view = NULL;
	fd_close(&c->before_fd);
}

const char *
copy_commit(const struct copy *c)
{
	return c->view == NULL ? "" : git_view_commit(c->view);
}

int
copy_down(struct session *s, const struct copy *c)
{
	AUTO_CLOSE int dir = -1;
	char name[ARCHIVE_NAME_MAX + 1];
	struct session_get g = {
		.path = c->from,
		.user = c->user,
		.name = name,
		.limits = { .entries_max = ENTRIES_MAX,
		    .bytes_max = BYTES_MAX,
		    .links = ARCHIVE_LINKS_SKIP,
		    .merge = c->merge },
		.on_skipped = on_skipped,
	};
	struct session_end end;
	struct err err = { "" };
	int rc = open_down(c, name, &dir, &err);

	if (rc == 0) {
		g.dir_fd = dir;
		rc = session_get(s, &g, &end, NULL, &err);
	}
	return rc == 0 ? told(&end, c->from)
		       : cli_fail(&err, GUEST_STATUS_OURS);
}

static void
tell_patch(const char *path, const struct git_patch_totals *t)
{
	if (t->links > 0)
		(void)fprintf(stderr,
		    "tapward: %s: %zu links that lead out of the folder are not"
		    " in it\n",
		    path, t->links);
	if (t->files == 0)
		(void)fprintf(stderr,
		    "tapward: %s: nothing was changed; it is empty\n", path);
}

/* after_fd: what came back. */
static int
write_patch(const struct copy *c, int after_fd, const char *path,
    struct err *err)
{
	struct git_patch_totals totals;
	struct new_file out = { .fd = -1 };
	int rc = new_file_open(path, &out, err);

	if (rc == 0) {
		const struct git_patch p = { .view = c->view,
			.before_fd = c->before_fd,
			.after_fd = after_fd,
			.out_fd = out.fd };

		rc = git_patch_make(&p, &totals, err);
	}
	if (rc == 0)
		rc = new_file_keep(&out, err);
	new_file_done(&out);
	if (rc == 0)
		tell_patch(path, &totals);
	return rc == 0 ? 0 : err_wrap(err, rc, "the patch");
}

int
copy_patch(struct session *s, const struct copy *c, const char *path)
{
	AUTO_CLOSE int after = -1;
	struct session_end end;
	struct err err = { "" };
	int rc = git_file_new(&after, &err);

	if (rc == 0)
		rc =
		    session_get_archive(s, c->to, after, BYTES_MAX, &end, &err);
	if (rc == 0 && told(&end, c->to) != 0)
		return GUEST_STATUS_OURS;
	if (rc == 0)
		rc = write_patch(c, after, path, &err);
	return rc == 0 ? 0 : cli_fail(&err, GUEST_STATUS_OURS);
}
