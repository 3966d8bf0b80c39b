/*
 * Tokens of a Google service account, against a double that holds every field
 * of each of the three questions to what Google's libraries write.
 */
#include "tests/unit/jwt_support.h"
#include "tests/unit/mint_support.h"

#include "credential-broker/kind.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

#define EMAIL "ci@acme-prod.iam.gserviceaccount.com"
#define OTHER "deploy@acme-prod.iam.gserviceaccount.com"
#define THIRD "hop@acme-prod.iam.gserviceaccount.com"
#define SCOPE_RO "https://www.googleapis.com/auth/devstorage.read_only"
#define SCOPE_LOG "https://www.googleapis.com/auth/logging.write"
#define IMPERSONATED                                                           \
	JSON "{\"accessToken\":\"ya29.of-the-other\","                         \
	     "\"expireTime\":\"2099-01-01T00:00:00Z\"}"

static EVP_PKEY *pkey;
static char key_json[2 * PEM_SIZE];

static char pem[PEM_SIZE];

static void
write_key(const char *type, const char *more)
{
	jwt_write_gcp_key(key_json, pem, type, EMAIL, more);
}

static int
make_key(void **state)
{
	(void)state;
	pkey = jwt_make_key(pem);
	write_key("service_account", "");
	return 0;
}

static int
free_key(void **state)
{
	(void)state;
	EVP_PKEY_free(pkey);
	return 0;
}

static struct message_broker_credential *
definition(const struct issuer *i, const struct setting *more)
{
	static struct message_broker_credential m;

	(void)free_of(&m, BROKER_KIND_GCP);
	set(&m, "key", "file:/secret/sa.json", true);
	set_url(&m, "token-url", i, "/token");
	set_url(&m, "iam-url", i, "/iam");
	set_url(&m, "sts-url", i, "/sts");
	set_all(&m, more);
	return &m;
}

static struct world *
world_of(struct issuer *i, const char *const *script,
    const struct setting *more)
{
	struct world *w = world_at(i, script);

	begin_with(w, definition(i, more), key_json);
	return w;
}

/* The form's only assertion, for scope, at our token-url. */
static void
check_assertion(const struct issuer *i, const char *scope, const char *subject)
{
	static const char begin[] =
	    "\r\n\r\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
	    "jwt-bearer&assertion=";
	const char *jwt = strstr(i->last, begin);
	const int64_t now_s = (int64_t)(clock_wall_ms() / 1000);
	json_t *head, *claims;
	char url[64];

	assert_memory_equal(i->last, "POST /token HTTP/1.1\r\n", 22);
	assert_non_null(strstr(i->last,
	    "Content-Type: application/x-www-form-urlencoded\r\n"));
	assert_null(strstr(i->last, "Authorization:"));
	assert_non_null(jwt);
	jwt += strlen(begin);
	jwt_open(pkey, false, jwt, jwt + strlen(jwt), &head, &claims);
	jwt_expect_text(head, "alg", "RS256");
	jwt_expect_text(head, "typ", "JWT");
	jwt_expect_text(head, "kid", "0123456789abcdef");
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/token",
	    (unsigned int)i->port);
	jwt_expect_text(claims, "iss", EMAIL);
	jwt_expect_text(claims, "aud", url);
	jwt_expect_text(claims, "sub", subject);
	jwt_expect_text(claims, "scope", scope);
	jwt_expect_time(claims, "iat", now_s, -60, -20);
	jwt_expect_time(claims, "exp", now_s, 60, 3540);
	json_decref(head);
	json_decref(claims);
}

static void
a_signed_statement_is_exchanged_for_a_token(void **state)
{
	static const char *const script[] = { TOKEN("ya29.short", "3599"),
		NULL };
	static const struct setting more[] = { { "scope", SCOPE_RO, NULL },
		{ "scope", SCOPE_LOG, NULL },
		{ "subject", "person@acme.example", NULL },
		{ NULL, NULL, NULL } };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, more);

	(void)state;
	assert_string_equal(ask_free(w)->value, "ya29.short");
	check_assertion(&issuer, SCOPE_RO " " SCOPE_LOG, "person@acme.example");
	assert_string_equal(ask_free(w)->value, "ya29.short");
	assert_int_equal(issuer.count, 1);
	world_end(w, &issuer);
}

