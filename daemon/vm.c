/* See vm.h. */
#include "daemon/vm.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/jail.h"
#include "base/log.h"
#include "base/message.h"
#include "base/paths.h"
#include "daemon/jobs.h"
#include "daemon/link_api.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"
#include "vmm/boot.h"

#define MIB (1ull << 20)
/*
 * Beside the guest's memory: code that emulation translated (256 MiB, see
 * vmm/qemu.c), QEMU itself, and kernel and initramfs until they are loaded.
 */
#define OVERHEAD_BYTES (768 * MIB)
/* Sessions, their streams, and what a monitor opens. */
#define FILES 4096
/* A stopped guest has as long to power off. */
#define STOP_MS 10000
/* tapward-vm keeps --max-duration; after so much more it is ended itself. */
#define DURATION_GRACE_MS 3000
/* From its process's start to its monitor's: it says hello meanwhile. */
#define START_MS PROC_HELLO_MS

struct vm {
	struct supervisor *sv;
	struct sandbox *sandbox;
	struct proc *proc;
	uid_t uid;
	struct cgroup cgroup;
	char peer[SUPERVISOR_PATH_SIZE];
	struct message_vm_state said; /* what it last said */
	struct sandbox_request request;
	struct event *stop_late;
	struct event *duration_late;
	bool was_ready;
	bool is_adopted;
};

static void
answer_started(struct vm *vm)
{
	struct message_api_sandbox about;
	const struct message_api_answer a = {
		.result = API_OK,
		.payload = API_PAYLOAD_SANDBOX,
		.text = "",
		.sandbox = &about,
	};

	sandbox_describe(vm->sandbox, &about);
	link_api_answer(vm->sv, &vm->request, &a, -1);
	vm->request.id = 0;
}

static void
answer_failed(struct vm *vm, const char *text)
{
	link_api_refuse(vm->sv, &vm->request, API_FAILED, text);
	vm->request.id = 0;
}

/*
 * Some hosts have a KVM under which no guest boots, and nothing but trying
 * tells. One failure is told to its owner; the next guest is emulated.
 */
static void
note_kvm(struct vm *vm)
{
	if (!vm->said.has_kvm || vm->was_ready || vm->sv->is_kvm_broken ||
	    vm->said.spec.needs_kvm)
		return;
	vm->sv->is_kvm_broken = true;
	log_warn("vm",
	    "KVM is not used any more until tapwardd is started anew: a guest "
	    "under it did not boot; [vm] accelerator = tcg spares the attempt");
}

/* It has ended or never began; its sandbox too, if it is tied to it. */
static void
bury(struct vm *vm)
{
	struct sandbox *s = vm->sandbox;
	const char *text = vm->said.text[0] != '\0'
	    ? vm->said.text
	    : "the virtual machine ended";
	char why[VM_TEXT_SIZE + 32];

	note_kvm(vm);
	answer_failed(vm, text);
	(void)snprintf(why, sizeof(why), "virtual machine ended: %s", text);
	s->vm_last = vm->said;
	s->vm_last.state = VM_STATE_ENDED;
	s->had_vm = true;
	vm_free(vm);
	s->vm = NULL;
	if (s->state.is_tied)
		remove_sandbox(s, why);
	else
		sandbox_say(s, why);
}

static void
on_duration_late(evutil_socket_t fd, short what, void *arg)
{
	struct vm *vm = arg;

	(void)fd;
	(void)what;
	log_warn("vm", "sandbox=%s tapward-vm did not keep --max-duration",
	    vm->sandbox->state.name);
	(void)snprintf(vm->said.text, sizeof(vm->said.text),
	    "the guest lived as long as --max-duration allows");
	proc_kill(vm->proc);
}

/*
 * From when its monitor runs. Of one that an earlier supervisor saw begin only
 * its process's start is known, in ticks since this host's (proc(5)).
 */
static int
limit_duration(struct vm *vm)
{
	const uint64_t ticks = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t end_ms = clock_boot_ms();
	struct timeval tv = { .tv_sec = 0 };

	if (vm->said.spec.max_duration_s == 0 || vm->duration_late != NULL ||
	    vm->said.state < VM_STATE_BOOTING)
		return 0;
	if (vm->is_adopted)
		end_ms = proc_start_ticks(vm->proc) * 1000 / ticks + START_MS;
	end_ms += vm->said.spec.max_duration_s * 1000ull + DURATION_GRACE_MS;
	if (end_ms > clock_boot_ms())
		tv.tv_sec = (time_t)((end_ms - clock_boot_ms()) / 1000 + 1);
	vm->duration_late = evtimer_new(vm->sv->base, on_duration_late, vm);
	return vm->duration_late == NULL ||
		event_add(vm->duration_late, &tv) == -1
	    ? -ENOMEM
	    : 0;
}

