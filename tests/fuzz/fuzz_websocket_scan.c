/*
 * Whatever an origin sends over a WebSocket: what goes on is what came, from
 * the front. Its messages, read out of their frames, never hold the secret;
 * where it is found, no more than a few of its bytes went. Any split comes to
 * the same end, and what is held is either clean, or may begin the secret.
 *
 * '!' in the input stands for the secret, so that it is found by chance.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "proxy/websocket_scan.h"

#define SECRET "s3cr3t/canary+01"
#define MAX_BYTES 16384

static struct scan_forms forms;

/* The messages in frames, up to what is none. */
static struct span
messages(struct span frames, uint8_t *buf, size_t size)
{
	struct websocket_frames f = { .left = 0 };
	struct wr w = wr_init(buf, size);
	enum websocket_frame s;
	struct span data;

	while ((s = websocket_frames_feed(&f, &frames, &data)) ==
		WEBSOCKET_FRAME_DATA ||
	    s == WEBSOCKET_FRAME_CONTROL)
		if (s == WEBSOCKET_FRAME_DATA)
			wr_bytes(&w, data.ptr, data.len);
	HOLDS(wr_ok(&w));
	return (struct span){ buf, w.len };
}

/* Where the first of it begins; s.len: nowhere. */
static size_t
find(struct span s)
{
	static uint8_t masked[MAX_BYTES * 2];
	struct scan_found found = { .form = SCAN_NONE };
	size_t at = 0;

	memcpy(masked, s.ptr, s.len);
	(void)scan_mask(&forms, masked, s.len, true, &found);
	while (at < s.len && masked[at] == s.ptr[at])
		at++;
	return at;
}

static void
check_clean(struct span in, struct span out)
{
	static uint8_t bufs[2][MAX_BYTES * 2];
	struct span said = messages(in, bufs[0], sizeof(bufs[0]));
	struct span heard = messages(out, bufs[1], sizeof(bufs[1]));

	HOLDS(find(heard) == heard.len);
	if (find(said) < said.len)
		HOLDS(heard.len <= find(said) + WEBSOCKET_SCAN_SHORT);
}

static enum websocket_scan_result
run(struct span in, uint32_t seed, struct wr *out)
{
	struct websocket_scan s = { .clean = 0 };
	enum websocket_scan_result r = WEBSOCKET_SCAN_OK;
	struct rd rd = rd_span(in);

	while (r == WEBSOCKET_SCAN_OK && rd_left(&rd) > 0) {
		size_t piece = seed == 0 ? rd_left(&rd) : next_piece(&seed);
		struct span clean;

		r = websocket_scan_feed(&s, &forms,
		    rd_take(&rd, rd_left(&rd) < piece ? rd_left(&rd) : piece));
		if (r != WEBSOCKET_SCAN_OK)
			break;
		clean = websocket_scan_clean(&s);
		wr_bytes(out, clean.ptr, clean.len);
		websocket_scan_consume(&s, clean.len);
	}
	HOLDS(r != WEBSOCKET_SCAN_NO_MEMORY);
	HOLDS(span_eq((struct span){ out->buf, out->len },
	    (struct span){ in.ptr, out->len }));
	check_clean(in, (struct span){ out->buf, out->len });
	websocket_scan_done(&s);
	return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t text[MAX_BYTES * sizeof(SECRET)];
	static uint8_t bufs[2][MAX_BYTES * 2];
	struct wr w = wr_init(text, sizeof(text));
	struct wr a = wr_init(bufs[0], sizeof(bufs[0]));
	struct wr b = wr_init(bufs[1], sizeof(bufs[1]));
	const struct scan_secret secret = { .value = span_of(SECRET) };
	struct span in;

	if (scan_forms_is_empty(&forms) &&
	    scan_forms_set(&forms, &secret, 1) != 0)
		abort();
	for (size_t i = 0; i < size && w.len < MAX_BYTES; i++) {
		if (data[i] == '!')
			wr_text(&w, SECRET);
		else
			wr_u8(&w, data[i]);
	}
	in = (struct span){ text, w.len };
	HOLDS(run(in, 0, &a) == run(in, (uint32_t)size + 1, &b));
	return 0;
}
