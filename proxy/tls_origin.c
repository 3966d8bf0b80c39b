/*
 * TLS towards origins: verified against the host's roots and the name that
 * was judged, before a byte of HTTP is written. Sessions are kept by host and
 * port, since a full handshake costs a millisecond.
 */
#include "proxy/tls_private.h"

#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/names.h"

#define SESSIONS_MAX 128
/* A resumed session vouches for a certificate that was checked before. */
#define SESSION_FRESH_MS (UINT64_C(2) * 3600 * 1000)

struct origin_session {
	char host[HOST_NAME_SIZE];
	uint16_t port;
	SSL_SESSION *session;
	uint64_t verified_ms;
	struct origin_session *next;
};

/* Newest first. */
struct origin_sessions {
	struct origin_session *first;
	size_t count;
};

struct origin_sessions *
origin_sessions_new(void)
{
	return calloc(1, sizeof(struct origin_sessions));
}

static struct origin_session **
find(struct origin_sessions *s, const char *host, uint16_t port)
{
	struct origin_session **at = &s->first;

	while (*at != NULL &&
	    !((*at)->port == port && strcmp((*at)->host, host) == 0))
		at = &(*at)->next;
	return at;
}

static void
drop(struct origin_sessions *s, struct origin_session **at)
{
	struct origin_session *e = *at;

	*at = e->next;
	SSL_SESSION_free(e->session);
	free(e);
	s->count--;
}

void
origin_sessions_flush(struct origin_sessions *s)
{
	while (s->first != NULL)
		drop(s, &s->first);
}

void
origin_sessions_free(struct origin_sessions *s)
{
	if (s == NULL)
		return;
	origin_sessions_flush(s);
	free(s);
}

static void
drop_last(struct origin_sessions *s)
{
	struct origin_session **at = &s->first;

	while ((*at)->next != NULL)
		at = &(*at)->next;
	drop(s, at);
}

/* Takes session. */
static bool
keep_session(struct origin_sessions *s, const struct tls_origin *o,
    SSL_SESSION *session, uint64_t verified_ms)
{
	struct origin_session **old = find(s, o->host, o->port);
	struct origin_session *e = calloc(1, sizeof(*e));

	if (e == NULL || strlen(o->host) >= sizeof(e->host)) {
		free(e);
		return false;
	}
	if (*old != NULL) {
		/* What follows a resumption was not verified anew. */
		if (verified_ms == 0)
			verified_ms = (*old)->verified_ms;
		drop(s, old);
	}
	memcpy(e->host, o->host, strlen(o->host));
	e->port = o->port;
	e->session = session;
	e->verified_ms = verified_ms;
	e->next = s->first;
	s->first = e;
	s->count++;
	if (s->count > SESSIONS_MAX)
		drop_last(s);
	return true;
}

/* 1: the reference to session is ours now. */
static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	const struct tls_origin *keep = SSL_get_app_data(ssl);
	bool resumed = SSL_session_reused(ssl) == 1;

	/* What older roots vouched for does not outlive them. */
	if (keep->roots_generation != keep->state->roots_generation ||
	    SSL_get_verify_result(ssl) != X509_V_OK ||
	    SSL_SESSION_is_resumable(session) != 1)
		return 0;
	return keep_session(keep->state->sessions, keep, session,
	    resumed ? 0 : clock_mono_ms());
}

static bool
configure(SSL_CTX *c, struct roots *roots)
{
	static const uint8_t alpn[] = "\x02h2\x08http/1.1";

	SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
	/* It returns 0 when it succeeds. */
	return SSL_CTX_set_alpn_protos(c, alpn, sizeof(alpn) - 1) == 0 &&
	    roots_use(roots, ROOTS_PUBLIC, SSL_CTX_get_cert_store(c)) == 0;
}

