/* See machine.h. */
#include "vmm/machine.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/process.h"
#include "vmm/boot.h"
#include "vmm/disk.h"
#include "vmm/mux.h"
#include "vmm/vsock.h"

/* Emulated on a busy machine it takes ten seconds; with KVM less than two. */
#define BOOT_MS 120000
#define BOOT_KVM_MS 30000
/* For sessions to read how it ended. */
#define OVER_MS 2000
/* Between the request to power off and the end by force. */
#define STOP_MS 5000
#define CONSOLE_READ_BYTES 8192
/* From a port that closes to the death of who closed it. */
#define DEATH_MS 500

static int
add_timer(struct machine *m, struct event **ev, event_callback_fn fn,
    uint64_t ms)
{
	const struct timeval tv = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000,
	};

	if (*ev == NULL)
		*ev = evtimer_new(m->base, fn, m);
	return *ev == NULL || event_add(*ev, &tv) == -1 ? -ENOMEM : 0;
}

static int
add_read(struct machine *m, struct event **ev, int fd, event_callback_fn fn)
{
	*ev = event_new(m->base, fd, EV_READ | EV_PERSIST, fn, m);
	return *ev == NULL || event_add(*ev, NULL) == -1 ? -ENOMEM : 0;
}

static void
take_event(struct event **ev)
{
	if (*ev != NULL)
		event_free(*ev);
	*ev = NULL;
}

static void
enter(struct machine *m, enum vm_state state)
{
	m->state = state;
	m->owner->on_state(m->arg);
}

/* All of it has been told, or somebody does not read: the process goes. */
static void
on_over(evutil_socket_t fd, short what, void *arg)
{
	struct machine *m = arg;

	(void)fd;
	(void)what;
	take_event(&m->over_event);
	m->owner->on_over(m->arg);
}

static void
kill_monitor(struct machine *m)
{
	if (m->monitor.pidfd != -1)
		(void)process_signal(m->monitor.pidfd, SIGKILL);
}

/* What its console still holds: often why it ended. */
static void
drain_console(struct machine *m)
{
	uint8_t buf[CONSOLE_READ_BYTES];

	/* At most what a socket holds: its writer is dead or dying. */
	for (int i = 0; i < 64 && m->monitor.console_fd != -1; i++) {
		ssize_t n = read(m->monitor.console_fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		console_add(&m->console, (struct span){ buf, (size_t)n });
	}
}

void
machine_end(struct machine *m, enum frame_limit limit, const char *text)
{
	if (m->state == VM_STATE_ENDED)
		return;
	kill_monitor(m);
	drain_console(m);
	(void)snprintf(m->text, sizeof(m->text), "%s", text);
	take_event(&m->hold_event);
	take_event(&m->console_event);
	enter(m, VM_STATE_ENDED);
	if (add_timer(m, &m->over_event, on_over, OVER_MS) != 0)
		m->owner->on_over(m->arg);
	else
		mux_state(m->mux, FRAME_VM_ENDED, limit, m->text);
}

static void
on_console(evutil_socket_t fd, short what, void *arg)
{
	struct machine *m = arg;
	uint8_t buf[CONSOLE_READ_BYTES];
	ssize_t n = read(fd, buf, sizeof(buf));

	(void)what;
	if (n > 0)
		console_add(&m->console, (struct span){ buf, (size_t)n });
	else if (n == 0)
		(void)event_del(m->console_event);
}

/* Its status, and what it said last. */
static void
tell_death(struct machine *m, const siginfo_t *info, char *text, size_t size)
{
	char said[256], *line;
	size_t len;

	drain_console(m);
	console_tail(&m->console, said, sizeof(said));
	len = strlen(said);
	if (len > 0 && said[len - 1] == '\n')
		said[len - 1] = '\0';
	line = strrchr(said, '\n');
	(void)snprintf(text, size, "%s ended with %s %d: %s",
	    vm_driver_name(m->spec.driver),
	    info->si_code == CLD_EXITED ? "status" : "signal", info->si_status,
	    line == NULL ? said : line + 1);
}

/* Why a monitor that was not asked to is gone. */
static void
on_death(evutil_socket_t fd, short what, void *arg)
{
	struct machine *m = arg;
	siginfo_t info = { 0 };
	char text[VM_TEXT_SIZE];

	(void)what;
	take_event(&m->death_event);
	(void)waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
	if (info.si_code == CLD_EXITED && info.si_status == 0)
		(void)snprintf(text, sizeof(text), "the guest powered off");
	else
		tell_death(m, &info, text, sizeof(text));
	machine_end(m, FRAME_LIMIT_NONE, text);
}

static void
on_hold(evutil_socket_t fd, short what, void *arg)
{
	uint8_t buf[64];

	(void)what;
	if (read(fd, buf, sizeof(buf)) <= 0)
		machine_end(arg, FRAME_LIMIT_NONE,
		    "the command that it was started for has ended");
}

static void
on_duration(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	machine_end(arg, FRAME_LIMIT_DURATION,
	    "its longest life (--max-duration) is over");
}

static void
on_boot_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	const struct machine *m = arg;

	machine_end(arg, FRAME_LIMIT_NONE,
	    m->monitor.has_kvm
		? "the guest did not boot under KVM within 30 s; the next one "
		  "is emulated, so try again"
		: "the guest did not boot: its agent said nothing for 120 s");
}

