/*
 * tapward-vm: one virtual machine. Process 1 of its namespace, so that the
 * monitor ends with it; it reads what the guest's agent and the owner's
 * sessions send, and can do nothing but pass it on: sealed as soon as the
 * monitor runs.
 */
#include <assert.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "vmm/machine.h"
#include "vmm/tsc.h"

#define AREA "vm"
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/*
 * Records that wait for the next supervisor: of the commands that can end while
 * there is none, since nobody begins another.
 */
#define KEPT_MAX FRAME_STREAMS_MAX
#define KEPT_BYTES 1024
static_assert(VM_RECORD_COMMAND_MAX + 128 < KEPT_BYTES, "one fits");

struct kept {
	uint8_t bytes[KEPT_BYTES];
	size_t len;
};

struct vm {
	struct child child;
	struct machine machine;
	uint64_t generation; /* of the sandbox */
	bool was_met;        /* by a supervisor, which knows of it */
	struct kept kept[KEPT_MAX];
	size_t kept_count;
};

static void
say_state(struct vm *vm)
{
	struct message_vm_state m;
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	int rc;

	/* Another that comes asks for it by coming. */
	if (vm->child.supervisor == NULL)
		return;
	machine_describe(&vm->machine, &m);
	message_vm_state_encode(&w, &m);
	rc = chan_send(vm->child.supervisor, MSG_VM_STATE, 0, &w, NULL, 0);
	if (rc != 0)
		log_warn(AREA, "state not told: %s", strerror(-rc));
}

static void
on_state(void *arg)
{
	struct vm *vm = arg;
	const struct machine *m = &vm->machine;

	log_info(AREA, "sandbox=%s state=%s%s%s", m->spec.name,
	    vm_state_name((uint8_t)m->state), *m->text == '\0' ? "" : ": ",
	    m->text);
	say_state(vm);
}

static void
on_over(void *arg)
{
	struct vm *vm = arg;

	/* While the loop is there, which child_serve() frees. */
	machine_done(&vm->machine);
	child_stop(&vm->child);
}

static void
send_record(struct vm *vm, struct kept *k)
{
	struct wr w = { .buf = k->bytes, .size = k->len, .len = k->len };
	int rc = chan_send(vm->child.supervisor, MSG_VM_RECORD, 0, &w, NULL, 0);

	if (rc != 0)
		log_warn(AREA, "record lost: %s", strerror(-rc));
}

static void
on_record(const struct message_vm_record *r, void *arg)
{
	struct vm *vm = arg;
	struct kept k;
	struct wr w = wr_init(k.bytes, sizeof(k.bytes));

	message_vm_record_encode(&w, r);
	k.len = w.len;
	if (vm->child.supervisor != NULL)
		send_record(vm, &k);
	else if (vm->kept_count < KEPT_MAX)
		vm->kept[vm->kept_count++] = k;
	else
		log_warn(AREA, "record lost: no supervisor");
}

static const struct machine_owner owner = { on_state, on_record, on_over };

static int
on_session(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct vm *vm = arg;

	(void)c;
	machine_add_session(&vm->machine, steal_fd(&msg->fds[0]));
	return 0;
}

static int
on_stop(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct vm *vm = arg;

	(void)c;
	(void)msg;
	machine_stop(&vm->machine);
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_VM_SESSION, 0, 1, 1, on_session },
	{ MSG_VM_STOP, 0, 0, 0, on_stop },
};

static void
hello(struct message_hello *ret, void *arg)
{
	static const char role[] = "vm";
	const struct vm *vm = arg;

	memcpy(ret->role, role, sizeof(role));
	memcpy(ret->sandbox, vm->machine.spec.name, sizeof(ret->sandbox));
	ret->generation = vm->generation;
}

static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	struct vm *vm = arg;

	(void)c;
	(void)adopted;
	vm->was_met = true;
	say_state(vm);
	/* After its state, which says what it is made of. */
	for (size_t i = 0; i < vm->kept_count; i++)
		if (vm->child.supervisor != NULL)
			send_record(vm, &vm->kept[i]);
	vm->kept_count = 0;
}

/*
 * The guest goes on, within its limits: its gate does, too. But one that died
 * before our hello left nobody who waits for us, and the next may have looked
 * for us before we listened.
 */
static void
on_supervisor_gone(struct child *c, void *arg)
{
	struct vm *vm = arg;

	(void)c;
	if (!vm->was_met)
		machine_end(&vm->machine, FRAME_LIMIT_NONE,
		    "tapwardd ended while it was started");
}

/* Beside what every program of ours may do (base/confine.c). */
static const struct confine_call calls[] = {
	{ "accept4", "a new supervisor" },
	{ "poll", "does the monitor end?" },
	{ "unlink", "kernel and initramfs, when they are loaded" },
	{ "waitid", "how the monitor ended" },
	{ "pidfd_send_signal", "the monitor's end" },
	{ "connect", "the guest's vsock, a socket in the jail's /run" },
};

/* Nothing but a Unix socket can be made, and the jail's /run is all there is.
 */
static const struct confine_limited limited[] = {
	{ "socket", 0, UINT32_MAX, AF_UNIX, "the guest's vsock" },
};

static const struct confine_profile profile = {
	.program = "tapward-vm",
	.calls = calls,
	.call_count = COUNT(calls),
	.limited = limited,
	.limited_count = COUNT(limited),
};

static const struct child_spec spec = {
	.profile = &profile,
	.rules = rules,
	.rule_count = COUNT(rules),
	.hello = hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = on_supervisor_gone,
};

/* The sealed text that came with us: a generation, then the spec. */
static void
read_spec(struct message_vm_spec *ret, uint64_t *ret_generation)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	struct rd r;
	int rc = fd_read_all(VM_FD_SPEC, MESSAGE_SMALL_BYTES, &text, &len);

	if (rc != 0)
		die(AREA, "what to start: %s", strerror(-rc));
	r = rd_init(text, len);
	*ret_generation = rd_u64(&r);
	if (message_vm_spec_decode(&r, ret) != 0 || !rd_done(&r))
		die(AREA, "what to start is not to be understood");
}

int
main(int argc, char **argv)
{
	static struct vm vm;
	struct message_vm_spec what;

	child_init_jailed(&vm.child, argc, argv);
	tsc_begin();
	read_spec(&what, &vm.generation);
	if (machine_init(&vm.machine, vm.child.base, &what, &owner, &vm) != 0)
		die(AREA, "no memory");
	machine_start(&vm.machine);
	/* Whatever becomes of the supervisor, which may be gone already. */
	machine_watch(&vm.machine);
	return child_serve(&vm.child, &spec, &vm);
}