SSL_CTX *
tls_origin_context(struct tls_state *t)
{
	SSL_CTX *c = tls_context_new(NULL, TLS_client_method());

	if (c != NULL && configure(c, t->roots)) {
		(void)SSL_CTX_set_session_cache_mode(c,
		    SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
		SSL_CTX_sess_set_new_cb(c, on_session);
		return c;
	}
	ERR_clear_error();
	SSL_CTX_free(c);
	return NULL;
}

void
tls_origin_forget(struct tls_state *t)
{
	SSL_CTX_free(t->certified);
	t->certified = NULL;
	for (unsigned int i = 0; i < ROOTS_SETS_MAX; i++) {
		X509_STORE_free(t->stores[i]);
		t->stores[i] = NULL;
	}
}

/* A host with a CA of its own is verified by that. */
static bool
set_roots(SSL *ssl, struct tls_state *t, const char *host)
{
	const unsigned int set = roots_set_for(t->roots, host);
	X509_STORE *store;

	if (set == ROOTS_PUBLIC)
		return true;
	if (t->stores[set] == NULL) {
		store = X509_STORE_new();
		if (store == NULL || roots_use(t->roots, set, store) != 0) {
			X509_STORE_free(store);
			return false;
		}
		t->stores[set] = store;
	}
	return SSL_set1_verify_cert_store(ssl, t->stores[set]) == 1;
}

static void
offer_session(SSL *ssl, const struct tls_origin *keep)
{
	struct origin_sessions *s = keep->state->sessions;
	struct origin_session **at = find(s, keep->host, keep->port);

	if (*at == NULL)
		return;
	if (clock_mono_ms() - (*at)->verified_ms > SESSION_FRESH_MS)
		drop(s, at);
	else
		(void)SSL_set_session(ssl, (*at)->session);
}

static bool
offer_http1(SSL *ssl)
{
	static const uint8_t alpn[] = "\x08http/1.1";

	/* It returns 0 when it succeeds. */
	return SSL_set_alpn_protos(ssl, alpn, sizeof(alpn) - 1) == 0;
}

/* Takes ssl: it is ready, or NULL is. */
static SSL *
prepare(SSL *ssl, struct gate *g, bool may_h2, struct tls_origin *keep)
{
	if (ssl == NULL)
		return NULL;
	SSL_set_app_data(ssl, keep);
	if (!tls_context_expect(ssl, keep->host) ||
	    !set_roots(ssl, g->tls, keep->host) ||
	    (!may_h2 && !offer_http1(ssl))) {
		ERR_clear_error();
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_connect_state(ssl);
	return ssl;
}

static struct tls_origin
keep_for(const struct gate *g, const char *host, uint16_t port)
{
	return (struct tls_origin){ .state = g->tls,
		.host = host,
		.port = port,
		.roots_generation = g->tls->roots_generation };
}

SSL *
tls_origin_new(struct gate *g, const char *host, uint16_t port, bool may_h2,
    struct tls_origin *keep)
{
	SSL *ssl;

	*keep = keep_for(g, host, port);
	ssl = prepare(SSL_new(g->tls->origin), g, may_h2, keep);
	if (ssl != NULL)
		offer_session(ssl, keep);
	return ssl;
}

/* Of a library context that knows keys which are elsewhere. */
static bool
make_certified(struct tls_state *t)
{
	SSL_CTX *c;

	if (t->keys == NULL)
		t->keys = client_keys_new();
	if (t->keys == NULL)
		return false;
	if (t->certified != NULL)
		return true;
	c = tls_context_new(client_keys_context(t->keys), TLS_client_method());
	if (c == NULL || !configure(c, t->roots)) {
		ERR_clear_error();
		SSL_CTX_free(c);
		return false;
	}
	(void)SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
	t->certified = c;
	return true;
}

SSL *
tls_origin_new_certified(struct gate *g, const struct tls_certified *to,
    struct tls_origin *keep)
{
	struct tls_state *t = g->tls;
	SSL *ssl = NULL;

	*keep = keep_for(g, to->host, to->port);
	if (make_certified(t))
		ssl = prepare(SSL_new(t->certified), g, to->may_h2, keep);
	if (ssl == NULL ||
	    client_key_use(t->keys, ssl, to->chain, to->key) != 0) {
		SSL_free(ssl);
		return NULL;
	}
	keep->fd = to->fd + 1;
	(void)snprintf(keep->credential, sizeof(keep->credential), "%s",
	    to->credential);
	LIST_INSERT_HEAD(&t->shown, keep, shown);
	return ssl;
}

void
tls_origins_cut(struct gate *g, const char *credential)
{
	struct tls_origin *o;

	if (g->tls == NULL)
		return;
	/* Whoever reads there is told by its end, and what has ended is gone.
	 */
	LIST_FOREACH(o, &g->tls->shown, shown)
	if (credential == NULL || strcmp(o->credential, credential) == 0)
		(void)shutdown(o->fd - 1, SHUT_RDWR);
}

enum tls_http
tls_origin_http(const SSL *ssl)
{
	/* VERIFY_PEER has ended the handshake before this; it costs nothing. */
	if (SSL_get_verify_result(ssl) != X509_V_OK)
		return TLS_HTTP_NONE;
	return tls_alpn(ssl);
}

void
tls_origin_move(SSL *ssl, struct tls_origin *keep, struct tls_origin *from,
    const char *host)
{
	if (from->fd != 0)
		LIST_REMOVE(from, shown);
	*keep = *from;
	keep->host = host;
	SSL_set_app_data(ssl, keep);
	from->fd = 0;
	if (keep->fd != 0)
		LIST_INSERT_HEAD(&keep->state->shown, keep, shown);
}

void
tls_origin_done(SSL *ssl)
{
	struct tls_origin *keep = SSL_get_app_data(ssl);

	if (keep->fd != 0)
		LIST_REMOVE(keep, shown);
	keep->fd = 0;
	/* SSL_free() of one that is not shut down spoils its session. */
	if (SSL_is_init_finished(ssl))
		SSL_set_shutdown(ssl,
		    SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}
