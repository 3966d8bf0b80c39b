/*
 * See git_view.h. The repository's index is read by git in a repository of our
 * own, with the working tree of theirs: its paths are names to compare with,
 * which lead nowhere by themselves.
 */
#include "cli/git_view.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/git_run.h"

/* Linux itself has 10 MB of index, the largest repositories some 100. */
#define INDEX_MAX (1u << 30)
#define LIST_MAX (512u << 20)
#define EXCLUDE_MAX (1u << 20)
/* Submodules of submodules, and all of them. */
#define DEPTH_MAX 8
#define MODULES_MAX 1000

struct names {
	char **v;
	size_t count, size;
};

struct git_view {
	struct git_repo repo;
	char prefix[PATH_MAX];
	char commit[VM_COMMIT_SIZE];
	struct names files, nested;
	unsigned int modules;
};

/* One repository while it is listed. */
struct listing {
	struct git_view *view;
	const struct git_repo *repo;
	const char *folder; /* within it, absolute */
	const char *under;  /* what its names begin with in the view */
	unsigned int depth;
	struct names modules; /* of it, from folder */
};

static void
names_free(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->v[i]);
	free(n->v);
	*n = (struct names){ NULL, 0, 0 };
}

static int
names_add(struct names *n, const char *under, const char *name)
{
	if (n->count == n->size) {
		size_t size = n->size == 0 ? 256 : 2 * n->size;
		char **more = realloc(n->v, size * sizeof(n->v[0]));

		if (more == NULL)
			return -ENOMEM;
		n->v = more;
		n->size = size;
	}
	if (asprintf(&n->v[n->count], "%s%s", under, name) == -1)
		return -ENOMEM;
	n->count++;
	return 0;
}

