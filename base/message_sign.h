/*
 * Gate and broker: a signature by the key of a client certificate, which never
 * leaves the broker. It signs only what a client of TLS signs in a handshake
 * (wire/tls_proof.h), for a lease that the gate holds.
 */
#ifndef TAPWARD_BASE_MESSAGE_SIGN_H
#define TAPWARD_BASE_MESSAGE_SIGN_H

#include <stdint.h>

#include "base/bytes.h"

/* A transcript of TLS 1.2, with two chains of certificates in it. */
#define SIGN_TEXT_MAX 49152
#define SIGN_BODY_MAX_BYTES (SIGN_TEXT_MAX + 16)
/* RSA of 8192 bits. */
#define SIGN_SIGNATURE_MAX 1024
#define SIGNED_BODY_MAX_BYTES (SIGN_SIGNATURE_MAX + 16)

/* MSG_SIGN */
struct message_sign {
	uint64_t lease_id;
	uint16_t scheme; /* SignatureScheme, RFC 8446 4.2.3 */
	struct span text;
};

/* MSG_SIGNED, of the same id. */
struct message_signed {
	struct span signature; /* empty: it was refused */
};

void message_sign_encode(struct wr *w, const struct message_sign *m);
/* Both: 0 or -EBADMSG; what is in ret borrows from the message. */
int message_sign_decode(struct rd *r, struct message_sign *ret);
void message_signed_encode(struct wr *w, const struct message_signed *m);
int message_signed_decode(struct rd *r, struct message_signed *ret);

#endif
