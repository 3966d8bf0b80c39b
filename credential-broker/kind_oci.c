/*
 * `kind = oci`: a token of a registry's token server, for one repository and
 * what is done with it (distribution/spec/auth/token). The registry's
 * challenge is never followed: the realm stands in the host config, so that no
 * answer of an origin says where a password goes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "credential-broker/answer.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/fetch.h"
#include "credential-broker/form.h"
#include "credential-broker/kind_fetch.h"
#include "credential-broker/oci_scope.h"

/* What the specification says of an answer without `expires_in`. */
#define DEFAULT_TTL_S 60

/* What load() makes of a definition. */
struct oci {
	const char *realm, *service; /* of the definition */
	const char *login;           /* NULL: nobody's, for public images */
	const struct secret *password;
	enum oci_access access;
	bool may_be_clear;
};

static void
oci_unload(struct credential *c)
{
	free(c->state);
	c->state = NULL;
}

static int
oci_load(struct credential *c, struct err *err)
{
	const char *access = credential_setting(c, "access"), *fault;
	struct oci *o = calloc(1, sizeof(*o));

	c->state = o;
	if (o == NULL)
		return err_os(err, -ENOMEM, "oci");
	o->realm = credential_setting(c, "realm");
	o->service = credential_setting(c, "registry");
	o->login = credential_setting(c, "login");
	o->password = credential_secret(c, "password");
	o->may_be_clear = credential_says_yes(c, "cleartext");
	if (o->realm == NULL || o->service == NULL)
		return err_at(err, NULL, 0, "it needs `realm` and `registry`");
	fault = fetch_url_fault(o->realm, o->may_be_clear);
	if (fault != NULL)
		return err_at(err, NULL, 0, "realm: %s", fault);
	if ((o->login == NULL) != (o->password == NULL))
		return err_at(err, NULL, 0,
		    "`login` and `password = file:/PATH` go together");
	if (o->login != NULL && strchr(o->login, ':') != NULL)
		return err_at(err, NULL, 0,
		    "login: no colon may be in it (RFC 7617)");
	if (c->definition.apply != LEASE_APPLY_BEARER)
		return err_at(err, NULL, 0,
		    "a registry takes its token as `apply = bearer`");
	if (access != NULL && !oci_access_parse(access, &o->access))
		return err_at(err, NULL, 0,
		    "access is `pull`, `push` or `delete`");
	return 0;
}

static enum mint_fault
oci_kind_scope(const struct credential *c,
    const struct message_lease_request *req, char ret[KIND_SCOPE_SIZE])
{
	const struct oci *o = c->state;

	return oci_scope(req->method, req->path, o->access, ret,
		   KIND_SCOPE_SIZE)
	    ? MINT_OK
	    : MINT_REFUSED;
}

/* --- minting -------------------------------------------------------------- */

/* A token that the server had lying there is older than its answer. */
static uint64_t
age_of(const json_t *j, const struct fetch_answer *a)
{
	uint64_t issued_s;

	if (a->date_s == 0 || !answer_time(j, "issued_at", &issued_s) ||
	    issued_s >= a->date_s)
		return 0;
	return a->date_s - issued_s;
}

static enum mint_fault
read_token(const json_t *j, const struct fetch_answer *a, struct minted *ret)
{
	/* Both names are in use, and a server may send both. */
	const char *token = answer_text(j, "token");
	uint64_t life_s = DEFAULT_TTL_S, age_s;

	if (token == NULL)
		token = answer_text(j, "access_token");
	if (token == NULL)
		return MINT_ANSWER;
	if (json_object_get(j, "expires_in") != NULL &&
	    !answer_seconds(j, "expires_in", &life_s))
		return MINT_ANSWER;
	age_s = age_of(j, a);
	if (age_s >= life_s)
		return MINT_EXPIRED;
	if (secret_set(&ret->value, token, strlen(token)) != 0)
		return MINT_LOCAL;
	ret->not_after_boot_ms = kind_not_after(life_s - age_s);
	return MINT_OK;
}

static void
on_token(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct minted minted = { .not_after_boot_ms = 0 };
	enum mint_fault fault = a->fault;
	json_t *j = NULL;

	if (fault == MINT_OK) {
		j = answer_parse(a->body);
		fault = j == NULL ? MINT_ANSWER : read_token(j, a, &minted);
	}
	json_decref(j);
	kind_fetch_end(m, fault, &minted, a->retry_after_s);
}

static void
write_url(const struct oci *o, const char *scope, struct form *url)
{
	AUTO_FORM struct form query = form_new();

	form_add(&query, "service", o->service);
	form_add(&query, "client_id", "tapward");
	if (scope[0] != '\0')
		form_add(&query, "scope", scope);
	url->failed |= query.failed;
	form_text(url, o->realm);
	form_text(url, strchr(o->realm, '?') == NULL ? "?" : "&");
	form_span(url, form_span_of(&query));
}

static void
write_login(const struct oci *o, struct form *header)
{
	AUTO_FORM struct form pair = form_new();

	form_text(&pair, o->login);
	form_text(&pair, ":");
	form_span(&pair, secret_span(o->password));
	header->failed |= pair.failed;
	form_text(header, "Authorization: Basic ");
	form_base64(header, form_span_of(&pair));
}

static void
oci_begin(struct mint *m)
{
	const struct oci *o = m->credential->state;
	AUTO_FORM struct form url = form_new(), header = form_new();
	enum mint_fault fault = MINT_LOCAL;
	struct fetch *t = NULL;
	struct fetch_request req = { .method = "GET",
		.may_be_clear = o->may_be_clear,
		.want_type = "application/json" };

	write_url(o, m->scope, &url);
	if (o->login != NULL)
		write_login(o, &header);
	req.url = form_text_of(&url);
	req.headers[0] = "Accept: application/json";
	req.headers[1] = o->login != NULL ? form_text_of(&header) : NULL;
	if (form_ok(&url) && form_ok(&header))
		t = fetch_start(m->broker->fetcher, &req, on_token, m, &fault);
	kind_fetch_begun(m, t, fault);
}

const struct kind kind_oci = {
	.name = "oci",
	.load = oci_load,
	.unload = oci_unload,
	.scope = oci_kind_scope,
	.begin = oci_begin,
	.cancel = kind_fetch_cancel,
};
