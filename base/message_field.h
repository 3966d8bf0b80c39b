/*
 * Fields that several messages have, read so that what no honest sender
 * writes fails the reader. Only for base/message_*.c.
 */
#ifndef TAPWARD_BASE_MESSAGE_FIELD_H
#define TAPWARD_BASE_MESSAGE_FIELD_H

#include <errno.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/names.h"

static inline void
field_bool_write(struct wr *w, bool v)
{
	wr_u8(w, v ? 1 : 0);
}

/* One byte, 0 or 1. */
static inline bool
field_bool(struct rd *r)
{
	uint8_t v = rd_u8(r);

	if (v > 1)
		rd_fail(r);
	return v == 1;
}

/* One byte below count. */
static inline uint8_t
field_enum(struct rd *r, unsigned int count)
{
	uint8_t v = rd_u8(r);

	if (v >= count) {
		rd_fail(r);
		return 0;
	}
	return v;
}

/* A u16 of at most max: how many rows follow. */
static inline unsigned int
field_count(struct rd *r, unsigned int max)
{
	uint16_t v = rd_u16(r);

	if (v > max) {
		rd_fail(r);
		return 0;
	}
	return v;
}

/* The name of a sandbox, or "" where that is allowed. */
static inline void
field_sandbox(struct rd *r, char buf[SANDBOX_NAME_SIZE], bool may_be_empty)
{
	size_t len = rd_cstr16(r, buf, SANDBOX_NAME_SIZE);

	if (!rd_ok(r) || (len == 0 && may_be_empty))
		return;
	if (!sandbox_name_is_valid(buf))
		rd_fail(r);
}

/* Text of printable ASCII: names that are shown to people. */
static inline void
field_printable(struct rd *r, char *buf, size_t size)
{
	size_t len = rd_cstr16(r, buf, size);

	if (span_printable((struct span){ (const uint8_t *)buf, len }) < len)
		rd_fail(r);
}

/*
 * A number that goes into JSON: beyond 2^53 readers of it differ (RFC 8259 6),
 * some refuse the whole text. No honest counter gets there.
 */
static inline uint64_t
field_number(struct rd *r)
{
	uint64_t v = rd_u64(r);

	if (v >> 53 != 0) {
		rd_fail(r);
		return 0;
	}
	return v;
}

/* 64 lower-case hexadecimal digits, or "". */
static inline void
field_digest(struct rd *r, char buf[DIGEST_TEXT_SIZE])
{
	size_t len = rd_cstr16(r, buf, DIGEST_TEXT_SIZE);

	if (len != 0 && len != DIGEST_TEXT_SIZE - 1)
		rd_fail(r);
	for (size_t i = 0; i < len; i++) {
		uint8_t c = (uint8_t)buf[i];

		if (ascii_hex(c) == -1 || ascii_lower(c) != c)
			rd_fail(r);
	}
}

static inline int
field_result(const struct rd *r)
{
	return rd_ok(r) ? 0 : -EBADMSG;
}

#endif
