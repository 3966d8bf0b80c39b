/* See git_tree.h. */
#include "cli/git_tree.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/git_view.h"
#include "vmm/archive.h"

#define PIECE 65536
/* Paths and targets of all files: a large checkout has 100 MB. */
#define TEXT_MAX (512u << 20)

struct reading {
	struct git_tree *tree;
	struct archive_parser parser;
	char path[PATH_MAX];
	size_t lens[ARCHIVE_DEPTH_MAX + 1]; /* of the paths to what is open */
	unsigned int depth;
	unsigned int special;  /* depth of a .git that is being passed by; 0 */
	struct git_file *file; /* whose data comes; NULL: nobody's */
};

static int
add(struct reading *r, const struct archive_entry *e, const char *path,
    struct git_file **ret)
{
	struct git_tree *t = r->tree;
	size_t len = strlen(path), target = e->target.len;
	struct git_file f = { .is_link = e->type == ARCHIVE_LINK,
		.is_executable = (e->mode & 0100) != 0,
		.size = e->type == ARCHIVE_LINK ? target : e->size };

	if (t->count == t->size) {
		size_t size = t->size == 0 ? 256 : 2 * t->size;
		struct git_file *more = realloc(t->v, size * sizeof(t->v[0]));

		if (more == NULL)
			return -ENOMEM;
		t->v = more;
		t->size = size;
	}
	t->text_bytes += len + target + sizeof(f);
	if (t->text_bytes > TEXT_MAX)
		return -EFBIG;
	f.path = calloc(1, len + target + 2);
	if (f.path == NULL)
		return -ENOMEM;
	memcpy(f.path, path, len);
	if (f.is_link) {
		memcpy(f.path + len + 1, e->target.ptr, target);
		f.leaves = archive_target_leaves(e->target, r->depth - 1);
	}
	t->v[t->count] = f;
	*ret = &t->v[t->count++];
	return 0;
}

/* The path of a name in what is open. */
static int
enter_name(struct reading *r, struct span name, size_t *ret_len)
{
	size_t at = r->lens[r->depth];

	if (at + 1 + name.len >= sizeof(r->path))
		return -ENAMETOOLONG;
	if (at > 0)
		r->path[at++] = '/';
	if (name.len > 0)
		memcpy(r->path + at, name.ptr, name.len);
	r->path[at + name.len] = '\0';
	*ret_len = at + name.len;
	return 0;
}

static int
on_entry(struct reading *r, const struct archive_entry *e)
{
	size_t len;
	int rc;

	r->file = NULL;
	if (e->type == ARCHIVE_UP) {
		r->depth--;
		if (r->special > r->depth)
			r->special = 0;
		return 0;
	}
	/* The root is what names begin in. */
	if (r->depth == 0 && e->type != ARCHIVE_DIR)
		return -ENOTDIR;
	rc = enter_name(r, e->name, &len);
	if (rc != 0)
		return rc;
	if (e->type == ARCHIVE_DIR) {
		r->lens[++r->depth] = len;
		if (r->special == 0 &&
		    git_name_is_special((const char *)e->name.ptr, e->name.len))
			r->special = r->depth;
		return 0;
	}
	if (r->special != 0 ||
	    git_name_is_special((const char *)e->name.ptr, e->name.len))
		return 0;
	return add(r, e, r->path, &r->file);
}

/* One piece of the stream, whose first byte is at from. */
static int
feed(struct reading *r, const uint8_t *buf, size_t len, uint64_t from,
    struct err *err)
{
	struct span in = { buf, len }, data;
	struct archive_entry e;
	int rc = 0;

