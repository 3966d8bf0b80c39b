/* Proofs of TLS clients, see tls_proof.h. */
#include "wire/tls_proof.h"

#include <string.h>

#include "wire/tls_hello.h"

#define BLANKS 64
#define RECORD_HEADER_BYTES 5
#define RECORD_MAX_BYTES 16384

static const struct tls_scheme schemes[] = {
	{ 0x0401, TLS_SCHEME_RSA, "SHA2-256", false, false },
	{ 0x0501, TLS_SCHEME_RSA, "SHA2-384", false, false },
	{ 0x0601, TLS_SCHEME_RSA, "SHA2-512", false, false },
	{ 0x0804, TLS_SCHEME_RSA, "SHA2-256", true, true },
	{ 0x0805, TLS_SCHEME_RSA, "SHA2-384", true, true },
	{ 0x0806, TLS_SCHEME_RSA, "SHA2-512", true, true },
	{ 0x0403, TLS_SCHEME_EC, "SHA2-256", false, true },
	{ 0x0503, TLS_SCHEME_EC, "SHA2-384", false, true },
	{ 0x0603, TLS_SCHEME_EC, "SHA2-512", false, true },
};

/*
 * The messages of a handshake of TLS 1.2 in which a client signs, in their
 * order (RFC 5246 7.3, RFC 6066 8).
 */
static const struct {
	uint8_t type;
	bool is_optional;
} messages[] = {
	{ 1, false },  /* ClientHello */
	{ 2, false },  /* ServerHello */
	{ 11, false }, /* Certificate */
	{ 22, true },  /* CertificateStatus */
	{ 12, true },  /* ServerKeyExchange */
	{ 13, false }, /* CertificateRequest */
	{ 14, false }, /* ServerHelloDone */
	{ 11, false }, /* Certificate, the client's */
	{ 16, false }, /* ClientKeyExchange */
};
#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

const struct tls_scheme *
tls_scheme_find(uint16_t code)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (schemes[i].code == code)
			return &schemes[i];
	return NULL;
}

static bool
is_proof_13(struct span text)
{
	static const char context[] = "TLS 1.3, client CertificateVerify";
	const size_t head = BLANKS + sizeof(context); /* and its NUL */

	/* SHA-256 or SHA-384: the hashes of its cipher suites. */
	if (text.len != head + 32 && text.len != head + 48)
		return false;
	for (size_t i = 0; i < BLANKS; i++)
		if (text.ptr[i] != ' ')
			return false;
	return memcmp(text.ptr + BLANKS, context, sizeof(context)) == 0;
}

/* One message with its header; false when it is not whole. */
static bool
take_message(struct rd *r, uint8_t *ret_type, struct span *ret)
{
	const size_t left = rd_left(r);
	struct rd at = *r;
	uint32_t len;

	*ret_type = rd_u8(&at);
	len = rd_u24(&at);
	if (!rd_ok(&at) || len > rd_left(&at))
		return false;
	*ret = rd_take(r, 4 + (size_t)len);
	return rd_ok(r) && rd_left(r) < left;
}

/* The reader of what guests send reads records: this is one. */
static bool
read_hello(struct span message, char ret_host[HOST_SIZE])
{
	/* Too large for a stack; whoever calls has one thread. */
	static uint8_t raw[RECORD_HEADER_BYTES + RECORD_MAX_BYTES];
	static const uint8_t header[] = { 22, 3, 1 };
	struct wr w = wr_init(raw, sizeof(raw));
	struct tls_hello_scan scan = { 0 };
	struct tls_hello hello;

	if (message.len > RECORD_MAX_BYTES)
		return false;
	wr_bytes(&w, header, sizeof(header));
	wr_u16(&w, (uint16_t)message.len);
	wr_bytes(&w, message.ptr, message.len);
	/* In one record nothing is gathered. */
	if (tls_hello_parse(&scan, (struct span){ raw, w.len }, NULL, &hello) !=
	    TLS_HELLO_OK)
		return false;
	memcpy(ret_host, hello.sni, HOST_SIZE);
	return true;
}

static bool
is_proof_12(struct span text, char ret_host[HOST_SIZE])
{
	struct rd r = rd_span(text);
	struct span message;
	uint8_t type = 0;
	size_t at = 0;

	while (rd_left(&r) > 0) {
		if (!take_message(&r, &type, &message))
			return false;
		while (at < MESSAGES && messages[at].type != type &&
		    messages[at].is_optional)
			at++;
		if (at == MESSAGES || messages[at].type != type)
			return false;
		if (at == 0 && !read_hello(message, ret_host))
			return false;
		at++;
	}
	return at == MESSAGES;
}

enum tls_proof
tls_proof_read(struct span text, char ret_host[HOST_SIZE])
{
	if (is_proof_13(text))
		return TLS_PROOF_13;
	return is_proof_12(text, ret_host) ? TLS_PROOF_12 : TLS_PROOF_NONE;
}
