/* See git_patch.h. Of both trees only what differs is given to git. */
#include "cli/git_patch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/git_run.h"
#include "cli/git_tree.h"
#include "cli/git_view.h"

/* Of what differs, both sides: git compares in memory. */
#define CHANGED_MAX (1u << 30)
#define IGNORE_MAX (1u << 20)
#define LIST_MAX (512u << 20)
#define PIECE 65536

struct patching {
	const struct git_patch *p;
	struct git_scratch scratch;
	struct git_tree before, after;
	struct git_patch_totals totals;
	uint64_t changed_bytes;
};

/* What is to be ignored is said by the files that came back. */
static int
write_ignore(const struct patching *w, const struct git_file *f)
{
	AUTO_FREE char *to = NULL;
	AUTO_FREE uint8_t *text = NULL;
	AUTO_CLOSE int fd = -1;
	size_t len = (size_t)f->size;
	int rc;

	if (f->size > IGNORE_MAX)
		return -EFBIG;
	if (asprintf(&to, "tree/%s%s", git_view_prefix(w->p->view), f->path) ==
	    -1) {
		to = NULL;
		return -ENOMEM;
	}
	text = malloc(len + 1);
	rc = text == NULL ? -ENOMEM : git_file_read(&w->after, f, 0, text, len);
	if (rc == 0)
		rc = git_scratch_create(&w->scratch, to, &fd);
	return rc == 0 ? fd_write_all(fd, text, len) : rc;
}

static int
write_ignores(const struct patching *w, struct err *err)
{
	static const char name[] = ".gitignore";
	uint64_t bytes = 0;
	int rc = git_view_copy_excludes(w->p->view, &w->scratch, err);

	if (rc != 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < w->after.count; i++) {
		const struct git_file *f = &w->after.v[i];
		const char *last = strrchr(f->path, '/');

		if (f->is_link ||
		    strcmp(last == NULL ? f->path : last + 1, name) != 0)
			continue;
		bytes += f->size;
		rc = bytes > LIST_MAX ? -EFBIG : write_ignore(w, f);
	}
	return rc == 0 ? 0 : err_os(err, rc, "a .gitignore that came back");
}

/* So that no name is taken for more than a name (gitglossary(7), pathspec). */
#define HERE "./"
#define HERE_LEN (sizeof(HERE) - 1)

/* Paths that are new, a NUL after each, from their start. */
static int
list_new(const struct patching *w, int fd, size_t *ret_count)
{
	AUTO_FREE char *buf = malloc(PIECE + HERE_LEN + PATH_MAX + 1);
	size_t len = 0;
	int rc = buf == NULL ? -ENOMEM : 0;

	*ret_count = 0;
	for (size_t i = 0; rc == 0 && i < w->after.count; i++) {
		const char *path = w->after.v[i].path;
		size_t n = strlen(path) + 1;

		if (git_tree_find(&w->before, path) != NULL)
			continue;
		memcpy(buf + len, HERE, HERE_LEN);
		memcpy(buf + len + HERE_LEN, path, n);
		len += HERE_LEN + n;
		++*ret_count;
		if (len >= PIECE) {
			rc = fd_write_all(fd, buf, len);
			len = 0;
		}
	}
	if (rc == 0)
		rc = fd_write_all(fd, buf, len);
	return rc == 0 && lseek(fd, 0, SEEK_SET) == -1 ? -errno : rc;
}

static int
leave_out(struct patching *w, int fd)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	int rc = lseek(fd, 0, SEEK_SET) == -1
	    ? -errno
	    : fd_read_all(fd, LIST_MAX, &text, &len);

	for (size_t at = 0; rc == 0 && at < len; at += strlen(text + at) + 1) {
		const struct git_file *f = NULL;

		if (strncmp(text + at, HERE, HERE_LEN) == 0)
			f = git_tree_find(&w->after, text + at + HERE_LEN);
		if (f == NULL)
			return -EBADMSG;
		w->after.v[f - w->after.v].is_left_out = true;
		w->totals.ignored++;
	}
	return rc;
}

