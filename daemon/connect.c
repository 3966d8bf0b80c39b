/* Steps that create and replace share, see connect.h. */
#include "daemon/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/message.h"
#include "daemon/link_broker.h"
#include "daemon/link_ca.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

int
connect_gate(void *arg, struct err *err)
{
	struct sandbox *s = arg;

	(void)err;
	return gate_is_ready(s->gate) ? 0 : STEP_WAIT;
}

void
connect_gate_undo(void *arg)
{
	struct sandbox *s = arg;

	questions_forget(s);
	gate_retire(s->gate);
	s->gate = NULL;
	s->state.gate_pid = 0;
}

static int
say_down(struct err *err, int rc, const char *who)
{
	if (rc == -EAGAIN)
		(void)err_at(err, NULL, 0, "%s is being restarted; try again",
		    who);
	return rc;
}

int
connect_recorder(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = gate_name(s->gate, s->state.name);

	if (rc == 0)
		rc = wires_open(&s->wires, WIRES_ALL);
	if (rc == 0)
		rc = wires_to_recorder(s);
	if (rc == 0 && !s->is_kept)
		rc = link_recorder_nflog(s);
	return say_down(err, rc, "the recorder");
}

void
connect_recorder_undo(void *arg)
{
	struct sandbox *s = arg;

	wires_close(&s->wires);
	link_recorder_detach(s);
}

/* An answer to the step that waits. */
static void
on_answer(void *arg, int rc, const struct answer *a)
{
	struct sandbox *s = arg;

	steps_resume(&s->job, rc, rc == 0 ? NULL : a->text);
}

int
connect_dialler(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = wires_to_dialler(s, on_answer, s);

	return rc == 0 ? STEP_WAIT : say_down(err, rc, "the dialler");
}

void
connect_dialler_undo(void *arg)
{
	struct sandbox *s = arg;

	asks_cancel(&s->sv->services[SERVICE_DIALLER].asks, s);
	link_dialler_detach(s);
}

/*
 * A broker that is a unit comes and goes: the gate is connected when it is
 * there (jobs_after(), link_broker.c), and waits till then.
 */
static bool
comes_later(struct sandbox *s, int rc)
{
	s->lacks_broker =
	    rc == -EAGAIN && s->sv->services[SERVICE_BROKER].unit != NULL;
	return s->lacks_broker;
}

static void
on_broker_answer(void *arg, int rc, const struct answer *a)
{
	if (comes_later(arg, rc))
		rc = 0;
	on_answer(arg, rc, a);
}

int
connect_broker(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	int rc = wires_to_broker(s, on_broker_answer, s);

	if (comes_later(s, rc))
		return 0;
	return rc == 0 ? STEP_WAIT : say_down(err, rc, "the broker");
}

void
connect_broker_undo(void *arg)
{
	struct sandbox *s = arg;

	asks_cancel(&s->sv->services[SERVICE_BROKER].asks, s);
	link_broker_detach(s);
}

/* The message goes to the gate with every descriptor it serves with. */
static int
send_start(struct sandbox *s, int ca_fd, int counts_fd)
{
	const bool has_ceiling = s->sv->ceiling.image_fd != -1;
	const int fds[] = {
		[GATE_START_DIALLER] = s->wires.fd[WIRE_GATE_TO_DIALLER],
		[GATE_START_BROKER] = s->wires.fd[WIRE_GATE_TO_BROKER],
		[GATE_START_RECORDER] = s->wires.fd[WIRE_GATE_TO_RECORDER],
		[GATE_START_CA] = ca_fd,
		[GATE_START_ROOTS] = s->sv->roots_fd,
		[GATE_START_COUNTS] = counts_fd,
		[GATE_START_POLICY] = s->policy.image_fd,
		[GATE_START_CEILING] = s->sv->ceiling.image_fd,
	};
	struct message_gate_start m = {
		.generation = s->state.generation,
		.has_ceiling = has_ceiling,
		.passthrough_ech = s->sv->config->host->passthrough_ech,
		.limits = hostconf_gate_limits(s->sv->config->host),
	};
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	message_gate_start_encode(&w, &m);
	return gate_send(s->gate, MSG_GATE_START, &w, fds,
	    has_ceiling ? GATE_START_CEILING + 1 : GATE_START_CEILING);
}

int
connect_start(void *arg, struct err *err)
{
	struct sandbox *s = arg;
	AUTO_CLOSE int ca_fd = -1, counts_fd = -1;
	int rc = link_ca_open_key(s, &ca_fd);

	if (rc != 0)
		return err_os(err, rc, "the key of CA %s", s->state.ca_id);
	/* Of a new sandbox they begin here; a gate that replaces goes on. */
	rc = sandbox_open_counts(s,
	    O_RDWR | O_CREAT | (s->is_kept ? 0 : O_TRUNC), &counts_fd);
	if (rc != 0)
		return err_os(err, rc, "counts");
	rc = send_start(s, ca_fd, counts_fd);
	if (rc != 0)
		return rc;
	wires_close(&s->wires);
	s->state.gate_pid = (uint32_t)gate_pid(s->gate);
	s->state.gate_start_ticks = gate_start_ticks(s->gate);
	s->state.gate_uid = gate_uid(s->gate);
	return STEP_WAIT;
}

void
connect_start_undo(void *arg)
{
	struct sandbox *s = arg;

	wires_close(&s->wires);
}
