/*
 * Firecracker, by its API. Our jail (base/jail.h) does what its jailer does:
 * own uid, root, namespaces, devices and control group; so the jailer is not
 * run, and nothing of it is left to be cleaned up.
 *
 * Source: src/firecracker/swagger/firecracker.yaml of its repository, 1.17;
 * docs/vsock.md. Needs KVM.
 */
#include <stdio.h>

#include "vmm/disk.h"
#include "vmm/driver.h"
#include "vmm/monitor_api.h"

static const char *const programs[] = { "/usr/bin/firecracker",
	"/usr/local/bin/firecracker", NULL };

#define API_SOCKET "/run/firecracker"
/* 3 is the first that is free: vsock(7). */
#define GUEST_CID 3
/* Where the image is seen in the program; it came as a descriptor. */
#define ROOT_PATH "/proc/self/fd/3"

/* docs/kernel-policy.md: no i8042 to wait for, no PCI to scan for. */
#define WORDS                                                                  \
	"console=ttyS0 quiet panic=-1 reboot=k i8042.noaux i8042.nomux "       \
	"i8042.dumbkbd 8250.nr_uarts=1"

static int
put(const char *path, json_t *body, struct err *err)
{
	const struct monitor_call c = { API_SOCKET, "PUT", path, body, -1 };

	return monitor_api_call(&c, err);
}

static int
put_machine(const struct message_vm_spec *spec, struct err *err)
{
	int rc = put("/machine-config",
	    json_pack("{s:i, s:i}", "vcpu_count", (int)spec->cpus,
		"mem_size_mib", (int)spec->memory_mib),
	    err);

	return rc != 0
	    ? rc
	    : put("/boot-source",
		  json_pack("{s:s, s:s, s:s}", "kernel_image_path", BOOT_KERNEL,
		      "initrd_path", BOOT_INITRD, "boot_args", WORDS),
		  err);
}

/* In this order they are vda and vdb: it gives disks no serial of ours. */
static int
put_drives(const struct message_vm_spec *spec, struct err *err)
{
	int rc = put("/drives/root",
	    json_pack("{s:s, s:s, s:b, s:b, s:o}", "drive_id", "root",
		"path_on_host", ROOT_PATH, "is_root_device", 0, "is_read_only",
		1, "rate_limiter",
		monitor_api_rate(spec->io_bytes, spec->io_operations)),
	    err);

	if (rc != 0 || spec->disk_mib == 0)
		return rc;
	return put("/drives/disk",
	    json_pack("{s:s, s:s, s:b, s:b, s:s, s:o}", "drive_id", "disk",
		"path_on_host", DISK_PATH, "is_root_device", 0, "is_read_only",
		0, "cache_type", "Unsafe", "rate_limiter",
		monitor_api_rate(spec->io_bytes, spec->io_operations)),
	    err);
}

static int
put_network(const struct message_vm_spec *spec, struct err *err)
{
	const uint8_t *mac = spec->guest_mac;
	char text[18];

	(void)snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x",
	    mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	return put("/network-interfaces/eth0",
	    json_pack("{s:s, s:s, s:s}", "iface_id", "eth0", "host_dev_name",
		spec->tap, "guest_mac", text),
	    err);
}

static int
configure(const struct message_vm_spec *spec, struct err *err)
{
	int rc = put_machine(spec, err);

	if (rc == 0)
		rc = put_drives(spec, err);
	if (rc == 0)
		rc = put_network(spec, err);
	if (rc == 0)
		rc = put("/vsock",
		    json_pack("{s:i, s:s}", "guest_cid", GUEST_CID, "uds_path",
			DRIVER_VSOCK),
		    err);
	if (rc != 0)
		return rc;
	return put("/actions",
	    json_pack("{s:s}", "action_type", "InstanceStart"), err);
}

static int
start(const struct message_vm_spec *spec, struct monitor *ret, struct err *err)
{
	const char *const argv[] = { driver_program(programs), "--api-sock",
		API_SOCKET, "--id", spec->name, NULL };
	int rc = monitor_api_start(argv, "firecracker", API_SOCKET, ret, err);

	return rc == 0 ? configure(spec, err) : rc;
}

const struct driver driver_firecracker = {
	.guest = { BOOT_PORT_VSOCK, "/dev/vda", "/dev/vdb", true },
	.start = start,
};
