#include "wire/http2_scan.h"

#include <string.h>

static void
advance(struct span *in, size_t len)
{
	in->ptr += len;
	in->len -= len;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct http2_frame
unpack(const struct http2_scan *s)
{
	struct rd r = rd_init(s->head, sizeof(s->head));
	struct http2_frame f;

	f.length = rd_u24(&r);
	f.type = rd_u8(&r);
	f.flags = rd_u8(&r);
	/* Its first bit means nothing. */
	f.stream = (int32_t)(rd_u32(&r) & INT32_MAX);
	return f;
}

bool
http2_scan_next(struct http2_scan *s, struct span *in, struct http2_frame *ret)
{
	size_t skip = least(s->skip, in->len), len;

	s->skip -= skip;
	advance(in, skip);
	len = least(sizeof(s->head) - s->have, in->len);
	if (len > 0)
		memcpy(s->head + s->have, in->ptr, len);
	s->have += len;
	advance(in, len);
	if (s->have < sizeof(s->head))
		return false;
	*ret = unpack(s);
	s->have = 0;
	s->skip = ret->length;
	return true;
}
