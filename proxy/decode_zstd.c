/*
 * Zstandard. It is decoded block by block: one that is not whole yet was
 * taken and not given, so it must not be passed on (decoder_is_settled()).
 *
 * The library's own allocator would leave windows behind that may hold the
 * secret; how to bring another is in the part of its header that is called
 * unstable, and has been the same since its first release.
 */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#include "proxy/decode_private.h"

/* RFC 9659 3: 8 MiB, which is what RFC 8878 wants everybody to have. */
#define WINDOW_LOG_MAX 23
/*
 * What ZSTD_decompressStream() wants next. Of a block it is the rest and the
 * three bytes of the header behind it; so three or less is no block's.
 */
#define BLOCK_HEADER_BYTES 3

struct zstd {
	struct decode_budget *budget;
	ZSTD_DCtx *state;
	size_t wants; /* 0: a frame has just ended */
};

static void
zstd_close(void *arg)
{
	struct zstd *s = arg;

	(void)ZSTD_freeDCtx(s->state);
	decode_release(s->budget, s);
}

static void *
zstd_alloc(void *arg, size_t size)
{
	return decode_alloc(arg, size);
}

static void
zstd_release(void *arg, void *ptr)
{
	decode_release(arg, ptr);
}

static void *
zstd_open(enum coding coding, struct decode_budget *budget)
{
	const ZSTD_customMem memory = { zstd_alloc, zstd_release, budget };
	struct zstd *s = decode_alloc(budget, sizeof(*s));

	(void)coding;
	if (s == NULL)
		return NULL;
	*s = (struct zstd){ .budget = budget,
		.state = ZSTD_createDCtx_advanced(memory) };
	if (s->state == NULL ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(s->state, ZSTD_d_windowLogMax,
		WINDOW_LOG_MAX)) != 0) {
		zstd_close(s);
		return NULL;
	}
	return s;
}

static enum decode_status
fault(size_t code)
{
	ZSTD_ErrorCode e = ZSTD_getErrorCode(code);

	return e == ZSTD_error_memory_allocation ||
		e == ZSTD_error_frameParameter_windowTooLarge
	    ? DECODE_LARGE
	    : DECODE_BROKEN;
}

static enum decode_status
zstd_run(void *arg, struct span *in, struct wr *out)
{
	struct zstd *s = arg;
	ZSTD_inBuffer from = { in->ptr, in->len, 0 };
	ZSTD_outBuffer to = { out->buf, out->size, out->len };

	/* To call it would ask for another frame. */
	if (s->wants == 0 && in->len == 0)
		return DECODE_MORE;
	do {
		s->wants = ZSTD_decompressStream(s->state, &to, &from);
		if (ZSTD_isError(s->wants) != 0)
			return fault(s->wants);
	} while (from.pos < from.size && to.pos < to.size);
	in->ptr += from.pos;
	in->len -= from.pos;
	out->len = to.pos;
	return to.pos == to.size ? DECODE_ROOM : DECODE_MORE;
}

static bool
zstd_is_settled(const void *arg)
{
	const struct zstd *s = arg;

	return s->wants <= BLOCK_HEADER_BYTES;
}

static bool
zstd_is_whole(const void *arg)
{
	const struct zstd *s = arg;

	return s->wants == 0;
}

const struct decode_kind decode_zstd = {
	.open = zstd_open,
	.close = zstd_close,
	.run = zstd_run,
	.is_settled = zstd_is_settled,
	.is_whole = zstd_is_whole,
};
