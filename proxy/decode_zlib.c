/*
 * gzip and deflate. All that inflate() took is in what it gave, but for the
 * bits of a symbol that is not whole.
 */
#include <zlib.h>

#include "proxy/decode_private.h"

/* Largest window (RFC 1951 3.2.5); 16 more: gzip; negative: no frame. */
#define WINDOW_BITS 15

enum zlib_state {
	ZLIB_NEW,  /* deflate: its first two bytes tell which */
	ZLIB_BODY, /* within a member */
	ZLIB_END,  /* behind one */
};

struct zlib {
	struct decode_budget *budget;
	z_stream z;
	enum zlib_state state;
	bool is_gzip;
	bool has_stream;
	uint8_t head[2];
	size_t head_len;
};

static void *
zlib_alloc(void *arg, unsigned int count, unsigned int size)
{
	return decode_alloc(arg, (size_t)count * size);
}

static void
zlib_release(void *arg, void *ptr)
{
	decode_release(arg, ptr);
}

static bool
begin(struct zlib *s, int window_bits)
{
	s->z = (z_stream){ .zalloc = zlib_alloc,
		.zfree = zlib_release,
		.opaque = s->budget };
	s->has_stream = inflateInit2(&s->z, window_bits) == Z_OK;
	s->state = ZLIB_BODY;
	return s->has_stream;
}

static void
zlib_close(void *arg)
{
	struct zlib *s = arg;

	if (s->has_stream)
		(void)inflateEnd(&s->z);
	decode_release(s->budget, s);
}

static void *
zlib_open(enum coding coding, struct decode_budget *budget)
{
	struct zlib *s = decode_alloc(budget, sizeof(*s));

	if (s == NULL)
		return NULL;
	*s =
	    (struct zlib){ .budget = budget, .is_gzip = coding == CODING_GZIP };
	if (s->is_gzip && !begin(s, WINDOW_BITS + 16)) {
		zlib_close(s);
		return NULL;
	}
	return s;
}

static enum decode_status
inflate_some(struct zlib *s, struct span *in, struct wr *out)
{
	int rc;

	s->z.next_in = (z_const Bytef *)(uintptr_t)in->ptr;
	s->z.avail_in = (uInt)in->len;
	s->z.next_out = out->buf + out->len;
	s->z.avail_out = (uInt)(out->size - out->len);
	rc = inflate(&s->z, Z_SYNC_FLUSH);
	in->ptr += in->len - s->z.avail_in;
	in->len = s->z.avail_in;
	out->len = out->size - s->z.avail_out;
	if (rc == Z_MEM_ERROR)
		return DECODE_LARGE;
	if (rc == Z_STREAM_END)
		s->state = ZLIB_END;
	else if (rc != Z_OK && rc != Z_BUF_ERROR)
		return DECODE_BROKEN;
	return s->z.avail_out == 0 ? DECODE_ROOM : DECODE_MORE;
}

/* RFC 1950 2.2: the check bits of its two bytes, and the method. */
static bool
is_framed(const uint8_t head[2])
{
	return (head[0] & 15) == Z_DEFLATED && (head[0] >> 4) <= 7 &&
	    (head[0] << 8 | head[1]) % 31 == 0;
}

static enum decode_status
begin_deflate(struct zlib *s, struct span *in, struct wr *out)
{
	struct span head = { s->head, sizeof(s->head) };

	while (s->head_len < sizeof(s->head) && in->len > 0) {
		s->head[s->head_len++] = *in->ptr;
		in->ptr++;
		in->len--;
	}
	if (s->head_len < sizeof(s->head))
		return DECODE_MORE;
	if (!begin(s, is_framed(s->head) ? WINDOW_BITS : -WINDOW_BITS))
		return DECODE_LARGE;
	return inflate_some(s, &head, out);
}

static enum decode_status
zlib_run(void *arg, struct span *in, struct wr *out)
{
	struct zlib *s = arg;
	enum decode_status r = DECODE_MORE;

	if (s->state == ZLIB_NEW)
		r = begin_deflate(s, in, out);
	/* Without input, too: there may be more to give of what it took. */
	else if (s->state == ZLIB_BODY)
		r = inflate_some(s, in, out);
	while (r == DECODE_MORE && s->state != ZLIB_NEW && in->len > 0) {
		if (s->state == ZLIB_END) {
			/* RFC 1952 2.2: further members, of gzip only. */
			if (!s->is_gzip || inflateReset(&s->z) != Z_OK)
				return DECODE_BROKEN;
			s->state = ZLIB_BODY;
		}
		r = inflate_some(s, in, out);
	}
	return r;
}

static bool
zlib_is_whole(const void *arg)
{
	const struct zlib *s = arg;

	return s->state == ZLIB_END;
}

const struct decode_kind decode_zlib = {
	.open = zlib_open,
	.close = zlib_close,
	.run = zlib_run,
	.is_whole = zlib_is_whole,
};
