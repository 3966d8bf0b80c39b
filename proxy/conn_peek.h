/*
 * The first look at a TLS connection, which takes no byte from it.
 */
#ifndef TAPWARD_PROXY_CONN_PEEK_H
#define TAPWARD_PROXY_CONN_PEEK_H

#include <stdint.h>

#include "base/reason.h"
#include "wire/tls_hello.h"

enum peek_outcome {
	PEEK_HELLO,  /* a whole one with a valid name */
	PEEK_MORE,   /* wait for the next bytes */
	PEEK_GONE,   /* the guest reset or closed before it was whole */
	PEEK_REFUSE, /* what came is no hello to go on with */
};

struct peek {
	enum peek_outcome outcome;
	struct tls_hello hello; /* PEEK_HELLO */
	/* of a refusal */
	enum reason reason;
	const char *detail; /* static */
	uint8_t alert;      /* RFC 8446 6: fits the guest's handshake */
};

/*
 * scratch: size bytes for what is peeked at, at least TLS_HELLO_RAW_MAX_BYTES;
 * gather: as of tls_hello_parse().
 */
struct peek conn_peek(int fd, uint8_t *scratch, size_t size,
    uint8_t gather[TLS_HELLO_MAX_BYTES]);

enum {
	ALERT_HANDSHAKE_FAILURE = 40,
	ALERT_ACCESS_DENIED = 49,
	ALERT_DECODE_ERROR = 50,
	ALERT_INTERNAL_ERROR = 80,
	ALERT_MISSING_EXTENSION = 109,
	ALERT_UNRECOGNIZED_NAME = 112,
};

/*
 * Sends a fatal alert in place of a ServerHello and takes what the guest sent
 * off the socket: a close with bytes unread is a reset, which would take the
 * alert from the guest.
 */
void conn_send_alert(int fd, uint8_t alert, uint8_t *scratch, size_t size);

#endif
