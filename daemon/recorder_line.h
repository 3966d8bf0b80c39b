/*
 * One audit record as one line of JSON (DESIGN 9). Pure.
 */
#ifndef TAPWARD_DAEMON_RECORDER_LINE_H
#define TAPWARD_DAEMON_RECORDER_LINE_H

#include "base/audit_verify.h"
#include "base/message_recorder.h"

/*
 * Longest line, its newline included: each guest byte becomes \u00NN at
 * worst, and the caps are those of base/message_audit.h.
 */
#define RECORDER_LINE_MAX 16384

/* What the recorder knows and no sender may say. */
struct recorder_line {
	struct audit_line_head
	    head; /* this one's number, the last one's hash */
	uint64_t wall_ms;
	const struct message_recorder_sandbox *about;
};

/* Writes the line without a newline; w fails if it does not fit. */
void recorder_line_write(struct wr *w, const struct recorder_line *line,
    const struct audit_record *record);

/* The line is of that sandbox ("": any), and a denial if denied_only. */
bool recorder_line_matches(struct span line,
    const struct message_recorder_read *wanted);

#endif
