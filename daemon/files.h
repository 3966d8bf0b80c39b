/*
 * Files and folders of the supervisor. Whole or not at all: a new content goes
 * beside the old one and takes its name. Nothing is synced to disk: what is
 * kept here is for a later supervisor of the same boot, and ends with it.
 * Contents that come in a descriptor (policies, keys) are copied by the kernel
 * and not read here.
 */
#ifndef TAPWARD_DAEMON_FILES_H
#define TAPWARD_DAEMON_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Owner and mode of something new. */
struct files_owner {
	uid_t uid;
	gid_t gid;
	mode_t mode;
};

/* Root's alone. 0 or -errno. */
int files_write_atomic(const char *path, const char *text, size_t len);
/* The same with all bytes of src_fd, from its start. */
int files_copy_atomic(const char *path, int src_fd,
    const struct files_owner *owner);
/* With a NUL after it. -EFBIG if it does not fit; 0 or -errno. */
int files_read_text(const char *path, char *buf, size_t size);
/* A sealed memfd with what src_fd holds, at most max bytes. 0 or -errno. */
int files_to_memfd(const char *name, int src_fd, uint64_t max, int *ret_fd);

/*
 * The folder, with the ones above it, which are made root's alone. One that
 * exists gets this owner and mode; -ENOTDIR for a link or a file.
 */
int files_make_dir(const char *path, const struct files_owner *owner);
/* A folder that holds files and sockets, no folders. 0 also without one. */
int files_remove_dir(const char *path);
/* Calls fn with each name in it but . and ..; 0 or -errno. */
typedef void files_name_fn(const char *name, void *arg);
int files_each(const char *path, files_name_fn *fn, void *arg);

#endif
