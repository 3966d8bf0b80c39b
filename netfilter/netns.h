/*
 * Network namespaces. Single-threaded callers only: a namespace is entered by
 * the calling thread, and left again before anything else runs.
 *
 * Needs root. A namespace lives as long as a descriptor, a name or a process
 * holds it.
 */
#ifndef TAPWARD_NETFILTER_NETNS_H
#define TAPWARD_NETFILTER_NETNS_H

#include <stdbool.h>
#include <stdint.h>

/* Where `ip netns` looks, and the prefix of ours. */
#define NETNS_DIR "/run/netns"
#define NETNS_PREFIX "tapward-"
/* Longest name, prefix and NUL included. */
#define NETNS_NAME_SIZE 64

/* A descriptor of the namespace that the caller is in. 0 or -errno. */
int netns_current(int *ret_fd);

/*
 * Makes a namespace and returns to home_fd, where the caller was. Ends the
 * process if it cannot return: going on in a sandbox's namespace, or leaving
 * a sandbox in the host's, must not happen. 0 or -errno.
 */
int netns_create(int home_fd, int *ret_fd);

/* Enters ns_fd. Must be followed by netns_leave(). 0 or -errno. */
int netns_enter(int ns_fd);
/* Back to home_fd; ends the process if that fails. errno is kept. */
void netns_leave(int home_fd);

/*
 * The inode, which tells two namespaces apart. -EINVAL if fd is not a network
 * namespace (a caller may hand us any descriptor); else 0 or -errno.
 */
int netns_inode(int fd, uint64_t *ret_inode);

/*
 * Binds ns_fd to NETNS_DIR/name, so that `ip netns` shows it and it outlives
 * us. -EEXIST if the name is taken; 0 or -errno. Nothing is left on failure.
 */
int netns_name_add(int ns_fd, const char *name);
/* Takes the name away; 0 also when there was none, or -errno. */
int netns_name_remove(const char *name);
/* Opens the namespace of that name. 0 or -errno. */
int netns_name_open(const char *name, int *ret_fd);

/*
 * Calls fn for each name that starts with NETNS_PREFIX, for the sweep after a
 * crash. fn may remove the name. 0 or -errno; no directory is no name.
 */
typedef void netns_name_fn(const char *name, void *arg);
int netns_name_each(netns_name_fn *fn, void *arg);

#endif
