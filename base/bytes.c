/*
 * The reader and the writer of bytes.h. Only take() and room() move a cursor,
 * so that there are two bounds checks in all and each can be read alone.
 */
#include "base/bytes.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

struct rd
rd_init(const void *ptr, size_t len)
{
	return (struct rd){ .at = ptr, .left = len, .failed = false };
}

struct rd
rd_span(struct span s)
{
	return rd_init(s.ptr, s.len);
}

bool
rd_ok(const struct rd *r)
{
	return !r->failed;
}

bool
rd_done(const struct rd *r)
{
	return !r->failed && r->left == 0;
}

size_t
rd_left(const struct rd *r)
{
	return r->failed ? 0 : r->left;
}

void
rd_fail(struct rd *r)
{
	r->failed = true;
}

/* The next len bytes; NULL, and r failed, when there are fewer. */
static const uint8_t *
take(struct rd *r, size_t len)
{
	const uint8_t *at = r->at;

	if (r->failed || len > r->left) {
		r->failed = true;
		return NULL;
	}
	if (len == 0)
		return at; /* at may be NULL, to which nothing may be added */
	r->at += len;
	r->left -= len;
	return at;
}

/* A big-endian integer of len bytes, at most 8. */
static uint64_t
take_int(struct rd *r, size_t len)
{
	const uint8_t *p = take(r, len);
	uint64_t v = 0;

	for (size_t i = 0; p != NULL && i < len; i++)
		v = v << 8 | p[i];
	return v;
}

uint8_t
rd_u8(struct rd *r)
{
	return (uint8_t)take_int(r, 1);
}

uint16_t
rd_u16(struct rd *r)
{
	return (uint16_t)take_int(r, 2);
}

uint32_t
rd_u24(struct rd *r)
{
	return (uint32_t)take_int(r, 3);
}

uint32_t
rd_u32(struct rd *r)
{
	return (uint32_t)take_int(r, 4);
}

uint64_t
rd_u64(struct rd *r)
{
	return take_int(r, 8);
}

struct span
rd_take(struct rd *r, size_t len)
{
	const uint8_t *p = take(r, len);

	return (struct span){ p, r->failed ? 0 : len };
}

void
rd_skip(struct rd *r, size_t len)
{
	(void)take(r, len);
}

int
rd_peek(const struct rd *r)
{
	return rd_left(r) > 0 ? r->at[0] : -1;
}

struct rd
rd_sub(struct rd *r, size_t len)
{
	struct rd sub = rd_span(rd_take(r, len));

	sub.failed = r->failed;
	return sub;
}

struct span
rd_str16(struct rd *r, size_t max)
{
	size_t len = rd_u16(r);

	if (len > max)
		rd_fail(r);
	return rd_take(r, len);
}

size_t
rd_cstr16(struct rd *r, char *buf, size_t size)
{
	struct span s;

	assert(size > 0);
	buf[0] = '\0';
	s = rd_str16(r, size - 1);
	if (s.len == 0)
		return 0;
	if (memchr(s.ptr, '\0', s.len) != NULL) {
		rd_fail(r);
		return 0;
	}
	memcpy(buf, s.ptr, s.len);
	buf[s.len] = '\0';
	return s.len;
}

struct wr
wr_init(void *buf, size_t size)
{
	return (struct wr){ .buf = buf, .size = size };
}

bool
wr_ok(const struct wr *w)
{
	return !w->failed;
}

/* Where the next len bytes go; NULL, and w failed, when there is no room. */
static uint8_t *
room(struct wr *w, size_t len)
{
	uint8_t *at;

	if (w->failed || len > w->size - w->len) {
		w->failed = true;
		return NULL;
	}
	if (len == 0)
		return NULL;
	at = w->buf + w->len;
	w->len += len;
	return at;
}

static void
put_int(struct wr *w, uint64_t v, size_t len)
{
	uint8_t *p = room(w, len);

	for (size_t i = len; p != NULL && i > 0; i--) {
		p[i - 1] = (uint8_t)(v & 0xff);
		v >>= 8;
	}
}

void
wr_u8(struct wr *w, uint8_t v)
{
	uint8_t *p = room(w, 1);

	if (p != NULL)
		*p = v;
}

void
wr_u16(struct wr *w, uint16_t v)
{
	put_int(w, v, 2);
}

void
wr_u24(struct wr *w, uint32_t v)
{
	assert(v <= 0xffffff);
	put_int(w, v, 3);
}

void
wr_u32(struct wr *w, uint32_t v)
{
	put_int(w, v, 4);
}

void
wr_u64(struct wr *w, uint64_t v)
{
	put_int(w, v, 8);
}

void
wr_bytes(struct wr *w, const void *ptr, size_t len)
{
	uint8_t *p = room(w, len);

	if (p != NULL)
		memcpy(p, ptr, len);
}

void
wr_str16(struct wr *w, const char *s)
{
	wr_span16(w, span_of(s));
}

void
wr_span16(struct wr *w, struct span s)
{
	if (s.len > UINT16_MAX) {
		w->failed = true;
		return;
	}
	wr_u16(w, (uint16_t)s.len);
	wr_bytes(w, s.ptr, s.len);
}

void
wr_decimal(struct wr *w, uint64_t v)
{
	uint8_t digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (uint8_t)('0' + v % 10);
		v /= 10;
	} while (v > 0);
	wr_bytes(w, digits + at, sizeof(digits) - at);
}

void
wr_digits(struct wr *w, unsigned int v, size_t digits)
{
	uint8_t *p = room(w, digits);

	for (size_t i = digits; p != NULL && i > 0; i--) {
		p[i - 1] = (uint8_t)('0' + v % 10);
		v /= 10;
	}
	assert(p == NULL || v == 0);
}

void
wr_fmt(struct wr *w, const char *fmt, ...)
{
	size_t left = w->size - w->len;
	va_list ap;
	int n;

	if (w->failed || left == 0) {
		w->failed = true;
		return;
	}
	va_start(ap, fmt);
	n = vsnprintf((char *)w->buf + w->len, left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= left)
		w->failed = true;
	else
		w->len += (size_t)n;
}

void
wr_patch_u16(struct wr *w, size_t at, uint16_t v)
{
	if (w->failed)
		return;
	assert(at <= w->len && w->len - at >= 2);
	w->buf[at] = (uint8_t)(v >> 8);
	w->buf[at + 1] = (uint8_t)(v & 0xff);
}

void
text_copy(char *buf, size_t size, const char *s)
{
	size_t len;

	assert(size > 0);
	len = strnlen(s, size - 1);
	memcpy(buf, s, len);
	buf[len] = '\0';
}

size_t
span_printable(struct span s)
{
	size_t i = 0;

	while (i < s.len && s.ptr[i] >= 0x20 && s.ptr[i] <= 0x7e)
		i++;
	return i;
}

struct span
span_without_line_ends(struct span s)
{
	while (
	    s.len > 0 && (s.ptr[s.len - 1] == '\n' || s.ptr[s.len - 1] == '\r'))
		s.len--;
	return s;
}

struct span
span_take_line(struct span *rest)
{
	const uint8_t *end =
	    rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
	const size_t n = end == NULL ? rest->len : (size_t)(end - rest->ptr);
	const struct span line = { rest->ptr, n };

	if (rest->len == 0)
		return line;
	rest->ptr += n;
	rest->len -= n;
	if (rest->len > 0) {
		rest->ptr++;
		rest->len--;
	}
	return line;
}

bool
bytes_eq_case(const uint8_t *a, const uint8_t *b, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (ascii_lower(a[i]) != ascii_lower(b[i]))
			return false;
	return true;
}
