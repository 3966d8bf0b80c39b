/*
 * Bodies as origins code them, see code.h.
 */
#include "code.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include <brotli/encode.h>
#include <zlib.h>
#include <zstd.h>

struct coder {
	enum code_kind kind;
	z_stream z;
	BrotliEncoderState *br;
	ZSTD_CCtx *zstd;
};

static const struct {
	const char *name;
	enum coding coding;
	int window_bits, level;
} kinds[CODE_KINDS] = {
	[CODE_GZIP] = { "gzip", CODING_GZIP, 15 + 16, 6 },
	[CODE_GZIP_STORED] = { "gzip, stored", CODING_GZIP, 15 + 16, 0 },
	[CODE_ZLIB] = { "deflate", CODING_DEFLATE, 15, 6 },
	[CODE_RAW] = { "deflate without a frame", CODING_DEFLATE, -15, 6 },
	[CODE_BR] = { "br", CODING_BR, 0, 0 },
	[CODE_ZSTD] = { "zstd", CODING_ZSTD, 0, 0 },
	[CODE_ZSTD_CHECKED] = { "zstd with a checksum", CODING_ZSTD, 0, 0 },
};

enum coding
code_coding(enum code_kind kind)
{
	return kinds[kind].coding;
}

const char *
code_name(enum code_kind kind)
{
	return kinds[kind].name;
}

struct coder *
coder_new(enum code_kind kind)
{
	struct coder *c = calloc(1, sizeof(*c));
	int rc = Z_OK;

	if (c == NULL)
		abort();
	c->kind = kind;
	if (kind == CODE_BR)
		c->br = BrotliEncoderCreateInstance(NULL, NULL, NULL);
	else if (kind == CODE_ZSTD || kind == CODE_ZSTD_CHECKED)
		c->zstd = ZSTD_createCCtx();
	else
		rc = deflateInit2(&c->z, kinds[kind].level, Z_DEFLATED,
		    kinds[kind].window_bits, 8, Z_DEFAULT_STRATEGY);
	if (rc != Z_OK)
		abort();
	if (kind == CODE_ZSTD_CHECKED)
		(void)ZSTD_CCtx_setParameter(c->zstd, ZSTD_c_checksumFlag, 1);
	return c;
}

static void
put_zlib(struct coder *c, struct span text, int flush, struct wr *w)
{
	int rc;

	c->z.next_in = (z_const Bytef *)(uintptr_t)text.ptr;
	c->z.avail_in = (uInt)text.len;
	c->z.next_out = w->buf + w->len;
	c->z.avail_out = (uInt)(w->size - w->len);
	rc = deflate(&c->z, flush);
	if (rc != Z_STREAM_END && rc != Z_OK && rc != Z_BUF_ERROR)
		abort();
	w->len = w->size - c->z.avail_out;
}

static void
put_brotli(struct coder *c, struct span text, BrotliEncoderOperation op,
    struct wr *w)
{
	size_t in = text.len, out = w->size - w->len;
	const uint8_t *next_in = text.ptr;
	uint8_t *next_out = w->buf + w->len;

	do {
		if (BrotliEncoderCompressStream(c->br, op, &in, &next_in, &out,
			&next_out, NULL) != BROTLI_TRUE)
			abort();
	} while (in > 0 || BrotliEncoderHasMoreOutput(c->br) == BROTLI_TRUE);
	w->len = w->size - out;
}

static void
put_zstd(struct coder *c, struct span text, ZSTD_EndDirective op, struct wr *w)
{
	ZSTD_inBuffer in = { text.ptr, text.len, 0 };
	ZSTD_outBuffer out = { w->buf, w->size, w->len };
	size_t left;

	do {
		left = ZSTD_compressStream2(c->zstd, &out, &in, op);
		if (ZSTD_isError(left) != 0)
			abort();
	} while (in.pos < in.size || (op != ZSTD_e_continue && left > 0));
	w->len = out.pos;
}

void
coder_put(struct coder *c, struct span text, bool flush, struct wr *w)
{
	if (c->br != NULL)
		put_brotli(c, text,
		    flush ? BROTLI_OPERATION_FLUSH : BROTLI_OPERATION_PROCESS,
		    w);
	else if (c->zstd != NULL)
		put_zstd(c, text, flush ? ZSTD_e_flush : ZSTD_e_continue, w);
	else
		put_zlib(c, text, flush ? Z_SYNC_FLUSH : Z_NO_FLUSH, w);
	assert(w->len < w->size);
}

void
coder_end(struct coder *c, struct wr *w)
{
	const struct span none = { (const uint8_t *)"", 0 };

	if (c->br != NULL) {
		put_brotli(c, none, BROTLI_OPERATION_FINISH, w);
		BrotliEncoderDestroyInstance(c->br);
	} else if (c->zstd != NULL) {
		put_zstd(c, none, ZSTD_e_end, w);
		(void)ZSTD_freeCCtx(c->zstd);
	} else {
		put_zlib(c, none, Z_FINISH, w);
		(void)deflateEnd(&c->z);
	}
	assert(w->len < w->size);
	free(c);
}

void
code(enum code_kind kind, struct span text, struct wr *w)
{
	struct coder *c = coder_new(kind);

	coder_put(c, text, false, w);
	coder_end(c, w);
}
