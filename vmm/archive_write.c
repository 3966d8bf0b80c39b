/*
 * See archive_write.h. A stack of open directories, the path to the uppermost,
 * and the file whose data is being given.
 */
#include "vmm/archive_write.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "vmm/archive.h"

/* Room for every record, so that none is ever cut by the caller's buffer. */
#define RECORD_ROOM (4 + ARCHIVE_RECORD_MAX)

enum writer_state {
	WRITER_ROOT, /* the magic and the root come next */
	WRITER_WALK, /* the next entry of the uppermost directory */
	WRITER_DATA, /* more of file_fd */
	WRITER_DONE,
};

struct level {
	DIR *dir;
	size_t path_len; /* of the path to it */
};

struct archive_writer {
	enum writer_state state;
	archive_filter *filter;
	void *arg;
	int root_fd; /* until it is given */
	struct level levels[ARCHIVE_DEPTH_MAX];
	unsigned int depth;
	char path[PATH_MAX];
	size_t path_len;
	int file_fd;
	uint64_t file_left;
	struct archive_totals totals;
};

int
archive_writer_new(int fd, archive_filter *filter, void *arg,
    struct archive_writer **ret)
{
	AUTO_CLOSE int root_fd = fd;
	struct archive_writer *w;
	struct stat st;

	if (fstat(root_fd, &st) == -1)
		return -errno;
	if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -ENOMEM;
	w->filter = filter;
	w->arg = arg;
	w->root_fd = steal_fd(&root_fd);
	w->file_fd = -1;
	*ret = w;
	return 0;
}

void
archive_writer_free(struct archive_writer *w)
{
	if (w == NULL)
		return;
	while (w->depth > 0)
		(void)closedir(w->levels[--w->depth].dir);
	fd_close(&w->file_fd);
	fd_close(&w->root_fd);
	free(w);
}

const struct archive_totals *
archive_writer_totals(const struct archive_writer *w)
{
	return &w->totals;
}

/* The present path, quoted into text. */
static const char *
quoted(const struct archive_writer *w, char text[ARCHIVE_PATH_TEXT_SIZE])
{
	return log_quote(text, ARCHIVE_PATH_TEXT_SIZE,
	    span_of(w->path_len == 0 ? "." : w->path));
}

/* Says rc of the present path; returns rc. */
static int
fail(const struct archive_writer *w, struct err *err, int rc)
{
	char text[ARCHIVE_PATH_TEXT_SIZE];

	return err_os(err, rc, "%s", quoted(w, text));
}

static int
fail_short(const struct archive_writer *w, struct err *err)
{
	char text[ARCHIVE_PATH_TEXT_SIZE];

	(void)err_at(err, NULL, 0, "%s: it became shorter while it was read",
	    quoted(w, text));
	return -ESTALE;
}

/* The path is that of the uppermost directory, and name in it. */
static int
path_enter(struct archive_writer *w, const char *name)
{
	size_t at = w->depth == 0 ? 0 : w->levels[w->depth - 1].path_len;
	const size_t len = strlen(name);

	if (at + 1 + len >= sizeof(w->path))
		return -ENAMETOOLONG;
	if (at > 0)
		w->path[at++] = '/';
	memcpy(w->path + at, name, len + 1);
	w->path_len = at + len;
	return 0;
}

static void
put_entry(struct archive_writer *w, struct wr *out, enum archive_type type,
    const char *name, const struct stat *st, struct span target)
{
	const struct archive_entry e = { .type = type,
		.mode = (uint16_t)(st->st_mode & 0777),
		.mtime_s = st->st_mtim.tv_sec,
		.mtime_ns = (uint32_t)st->st_mtim.tv_nsec,
		.size = (uint64_t)st->st_size,
		.name = span_of(name),
		.target = target };

	archive_entry_encode(out, &e);
	w->totals.entries++;
}

static void
put_bare(struct wr *out, enum archive_type type)
{
	archive_entry_encode(out, &(struct archive_entry){ .type = type });
}

/* Takes fd, which is a directory; its path is the present one. */
static int
enter_dir(struct archive_writer *w, struct wr *out, int fd, const char *name)
{
	AUTO_CLOSE int dir_fd = fd;
	struct stat st;
	DIR *dir;

	if (w->depth == ARCHIVE_DEPTH_MAX)
		return -ENAMETOOLONG;
	if (fstat(dir_fd, &st) == -1)
		return -errno;
	dir = fdopendir(dir_fd);
	if (dir == NULL)
		return -errno;
	(void)steal_fd(&dir_fd);
	w->levels[w->depth++] = (struct level){ dir, w->path_len };
	put_entry(w, out, ARCHIVE_DIR, name, &st, (struct span){ NULL, 0 });
	w->state = WRITER_WALK;
	return 0;
}

/* Takes fd, whatever it has become since it was looked at. */
static int
enter_file(struct archive_writer *w, struct wr *out, int fd, const char *name)
{
	AUTO_CLOSE int file_fd = fd;
	struct stat st;

	if (fstat(file_fd, &st) == -1)
		return -errno;
	if (!S_ISREG(st.st_mode)) {
		w->totals.skipped++;
		return 0;
	}
	put_entry(w, out, ARCHIVE_FILE, name, &st, (struct span){ NULL, 0 });
	w->file_left = (uint64_t)st.st_size;
	w->file_fd = steal_fd(&file_fd);
	w->state = WRITER_DATA;
	return 0;
}

