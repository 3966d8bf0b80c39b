/*
 * What a client of TLS signs to prove that it has the key of its certificate:
 * the broker signs that, and nothing else that a gate might like to have
 * signed (a token, a document, a certificate).
 */
#ifndef TAPWARD_WIRE_TLS_PROOF_H
#define TAPWARD_WIRE_TLS_PROOF_H

#include <stdint.h>

#include "base/bytes.h"
#include "wire/host.h"

/* SignatureScheme (RFC 8446 4.2.3), as far as we sign with it. */
enum tls_scheme_key { TLS_SCHEME_RSA, TLS_SCHEME_EC };
struct tls_scheme {
	uint16_t code;
	enum tls_scheme_key key;
	const char *hash; /* as OpenSSL calls it */
	bool is_pss;
	bool is_tls13; /* may sign in TLS 1.3 */
};
/* NULL: none of these. */
const struct tls_scheme *tls_scheme_find(uint16_t code);

enum tls_proof {
	TLS_PROOF_NONE, /* it is no such text */
	TLS_PROOF_13,   /* RFC 8446 4.4.3: of a digest, which names nobody */
	TLS_PROOF_12,   /* RFC 5246 7.4.8: of the handshake so far */
};

/*
 * ret_host is written for TLS_PROOF_12: whom the client has named in its first
 * message (SNI), canonical.
 */
enum tls_proof tls_proof_read(struct span text, char ret_host[HOST_SIZE]);

#endif
