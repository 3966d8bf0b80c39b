/* Connecting a sandbox, see wires.h. */
#include "daemon/wires.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "daemon/link_broker.h"
#include "daemon/link_dialler.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

static int
open_pair(struct wires *w, enum wire_end a, enum wire_end b)
{
	int pair[2];
	int rc = chan_pair(pair);

	if (rc != 0)
		return rc;
	fd_close(&w->fd[a]);
	fd_close(&w->fd[b]);
	w->fd[a] = pair[0];
	w->fd[b] = pair[1];
	return 0;
}

int
wires_open(struct wires *w, unsigned int which)
{
	int rc = 0;

	if ((which & WIRES_DIALLER) != 0)
		rc = open_pair(w, WIRE_GATE_TO_DIALLER, WIRE_DIALLER_TO_GATE);
	if (rc == 0 && (which & WIRES_DIALLER) != 0)
		rc = open_pair(w, WIRE_DIALLER_TO_RECORDER,
		    WIRE_RECORDER_TO_DIALLER);
	if (rc == 0 && (which & WIRES_BROKER) != 0)
		rc = open_pair(w, WIRE_GATE_TO_BROKER, WIRE_BROKER_TO_GATE);
	if (rc == 0 && (which & WIRES_BROKER) != 0)
		rc = open_pair(w, WIRE_BROKER_TO_RECORDER,
		    WIRE_RECORDER_TO_BROKER);
	if (rc == 0 && (which & WIRES_RECORDER) != 0)
		rc = open_pair(w, WIRE_GATE_TO_RECORDER, WIRE_RECORDER_TO_GATE);
	return rc;
}

void
wires_close(struct wires *w)
{
	for (size_t i = 0; i < WIRE_COUNT; i++)
		fd_close(&w->fd[i]);
}

int
wires_to_recorder(struct sandbox *s)
{
	static const enum wire_end ends[] = {
		WIRE_RECORDER_TO_DIALLER,
		WIRE_RECORDER_TO_BROKER,
		WIRE_RECORDER_TO_GATE,
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(ends) / sizeof(ends[0]); i++) {
		int *fd = &s->wires.fd[ends[i]];

		if (*fd == -1)
			continue;
		rc = link_recorder_attach(s, *fd);
		fd_close(fd);
	}
	return rc;
}

int
wires_to_dialler(struct sandbox *s, ask_done *done, void *arg)
{
	struct wires *w = &s->wires;
	int rc = link_dialler_attach(s, w->fd[WIRE_DIALLER_TO_GATE],
	    w->fd[WIRE_DIALLER_TO_RECORDER], done, arg);

	fd_close(&w->fd[WIRE_DIALLER_TO_GATE]);
	fd_close(&w->fd[WIRE_DIALLER_TO_RECORDER]);
	return rc;
}

int
wires_to_broker(struct sandbox *s, ask_done *done, void *arg)
{
	struct wires *w = &s->wires;
	int rc = link_broker_attach(s, w->fd[WIRE_BROKER_TO_GATE],
	    w->fd[WIRE_BROKER_TO_RECORDER], done, arg);

	fd_close(&w->fd[WIRE_BROKER_TO_GATE]);
	fd_close(&w->fd[WIRE_BROKER_TO_RECORDER]);
	return rc;
}

static int
send_peer(struct sandbox *s, enum gate_start_fd which, enum wire_end end)
{
	const struct message_gate_peer m = { .which = (uint8_t)which };
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));
	int rc;

	if (s->wires.fd[end] == -1)
		return 0;
	message_gate_peer_encode(&w, &m);
	rc = gate_send(s->gate, MSG_GATE_PEER, &w, &s->wires.fd[end], 1);
	fd_close(&s->wires.fd[end]);
	return rc;
}

static int
wires_to_gate(struct sandbox *s)
{
	int rc = send_peer(s, GATE_START_RECORDER, WIRE_GATE_TO_RECORDER);

	if (rc == 0)
		rc = send_peer(s, GATE_START_DIALLER, WIRE_GATE_TO_DIALLER);
	if (rc == 0)
		rc = send_peer(s, GATE_START_BROKER, WIRE_GATE_TO_BROKER);
	return rc;
}

static void
on_mended(void *arg, int rc, const struct answer *a)
{
	const struct sandbox *s = arg;

	if (rc != 0)
		log_warn("wires", "sandbox=%s: %s", s->state.name, a->text);
}

/* Whoever is away is connected when it comes up. */
static int
unless_away(int rc)
{
	return rc == -EAGAIN ? 0 : rc;
}

void
wires_mend(struct sandbox *s, unsigned int which)
{
	int rc;

	if ((which & WIRES_RECORDER) != 0)
		which = WIRES_ALL;
	rc = wires_open(&s->wires, which);
	if (rc == 0)
		rc = unless_away(wires_to_recorder(s));
	if (rc == 0 && (which & WIRES_DIALLER) != 0)
		rc = unless_away(wires_to_dialler(s, on_mended, s));
	if (rc == 0 && (which & WIRES_BROKER) != 0)
		rc = unless_away(wires_to_broker(s, on_mended, s));
	if (rc == 0)
		rc = wires_to_gate(s);
	if (rc != 0)
		log_warn("wires", "sandbox=%s: %s", s->state.name,
		    strerror(-rc));
	wires_close(&s->wires);
}
