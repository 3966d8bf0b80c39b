/*
 * See archive_read.h. A stack of directories that were entered, each by its
 * descriptor, and the file whose data is coming.
 *
 * What replaces something is made without a name (O_TMPFILE in open(2)), or
 * where that cannot be had under one of its own beside it, and then renamed, so
 * that what was there stays whole until the new is, and nothing lies about if
 * we are killed meanwhile.
 */
#include "vmm/archive_read.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "vmm/archive.h"

/* Of the name that a replacement has first: ".tapward-" and a number. */
#define TEMP_SIZE 32
/* Names that are taken are those of runs that were killed. */
#define TEMP_TRIES 100

struct times {
	int64_t s;
	uint32_t ns;
};

struct level {
	int fd;
	bool made; /* by us: mode and time are set when it is left */
	uint16_t mode;
	struct times mtime;
	size_t path_len; /* of the path to it */
};

struct archive_reader {
	int dir_fd; /* borrowed */
	char root[ARCHIVE_NAME_MAX + 1];
	struct archive_limits limits;
	archive_skipped *on_skipped;
	void *arg;
	struct archive_parser parser;
	struct archive_totals totals;
	struct level levels[ARCHIVE_DEPTH_MAX];
	unsigned int depth;
	char path[PATH_MAX];
	/* the entry at hand */
	char name[ARCHIVE_NAME_MAX + 1];
	char temp[TEMP_SIZE]; /* not empty: it is made under this name */
	int file_fd;
	bool is_unnamed; /* the file has no name yet */
	uint16_t file_mode;
	struct times file_mtime;
	uint64_t file_left;
};

static bool
is_component(const char *name)
{
	const size_t len = strlen(name);

	return len > 0 && len <= ARCHIVE_NAME_MAX &&
	    strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
	    strcmp(name, "..") != 0;
}

int
archive_reader_new(int dir_fd, const char *name,
    const struct archive_limits *limits, archive_skipped *on_skipped, void *arg,
    struct archive_reader **ret)
{
	struct archive_reader *r;

	if (!is_component(name))
		return -EINVAL;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	r->dir_fd = dir_fd;
	memcpy(r->root, name, strlen(name) + 1);
	r->limits = *limits;
	r->on_skipped = on_skipped;
	r->arg = arg;
	r->file_fd = -1;
	*ret = r;
	return 0;
}

/* The directory that the entry at hand is in. */
static int
parent_fd(const struct archive_reader *r)
{
	return r->depth == 0 ? r->dir_fd : r->levels[r->depth - 1].fd;
}

/* What the entry at hand is called until it is complete. */
static const char *
working_name(const struct archive_reader *r)
{
	return r->temp[0] != '\0' ? r->temp : r->name;
}

static void
drop_file(struct archive_reader *r)
{
	if (r->file_fd == -1)
		return;
	fd_close(&r->file_fd);
	if (!r->is_unnamed)
		(void)unlinkat(parent_fd(r), working_name(r), 0);
}

void
archive_reader_free(struct archive_reader *r)
{
	if (r == NULL)
		return;
	drop_file(r);
	while (r->depth > 0)
		fd_close(&r->levels[--r->depth].fd);
	free(r);
}

const struct archive_totals *
archive_reader_totals(const struct archive_reader *r)
{
	return &r->totals;
}

static const char *
quoted(const struct archive_reader *r, char text[ARCHIVE_PATH_TEXT_SIZE])
{
	return log_quote(text, ARCHIVE_PATH_TEXT_SIZE,
	    span_of(r->path[0] == '\0' ? "." : r->path));
}

/* Says rc of the entry at hand; returns rc. */
static int
fail(const struct archive_reader *r, struct err *err, int rc)
{
	char text[ARCHIVE_PATH_TEXT_SIZE];

	return err_os(err, rc, "%s", quoted(r, text));
}

static int
fail_as(const struct archive_reader *r, struct err *err, int rc,
    const char *why)
{
	char text[ARCHIVE_PATH_TEXT_SIZE];

	(void)err_at(err, NULL, 0, "%s: %s", quoted(r, text), why);
	return rc;
}

/* name and path are those of e. The root is called what the caller wants. */
static int
enter_name(struct archive_reader *r, const struct archive_entry *e)
{
	size_t at = r->depth == 0 ? 0 : r->levels[r->depth - 1].path_len;

	r->temp[0] = '\0';
	r->path[at] = '\0';
	if (e->name.len == 0) {
		memcpy(r->name, r->root, sizeof(r->name));
		return 0;
	}
	memcpy(r->name, e->name.ptr, e->name.len);
	r->name[e->name.len] = '\0';
	if (at + 1 + e->name.len >= sizeof(r->path))
		return -ENAMETOOLONG;
	if (at > 0)
		r->path[at++] = '/';
	memcpy(r->path + at, r->name, e->name.len + 1);
	return 0;
}

