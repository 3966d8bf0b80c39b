/*
 * QEMU's microvm machine: KVM where there is /dev/kvm, else emulation (TCG).
 * Each option has the reason for it beside it; those that a guest hangs
 * without were found by trying.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "vmm/disk.h"
#include "vmm/driver.h"
#include "vmm/pair.h"
#include "vmm/tsc.h"

/* Debian's qemu-system-x86, and its name elsewhere. */
static const char *const programs[] = { "/usr/bin/qemu-system-x86_64",
	"/usr/local/bin/qemu-system-x86_64", NULL };

#define ARGS_MAX 64
#define TEXT_MAX 4096
/* Translated code that emulation keeps; QEMU's own default is a quarter of
 * the guest's memory, up to 1 GiB. */
#define TCG_CACHE_MIB 256
/* A request counts once for each of these that it moves, in bytes. */
#define IO_BYTES_TEXT "262144"
/* How long a QEMU that cannot begin takes to end. */
#define DEATH_MS 200

/* The monitor's descriptors, in the order they are given to it. */
enum {
	QEMU_FD_TAP = PROCESS_FD_FIRST,
	QEMU_FD_CONSOLE,
	QEMU_FD_AGENT,
	QEMU_FD_ROOT,
	QEMU_FD_END
};
#define QEMU_FD_COUNT (QEMU_FD_END - PROCESS_FD_FIRST)

/* A command line as it grows; texts are made in text. */
struct args {
	const char *v[ARGS_MAX + 1];
	size_t count;
	char text[TEXT_MAX];
	size_t used;
	bool is_full;
};

static void
add(struct args *a, const char *arg)
{
	if (a->count == ARGS_MAX)
		a->is_full = true;
	else
		a->v[a->count++] = arg;
	a->v[a->count] = NULL;
}

__attribute__((format(printf, 2, 3))) static void
add_fmt(struct args *a, const char *fmt, ...)
{
	char *at = a->text + a->used;
	size_t room = sizeof(a->text) - a->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room) {
		a->is_full = true;
		return;
	}
	a->used += (size_t)n + 1;
	add(a, at);
}

static void
add_all(struct args *a, const char *const *list)
{
	for (; *list != NULL; list++)
		add(a, *list);
}

static void
add_machine(struct args *a, const struct message_vm_spec *spec, bool has_kvm)
{
	static const char *const fixed[] = {
		/* Nothing that is not named here. */
		"-nodefaults", "-no-user-config", "-display", "none",
		"-no-reboot",
		/* No fork, no new rights: QEMU's own seccomp filter. */
		"-sandbox",
		("on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
		 "resourcecontrol=deny"),
		/*
		 * ACPI tells the guest of its virtio devices. The clock stays:
		 * without it the guest polls for one, and it is 1970 there.
		 */
		"-M", "microvm,acpi=on,pic=off,pit=off", "-global",
		"virtio-mmio.force-legacy=false", NULL
	};

	add_all(a, fixed);
	add(a, "-accel");
	if (has_kvm)
		add(a, "kvm");
	else
		add_fmt(a, "tcg,thread=multi,tb-size=%d", TCG_CACHE_MIB);
	add(a, "-cpu");
	add(a, has_kvm ? "host" : "max");
	add(a, "-m");
	add_fmt(a, "%u", spec->memory_mib);
	add(a, "-smp");
	add_fmt(a, "%u", spec->cpus);
}

static void
add_boot(struct args *a, bool has_kvm)
{
	static const char words[] =
	    "console=ttyS0 quiet panic=-1 nokaslr mitigations=off audit=0 "
	    "apparmor=0 8250.nr_uarts=1";
	static const char *const fixed[] = { "-kernel", BOOT_KERNEL, "-initrd",
		BOOT_INITRD, "-append", NULL };
	unsigned int khz = has_kvm ? 0 : tsc_khz();

	add_all(a, fixed);
	if (khz == 0)
		add(a, words);
	else
		add_fmt(a, "%s no_timer_check tsc=reliable tsc_early_khz=%u",
		    words, khz);
}

/*
 * The image came as a descriptor, the disk lies in the jail. What both do in a
 * second is counted together.
 */
static void
add_disks(struct args *a, const struct message_vm_spec *spec)
{
	add(a, "-object");
	add_fmt(a,
	    "throttle-group,id=io,x-bps-total=%" PRIu64 ",x-iops-total=%" PRIu32
	    ",x-iops-size=" IO_BYTES_TEXT,
	    spec->io_bytes, spec->io_operations);
	add(a, "-add-fd");
	add_fmt(a, "fd=%d,set=1", QEMU_FD_ROOT);
	add(a, "-blockdev");
	add(a,
	    "driver=throttle,node-name=root,throttle-group=io,read-only=on,"
	    "file.driver=raw,file.read-only=on,file.file.driver=file,"
	    "file.file.filename=/dev/fdset/1,file.file.locking=off");
	add(a, "-device");
	add(a, "virtio-blk-device,drive=root,serial=" BOOT_ROOT_SERIAL);
	if (spec->disk_mib == 0)
		return;
	add(a, "-blockdev");
	/* It is gone with the guest, so nothing need ever reach the disk. */
	add(a,
	    "driver=throttle,node-name=disk,throttle-group=io,discard=unmap,"
	    "cache.no-flush=on,file.driver=raw,file.discard=unmap,"
	    "file.cache.no-flush=on,file.file.driver=file,"
	    "file.file.filename=" DISK_PATH ",file.file.cache.no-flush=on,"
	    "file.file.locking=off");
	add(a, "-device");
	add(a, "virtio-blk-device,drive=disk,serial=" BOOT_DISK_SERIAL);
}

