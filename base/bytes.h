/*
 * Bounds-checked reading and writing of bytes that come from, or go to,
 * somebody else. Every parser and every message goes through these two types:
 * no index arithmetic, no str* functions, on outside bytes anywhere else.
 *
 * Both are sticky: the first call that does not fit fails the whole object,
 * later calls change nothing, and one rd_ok()/wr_ok() at the end tells.
 * Integers are big-endian on the wire.
 */
#ifndef TAPWARD_BASE_BYTES_H
#define TAPWARD_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A borrowed run of bytes; not NUL-terminated. ptr may be NULL if len is 0. */
struct span {
	const uint8_t *ptr;
	size_t len;
};

/* Initializes a span of a static table from a string literal. */
#define SPAN(literal)                                                          \
	{                                                                      \
		(const uint8_t *)(literal), sizeof(literal) - 1                \
	}

struct rd {
	const uint8_t *at;
	size_t left;
	bool failed;
};

struct wr {
	uint8_t *buf;
	size_t size; /* capacity of buf */
	size_t len;  /* bytes written so far */
	bool failed;
};

/* A reader over len bytes at ptr, which are borrowed. */
struct rd rd_init(const void *ptr, size_t len);
struct rd rd_span(struct span s);

/* No read so far asked for more than there was. */
bool rd_ok(const struct rd *r);
/* As rd_ok(), and every byte has been taken. */
bool rd_done(const struct rd *r);
size_t rd_left(const struct rd *r);
/* Fails the reader: for a caller that found what it read to be invalid. */
void rd_fail(struct rd *r);

/* Each returns 0 (or an empty span) once the reader has failed. */
uint8_t rd_u8(struct rd *r);
uint16_t rd_u16(struct rd *r);
uint32_t rd_u24(struct rd *r);
uint32_t rd_u32(struct rd *r);
uint64_t rd_u64(struct rd *r);
struct span rd_take(struct rd *r, size_t len);
void rd_skip(struct rd *r, size_t len);
/* The next byte without taking it; -1 at the end or after a failure. */
int rd_peek(const struct rd *r);
/* A reader over the next len bytes, which are taken from r. */
struct rd rd_sub(struct rd *r, size_t len);
/* A u16 length and that many bytes, at most max; more fails the reader. */
struct span rd_str16(struct rd *r, size_t max);
/*
 * As rd_str16(), copied into buf of size bytes with a NUL after it. Fails the
 * reader when it does not fit or when it holds a NUL. Returns the length.
 */
size_t rd_cstr16(struct rd *r, char *buf, size_t size);

/* A writer into size bytes at buf, which are borrowed. */
struct wr wr_init(void *buf, size_t size);
bool wr_ok(const struct wr *w);
void wr_u8(struct wr *w, uint8_t v);
void wr_u16(struct wr *w, uint16_t v);
void wr_u24(struct wr *w, uint32_t v); /* v fits, or it is our bug */
void wr_u32(struct wr *w, uint32_t v);
void wr_u64(struct wr *w, uint64_t v);
void wr_bytes(struct wr *w, const void *ptr, size_t len);
void wr_str16(struct wr *w, const char *s);
void wr_span16(struct wr *w, struct span s);
/* Text without its NUL. wr_fmt() wants room for one, though it is not kept. */
static inline void
wr_text(struct wr *w, const char *s)
{
	wr_bytes(w, s, strlen(s));
}
void wr_decimal(struct wr *w, uint64_t v);
/* A decimal number of just so many digits; v fits, or it is our bug. */
void wr_digits(struct wr *w, unsigned int v, size_t digits);
__attribute__((format(printf, 2, 3))) void wr_fmt(struct wr *w, const char *fmt,
    ...);
/* Overwrites two bytes written before, at offset at: for a length. */
void wr_patch_u16(struct wr *w, size_t at, uint16_t v);

/* s into buf of size bytes, a NUL behind it; what does not fit is cut. */
void text_copy(char *buf, size_t size, const char *s);

/* How many bytes at its front are printable ASCII. */
size_t span_printable(struct span s);
/* Without the CR and LF at its end. */
struct span span_without_line_ends(struct span s);
/* Up to its LF, which is dropped; what comes after is left in *rest. */
struct span span_take_line(struct span *rest);
/* Of len bytes each: ASCII letters compare without case. */
bool bytes_eq_case(const uint8_t *a, const uint8_t *b, size_t len);

/*
 * These are here so that lengths are compared without a call, and the length
 * of a literal is known to the compiler: each field of a head is held against
 * dozens of names, nearly all of another length.
 */
static inline struct span
span_of(const char *s)
{
	return (struct span){ (const uint8_t *)s, strlen(s) };
}

static inline bool
span_eq(struct span a, struct span b)
{
	return a.len == b.len &&
	    (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* RFC 9110 5.1, RFC 4343. */
static inline bool
span_eq_case(struct span a, struct span b)
{
	return a.len == b.len && bytes_eq_case(a.ptr, b.ptr, a.len);
}

static inline bool
span_is(struct span a, const char *s)
{
	return span_eq(a, span_of(s));
}

static inline bool
span_is_case(struct span a, const char *s)
{
	return span_eq_case(a, span_of(s));
}

#endif
