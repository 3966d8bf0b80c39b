/*
 * How TLS reads and writes the descriptor of a stream. For stream.c alone.
 *
 * What one call makes it write is gathered and goes out as one piece, which
 * TCP turns into fewer and larger packets than a piece for each record: that
 * is what a download costs most. What the socket does not take waits in the
 * stream (s->unsent).
 */
#ifndef TAPWARD_PROXY_STREAM_BIO_H
#define TAPWARD_PROXY_STREAM_BIO_H

#include <stdbool.h>

#include "proxy/stream.h"

/* Makes it the library's way to s->fd. False when memory is short. */
bool stream_bio_attach(struct stream *s);
/* From here on it writes to and reads from to, which took over from's SSL. */
void stream_bio_move(struct stream *to, struct stream *from);

/* Before each call of the library for s; one of the two ends follows. */
void stream_bio_begin(struct stream *s);
/* A whole record still fits into what is gathered. */
bool stream_bio_has_room(void);
/*
 * Sends what was gathered, behind what waits. OK: all went, or it was nothing
 * and what waits is held. AGAIN: the rest waits for the socket. FAILED: the
 * connection is gone.
 */
enum stream_result stream_bio_end(struct stream *s);
/* What was gathered waits for what is written next, and goes with it. */
enum stream_result stream_bio_hold(struct stream *s);
/* Between calls: what waits, once more. Results as of stream_bio_end(). */
enum stream_result stream_bio_retry(struct stream *s);

#endif
