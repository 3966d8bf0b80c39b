/*
 * `kind = gcp`: an access token of a Google service account, by its key: signed
 * by ourselves (AIP-4111, no issuer is asked), or exchanged for a JWT (RFC
 * 7523), then if so defined for one of another account that this one may act
 * as (iamcredentials generateAccessToken), then cut down to some buckets of
 * Cloud Storage (sts.googleapis.com, RFC 8693). Google revokes none of them:
 * they end by themselves.
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
#include "credential-broker/gcp_boundary.h"
#include "credential-broker/oauth2.h"

#define TOKEN_URL "https://oauth2.googleapis.com/token"
#define IAM_URL "https://iamcredentials.googleapis.com"
#define STS_URL "https://sts.googleapis.com/v1/token"
/* All that is needed to act as another account. */
#define IAM_SCOPE "https://www.googleapis.com/auth/iam"
#define ACCESS_TOKEN "urn:ietf:params:oauth:token-type:access_token"
#define JWT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define EXCHANGE "urn:ietf:params:oauth:grant-type:token-exchange"
#define URL_SIZE 512
#define SCOPES_SIZE 2048
#define EMAIL_SIZE 192
#define KEY_ID_SIZE 128
/* "exp" is at most an hour after "iat", which lies 30 seconds back. */
#define JWT_S 3570
/* Of another account: an hour, or twelve if its organisation says so. */
#define DURATION_S 900
#define DURATION_MAX_S 43200

/* What load() makes of a definition. */
struct gcp {
	struct jwt_key *key;
	char email[EMAIL_SIZE];
	char key_id[KEY_ID_SIZE];
	const char *token_url, *iam_url, *sts_url; /* of the definition */
	const char *impersonate;                   /* NULL: itself */
	bool is_self_signed, has_buckets, may_be_clear;
	uint64_t duration_s;
	char scopes[SCOPES_SIZE]; /* parted by blanks */
};

/* One flight, of up to three questions. */
struct gcp_flight {
	struct fetch *fetch;
	struct minted minted; /* of the last answer */
};

/* --- what the definition says --------------------------------------------- */

static bool
is_email(const char *text)
{
	if (strchr(text, '@') == NULL)
		return false;
	for (; *text != '\0'; text++)
		if (!ascii_is_alnum((uint8_t)*text) &&
		    strchr("-_.@", *text) == NULL)
			return false;
	return true;
}

static int
check_emails(const struct credential *c, const struct gcp *g, struct err *err)
{
	const char *item;

	if (g->impersonate != NULL && !is_email(g->impersonate))
		return err_at(err, NULL, 0,
		    "impersonate is the e-mail address of a service account");
	for (unsigned int i = 0;
	     (item = credential_item(c, "delegate", i)) != NULL; i++)
		if (!is_email(item))
			return err_at(err, NULL, 0,
			    "delegate = %s is no e-mail address of a service "
			    "account",
			    item);
	return 0;
}

/* Google says a scope with another word than it was asked with, else. */
static int
check_scopes(const struct credential *c, struct err *err)
{
	const char *item;

	for (unsigned int i = 0;
	     (item = credential_item(c, "scope", i)) != NULL; i++)
		if (strncmp(item, "https://", 8) != 0)
			return err_at(err, NULL, 0,
			    "scope = %s: write it as a URL, as "
			    "https://www.googleapis.com/auth/cloud-platform",
			    item);
	return 0;
}

