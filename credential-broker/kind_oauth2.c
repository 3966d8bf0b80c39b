/*
 * `kind = oauth2`: a token of an OAuth 2.0 authorization server (RFC 6749), by
 * the client's own right (client_credentials), by an assertion that we sign
 * (jwt-bearer, RFC 7523), for another token (token-exchange, RFC 8693) or for a
 * refresh token, which the server may replace each time: the new one is in the
 * journal before the token is used. Given back by RFC 7009 where there is a
 * `revoke-url`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/journal.h"
#include "credential-broker/kind_fetch.h"
#include "credential-broker/oauth2.h"

#define DEFAULT_TTL_S 300
#define SCOPES_SIZE 2048
#define TOKEN_TYPE "urn:ietf:params:oauth:token-type:"

enum grant_type {
	GRANT_CLIENT_CREDENTIALS,
	GRANT_REFRESH_TOKEN,
	GRANT_JWT_BEARER,
	GRANT_TOKEN_EXCHANGE,
	GRANT_TYPES
};

struct grant_row {
	const char *name;
	const char *wire; /* the value of grant_type */
};

static const struct grant_row grants[GRANT_TYPES] = {
	[GRANT_CLIENT_CREDENTIALS] = { "client_credentials",
	    "client_credentials" },
	[GRANT_REFRESH_TOKEN] = { "refresh_token", "refresh_token" },
	[GRANT_JWT_BEARER] = { "jwt-bearer",
	    "urn:ietf:params:oauth:grant-type:jwt-bearer" },
	[GRANT_TOKEN_EXCHANGE] = { "token-exchange",
	    "urn:ietf:params:oauth:grant-type:token-exchange" },
};

static const char *const auths[] = {
	[OAUTH2_AUTH_BASIC] = "basic",
	[OAUTH2_AUTH_POST] = "post",
	[OAUTH2_AUTH_NONE] = "none",
	[OAUTH2_AUTH_JWT] = "private_key_jwt",
};

/* What load() makes of a definition. */
struct oauth2 {
	enum grant_type grant;
	struct oauth2_client client;
	struct jwt_key *key;
	struct secret refresh; /* the one to hand in next; empty: not yet */
	const char *token_url, *revoke_url; /* of the definition */
	bool may_be_clear;
	uint64_t default_ttl_s;
	char scopes[SCOPES_SIZE]; /* parted by blanks */
};

/* --- what the definition says --------------------------------------------- */

static int
read_grant(const struct credential *c, struct oauth2 *o, struct err *err)
{
	const char *name = credential_setting(c, "grant-type");

	o->grant = GRANT_CLIENT_CREDENTIALS;
	for (unsigned int i = 0; name != NULL && i < GRANT_TYPES; i++)
		if (strcmp(name, grants[i].name) == 0)
			o->grant = (enum grant_type)i;
	if (o->grant == GRANT_JWT_BEARER && o->key == NULL)
		return err_at(err, NULL, 0,
		    "jwt-bearer needs `key = file:/PATH`, a private key in "
		    "PEM");
	if (o->grant == GRANT_JWT_BEARER && o->client.id == NULL &&
	    credential_setting(c, "issuer") == NULL)
		return err_at(err, NULL, 0, "jwt-bearer needs `issuer`");
	if (o->grant == GRANT_TOKEN_EXCHANGE &&
	    credential_secret(c, "subject-token") == NULL)
		return err_at(err, NULL, 0,
		    "token-exchange needs `subject-token = file:/PATH`");
	return 0;
}

static int
read_client(const struct credential *c, struct oauth2 *o, struct err *err)
{
	const char *auth = credential_setting(c, "client-auth");
	struct oauth2_client *client = &o->client;

	client->id = credential_setting(c, "client-id");
	client->secret = credential_secret(c, "client-secret");
	client->key = o->key;
	client->key_id = credential_setting(c, "key-id");
	client->audience = o->token_url;
	client->auth =
	    client->secret != NULL ? OAUTH2_AUTH_BASIC : OAUTH2_AUTH_NONE;
	for (unsigned int i = 0;
	     auth != NULL && i < sizeof(auths) / sizeof(auths[0]); i++)
		if (strcmp(auth, auths[i]) == 0)
			client->auth = (enum oauth2_auth)i;
	if (client->auth == OAUTH2_AUTH_NONE)
		return 0;
	if (client->id == NULL)
		return err_at(err, NULL, 0, "it needs `client-id`");
	if (client->auth == OAUTH2_AUTH_JWT)
		return o->key != NULL
		    ? 0
		    : err_at(err, NULL, 0,
			  "private_key_jwt needs `key = file:/PATH`");
	return client->secret != NULL
	    ? 0
	    : err_at(err, NULL, 0, "it needs `client-secret = file:/PATH`");
}