/* Against what may be made at all. */
static int
count(struct archive_reader *r, const struct archive_entry *e, struct err *err)
{
	if (r->totals.entries + r->totals.skipped == r->limits.entries_max)
		return fail_as(r, err, -EFBIG, "more files than allowed");
	if (e->size > r->limits.bytes_max - r->totals.bytes)
		return fail_as(r, err, -EFBIG, "more bytes than allowed");
	return 0;
}

/*
 * Calls make(r) under the entry's name or, if something is there and may be
 * replaced, under one of our own.
 */
static int
make_beside(struct archive_reader *r,
    int (*make)(struct archive_reader *r, const void *arg), const void *arg)
{
	int rc = make(r, arg);

	for (unsigned int i = 0;
	     rc == -EEXIST && r->limits.merge && i < TEMP_TRIES; i++) {
		(void)snprintf(r->temp, sizeof(r->temp), ".tapward-%ld-%u",
		    (long)getpid(), i);
		rc = make(r, arg);
	}
	return rc;
}

/* It is complete: if it has a name of our own, it takes its place. */
static int
settle(struct archive_reader *r)
{
	const int fd = parent_fd(r);

	if (r->temp[0] == '\0' || renameat(fd, r->temp, fd, r->name) == 0)
		return 0;
	return -errno;
}

/* Owner first: a change of it would take bits off the mode. */
static int
set_owner_fd(const struct archive_reader *r, int fd)
{
	if (r->limits.has_owner &&
	    fchown(fd, r->limits.uid, r->limits.gid) == -1)
		return -errno;
	return 0;
}

static int
set_meta_fd(const struct archive_reader *r, int fd, uint16_t mode,
    struct times mtime)
{
	const struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = mtime.s, .tv_nsec = mtime.ns } };
	const int rc = set_owner_fd(r, fd);

	if (rc != 0)
		return rc;
	return fchmod(fd, mode) == -1 || futimens(fd, ts) == -1 ? -errno : 0;
}

