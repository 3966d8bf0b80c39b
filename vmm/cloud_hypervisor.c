/*
 * Cloud Hypervisor, by its API; the tap goes along as a descriptor.
 *
 * Source: vmm/src/api/openapi/cloud-hypervisor.yaml of its repository, 38.0;
 * docs/vsock.md. Needs KVM.
 */
#include <stdio.h>

#include "vmm/disk.h"
#include "vmm/driver.h"
#include "vmm/monitor_api.h"

static const char *const programs[] = { "/usr/bin/cloud-hypervisor",
	"/usr/local/bin/cloud-hypervisor", NULL };

#define API_SOCKET "/run/cloud-hypervisor"
#define API "/api/v1/"
#define GUEST_CID 3
#define ROOT_PATH "/proc/self/fd/3"
#define RATE "rate_limiter_config"
#define WORDS "console=ttyS0 quiet panic=-1 8250.nr_uarts=1"

static int
put(const char *path, json_t *body, int fd, struct err *err)
{
	const struct monitor_call c = { API_SOCKET, "PUT", path, body, fd };

	return monitor_api_call(&c, err);
}

static json_t *
disks(const struct message_vm_spec *spec)
{
	json_t *all = json_pack("[{s:s, s:b, s:s, s:s, s:o}]", "path",
	    ROOT_PATH, "readonly", 1, "serial", BOOT_ROOT_SERIAL, "id", "root",
	    RATE, monitor_api_rate(spec->io_bytes, spec->io_operations));

	if (spec->disk_mib > 0)
		(void)json_array_append_new(all,
		    json_pack("{s:s, s:b, s:s, s:s, s:o}", "path", DISK_PATH,
			"readonly", 0, "serial", BOOT_DISK_SERIAL, "id", "disk",
			RATE,
			monitor_api_rate(spec->io_bytes, spec->io_operations)));
	return all;
}

static int
create(const struct message_vm_spec *spec, struct err *err)
{
	const int cpus = (int)spec->cpus;

	return put(API "vm.create",
	    json_pack("{s:{s:i, s:i}, s:{s:I}, s:{s:s, s:s, s:s}, s:o,"
		      " s:{s:s}, s:{s:s}, s:{s:i, s:s}, s:{s:s}}",
		"cpus", "boot_vcpus", cpus, "max_vcpus", cpus, "memory", "size",
		(json_int_t)spec->memory_mib << 20, "payload", "kernel",
		BOOT_KERNEL, "initramfs", BOOT_INITRD, "cmdline", WORDS,
		"disks", disks(spec), "serial", "mode", "Tty", "console",
		"mode", "Off", "vsock", "cid", GUEST_CID, "socket",
		DRIVER_VSOCK, "rng", "src", "/dev/urandom"),
	    -1, err);
}

static int
add_network(const struct message_vm_spec *spec, struct err *err)
{
	const uint8_t *mac = spec->guest_mac;
	char text[18];

	(void)snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x",
	    mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	return put(API "vm.add-net",
	    json_pack("{s:s, s:s, s:i, s:i}", "id", "net", "mac", text,
		"num_queues", 2, "queue_size", 256),
	    VM_FD_TAP, err);
}

static int
configure(const struct message_vm_spec *spec, struct err *err)
{
	int rc = create(spec, err);

	if (rc == 0)
		rc = add_network(spec, err);
	return rc == 0 ? put(API "vm.boot", NULL, -1, err) : rc;
}

static int
start(const struct message_vm_spec *spec, struct monitor *ret, struct err *err)
{
	static const char where[] = "path=" API_SOCKET;
	const char *const argv[] = { driver_program(programs), "--api-socket",
		where, "--seccomp", "true", NULL };
	int rc =
	    monitor_api_start(argv, "cloud-hypervisor", API_SOCKET, ret, err);

	return rc == 0 ? configure(spec, err) : rc;
}

const struct driver driver_cloud_hypervisor = {
	.guest = { BOOT_PORT_VSOCK, BOOT_ROOT_SERIAL, BOOT_DISK_SERIAL, false },
	.start = start,
};
