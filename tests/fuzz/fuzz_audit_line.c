/*
 * A record from a gate that a guest may have taken over, as a line of the log.
 * Whatever it says, the line is one line of printable ASCII, whole JSON in
 * which no name comes twice, continues the chain, and tells of sandbox, number
 * and hash what the recorder knows.
 */
#include "fuzz_wire.h"

#include <string.h>

#include <jansson.h>

#include "base/audit_verify.h"
#include "daemon/recorder_line.h"

#define SEQ 42

static uint8_t buf[RECORDER_LINE_MAX];

static const char *
text_of(const json_t *line, const char *name)
{
	const char *text = json_string_value(json_object_get(line, name));

	HOLDS(text != NULL);
	return text;
}

static void
is_one_line(struct span line)
{
	for (size_t i = 0; i < line.len; i++)
		HOLDS(line.ptr[i] >= 0x20 && line.ptr[i] <= 0x7e);
}

static void
says_what_we_know(struct span line, const struct recorder_line *known,
    const struct audit_record *record)
{
	json_t *j = json_loadb((const char *)line.ptr, line.len,
	    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

	HOLDS(j != NULL);
	HOLDS(json_integer_value(json_object_get(j, "seq")) == SEQ);
	HOLDS(strcmp(text_of(j, "prev"), known->head.prev) == 0);
	HOLDS(strcmp(text_of(j, "sandbox"), known->about->sandbox) == 0);
	HOLDS(strcmp(text_of(j, "policy"), known->about->policy) == 0);
	HOLDS(
	    strcmp(text_of(j, "event"), audit_event_name(record->event)) == 0);
	json_decref(j);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct message_recorder_sandbox about = {
		.sandbox = "one",
		.policy = "sha256-of-it",
		.generation = 7,
	};
	struct recorder_line known = { .about = &about, .head.seq = SEQ };
	struct audit_verify v;
	struct audit_text text;
	struct audit_record record;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r = rd_init(data, size);
	struct span line;

	if (size > AUDIT_BODY_MAX_BYTES ||
	    message_audit_decode(&r, &text, &record) != 0)
		return 0;
	memcpy(known.head.prev, AUDIT_GENESIS, sizeof(AUDIT_GENESIS));
	recorder_line_write(&w, &known, &record);
	HOLDS(wr_ok(&w));
	line = (struct span){ buf, w.len };
	is_one_line(line);
	says_what_we_know(line, &known, &record);
	audit_verify_init(&v);
	HOLDS(audit_verify_line(&v, line) == AUDIT_VERIFY_OK);
	HOLDS(v.seq == SEQ);
	return 0;
}
