/*
 * `kind = github-app`: an installation token of a GitHub App, limited to the
 * repositories and permissions that the definition lists. We sign as the app
 * (RS256), find the installation by the first repository unless it is said, and
 * give the token back when it is not needed any more.
 *
 * docs.github.com: "Generating an installation access token for a GitHub App",
 * REST "Apps". Tokens are opaque: they have had 40 bytes and have 520.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "credential-broker/answer.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/fetch.h"
#include "credential-broker/form.h"
#include "credential-broker/jwt.h"
#include "credential-broker/kind_fetch.h"

#define API_URL "https://api.github.com"
#define URL_SIZE 512
/* The app's own token: at most ten minutes, and clocks differ. */
#define BACKDATE_S 60
#define ASSERTION_S 540

/* Levels of a permission, each of which holds those before it. */
static const char *const levels[] = { "read", "write", "admin" };

struct github_app {
	struct jwt_key *key;
	const char *api_url; /* without a slash at its end */
	bool may_be_clear;
	uint64_t installation; /* 0: not known yet */
};

/* --- what the definition says --------------------------------------------- */

/* 0: it is none. */
static uint64_t
read_number(const char *text)
{
	uint64_t n = 0;

	for (; ascii_is_digit((uint8_t)*text) && n < UINT64_MAX / 100; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return *text == '\0' ? n : 0;
}

static bool
is_name(struct span s)
{
	if (s.len == 0 || s.len > 100 || s.ptr[0] == '.')
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_alnum(s.ptr[i]) && s.ptr[i] != '-' &&
		    s.ptr[i] != '_' && s.ptr[i] != '.')
			return false;
	return true;
}

/* OWNER/NAME; the owner is the one of the first. */
static bool
is_repository(const char *text, const char *first)
{
	const char *slash = strchr(text, '/');
	size_t owner;

	if (slash == NULL)
		return false;
	owner = (size_t)(slash - text);
	return is_name((struct span){ (const uint8_t *)text, owner }) &&
	    is_name(span_of(slash + 1)) &&
	    strncasecmp(text, first, owner + 1) == 0;
}

static int
level_of(struct span s)
{
	for (int i = 0; i < (int)(sizeof(levels) / sizeof(levels[0])); i++)
		if (span_is(s, levels[i]))
			return i;
	return -1;
}

static bool
is_permission(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals != NULL &&
	    is_name((struct span){ (const uint8_t *)text,
		(size_t)(equals - text) }) &&
	    level_of(span_of(equals + 1)) != -1;
}

static int
check_lists(const struct credential *c, struct err *err)
{
	const char *first = credential_setting(c, "repository"), *item;

	if (first == NULL)
		return err_at(err, NULL, 0,
		    "it needs `repository = OWNER/NAME`: without one the "
		    "token would be for all of them");
	for (unsigned int i = 0;
	     (item = credential_item(c, "repository", i)) != NULL; i++)
		if (!is_repository(item, first))
			return err_at(err, NULL, 0,
			    "repository = %s: write OWNER/NAME, all of one "
			    "owner",
			    item);
	if (credential_setting(c, "permission") == NULL)
		return err_at(err, NULL, 0,
		    "it needs `permission = contents=read`: without one the "
		    "token could do all that the app may");
	for (unsigned int i = 0;
	     (item = credential_item(c, "permission", i)) != NULL; i++)
		if (!is_permission(item))
			return err_at(err, NULL, 0,
			    "permission = %s: write NAME=read, NAME=write or "
			    "NAME=admin",
			    item);
	return 0;
}

static void
github_app_unload(struct credential *c)
{
	struct github_app *g = c->state;

	if (g == NULL)
		return;
	jwt_key_free(g->key);
	free(g);
	c->state = NULL;
}

static int
read_urls(const struct credential *c, struct github_app *g, struct err *err)
{
	const char *fault;

	g->may_be_clear = credential_says_yes(c, "cleartext");
	g->api_url = credential_setting(c, "api-url");
	if (g->api_url == NULL)
		g->api_url = API_URL;
	fault = fetch_url_fault(g->api_url, g->may_be_clear);
	if (fault == NULL && g->api_url[strlen(g->api_url) - 1] == '/')
		fault = "leave the slash at its end out";
	return fault == NULL ? 0 : err_at(err, NULL, 0, "api-url: %s", fault);
}

static int
github_app_load(struct credential *c, struct err *err)
{
	struct github_app *g = calloc(1, sizeof(*g));
	const struct secret *key = credential_secret(c, "key");
	const char *installation = credential_setting(c, "installation");
	int rc;

	c->state = g;
	if (g == NULL)
		return err_os(err, -ENOMEM, "github-app");
	if (credential_setting(c, "app-id") == NULL || key == NULL)
		return err_at(err, NULL, 0, "it needs `app-id` and `key`");
	rc = read_urls(c, g, err);
	if (rc == 0)
		rc = check_lists(c, err);
	if (rc == 0 && installation != NULL) {
		g->installation = read_number(installation);
		if (g->installation == 0)
			rc = err_at(err, NULL, 0,
			    "installation is a number, or left out");
	}
	if (rc != 0)
		return rc;
	rc = jwt_key_new(key, &g->key, err);
	return rc == 0 ? 0 : err_wrap(err, rc, "key");
}

