/*
 * Tokens of Microsoft Entra, against a double that holds every field to what
 * Microsoft documents of the client_credentials grant.
 */
#include "tests/unit/jwt_support.h"
#include "tests/unit/mint_support.h"

#include "credential-broker/kind.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

#define TENANT "8c4f3b1e-0000-4a4a-9b9b-1d2e3f405162"
#define CLIENT "11111111-2222-3333-4444-555555555555"
#define SCOPE "https://management.azure.com/.default"

static EVP_PKEY *pkey, *other;
static char pem[PEM_SIZE], other_pem[PEM_SIZE];
static char certificate[PEM_SIZE], ended[PEM_SIZE];
static uint8_t thumbprint[32];

static int
make_keys(void **state)
{
	(void)state;
	pkey = jwt_make_key(pem);
	other = jwt_make_key(other_pem);
	jwt_make_certificate(pkey, -10, ended, thumbprint);
	jwt_make_certificate(pkey, 3600, certificate, thumbprint);
	return 0;
}

static int
free_keys(void **state)
{
	(void)state;
	EVP_PKEY_free(pkey);
	EVP_PKEY_free(other);
	return 0;
}

static void
define(struct world *w, const struct issuer *i, const struct setting *more)
{
	static struct message_broker_credential m;

	(void)free_of(&m, BROKER_KIND_AZURE);
	set_url(&m, "authority-url", i, "");
	set_all(&m, more);
	send_with_sources(w, &m, more);
}

static const struct setting by_secret[] = { { "tenant", TENANT, NULL },
	{ "client-id", CLIENT, NULL }, { "client-secret", "file:/s", SECRET },
	{ "scope", SCOPE, NULL }, { NULL, NULL, NULL } };
static const struct setting by_key[] = { { "tenant", "acme.example", NULL },
	{ "client-id", CLIENT, NULL }, { "key", "file:/k", pem },
	{ "certificate", "file:/c", certificate },
	{ "resource", "https://management.azure.com/", NULL },
	{ NULL, NULL, NULL } };

static struct world *
world_of(struct issuer *i, const char *const *script,
    const struct setting *more)
{
	struct world *w = world_at(i, script);

	define(w, i, more);
	begin_sandbox(w);
	return w;
}

static void
an_application_proves_itself_by_a_secret(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 200 OK\r\n"
		"Content-Type: application/json; charset=utf-8\r\n"
		"Connection: close\r\n\r\n"
		"{\"token_type\":\"Bearer\",\"expires_in\":3599,"
		"\"ext_expires_in\":3599,\"access_token\":\"eyJ0.azure\"}",
		NULL
	};
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, by_secret);

	(void)state;
	assert_string_equal(ask_free(w)->value, "eyJ0.azure");
	assert_memory_equal(issuer.last,
	    "POST /" TENANT "/oauth2/v2.0/token HTTP/1.1\r\n", 67);
	assert_non_null(strstr(issuer.last,
	    "Content-Type: application/x-www-form-urlencoded\r\n"));
	assert_null(strstr(issuer.last, "Authorization:"));
	assert_non_null(strstr(issuer.last,
	    "\r\n\r\ngrant_type=client_credentials"
	    "&scope=https%3A%2F%2Fmanagement.azure.com%2F.default"
	    "&client_id=" CLIENT "&client_secret=canary-secret%2B%2F%3A%25"));
	assert_string_equal(ask_free(w)->value, "eyJ0.azure");
	assert_int_equal(issuer.count, 1);
	world_end(w, &issuer);
}

