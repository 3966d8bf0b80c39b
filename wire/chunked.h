/*
 * The chunked transfer coding (RFC 9112 7.1), decoded as bytes arrive,
 * however they are split, and encoded again. Extensions are checked and
 * dropped, never forwarded: they have carried smuggled requests
 * (CVE-2025-55315, CVE-2025-22871). So have trailers: they are checked and
 * bounded here, and whoever wants them asks for them (chunked_trailers()).
 */
#ifndef TAPWARD_WIRE_CHUNKED_H
#define TAPWARD_WIRE_CHUNKED_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define CHUNKED_EXTENSION_MAX_BYTES 256 /* of one chunk, past the ';' */
#define CHUNKED_TRAILER_MAX_BYTES 8192  /* all together, line ends too */
#define CHUNKED_TRAILERS_MAX 64

enum chunked_status {
	CHUNKED_MORE,      /* all input is taken; the body goes on */
	CHUNKED_DATA,      /* ret_data holds bytes of the body */
	CHUNKED_DONE,      /* the body ended; input holds what follows it */
	CHUNKED_SIZE,      /* not 1*15HEXDIG */
	CHUNKED_LINE_END,  /* CR or LF alone, or something for CRLF */
	CHUNKED_EXTENSION, /* not ";name" or ";name=value", or too long */
	CHUNKED_DATA_END,  /* no CRLF after a chunk's data */
	CHUNKED_TRAILER,   /* not "name: value" */
	CHUNKED_TRAILER_SIZE,
	CHUNKED_STATUS_COUNT
};

/* Zeroed: before the first chunk. */
struct chunked {
	int state;                 /* enum in chunked.c */
	enum chunked_status fault; /* a refusal, which is repeated */
	uint64_t left;             /* bytes of this chunk still to come */
	unsigned int digits;
	uint8_t extension; /* enum in chunked.c */
	size_t extension_bytes;
	size_t trailer_bytes; /* of the trailer section so far */
	unsigned int trailer_count;
};

/*
 * Takes bytes off the front of in. Call again after CHUNKED_DATA (ret_data
 * borrows from in and is not empty). A refusal is final.
 */
enum chunked_status chunked_feed(struct chunked *c, struct span *in,
    struct span *ret_data);
/*
 * Of taken, the bytes that the last chunked_feed() took off its input: those
 * of the trailer section, the empty line at its end too, if it has any fields.
 * All of them together are what http_trailers_parse() reads.
 */
struct span chunked_trailers(const struct chunked *c, struct span taken);
const char *chunked_status_text(enum chunked_status s);

/* 16 digits and CRLF. */
#define CHUNKED_HEADER_SIZE 18
/* What goes before len (not 0) bytes of data; CRLF goes after them. */
size_t chunked_header(uint64_t len, uint8_t ret[CHUNKED_HEADER_SIZE]);
/* The last chunk; fields, if any, and an empty line go behind it. */
#define CHUNKED_LAST "0\r\n"
/* The end of a body without trailers. */
#define CHUNKED_END CHUNKED_LAST "\r\n"

#endif