/* git check-ignore of the paths in in; of those it gives, to out. */
static int
check_ignore(const struct patching *w, int in, int out, struct err *err)
{
	static const char *const argv[] = { "check-ignore", "-z", "--stdin",
		"--no-index", NULL };
	AUTO_FREE char *folder = NULL;
	struct git_run run = { .scratch = &w->scratch,
		.tree = w->scratch.tree,
		.has_user_config = true,
		.fine = 1, /* nothing is to be ignored */
		.in_fd = in,
		.out_fd = out };
	int rc;

	/* Where the paths begin: it may be that nothing lies there. */
	if (asprintf(&folder, "tree/%s", git_view_prefix(w->p->view)) == -1) {
		folder = NULL;
		return err_os(err, -ENOMEM, "the new files");
	}
	rc = git_scratch_folders(&w->scratch, folder);
	free(folder);
	folder = NULL;
	if (rc != 0)
		return err_os(err, rc, "the new files");
	if (asprintf(&folder, "%s/%s", w->scratch.tree,
		git_view_prefix(w->p->view)) == -1) {
		folder = NULL;
		return err_os(err, -ENOMEM, "the new files");
	}
	run.folder = folder;
	return git_run(&run, argv, err);
}

static int
ignore_new(struct patching *w, struct err *err)
{
	AUTO_CLOSE int in = memfd_create("tapward-git", MFD_CLOEXEC);
	AUTO_CLOSE int out = memfd_create("tapward-git", MFD_CLOEXEC);
	size_t count = 0;
	int rc = in == -1 || out == -1 ? -errno : list_new(w, in, &count);

	if (rc != 0)
		return err_os(err, rc, "the new files");
	if (count == 0)
		return 0;
	rc = check_ignore(w, in, out, err);
	if (rc != 0)
		return rc;
	rc = leave_out(w, out);
	return rc == 0 ? 0 : err_os(err, rc, "the new files");
}

/* As git reads it between quotes: every odd byte by its number. */
static void
print_path(FILE *out, const char *prefix, const char *path)
{
	const char *parts[] = { prefix, path };

	(void)fputc('"', out);
	for (size_t i = 0; i < 2; i++)
		for (const char *p = parts[i]; *p != '\0'; p++) {
			unsigned char c = (unsigned char)*p;

			if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
				(void)fprintf(out, "\\%03o", c);
			else
				(void)fputc(c, out);
		}
	(void)fputc('"', out);
}

/* A file of one side into what git fast-import reads. */
static int
give(struct patching *w, FILE *out, const struct git_tree *t,
    const struct git_file *f)
{
	uint8_t buf[8192];
	int rc = 0;

	w->changed_bytes += f->size;
	if (w->changed_bytes > CHANGED_MAX)
		return -EFBIG;
	(void)fprintf(out, "M %s inline ",
	    f->is_link             ? "120000"
		: f->is_executable ? "100755"
				   : "100644");
	print_path(out, git_view_prefix(w->p->view), f->path);
	(void)fprintf(out, "\ndata %" PRIu64 "\n", f->size);
	if (f->is_link)
		(void)fwrite(git_file_target(f), 1, (size_t)f->size, out);
	for (uint64_t at = 0; rc == 0 && !f->is_link && at < f->size;) {
		size_t len = f->size - at < sizeof(buf) ? (size_t)(f->size - at)
							: sizeof(buf);

		rc = git_file_read(t, f, at, buf, len);
		if (rc == 0)
			(void)fwrite(buf, 1, len, out);
		at += len;
	}
	(void)fputc('\n', out);
	return rc == 0 && ferror(out) != 0 ? -ENOSPC : rc;
}

static void
give_commit(FILE *out, const char *name)
{
	(void)fprintf(out,
	    "commit refs/heads/%s\ncommitter tapward <tapward> 0 +0000\n"
	    "data 0\n\n",
	    name);
}

