/*
 * See mux.h; mux_core.h says how the files share the work. Whatever happens
 * ends in mux_settle(): it moves what can be moved, tells what is to be told,
 * and frees what is over.
 */
#include "vmm/mux_core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"

void
mux_fail(struct mux *m, const char *fmt, ...)
{
	va_list ap;

	if (m->fault[0] != '\0')
		return;
	va_start(ap, fmt);
	(void)vsnprintf(m->fault, sizeof(m->fault), fmt, ap);
	va_end(ap);
	if (m->agent_readable != NULL)
		(void)event_del(m->agent_readable);
	if (m->agent_writable != NULL)
		(void)event_del(m->agent_writable);
}

/* Writes to the agent until it takes no more, or there is no more. */
static void
serve_agent(struct mux *m)
{
	const struct timeval stall = mux_timeval(m->hooks.stall_ms);
	bool wrote = false;
	int rc = 0;

	/* also without an agent: HELLO of sessions, and those that are over */
	while (mux_agent_put(m) || frame_link_waiting(&m->agent) > 0) {
		const size_t before = frame_link_waiting(&m->agent);

		if (m->agent.fd == -1 || m->fault[0] != '\0')
			return;
		rc = frame_link_write(&m->agent);
		wrote = wrote || frame_link_waiting(&m->agent) < before;
		if (rc != 0)
			break;
	}
	if (rc == -EAGAIN &&
	    (wrote || !event_pending(m->agent_writable, EV_WRITE, NULL)))
		(void)event_add(m->agent_writable, &stall);
	else if (rc != 0 && rc != -EAGAIN)
		mux_fail(m, "the guest's agent is gone");
}

/*
 * Writes to the session, in its turn; it is heard again if there is room. What
 * was written makes room for more, of either way: all are looked at again.
 */
static void
serve_session(struct mux_session *s)
{
	size_t left = MUX_TURN_BYTES;
	int rc = 0;

	mux_session_put(s);
	while (frame_link_waiting(&s->link) > 0 && left > 0) {
		const size_t before = frame_link_waiting(&s->link);
		size_t wrote;

		rc = frame_link_write(&s->link);
		wrote = before - frame_link_waiting(&s->link);
		left -= wrote < left ? wrote : left;
		if (wrote > 0)
			event_active(s->m->kick, EV_TIMEOUT, 0);
		if (rc != 0)
			break;
		mux_session_put(s);
	}
	if (rc != 0 && rc != -EAGAIN) {
		mux_session_end(s, NULL);
		return;
	}
	if (frame_link_waiting(&s->link) > 0)
		(void)event_add(s->writable, NULL);
	if (frame_link_can_read(&s->link) &&
	    !event_pending(s->readable, EV_READ, NULL))
		(void)event_add(s->readable, NULL);
}

/* The VM is over: so is all that ran in it. */
static void
end_streams(struct mux *m)
{
	const struct frame_exit end = { .end = FRAME_END_FAILED,
		.limit = m->state_limit,
		.text = span_of(m->state_text) };

	m->streams_ended = true;
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (m->streams[i] != NULL && !m->streams[i]->rules.exited)
			mux_stream_end(m->streams[i], &end);
}

static void
free_dead(struct mux *m)
{
	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++) {
		if (m->sessions[i] == NULL || !m->sessions[i]->is_dead)
			continue;
		mux_session_free(m->sessions[i]);
		m->sessions[i] = NULL;
	}
}

static bool
has_told_all(const struct mux *m)
{
	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++)
		if (m->sessions[i] != NULL &&
		    !mux_session_is_drained(m->sessions[i]))
			return false;
	return true;
}

static void
mux_settle(struct mux *m)
{
	if (m->state == FRAME_VM_ENDED && !m->streams_ended)
		end_streams(m);
	serve_agent(m);
	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++)
		if (m->sessions[i] != NULL && !m->sessions[i]->is_dead)
			serve_session(m->sessions[i]);
	free_dead(m);
	if (m->streams_ended && !m->is_drained && has_told_all(m)) {
		m->is_drained = true;
		if (m->hooks.on_drained != NULL)
			m->hooks.on_drained(m->arg);
		return; /* it may be gone */
	}
	if (m->fault[0] != '\0' && !m->fault_told &&
	    m->state != FRAME_VM_ENDED) {
		m->fault_told = true;
		m->hooks.on_fault(m->fault, m->arg);
	}
}

static void
on_kick(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	mux_settle(arg);
}

