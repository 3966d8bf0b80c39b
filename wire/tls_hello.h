/*
 * A ClientHello, read before any TLS library sees it (RFC 8446 4.1.2), across
 * TLS records and TCP segments: a reader that looks at the first read only
 * misses the name in most splits.
 */
#ifndef TAPWARD_WIRE_TLS_HELLO_H
#define TAPWARD_WIRE_TLS_HELLO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/host.h"

/* Largest handshake message taken, its four bytes of header included. */
#define TLS_HELLO_MAX_BYTES 16384
/* Largest run of records that may carry it: one byte a record is wasteful. */
#define TLS_HELLO_RAW_MAX_BYTES 65536

enum tls_hello_status {
	TLS_HELLO_OK,
	TLS_HELLO_MORE,
	TLS_HELLO_NOT_TLS, /* the first bytes are no handshake record */
	TLS_HELLO_ALERT,   /* an alert before or inside the hello */
	TLS_HELLO_RECORD,  /* empty, too long, another type or version */
	TLS_HELLO_TOO_BIG,
	TLS_HELLO_MALFORMED, /* not a ClientHello, lengths do not fit, an
			      * extension twice, bytes left over */
	TLS_HELLO_NO_SNI,
	TLS_HELLO_SNI_EMPTY,
	TLS_HELLO_SNI_ADDRESS,
	TLS_HELLO_SNI_NAME,  /* host_parse() refuses it */
	TLS_HELLO_SNI_TYPE,  /* a name type other than host_name */
	TLS_HELLO_SNI_NAMES, /* more than one name */
	TLS_HELLO_SNI_TWICE, /* two extensions (RFC 8446 4.2) */
	TLS_HELLO_STATUS_COUNT
};

/*
 * Encrypted ClientHello (0xfe0d). GREASE looks like OUTER and cannot be told
 * from it (RFC 9849).
 */
enum tls_ech {
	TLS_ECH_NONE,
	TLS_ECH_OUTER,
	TLS_ECH_INNER,
	TLS_ECH_MALFORMED, /* the extension is there, its type is neither */
};

struct tls_hello {
	char sni[HOST_SIZE];         /* canonical */
	enum host_status sni_status; /* one that host_is_written() */
	uint16_t legacy_version;
	uint16_t max_version; /* highest of supported_versions, no GREASE;
			       * legacy_version without that extension */
	bool has_alpn;
	bool has_h2;
	bool has_http11;
	/* RFC 8449: GnuTLS and NSS say it, OpenSSL and its heirs do not. */
	bool has_record_size_limit;
	enum tls_ech ech;
	bool has_session_ticket; /* a ticket of TLS 1.2 is offered */
	bool has_psk;
	bool has_early_data;
	size_t raw_len; /* bytes of the stream that the hello took */
};

/* Where the search stands. Zeroed: at the first byte of the stream. */
struct tls_hello_scan {
	size_t at;         /* start of the record that is not whole yet */
	size_t gathered;   /* handshake bytes in the records before at */
	size_t records;    /* count of those */
	uint8_t header[4]; /* the first four of the handshake bytes */
};

/*
 * so_far holds all bytes of the stream so far, from its first; records seen
 * whole in an earlier call are not looked at again. scratch is used when the
 * hello spans records; it may be shared by all connections of a thread.
 *
 * TLS_HELLO_OK: ret is written. TLS_HELLO_MORE: call again with more. Else
 * refused; the outcome does not depend on how bytes were split.
 */
enum tls_hello_status tls_hello_parse(struct tls_hello_scan *s,
    struct span so_far, uint8_t scratch[TLS_HELLO_MAX_BYTES],
    struct tls_hello *ret);
const char *tls_hello_status_text(enum tls_hello_status s);

#endif