/* Keys that say nothing where they stand would make somebody feel safe. */
static int
check_way(const struct credential *c, const struct gcp *g, struct err *err)
{
	const bool has_scope = g->scopes[0] != '\0';
	const bool has_audience = credential_setting(c, "audience") != NULL;

	if (g->impersonate == NULL &&
	    (credential_setting(c, "duration") != NULL ||
		credential_setting(c, "delegate") != NULL))
		return err_at(err, NULL, 0,
		    "duration and delegate are of `impersonate`: add it");
	if (g->duration_s > DURATION_MAX_S)
		return err_at(err, NULL, 0, "duration is at most 12h");
	if (!g->is_self_signed && has_audience)
		return err_at(err, NULL, 0,
		    "audience is of a token that we sign: add "
		    "`self-signed = yes`, or write `scope`");
	if (!g->is_self_signed && !has_scope)
		return err_at(err, NULL, 0,
		    "it needs `scope = https://www.googleapis.com/auth/...`");
	if (g->is_self_signed && has_scope == has_audience)
		return err_at(err, NULL, 0,
		    "self-signed needs `scope` or `audience`, and not both");
	if (g->is_self_signed &&
	    (g->impersonate != NULL || g->has_buckets ||
		credential_setting(c, "subject") != NULL))
		return err_at(err, NULL, 0,
		    "self-signed asks no issuer: leave it out, or "
		    "`impersonate`, `bucket` and `subject`");
	return 0;
}

static int
read_url(const struct credential *c, const char *name, const char *otherwise,
    const char **ret, struct err *err)
{
	const char *url = credential_setting(c, name), *fault;

	*ret = url != NULL ? url : otherwise;
	fault = fetch_url_fault(*ret, credential_says_yes(c, "cleartext"));
	if (fault == NULL && (*ret)[strlen(*ret) - 1] == '/')
		fault = "leave the slash at its end out";
	return fault == NULL ? 0 : err_at(err, NULL, 0, "%s: %s", name, fault);
}

static bool
copy_text(const json_t *j, const char *name, char *buf, size_t size)
{
	const char *text = answer_text(j, name);

	if (text == NULL || strlen(text) >= size)
		return false;
	memcpy(buf, text, strlen(text) + 1);
	return true;
}

/* The JSON that Google's console gives, once. */
static int
read_fields(struct gcp *g, const json_t *j, struct err *err)
{
	const char *type = answer_text(j, "type");
	const char *pem = answer_text(j, "private_key");
	const char *url = answer_text(j, "token_uri");
	AUTO_SECRET struct secret key = SECRET_NONE;
	int rc;

	if (type == NULL || strcmp(type, "service_account") != 0)
		return err_at(err, NULL, 0,
		    "is not the key of a service account (\"type\")");
	if (pem == NULL ||
	    !copy_text(j, "client_email", g->email, sizeof(g->email)) ||
	    !is_email(g->email) ||
	    !copy_text(j, "private_key_id", g->key_id, sizeof(g->key_id)))
		return err_at(err, NULL, 0,
		    "lacks private_key, private_key_id or client_email");
	/* Who is asked stands in the configuration, not in a file beside. */
	if (url != NULL && strcmp(url, g->token_url) != 0)
		return err_at(err, NULL, 0,
		    "names another token_uri than %s: say it by `token-url`",
		    g->token_url);
	rc = secret_set(&key, pem, strlen(pem));
	return rc == 0 ? jwt_key_new(&key, &g->key, err)
		       : err_os(err, rc, "private_key");
}

static int
read_key(const struct credential *c, struct gcp *g, struct err *err)
{
	const struct secret *key = credential_secret(c, "key");
	json_t *j;
	int rc;

	if (key == NULL)
		return err_at(err, NULL, 0, "it needs `key = file:/PATH`");
	j = answer_parse(secret_span(key));
	rc = j == NULL ? err_at(err, NULL, 0, "is no JSON object")
		       : read_fields(g, j, err);
	json_decref(j);
	return rc == 0 ? 0 : err_wrap(err, rc, "key");
}

static void
gcp_unload(struct credential *c)
{
	struct gcp *g = c->state;

	if (g == NULL)
		return;
	jwt_key_free(g->key);
	free(g);
	c->state = NULL;
}

