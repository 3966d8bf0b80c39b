/*
 * Two readers of one ClientHello: ours, which judges, and OpenSSL's, which a
 * guest shakes hands with. What ours takes names the host and the protocols
 * that OpenSSL finds in it, so that none of the two can be talked past. (Ours
 * refuses more; that is no matter.)
 */
#include "fuzz_wire.h"

#include <string.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "wire/tls_hello.h"

static uint8_t scratch[TLS_HELLO_MAX_BYTES];
static const struct tls_hello *ours;

static int
on_server_name(SSL *ssl, int *alert, void *arg)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	char canonical[HOST_SIZE];

	(void)alert;
	(void)arg;
	HOLDS(name != NULL);
	HOLDS(host_is_written(host_parse(span_of(name), canonical)));
	HOLDS(strcmp(canonical, ours->sni) == 0);
	return SSL_TLSEXT_ERR_OK;
}

static bool
offers(const unsigned char *list, unsigned int len, const char *name)
{
	struct rd r = rd_init(list, len);
	bool found = false;

	while (rd_left(&r) > 0)
		if (span_is(rd_take(&r, rd_u8(&r)), name))
			found = true;
	return found;
}

static int
on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
    const unsigned char *list, unsigned int len, void *arg)
{
	(void)ssl;
	(void)ret;
	(void)ret_len;
	(void)arg;
	HOLDS(ours->has_alpn);
	HOLDS(offers(list, len, "h2") == ours->has_h2);
	HOLDS(offers(list, len, "http/1.1") == ours->has_http11);
	return SSL_TLSEXT_ERR_NOACK;
}

static int
on_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *ptr;
	size_t len;

	(void)alert;
	(void)arg;
	HOLDS(
	    SSL_client_hello_get0_legacy_version(ssl) == ours->legacy_version);
	HOLDS(SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &ptr,
		  &len) == 1);
	HOLDS((SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &ptr, &len) ==
		  1) == ours->has_psk);
	HOLDS((SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_early_data, &ptr,
		   &len) == 1) == ours->has_early_data);
	return SSL_CLIENT_HELLO_SUCCESS;
}

static SSL_CTX *
context(void)
{
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	HOLDS(c != NULL);
	/* Every hello is read to its end, whatever it offers. */
	HOLDS(SSL_CTX_set_min_proto_version(c, TLS1_VERSION) == 1);
	SSL_CTX_set_security_level(c, 0);
	SSL_CTX_set_client_hello_cb(c, on_hello, NULL);
	(void)SSL_CTX_set_tlsext_servername_callback(c, on_server_name);
	SSL_CTX_set_alpn_select_cb(c, on_alpn, NULL);
	return c;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static SSL_CTX *c;
	struct tls_hello_scan scan = { .at = 0 };
	struct tls_hello hello;
	SSL *ssl;
	BIO *in, *out;

	if (c == NULL)
		c = context();
	if (tls_hello_parse(&scan, (struct span){ data, size }, scratch,
		&hello) != TLS_HELLO_OK)
		return 0;
	ours = &hello;
	ssl = SSL_new(c);
	in = BIO_new_mem_buf(data, (int)hello.raw_len);
	out = BIO_new(BIO_s_null());
	HOLDS(ssl != NULL && in != NULL && out != NULL);
	SSL_set_bio(ssl, in, out);
	SSL_set_accept_state(ssl);
	(void)SSL_do_handshake(ssl);
	SSL_free(ssl);
	ERR_clear_error();
	return 0;
}
