/*
 * What the supervisor counts, in Prometheus' text format; the recorder adds
 * what it has read (recorder_metrics.h). Labels are states and roles.
 */
#ifndef TAPWARD_DAEMON_METRICS_H
#define TAPWARD_DAEMON_METRICS_H

#include "base/bytes.h"

struct supervisor;

#define METRICS_MAX 8192

void metrics_write(struct wr *w, const struct supervisor *sv);

#endif