static int
gcp_load(struct credential *c, struct err *err)
{
	struct gcp *g = calloc(1, sizeof(*g));
	int rc;

	c->state = g;
	if (g == NULL)
		return err_os(err, -ENOMEM, "gcp");
	g->impersonate = credential_setting(c, "impersonate");
	g->is_self_signed = credential_says_yes(c, "self-signed");
	g->has_buckets = credential_setting(c, "bucket") != NULL;
	g->may_be_clear = credential_says_yes(c, "cleartext");
	g->duration_s = credential_seconds(c, "duration", DURATION_S);
	rc = credential_join(c, "scope", g->scopes, sizeof(g->scopes), err);
	if (rc == 0)
		rc = read_url(c, "token-url", TOKEN_URL, &g->token_url, err);
	if (rc == 0)
		rc = read_url(c, "iam-url", IAM_URL, &g->iam_url, err);
	if (rc == 0)
		rc = read_url(c, "sts-url", STS_URL, &g->sts_url, err);
	if (rc == 0)
		rc = check_way(c, g, err);
	if (rc == 0)
		rc = check_emails(c, g, err);
	if (rc == 0)
		rc = check_scopes(c, err);
	if (rc == 0)
		rc = gcp_boundary_check(c, err);
	return rc == 0 ? read_key(c, g, err) : rc;
}

/* --- flights -------------------------------------------------------------- */

static void
end_flight(struct mint *m, enum mint_fault fault, uint32_t retry_after_s)
{
	struct gcp_flight *f = m->state;
	struct minted minted = f->minted;

	free(f);
	m->state = NULL;
	mint_end(m, fault, &minted, retry_after_s);
	minted_done(&minted);
}

/* Each answer replaces the one before; none lives longer than that one. */
static void
take(struct gcp_flight *f, struct minted *next)
{
	const uint64_t end = f->minted.not_after_boot_ms;

	if (f->minted.value.len > 0 && end < next->not_after_boot_ms)
		next->not_after_boot_ms = end;
	minted_done(&f->minted);
	f->minted = *next;
	*next = (struct minted){ .not_after_boot_ms = 0 };
}

static void
ask(struct mint *m, const char *url, const struct form *body, const char *type,
    struct form *authorization, fetch_done *done)
{
	const struct gcp *g = m->credential->state;
	struct gcp_flight *f = m->state;
	enum mint_fault fault = MINT_LOCAL;
	const struct fetch_request req = { .method = "POST",
		.url = url,
		.may_be_clear = g->may_be_clear,
		.headers = { "Accept: application/json",
		    authorization == NULL ? NULL
					  : form_text_of(authorization) },
		.body = form_span_of(body),
		.body_type = type,
		.want_type = "application/json" };

	f->fetch = NULL;
	if (form_ok(body) && (authorization == NULL || form_ok(authorization)))
		f->fetch =
		    fetch_start(m->broker->fetcher, &req, done, m, &fault);
	if (f->fetch == NULL)
		end_flight(m, fault, 0);
}

#define FORM_TYPE "application/x-www-form-urlencoded"

static void
on_cut_down(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	/* Google leaves the end out where it is that of what was handed in. */
	struct minted minted = { .not_after_boot_ms = 0 };
	const enum mint_fault fault =
	    oauth2_read(a, "", DURATION_MAX_S, &minted, NULL);

	/* Never the wider one in its place. */
	if (fault == MINT_OK)
		take(m->state, &minted);
	minted_done(&minted);
	end_flight(m, fault, a->retry_after_s);
}

static void
cut_down(struct mint *m)
{
	const struct gcp *g = m->credential->state;
	const struct gcp_flight *f = m->state;
	AUTO_FORM struct form body = form_new(), boundary = form_new();

	gcp_boundary_write(m->credential, &boundary);
	body.failed |= boundary.failed;
	form_add(&body, "grant_type", EXCHANGE);
	form_add_span(&body, "subject_token", secret_span(&f->minted.value));
	form_add(&body, "subject_token_type", ACCESS_TOKEN);
	form_add(&body, "requested_token_type", ACCESS_TOKEN);
	form_add_span(&body, "options", form_span_of(&boundary));
	ask(m, g->sts_url, &body, FORM_TYPE, NULL, on_cut_down);
}

