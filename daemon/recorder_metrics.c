/* Counters and their text. Totals since the start of the recorder. */
#include "daemon/recorder_metrics.h"

#include <inttypes.h>

/* Upper bounds, as Prometheus wants them: in seconds. */
static const struct {
	uint32_t ms;
	const char *text;
} buckets[RECORDER_METRICS_BUCKETS] = {
	{ 10, "0.01" },
	{ 50, "0.05" },
	{ 100, "0.1" },
	{ 500, "0.5" },
	{ 1000, "1" },
	{ 5000, "5" },
	{ 30000, "30" },
	{ 300000, "300" },
};

static void
count_duration(struct recorder_metrics *m, uint32_t ms)
{
	size_t i = 0;

	while (i < RECORDER_METRICS_BUCKETS && ms > buckets[i].ms)
		i++;
	m->took[i]++;
	m->took_ms += ms;
}

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
	else if (record->event == AUDIT_REQUEST)
		count_duration(m, record->ms);
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

/* A histogram: each bucket holds those below it, too. */
static void
write_durations(struct wr *w, const struct recorder_metrics *m)
{
	uint64_t sum = 0;

	write_head(w, "request_seconds", "histogram",
	    "How long requests took that were let through.");
	for (size_t i = 0; i < RECORDER_METRICS_BUCKETS; i++) {
		sum += m->took[i];
		wr_fmt(w,
		    "tapward_request_seconds_bucket{le=\"%s\"} %" PRIu64 "\n",
		    buckets[i].text, sum);
	}
	sum += m->took[RECORDER_METRICS_BUCKETS];
	wr_fmt(w,
	    "tapward_request_seconds_bucket{le=\"+Inf\"} %" PRIu64
	    "\ntapward_request_seconds_sum %" PRIu64 ".%03" PRIu64
	    "\ntapward_request_seconds_count %" PRIu64 "\n",
	    sum, m->took_ms / 1000, m->took_ms % 1000, sum);
}

void
recorder_metrics_write(struct wr *w, const struct recorder_metrics *m,
    const struct message_recorder_status *status)
{
	write_records(w, m);
	write_denied(w, m);
	write_dropped(w, m);
	write_durations(w, m);
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
