/* A line of the log as report.c counts it; see report_private.h. */
#include <string.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "cli/report_private.h"

static const char *
text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "" : text;
}

/* A log that somebody wrote by hand may hold any number. */
static uint64_t
number_of(const json_t *json, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(json, key));

	return n < 0 ? 0 : (uint64_t)n;
}

bool
report_record_read(const json_t *json, struct report_record *ret)
{
	struct report_record e = {
		.event = text_of(json, "event"),
		.sandbox = text_of(json, "sandbox"),
		.policy = text_of(json, "policy"),
		.reason = text_of(json, "reason"),
		.rule = text_of(json, "rule"),
		.at = text_of(json, "at"),
		.learned = text_of(json, "learned"),
		.learned_rule = text_of(json, "learned_rule"),
		.learned_at = text_of(json, "learned_at"),
		.host = text_of(json, "host"),
		.method = text_of(json, "method"),
		.path = text_of(json, "path"),
		.credential = text_of(json, "credential"),
		.detail = text_of(json, "detail"),
		.address = text_of(json, "address"),
		.time = text_of(json, "time"),
		.seq = number_of(json, "seq"),
		.generation = number_of(json, "generation"),
		.port = number_of(json, "port"),
		.status = number_of(json, "status"),
		.up = number_of(json, "up"),
		.down = number_of(json, "down"),
		.ms = number_of(json, "ms"),
		.is_allowed = strcmp(text_of(json, "verdict"), "allow") == 0,
	};

	if (!timeline_parse(e.time, &e.at_ms))
		return false;
	*ret = e;
	return true;
}

static bool
starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool
report_is_loss(const struct report_record *e)
{
	return strcmp(e->event, "lifecycle") == 0 &&
	    (strcmp(e->reason, "audit-unavailable") == 0 ||
		starts(e->detail, "gap: ") || starts(e->detail, "overflow: "));
}

bool
report_is_end(const char *what)
{
	return strcmp(what, "removed") == 0 || starts(what, "ended: ") ||
	    starts(what, "virtual machine ended: ");
}

uint64_t
report_packets_of(const char *detail)
{
	static const char overflow[] = "overflow: ";
	uint64_t n = 0;

	if (!starts(detail, overflow))
		return 1;
	for (const char *p = detail + strlen(overflow);
	     ascii_is_digit((uint8_t)*p) && n < UINT32_MAX; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	return n;
}

json_t *
report_ask_id(const struct report_record *e, const char **ret_says)
{
	static const char mark[] = "id ";
	const char *at = e->detail;
	size_t len;

	if (starts(at, mark))
		at += strlen(mark);
	len = strcspn(at, ":");
	*ret_says = starts(at + len, ": ") ? at + len + 2 : "";
	return json_stringn(at, len);
}

json_t *
report_ask_find(const json_t *list, const json_t *id)
{
	for (size_t i = json_array_size(list); i > 0; i--) {
		json_t *row = json_array_get(list, i - 1);

		if (json_equal(json_object_get(row, "id"), id))
			return row;
	}
	return NULL;
}

json_t *
report_ask_row(const struct report_record *e, json_t *id)
{
	return json_pack("{s:s, s:O, s:s, s:s, s:s, s:I, s:s, s:s, s:s}",
	    "time", e->time, "id", id, "method", e->method, "path", e->path,
	    "host", e->host, "port", (json_int_t)e->port, "rule", e->rule, "at",
	    e->at, "answer", "none yet");
}
