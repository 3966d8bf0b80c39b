/*
 * See h2_raw.h.
 */
#include "h2_raw.h"

#include <stdlib.h>
#include <string.h>

static const char policy[] =
    "[policy]\nversion = 1\n[allow api]\n"
    "host = api.example.org, web.example.org\nmethod = GET, POST\n";

int
raw_setup(void **state)
{
	struct fix *f = fix_new(policy);

	fix_offer(f, "\x02h2");
	*state = f;
	return 0;
}

int
raw_teardown(void **state)
{
	fix_free(*state);
	return 0;
}

void
raw_begin(struct fix *f)
{
	f->record_count = 0;
	fix_open_tls(f, "api.example.org");
	raw_preface(&f->guest);
}

void
raw_frame(struct peer *p, unsigned int type, unsigned int flags,
    uint32_t stream, const void *payload, size_t len)
{
	uint8_t head[9];
	struct wr w = wr_init(head, sizeof(head));

	wr_u24(&w, (uint32_t)len);
	wr_u8(&w, (uint8_t)type);
	wr_u8(&w, (uint8_t)flags);
	wr_u32(&w, stream);
	peer_send(p, head, w.len);
	if (len > 0)
		peer_send(p, payload, len);
}

void
raw_preface(struct peer *p)
{
	peer_say(p, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	raw_frame(p, RAW_SETTINGS, 0, 0, NULL, 0);
}

/* RFC 7541 5.1, with 7 bits and no Huffman. */
static void
write_length(struct wr *w, size_t len)
{
	if (len < 127) {
		wr_u8(w, (uint8_t)len);
		return;
	}
	wr_u8(w, 127);
	for (len -= 127; len >= 128; len /= 128)
		wr_u8(w, (uint8_t)(len % 128 + 128));
	wr_u8(w, (uint8_t)len);
}

static void
write_string(struct wr *w, const char *from, const char *to)
{
	uint8_t text[8192];
	struct wr t = wr_init(text, sizeof(text));

	while (from < to) {
		char hex[3] = "";

		if (*from != '\\') {
			wr_u8(&t, (uint8_t)*from++);
			continue;
		}
		memcpy(hex, from + 1, 2);
		wr_u8(&t, (uint8_t)strtoul(hex, NULL, 16));
		from += 3;
	}
	assert_true(wr_ok(&t));
	write_length(w, t.len);
	wr_bytes(w, text, t.len);
}

size_t
raw_hpack(const char *fields, uint8_t *to, size_t size)
{
	struct wr w = wr_init(to, size);

	while (*fields != '\0') {
		const char *end = strchr(fields, '\n');
		const char *colon = strstr(fields + 1, ": ");

		/* "~" for an empty name. */
		wr_u8(&w, 0);
		if (*fields == '~')
			write_string(&w, fields, fields);
		else
			write_string(&w, fields, colon);
		write_string(&w, colon + 2, end);
		fields = end + 1;
	}
	assert_true(wr_ok(&w));
	return w.len;
}

void
raw_headers(struct peer *p, unsigned int flags, uint32_t stream,
    const char *fields)
{
	static uint8_t block[16384];
	size_t len = raw_hpack(fields, block, sizeof(block));

	raw_frame(p, RAW_HEADERS, flags | RAW_END_HEADERS, stream, block, len);
}

/* The frame of this type and stream, at offset at of its payload. */
static int64_t
find(const struct peer *p, unsigned int type, uint32_t stream, size_t at)
{
	struct rd r = rd_init(p->in, p->in_len);

	while (rd_left(&r) >= 9) {
		uint32_t len = rd_u24(&r);
		uint8_t is = rd_u8(&r);
		uint32_t id;
		struct rd payload;

		(void)rd_u8(&r);
		id = rd_u32(&r);
		payload = rd_sub(&r, len);
		rd_skip(&payload, at);
		if (is == type && id == stream && rd_ok(&r))
			return type == RAW_HEADERS ? 0
						   : (int64_t)rd_u32(&payload);
	}
	return -1;
}

int64_t
raw_reset(const struct peer *p, uint32_t stream)
{
	return find(p, RAW_RST_STREAM, stream, 0);
}

int64_t
raw_goaway(const struct peer *p)
{
	return find(p, RAW_GOAWAY, 0, 4);
}

bool
raw_answered(const struct peer *p, uint32_t stream)
{
	return find(p, RAW_HEADERS, stream, 0) == 0;
}
