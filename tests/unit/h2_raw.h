/*
 * Frames of HTTP/2 as bytes, for what no library would send.
 */
#ifndef TAPWARD_TESTS_H2_RAW_H
#define TAPWARD_TESTS_H2_RAW_H

#include "inspect_fixture.h"

enum {
	RAW_DATA = 0,
	RAW_HEADERS = 1,
	RAW_PRIORITY = 2,
	RAW_RST_STREAM = 3,
	RAW_SETTINGS = 4,
	RAW_PING = 6,
	RAW_GOAWAY = 7,
	RAW_WINDOW_UPDATE = 8,
	RAW_CONTINUATION = 9,
};

enum {
	RAW_END_STREAM = 1,
	RAW_ACK = 1,
	RAW_END_HEADERS = 4,
};

/* Requests, as raw_headers() takes them. */
#define RAW_LINE ":method: GET\n:scheme: https\n:path: /\n"
#define RAW_GET RAW_LINE ":authority: api.example.org\n"
#define RAW_POST                                                               \
	":method: POST\n:scheme: https\n:path: /\n"                            \
	":authority: api.example.org\n"

/* A gate whose guest may ask for them, and offers h2. */
int raw_setup(void **state);
int raw_teardown(void **state);
/* Opens the guest's connection and says the preface. Records count anew. */
void raw_begin(struct fix *f);

/* One frame. */
void raw_frame(struct peer *p, unsigned int type, unsigned int flags,
    uint32_t stream, const void *payload, size_t len);
/* The preface and empty SETTINGS. */
void raw_preface(struct peer *p);
/*
 * Fields as HPACK has them, none indexed: "name: value\n" each. "\\" and two
 * hex digits are a byte. Returns the length.
 */
size_t raw_hpack(const char *fields, uint8_t *to, size_t size);
/* HEADERS with END_HEADERS. */
void raw_headers(struct peer *p, unsigned int flags, uint32_t stream,
    const char *fields);

/* What was said so far: the error of a RST_STREAM or GOAWAY; -1 without. */
int64_t raw_reset(const struct peer *p, uint32_t stream);
int64_t raw_goaway(const struct peer *p);
/* Did HEADERS of this stream come? */
bool raw_answered(const struct peer *p, uint32_t stream);

#endif
