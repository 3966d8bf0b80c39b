/*
 * The files of an archive stream (vmm/archive.h) that lies in a file: where
 * each is in it, by their paths. Whoever wrote it is not believed.
 */
#ifndef TAPWARD_CLI_GIT_TREE_H
#define TAPWARD_CLI_GIT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct git_file {
	char *path; /* owned; a NUL, then the target of a link */
	bool is_link, is_executable;
	/* A link that leads out of the tree. */
	bool leaves;
	bool is_left_out;  /* the caller's to set */
	uint64_t at, size; /* of its data in the stream; of the target */
};

struct git_tree {
	int fd; /* borrowed */
	struct git_file *v;
	size_t count, size;
	uint64_t text_bytes;
};

/*
 * Reads fd from its start; files are sorted by path, what is called .git is not
 * among them. The root has to be a directory. 0, or -errno with err set. *ret
 * is to be freed in any case.
 */
int git_tree_read(int fd, struct git_tree *ret, struct err *err);
void git_tree_done(struct git_tree *t);
/* NULL if there is none; borrows. */
const struct git_file *git_tree_find(const struct git_tree *t,
    const char *path);
const char *git_file_target(const struct git_file *f);
/* Kind, mode and every byte. 0, 1 for no, or -errno. */
int git_file_compare(const struct git_tree *at, const struct git_file *a,
    const struct git_tree *bt, const struct git_file *b);
/* Some of its data, from from on. 0 or -errno. */
int git_file_read(const struct git_tree *t, const struct git_file *f,
    uint64_t from, uint8_t *buf, size_t len);

#endif