static int
on_state(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct vm *vm = proc_arg(arg);
	struct message_vm_state m;
	int rc = message_vm_state_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	if (strcmp(m.spec.name, vm->sandbox->state.name) != 0 ||
	    m.state < vm->said.state)
		return -EPROTO;
	if (m.state != vm->said.state && m.state != VM_STATE_ENDED)
		sandbox_say(vm->sandbox,
		    m.state == VM_STATE_READY ? "virtual machine ready"
					      : "virtual machine booting");
	vm->said = m;
	rc = limit_duration(vm);
	if (rc != 0)
		return rc;
	vm->was_ready |= m.state == VM_STATE_READY;
	/* Its end is told when it is really gone. */
	if (m.state == VM_STATE_BOOTING && vm->request.id != 0)
		answer_started(vm);
	return 0;
}

static int
on_record(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct vm *vm = proc_arg(arg);
	struct message_vm_record m;
	int rc = message_vm_record_decode(&msg->body, &m);

	(void)c;
	if (rc == 0)
		link_recorder_run(vm->sandbox, &vm->said.spec, &m);
	return rc;
}

static const struct chan_rule vm_rules[] = {
	PROC_HELLO_RULE,
	{ MSG_VM_STATE, MESSAGE_SMALL_BYTES, 0, 0, on_state },
	{ MSG_VM_RECORD, MESSAGE_SMALL_BYTES, 0, 0, on_record },
};

static void
on_hello(struct proc *p, const struct message_hello *hello, void *arg)
{
	struct vm *vm = arg;

	if (strcmp(hello->sandbox, vm->sandbox->state.name) != 0 ||
	    hello->generation != vm->sandbox->state.generation)
		proc_kill(p);
}

static void
on_gone(struct proc *p, void *arg)
{
	(void)p;
	bury(arg);
}

static struct vm *
vm_new(struct sandbox *s)
{
	struct vm *vm = calloc(1, sizeof(*vm));

	if (vm == NULL)
		return NULL;
	vm->sv = s->sv;
	vm->sandbox = s;
	vm->cgroup = CGROUP_NONE;
	supervisor_run_path(s->sv, vm->peer, "peer/v.%s", s->state.name);
	return vm;
}

static struct proc_spec
proc_spec_of(struct vm *vm)
{
	return (struct proc_spec){
		.program = "tapward-vm",
		.role = "vm",
		.uid = vm->uid,
		.root_fd = -1,
		.netns_fd = vm->sandbox->net == NULL
		    ? -1
		    : sandbox_net_fd(vm->sandbox->net),
		.peer_path = vm->peer,
		.limits = {
			.nofile = FILES,
			.nproc = vm->sv->config->host->limits[LIMIT_VM_PROCESSES],
		},
		.rules = vm_rules,
		.rule_count = sizeof(vm_rules) / sizeof(vm_rules[0]),
		.on_hello = on_hello,
		.on_gone = on_gone,
		.arg = vm,
	};
}

/* What it finds at each number of enum vm_fd, those that we open. */
struct given {
	int fds[VM_FD_END - VM_FD_SPEC];
};

static int *
at(struct given *g, enum vm_fd which)
{
	return &g->fds[which - VM_FD_SPEC];
}

static struct given
given_none(void)
{
	struct given g = { { 0 } };

	for (size_t i = 0; i < VM_FD_COUNT; i++)
		g.fds[i] = -1;
	return g;
}

static void
given_done(struct given *g)
{
	for (size_t i = 0; i < VM_FD_COUNT; i++)
		fd_close(&g->fds[i]);
}

static int
make_spec_text(const struct message_vm_spec *spec, uint64_t generation,
    int *ret_fd)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_u64(&w, generation);
	message_vm_spec_encode(&w, spec);
	return wr_ok(&w)
	    ? fd_memfd_sealed("tapward-vm-spec", w.buf, w.len, ret_fd)
	    : -EMSGSIZE;
}

static int
open_agent(int *ret_fd)
{
	char path[SUPERVISOR_PATH_SIZE];
	int rc = paths_libexec("tapward-agent", path, sizeof(path));

	if (rc != 0)
		return rc;
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	return *ret_fd == -1 ? -errno : 0;
}

/* By its name, which only its owner may. */
static bool
opens_tap(const struct message_vm_spec *spec)
{
	return spec->driver == VM_DRIVER_FIRECRACKER;
}