static void
an_application_proves_itself_by_the_key_of_a_certificate(void **state)
{
	/* version 1.0 writes numbers as texts */
	static const char *const script[] = { JSON
		"{\"token_type\":\"Bearer\",\"expires_in\":\"3599\","
		"\"expires_on\":\"4070908800\","
		"\"resource\":\"https://management.azure.com/\","
		"\"access_token\":\"eyJ0.azure\"}",
		NULL };
	static const char begin[] =
	    "\r\n\r\ngrant_type=client_credentials"
	    "&resource=https%3A%2F%2Fmanagement.azure.com%2F&client_id=" CLIENT
	    "&client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3A"
	    "client-assertion-type%3Ajwt-bearer&client_assertion=";
	const int64_t now_s = (int64_t)(clock_wall_ms() / 1000);
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, by_key);
	json_t *head, *claims;
	const char *jwt, *x5t;
	uint8_t digest[64];
	char url[96];

	(void)state;
	assert_string_equal(ask_free(w)->value, "eyJ0.azure");
	assert_memory_equal(issuer.last,
	    "POST /acme.example/oauth2/token HTTP/1.1\r\n", 42);
	jwt = strstr(issuer.last, begin);
	assert_non_null(jwt);
	jwt += strlen(begin);
	jwt_open(pkey, true, jwt, jwt + strlen(jwt), &head, &claims);
	jwt_expect_text(head, "alg", "PS256");
	jwt_expect_text(head, "typ", "JWT");
	x5t = json_string_value(json_object_get(head, "x5t#S256"));
	assert_non_null(x5t);
	assert_int_equal(jwt_decode(x5t, x5t + strlen(x5t), digest), 32);
	assert_memory_equal(digest, thumbprint, 32);
	(void)snprintf(url, sizeof(url),
	    "http://127.0.0.1:%u/acme.example/oauth2/token",
	    (unsigned int)issuer.port);
	jwt_expect_text(claims, "aud", url);
	jwt_expect_text(claims, "iss", CLIENT);
	jwt_expect_text(claims, "sub", CLIENT);
	assert_non_null(json_object_get(claims, "jti"));
	jwt_expect_time(claims, "nbf", now_s, -60, 0);
	jwt_expect_time(claims, "iat", now_s, -60, 0);
	jwt_expect_time(claims, "exp", now_s, 60, 600);
	json_decref(head);
	json_decref(claims);
	world_end(w, &issuer);
}

struct fault_row {
	const char *claim, *answer;
	enum mint_fault fault;
};

#define NO(status, error)                                                      \
	"HTTP/1.1 " status " No\r\nContent-Type: application/json\r\n"         \
	"Connection: close\r\n\r\n{\"error\":\"" error "\","                   \
	"\"error_description\":\"AADSTS0: words that go no further\","         \
	"\"error_codes\":[7000215]}"

static const struct fault_row fault_rows[] = {
	{ "a wrong secret", NO("401", "invalid_client"), MINT_REFUSED },
	{ "no such resource", NO("400", "invalid_resource"), MINT_REFUSED },
	{ "not now", NO("400", "temporarily_unavailable"), MINT_ISSUER },
	{ "too often",
	    "HTTP/1.1 429 No\r\nRetry-After: 3\r\nConnection: close\r\n\r\n",
	    MINT_RATE },
	{ "broken", "HTTP/1.1 503 No\r\nConnection: close\r\n\r\n",
	    MINT_ISSUER },
	{ "a sign-in page",
	    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
	    MINT_ANSWER },
	{ "another place",
	    "HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
	    MINT_ANSWER },
	{ "garbage", JSON "{\"access_token\":", MINT_ANSWER },
	{ "no end",
	    JSON "{\"access_token\":\"eyJ0.azure\","
		 "\"token_type\":\"Bearer\"}",
	    MINT_EXPIRED },
	{ "one that has ended", TOKEN("eyJ0.azure", "0"), MINT_EXPIRED },
	{ "a token of another type",
	    JSON "{\"access_token\":\"eyJ0.azure\",\"token_type\":\"pop\","
		 "\"expires_in\":60}",
	    MINT_ANSWER },
};

static void
a_failure_is_told_by_its_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]);
	     i++) {
		const char *const script[] = { fault_rows[i].answer, NULL };
		struct issuer issuer;
		struct world *w = world_of(&issuer, script, by_secret);
		const struct answer *a = ask_free(w);

		if (a->reason != REASON_CREDENTIAL_UNAVAILABLE ||
		    strcmp(a->detail, mint_faults[fault_rows[i].fault].word) !=
			0)
			fail_msg("%s: %s", fault_rows[i].claim, a->detail);
		world_end(w, &issuer);
	}
}