/* --- questions ------------------------------------------------------------ */

/* "Authorization: Bearer" and a token that says we are the app. */
static void
put_app(const struct credential *c, struct form *f)
{
	const struct github_app *g = c->state;
	const uint64_t now_s = clock_wall_ms() / 1000;
	const struct jwt_claim claims[] = {
		{ "iat", NULL, now_s - BACKDATE_S },
		{ "exp", NULL, now_s + ASSERTION_S },
		{ "iss", credential_setting(c, "app-id"), 0 },
	};
	const struct jwt_spec spec = { .alg = "RS256",
		.claims = claims,
		.claim_count = sizeof(claims) / sizeof(claims[0]) };

	form_text(f, "Authorization: Bearer ");
	/* The header line is no part of what is signed. */
	jwt_sign(g->key, &spec, f);
}

struct question {
	const char *method, *path;
	struct form *authorization;
	const struct form *body; /* NULL: none */
	fetch_done *done;
	void *arg;
};

/* NULL and why not, or the flight. */
static struct fetch *
ask(struct broker *b, const struct github_app *g, const struct question *q,
    enum mint_fault *ret_fault)
{
	const struct form *body = q->body;
	char url[URL_SIZE];
	const int n = snprintf(url, sizeof(url), "%s%s", g->api_url, q->path);
	const struct fetch_request req = { .method = q->method,
		.url = url,
		.may_be_clear = g->may_be_clear,
		.headers = { "Accept: application/vnd.github+json",
		    "X-GitHub-Api-Version: 2022-11-28",
		    form_text_of(q->authorization) },
		.body = body == NULL ? (struct span){ NULL, 0 }
				     : form_span_of(body),
		.body_type = body == NULL ? NULL : "application/json",
		.want_type = "application/json" };

	*ret_fault = MINT_LOCAL;
	if (n < 0 || n >= (int)sizeof(url) || !form_ok(q->authorization) ||
	    (body != NULL && !form_ok(body)))
		return NULL;
	return fetch_start(b->fetcher, &req, q->done, q->arg, ret_fault);
}

static void
put_text(struct form *f, const char *text, size_t len)
{
	form_text(f, "\"");
	form_json(f, (struct span){ (const uint8_t *)text, len });
	form_text(f, "\"");
}

/* {"repositories":["widget"],"permissions":{"contents":"read"}} */
static void
put_limits(const struct credential *c, struct form *f)
{
	const char *item;

	form_text(f, "{\"repositories\":[");
	for (unsigned int i = 0;
	     (item = credential_item(c, "repository", i)) != NULL; i++) {
		const char *name = strchr(item, '/') + 1;

		form_text(f, i == 0 ? "" : ",");
		put_text(f, name, strlen(name));
	}
	form_text(f, "],\"permissions\":{");
	for (unsigned int i = 0;
	     (item = credential_item(c, "permission", i)) != NULL; i++) {
		const size_t n = strcspn(item, "=");

		form_text(f, i == 0 ? "" : ",");
		put_text(f, item, n);
		form_text(f, ":");
		put_text(f, item + n + 1, strlen(item + n + 1));
	}
	form_text(f, "}}");
}

/* --- answers -------------------------------------------------------------- */

/* 403 is a limit when it says how long, else a refusal. */
static enum mint_fault
fault_of(const struct fetch_answer *a)
{
	return a->status == 403 && a->retry_after_s > 0 ? MINT_RATE : a->fault;
}

static bool
asked_for_repository(const struct credential *c, const char *name)
{
	const char *item;

	for (unsigned int i = 0;
	     (item = credential_item(c, "repository", i)) != NULL; i++)
		if (strcasecmp(strchr(item, '/') + 1, name) == 0)
			return true;
	return false;
}

static bool
asked_for_permission(const struct credential *c, const char *name,
    const char *level)
{
	const int given = level == NULL ? -1 : level_of(span_of(level));
	const char *item;

	for (unsigned int i = 0;
	     (item = credential_item(c, "permission", i)) != NULL; i++) {
		const size_t n = strcspn(item, "=");

		if (strlen(name) == n && memcmp(item, name, n) == 0)
			return given != -1 &&
			    given <= level_of(span_of(item + n + 1));
	}
	/* It comes with every token, and is for what is public of a name. */
	return strcmp(name, "metadata") == 0 && given == 0;
}

/* What it is good for is no more than what was asked for. */
static bool
is_within(const struct credential *c, json_t *j)
{
	json_t *permissions = json_object_get(j, "permissions"), *value;
	json_t *repositories = json_object_get(j, "repositories");
	const char *selection = answer_text(j, "repository_selection");
	const char *name;
	size_t i;

	if (!json_is_object(permissions) ||
	    (selection != NULL && strcmp(selection, "selected") != 0))
		return false;
	json_object_foreach(permissions, name,
	    value) if (!asked_for_permission(c, name,
			   json_string_value(value))) return false;
	json_array_foreach(repositories, i, value)
	{
		name = answer_text(value, "name");
		if (name == NULL || !asked_for_repository(c, name))
			return false;
	}
	return true;
}

