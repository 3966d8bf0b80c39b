/* Counters of rulesets, see counters.h. */
#include "daemon/counters.h"

#include <errno.h>
#include <event2/event.h>
#include <string.h>

#include "base/log.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

void
counters_read(struct sandbox *s)
{
	struct net_counters c;
	int rc = sandbox_net_counters(s->net, &c);

	if (rc != 0) {
		log_warn("counters", "sandbox=%s: %s", s->state.name,
		    strerror(-rc));
		return;
	}
	memcpy(s->dropped, &c.packets[REASON_PACKET_FIRST], sizeof(s->dropped));
}

static void
tell(struct sandbox *s, enum recorder_counters kind)
{
	if (link_recorder_counters(s, kind, s->dropped) == 0)
		memcpy(s->dropped_told, s->dropped, sizeof(s->dropped));
}

static bool
is_told(const struct sandbox *s)
{
	return memcmp(s->dropped_told, s->dropped, sizeof(s->dropped)) == 0;
}

/*
 * Told once more when nothing has come since: the recorder looks at what the
 * message before said.
 */
static void
on_count(evutil_socket_t fd, short what, void *arg)
{
	struct sandbox *s = arg;
	bool was_told;

	(void)fd;
	(void)what;
	counters_read(s);
	was_told = is_told(s);
	if (was_told && s->is_dropped_settled)
		return;
	tell(s, RECORDER_COUNTERS_NOW);
	s->is_dropped_settled = was_told;
}

static struct timeval
spread(const struct sandbox *s)
{
	const uint64_t ms = COUNTERS_MS + s->state.generation % 1000;

	return (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

int
counters_watch(struct sandbox *s)
{
	const struct timeval tv = spread(s);

	s->is_dropped_settled = true;
	s->count_event = event_new(s->sv->base, -1, EV_PERSIST, on_count, s);
	return s->count_event == NULL || event_add(s->count_event, &tv) == -1
	    ? -ENOMEM
	    : 0;
}

/* What was dropped since it was last told is news to this one, too. */
void
counters_begin(struct sandbox *s)
{
	if (s->phase == SANDBOX_ADOPTING) {
		counters_read(s);
		memcpy(s->dropped_told, s->dropped, sizeof(s->dropped));
	}
	/* A recorder that is down is told when it comes up. */
	(void)link_recorder_counters(s, RECORDER_COUNTERS_BASE,
	    s->dropped_told);
}

void
counters_end(struct sandbox *s)
{
	if (s->count_event == NULL)
		return;
	event_free(s->count_event);
	s->count_event = NULL;
	counters_read(s);
	tell(s, RECORDER_COUNTERS_LAST);
}