static void
keeps_guests_from_what_mints(void **state)
{
	static const char *const paths[] = { "/" TENANT "/oauth2/v2.0/token",
		"/common/oauth2/token", "/oauth2/exchange", "/v1.0/$batch",
		"/v1.0/%24batch", "/batch", "/v1.0/applications/1/addPassword",
		"/beta/servicePrincipals(appId='1')/addKey",
		"/subscriptions/s/resourceGroups/g/providers/"
		"Microsoft.Storage/storageAccounts/a/listKeys",
		"/subscriptions/s/resourceGroups/g/providers/"
		"Microsoft.Storage/storageAccounts/a/listkeys/",
		"/subscriptions/s/providers/M/registries/r/listCredentials" };
	static const char *const script[] = { TOKEN("eyJ0.azure", "3599"),
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, by_secret);

	(void)state;
	must_keep_from(w, &issuer, paths, sizeof(paths) / sizeof(paths[0]));
	assert_string_equal(ask(w, "free", "free.acme.example",
				"/subscriptions/s/resourceGroups")
				->value,
	    "eyJ0.azure");
	world_end(w, &issuer);
}

struct bad_row {
	const char *claim, *want;
	struct setting more[8];
};

#define WHO                                                                    \
	{ "tenant", TENANT, NULL },                                            \
	{                                                                      \
		"client-id", CLIENT, NULL                                      \
	}
#define PASSWORD                                                               \
	{                                                                      \
		"client-secret", "file:/s", SECRET                             \
	}

static const struct bad_row bad_rows[] = {
	{ "nothing to ask for", "one resource", { WHO, PASSWORD } },
	{ "two things to ask for", "one resource",
	    { WHO, PASSWORD, { "scope", SCOPE, NULL },
		{ "scope", "https://graph.microsoft.com/.default", NULL } } },
	{ "a scope of people", ".default",
	    { WHO, PASSWORD,
		{ "scope", "https://graph.microsoft.com/Mail.Read", NULL } } },
	{ "a path for a tenant", "a directory",
	    { { "tenant", "a/../b", NULL }, { "client-id", CLIENT, NULL },
		PASSWORD, { "scope", SCOPE, NULL } } },
	{ "no proof", "client-secret", { WHO, { "scope", SCOPE, NULL } } },
	{ "two proofs", "client-secret",
	    { WHO, PASSWORD, { "key", "file:/k", pem },
		{ "certificate", "file:/c", certificate },
		{ "scope", SCOPE, NULL } } },
	{ "half a proof", "`key` and `certificate`",
	    { WHO, { "key", "file:/k", pem }, { "scope", SCOPE, NULL } } },
	{ "the certificate of another key", "is of another key",
	    { WHO, { "key", "file:/k", other_pem },
		{ "certificate", "file:/c", certificate },
		{ "scope", SCOPE, NULL } } },
	{ "a certificate that has ended", "has ended",
	    { WHO, { "key", "file:/k", pem },
		{ "certificate", "file:/c", ended },
		{ "scope", SCOPE, NULL } } },
	{ "a key for a certificate", "no certificate",
	    { WHO, { "key", "file:/k", pem }, { "certificate", "file:/c", pem },
		{ "scope", SCOPE, NULL } } },
};

static void
what_cannot_be_meant_is_refused_at_load(void **state)
{
	static const char *const script[] = { TOKEN("eyJ0.azure", "60"), NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
		struct world *w = world_new();
		struct issuer issuer;

		issuer_init(&issuer, w->base, script);
		define(w, &issuer, bad_rows[i].more);
		send_configured(w, 1);
		if (strstr(w->done.text, bad_rows[i].want) == NULL)
			fail_msg("%s: %s", bad_rows[i].claim, w->done.text);
		world_end(w, &issuer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_application_proves_itself_by_a_secret),
		cmocka_unit_test(
		    an_application_proves_itself_by_the_key_of_a_certificate),
		cmocka_unit_test(a_failure_is_told_by_its_class),
		cmocka_unit_test(keeps_guests_from_what_mints),
		cmocka_unit_test(what_cannot_be_meant_is_refused_at_load),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, make_keys, free_keys);
}
