/*
 * `kind = vault`: a secret that Vault or OpenBao holds, or makes when it is
 * asked. We log in for each sandbox, make a token there that may do what the
 * definition says and nothing else, and read the secret with it. That token,
 * and a lease of what was made, are renewed while the sandbox uses them. Given
 * back is the one at the root, in one question: Vault ends with it all that it
 * made.
 *
 * The token at the root (of the login, or with `auth = token` the one that we
 * made) is in the journal before anything is done with it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "credential-broker/answer.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/fetch.h"
#include "credential-broker/form.h"
#include "credential-broker/journal.h"
#include "credential-broker/kind_fetch.h"
#include "credential-broker/revoker.h"
#include "credential-broker/vault.h"

/* Something is not known yet to the node that was asked: ask again. */
#define STATUS_NOT_YET 412

enum step { RENEW_LOGIN, RENEW_CHILD, RENEW_LEASE, LOGIN, CREATE, READ, STEPS };

struct flight {
	struct mint *mint;
	struct fetch *fetch;
	enum step step;
	/* login.id is empty with `auth = token` */
	struct vault_lease login, child, lease;
	struct minted result;
};

struct step_row {
	const char *method;
	void (*put)(const struct flight *f, char path[VAULT_PATH_SIZE],
	    struct form *body);
	struct span (*token)(const struct flight *f);
	enum mint_fault (*take)(struct flight *f, const json_t *j);
	enum step (*next)(const struct flight *f); /* STEPS: it is done */
};

static void go(struct flight *f, enum step step);

/* --- definition ----------------------------------------------------------- */

static void
vault_unload(struct credential *c)
{
	free(c->state);
	c->state = NULL;
}

static int
vault_load(struct credential *c, struct err *err)
{
	struct vault *v = calloc(1, sizeof(*v));

	c->state = v;
	return v == NULL ? err_os(err, -ENOMEM, "vault")
			 : vault_read_definition(c, v, err);
}

/* --- what is kept: a line each for login, child and lease ----------------- */

static const struct vault_lease *
root_of(const struct flight *f)
{
	return f->login.id.len > 0 ? &f->login : &f->child;
}

static enum mint_fault
pack(const struct flight *f, struct secret *ret)
{
	AUTO_FORM struct form lines = form_new();
	struct span s;

	form_span(&lines, secret_span(&f->login.id));
	form_text(&lines, "\n");
	form_span(&lines, secret_span(&f->child.id));
	form_text(&lines, "\n");
	form_span(&lines, secret_span(&f->lease.id));
	s = form_span_of(&lines);
	return form_ok(&lines) && secret_set(ret, s.ptr, s.len) == 0
	    ? MINT_OK
	    : MINT_LOCAL;
}

/* The first that is not empty; in the journal it is the only one. */
static struct span
root_in(struct span what)
{
	struct span line = span_take_line(&what);

	while (line.len == 0 && what.len > 0)
		line = span_take_line(&what);
	return line;
}

/* False: there is nothing to go on with. */
static bool
unpack(struct flight *f, const struct minted *before)
{
	struct vault_lease *const all[] = { &f->login, &f->child, &f->lease };
	struct span rest = secret_span(&before->revocation);

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct span line = span_take_line(&rest);

		/* All are good for at least as long as the value. */
		all[i]->end_boot_ms = before->not_after_boot_ms;
		if (line.len > 0 &&
		    secret_set(&all[i]->id, line.ptr, line.len) != 0)
			return false;
	}
	return f->child.id.len > 0;
}

/* --- questions ------------------------------------------------------------ */

struct question {
	const char *method, *path;
	struct span token; /* empty if it goes without */
	struct form *body;
	fetch_done *done;
	void *arg;
};