static void
on_agent_readable(evutil_socket_t fd, short what, void *arg)
{
	struct mux *m = arg;

	(void)fd;
	(void)what;
	mux_agent_take(m);
	mux_settle(m);
}

static void
on_agent_writable(evutil_socket_t fd, short what, void *arg)
{
	struct mux *m = arg;

	(void)fd;
	if ((what & EV_TIMEOUT) != 0)
		mux_fail(m,
		    "the guest's agent has read nothing for %" PRIu32 " ms",
		    m->hooks.stall_ms);
	mux_settle(m);
}

struct mux *
mux_new(struct event_base *base, const struct mux_hooks *hooks, void *arg)
{
	struct mux *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return NULL;
	m->base = base;
	m->hooks = *hooks;
	if (m->hooks.begin_ms == 0)
		m->hooks.begin_ms = MUX_BEGIN_MS;
	if (m->hooks.answer_ms == 0)
		m->hooks.answer_ms = MUX_ANSWER_MS;
	if (m->hooks.stall_ms == 0)
		m->hooks.stall_ms = MUX_STALL_MS;
	m->arg = arg;
	m->agent.fd = -1;
	m->state = FRAME_VM_BOOTING;
	m->created_ms = clock_mono_ms();
	m->kick = event_new(base, -1, 0, on_kick, m);
	if (m->kick == NULL) {
		free(m);
		return NULL;
	}
	return m;
}

void
mux_free(struct mux *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		if (m->streams[i] != NULL)
			mux_stream_free(m->streams[i]);
	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++)
		if (m->sessions[i] != NULL)
			mux_session_free(m->sessions[i]);
	if (m->agent_readable != NULL)
		event_free(m->agent_readable);
	if (m->agent_writable != NULL)
		event_free(m->agent_writable);
	frame_link_done(&m->agent);
	event_free(m->kick);
	free(m);
}

int
mux_set_agent(struct mux *m, int fd)
{
	struct wr w;
	int rc = frame_link_init(&m->agent, fd);

	if (rc != 0)
		return rc;
	m->agent_readable =
	    event_new(m->base, fd, EV_READ | EV_PERSIST, on_agent_readable, m);
	m->agent_writable =
	    event_new(m->base, fd, EV_WRITE, on_agent_writable, m);
	if (m->agent_readable == NULL || m->agent_writable == NULL ||
	    event_add(m->agent_readable, NULL) == -1) {
		frame_link_done(&m->agent);
		return -ENOMEM;
	}
	w = frame_link_writer(&m->agent);
	frame_hello_encode(&w, &(struct frame_hello){ FRAME_VERSION, 0 });
	frame_link_put(&m->agent, &w);
	event_active(m->kick, EV_TIMEOUT, 0);
	return 0;
}

int
mux_add_session(struct mux *m, int fd, uint32_t tag)
{
	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++) {
		if (m->sessions[i] != NULL)
			continue;
		m->sessions[i] = mux_session_new(m, fd, tag);
		if (m->sessions[i] == NULL)
			return -ENOMEM;
		event_active(m->kick, EV_TIMEOUT, 0);
		return 0;
	}
	fd_close(&fd);
	return -EUSERS;
}

unsigned int
mux_session_count(const struct mux *m)
{
	unsigned int n = 0;

	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++)
		n += m->sessions[i] != NULL && !m->sessions[i]->is_dead;
	return n;
}

unsigned int
mux_stream_count(const struct mux *m)
{
	unsigned int n = 0;

	for (size_t i = 0; i < FRAME_STREAMS_MAX; i++)
		n += m->streams[i] != NULL;
	return n;
}

void
mux_state(struct mux *m, enum frame_vm_state state, enum frame_limit limit,
    const char *text)
{
	if (m->state == FRAME_VM_ENDED)
		return;
	m->state = state;
	m->state_limit = limit;
	(void)snprintf(m->state_text, sizeof(m->state_text), "%s", text);
	for (size_t i = 0; i < MUX_SESSIONS_MAX; i++)
		if (m->sessions[i] != NULL)
			m->sessions[i]->state_due = true;
	if (state == FRAME_VM_ENDED && m->agent_readable != NULL)
		(void)event_del(m->agent_readable);
	event_active(m->kick, EV_TIMEOUT, 0);
}

void
mux_clock(struct mux *m, uint64_t us)
{
	m->clock_due = m->is_ready;
	m->clock_us = us;
	event_active(m->kick, EV_TIMEOUT, 0);
}

void
mux_poweroff(struct mux *m)
{
	m->poweroff_due = m->is_ready;
	event_active(m->kick, EV_TIMEOUT, 0);
}