static void
a_token_of_our_own_needs_no_issuer(void **state)
{
	static const char *const script[] = { TOKEN("never-asked", "60"),
		NULL };
	static const struct setting rows[][3] = {
		{ { "self-signed", "yes", NULL },
		    { "audience", "https://pubsub.googleapis.com/", NULL } },
		{ { "self-signed", "yes", NULL }, { "scope", SCOPE_RO, NULL } },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct issuer issuer;
		struct world *w = world_of(&issuer, script, rows[i]);
		const int64_t now_s = (int64_t)(clock_wall_ms() / 1000);
		const char *jwt = ask_free(w)->value;
		json_t *head, *claims;

		jwt_open(pkey, false, jwt, jwt + strlen(jwt), &head, &claims);
		jwt_expect_text(head, "kid", "0123456789abcdef");
		jwt_expect_text(claims, "iss", EMAIL);
		jwt_expect_text(claims, "sub", EMAIL);
		jwt_expect_text(claims, "aud",
		    i == 0 ? "https://pubsub.googleapis.com/" : NULL);
		jwt_expect_text(claims, "scope", i == 0 ? NULL : SCOPE_RO);
		jwt_expect_time(claims, "exp", now_s, 3500, 3575);
		/* at most an hour, as its reader counts it */
		assert_true(json_integer_value(json_object_get(claims, "exp")) -
			json_integer_value(json_object_get(claims, "iat")) <=
		    3600);
		json_decref(head);
		json_decref(claims);
		assert_int_equal(issuer.count, 0);
		world_end(w, &issuer);
	}
}

/* The next request has come; nothing is answered yet. */
static void
await(struct world *w, struct issuer *i, unsigned int count)
{
	wait_for_count(w, &i->count, count);
}

static void
answer(struct issuer *i)
{
	issuer_answer(LIST_FIRST(&i->peers));
}

static void
another_account_is_asked_for_in_its_name_and_cut_down(void **state)
{
	static const char *const script[] = { TOKEN("ya29.of-the-first", "60"),
		IMPERSONATED, TOKEN("ya29.cut-down", "300"), NULL };
	static const struct setting more[] = { { "scope", SCOPE_RO, NULL },
		{ "impersonate", OTHER, NULL }, { "delegate", THIRD, NULL },
		{ "duration", "600", NULL }, { "bucket", "acme-data", NULL },
		{ "bucket", "acme-in/team/a/", NULL },
		{ "bucket-role", "roles/storage.objectAdmin", NULL },
		{ NULL, NULL, NULL } };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, more);
	const struct token *t;

	(void)state;
	issuer.is_silent = true;
	request(w, "free", "free.acme.example", 443, SCHEME_HTTPS, "GET",
	    "/any");
	await(w, &issuer, 1);
	check_assertion(&issuer, "https://www.googleapis.com/auth/iam", NULL);
	answer(&issuer);
	await(w, &issuer, 2);
	assert_non_null(strstr(issuer.last,
	    "POST /iam/v1/projects/-/serviceAccounts/" OTHER
	    ":generateAccessToken HTTP/1.1\r\n"));
	assert_non_null(
	    strstr(issuer.last, "Authorization: Bearer ya29.of-the-first\r\n"));
	assert_non_null(
	    strstr(issuer.last, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(issuer.last,
	    "\r\n\r\n{\"delegates\":[\"projects/-/serviceAccounts/" THIRD
	    "\"],\"scope\":[\"" SCOPE_RO "\"],\"lifetime\":\"600s\"}"));
	answer(&issuer);
	await(w, &issuer, 3);
	assert_memory_equal(issuer.last, "POST /sts HTTP/1.1\r\n", 20);
	assert_null(strstr(issuer.last, "Authorization:"));
	assert_non_null(strstr(issuer.last,
	    "\r\n\r\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3A"
	    "token-exchange&subject_token=ya29.of-the-other"
	    "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3A"
	    "access_token&requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3A"
	    "token-type%3Aaccess_token&options=%7B%22accessBoundary%22%3A%7B"
	    "%22accessBoundaryRules%22%3A%5B%7B%22availablePermissions%22%3A"
	    "%5B%22inRole%3Aroles%2Fstorage.objectAdmin%22%5D%2C%22"
	    "availableResource%22%3A%22%2F%2Fstorage.googleapis.com%2F"
	    "projects%2F_%2Fbuckets%2Facme-data%22%7D%2C"));
	assert_non_null(strstr(issuer.last,
	    "%22availabilityCondition%22%3A%7B%22expression%22%3A%22"
	    "resource.name.startsWith%28%27projects%2F_%2Fbuckets%2Facme-in"
	    "%2Fobjects%2Fteam%2Fa%2F%27%29"));
	answer(&issuer);
	wait_for_count(w, &w->answer_count, 1);
	assert_string_equal(w->answers[0].value, "ya29.cut-down");
	t = LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
	assert_true(t->minted.not_after_boot_ms <= clock_boot_ms() + 300000);
	world_end(w, &issuer);
}

