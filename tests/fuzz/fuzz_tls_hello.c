/*
 * One outcome however the stream is split, and however the message is put
 * into records.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/tls_hello.h"

#define STREAM_MAX_BYTES (2 * TLS_HELLO_RAW_MAX_BYTES)

static uint8_t scratch[TLS_HELLO_MAX_BYTES];
static uint8_t records[STREAM_MAX_BYTES];

/* seed 0: all at once. */
static enum tls_hello_status
parse(struct span in, uint32_t seed, struct tls_hello *ret)
{
	struct tls_hello_scan scan = { .at = 0 };
	enum tls_hello_status s = TLS_HELLO_MORE;
	size_t have = 0;

	while (s == TLS_HELLO_MORE && have < in.len) {
		size_t piece = seed == 0 ? in.len : next_piece(&seed);

		have = in.len - have > piece ? have + piece : in.len;
		s = tls_hello_parse(&scan, (struct span){ in.ptr, have },
		    scratch, ret);
		HOLDS(scan.at <= have && scan.gathered <= scan.at);
	}
	return s;
}

static void
same_hello(const struct tls_hello *a, const struct tls_hello *b)
{
	HOLDS(strcmp(a->sni, b->sni) == 0 && a->sni_status == b->sni_status);
	HOLDS(a->max_version == b->max_version && a->ech == b->ech);
	HOLDS(a->has_h2 == b->has_h2 && a->has_http11 == b->has_http11);
	HOLDS(a->has_psk == b->has_psk);
	HOLDS(a->has_record_size_limit == b->has_record_size_limit);
	HOLDS(a->has_early_data == b->has_early_data);
}

/* The same message in records of 1 to 7 bytes. */
static struct span
cut_again(struct span in, uint32_t seed)
{
	struct rd r = rd_span(in);
	struct wr w = wr_init(records, sizeof(records));

	while (rd_left(&r) > 0) {
		struct rd fragment;

		rd_skip(&r, 3);
		fragment = rd_sub(&r, rd_u16(&r));
		while (rd_left(&fragment) > 0) {
			size_t piece = next_piece(&seed);

			if (piece > rd_left(&fragment))
				piece = rd_left(&fragment);
			wr_bytes(&w, "\x16\x03\x03", 3);
			wr_span16(&w, rd_take(&fragment, piece));
		}
	}
	HOLDS(rd_ok(&r) && wr_ok(&w));
	return (struct span){ records, w.len };
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct tls_hello a, b;
	enum tls_hello_status s = parse(in, 0, &a);

	HOLDS(tls_hello_status_text(s) != NULL);
	HOLDS(parse(in, (uint32_t)size + 1, &b) == s);
	if (s != TLS_HELLO_OK)
		return 0;
	same_hello(&a, &b);
	HOLDS(a.raw_len == b.raw_len && a.raw_len <= size);
	HOLDS(host_is_written(a.sni_status));
	in = cut_again((struct span){ data, a.raw_len }, (uint32_t)size);
	if (in.len > TLS_HELLO_RAW_MAX_BYTES)
		return 0;
	HOLDS(parse(in, 0, &b) == TLS_HELLO_OK);
	same_hello(&a, &b);
	return 0;
}
