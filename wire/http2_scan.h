/*
 * The heads of the frames that a peer of HTTP/2 sends (RFC 9113 4.1), found in
 * pieces of any size; what is between them is passed over. For counting: what
 * frames mean is the library's to say.
 */
#ifndef TAPWARD_WIRE_HTTP2_SCAN_H
#define TAPWARD_WIRE_HTTP2_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* "PRI * HTTP/2.0" and what follows it, by whoever opened the connection. */
#define HTTP2_PREFACE_BYTES 24
#define HTTP2_FRAME_HEAD_BYTES 9

struct http2_frame {
	uint32_t length; /* of the payload */
	uint8_t type;
	uint8_t flags;
	int32_t stream;
};

/* Zeroed: a frame comes next. */
struct http2_scan {
	uint8_t head[HTTP2_FRAME_HEAD_BYTES];
	size_t have; /* bytes of it */
	size_t skip; /* bytes until the next one */
};

/*
 * Takes bytes off in up to the end of the next head. False: in is empty, and
 * the head is not whole yet.
 */
bool http2_scan_next(struct http2_scan *s, struct span *in,
    struct http2_frame *ret);

#endif
