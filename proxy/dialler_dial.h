/*
 * One dial: judged, resolved, classified, connected, answered, written down.
 * Whatever the outcome, the gate gets one MSG_DIALED, unless it cancelled, and
 * the recorder one record.
 */
#ifndef TAPWARD_PROXY_DIALLER_DIAL_H
#define TAPWARD_PROXY_DIALLER_DIAL_H

#include <stdint.h>
#include <sys/queue.h>

#include "base/message_dial.h"
#include "proxy/dialler_connect.h"
#include "proxy/dialler_resolve.h"
#include "proxy/dialler_sandbox.h"
#include "proxy/dialler_tunnel.h"

struct dialler_dial {
	LIST_ENTRY(dialler_dial) link;
	struct dialler_sandbox *sandbox;
	uint32_t id;
	struct message_dial asked;
	uint64_t begun_us; /* clock_mono_us() */
	uint64_t resolved_us;
	struct dialler_lookup *lookup;   /* while it resolves */
	struct dialler_connect *connect; /* while it connects */
	struct dialler_tunnel *tunnel;   /* while the proxy connects */
	/* Of a dial that goes by the forward proxy. */
	bool goes_by_proxy;
	uint16_t proxy_port;
	unsigned int config_serial; /* what it began under */
	uint64_t until_mono_ms;     /* clock_mono_ms() */
	struct address proxy;       /* what it connected to */
};

/* m->host is canonical. 0, or -ENOMEM, which ends the gate's channel. */
int dialler_dial_start(struct dialler_sandbox *s, uint32_t id,
    const struct message_dial *m);
/* Refuses it if the policy of its sandbox, which changed, does not allow it. */
void dialler_dial_rejudge(struct dialler_dial *dial);
/*
 * Ends it without an answer, for a gate that no longer wants one; what was
 * decided is written down all the same. NULL is fine.
 */
void dialler_dial_cancel(struct dialler_dial *dial);
/* The one with this id, NULL without one. */
struct dialler_dial *dialler_dial_find(struct dialler_sandbox *s, uint32_t id);

#endif
