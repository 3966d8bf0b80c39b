/*
 * SNTP (RFC 4330; RFC 5905 7.3): the gate tells a guest the host's time, since
 * a restored snapshot wakes with an old clock.
 */
#ifndef TAPWARD_WIRE_SNTP_H
#define TAPWARD_WIRE_SNTP_H

#include <stdint.h>

#include "base/bytes.h"

#define SNTP_PACKET_BYTES 48

enum sntp_status {
	SNTP_OK,
	SNTP_SIZE,    /* not 48 bytes: authentication is not offered */
	SNTP_MODE,    /* not a client's (3): no control, no symmetric mode */
	SNTP_VERSION, /* not 3 or 4 */
	SNTP_STATUS_COUNT
};

struct sntp_query {
	uint8_t version;
	uint8_t poll;
	uint64_t transmit; /* opaque, echoed as the originate timestamp */
};

enum sntp_status sntp_query_parse(struct span packet, struct sntp_query *ret);
const char *sntp_status_text(enum sntp_status s);

/* Both times in milliseconds since 1970 UTC: when it came, when we answer. */
void sntp_answer_write(const struct sntp_query *q, uint64_t received_ms,
    uint64_t now_ms, uint8_t ret[SNTP_PACKET_BYTES]);

#endif
