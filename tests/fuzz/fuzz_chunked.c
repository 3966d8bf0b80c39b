/*
 * Any split gives the same bytes, the same trailer section and the same end;
 * what was decoded, encoded again, decodes to the same; and no trailer that is
 * let through is one that a message hangs on.
 */
#include "fuzz_wire.h"

#include "wire/chunked.h"
#include "wire/http.h"

#define BODY_MAX_BYTES 65536

static uint8_t first[BODY_MAX_BYTES], second[BODY_MAX_BYTES];
static uint8_t encoded[BODY_MAX_BYTES + 64];
static uint8_t section_first[CHUNKED_TRAILER_MAX_BYTES + 2];
static uint8_t section_second[CHUNKED_TRAILER_MAX_BYTES + 2];

struct decoded {
	struct wr data, section;
	size_t rest;
};

/* seed 0: all at once. */
static enum chunked_status
decode(struct span in, uint32_t seed, struct decoded *ret)
{
	struct chunked c = { .left = 0 };
	enum chunked_status s = CHUNKED_MORE;
	struct rd r = rd_span(in);

	ret->rest = in.len;
	while (s == CHUNKED_MORE && rd_left(&r) > 0) {
		size_t piece = seed == 0 ? rd_left(&r) : next_piece(&seed);
		struct span part =
		    rd_take(&r, rd_left(&r) < piece ? rd_left(&r) : piece);
		struct span bytes, taken = part;

		while ((s = chunked_feed(&c, &part, &bytes)) == CHUNKED_DATA) {
			HOLDS(bytes.len > 0);
			wr_bytes(&ret->data, bytes.ptr, bytes.len);
			taken = part;
		}
		taken.len -= part.len;
		taken = chunked_trailers(&c, taken);
		wr_bytes(&ret->section, taken.ptr, taken.len);
		ret->rest = part.len + rd_left(&r);
	}
	return s;
}

static void
encode(struct span body, struct wr *w)
{
	if (body.len > 0) {
		uint8_t head[CHUNKED_HEADER_SIZE];

		wr_bytes(w, head, chunked_header(body.len, head));
		wr_bytes(w, body.ptr, body.len);
		wr_text(w, "\r\n");
	}
	wr_text(w, CHUNKED_END);
}

static void
check_trailers(enum chunked_status s, struct span section)
{
	struct http_fields f;

	/* The decoder has bounded what is gathered. */
	HOLDS(section.len <= CHUNKED_TRAILER_MAX_BYTES + 2);
	if (s != CHUNKED_DONE || section.len == 0)
		return;
	if (http_trailers_parse(section, &f) != HTTP_OK)
		return;
	HOLDS(f.count <= CHUNKED_TRAILERS_MAX);
	for (size_t i = 0; i < f.count; i++)
		HOLDS(!http_name_is_reserved(f.at[i].name));
}

static struct span
written(const struct wr *w)
{
	HOLDS(wr_ok(w));
	return (struct span){ w->buf, w->len };
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct decoded a = { wr_init(first, sizeof(first)),
		wr_init(section_first, sizeof(section_first)), 0 };
	struct decoded b = { wr_init(second, sizeof(second)),
		wr_init(section_second, sizeof(section_second)), 0 };
	struct wr w = wr_init(encoded, sizeof(encoded));
	enum chunked_status s;

	if (size > BODY_MAX_BYTES)
		return 0;
	s = decode(in, 0, &a);
	HOLDS(decode(in, (uint32_t)size + 1, &b) == s);
	HOLDS(span_eq(written(&a.data), written(&b.data)));
	HOLDS(s != CHUNKED_DONE ||
	    span_eq(written(&a.section), written(&b.section)));
	HOLDS(chunked_status_text(s) != NULL && s != CHUNKED_DATA);
	HOLDS(s == CHUNKED_MORE || a.rest == b.rest);
	check_trailers(s, written(&a.section));
	encode(written(&a.data), &w);
	b.data = wr_init(second, sizeof(second));
	HOLDS(decode(written(&w), 7, &b) == CHUNKED_DONE);
	HOLDS(b.rest == 0);
	HOLDS(span_eq(written(&a.data), written(&b.data)));
	return 0;
}
