/*
 * What TLS is taken on either side: 1.2 and 1.3, forward secrecy, AEAD, and no
 * hash or key that is weaker than 112 bits (RFC 9325). How OpenSSL was built
 * or is configured changes nothing of it.
 */
#include "proxy/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* CCM with eight bytes of tag is AEAD, and too short. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
/* RSA of 2048 bits, SHA-256: 112 bits (SSL_CTX_set_security_level(3)). */
#define SECURITY_LEVEL 2

static bool
configure(SSL_CTX *c)
{
	/* Not const, since the macros that take them cast that away. */
	static char groups[] = "X25519:P-256:P-384:P-521";
	static char signatures[] =
	    "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:"
	    "RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:"
	    "RSA+SHA256:RSA+SHA384:RSA+SHA512";

	(void)SSL_CTX_set_options(c,
	    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(c,
	    SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(c, 1);
	SSL_CTX_set_security_level(c, SECURITY_LEVEL);
	return SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_cipher_list(c, CIPHERS) == 1 &&
	    SSL_CTX_set1_groups_list(c, groups) == 1 &&
	    SSL_CTX_set1_sigalgs_list(c, signatures) == 1;
}

SSL_CTX *
tls_context_new(OSSL_LIB_CTX *libctx, const SSL_METHOD *method)
{
	SSL_CTX *c = SSL_CTX_new_ex(libctx, NULL, method);

	if (c != NULL && configure(c))
		return c;
	ERR_clear_error();
	SSL_CTX_free(c);
	return NULL;
}

bool
tls_context_expect(SSL *ssl, const char *host)
{
	X509_VERIFY_PARAM *p = SSL_get0_param(ssl);

	/* Only a SAN, whole labels: as the rules of a policy read names. */
	X509_VERIFY_PARAM_set_hostflags(p,
	    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
		X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return X509_VERIFY_PARAM_set1_host(p, host, strlen(host)) == 1 &&
	    SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME,
		TLSEXT_NAMETYPE_host_name, (void *)(uintptr_t)host) == 1;
}

void
tls_context_failure(const SSL *ssl, char *ret, size_t size)
{
	long verified = SSL_get_verify_result(ssl);
	unsigned long e = ERR_peek_error();
	const char *text = e == 0 ? NULL : ERR_reason_error_string(e);

	if (verified != X509_V_OK)
		text = X509_verify_cert_error_string(verified);
	(void)snprintf(ret, size, "%s", text == NULL ? "closed" : text);
	ERR_clear_error();
}
