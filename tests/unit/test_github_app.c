/*
 * Installation tokens of a GitHub App, against a double that holds every field
 * to what docs.github.com says of it.
 */
#include "tests/unit/jwt_support.h"
#include "tests/unit/mint_support.h"

#include "credential-broker/kind.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

#define FOUND                                                                  \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n" \
	"Connection: close\r\n\r\n{\"id\":4242,\"account\":{}}"
#define GONE "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
/* Longer than 40 bytes and with dots, as they are since 2026. */
#define GHS "ghs_123_eyJhbGciOi.eyJpc3MiOi.c2lnbmF0dXJl"

static EVP_PKEY *pkey;
static char pem[PEM_SIZE];

static int
make_key(void **state)
{
	(void)state;
	pkey = jwt_make_key(pem);
	return 0;
}

static int
free_key(void **state)
{
	(void)state;
	EVP_PKEY_free(pkey);
	return 0;
}

static struct world *
world_of(struct issuer *i, const char *const *script, const char *installation)
{
	static struct message_broker_credential m;
	struct world *w = world_at(i, script);

	(void)free_of(&m, BROKER_KIND_GITHUB_APP);
	set_url(&m, "api-url", i, "/api/v3");
	set(&m, "app-id", "777", false);
	set(&m, "key", "file:/secret/app.pem", true);
	set(&m, "repository", "acme/widget", false);
	set(&m, "repository", "acme/other", false);
	set(&m, "permission", "contents=write", false);
	set(&m, "permission", "metadata=read", false);
	if (installation != NULL)
		set(&m, "installation", installation, false);
	begin_with(w, &m, pem);
	return w;
}

/* An answer of 201 that ends in life_s seconds; more: what follows. */
static const char *
minted_answer(char buf[1024], int life_s, const char *permissions,
    const char *more)
{
	const int64_t end_ms = (int64_t)clock_wall_ms() + life_s * 1000LL;
	char end[CLOCK_TEXT_SIZE];

	(void)clock_text((uint64_t)end_ms, end);
	(void)snprintf(buf, 1024,
	    "HTTP/1.1 201 Created\r\nContent-Type: application/json; "
	    "charset=utf-8\r\nConnection: close\r\n\r\n"
	    "{\"token\":\"" GHS "\",\"expires_at\":\"%s\","
	    "\"permissions\":%s%s}",
	    end, permissions, more);
	return buf;
}

#define ASKED "{\"contents\":\"write\",\"metadata\":\"read\"}"

/* RS256 of the app's key; iat a minute back, exp within ten; iss the app. */
static void
check_jwt(const char *request)
{
	static const char field[] = "Authorization: Bearer ";
	const char *jwt = strstr(request, field);
	const int64_t now_s = (int64_t)(clock_wall_ms() / 1000);
	json_t *head, *claims;

	assert_non_null(jwt);
	jwt += strlen(field);
	jwt_open(pkey, false, jwt, strstr(jwt, "\r\n"), &head, &claims);
	jwt_expect_text(head, "alg", "RS256");
	jwt_expect_text(head, "typ", "JWT");
	assert_int_equal(json_object_size(head), 2);
	jwt_expect_time(claims, "iat", now_s, -70, -55);
	jwt_expect_time(claims, "exp", now_s, 300, 600);
	jwt_expect_text(claims, "iss", "777");
	json_decref(head);
	json_decref(claims);
}

