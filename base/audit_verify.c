/*
 * The chain of the audit log, as a reader sees it. The recorder continues it
 * with the same functions, so that both mean the same by a line.
 */
#include "base/audit_verify.h"

#include <string.h>

#include "base/ascii.h"

const char *
audit_verify_text(enum audit_verify_result r)
{
	switch (r) {
	case AUDIT_VERIFY_OK:
		return "the chain is whole";
	case AUDIT_VERIFY_SHAPE:
		return "this is no line of the recorder";
	case AUDIT_VERIFY_PREV:
		return "the line before it was changed or removed";
	case AUDIT_VERIFY_SEQ:
		return "its number does not follow the one before";
	case AUDIT_VERIFY_GENESIS:
		return "it has number 1 but does not start the chain";
	case AUDIT_VERIFY_FAILED:
		return "the hash could not be computed";
	}
	return "unknown";
}

void
audit_verify_init(struct audit_verify *v)
{
	*v = (struct audit_verify){ 0 };
}

/* Takes text off r, or fails it. */
static void
expect(struct rd *r, const char *text)
{
	struct span want = span_of(text);

	if (!span_eq(rd_take(r, want.len), want))
		rd_fail(r);
}

static uint64_t
take_number(struct rd *r)
{
	uint64_t v = 0;
	int c = rd_peek(r);

	if (c == -1 || !ascii_is_digit((uint8_t)c))
		rd_fail(r);
	while (c != -1 && ascii_is_digit((uint8_t)c)) {
		if (v > (UINT64_MAX - 9) / 10) {
			rd_fail(r);
			return 0;
		}
		v = v * 10 + (uint64_t)(c - '0');
		rd_skip(r, 1);
		c = rd_peek(r);
	}
	return v;
}

static void
take_digest(struct rd *r, char ret[DIGEST_HEX_SIZE])
{
	struct span hex = rd_take(r, DIGEST_HEX_SIZE - 1);

	for (size_t i = 0; i < hex.len; i++) {
		if (ascii_hex(hex.ptr[i]) == -1)
			rd_fail(r);
		ret[i] = (char)hex.ptr[i];
	}
	ret[DIGEST_HEX_SIZE - 1] = '\0';
}

/*
 * One object and no more: braces outside of strings at both ends only, and
 * every string closed. Two lines that were made one are not.
 */
static bool
is_one_object(struct span line)
{
	bool in_string = false;

	for (size_t i = 0; i < line.len; i++) {
		uint8_t c = line.ptr[i];

		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '}') &&
		    (c == '{' ? i != 0 : i + 1 != line.len))
			return false;
	}
	return !in_string && line.len > 1 && line.ptr[line.len - 1] == '}';
}

bool
audit_line_read(struct span line, struct audit_line_head *ret)
{
	struct rd r = rd_span(line);
	struct audit_line_head head = { 0 };

	expect(&r, "{\"seq\":");
	head.seq = take_number(&r);
	expect(&r, ",\"time\":\"");
	rd_skip(&r, strlen("2026-01-31T23:59:59.123Z"));
	expect(&r, "\",\"prev\":\"");
	take_digest(&r, head.prev);
	expect(&r, "\",\"sandbox\":\"");
	if (!rd_ok(&r) || !is_one_object(line))
		return false;
	*ret = head;
	return true;
}

int
audit_line_hash(struct span line, char ret[DIGEST_HEX_SIZE])
{
	uint8_t digest[DIGEST_BYTES];
	int rc = digest_sha256(line.ptr, line.len, digest);

	if (rc == 0)
		digest_hex(digest, ret);
	return rc;
}

static bool
owns_up_to_torn(struct span line)
{
	static const char field[] = "\"detail\":\"" AUDIT_DETAIL_TORN "\"";

	/* A guest's quotes are escaped, so it can write no such field. */
	return memmem(line.ptr, line.len, field, sizeof(field) - 1) != NULL;
}

static enum audit_verify_result
judge(const struct audit_verify *v, struct span line,
    const struct audit_line_head *head)
{
	if (v->lines == 0 && head->seq == 1)
		return strcmp(head->prev, AUDIT_GENESIS) == 0
		    ? AUDIT_VERIFY_OK
		    : AUDIT_VERIFY_GENESIS;
	/* A log that starts later goes on from one that was rotated away. */
	if (v->lines == 0)
		return AUDIT_VERIFY_OK;
	if (strcmp(head->prev, v->head) != 0)
		return AUDIT_VERIFY_PREV;
	if (head->seq != v->seq + 1)
		return AUDIT_VERIFY_SEQ;
	if (v->is_after_torn && !owns_up_to_torn(line))
		return AUDIT_VERIFY_SHAPE;
	return AUDIT_VERIFY_OK;
}

static enum audit_verify_result
take_torn(struct audit_verify *v, struct span line)
{
	if (v->is_after_torn)
		return AUDIT_VERIFY_SHAPE;
	if (audit_line_hash(line, v->head) != 0)
		return AUDIT_VERIFY_FAILED;
	v->is_after_torn = true;
	v->lines++;
	return AUDIT_VERIFY_OK;
}

enum audit_verify_result
audit_verify_line(struct audit_verify *v, struct span line)
{
	struct audit_line_head head;
	char hash[DIGEST_HEX_SIZE];
	enum audit_verify_result result;

	if (!audit_line_read(line, &head))
		return take_torn(v, line);
	result = judge(v, line, &head);
	if (result != AUDIT_VERIFY_OK)
		return result;
	if (audit_line_hash(line, hash) != 0)
		return AUDIT_VERIFY_FAILED;
	memcpy(v->head, hash, sizeof(v->head));
	if (v->is_after_torn)
		v->torn++;
	v->is_after_torn = false;
	v->seq = head.seq;
	v->lines++;
	return AUDIT_VERIFY_OK;
}

enum audit_verify_result
audit_verify_end(const struct audit_verify *v)
{
	return v->is_after_torn ? AUDIT_VERIFY_SHAPE : AUDIT_VERIFY_OK;
}