/* There is a token of the account that it is to be of. */
static void
finish(struct mint *m)
{
	const struct gcp *g = m->credential->state;

	if (g->has_buckets)
		cut_down(m);
	else
		end_flight(m, MINT_OK, 0);
}

static enum mint_fault
read_impersonated(const struct fetch_answer *a, struct minted *ret)
{
	json_t *j = a->fault == MINT_OK ? answer_parse(a->body) : NULL;
	const char *token = answer_text(j, "accessToken");
	enum mint_fault fault = a->fault;
	uint64_t end_s = 0;

	if (fault == MINT_OK &&
	    (token == NULL || !answer_time(j, "expireTime", &end_s)))
		fault = MINT_ANSWER;
	if (fault == MINT_OK) {
		ret->not_after_boot_ms = kind_not_after_wall(end_s);
		if (ret->not_after_boot_ms == 0)
			fault = MINT_EXPIRED;
		else if (secret_set(&ret->value, token, strlen(token)) != 0)
			fault = MINT_LOCAL;
	}
	json_decref(j);
	return fault;
}

static void
on_impersonated(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct gcp_flight *f = m->state;
	struct minted minted = { .not_after_boot_ms = 0 };
	const enum mint_fault fault = read_impersonated(a, &minted);

	if (fault == MINT_OK) {
		/* It has an end of its own, which may lie behind the other's.
		 */
		minted_done(&f->minted);
		f->minted = minted;
		finish(m);
		return;
	}
	minted_done(&minted);
	end_flight(m, fault, a->retry_after_s);
}

static void
write_list(const struct credential *c, const char *name, const char *before,
    struct form *f)
{
	const char *item;

	for (unsigned int i = 0; (item = credential_item(c, name, i)) != NULL;
	     i++) {
		form_text(f, i == 0 ? "\"" : ",\"");
		form_text(f, before);
		form_json(f, span_of(item));
		form_text(f, "\"");
	}
}

static void
impersonate(struct mint *m)
{
	const struct gcp *g = m->credential->state;
	const struct gcp_flight *f = m->state;
	AUTO_FORM struct form body = form_new(), authorization = form_new();
	char url[URL_SIZE], lifetime[48];
	const int n = snprintf(url, sizeof(url),
	    "%s/v1/projects/-/serviceAccounts/%s:generateAccessToken",
	    g->iam_url, g->impersonate);

	body.failed |= n < 0 || n >= (int)sizeof(url);
	form_text(&authorization, "Authorization: Bearer ");
	form_span(&authorization, secret_span(&f->minted.value));
	form_text(&body, "{\"delegates\":[");
	write_list(m->credential, "delegate", "projects/-/serviceAccounts/",
	    &body);
	form_text(&body, "],\"scope\":[");
	write_list(m->credential, "scope", "", &body);
	(void)snprintf(lifetime, sizeof(lifetime),
	    "],\"lifetime\":\"%" PRIu64 "s\"}", g->duration_s);
	form_text(&body, lifetime);
	ask(m, url, &body, "application/json", &authorization, on_impersonated);
}

static void
on_token(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	const struct gcp *g = m->credential->state;
	struct minted minted = { .not_after_boot_ms = 0 };
	enum mint_fault fault = oauth2_read(a,
	    g->impersonate != NULL ? IAM_SCOPE : g->scopes, 0, &minted, NULL);

	/* Nothing is asked for by one that is not to be used. */
	if (fault == MINT_OK && minted.not_after_boot_ms <= clock_boot_ms())
		fault = MINT_EXPIRED;
	take(m->state, &minted);
	if (fault != MINT_OK)
		end_flight(m, fault, a->retry_after_s);
	else if (g->impersonate != NULL)
		impersonate(m);
	else
		finish(m);
}