static void
asks_for_the_installation_and_then_for_a_token(void **state)
{
	char buf[1024];
	const char *const script[] = { FOUND,
		minted_answer(buf, 3600, ASKED,
		    ",\"repository_selection\":\"selected\","
		    "\"repositories\":[{\"name\":\"widget\"}]"),
		GONE, NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, NULL);
	const struct answer *a;

	(void)state;
	issuer.is_silent = true;
	request(w, "free", "free.acme.example", 443, SCHEME_HTTPS, "GET",
	    "/any");
	wait_for_count(w, &issuer.count, 1);
	assert_memory_equal(issuer.last,
	    "GET /api/v3/repos/acme/widget/installation HTTP/1.1\r\n", 53);
	check_jwt(issuer.last);
	assert_non_null(strstr(issuer.last, "User-Agent: tapward"));
	issuer.is_silent = false;
	issuer_answer(LIST_FIRST(&issuer.peers));
	wait_for_count(w, &w->answer_count, 1);
	a = &w->answers[0];
	assert_string_equal(a->value, GHS);
	assert_false(a->any_request);
	assert_memory_equal(issuer.last,
	    "POST /api/v3/app/installations/4242/access_tokens HTTP/1.1\r\n",
	    60);
	check_jwt(issuer.last);
	assert_non_null(
	    strstr(issuer.last, "Accept: application/vnd.github+json\r\n"));
	assert_non_null(
	    strstr(issuer.last, "X-GitHub-Api-Version: 2022-11-28\r\n"));
	assert_non_null(
	    strstr(issuer.last, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(issuer.last,
	    "\r\n\r\n{\"repositories\":[\"widget\",\"other\"],"
	    "\"permissions\":{\"contents\":\"write\",\"metadata\":\"read\"}}"));
	/* The sandbox ends: by the token itself. */
	token_end(LIST_FIRST(&w->broker->sandboxes), NULL);
	wait_for_count(w, &issuer.count, 3);
	assert_memory_equal(issuer.last,
	    "DELETE /api/v3/installation/token HTTP/1.1\r\n", 44);
	assert_non_null(
	    strstr(issuer.last, "Authorization: Bearer " GHS "\r\n"));
	world_end(w, &issuer);
}

struct row {
	const char *claim;
	const char *answer; /* NULL: 201 with these permissions and more */
	const char *permissions, *more;
	int life_s;
	enum mint_fault fault;
};

static const struct row rows[] = {
	{ "a permission that was not asked for", NULL,
	    "{\"contents\":\"write\",\"actions\":\"read\"}", "", 3600,
	    MINT_SCOPE },
	{ "a higher one", NULL, "{\"contents\":\"admin\"}", "", 3600,
	    MINT_SCOPE },
	{ "another repository", NULL, ASKED,
	    ",\"repositories\":[{\"name\":\"secrets\"}]", 3600, MINT_SCOPE },
	{ "all repositories", NULL, ASKED, ",\"repository_selection\":\"all\"",
	    3600, MINT_SCOPE },
	{ "no permissions", NULL, "null", "", 3600, MINT_SCOPE },
	{ "less than was asked for", NULL, "{\"contents\":\"read\"}", "", 3600,
	    MINT_OK },
	{ "one that has ended", NULL, ASKED, "", -5, MINT_EXPIRED },
	{ "200 in place of 201", JSON "{}", "", "", 0, MINT_ANSWER },
	{ "the app is suspended",
	    "HTTP/1.1 403 No\r\nContent-Type: application/json\r\n\r\n{}", "",
	    "", 0, MINT_REFUSED },
	{ "too often", "HTTP/1.1 403 No\r\nRetry-After: 60\r\n\r\n", "", "", 0,
	    MINT_RATE },
	{ "no such repository",
	    "HTTP/1.1 422 No\r\nContent-Type: application/json\r\n\r\n{}", "",
	    "", 0, MINT_REFUSED },
};

static void
holds_the_answer_to_what_was_asked_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		char buf[1024];
		const char *const script[] = { row->answer != NULL
			    ? row->answer
			    : minted_answer(buf, row->life_s, row->permissions,
				  row->more),
			GONE, NULL };
		struct issuer issuer;
		struct world *w = world_of(&issuer, script, "99");
		const struct answer *a = ask_free(w);
		const char *want =
		    row->fault == MINT_OK ? "" : mint_faults[row->fault].word;

		if (strcmp(a->detail, want) != 0)
			fail_msg("%s: \"%s\"", row->claim, a->detail);
		assert_non_null(strstr(issuer.last, "/installations/99/"));
		/* What must not be used is not left to live. */
		if (row->fault == MINT_SCOPE) {
			wait_for_count(w, &issuer.count, 2);
			assert_memory_equal(issuer.last, "DELETE ", 7);
		}
		world_end(w, &issuer);
	}
}

static void
keeps_guests_from_what_mints(void **state)
{
	static const char *const paths[] = { "/app", "/app/installations",
		"/APP/installations/1/access_tokens", "/installation/token",
		"/api/v3/app/installations/1/access_tokens" };
	char buf[1024];
	const char *const script[] = { minted_answer(buf, 3600, ASKED, ""),
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, "99");

	(void)state;
	must_keep_from(w, &issuer, paths, sizeof(paths) / sizeof(paths[0]));
	assert_string_equal(ask(w, "free", "free.acme.example",
				"/repos/acme/widget")
				->value,
	    GHS);
	world_end(w, &issuer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    asks_for_the_installation_and_then_for_a_token),
		cmocka_unit_test(holds_the_answer_to_what_was_asked_for),
		cmocka_unit_test(keeps_guests_from_what_mints),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, make_key, free_key);
}
