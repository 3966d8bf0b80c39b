/*
 * The monitors that can run a guest, behind one interface: each starts its
 * program inside the jail, configures it, and says how the agent is reached.
 *
 * A driver's start() is called before the process is sealed (base/confine.h),
 * may wait for its monitor, and must be done well within PROC_HELLO_MS.
 */
#ifndef TAPWARD_VMM_DRIVER_H
#define TAPWARD_VMM_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/message_vm.h"
#include "vmm/boot.h"

/* A guest that runs. Zeroed but for descriptors of -1: none. */
struct monitor {
	pid_t pid;
	int pidfd;
	bool has_kvm;
	int console_fd; /* what the guest's serial port writes; non-blocking */
	/*
	 * The agent's port, non-blocking; or, with BOOT_PORT_VSOCK, -1, and
	 * the agent is reached through DRIVER_VSOCK (vmm/vsock.h).
	 */
	int agent_fd;
};

#define MONITOR_NONE                                                           \
	(struct monitor)                                                       \
	{                                                                      \
		.pidfd = -1, .console_fd = -1, .agent_fd = -1                  \
	}

struct driver {
	struct boot_guest guest; /* how the guest sees it */
	/* 0 or -errno with a text that a person can act on. */
	int (*start)(const struct message_vm_spec *spec, struct monitor *ret,
	    struct err *err);
};

/* Where a monitor with a vsock of its own listens for us. */
#define DRIVER_VSOCK "/run/vsock"

/* Borrows. */
const struct driver *driver_find(uint8_t which);
/* Is there a /dev/kvm that this process can open? */
bool driver_has_kvm(void);
/* The first of a NULL-terminated list that can be run, or NULL. */
const char *driver_program(const char *const *paths);
/* For monitors that do nothing without it. 0, -ENOENT or -ENODEV. */
int driver_needs_kvm(const char *program, const char *name, struct err *err);

extern const struct driver driver_qemu, driver_firecracker,
    driver_cloud_hypervisor;

#endif
