/*
 * `kind = azure`: an access token of Microsoft Entra for an application, by the
 * client_credentials grant. It proves itself by a secret, or by a JWT (PS256)
 * that the key of a certificate signs. A token is for one resource, which is
 * what `scope` (v2.0) or `resource` (v1.0) says; what it may do there is what
 * the application was given. Entra revokes none: they end by themselves.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/kind_fetch.h"
#include "credential-broker/oauth2.h"

#define AUTHORITY_URL "https://login.microsoftonline.com"
#define URL_SIZE 448
#define DEFAULT_SCOPE "/.default"

/* What load() makes of a definition. */
struct azure {
	struct oauth2_client client;
	struct jwt_key *key;
	char thumbprint[JWT_THUMBPRINT_SIZE];
	char token_url[URL_SIZE];
	const char *name, *value; /* scope or resource, and which */
	bool may_be_clear;
};

/* --- what the definition says --------------------------------------------- */

/* A GUID or a domain: one segment of a path. */
static bool
is_tenant(const char *text)
{
	if (*text == '.')
		return false;
	for (; *text != '\0'; text++)
		if (!ascii_is_alnum((uint8_t)*text) && *text != '-' &&
		    *text != '.')
			return false;
	return true;
}

static bool
ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), k = strlen(end);

	return n > k && strcmp(text + n - k, end) == 0;
}

static int
read_scope(const struct credential *c, struct azure *z, struct err *err)
{
	const char *scope = credential_setting(c, "scope");
	const char *resource = credential_setting(c, "resource");

	if ((scope == NULL) == (resource == NULL) ||
	    credential_item(c, "scope", 1) != NULL ||
	    credential_item(c, "resource", 1) != NULL)
		return err_at(err, NULL, 0,
		    "a token is for one resource: write one `scope = "
		    "RESOURCE/.default` or, for version 1.0, one `resource`");
	if (scope != NULL && !ends_with(scope, DEFAULT_SCOPE))
		return err_at(err, NULL, 0,
		    "scope = %s: an application has but "
		    "RESOURCE" DEFAULT_SCOPE,
		    scope);
	z->name = scope != NULL ? "scope" : "resource";
	z->value = scope != NULL ? scope : resource;
	return 0;
}

static int
read_url(const struct credential *c, struct azure *z, struct err *err)
{
	const char *authority = credential_setting(c, "authority-url");
	const char *tenant = credential_setting(c, "tenant"), *fault;

	if (tenant == NULL || !is_tenant(tenant))
		return err_at(err, NULL, 0,
		    "tenant is the id or the domain of a directory");
	if (authority == NULL)
		authority = AUTHORITY_URL;
	z->may_be_clear = credential_says_yes(c, "cleartext");
	fault = fetch_url_fault(authority, z->may_be_clear);
	if (fault == NULL && authority[strlen(authority) - 1] == '/')
		fault = "leave the slash at its end out";
	if (fault != NULL)
		return err_at(err, NULL, 0, "authority-url: %s", fault);
	/* It fits: no setting is longer than 191 bytes. */
	(void)snprintf(z->token_url, sizeof(z->token_url), "%s/%s/oauth2/%s",
	    authority, tenant,
	    strcmp(z->name, "scope") == 0 ? "v2.0/token" : "token");
	return 0;
}

static int
read_key(const struct credential *c, struct azure *z, struct err *err)
{
	const struct secret *key = credential_secret(c, "key");
	const struct secret *certificate = credential_secret(c, "certificate");
	int rc = jwt_key_new(key, &z->key, err);

	if (rc != 0)
		return err_wrap(err, rc, "key");
	rc = jwt_thumbprint(z->key, certificate, z->thumbprint, err);
	if (rc != 0)
		return err_wrap(err, rc, "certificate");
	z->client.key = z->key;
	z->client.alg = "PS256";
	z->client.x5t_s256 = z->thumbprint;
	z->client.auth = OAUTH2_AUTH_JWT;
	return 0;
}