static int
enter_dir(struct archive_reader *r, const struct archive_entry *e)
{
	struct level level = { .fd = -1,
		.made = true,
		.mode = e->mode,
		.mtime = { e->mtime_s, e->mtime_ns },
		.path_len = strlen(r->path) };

	if (mkdirat(parent_fd(r), r->name, 0700) == -1) {
		if (errno != EEXIST || !r->limits.merge)
			return -errno;
		level.made = false;
	}
	level.fd = openat(parent_fd(r), r->name,
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (level.fd == -1)
		return -errno;
	r->levels[r->depth++] = level; /* the parser keeps the depth */
	return 0;
}

static int
leave_dir(struct archive_reader *r)
{
	struct level *l = &r->levels[--r->depth];
	const int rc = l->made ? set_meta_fd(r, l->fd, l->mode, l->mtime) : 0;

	r->path[l->path_len] = '\0';
	fd_close(&l->fd);
	return rc;
}

static int
open_file(struct archive_reader *r, const void *arg)
{
	(void)arg;
	r->file_fd = openat(parent_fd(r), working_name(r),
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return r->file_fd == -1 ? -errno : 0;
}

#define SELF_SIZE 32

static void
self_path(const struct archive_reader *r, char ret[SELF_SIZE])
{
	(void)snprintf(ret, SELF_SIZE, "/proc/self/fd/%d", r->file_fd);
}

/* True if it was opened so; false says nothing. */
static bool
open_unnamed(struct archive_reader *r)
{
	char self[SELF_SIZE];

	r->file_fd =
	    openat(parent_fd(r), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	if (r->file_fd == -1)
		return false;
	/* It will be needed: AT_EMPTY_PATH wants a capability. */
	self_path(r, self);
	if (access(self, F_OK) == -1)
		fd_close(&r->file_fd);
	r->is_unnamed = r->file_fd != -1;
	return r->is_unnamed;
}

static int
link_file(struct archive_reader *r, const void *arg)
{
	char self[SELF_SIZE];

	(void)arg;
	self_path(r, self);
	return linkat(AT_FDCWD, self, parent_fd(r), working_name(r),
		   AT_SYMLINK_FOLLOW) == -1
	    ? -errno
	    : 0;
}

/* It gets its name, or one beside it from which settle() takes it. */
static int
name_file(struct archive_reader *r)
{
	int rc = make_beside(r, link_file, NULL);

	r->is_unnamed = rc != 0;
	return rc;
}

static int
finish_file(struct archive_reader *r)
{
	int rc = set_meta_fd(r, r->file_fd, r->file_mode, r->file_mtime);

	if (rc == 0 && r->is_unnamed)
		rc = name_file(r);
	/* some file systems say only here that it was not written */
	if (close(steal_fd(&r->file_fd)) == -1 && rc == 0)
		rc = -errno;
	if (rc == 0)
		rc = settle(r);
	if (rc != 0 && !r->is_unnamed)
		(void)unlinkat(parent_fd(r), working_name(r), 0);
	return rc;
}

static int
start_file(struct archive_reader *r, const struct archive_entry *e)
{
	int rc;

	r->is_unnamed = false;
	rc = r->limits.merge && open_unnamed(r)
	    ? 0
	    : make_beside(r, open_file, NULL);
	if (rc != 0)
		return rc;
	r->file_mode = e->mode;
	r->file_mtime = (struct times){ e->mtime_s, e->mtime_ns };
	r->file_left = e->size;
	return e->size == 0 ? finish_file(r) : 0;
}

static int
write_file(struct archive_reader *r, struct span data)
{
	const int rc = fd_write_all(r->file_fd, data.ptr, data.len);

	if (rc != 0) {
		drop_file(r);
		return rc;
	}
	r->file_left -= data.len;
	return r->file_left == 0 ? finish_file(r) : 0;
}

static int
open_link(struct archive_reader *r, const void *arg)
{
	const char *target = arg;

	return symlinkat(target, parent_fd(r), working_name(r)) == -1 ? -errno
								      : 0;
}

static int
set_meta_link(const struct archive_reader *r, const struct archive_entry *e)
{
	const struct timespec ts[2] = { { .tv_nsec = UTIME_OMIT },
		{ .tv_sec = e->mtime_s, .tv_nsec = e->mtime_ns } };
	const int fd = parent_fd(r);

	if (r->limits.has_owner &&
	    fchownat(fd, working_name(r), r->limits.uid, r->limits.gid,
		AT_SYMLINK_NOFOLLOW) == -1)
		return -errno;
	return utimensat(fd, working_name(r), ts, AT_SYMLINK_NOFOLLOW) == -1
	    ? -errno
	    : 0;
}

static int
make_link(struct archive_reader *r, const struct archive_entry *e)
{
	char target[ARCHIVE_TARGET_MAX + 1];
	int rc;

	memcpy(target, e->target.ptr, e->target.len);
	target[e->target.len] = '\0';
	rc = make_beside(r, open_link, target);
	if (rc != 0)
		return rc;
	rc = set_meta_link(r, e);
	if (rc == 0)
		rc = settle(r);
	if (rc != 0)
		(void)unlinkat(parent_fd(r), working_name(r), 0);
	return rc;
}

static int
on_link(struct archive_reader *r, const struct archive_entry *e,
    struct err *err)
{
	int rc;

	if (r->limits.links != ARCHIVE_LINKS_ANY &&
	    archive_target_leaves(e->target, r->depth - 1)) {
		if (r->limits.links == ARCHIVE_LINKS_REFUSE)
			return fail_as(r, err, -EPERM,
			    "a link that leads out of the directory");
		r->totals.skipped++;
		if (r->on_skipped != NULL)
			r->on_skipped(r->path, e->target, r->arg);
		return 0;
	}
	rc = make_link(r, e);
	if (rc != 0)
		return fail(r, err, rc);
	r->totals.entries++;
	return 0;
}

static int
on_entry(struct archive_reader *r, const struct archive_entry *e,
    struct err *err)
{
	int rc;

	if (e->type == ARCHIVE_UP) {
		rc = leave_dir(r);
		return rc == 0 ? 0 : fail(r, err, rc);
	}
	rc = enter_name(r, e);
	if (rc != 0)
		return fail(r, err, rc);
	rc = count(r, e, err);
	if (rc != 0)
		return rc;
	if (e->type == ARCHIVE_LINK)
		return on_link(r, e, err);
	rc = e->type == ARCHIVE_DIR ? enter_dir(r, e) : start_file(r, e);
	if (rc != 0)
		return fail(r, err, rc);
	r->totals.entries++;
	r->totals.bytes += e->size;
	return 0;
}

static int
broken(const struct archive_reader *r, enum archive_fault fault,
    struct err *err)
{
	char text[ARCHIVE_PATH_TEXT_SIZE];

	(void)err_at(err, NULL, 0, "the archive is broken after %s: %s",
	    quoted(r, text), archive_fault_text(fault));
	return -EBADMSG;
}

int
archive_reader_feed(struct archive_reader *r, struct span in, struct err *err)
{
	struct archive_entry e;
	struct span data;
	int rc = 0;

	while (rc == 0) {
		switch (archive_parse(&r->parser, &in, &e, &data)) {
		case ARCHIVE_MORE:
			return 0;
		case ARCHIVE_ENTRY:
			rc = on_entry(r, &e, err);
			break;
		case ARCHIVE_DATA:
			rc = write_file(r, data);
			rc = rc == 0 ? 0 : fail(r, err, rc);
			break;
		case ARCHIVE_DONE:
			break;
		case ARCHIVE_BAD:
			return broken(r, r->parser.fault, err);
		}
	}
	return rc;
}

int
archive_reader_end(struct archive_reader *r, struct err *err)
{
	const enum archive_fault fault = archive_end(&r->parser);

	return fault == ARCHIVE_OK ? 0 : broken(r, fault, err);
}
