/*
 * Finds a credential in what an origin sends over a WebSocket. A message comes
 * in frames, and libraries cut messages where a buffer of theirs ends: so the
 * heads of frames are taken out to look, and not to send. What is no frame as
 * RFC 6455 has it cannot be looked through.
 *
 * The bytes that go on are the ones that came. Held back is what may begin the
 * credential; but a message must not wait for the next one because it ends in
 * a letter that some form begins with: up to WEBSOCKET_SCAN_SHORT bytes of it
 * go at the end of a message, and are still part of what is searched.
 */
#ifndef TAPWARD_PROXY_WEBSOCKET_SCAN_H
#define TAPWARD_PROXY_WEBSOCKET_SCAN_H

#include "proxy/buf.h"
#include "proxy/scan.h"
#include "wire/websocket.h"

#define WEBSOCKET_SCAN_SHORT 4

enum websocket_scan_result {
	WEBSOCKET_SCAN_OK,
	WEBSOCKET_SCAN_LEAK,
	WEBSOCKET_SCAN_BROKEN, /* no frames, see websocket_scan_text() */
	WEBSOCKET_SCAN_NO_MEMORY,
};

/* Zeroed: before the first byte. */
struct websocket_scan {
	struct websocket_frames end;   /* behind all that came */
	struct websocket_frames going; /* behind what may go */
	struct buf held;               /* what came and did not go */
	size_t clean;                  /* bytes at its front that may */
	/* Of messages: what may begin a form, and before it ... */
	struct buf window;
	size_t given;            /* ... bytes of it that went already */
	struct scan_found found; /* after WEBSOCKET_SCAN_LEAK */
	uint8_t control[WEBSOCKET_CONTROL_MAX_BYTES];
	size_t control_len;
};

/*
 * Bytes of the origin, at most what websocket_scan_room() said. After any
 * other result than OK nothing may go any more.
 */
enum websocket_scan_result websocket_scan_feed(struct websocket_scan *s,
    const struct scan_forms *forms, struct span raw);
/* Why it is BROKEN: one clause. */
const char *websocket_scan_text(const struct websocket_scan *s);
/* 0: some has to go first, or (websocket_scan_is_stuck()) none ever will. */
size_t websocket_scan_room(const struct websocket_scan *s,
    const struct scan_forms *forms);
/*
 * Frames without a byte of a message go on and on behind what may begin the
 * credential.
 */
bool websocket_scan_is_stuck(const struct websocket_scan *s,
    const struct scan_forms *forms);
/* What may go; borrows until the next call. */
struct span websocket_scan_clean(const struct websocket_scan *s);
void websocket_scan_consume(struct websocket_scan *s, size_t len);
/* All that came has gone. */
bool websocket_scan_is_empty(const struct websocket_scan *s);
/* Wipes. */
void websocket_scan_done(struct websocket_scan *s);

#endif