/* NULL and why not, or the flight. */
static struct fetch *
ask(const struct credential *c, const struct question *q,
    enum mint_fault *ret_fault)
{
	const struct vault *v = c->state;
	const char *namespace = credential_setting(c, "namespace");
	AUTO_FORM struct form url = form_new(), secret = form_new(),
			      place = form_new();
	struct fetch_request req = { .method = q->method,
		.may_be_clear = v->may_be_clear,
		.headers = { "Accept: application/json",
		    "X-Vault-Request: true" },
		.want_type = "application/json" };
	unsigned int n = 2;

	form_text(&url, credential_setting(c, "vault-url"));
	while (url.len > 0 && url.buf.ptr[url.len - 1] == '/')
		url.len--;
	form_text(&url, q->path);
	form_text(&secret, "X-Vault-Token: ");
	form_span(&secret, q->token);
	if (q->token.len > 0)
		req.headers[n++] = form_text_of(&secret);
	form_text(&place, "X-Vault-Namespace: ");
	form_text(&place, namespace == NULL ? "" : namespace);
	if (namespace != NULL)
		req.headers[n++] = form_text_of(&place);
	if (q->body->len > 0) {
		req.body = form_span_of(q->body);
		req.body_type = "application/json";
	}
	req.url = form_text_of(&url);
	*ret_fault = MINT_LOCAL;
	if (!form_ok(&url) || !form_ok(&secret) || !form_ok(&place) ||
	    !form_ok(q->body))
		return NULL;
	return fetch_start(c->broker->fetcher, &req, q->done, q->arg,
	    ret_fault);
}

static const struct vault *
vault_of(const struct flight *f)
{
	return f->mint->credential->state;
}

static void
put_login(const struct flight *f, char path[VAULT_PATH_SIZE], struct form *body)
{
	vault_put_login(f->mint->credential, path, body);
}

static void
put_create(const struct flight *f, char path[VAULT_PATH_SIZE],
    struct form *body)
{
	vault_put_create(f->mint->credential, f->mint->sandbox, path, body);
}

static void
put_renew(const struct flight *f, char path[VAULT_PATH_SIZE], struct form *body)
{
	vault_put_renew(vault_of(f), path, body);
}

static void
put_renew_lease(const struct flight *f, char path[VAULT_PATH_SIZE],
    struct form *body)
{
	vault_put_renew_lease(vault_of(f), secret_span(&f->lease.id), path,
	    body);
}

static void
put_read(const struct flight *f, char path[VAULT_PATH_SIZE], struct form *body)
{
	(void)body;
	vault_put_read(f->mint->credential, path);
}

static struct span
no_token(const struct flight *f)
{
	(void)f;
	return (struct span){ NULL, 0 };
}

static struct span
child_token(const struct flight *f)
{
	return secret_span(&f->child.id);
}

/* Of the login, or the one that was given to us. */
static struct span
parent_token(const struct flight *f)
{
	return f->login.id.len > 0
	    ? secret_span(&f->login.id)
	    : secret_span(credential_secret(f->mint->credential, "auth-token"));
}

/* --- answers -------------------------------------------------------------- */

/* Whatever comes now, somebody gives it back. */
static enum mint_fault
write_down_root(struct flight *f)
{
	const struct vault_lease *root = root_of(f);

	f->result.journal = journal_add(f->mint->broker->journal,
	    f->mint->credential, secret_span(&root->id), root->end_boot_ms);
	return f->result.journal == 0 ? MINT_LOCAL : MINT_OK;
}

static enum mint_fault
take_login(struct flight *f, const json_t *j)
{
	const enum mint_fault fault = vault_take_token(j, &f->login);

	return fault == MINT_OK ? write_down_root(f) : fault;
}

static enum mint_fault
take_child(struct flight *f, const json_t *j)
{
	enum mint_fault fault = vault_take_token(j, &f->child);

	if (fault == MINT_OK && f->login.id.len == 0)
		fault = write_down_root(f);
	if (fault == MINT_OK && !vault_is_within(f->mint->credential, j))
		fault = MINT_SCOPE;
	return fault;
}

static enum mint_fault
take_login_renewal(struct flight *f, const json_t *j)
{
	return vault_take_renewal(j, "auth", &f->login);
}