static enum mint_fault
read_token(const struct credential *c, json_t *j, struct minted *ret)
{
	const char *token = answer_text(j, "token");
	uint64_t end_s;

	if (token == NULL || !answer_time(j, "expires_at", &end_s))
		return MINT_ANSWER;
	if (secret_set(&ret->value, token, strlen(token)) != 0)
		return MINT_LOCAL;
	ret->revokes_itself = true;
	ret->not_after_boot_ms = kind_not_after_wall(end_s);
	return is_within(c, j) ? MINT_OK : MINT_SCOPE;
}

static void
on_token(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct github_app *g = m->credential->state;
	struct minted minted = { .not_after_boot_ms = 0 };
	enum mint_fault fault = fault_of(a);

	if (fault == MINT_OK) {
		json_t *j = answer_parse(a->body);

		fault = j == NULL || a->status != 201
		    ? MINT_ANSWER
		    : read_token(m->credential, j, &minted);
		json_decref(j);
	}
	/* The app was taken out and put in again: another installation. */
	if (a->status == 404 &&
	    credential_setting(m->credential, "installation") == NULL)
		g->installation = 0;
	kind_fetch_end(m, fault, &minted, a->retry_after_s);
}

static void
ask_token(struct mint *m)
{
	const struct github_app *g = m->credential->state;
	AUTO_FORM struct form authorization = form_new(), body = form_new();
	enum mint_fault fault;
	struct fetch *t;
	char path[96];

	put_app(m->credential, &authorization);
	put_limits(m->credential, &body);
	(void)snprintf(path, sizeof(path),
	    "/app/installations/%" PRIu64 "/access_tokens", g->installation);
	t = ask(m->broker, g,
	    &(struct question){ "POST", path, &authorization, &body, on_token,
		m },
	    &fault);
	kind_fetch_begun(m, t, fault);
}

static void
on_installation(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct github_app *g = m->credential->state;
	enum mint_fault fault = fault_of(a);

	if (fault == MINT_OK) {
		json_t *j = answer_parse(a->body);
		const json_int_t id =
		    json_integer_value(json_object_get(j, "id"));

		if (id > 0)
			g->installation = (uint64_t)id;
		else
			fault = MINT_ANSWER;
		json_decref(j);
	}
	m->state = NULL;
	if (fault == MINT_OK)
		ask_token(m);
	else
		mint_end(m, fault, NULL, a->retry_after_s);
}

static void
ask_installation(struct mint *m)
{
	const struct github_app *g = m->credential->state;
	AUTO_FORM struct form authorization = form_new();
	enum mint_fault fault;
	struct fetch *t;
	char path[256];

	put_app(m->credential, &authorization);
	(void)snprintf(path, sizeof(path), "/repos/%s/installation",
	    credential_setting(m->credential, "repository"));
	t = ask(m->broker, g,
	    &(struct question){ "GET", path, &authorization, NULL,
		on_installation, m },
	    &fault);
	kind_fetch_begun(m, t, fault);
}

static void
github_app_begin(struct mint *m)
{
	const struct github_app *g = m->credential->state;

	if (g->installation != 0)
		ask_token(m);
	else
		ask_installation(m);
}

/* --- giving back ---------------------------------------------------------- */

static void
on_revoked(const struct fetch_answer *a, void *arg)
{
	/* 401: it is worth nothing already. */
	kind_fetch_revoke_end(arg, a->status == 401 ? MINT_OK : a->fault);
}

static void
github_app_revoke(struct revoke *r)
{
	const struct github_app *g = r->credential->state;
	AUTO_FORM struct form authorization = form_new();
	enum mint_fault fault;
	struct fetch *t;

	form_text(&authorization, "Authorization: Bearer ");
	form_span(&authorization, r->what);
	t = ask(r->broker, g,
	    &(struct question){ "DELETE", "/installation/token", &authorization,
		NULL, on_revoked, r },
	    &fault);
	kind_fetch_revoke_begun(r, t, fault);
}

/* Where a token could be had or ended, on github.com and within /api/v3. */
static const char *const deny_paths[] = { "/app", "/app/**",
	"/installation/token", "/applications/**", "/api/v3/app",
	"/api/v3/app/**", "/api/v3/installation/token",
	"/api/v3/applications/**", "/app-manifests/**",
	"/api/v3/app-manifests/**", NULL };

const struct kind kind_github_app = {
	.name = "github-app",
	.deny_paths = deny_paths,
	.load = github_app_load,
	.unload = github_app_unload,
	.begin = github_app_begin,
	.cancel = kind_fetch_cancel,
	.revoke = github_app_revoke,
	.revoke_cancel = kind_fetch_revoke_cancel,
};