static int
read_urls(const struct credential *c, struct oauth2 *o, struct err *err)
{
	const char *fault;

	o->may_be_clear = credential_says_yes(c, "cleartext");
	o->token_url = credential_setting(c, "token-url");
	o->revoke_url = credential_setting(c, "revoke-url");
	if (o->token_url == NULL)
		return err_at(err, NULL, 0, "it needs `token-url`");
	fault = fetch_url_fault(o->token_url, o->may_be_clear);
	if (fault != NULL)
		return err_at(err, NULL, 0, "token-url: %s", fault);
	fault = o->revoke_url == NULL
	    ? NULL
	    : fetch_url_fault(o->revoke_url, o->may_be_clear);
	if (fault != NULL)
		return err_at(err, NULL, 0, "revoke-url: %s", fault);
	return 0;
}

static void
oauth2_unload(struct credential *c)
{
	struct oauth2 *o = c->state;

	if (o == NULL)
		return;
	jwt_key_free(o->key);
	secret_done(&o->refresh);
	free(o);
	c->state = NULL;
}

/* Each answer may replace what the next question needs: one at a time. */
static int
read_refresh(struct credential *c, const struct oauth2 *o, struct err *err)
{
	if (o->grant != GRANT_REFRESH_TOKEN)
		return 0;
	c->is_serial = true;
	return credential_secret(c, "refresh-token") != NULL
	    ? 0
	    : err_at(err, NULL, 0,
		  "refresh_token needs `refresh-token = file:/PATH`");
}

static int
oauth2_load(struct credential *c, struct err *err)
{
	struct oauth2 *o = calloc(1, sizeof(*o));
	const struct secret *key = credential_secret(c, "key");
	int rc;

	c->state = o;
	if (o == NULL)
		return err_os(err, -ENOMEM, "oauth2");
	rc = read_urls(c, o, err);
	if (rc == 0 && key != NULL) {
		rc = jwt_key_new(key, &o->key, err);
		if (rc != 0)
			rc = err_wrap(err, rc, "key");
	}
	if (rc == 0)
		rc = read_client(c, o, err);
	if (rc == 0)
		rc = read_grant(c, o, err);
	if (rc == 0)
		rc = read_refresh(c, o, err);
	if (rc == 0)
		rc = credential_join(c, "scope", o->scopes, sizeof(o->scopes),
		    err);
	o->default_ttl_s = credential_seconds(c, "default-ttl", DEFAULT_TTL_S);
	return rc;
}

/* --- minting -------------------------------------------------------------- */

static void
add_assertion(const struct credential *c, const struct oauth2 *o,
    struct form *body)
{
	AUTO_FORM struct form jwt = form_new();
	const char *issuer = credential_setting(c, "issuer");
	const char *audience = credential_setting(c, "audience");

	struct oauth2_assertion assertion = { .key = o->key,
		.key_id = o->client.key_id,
		.issuer = issuer != NULL ? issuer : o->client.id,
		.subject = credential_setting(c, "subject"),
		.audience = audience != NULL ? audience : o->token_url };

	if (assertion.subject == NULL)
		assertion.subject = assertion.issuer;
	oauth2_assert(&assertion, &jwt);
	body->failed |= jwt.failed;
	form_add_span(body, "assertion", form_span_of(&jwt));
}

static void
add_exchange(const struct credential *c, struct form *body)
{
	const char *type = credential_setting(c, "subject-token-type");
	AUTO_FORM struct form urn = form_new();

	/* A word stands for the one of RFC 8693 3. */
	if (type == NULL || strchr(type, ':') == NULL)
		form_text(&urn, TOKEN_TYPE);
	form_text(&urn, type == NULL ? "access_token" : type);
	body->failed |= urn.failed;
	form_add_span(body, "subject_token",
	    secret_span(credential_secret(c, "subject-token")));
	form_add_span(body, "subject_token_type", form_span_of(&urn));
}

/* That of its file, unless the server has replaced it since. */
static void
add_refresh(const struct mint *m, struct oauth2 *o, struct form *body)
{
	if (o->refresh.len == 0 &&
	    !journal_state(m->broker->journal, m->credential, &o->refresh)) {
		const struct span first = secret_span(
		    credential_secret(m->credential, "refresh-token"));

		if (secret_set(&o->refresh, first.ptr, first.len) != 0)
			body->failed = true;
	}
	form_add_span(body, "refresh_token", secret_span(&o->refresh));
}