static int
compare(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* "MODE DIGITS STAGE\tNAME"; a module is of mode 160000. */
static int
take_tracked(struct listing *l, char *entry)
{
	char *tab = strchr(entry, '\t');

	if (tab == NULL)
		return -EBADMSG;
	return strncmp(entry, "160000 ", 7) == 0
	    ? names_add(&l->modules, "", tab + 1)
	    : names_add(&l->view->files, l->under, tab + 1);
}

/* NAME, or NAME/ of a repository that this one knows nothing of. */
static int
take_other(struct listing *l, char *entry)
{
	size_t len = strlen(entry);

	return names_add(len > 0 && entry[len - 1] == '/' ? &l->view->nested
							  : &l->view->files,
	    l->under, entry);
}

/* Runs `git ls-files` and takes each of its entries. */
static int
list(struct listing *l, const struct git_scratch *s, const char *const *argv,
    int (*take)(struct listing *l, char *entry), struct err *err)
{
	AUTO_CLOSE int out = memfd_create("tapward-git", MFD_CLOEXEC);
	AUTO_FREE char *text = NULL;
	const struct git_run run = { .scratch = s,
		.tree = l->repo->top,
		.folder = l->folder,
		.has_user_config = true,
		.in_fd = -1,
		.out_fd = out };
	size_t len = 0;
	int rc;

	if (out == -1)
		return err_os(err, -errno, "git");
	rc = git_run(&run, argv, err);
	if (rc != 0)
		return rc;
	rc = lseek(out, 0, SEEK_SET) == -1
	    ? -errno
	    : fd_read_all(out, LIST_MAX, &text, &len);
	for (size_t at = 0; rc == 0 && at < len; at += strlen(text + at) + 1)
		rc = take(l, text + at);
	return rc == 0 ? 0 : err_os(err, rc, "the list of files");
}

/* The index, in one piece or shared (git-update-index(1), --split-index). */
static int
copy_index(const struct git_repo *r, const struct git_scratch *s,
    struct err *err)
{
	int rc = git_scratch_copy(s, r->dir, "index", INDEX_MAX, "dir/index");
	const struct dirent *d;
	DIR *dir;

	/* Nothing was ever added. */
	if (rc == -ENOENT)
		return 0;
	dir = rc == 0 ? opendir(r->dir) : NULL;
	if (rc == 0 && dir == NULL)
		rc = -errno;
	while (rc == 0 && dir != NULL && (d = readdir(dir)) != NULL) {
		char to[NAME_MAX + 8];

		if (strncmp(d->d_name, "sharedindex.", 12) != 0)
			continue;
		(void)snprintf(to, sizeof(to), "dir/%s", d->d_name);
		rc = git_scratch_copy(s, r->dir, d->d_name, INDEX_MAX, to);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return rc == 0 ? 0 : err_os(err, rc, "%s/index", r->dir);
}

/* A list of what to ignore may be missing. */
static int
copy_exclude(const struct git_scratch *s, const char *folder, const char *name,
    const char *to, struct err *err)
{
	int rc = git_scratch_copy(s, folder, name, EXCLUDE_MAX, to);

	return rc == 0 || rc == -ENOENT || rc == -ENOTDIR
	    ? 0
	    : err_os(err, rc, "%s/%s", folder, name);
}

static int list_repo(struct listing *l, struct err *err);

/* What is checked out of a submodule, which is a repository of its own. */
static int
/* NOLINTNEXTLINE(misc-no-recursion): to DEPTH_MAX, as repositories are */
list_module(struct listing *l, const char *name, struct err *err)
{
	AUTO_FREE struct git_repo *repo = malloc(sizeof(*repo));
	AUTO_FREE char *under = NULL;
	char top[PATH_MAX];
	struct listing module = { .view = l->view,
		.repo = repo,
		.folder = top,
		.depth = l->depth + 1 };
	struct stat st;
	int rc = git_path_join(top, sizeof(top), l->folder, name);

	if (repo == NULL)
		return err_os(err, -ENOMEM, "%s", top);
	if (rc != 0 || lstat(top, &st) == -1 || !S_ISDIR(st.st_mode))
		return 0;
	/* Not checked out: there is nothing in it. */
	if (git_repo_open(top, repo, NULL) != 0)
		return 0;
	if (l->depth == DEPTH_MAX || ++l->view->modules > MODULES_MAX)
		return err_at(err, NULL, 0,
		    "%s: more submodules than there can be", top);
	if (asprintf(&under, "%s%s/", l->under, name) == -1) {
		under = NULL;
		return err_os(err, -ENOMEM, "%s", top);
	}
	module.under = under;
	rc = list_repo(&module, err);
	return rc == 0 ? 0 : err_wrap(err, rc, "submodule %s", top);
}

static int
/* NOLINTNEXTLINE(misc-no-recursion): see list_module() */
list_repo(struct listing *l, struct err *err)
{
	static const char *const tracked[] = { "ls-files", "-z", "--stage",
		"--sparse", NULL };
	static const char *const others[] = { "ls-files", "-z", "--others",
		"--exclude-standard", NULL };
	char commit[VM_COMMIT_SIZE];
	struct git_scratch s;
	int rc;

	git_repo_commit(l->repo, commit);
	rc = git_scratch_init(&s, strlen(commit) > 40, err);
	if (rc == 0)
		rc = copy_index(l->repo, &s, err);
	if (rc == 0)
		rc = copy_exclude(&s, l->repo->common, "info/exclude",
		    "dir/info/exclude", err);
	if (rc == 0)
		rc = list(l, &s, tracked, take_tracked, err);
	if (rc == 0)
		rc = list(l, &s, others, take_other, err);
	git_scratch_done(&s);
	for (size_t i = 0; rc == 0 && i < l->modules.count; i++)
		rc = list_module(l, l->modules.v[i], err);
	names_free(&l->modules);
	return rc;
}

static int
make(struct git_view *v, const char *folder, struct err *err)
{
	struct listing l = { .view = v,
		.repo = &v->repo,
		.folder = folder,
		.under = "" };
	const char *rest;
	int rc = git_repo_find(folder, &v->repo, err);

	if (rc != 0)
		return rc;
	git_repo_commit(&v->repo, v->commit);
	rest = folder + strlen(v->repo.top);
	if (strcmp(v->repo.top, "/") != 0 && *rest == '/')
		rest++;
	if ((size_t)snprintf(v->prefix, sizeof(v->prefix), "%s%s", rest,
		*rest == '\0' ? "" : "/") >= sizeof(v->prefix))
		return err_os(err, -ENAMETOOLONG, "%s", folder);
	rc = list_repo(&l, err);
	if (rc == 0 && v->files.count > 0)
		qsort(v->files.v, v->files.count, sizeof(v->files.v[0]),
		    compare);
	return rc;
}

int
git_view_new(const char *folder, struct git_view **ret, struct err *err)
{
	AUTO_FREE char *real = realpath(folder, NULL);
	struct git_view *v;
	int rc;

	if (real == NULL)
		return err_os(err, -errno, "%s", folder);
	v = calloc(1, sizeof(*v));
	if (v == NULL)
		return err_os(err, -ENOMEM, "%s", folder);
	rc = make(v, real, err);
	if (rc != 0) {
		git_view_free(v);
		return rc;
	}
	*ret = v;
	return 0;
}

void
git_view_free(struct git_view *v)
{
	if (v == NULL)
		return;
	names_free(&v->files);
	names_free(&v->nested);
	free(v);
}

const char *
git_view_commit(const struct git_view *v)
{
	return v->commit;
}

const char *
git_view_prefix(const struct git_view *v)
{
	return v->prefix;
}

size_t
git_view_nested_count(const struct git_view *v)
{
	return v->nested.count;
}

const char *
git_view_nested(const struct git_view *v)
{
	return v->nested.count == 0 ? "" : v->nested.v[0];
}

bool
git_name_is_special(const char *name, size_t len)
{
	return len == 4 && strncasecmp(name, ".git", 4) == 0;
}

/* The first name of the view that is not before this one. */
static const char *
at_or_after(const struct git_view *v, const char *name)
{
	size_t from = 0, to = v->files.count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(v->files.v[middle], name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from == v->files.count ? NULL : v->files.v[from];
}

bool
git_view_filter(const char *path, const struct stat *st, void *arg)
{
	const struct git_view *v = arg;
	const char *last = strrchr(path, '/');
	char below[PATH_MAX + 1];
	const char *found;
	size_t len;

	/* Those above it were asked for before. */
	last = last == NULL ? path : last + 1;
	if (git_name_is_special(last, strlen(last)))
		return false;
	if (!S_ISDIR(st->st_mode)) {
		found = at_or_after(v, path);
		return found != NULL && strcmp(found, path) == 0;
	}
	len = (size_t)snprintf(below, sizeof(below), "%s/", path);
	if (len >= sizeof(below))
		return false;
	found = at_or_after(v, below);
	return found != NULL && strncmp(found, below, len) == 0;
}

int
git_view_copy_excludes(const struct git_view *v, const struct git_scratch *s,
    struct err *err)
{
	char above[PATH_MAX] = "", to[PATH_MAX + 32], folder[PATH_MAX];
	int rc = copy_exclude(s, v->repo.common, "info/exclude",
	    "dir/info/exclude", err);

	for (const char *p = v->prefix; rc == 0 && *p != '\0';
	     p = strchr(p, '/') + 1) {
		memcpy(above, v->prefix, (size_t)(p - v->prefix));
		above[p - v->prefix] = '\0';
		(void)snprintf(to, sizeof(to), "tree/%s.gitignore", above);
		rc = git_path_join(folder, sizeof(folder), v->repo.top, above);
		rc = rc == 0 ? copy_exclude(s, folder, ".gitignore", to, err)
			     : err_os(err, rc, "%s", above);
	}
	return rc;
}
