/*
 * What clients of TLS sign, written by hand: both sorts of proof, and pieces to
 * break them with.
 */
#ifndef TAPWARD_TESTS_UNIT_PROOF_SUPPORT_H
#define TAPWARD_TESTS_UNIT_PROOF_SUPPORT_H

#include <string.h>

#include "base/bytes.h"

#define PROOF_MAX 4096

/* Of a digest of len bytes. */
static inline struct span
proof_13(uint8_t buf[PROOF_MAX], size_t len)
{
	static const char context[] = "TLS 1.3, client CertificateVerify";

	memset(buf, ' ', 64);
	memcpy(buf + 64, context, sizeof(context));
	memset(buf + 64 + sizeof(context), 0xd5, len);
	return (struct span){ buf, 64 + sizeof(context) + len };
}

/* A message of this type with a body of len bytes. */
static inline void
proof_put(struct wr *w, uint8_t type, const void *body, size_t len)
{
	wr_u8(w, type);
	wr_u24(w, (uint32_t)len);
	wr_bytes(w, body, len);
}

/* A ClientHello that names host (RFC 5246 7.4.1.2, RFC 6066 3). */
static inline void
proof_put_hello(struct wr *w, const char *host)
{
	uint8_t body[512];
	struct wr b = wr_init(body, sizeof(body));
	const uint16_t n = (uint16_t)strlen(host);
	const uint8_t zeros[32] = { 0 };

	wr_u16(&b, 0x0303);
	wr_bytes(&b, zeros, sizeof(zeros));
	wr_u8(&b, 0);
	wr_u16(&b, 2);
	wr_u16(&b, 0xc02b);
	wr_u8(&b, 1);
	wr_u8(&b, 0);
	wr_u16(&b, (uint16_t)(n + 9));
	wr_u16(&b, 0);
	wr_u16(&b, (uint16_t)(n + 5));
	wr_u16(&b, (uint16_t)(n + 3));
	wr_u8(&b, 0);
	wr_u16(&b, n);
	wr_bytes(&b, host, n);
	proof_put(w, 1, body, b.len);
}

/* The handshake of TLS 1.2 with host, of messages of these types behind it. */
static inline struct span
proof_12(uint8_t buf[PROOF_MAX], const char *host, const char *types)
{
	struct wr w = wr_init(buf, PROOF_MAX);

	proof_put_hello(&w, host);
	for (; *types != '\0'; types++)
		proof_put(&w, (uint8_t)*types, "body", 4);
	return (struct span){ buf, w.len };
}

/* ServerHello to ClientKeyExchange. */
#define PROOF_12 "\x02\x0b\x0c\x0d\x0e\x0b\x10"

#endif