static void
ask_token(struct mint *m)
{
	const struct gcp *g = m->credential->state;
	const struct oauth2_assertion assertion = { .key = g->key,
		.alg = "RS256",
		.key_id = g->key_id,
		.issuer = g->email,
		.subject = credential_setting(m->credential, "subject"),
		.audience = g->token_url,
		.scope = g->impersonate != NULL ? IAM_SCOPE : g->scopes };
	AUTO_FORM struct form body = form_new(), jwt = form_new();

	oauth2_assert(&assertion, &jwt);
	body.failed |= jwt.failed;
	form_add(&body, "grant_type", JWT_BEARER);
	form_add_span(&body, "assertion", form_span_of(&jwt));
	ask(m, g->token_url, &body, FORM_TYPE, NULL, on_token);
}

/* AIP-4111: for the audience of one service, or for scopes. */
static enum mint_fault
sign_token(const struct mint *m, struct minted *ret)
{
	const struct gcp *g = m->credential->state;
	const struct oauth2_assertion assertion = { .key = g->key,
		.alg = "RS256",
		.key_id = g->key_id,
		.issuer = g->email,
		.subject = g->email,
		.audience = credential_setting(m->credential, "audience"),
		.scope = g->scopes[0] == '\0' ? NULL : g->scopes,
		.life_s = JWT_S };
	AUTO_FORM struct form jwt = form_new();

	oauth2_assert(&assertion, &jwt);
	ret->not_after_boot_ms = kind_not_after(JWT_S);
	return form_ok(&jwt) &&
		secret_set(&ret->value, jwt.buf.ptr, jwt.len) == 0
	    ? MINT_OK
	    : MINT_LOCAL;
}

static void
gcp_begin(struct mint *m)
{
	const struct gcp *g = m->credential->state;
	struct gcp_flight *f = calloc(1, sizeof(*f));

	if (f == NULL) {
		mint_end(m, MINT_LOCAL, NULL, 0);
		return;
	}
	m->state = f;
	if (g->is_self_signed)
		end_flight(m, sign_token(m, &f->minted), 0);
	else
		ask_token(m);
}

static void
gcp_cancel(struct mint *m)
{
	struct gcp_flight *f = m->state;

	fetch_cancel(f->fetch);
	minted_done(&f->minted);
	free(f);
	m->state = NULL;
}

/*
 * Where tokens, keys and signatures are had, by HTTP and by gRPC, and where
 * many requests travel in one that no path tells of.
 */
static const char *const deny_paths[] = { "/token", "/oauth2/*/token",
	"/o/oauth2/**", "/*/token", "/*/oauthtoken",
	"/*/projects/*/serviceAccounts/**", "/storage/*/projects/*/hmacKeys**",
	"/*/projects/*/locations/*/keys**", "/batch", "/batch/**",
	"/google.iam.credentials.v1.IAMCredentials/**",
	"/google.iam.admin.v1.IAM/**", "/google.identity.sts.*/**",
	"/google.storage.v2.Storage/CreateHmacKey",
	"/google.api.apikeys.v2.ApiKeys/**", NULL };

/* NAME@PROJECT.iam.gserviceaccount.com tells its project itself. */
static void
gcp_metadata(const struct credential *c, struct grant_metadata *ret)
{
	const struct gcp *g = c->state;
	const char *email = g->impersonate != NULL ? g->impersonate : g->email;
	const char *project = credential_setting(c, "project");
	const char *at = strchr(email, '@');

	ret->cloud = GRANT_CLOUD_GCP;
	kind_put_text(ret->identity, email, strlen(email));
	if (project != NULL)
		kind_put_text(ret->place, project, strlen(project));
	else if (at != NULL && strstr(at, ".iam.gserviceaccount.com") != NULL)
		kind_put_text(ret->place, at + 1, strcspn(at + 1, "."));
}

const struct kind kind_gcp = {
	.name = "gcp",
	.metadata = gcp_metadata,
	.deny_paths = deny_paths,
	.load = gcp_load,
	.unload = gcp_unload,
	.begin = gcp_begin,
	.cancel = gcp_cancel,
};
