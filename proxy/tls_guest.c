/*
 * TLS towards the guest: a leaf by SNI, TLS 1.2 or 1.3, HTTP by ALPN. No
 * renegotiation, no early data; a session is resumed only under the name it
 * was made for.
 */
#include "proxy/tls_private.h"

#include <openssl/err.h>
#include <openssl/sha.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/host.h"

/* Each as we prefer it. */
static const uint8_t alpn_h2_first[] = "\x02h2\x08http/1.1";
static const uint8_t alpn_http11_first[] = "\x08http/1.1\x02h2";

static int
on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
    const unsigned char *offered, unsigned int offered_len, void *arg)
{
	const struct tls_guest *keep = SSL_get_app_data(ssl);
	unsigned char *chosen;

	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_len,
		keep->prefers_http11 ? alpn_http11_first : alpn_h2_first,
		sizeof(alpn_h2_first) - 1, offered,
		offered_len) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL; /* RFC 7301 3.2 */
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/*
 * OpenSSL's reading of the ClientHello must name what ours did, or one of the
 * two was talked past.
 */
static int
on_server_name(SSL *ssl, int *ret_alert, void *arg)
{
	const struct tls_guest *keep = SSL_get_app_data(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	char canonical[HOST_SIZE];

	(void)arg;
	if (name != NULL &&
	    host_is_written(host_parse(span_of(name), canonical)) &&
	    strcmp(canonical, keep->sni) == 0)
		return SSL_TLSEXT_ERR_OK;
	*ret_alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* 1: a certificate is there; 0: the handshake ends. */
static int
on_certificate(SSL *ssl, void *arg)
{
	struct tls_state *t = arg;
	struct tls_guest *keep = SSL_get_app_data(ssl);
	X509 *leaf;
	int rc = leaf_cache_get(t->leaves, keep->sni, &leaf);

	if (rc != 0) {
		keep->is_limited = rc == -EAGAIN;
		return 0;
	}
	return SSL_use_cert_and_key(ssl, leaf, leaf_cache_key(t->leaves), NULL,
	    1);
}

static bool
configure(SSL_CTX *c)
{
	/*
	 * A request says how long it is, so an end without close_notify can
	 * hide nothing; taken as an error it would stop the answer, too.
	 */
	(void)SSL_CTX_set_options(c,
	    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
		SSL_OP_IGNORE_UNEXPECTED_EOF);
	/* Tickets carry the session: nothing is kept here. */
	(void)SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_max_early_data(c, 0) == 1 &&
	    SSL_CTX_set_recv_max_early_data(c, 0) == 1 &&
	    SSL_CTX_set_num_tickets(c, 1) == 1;
}

SSL_CTX *
tls_guest_context(struct tls_state *t)
{
	SSL_CTX *c = tls_context_new(NULL, TLS_server_method());

	if (c == NULL || !configure(c)) {
		ERR_clear_error();
		SSL_CTX_free(c);
		return NULL;
	}
	SSL_CTX_set_alpn_select_cb(c, on_alpn, NULL);
	(void)SSL_CTX_set_tlsext_servername_callback(c, on_server_name);
	SSL_CTX_set_cert_cb(c, on_certificate, t);
	return c;
}

SSL *
tls_guest_new(struct gate *g, const char *sni, struct tls_guest *keep)
{
	uint8_t context[SHA256_DIGEST_LENGTH];
	SSL *ssl = SSL_new(g->tls->guest);

	*keep = (struct tls_guest){ .state = g->tls, .sni = sni };
	if (ssl == NULL)
		return NULL;
	SSL_set_app_data(ssl, keep);
	/* A session made under another name has another context: no match. */
	(void)SHA256((const uint8_t *)sni, strlen(sni), context);
	if (SSL_set_session_id_context(ssl, context, sizeof(context)) != 1) {
		ERR_clear_error();
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}

enum tls_http
tls_alpn(const SSL *ssl)
{
	const unsigned char *name;
	unsigned int len;

	SSL_get0_alpn_selected(ssl, &name, &len);
	if (len == 0 || span_is((struct span){ name, len }, "http/1.1"))
		return TLS_HTTP_1;
	return span_is((struct span){ name, len }, "h2") ? TLS_HTTP_2
							 : TLS_HTTP_NONE;
}

enum tls_http
tls_guest_http(const SSL *ssl)
{
	return tls_alpn(ssl);
}

/* "unknown CA" becomes "unknown_ca", as RFC 8446 6 writes it. */
static void
write_alert(struct wr *w, int alert)
{
	wr_text(w, "alert ");
	for (const char *p = SSL_alert_desc_string_long(alert); *p != '\0'; p++)
		wr_u8(w, *p == ' ' ? '_' : ascii_lower((uint8_t)*p));
}

struct tls_failure
tls_guest_failure(const struct tls_guest *keep)
{
	struct tls_failure f = { .reason = REASON_GUEST_TLS };
	struct wr w = wr_init(f.text, sizeof(f.text) - 1);
	unsigned long e = ERR_peek_error();
	int reason = ERR_GET_REASON(e);
	const char *text = e == 0 ? NULL : ERR_reason_error_string(e);

	if (keep->is_limited) {
		f.reason = REASON_LIMIT_MINT;
		wr_text(&w, "too many new names a second");
	} else if (e != 0 && ERR_GET_LIB(e) == ERR_LIB_SSL &&
	    reason > SSL_AD_REASON_OFFSET &&
	    reason <= SSL_AD_REASON_OFFSET + 255) {
		write_alert(&w, reason - SSL_AD_REASON_OFFSET);
	} else {
		wr_text(&w, text == NULL ? "closed" : text);
	}
	ERR_clear_error();
	return f;
}