static int
give(struct vm *vm, const struct message_vm_spec *spec, struct given *g,
    struct err *err)
{
	struct sandbox *s = vm->sandbox;
	char ca[SUPERVISOR_PATH_SIZE];
	int rc = make_spec_text(spec, s->state.generation, at(g, VM_FD_SPEC));

	if (rc == 0 && opens_tap(spec))
		rc = sandbox_net_set_tap_owner(s->net, vm->uid);
	else if (rc == 0)
		rc = sandbox_net_open_tap(s->net, 0, at(g, VM_FD_TAP));
	if (rc == -EBUSY)
		return err_os(err, rc,
		    "its tap is attached to another monitor");
	if (rc == 0)
		rc = open_agent(at(g, VM_FD_AGENT));
	if (rc != 0)
		return err_os(err, rc, "what the guest is started with");
	sandbox_path(s, "ca.pem", ca, sizeof(ca));
	*at(g, VM_FD_CA) = open(ca, O_RDONLY | O_CLOEXEC);
	if (*at(g, VM_FD_CA) == -1)
		return err_os(err, -errno, "%s", ca);
	return 0;
}

static void
cgroup_name(const struct vm *vm, char ret[16])
{
	(void)snprintf(ret, 16, "%u", vm->uid);
}

static int
make_cgroup(struct vm *vm, const struct message_vm_spec *spec, struct err *err)
{
	char disks[SUPERVISOR_PATH_SIZE];
	const struct cgroup_limits limits = {
		.memory_bytes = spec->memory_mib * MIB + OVERHEAD_BYTES,
		.cpus = spec->cpus,
		.pids = spec->processes,
		.io_folder = disks,
		.io_bytes = spec->io_bytes,
		.io_operations = spec->io_operations,
	};
	char name[16];

	supervisor_state_path(vm->sv, disks, "vm");
	cgroup_name(vm, name);
	return cgroup_make(&vm->sv->cgroups, name, &limits, &vm->cgroup, err);
}

/* Of any one file: its disk, the guest's memory, what it boots from. */
static uint64_t
largest_file(const struct message_vm_spec *spec)
{
	return ((uint64_t)spec->disk_mib + spec->memory_mib) * MIB +
	    BOOT_RUN_BYTES;
}

static int
spawn(struct vm *vm, struct given *g, struct err *err)
{
	char folder[SUPERVISOR_PATH_SIZE], disks[SUPERVISOR_PATH_SIZE];
	const struct jail jail = {
		.folder = folder,
		.uid = vm->uid,
		.run_bytes = BOOT_RUN_BYTES,
		.has_proc = vm->said.spec.driver != VM_DRIVER_QEMU,
		.has_tun = opens_tap(&vm->said.spec),
		.disk_folder = disks,
		.disk_bytes = vm->said.spec.disk_mib * MIB,
	};
	struct proc_spec spec = proc_spec_of(vm);
	int rc;

	supervisor_run_path(vm->sv, folder, "jail");
	supervisor_state_path(vm->sv, disks, "vm");
	spec.jail = &jail;
	spec.limits.file_bytes = largest_file(&vm->said.spec);
	spec.cgroup_fds = vm->cgroup.fds;
	spec.cgroup_count = vm->cgroup.fd_count;
	spec.more_fds = g->fds;
	spec.more_count = VM_FD_COUNT;
	rc = proc_start(vm->sv->base, &spec, &vm->proc);
	cgroup_close(&vm->cgroup);
	return rc == 0 ? 0 : err_os(err, rc, "starting tapward-vm");
}

static int
begin(struct vm *vm, const struct message_vm_spec *spec, struct given *g,
    struct err *err)
{
	int rc = uids_take(&vm->sv->uids, &vm->uid);

	if (rc != 0)
		return err_os(err, rc, "[daemon] uid-range has no uid left");
	vm->said.spec = *spec;
	rc = give(vm, spec, g, err);
	if (rc == 0)
		rc = make_cgroup(vm, spec, err);
	return rc == 0 ? spawn(vm, g, err) : rc;
}