static int
put_link(struct archive_writer *w, struct wr *out, const char *name,
    const struct stat *st)
{
	uint8_t target[ARCHIVE_TARGET_MAX + 1];
	const int dir_fd = dirfd(w->levels[w->depth - 1].dir);
	const ssize_t n =
	    readlinkat(dir_fd, name, (char *)target, sizeof(target));

	if (n == -1)
		return -errno;
	if ((size_t)n == sizeof(target))
		return -ENAMETOOLONG;
	put_entry(w, out, ARCHIVE_LINK, name, st,
	    (struct span){ target, (size_t)n });
	return 0;
}

/* An entry of the uppermost directory that is to go in. */
static int
put_child(struct archive_writer *w, struct wr *out, const char *name,
    const struct stat *st)
{
	const int dir_fd = dirfd(w->levels[w->depth - 1].dir);
	/* were it a FIFO by now, the open must not wait */
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
	    O_CLOEXEC | (S_ISDIR(st->st_mode) ? O_DIRECTORY : 0);
	int fd;

	if (S_ISLNK(st->st_mode))
		return put_link(w, out, name, st);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode)) {
		w->totals.skipped++;
		return 0;
	}
	fd = openat(dir_fd, name, flags);
	if (fd == -1)
		return -errno;
	return S_ISDIR(st->st_mode) ? enter_dir(w, out, fd, name)
				    : enter_file(w, out, fd, name);
}

static void
leave_dir(struct archive_writer *w, struct wr *out)
{
	(void)closedir(w->levels[--w->depth].dir);
	put_bare(out, ARCHIVE_UP);
	if (w->depth == 0) {
		put_bare(out, ARCHIVE_END);
		w->state = WRITER_DONE;
	}
}

static bool
is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One step of the walk. What vanishes while it is looked at was never there. */
static int
walk(struct archive_writer *w, struct wr *out, struct err *err)
{
	DIR *dir = w->levels[w->depth - 1].dir;
	const struct dirent *d;
	struct stat st;
	int rc;

	w->path_len = w->levels[w->depth - 1].path_len;
	w->path[w->path_len] = '\0';
	errno = 0;
	d = readdir(dir);
	if (d == NULL && errno != 0)
		return fail(w, err, -errno);
	if (d == NULL) {
		leave_dir(w, out);
		return 0;
	}
	if (is_dot(d->d_name))
		return 0;
	rc = path_enter(w, d->d_name);
	if (rc == 0 &&
	    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		rc = -errno;
	if (rc == 0 && (w->filter == NULL || w->filter(w->path, &st, w->arg)))
		rc = put_child(w, out, d->d_name, &st);
	return rc == 0 || rc == -ENOENT ? 0 : fail(w, err, rc);
}

static int
start(struct archive_writer *w, struct wr *out, struct err *err)
{
	const int fd = steal_fd(&w->root_fd);
	struct stat st;
	int rc;

	archive_magic_encode(out);
	if (fstat(fd, &st) == -1)
		rc = -errno;
	else
		rc = S_ISDIR(st.st_mode) ? enter_dir(w, out, fd, "")
					 : enter_file(w, out, fd, "");
	return rc == 0 ? 0 : fail(w, err, rc);
}

static void
leave_file(struct archive_writer *w, struct wr *out)
{
	fd_close(&w->file_fd);
	if (w->depth > 0) {
		w->state = WRITER_WALK;
		return;
	}
	put_bare(out, ARCHIVE_END);
	w->state = WRITER_DONE;
}

/* As much of the file as out has room for, but for the END after it. */
static int
give_data(struct archive_writer *w, struct wr *out, struct err *err)
{
	const size_t room = out->size - out->len - 1;
	const size_t want = room < w->file_left ? room : (size_t)w->file_left;
	ssize_t n;

	if (w->file_left == 0) {
		leave_file(w, out);
		return 0;
	}
	do
		n = read(w->file_fd, out->buf + out->len, want);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return fail(w, err, -errno);
	if (n == 0)
		return fail_short(w, err);
	out->len += (size_t)n;
	w->file_left -= (uint64_t)n;
	w->totals.bytes += (uint64_t)n;
	return 0;
}

static int
step(struct archive_writer *w, struct wr *out, struct err *err)
{
	switch (w->state) {
	case WRITER_ROOT:
		return start(w, out, err);
	case WRITER_WALK:
		return walk(w, out, err);
	case WRITER_DATA:
		return give_data(w, out, err);
	case WRITER_DONE:
		break;
	}
	return 0;
}

int
archive_writer_fill(struct archive_writer *w, uint8_t *buf, size_t size,
    size_t *ret_len, struct err *err)
{
	struct wr out = wr_init(buf, size);

	assert(size >= RECORD_ROOM);
	while (w->state != WRITER_DONE && out.size - out.len >= RECORD_ROOM) {
		const int rc = step(w, &out, err);

		if (rc != 0)
			return rc;
	}
	*ret_len = out.len;
	return 0;
}
