/*
 * Brotli. What it decoded it gives when it has no more input; a window beyond
 * RFC 7932's 16 MiB is not asked for, and refused.
 */
#include <brotli/decode.h>

#include "proxy/decode_private.h"

struct brotli {
	struct decode_budget *budget;
	BrotliDecoderState *state;
};

static void
brotli_close(void *arg)
{
	struct brotli *s = arg;

	if (s->state != NULL)
		BrotliDecoderDestroyInstance(s->state);
	decode_release(s->budget, s);
}

static void *
brotli_alloc(void *arg, size_t size)
{
	return decode_alloc(arg, size);
}

static void
brotli_release(void *arg, void *ptr)
{
	decode_release(arg, ptr);
}

static void *
brotli_open(enum coding coding, struct decode_budget *budget)
{
	struct brotli *s = decode_alloc(budget, sizeof(*s));

	(void)coding;
	if (s == NULL)
		return NULL;
	*s = (struct brotli){ .budget = budget,
		.state = BrotliDecoderCreateInstance(brotli_alloc,
		    brotli_release, budget) };
	if (s->state == NULL) {
		brotli_close(s);
		return NULL;
	}
	return s;
}

static enum decode_status
fault(const struct brotli *s)
{
	BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(s->state);

	return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
		code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
	    ? DECODE_LARGE
	    : DECODE_BROKEN;
}

static enum decode_status
brotli_run(void *arg, struct span *in, struct wr *out)
{
	struct brotli *s = arg;
	size_t in_left = in->len, out_left = out->size - out->len;
	uint8_t *next = out->buf + out->len;
	BrotliDecoderResult r;

	if (BrotliDecoderIsFinished(s->state) == BROTLI_TRUE)
		return in->len > 0 ? DECODE_BROKEN : DECODE_MORE;
	r = BrotliDecoderDecompressStream(s->state, &in_left, &in->ptr,
	    &out_left, &next, NULL);
	in->len = in_left;
	out->len = out->size - out_left;
	switch (r) {
	case BROTLI_DECODER_RESULT_SUCCESS:
		return in->len > 0 ? DECODE_BROKEN : DECODE_MORE;
	case BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT:
		return DECODE_MORE;
	case BROTLI_DECODER_RESULT_NEEDS_MORE_OUTPUT:
		return DECODE_ROOM;
	case BROTLI_DECODER_RESULT_ERROR:
		break;
	}
	return fault(s);
}

static bool
brotli_is_whole(const void *arg)
{
	const struct brotli *s = arg;

	return BrotliDecoderIsFinished(s->state) == BROTLI_TRUE;
}

const struct decode_kind decode_brotli = {
	.open = brotli_open,
	.close = brotli_close,
	.run = brotli_run,
	.is_whole = brotli_is_whole,
};
