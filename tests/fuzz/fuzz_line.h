/*
 * What holds of each line of the log, whoever had a hand in its record: it is
 * one line of printable ASCII, whole JSON in which no name comes twice,
 * continues the chain, and tells of sandbox, number and hash what the recorder
 * knows.
 */
#ifndef TAPWARD_TESTS_FUZZ_FUZZ_LINE_H
#define TAPWARD_TESTS_FUZZ_FUZZ_LINE_H

#include "fuzz_wire.h"

#include <string.h>

#include <jansson.h>

#include "base/audit_verify.h"
#include "daemon/recorder_line.h"

#define LINE_SEQ 42

static inline const char *
line_text(const json_t *line, const char *name)
{
	const char *text = json_string_value(json_object_get(line, name));

	HOLDS(text != NULL);
	return text;
}

static inline void
line_says(struct span line, const struct recorder_line *known,
    const struct audit_record *record)
{
	json_t *j = json_loadb((const char *)line.ptr, line.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

	HOLDS(j != NULL);
	HOLDS(json_integer_value(json_object_get(j, "seq")) == LINE_SEQ);
	HOLDS(strcmp(line_text(j, "prev"), known->head.prev) == 0);
	HOLDS(strcmp(line_text(j, "sandbox"), known->about->sandbox) == 0);
	HOLDS(strcmp(line_text(j, "policy"), known->about->policy) == 0);
	HOLDS(strcmp(line_text(j, "event"), audit_event_name(record->event)) ==
	    0);
	json_decref(j);
}

static inline void
line_is_sound(const struct audit_record *record)
{
	static const struct message_recorder_sandbox about = {
		.sandbox = "one",
		.policy = "sha256-of-it",
		.generation = 7,
	};
	static uint8_t buf[RECORDER_LINE_MAX];
	struct recorder_line known = { .about = &about, .head.seq = LINE_SEQ };
	struct wr w = wr_init(buf, sizeof(buf));
	struct audit_verify v;

	memcpy(known.head.prev, AUDIT_GENESIS, sizeof(AUDIT_GENESIS));
	recorder_line_write(&w, &known, record);
	HOLDS(wr_ok(&w));
	for (size_t i = 0; i < w.len; i++)
		HOLDS(buf[i] >= 0x20 && buf[i] <= 0x7e);
	line_says((struct span){ buf, w.len }, &known, record);
	audit_verify_init(&v);
	HOLDS(audit_verify_line(&v, (struct span){ buf, w.len }) ==
	    AUDIT_VERIFY_OK);
	HOLDS(v.seq == LINE_SEQ);
}

#endif
