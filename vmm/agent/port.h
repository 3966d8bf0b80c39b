/*
 * The guest's way to its host: a virtio-serial port by its name, or a vsock
 * port that the host connects to.
 */
#ifndef TAPWARD_VMM_AGENT_PORT_H
#define TAPWARD_VMM_AGENT_PORT_H

#include "base/err.h"
#include "vmm/agent/config.h"

struct port {
	const struct agent_config *config; /* borrowed */
	int listen_fd;                     /* of vsock; else -1 */
};

/* 0, or -errno with err set. */
int port_init(struct port *p, const struct agent_config *config,
    struct err *err);
/*
 * Waits for the host, if it is to connect, or for the device. *ret_fd is owned
 * by the caller. 0, or -errno with err set.
 */
int port_open(const struct port *p, int *ret_fd, struct err *err);

#endif
