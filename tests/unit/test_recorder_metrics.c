/*
 * Counters and their text: what Prometheus reads of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message_audit.h"
#include "conf/verdict.h"
#include "daemon/recorder_metrics.h"

static char text[RECORDER_METRICS_MAX + 1];

static const char *
written(const struct recorder_metrics *m)
{
	const struct message_recorder_status status = { .can_write = true,
		.seq = 7,
		.lost = 2,
		.senders = 3 };
	struct wr w = wr_init(text, RECORDER_METRICS_MAX);

	recorder_metrics_write(&w, m, &status);
	assert_true(wr_ok(&w));
	text[w.len] = '\0';
	return text;
}

static void
has(const char *line)
{
	if (strstr(text, line) == NULL)
		fail_msg("%s is not in\n%s", line, text);
}

static struct audit_record
request(uint8_t verdict, uint32_t ms)
{
	struct audit_record r = audit_record_init(AUDIT_REQUEST);

	r.verdict = verdict;
	r.ms = ms;
	r.up = 10;
	r.down = 1000;
	if (verdict == ACTION_DENY)
		r.reason = REASON_NO_RULE;
	return r;
}

static void
counts_requests_by_verdict_and_reason(void **state)
{
	struct recorder_metrics m = { 0 };
	const struct audit_record allowed = request(ACTION_ALLOW, 3);
	const struct audit_record denied = request(ACTION_DENY, 3);

	(void)state;
	recorder_metrics_count(&m, &allowed);
	recorder_metrics_count(&m, &denied);
	recorder_metrics_count(&m, &denied);
	(void)written(&m);
	has("tapward_audit_records_total{event=\"request\",verdict=\"allow\"} "
	    "1\n");
	has("tapward_audit_records_total{event=\"request\",verdict=\"deny\"} "
	    "2\n");
	has("tapward_denied_total{reason=\"no-rule\"} 2\n");
	has("tapward_down_bytes_total 3000\n");
	has("tapward_audit_lost_total 2\n");
}

/* Each bucket holds all below it; refusals are in none. */
static void
a_histogram_of_what_was_let_through(void **state)
{
	static const uint32_t ms[] = { 0, 10, 11, 300000, 300001, UINT32_MAX };
	struct recorder_metrics m = { 0 };
	const struct audit_record denied = request(ACTION_DENY, 10);

	(void)state;
	for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
		const struct audit_record r = request(ACTION_ALLOW, ms[i]);

		recorder_metrics_count(&m, &r);
	}
	recorder_metrics_count(&m, &denied);
	(void)written(&m);
	has("tapward_request_seconds_bucket{le=\"0.01\"} 2\n");
	has("tapward_request_seconds_bucket{le=\"0.05\"} 3\n");
	has("tapward_request_seconds_bucket{le=\"300\"} 4\n");
	has("tapward_request_seconds_bucket{le=\"+Inf\"} 6\n");
	has("tapward_request_seconds_count 6\n");
	has("tapward_request_seconds_sum 4295567.317\n");
}

/* The most that can ever be written fits, since no label is a guest's. */
static void
is_bounded(void **state)
{
	struct recorder_metrics m;
	size_t lines = 0;

	(void)state;
	memset(&m, 0x0f, sizeof(m)); /* sums of them fit */
	(void)written(&m);
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	assert_in_range(lines, 1, 400);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_requests_by_verdict_and_reason),
		cmocka_unit_test(a_histogram_of_what_was_let_through),
		cmocka_unit_test(is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
