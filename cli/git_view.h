/*
 * What git sees of a folder of a repository: tracked files as they are there
 * now, and new ones that are not ignored, in submodules as well. Never
 * anything called .git, so no history, configuration, hook or credential.
 */
#ifndef TAPWARD_CLI_GIT_VIEW_H
#define TAPWARD_CLI_GIT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/git_repo.h"

struct git_scratch;
struct git_view;
struct stat;

/*
 * folder as it is named, relative or not. Runs git on copies of the
 * repository's index and lists of what to ignore (cli/git_run.h). 0 or -errno.
 */
int git_view_new(const char *folder, struct git_view **ret, struct err *err);
/* NULL is fine. */
void git_view_free(struct git_view *v);

/* An archive_filter (vmm/archive_write.h); arg is the view. */
bool git_view_filter(const char *path, const struct stat *st, void *arg);
/* The commit that HEAD names, or ""; borrows. */
const char *git_view_commit(const struct git_view *v);
/* From the top of the repository to the folder: "" or "a/b/"; borrows. */
const char *git_view_prefix(const struct git_view *v);
/* Repositories within, of which this one knows nothing: not in the view. */
size_t git_view_nested_count(const struct git_view *v);
/* The first of them; borrows. */
const char *git_view_nested(const struct git_view *v);

/* A component of path, of len bytes, that is no file of a repository's. */
bool git_name_is_special(const char *name, size_t len);
/*
 * Copies the lists of what to ignore that are not below the folder: those of
 * the folders above it, and info/exclude. 0 or -errno.
 */
int git_view_copy_excludes(const struct git_view *v,
    const struct git_scratch *s, struct err *err);

#endif