static void
on_stop_late(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	machine_end(arg, FRAME_LIMIT_NONE,
	    "it was stopped, and did not power off by itself");
}

static void
on_ready(void *arg)
{
	struct machine *m = arg;

	take_event(&m->boot_event);
	boot_remove();
	mux_clock(m->mux, clock_wall_ms() * 1000);
	enter(m, VM_STATE_READY);
}

static void
on_fault(const char *reason, void *arg)
{
	struct machine *m = arg;

	struct pollfd p = { .fd = m->monitor.pidfd, .events = POLLIN };

	/*
	 * A port that closed may be a monitor that ends: then it is that which
	 * is told, as soon as it is known.
	 */
	if (poll(&p, 1, DEATH_MS) == 1)
		return;
	machine_end(m, FRAME_LIMIT_NONE, reason);
}

static void
tell_end(const struct mux_record *r, char *buf, size_t size)
{
	static const char *const limits[] = {
		[FRAME_LIMIT_NONE] = NULL,
		[FRAME_LIMIT_TIMEOUT] = "timeout",
		[FRAME_LIMIT_OUTPUT] = "output limit",
		[FRAME_LIMIT_MEMORY] = "out of memory",
		[FRAME_LIMIT_DURATION] = "max-duration",
	};

	if ((unsigned int)r->limit <= FRAME_LIMIT_DURATION &&
	    limits[r->limit] != NULL) {
		(void)snprintf(buf, size, "%s", limits[r->limit]);
		return;
	}
	switch (r->end) {
	case FRAME_END_CODE:
		(void)snprintf(buf, size, "exit code %u", r->value);
		return;
	case FRAME_END_SIGNAL:
		(void)snprintf(buf, size, "signal %u", r->value);
		return;
	case FRAME_END_NOT_FOUND:
		(void)snprintf(buf, size, "not found");
		return;
	case FRAME_END_NOT_RUN:
		(void)snprintf(buf, size, "not executable");
		return;
	case FRAME_END_FAILED:
		break;
	}
	(void)snprintf(buf, size, "failed");
}

static void
on_record(const struct mux_record *r, void *arg)
{
	struct machine *m = arg;
	struct message_vm_record out = {
		.kind = r->kind == FRAME_EXEC ? VM_RECORD_EXEC
		    : r->kind == FRAME_PUT    ? VM_RECORD_PUT
					      : VM_RECORD_GET,
		.ms = r->elapsed_ms > UINT32_MAX ? UINT32_MAX
						 : (uint32_t)r->elapsed_ms,
		.up = r->bytes_in,
		.down = r->bytes_out,
		.command = r->command,
	};

	tell_end(r, out.how, sizeof(out.how));
	m->owner->on_record(&out, m->arg);
}

static void
on_drained(void *arg)
{
	on_over(-1, 0, arg);
}

static const struct mux_hooks hooks = {
	.on_ready = on_ready,
	.on_fault = on_fault,
	.on_record = on_record,
	.on_drained = on_drained,
};

int
machine_init(struct machine *m, struct event_base *base,
    const struct message_vm_spec *spec, const struct machine_owner *owner,
    void *arg)
{
	*m = (struct machine){
		.base = base,
		.owner = owner,
		.arg = arg,
		.spec = *spec,
		.monitor = MONITOR_NONE,
		.state = VM_STATE_STARTING,
	};
	m->mux = mux_new(base, &hooks, m);
	return m->mux == NULL ? -ENOMEM
			      : console_init(&m->console, spec->console_bytes);
}

