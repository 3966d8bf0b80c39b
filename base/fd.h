/*
 * Descriptors and heap objects that a local variable owns.
 */
#ifndef TAPWARD_BASE_FD_H
#define TAPWARD_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>

/* Cleanup handlers for the attributes below; a descriptor of -1 is none. */
void fd_cleanup(int *fd);
void free_cleanup(void *ptr_to_ptr);

#define AUTO_CLOSE __attribute__((cleanup(fd_cleanup)))
#define AUTO_FREE __attribute__((cleanup(free_cleanup)))

/* Hands the descriptor over: returns it and leaves -1. */
int steal_fd(int *fd);
/* Closes *fd unless it is -1, and leaves -1. errno is kept. */
void fd_close(int *fd);
/*
 * As fd_close(), of a connection: the peer sees a reset, not an end, and the
 * kernel keeps nothing of what it did not take.
 */
void fd_reset(int *fd);
/* 0 or -errno. */
int fd_set_nonblock(int fd, bool on);
int fd_set_cloexec(int fd, bool on);
/* Writes all len bytes to a blocking descriptor. 0 or -errno. */
int fd_write_all(int fd, const void *buf, size_t len);
/*
 * Reads to the end into a new buffer with a NUL after it, which the caller
 * owns. -EFBIG if there are more than max bytes; else 0 or -errno.
 */
int fd_read_all(int fd, size_t max, char **ret_buf, size_t *ret_len);
/*
 * A sealed memfd (no write, grow, shrink or further seal) that holds len
 * bytes of buf. name shows in /proc. 0 or -errno.
 */
int fd_memfd_sealed(const char *name, const void *buf, size_t len, int *ret_fd);
/* The descriptor is a memfd that carries all four seals. */
bool fd_is_sealed(int fd);

#endif