	while (rc == 0) {
		switch (archive_parse(&r->parser, &in, &e, &data)) {
		case ARCHIVE_MORE:
			return 0;
		case ARCHIVE_ENTRY:
			rc = on_entry(r, &e);
			break;
		case ARCHIVE_DATA:
			if (r->file != NULL && r->file->at == 0)
				r->file->at = from + (uint64_t)(data.ptr - buf);
			break;
		case ARCHIVE_DONE:
			break;
		case ARCHIVE_BAD:
			(void)err_at(err, NULL, 0, "the archive is broken: %s",
			    archive_fault_text(r->parser.fault));
			return -EBADMSG;
		}
	}
	return err_os(err, rc, "what came back");
}

static int
compare_paths(const void *a, const void *b)
{
	const struct git_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* No path twice. */
static int
check(const struct git_tree *t, struct err *err)
{
	for (size_t i = 1; i < t->count; i++) {
		if (strcmp(t->v[i - 1].path, t->v[i].path) != 0)
			continue;
		(void)err_at(err, NULL, 0,
		    "the archive is broken: two files of one name");
		return -EBADMSG;
	}
	return 0;
}

static int
read_all(struct reading *r, uint8_t *buf, struct err *err)
{
	uint64_t at = 0;
	ssize_t n = 0;
	int rc = 0;

	while (rc == 0 && (n = pread(r->tree->fd, buf, PIECE, (off_t)at)) > 0) {
		rc = feed(r, buf, (size_t)n, at, err);
		at += (uint64_t)n;
	}
	if (rc == 0 && n == -1)
		return err_os(err, -errno, "what came back");
	if (rc == 0 && archive_end(&r->parser) != ARCHIVE_OK) {
		(void)err_at(err, NULL, 0, "the archive is broken: %s",
		    archive_fault_text(archive_end(&r->parser)));
		rc = -EBADMSG;
	}
	return rc;
}

int
git_tree_read(int fd, struct git_tree *ret, struct err *err)
{
	struct reading *r = calloc(1, sizeof(*r));
	uint8_t *buf = malloc(PIECE);
	int rc = -ENOMEM;

	*ret = (struct git_tree){ .fd = fd };
	if (r != NULL && buf != NULL) {
		r->tree = ret;
		rc = read_all(r, buf, err);
	} else {
		(void)err_os(err, rc, "what came back");
	}
	free(buf);
	free(r);
	if (rc != 0)
		return rc;
	if (ret->count > 0)
		qsort(ret->v, ret->count, sizeof(ret->v[0]), compare_paths);
	return check(ret, err);
}

void
git_tree_done(struct git_tree *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->v[i].path);
	free(t->v);
	*t = (struct git_tree){ .fd = -1 };
}

const struct git_file *
git_tree_find(const struct git_tree *t, const char *path)
{
	size_t from = 0, to = t->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		int order = strcmp(t->v[middle].path, path);

		if (order == 0)
			return &t->v[middle];
		if (order < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

const char *
git_file_target(const struct git_file *f)
{
	return f->path + strlen(f->path) + 1;
}

int
git_file_read(const struct git_tree *t, const struct git_file *f, uint64_t from,
    uint8_t *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = pread(t->fd, buf, len, (off_t)(f->at + from));

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -EIO : -errno;
		buf += n;
		from += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

int
git_file_compare(const struct git_tree *at, const struct git_file *a,
    const struct git_tree *bt, const struct git_file *b)
{
	uint8_t x[4096], y[sizeof(x)];
	uint64_t from = 0;
	int rc = 0;

	if (a->is_link != b->is_link || a->size != b->size ||
	    (!a->is_link && a->is_executable != b->is_executable))
		return 1;
	if (a->is_link)
		return memcmp(git_file_target(a), git_file_target(b),
			   (size_t)a->size) != 0;
	while (rc == 0 && from < a->size) {
		size_t len = a->size - from < sizeof(x)
		    ? (size_t)(a->size - from)
		    : sizeof(x);

		rc = git_file_read(at, a, from, x, len);
		if (rc == 0)
			rc = git_file_read(bt, b, from, y, len);
		if (rc == 0 && memcmp(x, y, len) != 0)
			return 1;
		from += len;
	}
	return rc;
}