static int
start(struct machine *m, struct err *err)
{
	const struct driver *driver = driver_find(m->spec.driver);
	int rc;

	if (driver == NULL)
		return err_os(err, -ENOTSUP, "driver %s",
		    vm_driver_name(m->spec.driver));
	rc = m->spec.disk_mib > 0 ? disk_format(err) : 0;
	if (rc == 0)
		rc = boot_make(&m->spec, &driver->guest, err);
	return rc == 0 ? driver->start(&m->spec, &m->monitor, err) : rc;
}

static void
on_vsock(int fd, void *arg)
{
	struct machine *m = arg;

	if (mux_set_agent(m->mux, fd) != 0)
		machine_end(m, FRAME_LIMIT_NONE, "tapward-vm: no memory");
}

/* The way to the agent: open already, or to be asked for until it is. */
static int
reach_agent(struct machine *m)
{
	if (m->monitor.agent_fd != -1)
		return mux_set_agent(m->mux, steal_fd(&m->monitor.agent_fd));
	m->vsock =
	    vsock_dial_new(m->base, DRIVER_VSOCK, BOOT_VSOCK_PORT, on_vsock, m);
	return m->vsock == NULL ? -ENOMEM : 0;
}

void
machine_start(struct machine *m)
{
	struct err err = { "" };
	int rc = start(m, &err);

	if (rc == 0) {
		rc = reach_agent(m);
		if (rc != 0)
			(void)err_os(&err, rc, "tapward-vm");
	}
	if (rc == 0) {
		m->state = VM_STATE_BOOTING;
		return;
	}
	kill_monitor(m);
	drain_console(m);
	m->state = VM_STATE_ENDED;
	(void)snprintf(m->text, sizeof(m->text), "%s", err.text);
}

void
machine_watch(struct machine *m)
{
	int rc = 0;

	m->owner->on_state(m->arg);
	if (m->state == VM_STATE_ENDED) {
		rc = add_timer(m, &m->over_event, on_over, 0);
	} else {
		rc = add_read(m, &m->console_event, m->monitor.console_fd,
		    on_console);
		if (rc == 0)
			rc = add_read(m, &m->death_event, m->monitor.pidfd,
			    on_death);
		if (rc == 0 && m->spec.has_hold)
			rc = add_read(m, &m->hold_event, VM_FD_HOLD, on_hold);
		if (rc == 0 && m->spec.max_duration_s > 0)
			rc = add_timer(m, &m->duration_event, on_duration,
			    m->spec.max_duration_s * 1000ull);
		if (rc == 0)
			rc = add_timer(m, &m->boot_event, on_boot_late,
			    m->monitor.has_kvm ? BOOT_KVM_MS : BOOT_MS);
	}
	if (rc != 0)
		die("machine", "no memory");
}

void
machine_add_session(struct machine *m, int fd)
{
	int rc = mux_add_session(m->mux, fd, ++m->session_count);

	if (rc != 0)
		log_warn("machine", "session: %s", strerror(-rc));
}

void
machine_stop(struct machine *m)
{
	if (m->state != VM_STATE_READY) {
		machine_end(m, FRAME_LIMIT_NONE, "it was stopped");
		return;
	}
	mux_state(m->mux, FRAME_VM_STOPPING, FRAME_LIMIT_NONE, "");
	mux_poweroff(m->mux);
	if (add_timer(m, &m->stop_event, on_stop_late, STOP_MS) != 0)
		machine_end(m, FRAME_LIMIT_NONE, "it was stopped");
}

void
machine_describe(const struct machine *m, struct message_vm_state *ret)
{
	*ret = (struct message_vm_state){
		.spec = m->spec,
		.state = (uint8_t)m->state,
		.has_kvm = m->monitor.has_kvm,
	};
	memcpy(ret->text, m->text, sizeof(ret->text));
	if (m->state == VM_STATE_ENDED)
		console_tail(&m->console, ret->console, sizeof(ret->console));
}

void
machine_done(struct machine *m)
{
	struct event **all[] = { &m->console_event, &m->death_event,
		&m->hold_event, &m->duration_event, &m->boot_event,
		&m->over_event, &m->stop_event };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		take_event(all[i]);
	kill_monitor(m);
	vsock_dial_free(m->vsock);
	mux_free(m->mux);
	console_done(&m->console);
	fd_close(&m->monitor.pidfd);
	fd_close(&m->monitor.console_fd);
	fd_close(&m->monitor.agent_fd);
}
