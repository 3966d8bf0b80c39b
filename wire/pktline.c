/*
 * See pktline.h.
 */
#include "wire/pktline.h"

#include <assert.h>

static int
digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The line's length; -1 when that is no number. */
static int
read_length(struct rd *r)
{
	int len = 0;

	for (int i = 0; i < PKTLINE_HEADER_BYTES; i++) {
		int d = digit(rd_u8(r));

		if (d == -1)
			return -1;
		len = len * 16 + d;
	}
	return len;
}

enum pktline_status
pktline_read(struct span *in, struct span *ret_data)
{
	struct rd r = rd_span(*in);
	enum pktline_status s = PKTLINE_DATA;
	int len;

	*ret_data = (struct span){ in->ptr, 0 };
	if (in->len < PKTLINE_HEADER_BYTES)
		return PKTLINE_MORE;
	len = read_length(&r);
	if (len == 0)
		s = PKTLINE_FLUSH;
	else if (len == 1)
		s = PKTLINE_DELIM;
	else if (len == 2)
		s = PKTLINE_END;
	else if (len <= PKTLINE_HEADER_BYTES || len > PKTLINE_MAX_BYTES)
		return PKTLINE_BAD;
	else if (in->len < (size_t)len)
		return PKTLINE_MORE;
	else
		*ret_data = rd_take(&r, (size_t)len - PKTLINE_HEADER_BYTES);
	*in = rd_take(&r, rd_left(&r));
	return s;
}

void
pktline_write(struct wr *w, struct span data)
{
	assert(data.len > 0 && data.len <= PKTLINE_DATA_MAX_BYTES);
	wr_fmt(w, "%04zx", data.len + PKTLINE_HEADER_BYTES);
	wr_bytes(w, data.ptr, data.len);
}

void
pktline_write_flush(struct wr *w)
{
	wr_text(w, "0000");
}