static void
add_devices(struct args *a, const struct message_vm_spec *spec)
{
	const uint8_t *mac = spec->guest_mac;

	add(a, "-chardev");
	add_fmt(a, "socket,id=console,fd=%d", QEMU_FD_CONSOLE);
	add(a, "-serial");
	add(a, "chardev:console");
	add(a, "-chardev");
	add_fmt(a, "socket,id=agent,fd=%d", QEMU_FD_AGENT);
	add(a, "-device");
	add(a, "virtio-serial-device");
	add(a, "-device");
	add(a, "virtserialport,chardev=agent,name=" BOOT_PORT_NAME);
	add(a, "-netdev");
	add_fmt(a, "tap,id=net,fd=%d,vhost=off", QEMU_FD_TAP);
	add(a, "-device");
	add_fmt(a,
	    "virtio-net-device,netdev=net,mac=%02x:%02x:%02x:%02x:%02x:%02x",
	    mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	add_disks(a, spec);
}

static int
spawn(const struct args *a, int console, int agent, struct monitor *m)
{
	const int fds[QEMU_FD_COUNT] = {
		[QEMU_FD_TAP - PROCESS_FD_FIRST] = VM_FD_TAP,
		[QEMU_FD_CONSOLE - PROCESS_FD_FIRST] = console,
		[QEMU_FD_AGENT - PROCESS_FD_FIRST] = agent,
		[QEMU_FD_ROOT - PROCESS_FD_FIRST] = VM_FD_ROOT,
	};
	const struct process_spec spec = {
		.path = a->v[0],
		.argv = a->v,
		.fds = fds,
		.fd_count = QEMU_FD_COUNT,
		.netns_fd = -1,
		/* What it complains of is read with what the guest prints. */
		.stderr_fd = console,
	};

	return process_spawn(&spec, &m->pid, &m->pidfd);
}

static int
run(const struct args *a, struct monitor *m, struct err *err)
{
	AUTO_CLOSE int console = -1, agent = -1;
	int rc = pair_make(&m->console_fd, &console);

	if (rc == 0)
		rc = pair_make(&m->agent_fd, &agent);
	if (rc == 0)
		rc = spawn(a, console, agent, m);
	return rc == 0 ? 0 : err_os(err, rc, "%s", a->v[0]);
}

static int
start_with(const char *program, const struct message_vm_spec *spec,
    struct monitor *ret, struct err *err)
{
	struct args a = { .count = 0 };

	add(&a, program);
	add_machine(&a, spec, ret->has_kvm);
	add_boot(&a, ret->has_kvm);
	add_devices(&a, spec);
	if (a.is_full)
		return err_os(err, -E2BIG, "QEMU's command line");
	return run(&a, ret, err);
}

/*
 * A host that is itself a virtual machine may have a KVM that takes no guest:
 * QEMU then ends as it begins.
 */
static bool
died_at_once(struct monitor *m)
{
	struct pollfd p = { .fd = m->pidfd, .events = POLLIN };

	if (poll(&p, 1, DEATH_MS) != 1)
		return false;
	(void)process_end(m->pidfd, DEATH_MS);
	fd_close(&m->pidfd);
	fd_close(&m->console_fd);
	fd_close(&m->agent_fd);
	return true;
}

static int
start(const struct message_vm_spec *spec, struct monitor *ret, struct err *err)
{
	const char *program = driver_program(programs);
	int rc;

	if (program == NULL) {
		(void)err_at(err, NULL, 0,
		    "QEMU is not installed; apt install qemu-system-x86 "
		    "brings it");
		return -ENOENT;
	}
	ret->has_kvm = !spec->avoids_kvm && driver_has_kvm();
	if (spec->needs_kvm && !ret->has_kvm) {
		(void)err_at(err, NULL, 0,
		    "this host has no KVM that can be used; without "
		    "--require-kvm the guest is emulated, slower");
		return -ENODEV;
	}
	rc = start_with(program, spec, ret, err);
	if (rc != 0 || !ret->has_kvm || spec->needs_kvm || !died_at_once(ret))
		return rc;
	log_warn("qemu", "sandbox=%s KVM takes no guest here: emulated",
	    spec->name);
	ret->has_kvm = false;
	return start_with(program, spec, ret, err);
}

const struct driver driver_qemu = {
	.guest = { BOOT_PORT_SERIAL, BOOT_ROOT_SERIAL, BOOT_DISK_SERIAL,
	    false },
	.start = start,
};