static void
what_is_cut_down_ends_with_what_it_was_cut_from(void **state)
{
	static const char *const script[] = { TOKEN("ya29.whole", "100"),
		JSON "{\"access_token\":\"ya29.cut-down\","
		     "\"token_type\":\"Bearer\"}",
		NULL };
	static const struct setting more[] = { { "scope", SCOPE_RO, NULL },
		{ "bucket", "acme-data", NULL }, { NULL, NULL, NULL } };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, more);
	const struct token *t;

	(void)state;
	assert_string_equal(ask_free(w)->value, "ya29.cut-down");
	t = LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
	assert_true(t->minted.not_after_boot_ms <= clock_boot_ms() + 100000);
	/* without a role it may read */
	assert_non_null(strstr(issuer.last, "roles%2Fstorage.objectViewer"));
	world_end(w, &issuer);
}

struct fault_row {
	const char *claim, *first, *second, *third;
	enum mint_fault fault;
};

#define WHOLE TOKEN("ya29.whole", "600")
#define FAULT(status, error)                                                   \
	"HTTP/1.1 " status " No\r\nContent-Type: application/json\r\n"         \
	"Connection: close\r\n\r\n" error

static const struct fault_row fault_rows[] = {
	{ "the key was deleted", FAULT("400", "{\"error\":\"invalid_grant\"}"),
	    NULL, NULL, MINT_REFUSED },
	{ "a scope that was not asked for",
	    JSON "{\"access_token\":\"ya29.wide\",\"token_type\":\"Bearer\","
		 "\"expires_in\":60,\"scope\":\"https://everything\"}",
	    NULL, NULL, MINT_SCOPE },
	{ "no end",
	    JSON "{\"access_token\":\"ya29.endless\",\"token_type\":"
		 "\"Bearer\"}",
	    NULL, NULL, MINT_EXPIRED },
	{ "it may not act as the other", WHOLE,
	    FAULT("403", "{\"error\":{\"code\":403}}"), NULL, MINT_REFUSED },
	{ "a role that is not there", WHOLE, FAULT("404", "{}"), NULL,
	    MINT_REFUSED },
	{ "too often", WHOLE, "HTTP/1.1 429 No\r\nRetry-After: 7\r\n\r\n", NULL,
	    MINT_RATE },
	{ "no token of the other", WHOLE, JSON "{\"expireTime\":\"x\"}", NULL,
	    MINT_ANSWER },
	{ "one that has ended", WHOLE,
	    JSON "{\"accessToken\":\"ya29.late\",\"expireTime\":"
		 "\"2020-01-01T00:00:00Z\"}",
	    NULL, MINT_EXPIRED },
	{ "a time that is none", WHOLE,
	    JSON "{\"accessToken\":\"ya29.late\",\"expireTime\":\"soon\"}",
	    NULL, MINT_ANSWER },
	{ "a boundary that is refused: never the wider one", WHOLE,
	    IMPERSONATED, FAULT("400", "{\"error\":\"invalid_request\"}"),
	    MINT_REFUSED },
	{ "a boundary that fails", WHOLE, IMPERSONATED, FAULT("503", ""),
	    MINT_ISSUER },
	{ "a boundary that is a page", WHOLE, IMPERSONATED,
	    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>",
	    MINT_ANSWER },
	{ "a boundary elsewhere", WHOLE, IMPERSONATED,
	    "HTTP/1.1 307 No\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
	    MINT_ANSWER },
};

static void
a_failure_is_told_by_its_class_and_nothing_wider_is_used(void **state)
{
	static const struct setting more[] = { { "scope", SCOPE_RO, NULL },
		{ "impersonate", OTHER, NULL }, { "bucket", "acme-data", NULL },
		{ NULL, NULL, NULL } };

	(void)state;
	for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]);
	     i++) {
		const struct fault_row *row = &fault_rows[i];
		const char *const script[] = { row->first, row->second,
			row->third, NULL };
		struct issuer issuer;
		struct world *w = world_of(&issuer, script, more);
		const struct answer *a = ask_free(w);

		if (a->reason != REASON_CREDENTIAL_UNAVAILABLE ||
		    strcmp(a->detail, mint_faults[row->fault].word) != 0)
			fail_msg("%s: %s", row->claim, a->detail);
		assert_string_equal(a->value, "");
		world_end(w, &issuer);
	}
}

