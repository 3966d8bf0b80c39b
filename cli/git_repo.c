/* See git_repo.h, gitrepository-layout(5). */
#include "cli/git_repo.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/policy_file.h"

/* Of ".git", "commondir", HEAD and a ref: a path and a few words. */
#define SMALL_MAX (PATH_MAX + 64)
/* A million refs: 64 bytes each. */
#define PACKED_MAX (64u << 20)
/* HEAD, the branch, and a few more; git(1) follows 5. */
#define REFS_DEPTH 5

int
git_path_join(char *buf, size_t size, const char *a, const char *b)
{
	int n = snprintf(buf, size, "%s/%s", strcmp(a, "/") == 0 ? "" : a, b);

	return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

/* A regular file, whatever its name leads to, without its last newlines. */
static int
read_text(const char *folder, const char *name, size_t max, char **ret)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_MAX];
	struct stat st;
	size_t len;
	int rc = git_path_join(path, sizeof(path), folder, name);

	if (rc != 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd == -1 || fstat(fd, &st) == -1)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	rc = fd_read_all(fd, max, ret, &len);
	if (rc != 0)
		return rc;
	while (len > 0 && ((*ret)[len - 1] == '\n' || (*ret)[len - 1] == '\r'))
		(*ret)[--len] = '\0';
	return 0;
}

/* path, or what it is from folder. */
static int
resolve(char ret[PATH_MAX], const char *folder, const char *path)
{
	if (*path != '/')
		return git_path_join(ret, PATH_MAX, folder, path);
	return (size_t)snprintf(ret, PATH_MAX, "%s", path) < PATH_MAX
	    ? 0
	    : -ENAMETOOLONG;
}

/* ".git" is a folder, or a file that names one: worktrees, submodules. */
static int
find_dir(const char *top, char ret[PATH_MAX])
{
	static const char says[] = "gitdir: ";
	AUTO_FREE char *text = NULL;
	struct stat st;
	int rc = git_path_join(ret, PATH_MAX, top, ".git");

	if (rc != 0)
		return rc;
	if (stat(ret, &st) == -1)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return 0;
	rc = read_text(top, ".git", SMALL_MAX, &text);
	if (rc != 0)
		return rc;
	if (strncmp(text, says, sizeof(says) - 1) != 0)
		return -EINVAL;
	return resolve(ret, top, text + sizeof(says) - 1);
}

/* What has no HEAD is no repository (gitrepository-layout(5)). */
static int
check_head(const char *dir)
{
	char head[PATH_MAX];
	struct stat st;
	int rc = git_path_join(head, sizeof(head), dir, "HEAD");

	return rc == 0 && lstat(head, &st) == -1 ? -errno : rc;
}

int
git_repo_open(const char *top, struct git_repo *ret, struct err *err)
{
	AUTO_FREE char *common = NULL;
	int rc = resolve(ret->top, "/", top);

	if (rc == 0)
		rc = find_dir(top, ret->dir);
	if (rc == 0)
		rc = check_head(ret->dir);
	if (rc == 0 &&
	    read_text(ret->dir, "commondir", SMALL_MAX, &common) == 0)
		rc = resolve(ret->common, ret->dir, common);
	else if (rc == 0)
		memcpy(ret->common, ret->dir, sizeof(ret->common));
	return rc == 0 ? 0 : err_os(err, rc, "%s/.git", top);
}

int
git_repo_find(const char *folder, struct git_repo *ret, struct err *err)
{
	char top[PATH_MAX], path[PATH_MAX];
	struct stat st;

	if (resolve(top, "/", folder) != 0)
		return err_os(err, -ENAMETOOLONG, "%s", folder);
	while (git_path_join(path, sizeof(path), top, ".git") != 0 ||
	    lstat(path, &st) == -1) {
		char *slash = strrchr(top, '/');

		if (slash == NULL || slash[1] == '\0')
			return err_at(err, NULL, 0,
			    "%s is in no repository of git: leave --git away",
			    folder);
		slash[slash == top ? 1 : 0] = '\0';
	}
	if (stat(top, &st) == -1)
		return err_os(err, -errno, "%s", top);
	if (!policy_folder_is_ours(&st))
		return err_at(err, NULL, 0,
		    "%s: the repository is another user's (uid %u), and would"
		    " say which files are copied",
		    top, st.st_uid);
	return git_repo_open(top, ret, err);
}

/* The hexadecimal digits of SHA-1 or SHA-256, and nothing after them. */
static bool
take_commit(const char *text, size_t len, char ret[VM_COMMIT_SIZE])
{
	if (len != 40 && len != VM_COMMIT_SIZE - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		if (strchr("0123456789abcdef", text[i]) == NULL)
			return false;
	memcpy(ret, text, len);
	ret[len] = '\0';
	return true;
}

/* Its path stays below the repository's own folder. */
static bool
is_ref(const char *name)
{
	if (strncmp(name, "refs/", 5) != 0 || strstr(name, "..") != NULL)
		return false;
	for (; *name != '\0'; name++)
		if (!isgraph((unsigned char)*name))
			return false;
	return true;
}

/* Lines "DIGITS NAME". */
static void
find_packed(const struct git_repo *r, const char *name,
    char ret[VM_COMMIT_SIZE])
{
	AUTO_FREE char *text = NULL;
	char *save = NULL;

	if (read_text(r->common, "packed-refs", PACKED_MAX, &text) != 0)
		return;
	for (const char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		const char *space = strchr(line, ' ');

		if (space != NULL && strcmp(space + 1, name) == 0 &&
		    take_commit(line, (size_t)(space - line), ret))
			return;
	}
}

void
git_repo_commit(const struct git_repo *r, char ret[VM_COMMIT_SIZE])
{
	char name[SMALL_MAX] = "HEAD";
	const char *folder = r->dir;

	ret[0] = '\0';
	for (int i = 0; i < REFS_DEPTH; i++) {
		AUTO_FREE char *text = NULL;

		if (read_text(folder, name, SMALL_MAX - 1, &text) != 0 ||
		    text == NULL) {
			find_packed(r, name, ret);
			return;
		}
		if (take_commit(text, strlen(text), ret) ||
		    strncmp(text, "ref: ", 5) != 0 || !is_ref(text + 5))
			return;
		memmove(name, text + 5, strlen(text + 5) + 1);
		folder = r->common;
	}
}
