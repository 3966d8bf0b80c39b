/*
 * What a guest boots from, put together in /run of the jail: a kernel, and an
 * initramfs of the image's modules with our agent and its configuration
 * behind them.
 */
#ifndef TAPWARD_VMM_BOOT_H
#define TAPWARD_VMM_BOOT_H

#include "base/err.h"
#include "base/message_vm.h"

#define BOOT_KERNEL "/run/kernel"
#define BOOT_INITRD "/run/initrd"
/* What /run must hold at most: both, and some sockets. */
#define BOOT_RUN_BYTES (512ull << 20)
#define BOOT_KERNEL_MAX_BYTES (192ull << 20)
#define BOOT_MODULES_MAX_BYTES (192ull << 20)
#define BOOT_AGENT_MAX_BYTES (16ull << 20)
#define BOOT_CA_MAX_BYTES (64ull << 10)

/* How the guest finds the agent's way to the host. */
enum boot_port {
	BOOT_PORT_SERIAL, /* a virtio-serial port of the name below */
	BOOT_PORT_VSOCK,  /* it listens on this port of its vsock */
};
#define BOOT_PORT_NAME "tapward.agent"
#define BOOT_VSOCK_PORT 1024
/* Serial numbers of its disks, since their order is not to be relied on. */
#define BOOT_ROOT_SERIAL "tapward-root"
#define BOOT_DISK_SERIAL "tapward-disk"

/* What differs between monitors. */
struct boot_guest {
	enum boot_port port;
	const char *root, *disk; /* serial numbers, or device files */
	bool reboots;            /* to end: it has no power to switch off */
};

/* From the descriptors of base/message_vm.h. 0 or -errno. */
int boot_make(const struct message_vm_spec *spec,
    const struct boot_guest *guest, struct err *err);
/* The monitor has read them. */
void boot_remove(void);

#endif