/* False: the next broker would hand in one that the server knows no more. */
static bool
keep_refresh(const struct mint *m, struct oauth2 *o, struct secret *fresh)
{
	int rc;

	if (fresh->len == 0)
		return true;
	secret_done(&o->refresh);
	o->refresh = secret_steal(fresh);
	rc = journal_put_state(m->broker->journal, m->credential,
	    secret_span(&o->refresh));
	if (rc != 0)
		log_err("oauth2",
		    "credential=%s: its new refresh token cannot be kept: %s",
		    m->credential->definition.name, strerror(-rc));
	return rc == 0;
}

static void
write_body(const struct mint *m, struct oauth2 *o, struct form *body,
    struct form *header)
{
	const struct credential *c = m->credential;
	const char *audience = credential_setting(c, "audience");
	const char *resource;

	form_add(body, "grant_type", grants[o->grant].wire);
	if (o->grant == GRANT_JWT_BEARER)
		add_assertion(c, o, body);
	else if (audience != NULL)
		form_add(body, "audience", audience);
	if (o->grant == GRANT_TOKEN_EXCHANGE)
		add_exchange(c, body);
	if (o->grant == GRANT_REFRESH_TOKEN)
		add_refresh(m, o, body);
	for (unsigned int i = 0;
	     (resource = credential_item(c, "resource", i)) != NULL; i++)
		form_add(body, "resource", resource);
	if (o->scopes[0] != '\0')
		form_add(body, "scope", o->scopes);
	oauth2_prove(&o->client, body, header);
}

static void
on_token(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct oauth2 *o = m->credential->state;
	AUTO_SECRET struct secret fresh = SECRET_NONE;
	struct minted minted = { .revokes_itself = o->revoke_url != NULL };
	enum mint_fault fault = oauth2_read(a, o->scopes, o->default_ttl_s,
	    &minted, o->grant == GRANT_REFRESH_TOKEN ? &fresh : NULL);

	if (!keep_refresh(m, o, &fresh))
		fault = MINT_LOCAL;
	kind_fetch_end(m, fault, &minted, a->retry_after_s);
}

struct question {
	const char *url;
	struct form *body, *header;
	fetch_done *done;
	void *arg;
};

/* NULL and a fault, or the flight. */
static struct fetch *
post(const struct oauth2 *o, struct broker *b, const struct question *q,
    enum mint_fault *ret_fault)
{
	const struct fetch_request req = { .method = "POST",
		.url = q->url,
		.may_be_clear = o->may_be_clear,
		.headers = { "Accept: application/json",
		    q->header->len == 0 ? NULL : form_text_of(q->header) },
		.body = form_span_of(q->body),
		.body_type = "application/x-www-form-urlencoded",
		.want_type = q->done == on_token ? "application/json" : NULL };

	*ret_fault = MINT_LOCAL;
	if (!form_ok(q->body) || !form_ok(q->header))
		return NULL;
	return fetch_start(b->fetcher, &req, q->done, q->arg, ret_fault);
}

static void
oauth2_begin(struct mint *m)
{
	struct oauth2 *o = m->credential->state;
	AUTO_FORM struct form body = form_new(), header = form_new();
	enum mint_fault fault;
	struct fetch *t;

	write_body(m, o, &body, &header);
	t = post(o, m->broker,
	    &(struct question){ o->token_url, &body, &header, on_token, m },
	    &fault);
	kind_fetch_begun(m, t, fault);
}

/* --- giving back ---------------------------------------------------------- */

static void
on_revoked(const struct fetch_answer *a, void *arg)
{
	kind_fetch_revoke_end(arg, a->fault);
}

static void
oauth2_revoke(struct revoke *r)
{
	const struct oauth2 *o = r->credential->state;
	AUTO_FORM struct form body = form_new(), header = form_new();
	enum mint_fault fault;
	struct fetch *t;

	form_add_span(&body, "token", r->what);
	form_add(&body, "token_type_hint", "access_token");
	oauth2_prove(&o->client, &body, &header);
	t = post(o, r->broker,
	    &(struct question){ o->revoke_url, &body, &header, on_revoked, r },
	    &fault);
	kind_fetch_revoke_begun(r, t, fault);
}

const struct kind kind_oauth2 = {
	.name = "oauth2",
	.load = oauth2_load,
	.unload = oauth2_unload,
	.begin = oauth2_begin,
	.cancel = kind_fetch_cancel,
	.revoke = oauth2_revoke,
	.revoke_cancel = kind_fetch_revoke_cancel,
};
