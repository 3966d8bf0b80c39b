/* Counters and their text. Totals since the start of the recorder. */
#include "daemon/recorder_metrics.h"

#include <inttypes.h>

void
recorder_metrics_count(struct recorder_metrics *m,
    const struct audit_record *record)
{
	uint8_t verdict = record->verdict <= ACTION_ALLOW
	    ? record->verdict
	    : (uint8_t)ACTION_DENY;

	m->records[record->event][verdict]++;
	if (verdict == ACTION_DENY)
		m->denied[record->reason]++;
	if (record->by_ceiling)
		m->by_ceiling++;
	m->up += record->up;
	m->down += record->down;
}

static void
write_head(struct wr *w, const char *name, const char *type, const char *help)
{
	wr_fmt(w, "# HELP tapward_%s %s\n# TYPE tapward_%s %s\n", name, help,
	    name, type);
}

static void
write_one(struct wr *w, const char *name, const char *type, const char *help,
    uint64_t value)
{
	write_head(w, name, type, help);
	wr_fmt(w, "tapward_%s %" PRIu64 "\n", name, value);
}

static void
write_records(struct wr *w, const struct recorder_metrics *m)
{
	write_head(w, "audit_records_total", "counter",
	    "Decisions by kind and verdict.");
	for (unsigned int e = 0; e < AUDIT_EVENT_COUNT; e++)
		for (unsigned int v = 0; v <= ACTION_ALLOW; v++)
			wr_fmt(w,
			    "tapward_audit_records_total{event=\"%s\","
			    "verdict=\"%s\"} %" PRIu64 "\n",
			    audit_event_name((enum audit_event)e),
			    action_name((enum action)v), m->records[e][v]);
}

static void
write_denied(struct wr *w, const struct recorder_metrics *m)
{
	write_head(w, "denied_total", "counter", "Denials by reason.");
	for (unsigned int i = REASON_NONE + 1; i < REASON_COUNT; i++)
		wr_fmt(w, "tapward_denied_total{reason=\"%s\"} %" PRIu64 "\n",
		    reason_code((enum reason)i), m->denied[i]);
}

/* Packets, of which denied_total has only those with a record. */
static void
write_dropped(struct wr *w, const struct recorder_metrics *m)
{
	write_head(w, "packets_dropped_total", "counter",
	    "Packets of guests that rulesets dropped, by reason.");
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		wr_fmt(w,
		    "tapward_packets_dropped_total{reason=\"%s\"} %" PRIu64
		    "\n",
		    reason_code((enum reason)(REASON_PACKET_FIRST + i)),
		    m->dropped[i]);
}

void
recorder_metrics_write(struct wr *w, const struct recorder_metrics *m,
    const struct message_recorder_status *status)
{
	write_records(w, m);
	write_denied(w, m);
	write_dropped(w, m);
	write_one(w, "denied_by_ceiling_total", "counter",
	    "Denials by the host's ceiling.", m->by_ceiling);
	write_one(w, "up_bytes_total", "counter",
	    "Body and tunnel bytes, guest to origin.", m->up);
	write_one(w, "down_bytes_total", "counter",
	    "Body and tunnel bytes, origin to guest.", m->down);
	write_one(w, "audit_lost_total", "counter",
	    "Records that could not be kept.", status->lost);
	write_one(w, "audit_can_write", "gauge", "1 while the log takes lines.",
	    status->can_write ? 1 : 0);
	write_one(w, "audit_seq", "gauge", "Number of the last line.",
	    status->seq);
	write_one(w, "audit_senders", "gauge",
	    "Channels and packet logs attached.", status->senders);
}