static enum mint_fault
take_child_renewal(struct flight *f, const json_t *j)
{
	return vault_take_renewal(j, "auth", &f->child);
}

static enum mint_fault
take_lease_renewal(struct flight *f, const json_t *j)
{
	const enum mint_fault fault = vault_take_renewal(j, NULL, &f->lease);

	f->result.not_after_boot_ms = f->lease.end_boot_ms;
	return fault;
}

static enum mint_fault
take_secret(struct flight *f, const json_t *j)
{
	vault_lease_done(&f->lease);
	f->result.not_after_boot_ms = kind_not_after(vault_of(f)->duration_s);
	return vault_take_secret(f->mint->credential, j, &f->result, &f->lease);
}

static enum step
after_login_renewal(const struct flight *f)
{
	(void)f;
	return RENEW_CHILD;
}

static enum step
after_child_renewal(const struct flight *f)
{
	return f->lease.id.len > 0 ? RENEW_LEASE : READ;
}

static enum step
after_login(const struct flight *f)
{
	(void)f;
	return CREATE;
}

static enum step
after_create(const struct flight *f)
{
	(void)f;
	return READ;
}

static enum step
at_end(const struct flight *f)
{
	(void)f;
	return STEPS;
}

static const struct step_row steps[STEPS] = {
	[RENEW_LOGIN] = { "POST", put_renew, parent_token, take_login_renewal,
	    after_login_renewal },
	[RENEW_CHILD] = { "POST", put_renew, child_token, take_child_renewal,
	    after_child_renewal },
	[RENEW_LEASE] = { "POST", put_renew_lease, child_token,
	    take_lease_renewal, at_end },
	[LOGIN] = { "POST", put_login, no_token, take_login, after_login },
	[CREATE] = { "POST", put_create, parent_token, take_child,
	    after_create },
	[READ] = { "GET", put_read, child_token, take_secret, at_end },
};

/* --- a flight ------------------------------------------------------------- */

static void
flight_free(struct flight *f)
{
	fetch_cancel(f->fetch);
	vault_lease_done(&f->login);
	vault_lease_done(&f->child);
	vault_lease_done(&f->lease);
	minted_done(&f->result);
	free(f);
}

static uint64_t
sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* There is a value, or the old one goes on. */
static enum mint_fault
complete(struct flight *f)
{
	struct minted *m = &f->result;
	const uint64_t root_end = root_of(f)->end_boot_ms;

	m->not_after_boot_ms = sooner(m->not_after_boot_ms,
	    sooner(root_end, f->child.end_boot_ms));
	m->root_end_boot_ms = root_end;
	if (pack(f, &m->revocation) != MINT_OK)
		return MINT_LOCAL;
	return m->is_renewal ? write_down_root(f) : MINT_OK;
}

/* What was made so far is given back, unless a value is in use with it. */
static struct minted
leave_root(struct flight *f)
{
	struct minted m = f->result;

	f->result = (struct minted){ .not_after_boot_ms = 0 };
	if (!m.is_renewal && m.revocation.len == 0 && root_of(f)->id.len > 0)
		(void)pack(f, &m.revocation);
	m.root_end_boot_ms = root_of(f)->end_boot_ms;
	return m;
}

static void
finish(struct flight *f, enum mint_fault fault, uint32_t retry_after_s)
{
	struct mint *m = f->mint;
	struct minted result;

	if (fault == MINT_OK)
		fault = complete(f);
	result = leave_root(f);
	flight_free(f);
	m->state = NULL;
	mint_end(m, fault, &result, retry_after_s);
	minted_done(&result);
}

/* The tokens that we had are not to be renewed, so there are others. */
static void
start_over(struct flight *f)
{
	vault_lease_done(&f->login);
	vault_lease_done(&f->child);
	vault_lease_done(&f->lease);
	f->result.is_renewal = false;
	go(f, vault_of(f)->login->id_key == NULL ? CREATE : LOGIN);
}

