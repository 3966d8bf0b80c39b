/*
 * The handshake that opens a WebSocket (RFC 6455 4), looked at from both
 * sides, and the frames that an origin sends then (RFC 6455 5.2). That a
 * request wants one at all is wire/http.h's to say (is_websocket).
 */
#ifndef TAPWARD_WIRE_WEBSOCKET_H
#define TAPWARD_WIRE_WEBSOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/http.h"

/* 16 bytes in base64, and the 20 of a SHA-1 with a NUL. */
#define WEBSOCKET_KEY_LEN 24
#define WEBSOCKET_ACCEPT_SIZE 29
/* What is hashed behind the key (RFC 6455 1.3). */
#define WEBSOCKET_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

enum websocket_status {
	WEBSOCKET_OK,
	WEBSOCKET_KEY,        /* not one Sec-WebSocket-Key of 16 bytes */
	WEBSOCKET_VERSION,    /* not one Sec-WebSocket-Version, 13 */
	WEBSOCKET_PROTOCOL,   /* not tokens; or an answer that was not asked */
	WEBSOCKET_EXTENSIONS, /* an answer that was not asked for */
	WEBSOCKET_ACCEPT,     /* not one Sec-WebSocket-Accept, the right one */
	WEBSOCKET_STATUS_COUNT
};

/* One clause for a person. */
const char *websocket_status_text(enum websocket_status s);

/* Is it a field of the handshake (Sec-WebSocket-...)? */
bool websocket_is_field(struct span name);

/*
 * RFC 6455 4.2.1, 5 to 9; what goes before is is_websocket. ret_key borrows
 * from f, is WEBSOCKET_KEY_LEN long, and written for WEBSOCKET_OK only.
 */
enum websocket_status websocket_check_request(const struct http_fields *f,
    struct span *ret_key);

/* What the answer is compared with. */
struct websocket_offer {
	char accept[WEBSOCKET_ACCEPT_SIZE]; /* that answers the key */
	bool has_protocol, has_extensions;  /* went out with the request */
};

/*
 * Of a 101 that http_response_parse() let through: RFC 6455 4.1, the last
 * list, 4 to 6. Which of several protocols it chose is for the guest to see.
 */
enum websocket_status websocket_check_answer(const struct http_fields *f,
    const struct websocket_offer *offer);

/* --- frames --- */

enum websocket_frame {
	WEBSOCKET_FRAME_MORE,    /* all input is taken */
	WEBSOCKET_FRAME_DATA,    /* ret_data is a piece of a message */
	WEBSOCKET_FRAME_CONTROL, /* ... of a control frame's payload */
	/* refused */
	WEBSOCKET_FRAME_RESERVED, /* a reserved bit: no extension was agreed */
	WEBSOCKET_FRAME_OPCODE,
	WEBSOCKET_FRAME_MASKED, /* by an origin (RFC 6455 5.1) */
	WEBSOCKET_FRAME_LENGTH, /* not in the fewest bytes, or over 2^63 */
	WEBSOCKET_FRAME_LONG,   /* a control frame of over 125, or in parts */
	WEBSOCKET_FRAME_ORDER,  /* a message within one, or a part of none */
	WEBSOCKET_FRAME_COUNT
};

#define WEBSOCKET_CONTROL_MAX_BYTES 125

/* Zeroed: before the first frame. */
struct websocket_frames {
	enum websocket_frame fault; /* a refusal, which is repeated */
	uint8_t head[10];           /* of the frame that goes on */
	uint8_t head_len;           /* bytes of it so far, 0: between frames */
	bool is_in_payload;         /* the head is whole */
	bool is_in_message;         /* a part with FIN is to come */
	uint64_t left;              /* of its payload */
	uint64_t taken;             /* bytes of this frame, its head too */
};

/*
 * What origins send, without an extension. Takes bytes off the front of in.
 * Call again after DATA or CONTROL, whose ret_data borrows from in and is not
 * empty. A refusal is final.
 */
enum websocket_frame websocket_frames_feed(struct websocket_frames *f,
    struct span *in, struct span *ret_data);
/* Bytes of a control frame that is not whole yet, its head too; else 0. */
size_t websocket_frames_in_control(const struct websocket_frames *f);
/* Nothing has begun that has not ended: neither a frame nor a message. */
bool websocket_frames_at_rest(const struct websocket_frames *f);
const char *websocket_frame_text(enum websocket_frame s);

#endif
