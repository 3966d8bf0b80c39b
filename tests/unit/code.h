/*
 * Codes bodies as origins do, for tests of what decodes them.
 */
#ifndef TAPWARD_TESTS_CODE_H
#define TAPWARD_TESTS_CODE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "proxy/decode.h"

enum code_kind {
	CODE_GZIP,
	CODE_GZIP_STORED, /* level 0: the text is in there as it is */
	CODE_ZLIB,
	CODE_RAW, /* deflate without a frame */
	CODE_BR,
	CODE_ZSTD,
	CODE_ZSTD_CHECKED, /* with a checksum at its end */
	CODE_KINDS
};

enum coding code_coding(enum code_kind kind);
const char *code_name(enum code_kind kind);

struct coder;

struct coder *coder_new(enum code_kind kind);
/* flush: all of it can be read by who has what was written so far. */
void coder_put(struct coder *c, struct span text, bool flush, struct wr *w);
/* Ends it, and frees c. */
void coder_end(struct coder *c, struct wr *w);

/* All at once. */
void code(enum code_kind kind, struct span text, struct wr *w);

#endif
