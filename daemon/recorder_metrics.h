/*
 * Counters over all records, in Prometheus' text format. Labels come from
 * fixed tables only, never from a guest or a policy, so that their number is
 * bounded.
 */
#ifndef TAPWARD_DAEMON_RECORDER_METRICS_H
#define TAPWARD_DAEMON_RECORDER_METRICS_H

#include "base/message_recorder.h"
#include "conf/verdict.h"

#define RECORDER_METRICS_MAX 32768
#define RECORDER_METRICS_BUCKETS 8

struct recorder_metrics {
	uint64_t records[AUDIT_EVENT_COUNT][ACTION_ALLOW + 1];
	uint64_t denied[REASON_COUNT];
	uint64_t by_ceiling;
	uint64_t dropped[REASON_PACKET_COUNT]; /* by rulesets */
	uint64_t up;
	uint64_t down;
	/* Requests that were let through, by how long they took; the last
	 * bucket has the rest. */
	uint64_t took[RECORDER_METRICS_BUCKETS + 1];
	uint64_t took_ms;
};

void recorder_metrics_count(struct recorder_metrics *m,
    const struct audit_record *record);
void recorder_metrics_write(struct wr *w, const struct recorder_metrics *m,
    const struct message_recorder_status *status);

#endif
