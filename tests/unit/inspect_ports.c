/*
 * What stands for conn.c, audit.c, dial.c and lease.c, see inspect_fixture.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/clock.h"
#include "base/fd.h"
#include "inspect_fixture.h"
#include "proxy/audit.h"
#include "proxy/dial.h"
#include "proxy/inspect.h"
#include "proxy/lease.h"
#include "wire/tls_proof.h"

/* --- instead of conn.c --- */

void
conn_close(struct conn *c, enum reason reason)
{
	struct fix *f = fix_current();

	if (f->is_closed)
		return;
	f->is_closed = true;
	f->closed_why = reason;
	(void)snprintf(f->closed_detail, sizeof(f->closed_detail), "%s",
	    c->detail == NULL ? "" : c->detail);
	c->detail = NULL;
	inspect_free(c->inspect);
	c->inspect = NULL;
	fd_close(&c->fd);
}

void
conn_set_timeout(struct conn *c, uint32_t timeout_ms, enum reason why)
{
	(void)c;
	(void)timeout_ms;
	(void)why;
}

void
conn_restart_as_tls(struct conn *c, const char *host, uint16_t port)
{
	struct fix *f = fix_current();

	f->has_restarted = true;
	(void)snprintf(f->restarted_host, sizeof(f->restarted_host), "%s",
	    host);
	c->port = port;
	inspect_free(c->inspect);
	c->inspect = NULL;
}

/* --- instead of audit.c --- */

bool
audit_is_ready(const struct gate *g)
{
	(void)g;
	return !fix_current()->is_audit_full;
}

bool
audit_is_behind(const struct gate *g)
{
	(void)g;
	return fix_current()->is_audit_behind;
}

static void
keep_text(char *to, size_t size, struct span s)
{
	size_t len = s.len < size - 1 ? s.len : size - 1;

	if (len > 0)
		memcpy(to, s.ptr, len);
	to[len] = '\0';
}

void
audit_send(struct gate *g, const struct audit_record *r)
{
	struct fix *f = fix_current();
	struct fix_record *k = &f->records[f->record_count];

	(void)g;
	assert_true(f->record_count < FIX_RECORDS_MAX);
	f->record_count++;
	k->r = *r;
	keep_text(k->rule, sizeof(k->rule), span_of(r->rule));
	keep_text(k->host, sizeof(k->host), r->host);
	keep_text(k->method, sizeof(k->method), r->method);
	keep_text(k->path, sizeof(k->path), r->path);
	keep_text(k->detail, sizeof(k->detail), r->detail);
	keep_text(k->credential, sizeof(k->credential), span_of(r->credential));
	keep_text(k->address, sizeof(k->address), span_of(r->address));
}

const struct fix_record *
fix_last(const struct fix *f)
{
	assert_true(f->record_count > 0);
	return &f->records[f->record_count - 1];
}

/* --- instead of dial.c --- */

struct dial {
	struct event *event;
	dial_done *done;
	void *arg;
	char host[HOST_NAME_SIZE];
	enum scheme scheme;
};

static void
on_dial(evutil_socket_t fd, short what, void *arg)
{
	struct dial *d = arg;
	struct fix *f = fix_current();
	struct message_dialed m = { .reason = f->dial_refusal };
	dial_done *done = d->done;
	void *done_arg = d->arg;
	struct peer *p = &f->origins[f->origin_count];
	int fds[2] = { -1, -1 };
	SSL *ssl = NULL;

	(void)fd;
	(void)what;
	if (m.reason == REASON_NONE) {
		assert_true(f->origin_count < FIX_ORIGINS_MAX);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
		assert_int_equal(fd_set_nonblock(fds[0], true), 0);
		if (d->scheme == SCHEME_HTTPS) {
			ssl = SSL_new(f->origin_tls);
			SSL_set_accept_state(ssl);
		}
		peer_init(p, fds[1], ssl);
		if (f->greeting != NULL) {
			peer_say(p, f->greeting);
			(void)peer_turn(p);
		}
		f->origin_count++;
		(void)snprintf(m.address, sizeof(m.address), "192.0.2.1:443");
	}
	event_free(d->event);
	free(d);
	done(&m, fds[0], done_arg);
}

