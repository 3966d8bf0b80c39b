/*
 * What both halves of HTTP/2 have in common: a session of libnghttp2 on a
 * stream. Bytes that came in are given to the session, frames it has ready
 * are gathered and written.
 *
 * Beside the library the heads of all frames that come are read here. What
 * costs a peer less than us is counted (its resets and those that it makes us
 * send, SETTINGS, PRIORITY, CONTINUATION, empty DATA, PING but one for each
 * DATA that it was sent), and too much of it is GOAWAY(ENHANCE_YOUR_CALM).
 * Messages on streams that it has ended, or passed over, are an error of the
 * connection. So none of this hangs on what a version of the library looks for.
 */
#ifndef TAPWARD_PROXY_H2_LINK_H
#define TAPWARD_PROXY_H2_LINK_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

#include "proxy/bucket.h"
#include "proxy/buf.h"
#include "proxy/gate.h"
#include "proxy/h2_past.h"
#include "proxy/stream.h"
#include "wire/http2_scan.h"

/*
 * Gives bytes of a stream's body to be sent, as the library's callback does.
 * stream is its user data: NULL once nobody has it any more.
 */
typedef ssize_t h2_read_body(void *stream, uint8_t *room, size_t size,
    uint32_t *flags);

struct h2_link {
	struct gate *gate;
	struct stream *stream; /* borrowed */
	nghttp2_session *session;
	h2_read_body *read_body;
	struct buf out;
	bool is_guest;  /* the peer opens streams, behind a preface */
	bool is_secret; /* what comes in may repeat a credential */
	struct http2_scan scan;
	struct http2_frame last; /* that began */
	size_t head_bytes;       /* of the fields that it is part of */
	struct h2_past past;
	struct bucket glitches;
	uint32_t may_ping; /* as often as it got DATA of late */
	struct event hold; /* until it is read from again */
	uint64_t bytes;    /* read and written so far */
	bool is_failed;    /* what came in was no HTTP/2, or too much */
};

/* Before all else. stream is borrowed. */
void h2_link_init(struct h2_link *l, struct gate *g, struct stream *stream,
    bool is_guest, h2_read_body *read_body);
/* Options both halves take; NULL when memory is short. */
nghttp2_option *h2_link_options(void);
/* Sends our SETTINGS, with a window for the connection as a whole. 0/-ENOMEM */
int h2_link_begin(struct h2_link *l, const nghttp2_settings_entry *settings,
    size_t count);
/* No event comes any more; the session stays, since it may be on the stack. */
void h2_link_stop(struct h2_link *l);
void h2_link_done(struct h2_link *l);

/* What to submit a message with whose body read_body gives. */
nghttp2_data_provider h2_link_body(struct h2_link *l);

/*
 * Reads what is there, unless the audit is behind: then stream_ready comes
 * when it is time to. OK is not returned; AGAIN: all was taken; FAILED: the
 * session is over, what it has to say about it can still be written.
 */
enum stream_result h2_link_read(struct h2_link *l);
/* Writes what is ready. OK: everything is written. */
enum stream_result h2_link_write(struct h2_link *l);
/* A head, or trailers, have begun to come and have not ended. */
bool h2_link_is_in_head(const struct h2_link *l);
/* Nothing will come or go any more. */
bool h2_link_is_over(const struct h2_link *l);

/*
 * For the callback: this frame was sent. True: it resets a stream for what the
 * peer did on it.
 */
bool h2_link_on_sent(struct h2_link *l, const nghttp2_frame *frame);

#endif