void
vm_start(struct sandbox *s, const struct message_vm_spec *spec,
    const struct sandbox_request *to, struct vm_files *files)
{
	struct given g = given_none();
	struct vm *vm = vm_new(s);
	struct err err = { "out of memory" };
	int rc = vm == NULL ? -ENOMEM : 0;

	*at(&g, VM_FD_KERNEL) = steal_fd(&files->kernel);
	*at(&g, VM_FD_MODULES) = steal_fd(&files->modules);
	*at(&g, VM_FD_ROOT) = steal_fd(&files->root);
	if (rc == 0 && s->hold_fd != -1)
		*at(&g, VM_FD_HOLD) = fcntl(s->hold_fd, F_DUPFD_CLOEXEC, 0);
	if (rc == 0)
		rc = begin(vm, spec, &g, &err);
	given_done(&g);
	if (rc != 0) {
		vm_free(vm);
		link_api_refuse(s->sv, to, API_FAILED, err.text);
		return;
	}
	vm->request = *to;
	s->vm = vm;
}

int
vm_adopt(struct sandbox *s)
{
	struct vm *vm = vm_new(s);
	struct proc_spec spec;
	char name[16];
	int rc;

	if (vm == NULL)
		return -ENOMEM;
	spec = proc_spec_of(vm);
	rc = proc_adopt(s->sv->base, &spec, &vm->proc);
	if (rc == 0)
		rc = uids_take_this(&s->sv->uids, proc_uid(vm->proc));
	if (rc != 0) {
		proc_free(vm->proc);
		(void)unlink(vm->peer);
		free(vm);
		return rc;
	}
	vm->uid = proc_uid(vm->proc);
	vm->is_adopted = true;
	cgroup_name(vm, name);
	cgroup_find(&s->sv->cgroups, name, &vm->cgroup);
	s->vm = vm;
	return 0;
}

static void
on_stop_late(evutil_socket_t fd, short what, void *arg)
{
	struct vm *vm = arg;

	(void)fd;
	(void)what;
	(void)snprintf(vm->said.text, sizeof(vm->said.text),
	    "the guest did not power off and was ended");
	proc_kill(vm->proc);
}

int
vm_stop(struct vm *vm)
{
	const struct timeval tv = { .tv_sec = STOP_MS / 1000 };

	if (vm->stop_late == NULL)
		vm->stop_late = evtimer_new(vm->sv->base, on_stop_late, vm);
	if (vm->stop_late == NULL || event_add(vm->stop_late, &tv) == -1)
		return -ENOMEM;
	return proc_send(vm->proc, MSG_VM_STOP, 0, NULL, NULL, 0);
}

/* To whom it was for, once nobody is attached. */
static void
give_tap_back(const struct vm *vm)
{
	const struct sandbox *s = vm->sandbox;
	int rc;

	if (!opens_tap(&vm->said.spec) || s->net == NULL)
		return;
	rc = sandbox_net_set_tap_owner(s->net, s->state.tap_owner_uid);
	if (rc != 0)
		log_warn("vm", "sandbox=%s tap: %s", s->state.name,
		    strerror(-rc));
}

void
vm_free(struct vm *vm)
{
	struct supervisor *sv;

	if (vm == NULL)
		return;
	sv = vm->sv;
	answer_failed(vm, "the sandbox is removed");
	proc_free(vm->proc);
	if (vm->proc != NULL)
		(void)unlink(vm->peer);
	cgroup_remove(&sv->cgroups, &vm->cgroup);
	give_tap_back(vm);
	if (vm->uid != 0)
		uids_give_back(&sv->uids, vm->uid);
	if (vm->stop_late != NULL)
		event_free(vm->stop_late);
	if (vm->duration_late != NULL)
		event_free(vm->duration_late);
	free(vm);
}

void
vm_leave(struct vm *vm)
{
	if (vm == NULL)
		return;
	proc_leave(vm->proc);
	cgroup_close(&vm->cgroup);
	if (vm->stop_late != NULL)
		event_free(vm->stop_late);
	if (vm->duration_late != NULL)
		event_free(vm->duration_late);
	free(vm);
}

int
vm_open_session(struct vm *vm, int *ret_fd)
{
	AUTO_CLOSE int ours = -1, theirs = -1;
	int pair[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	rc = proc_send(vm->proc, MSG_VM_SESSION, 0, NULL, &theirs, 1);
	if (rc == 0)
		*ret_fd = steal_fd(&ours);
	return rc;
}

bool
vm_is_up(const struct vm *vm)
{
	return vm != NULL && proc_is_ready(vm->proc) &&
	    vm->said.state != VM_STATE_ENDED;
}

void
vm_describe(const struct vm *vm, struct message_api_vm *ret)
{
	ret->said = vm->said;
	ret->pid = (int32_t)proc_pid(vm->proc);
	ret->cgroup_version =
	    vm->cgroup.name[0] == '\0' ? 0 : (uint8_t)vm->sv->cgroups.version;
}
