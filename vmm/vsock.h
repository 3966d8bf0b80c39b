/*
 * The host's side of a monitor's vsock: a Unix socket, "CONNECT PORT\n", and
 * "OK PORT\n" once somebody in the guest listens there. Firecracker and Cloud
 * Hypervisor, docs/vsock.md of each. What is asked before that is dropped, so
 * it is asked again until then.
 */
#ifndef TAPWARD_VMM_VSOCK_H
#define TAPWARD_VMM_VSOCK_H

#include <stdint.h>

struct event_base;
struct vsock_dial;

/* Called once, from the loop: fd is the callee's. */
typedef void vsock_connected(int fd, void *arg);

/* path is borrowed for its life. NULL when memory is short. */
struct vsock_dial *vsock_dial_new(struct event_base *base, const char *path,
    uint32_t port, vsock_connected *on_connected, void *arg);
/* Ends it; NULL is fine. Not from inside on_connected. */
void vsock_dial_free(struct vsock_dial *d);

#endif