/* Those of one side that the other has not, or not so. */
static int
give_side(struct patching *w, FILE *out, const struct git_tree *t,
    const struct git_tree *other)
{
	int rc = 0;

	give_commit(out, t == &w->before ? "before" : "after");
	for (size_t i = 0; rc == 0 && i < t->count; i++) {
		const struct git_file *f = &t->v[i];
		const struct git_file *g = git_tree_find(other, f->path);

		if (f->is_left_out || (g != NULL && g->is_left_out))
			continue;
		if (g != NULL)
			rc = git_file_compare(t, f, other, g);
		if (rc == 0 && g != NULL)
			continue;
		if (rc < 0)
			break;
		/* Counted once: there, or on the other side alone. */
		if (t == &w->after || g == NULL)
			w->totals.files++;
		rc = give(w, out, t, f);
	}
	return rc;
}

/* A link that leads out stays what it was, or is not made. */
static int
check_links(struct patching *w)
{
	for (size_t i = 0; i < w->after.count; i++) {
		struct git_file *f = &w->after.v[i];
		const struct git_file *g = git_tree_find(&w->before, f->path);
		int rc;

		if (!f->is_link || !f->leaves || f->is_left_out)
			continue;
		rc = g == NULL ? 1
			       : git_file_compare(&w->before, g, &w->after, f);
		if (rc < 0)
			return rc;
		f->is_left_out = rc == 1;
		w->totals.links += rc == 1 ? 1 : 0;
	}
	return 0;
}

/* Both sides as commits, into fd. */
static int
give_both(struct patching *w, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *out = copy == -1 ? NULL : fdopen(copy, "w");
	int rc;

	if (out == NULL) {
		fd_close(&copy);
		return -ENOMEM;
	}
	rc = give_side(w, out, &w->before, &w->after);
	if (rc == 0)
		rc = give_side(w, out, &w->after, &w->before);
	if (fclose(out) != 0 && rc == 0)
		rc = -errno;
	return rc == 0 && lseek(fd, 0, SEEK_SET) == -1 ? -errno : rc;
}

static int
import(struct patching *w, struct err *err)
{
	static const char *const argv[] = { "fast-import", "--quiet", NULL };
	AUTO_CLOSE int in = -1;
	struct git_run run = { .scratch = &w->scratch };
	int rc = git_file_new(&in, err);

	if (rc != 0)
		return rc;
	rc = give_both(w, in);
	if (rc == -EFBIG)
		return err_at(err, NULL, 0,
		    "more was changed than %u bytes: bring the files back with"
		    " --download",
		    CHANGED_MAX);
	if (rc != 0)
		return err_os(err, rc, "the patch");
	run.in_fd = in;
	run.out_fd = in; /* it says nothing */
	return git_run(&run, argv, err);
}

static int
make(struct patching *w, struct err *err)
{
	static const char *const diff[] = { "diff-tree", "-r", "-p", "-M",
		"--binary", "--full-index", "--no-ext-diff", "--no-textconv",
		"--no-color", "--src-prefix=a/", "--dst-prefix=b/",
		"refs/heads/before", "refs/heads/after", NULL };
	const struct git_run run = { .scratch = &w->scratch,
		.in_fd = -1,
		.out_fd = w->p->out_fd };
	int rc = git_tree_read(w->p->before_fd, &w->before, err);

	if (rc == 0)
		rc = git_tree_read(w->p->after_fd, &w->after, err);
	if (rc == 0)
		rc = git_scratch_init(&w->scratch, false, err);
	if (rc == 0)
		rc = write_ignores(w, err);
	if (rc == 0)
		rc = ignore_new(w, err);
	if (rc == 0) {
		rc = check_links(w);
		rc = rc == 0 ? 0 : err_os(err, rc, "links that came back");
	}
	if (rc == 0)
		rc = import(w, err);
	return rc == 0 && w->totals.files > 0 ? git_run(&run, diff, err) : rc;
}

int
git_patch_make(const struct git_patch *p, struct git_patch_totals *ret,
    struct err *err)
{
	struct patching w = { .p = p };
	int rc = make(&w, err);

	git_scratch_done(&w.scratch);
	git_tree_done(&w.before);
	git_tree_done(&w.after);
	if (rc == 0)
		*ret = w.totals;
	return rc;
}