struct dial *
dial_start(struct gate *g, const struct dial_to *to, dial_done *done, void *arg)
{
	struct dial *d = calloc(1, sizeof(*d));

	assert_non_null(d);
	fix_current()->dial_count++;
	fix_current()->is_redirect_dialled = to->is_redirect;
	(void)snprintf(d->host, sizeof(d->host), "%s", to->host);
	d->scheme = to->scheme;
	d->done = done;
	d->arg = arg;
	d->event = event_new(g->base, -1, 0, on_dial, d);
	event_active(d->event, 0, 0);
	return d;
}

void
dial_cancel(struct dial *d)
{
	if (d == NULL)
		return;
	event_free(d->event);
	free(d);
}

/* --- instead of lease.c --- */

struct lease_wait {
	struct event *event;
	lease_done *done;
	void *arg;
};

void
fix_grant(struct fix *f, const char *host, uint16_t port, const char *names)
{
	struct message_grant m = { .port = port, .host_count = 1 };
	const struct message_grants_whole whole = { host == NULL ? 0 : 1 };
	static uint8_t buf[GRANT_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;
	int len;

	if (host != NULL) {
		(void)snprintf(m.hosts[0], sizeof(m.hosts[0]), "%s", host);
		while (
		    sscanf(names, "%63s%n", m.names[m.name_count], &len) == 1) {
			m.name_count++;
			names += len;
		}
		(void)snprintf(m.placeholder, sizeof(m.placeholder), "%s",
		    fix_current()->grant_placeholder);
		(void)snprintf(m.parameter, sizeof(m.parameter), "%s",
		    fix_current()->grant_parameter);
		message_grant_encode(&w, &m);
		r = rd_init(buf, w.len);
		assert_int_equal(grants_on_grant(f->grants, &r), 0);
	}
	w = wr_init(buf, sizeof(buf));
	message_grants_whole_encode(&w, &whole);
	r = rd_init(buf, w.len);
	assert_int_equal(grants_on_whole(f->grants, &r), 0);
}

void
lease_rejected(struct gate *g, uint64_t lease_id)
{
	struct fix *f = fix_current();

	(void)g;
	assert_int_equal(lease_id, f->lease_id);
	f->rejected_count++;
	if (f->next_secret != NULL) {
		f->secret = f->next_secret;
		f->lease_id++;
	}
}

const char *
lease_detail(const struct gate *g)
{
	(void)g;
	return "";
}

const struct grants *
lease_grants(const struct gate *g)
{
	struct fix *f = fix_current();

	(void)g;
	return f->is_untold ? NULL : f->grants;
}

static void
on_told(evutil_socket_t fd, short what, void *arg)
{
	struct lease_wait *w = arg;
	struct fix *f = fix_current();
	lease_done *done = w->done;
	void *done_arg = w->arg;

	(void)fd;
	(void)what;
	event_free(w->event);
	free(w);
	f->is_untold = f->untold != REASON_NONE;
	done(f->untold, NULL, done_arg);
}

struct lease_wait *
lease_await_grants(struct gate *g, lease_done *done, void *arg)
{
	struct lease_wait *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->done = done;
	w->arg = arg;
	w->event = event_new(g->base, -1, 0, on_told, w);
	event_active(w->event, 0, 0);
	return w;
}

static void
give_lease(lease_done *done, void *arg)
{
	struct fix *f = fix_current();
	struct injection *in;
	struct message_lease m = { .lease_id = f->lease_id,
		.expires_boot_ms = f->lease_ms == 0
		    ? UINT64_MAX
		    : clock_boot_ms() + f->lease_ms,
		.renew_boot_ms = f->renew_boot_ms,
		.any_request = true,
		.serves_websocket = f->lease_serves_websocket,
		.apply = f->apply };

	if (f->lease_refusal != REASON_NONE) {
		done(f->lease_refusal, NULL, arg);
		return;
	}
	(void)snprintf(m.field, sizeof(m.field), "%s", f->lease_field);
	(void)snprintf(m.user, sizeof(m.user), "%s", f->lease_user);
	(void)snprintf(m.placeholder, sizeof(m.placeholder), "%s",
	    f->placeholder);
	if (f->strip[0] != '\0') {
		(void)snprintf(m.strip[0], sizeof(m.strip[0]), "%s", f->strip);
		m.strip_count = 1;
	}
	if (f->strip_response[0] != '\0') {
		(void)snprintf(m.strip_response[0], sizeof(m.strip_response[0]),
		    "%s", f->strip_response);
		m.strip_response_count = 1;
	}
	m.keeps_set_cookie = f->keeps_set_cookie;
	assert_int_equal(f->chain.len > 0
		? secret_set(&m.value, f->chain.ptr, f->chain.len)
		: secret_set(&m.value, f->secret, strlen(f->secret)),
	    0);
	assert_int_equal(injection_get(&f->gate.leases, &m, &in), 0);
	done(REASON_NONE, in, arg);
	injection_unref(in);
}

static void
on_lease(evutil_socket_t fd, short what, void *arg)
{
	struct lease_wait *w = arg;
	lease_done *done = w->done;
	void *done_arg = w->arg;

	(void)fd;
	(void)what;
	event_free(w->event);
	free(w);
	give_lease(done, done_arg);
}

struct lease_wait *
lease_get(struct gate *g, const struct message_lease_request *req,
    lease_done *done, void *arg, bool *ret_is_done)
{
	struct lease_wait *w;

	fix_current()->lease_count++;
	fix_current()->asked_for_websocket = req->is_websocket;
	*ret_is_done = !fix_current()->is_lease_late;
	if (*ret_is_done) {
		give_lease(done, arg);
		return NULL;
	}
	w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->done = done;
	w->arg = arg;
	w->event = event_new(g->base, -1, 0, on_lease, w);
	event_active(w->event, 0, 0);
	return w;
}

void
lease_cancel(struct lease_wait *w)
{
	if (w == NULL)
		return;
	event_free(w->event);
	free(w);
}

/* --- who signs with the key of a client certificate --- */

struct sign_wait {
	struct event *event;
	sign_done *done;
	void *arg;
	uint8_t *text;
	size_t len;
	uint16_t scheme;
};

void
lease_sign_cancel(struct sign_wait *w)
{
	if (w == NULL)
		return;
	event_free(w->event);
	free(w->text);
	free(w);
}

static size_t
sign(EVP_PKEY *key, const struct sign_wait *w, uint8_t *ret, size_t size)
{
	const struct tls_scheme *scheme = tls_scheme_find(w->scheme);
	EVP_MD_CTX *m = EVP_MD_CTX_new();
	EVP_PKEY_CTX *p = NULL;

	assert_non_null(scheme);
	assert_int_equal(EVP_DigestSignInit_ex(m, &p, scheme->hash, NULL, NULL,
			     key, NULL),
	    1);
	if (scheme->is_pss)
		assert_true(EVP_PKEY_CTX_set_rsa_padding(p,
				RSA_PKCS1_PSS_PADDING) == 1 &&
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(p,
			RSA_PSS_SALTLEN_DIGEST) == 1);
	assert_int_equal(EVP_DigestSign(m, ret, &size, w->text, w->len), 1);
	EVP_MD_CTX_free(m);
	return size;
}

static void
on_sign(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { .tv_usec = 1000 };
	struct sign_wait *w = arg;
	struct fix *f = fix_current();
	sign_done *done = w->done;
	void *done_arg = w->arg;
	uint8_t signature[1024];
	size_t len = 0;

	(void)fd;
	(void)what;
	if (f->is_sign_held) {
		assert_int_equal(event_add(w->event, &soon), 0);
		return;
	}
	if (f->sign_key != NULL)
		len = sign(f->sign_key, w, signature, sizeof(signature));
	lease_sign_cancel(w);
	done((struct span){ signature, len }, done_arg);
}

struct sign_wait *
lease_sign(struct gate *g, uint64_t lease_id, uint16_t scheme, struct span text,
    sign_done *done, void *arg)
{
	struct sign_wait *w = calloc(1, sizeof(*w));
	struct fix *f = fix_current();

	assert_non_null(w);
	assert_int_equal(lease_id, f->lease_id);
	w->done = done;
	w->arg = arg;
	w->text = malloc(text.len);
	assert_non_null(w->text);
	memcpy(w->text, text.ptr, text.len);
	w->len = text.len;
	w->scheme = f->signed_scheme = scheme;
	f->sign_count++;
	w->event = event_new(g->base, -1, 0, on_sign, w);
	event_active(w->event, 0, 0);
	return w;
}