static void
keeps_guests_from_what_mints(void **state)
{
	static const char *const paths[] = { "/token", "/v1/token",
		"/v1/projects/-/serviceAccounts/" OTHER ":generateAccessToken",
		"/v1/projects/-/serviceaccounts/" OTHER "%3AsignJwt",
		"/v1/projects/p/serviceAccounts/" OTHER "/keys",
		"/storage/v1/projects/p/hmacKeys", "/batch",
		"/batch/storage/v1",
		"/google.iam.credentials.v1.IAMCredentials/SignBlob",
		"/google.identity.sts.v1.SecurityTokenService/ExchangeToken",
		"/v2/projects/p/locations/global/keys/k/keyString" };
	static const char *const script[] = { TOKEN("ya29.short", "3599"),
		NULL };
	static const struct setting more[] = { { "scope", SCOPE_RO, NULL },
		{ NULL, NULL, NULL } };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, more);

	(void)state;
	must_keep_from(w, &issuer, paths, sizeof(paths) / sizeof(paths[0]));
	assert_string_equal(ask(w, "free", "free.acme.example",
				"/storage/v1/b/acme-data/o/team%2Fa")
				->value,
	    "ya29.short");
	world_end(w, &issuer);
}

struct bad_row {
	const char *claim;
	struct setting more[4];
	const char *want;
	const char *key_type, *key_more;
};

static const struct bad_row bad_rows[] = {
	{ "neither scope nor audience", { { NULL, NULL, NULL } },
	    "it needs `scope", NULL, NULL },
	{ "a scope in short", { { "scope", "email", NULL } },
	    "write it as a URL", NULL, NULL },
	{ "an audience that nobody signs for",
	    { { "audience", "https://x/", NULL } }, "self-signed = yes", NULL,
	    NULL },
	{ "both",
	    { { "self-signed", "yes", NULL },
		{ "audience", "https://x/", NULL },
		{ "scope", SCOPE_RO, NULL } },
	    "not both", NULL, NULL },
	{ "cut down by nobody",
	    { { "self-signed", "yes", NULL }, { "scope", SCOPE_RO, NULL },
		{ "bucket", "b", NULL } },
	    "asks no issuer", NULL, NULL },
	{ "a duration of nothing",
	    { { "scope", SCOPE_RO, NULL }, { "duration", "600", NULL } },
	    "impersonate", NULL, NULL },
	{ "a path in place of an account",
	    { { "scope", SCOPE_RO, NULL },
		{ "impersonate", "a@b/../x", NULL } },
	    "e-mail address", NULL, NULL },
	{ "a quote in a prefix",
	    { { "scope", SCOPE_RO, NULL },
		{ "bucket", "b/x')||true||('", NULL } },
	    "NAME/PREFIX", NULL, NULL },
	{ "a role of no bucket",
	    { { "scope", SCOPE_RO, NULL }, { "bucket-role", "roles/x", NULL } },
	    "add `bucket", NULL, NULL },
	{ "the key of a person", { { "scope", SCOPE_RO, NULL } },
	    "not the key of a service account", "authorized_user", "" },
	{ "a token_uri of somebody else's", { { "scope", SCOPE_RO, NULL } },
	    "another token_uri", "service_account",
	    ",\"token_uri\":\"https://evil.example/token\"" },
};

static void
what_says_nothing_or_too_much_is_refused_at_load(void **state)
{
	static const char *const script[] = { WHOLE, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
		const struct bad_row *row = &bad_rows[i];
		struct world *w = world_new();
		struct issuer issuer;

		if (row->key_type != NULL)
			write_key(row->key_type, row->key_more);
		issuer_init(&issuer, w->base, script);
		send_definition(w, definition(&issuer, row->more), key_json);
		send_configured(w, 1);
		if (strstr(w->done.text, row->want) == NULL)
			fail_msg("%s: %s", row->claim, w->done.text);
		assert_null(strstr(w->done.text, "evil"));
		write_key("service_account", "");
		world_end(w, &issuer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signed_statement_is_exchanged_for_a_token),
		cmocka_unit_test(a_token_of_our_own_needs_no_issuer),
		cmocka_unit_test(
		    another_account_is_asked_for_in_its_name_and_cut_down),
		cmocka_unit_test(
		    what_is_cut_down_ends_with_what_it_was_cut_from),
		cmocka_unit_test(
		    a_failure_is_told_by_its_class_and_nothing_wider_is_used),
		cmocka_unit_test(keeps_guests_from_what_mints),
		cmocka_unit_test(
		    what_says_nothing_or_too_much_is_refused_at_load),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, make_key, free_key);
}