static int
read_client(const struct credential *c, struct azure *z, struct err *err)
{
	const bool has_key = credential_secret(c, "key") != NULL;
	const bool has_certificate =
	    credential_secret(c, "certificate") != NULL;

	z->client.id = credential_setting(c, "client-id");
	z->client.secret = credential_secret(c, "client-secret");
	z->client.audience = z->token_url;
	z->client.auth = OAUTH2_AUTH_POST;
	if (z->client.id == NULL)
		return err_at(err, NULL, 0, "it needs `client-id`");
	if (has_key != has_certificate || has_key == (z->client.secret != NULL))
		return err_at(err, NULL, 0,
		    "it needs `client-secret`, or `key` and `certificate`");
	return has_key ? read_key(c, z, err) : 0;
}

static void
azure_unload(struct credential *c)
{
	struct azure *z = c->state;

	if (z == NULL)
		return;
	jwt_key_free(z->key);
	free(z);
	c->state = NULL;
}

static int
azure_load(struct credential *c, struct err *err)
{
	struct azure *z = calloc(1, sizeof(*z));
	int rc;

	c->state = z;
	if (z == NULL)
		return err_os(err, -ENOMEM, "azure");
	rc = read_scope(c, z, err);
	if (rc == 0)
		rc = read_url(c, z, err);
	return rc == 0 ? read_client(c, z, err) : rc;
}

/* --- minting -------------------------------------------------------------- */

static void
on_token(const struct fetch_answer *a, void *arg)
{
	struct mint *m = arg;
	struct minted minted = { .not_after_boot_ms = 0 };
	const enum mint_fault fault = oauth2_read(a, "", 0, &minted, NULL);

	kind_fetch_end(m, fault, &minted, a->retry_after_s);
}

static void
azure_begin(struct mint *m)
{
	const struct azure *z = m->credential->state;
	AUTO_FORM struct form body = form_new(), header = form_new();
	enum mint_fault fault = MINT_LOCAL;
	struct fetch *t = NULL;

	form_add(&body, "grant_type", "client_credentials");
	form_add(&body, z->name, z->value);
	oauth2_prove(&z->client, &body, &header);
	if (form_ok(&body)) {
		const struct fetch_request req = { .method = "POST",
			.url = z->token_url,
			.may_be_clear = z->may_be_clear,
			.headers = { "Accept: application/json" },
			.body = form_span_of(&body),
			.body_type = "application/x-www-form-urlencoded",
			.want_type = "application/json" };

		t = fetch_start(m->broker->fetcher, &req, on_token, m, &fault);
	}
	kind_fetch_begun(m, t, fault);
}

/*
 * Where tokens, keys and signatures are had: Entra, Graph, the resource
 * manager and Container Registry; and where many requests travel in one.
 */
static const char *const deny_paths[] = { "/oauth2/**", "/*/oauth2/**",
	"/*/$batch", "/$batch", "/batch", "/**/addPassword**", "/**/addKey**",
	"/**/addTokenSigningCertificate**",
	"/**/federatedIdentityCredentials**", "/**/list*Keys**",
	"/**/list*Credential**", "/**/list*Sas**", "/**/list*Secrets**",
	"/**/listConnectionStrings**", "/**/regenerate*Key**",
	"/**/*generateCredential**", "/**/beginGetAccess**", NULL };

/* A guest asks for RESOURCE, as version 1.0 has it. */
static void
azure_metadata(const struct credential *c, struct grant_metadata *ret)
{
	const struct azure *z = c->state;
	size_t len = strlen(z->value);

	if (strcmp(z->name, "scope") == 0)
		len -= strlen(DEFAULT_SCOPE);
	ret->cloud = GRANT_CLOUD_AZURE;
	kind_put_text(ret->identity, z->client.id, strlen(z->client.id));
	kind_put_text(ret->place, z->value, len);
}

const struct kind kind_azure = {
	.name = "azure",
	.metadata = azure_metadata,
	.deny_paths = deny_paths,
	.load = azure_load,
	.unload = azure_unload,
	.begin = azure_begin,
	.cancel = kind_fetch_cancel,
};
