/*
 * Where a repository of git lies, and which commit it stands on, by reading its
 * files: nothing that its configuration says is obeyed, and no program runs.
 * Whoever wrote the repository chose every path and byte of it; regular files
 * are read, up to a limit, and nothing else.
 */
#ifndef TAPWARD_CLI_GIT_REPO_H
#define TAPWARD_CLI_GIT_REPO_H

#include <limits.h>
#include <stddef.h>

#include "base/err.h"
#include "base/message_vm.h"

struct git_repo {
	char top[PATH_MAX];    /* of the working tree */
	char dir[PATH_MAX];    /* HEAD and index */
	char common[PATH_MAX]; /* refs and info, which worktrees share */
};

/*
 * The one that folder (absolute) is in; never one in a folder of another user,
 * since it would decide what of the caller's leaves this host. 0 or -errno.
 */
int git_repo_find(const char *folder, struct git_repo *ret, struct err *err);
/* The one whose working tree is top; *ret is written on an error, too. */
int git_repo_open(const char *top, struct git_repo *ret, struct err *err);
/* What HEAD names; "" if that is not to be found. */
void git_repo_commit(const struct git_repo *r, char ret[VM_COMMIT_SIZE]);

/* "a/b" into buf. 0 or -ENAMETOOLONG. */
int git_path_join(char *buf, size_t size, const char *a, const char *b);

#endif
