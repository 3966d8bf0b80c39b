/*
 * What the two targets for HTTP heads share: feeding, comparing, and writing
 * fields again.
 */
#ifndef TAPWARD_TESTS_FUZZ_FUZZ_HEAD_H
#define TAPWARD_TESTS_FUZZ_FUZZ_HEAD_H

#include "fuzz_wire.h"

#include "wire/http.h"
#include "wire/http_write.h"

/* Feeds the head in pieces, as a connection does. */
static inline enum http_status
scan_in_pieces(struct span in, uint32_t seed, size_t *ret_len)
{
	struct http_scan scan = { .at = 0 };
	enum http_status s = HTTP_MORE;
	size_t have = 0;

	while (s == HTTP_MORE && have < in.len) {
		size_t piece = next_piece(&seed);

		have = in.len - have > piece ? have + piece : in.len;
		s = http_scan(&scan, (struct span){ in.ptr, have }, ret_len);
	}
	return s;
}

/* The head that both ways of feeding find, or none. */
static inline struct span
find_head(struct span in)
{
	struct http_scan scan = { .at = 0 };
	size_t whole = 0, pieces = 0;
	enum http_status s = http_scan(&scan, in, &whole);

	HOLDS(scan_in_pieces(in, (uint32_t)in.len, &pieces) == s);
	HOLDS(whole == pieces && whole <= in.len);
	if (s != HTTP_OK)
		return (struct span){ NULL, 0 };
	return (struct span){ in.ptr, whole };
}

static inline void
write_fields(struct wr *w, const struct http_fields *f)
{
	for (size_t i = 0; i < f->count; i++)
		http_write_field(w, f->at[i].name, f->at[i].value);
	http_write_end(w);
}

static inline void
same_fields(const struct http_fields *a, const struct http_fields *b)
{
	HOLDS(a->count == b->count);
	for (size_t i = 0; i < a->count; i++) {
		HOLDS(span_eq(a->at[i].name, b->at[i].name));
		HOLDS(span_eq(a->at[i].value, b->at[i].value));
	}
}

#endif