static void
turn(struct flight *f, enum mint_fault fault, uint32_t retry_after_s)
{
	const bool is_over = fault == MINT_REFUSED || fault == MINT_EXPIRED;

	if (fault == MINT_OK) {
		const enum step next = steps[f->step].next(f);

		if (next == STEPS)
			finish(f, MINT_OK, 0);
		else
			go(f, next);
	} else if (is_over && f->step == RENEW_LEASE) {
		go(f, READ);
	} else if (is_over &&
	    (f->step == RENEW_LOGIN || f->step == RENEW_CHILD)) {
		start_over(f);
	} else {
		finish(f, fault, retry_after_s);
	}
}

static void
on_answer(const struct fetch_answer *a, void *arg)
{
	struct flight *f = arg;
	enum mint_fault fault =
	    a->status == STATUS_NOT_YET ? MINT_ISSUER : a->fault;

	f->fetch = NULL;
	if (fault == MINT_OK) {
		json_t *j = answer_parse(a->body);

		fault = j == NULL ? MINT_ANSWER : steps[f->step].take(f, j);
		json_decref(j);
	}
	turn(f, fault, a->retry_after_s);
}

static void
go(struct flight *f, enum step step)
{
	const struct step_row *row = &steps[step];
	AUTO_FORM struct form body = form_new();
	char path[VAULT_PATH_SIZE];
	enum mint_fault fault;

	f->step = step;
	row->put(f, path, &body);
	f->fetch = ask(f->mint->credential,
	    &(struct question){ row->method, path, row->token(f), &body,
		on_answer, f },
	    &fault);
	if (f->fetch == NULL)
		finish(f, fault, 0);
}

static void
vault_begin(struct mint *m)
{
	struct flight *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		mint_end(m, MINT_LOCAL, NULL, 0);
		return;
	}
	f->mint = m;
	m->state = f;
	if (m->before == NULL || !unpack(f, m->before)) {
		start_over(f);
		return;
	}
	f->result.is_renewal = true;
	go(f, f->login.id.len > 0 ? RENEW_LOGIN : RENEW_CHILD);
}

static void
vault_cancel(struct mint *m)
{
	struct flight *f = m->state;
	struct minted result = leave_root(f);

	m->state = NULL;
	flight_free(f);
	if (result.revocation.len > 0)
		revoker_take(m->credential, &result);
	minted_done(&result);
}

/* --- giving back ---------------------------------------------------------- */

/* 403 is what one hears who is nobody; who is somebody lives still. */
static void
on_looked_up(const struct fetch_answer *a, void *arg)
{
	enum mint_fault fault = a->fault;

	if (a->status == 403)
		fault = MINT_OK;
	else if (fault == MINT_OK)
		fault = MINT_REFUSED;
	kind_fetch_revoke_end(arg, fault);
}

static void
ask_of_root(struct revoke *r, const char *method, const char *path,
    fetch_done *done)
{
	AUTO_FORM struct form body = form_new();
	enum mint_fault fault;
	struct fetch *t;

	t = ask(r->credential,
	    &(struct question){ method, path, root_in(r->what), &body, done,
		r },
	    &fault);
	kind_fetch_revoke_begun(r, t, fault);
}

static void
on_revoked(const struct fetch_answer *a, void *arg)
{
	struct revoke *r = arg;

	/* It has ended, or its policies do not let it end itself. */
	if (a->status == 403)
		ask_of_root(r, "GET", "/v1/auth/token/lookup-self",
		    on_looked_up);
	else
		kind_fetch_revoke_end(r, a->fault);
}

static void
vault_revoke(struct revoke *r)
{
	ask_of_root(r, "POST", "/v1/auth/token/revoke-self", on_revoked);
}

const struct kind kind_vault = {
	.name = "vault",
	.load = vault_load,
	.unload = vault_unload,
	.begin = vault_begin,
	.cancel = vault_cancel,
	.revoke = vault_revoke,
	.revoke_cancel = kind_fetch_revoke_cancel,
};
