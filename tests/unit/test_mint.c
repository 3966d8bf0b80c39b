/*
 * Values that are minted: how many flights there are, what follows when an
 * issuer does not do what it should, and that none is used after its end.
 */
#include "tests/unit/mint_support.h"

#include <cmocka.h>

#include "credential-broker/kind.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

static struct world *
world_of(struct issuer *i, const char *const *script)
{
	struct world *w = world_at(i, script);

	begin_with(w, minted(i), SECRET "\n");
	return w;
}

/* How many of the records begin so. */
static unsigned int
recorded(const struct world *w, const char *detail)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < w->record_count; i++)
		if (strncmp(w->records[i].detail, detail, strlen(detail)) == 0)
			count++;
	return count;
}

static void
one_flight_serves_everybody_who_waits(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "60"),
		TOKEN("token-number-two", "60"), NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	struct token *t;

	(void)state;
	assert_string_equal(ask_free(w)->value, "token-number-one");
	assert_int_equal(issuer.count, 1);
	/* The client proves itself by both halves encoded (RFC 6749 2.3.1). */
	assert_non_null(strstr(issuer.last,
	    "Authorization: Basic "
	    "c3ZjOmNhbmFyeS1zZWNyZXQlMkIlMkYlM0ElMjU=\r\n"));
	assert_non_null(strstr(issuer.last,
	    "\r\n\r\ngrant_type=client_credentials&scope=read%20write"));
	assert_null(strstr(issuer.last, "Expect"));
	assert_null(strstr(issuer.last, "Cookie"));
	/* It has ended, and 200 ask at once. */
	t = LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
	clock_test_set(clock_mono_ms(), t->hard_boot_ms, clock_wall_ms());
	for (int i = 0; i < 200; i++)
		request(w, "free", "free.acme.example", 443, SCHEME_HTTPS,
		    "GET", "/any");
	wait_for_count(w, &w->answer_count, 201);
	for (int i = 1; i <= 200; i++)
		assert_string_equal(w->answers[i].value, "token-number-two");
	assert_int_equal(issuer.count, 2);
	world_end(w, &issuer);
}

static void
refreshes_ahead_and_serves_what_is_there(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "600"),
		TOKEN("token-number-two", "600"), NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	const struct answer *a = ask_free(w);
	const struct token *t =
	    LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
	const uint64_t soft = t->soft_boot_ms, hard = t->hard_boot_ms;

	(void)state;
	/* A gate asks again when it is time to, not when it is too late. */
	assert_true(a->expires_boot_ms <= soft && soft < hard);
	clock_test_set(clock_mono_ms(), soft, clock_wall_ms());
	a = ask_free(w);
	assert_string_equal(a->value, "token-number-one");
	assert_true(a->expires_boot_ms <= hard);
	wait_for_count(w, &issuer.count, 2);
	while (recorded(w, "refresh fp=") == 0)
		turn(w);
	assert_string_equal(ask_free(w)->value, "token-number-two");
	assert_int_equal(recorded(w, "mint fp="), 1);
	world_end(w, &issuer);
}

/* What the issuer does, and what the guest reads of it. */
struct fault_row {
	const char *claim;
	const char *answer; /* NULL: nothing comes */
	enum mint_fault fault;
};

static char megabyte[(1 << 20) + 256];

static const struct fault_row fault_rows[] = {
	{ "too many requests",
	    "HTTP/1.1 429 Too Many\r\nRetry-After: 120\r\n\r\n", MINT_RATE },
	{ "an error of its own", "HTTP/1.1 500 Oops\r\n\r\nstack trace",
	    MINT_ISSUER },
	{ "a proxy before it is alone", "HTTP/1.1 502 Bad\r\n\r\n",
	    MINT_ISSUER },
	{ "it refuses the client",
	    "HTTP/1.1 401 No\r\nContent-Type: application/json\r\n\r\n"
	    "{\"error\":\"invalid_client\",\"error_description\":\"" SECRET
	    "\"}",
	    MINT_REFUSED },
	{ "an error that says 200", JSON "{\"error\":\"invalid_grant\"}",
	    MINT_REFUSED },
	{ "garbage", JSON "{\"access_token\":", MINT_ANSWER },
	{ "a name twice",
	    JSON "{\"access_token\":\"aaaaaaaa\",\"access_token\":\"bbbbbbbb\","
		 "\"token_type\":\"Bearer\"}",
	    MINT_ANSWER },
	{ "no token", JSON "{\"token_type\":\"Bearer\"}", MINT_ANSWER },
	{ "a token of another type",
	    JSON "{\"access_token\":\"aaaaaaaa\",\"token_type\":\"mac\"}",
	    MINT_ANSWER },
	{ "a line end within the token",
	    JSON "{\"access_token\":\"aaaaaaaa\\r\\nX: y\","
		 "\"token_type\":\"Bearer\"}",
	    MINT_ANSWER },
	{ "a life that is none",
	    JSON "{\"access_token\":\"aaaaaaaa\",\"token_type\":\"Bearer\","
		 "\"expires_in\":\"soon\"}",
	    MINT_ANSWER },
	{ "a redirect",
	    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
	    MINT_ANSWER },
	{ "1 MiB", megabyte, MINT_ANSWER },
	{ "another content type",
	    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	    "{\"access_token\":\"aaaaaaaa\",\"token_type\":\"Bearer\"}",
	    MINT_ANSWER },
	{ "not HTTP", "SSH-2.0-OpenSSH_9.2\r\n", MINT_ANSWER },
	{ "it hangs up", "", MINT_ANSWER },
	{ "a token that has ended", TOKEN("aaaaaaaa", "0"), MINT_EXPIRED },
	{ "a token that ends as it comes", TOKEN("aaaaaaaa", "1"),
	    MINT_EXPIRED },
	{ "more than was asked for",
	    JSON "{\"access_token\":\"aaaaaaaa\",\"token_type\":\"Bearer\","
		 "\"scope\":\"read admin\"}",
	    MINT_SCOPE },
};

static void
tells_the_class_of_a_failure_and_nothing_more(void **state)
{
	(void)state;
	memset(megabyte, ' ', sizeof(megabyte) - 1);
	memcpy(megabyte, JSON, strlen(JSON));
	for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]);
	     i++) {
		const struct fault_row *row = &fault_rows[i];
		const char *const script[] = { row->answer, NULL };
		const char *word = mint_faults[row->fault].word;
		struct issuer issuer;
		struct world *w = world_of(&issuer, script);
		const struct answer *a = ask_free(w);
		unsigned int asked;

		if (a->reason != REASON_CREDENTIAL_UNAVAILABLE ||
		    strcmp(a->detail, word) != 0)
			fail_msg("%s: %d \"%s\"", row->claim, (int)a->reason,
			    a->detail);
		/* Once more at once: the failure is kept, nobody asked. */
		asked = issuer.count;
		a = ask_free(w);
		assert_string_equal(a->detail, word);
		assert_true(issuer.count <= asked + 1);
		while (recorded(w, word) == 0)
			turn(w);
		world_end(w, &issuer);
	}
}

static void
a_slow_issuer_is_given_up_on(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "60"),
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);

	(void)state;
	issuer.is_silent = true;
	assert_string_equal(ask_free(w)->detail, "issuer-slow");
	world_end(w, &issuer);
}

static void
nobody_listens(void **state)
{
	static const char *const script[] = { "", NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);

	(void)state;
	(void)shutdown(issuer.fd, SHUT_RDWR);
	event_del(issuer.event);
	assert_string_equal(ask_free(w)->detail, "issuer-unreachable");
	world_end(w, &issuer);
}

/* Retry-After counts more than our own pause, which grows. */
static void
waits_as_long_as_it_is_told(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 429 Too Many\r\nRetry-After: 120\r\n\r\n",
		TOKEN("token-number-one", "600"), NULL
	};
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);

	(void)state;
	assert_string_equal(ask_free(w)->detail, "issuer-rate-limit");
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	clock_test_advance(119 * 1000);
	assert_string_equal(ask_free(w)->detail, "issuer-rate-limit");
	assert_int_equal(issuer.count, 1);
	clock_test_advance(2 * 1000);
	assert_string_equal(ask_free(w)->value, "token-number-one");
	world_end(w, &issuer);
}

/* It cannot be had anew: what is there is used to its end, and not beyond. */
static void
serves_until_the_end_and_never_after(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "600"),
		"HTTP/1.1 503 No\r\n\r\n", NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	const struct token *t;

	(void)state;
	assert_string_equal(ask_free(w)->value, "token-number-one");
	t = LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
	clock_test_set(clock_mono_ms(), t->soft_boot_ms, clock_wall_ms());
	assert_string_equal(ask_free(w)->value, "token-number-one");
	while (recorded(w, "mint: issuer-error") == 0)
		turn(w);
	clock_test_set(clock_mono_ms(), t->hard_boot_ms - 1, clock_wall_ms());
	assert_string_equal(ask_free(w)->value, "token-number-one");
	clock_test_set(clock_mono_ms(), t->hard_boot_ms, clock_wall_ms());
	assert_string_equal(ask_free(w)->detail, "issuer-error");
	world_end(w, &issuer);
}

static void
a_sandbox_has_a_budget_of_mints(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "600"),
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	struct sandbox *s = LIST_FIRST(&w->broker->sandboxes);
	unsigned int n = 0;

	(void)state;
	clock_test_set(clock_mono_ms(), clock_boot_ms(), clock_wall_ms());
	while (ask_free(w)->reason == REASON_NONE && n < TOKEN_BUDGET + 9) {
		token_end(s, w->broker->set->credentials[0]);
		n++;
	}
	assert_int_equal(n, TOKEN_BUDGET);
	assert_string_equal(w->answers[n].detail, "too-many-mints");
	clock_test_advance(2 * TOKEN_BUDGET_EVERY_MS);
	assert_int_equal(ask_free(w)->reason, REASON_NONE);
	world_end(w, &issuer);
}

static void
gives_back_at_the_end_of_the_sandbox(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "600"),
		"HTTP/1.1 503 No\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	struct sandbox *s = LIST_FIRST(&w->broker->sandboxes);

	(void)state;
	assert_string_equal(ask_free(w)->value, "token-number-one");
	token_end(s, NULL);
	/* It cannot at first, and is asked again. */
	wait_for_count(w, &issuer.count, 3);
	assert_non_null(strstr(issuer.last, "POST /revoke "));
	assert_non_null(strstr(issuer.last,
	    "token=token-number-one&token_type_hint=access_token"));
	assert_non_null(strstr(issuer.last, "Authorization: Basic "));
	world_end(w, &issuer);
}

static void
another_definition_ends_what_the_one_before_minted(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "600"),
		"HTTP/1.1 200 OK\r\n\r\n", TOKEN("token-number-two", "600"),
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);

	(void)state;
	assert_string_equal(ask_free(w)->value, "token-number-one");
	/* The same again: nothing is minted anew. */
	send_definition(w, minted(&issuer), SECRET "\n");
	send_configured(w, 1);
	assert_string_equal(ask_free(w)->value, "token-number-one");
	assert_int_equal(issuer.count, 1);
	/* Another secret. */
	send_definition(w, minted(&issuer), "another-secret\n");
	send_configured(w, 1);
	wait_for_count(w, &issuer.count, 2);
	assert_non_null(strstr(issuer.last, "POST /revoke "));
	assert_string_equal(ask_free(w)->value, "token-number-two");
	world_end(w, &issuer);
}

/* An origin's 401: once in a while, and of the value that it was sent only. */
static void
mints_anew_what_an_origin_does_not_take(void **state)
{
	static const char *const script[] = { TOKEN("token-number-one", "600"),
		"HTTP/1.1 200 OK\r\n\r\n", TOKEN("token-number-two", "600"),
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	const struct answer *a = ask_free(w);
	const uint64_t first = a->lease_id;
	unsigned int revoked = w->revoked_count;

	(void)state;
	assert_string_equal(a->value, "token-number-one");
	assert_true(
	    a->renew_boot_ms != 0 && a->renew_boot_ms <= clock_boot_ms());
	reject(w, first + 1);
	assert_string_equal(ask_free(w)->value, "token-number-one");
	reject(w, first);
	wait_for_count(w, &w->revoked_count, revoked + 1);
	assert_string_equal(w->revoked, "free");
	wait_for_count(w, &issuer.count, 2);
	assert_non_null(strstr(issuer.last, "token=token-number-one"));
	a = ask_free(w);
	assert_string_equal(a->value, "token-number-two");
	assert_true(a->renew_boot_ms > clock_boot_ms());
	/* Of the one before, and too soon: nothing happens. */
	revoked = w->revoked_count;
	reject(w, first);
	reject(w, a->lease_id);
	assert_string_equal(ask_free(w)->value, "token-number-two");
	assert_int_equal(w->revoked_count, revoked);
	assert_int_equal(issuer.count, 3);
	while (recorded(w, "invalidate fp=") == 0)
		turn(w);
	assert_int_equal(recorded(w, "invalidate"), 1);
	world_end(w, &issuer);
}

#define ROTATED(value, refresh)                                                \
	JSON "{\"access_token\":\"" value "\",\"token_type\":\"Bearer\","      \
	     "\"expires_in\":600,\"refresh_token\":\"" refresh "\"}"

static struct world *
world_of_refresh(struct issuer *i, const char *const *script,
    const int files[2], const char *first)
{
	const struct setting sources[] = {
		{ "client-secret", "file:/secret/free", SECRET },
		{ "refresh-token", "file:/secret/refresh", first },
		{ NULL, NULL, NULL },
	};
	struct world *w = world_new();
	struct message_broker_credential *m;

	issuer_init(i, w->base, script);
	send_journal(w, files);
	send_upstream(w);
	m = minted(i);
	set(m, "grant-type", "refresh_token", false);
	set_all(m, &sources[1]);
	send_with_sources(w, m, sources);
	begin_sandbox(w);
	return w;
}

/* One that was replaced is handed in never again, whatever has ended since. */
static void
follows_refresh_tokens_through_restarts(void **state)
{
	static const char *const one[] = {
		ROTATED("token-number-one", "second-refresh"), NULL
	};
	static const char *const two[] = { "HTTP/1.1 200 OK\r\n\r\n",
		ROTATED("token-number-two", "third-refresh"), NULL };
	struct issuer issuer;
	int files[2];
	struct world *w;

	(void)state;
	journal_files(files);
	w = world_of_refresh(&issuer, one, files, "first-refresh");
	assert_string_equal(ask_free(w)->value, "token-number-one");
	assert_non_null(strstr(issuer.last,
	    "grant_type=refresh_token&refresh_token=first-refresh&"));
	world_end(w, &issuer);
	/* Another process: what was minted is given back, then minted anew. */
	w = world_of_refresh(&issuer, two, files, "first-refresh");
	wait_for_count(w, &issuer.count, 1);
	assert_non_null(strstr(issuer.last, "token=token-number-one"));
	assert_string_equal(ask_free(w)->value, "token-number-two");
	assert_non_null(strstr(issuer.last, "refresh_token=second-refresh&"));
	world_end(w, &issuer);
	/* Somebody has put another one into the file: that counts. */
	w = world_of_refresh(&issuer, one, files, "fourth-refresh");
	assert_string_equal(ask_free(w)->value, "token-number-one");
	assert_non_null(strstr(issuer.last, "refresh_token=fourth-refresh&"));
	world_end(w, &issuer);
	(void)close(files[0]);
	(void)close(files[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_flight_serves_everybody_who_waits),
		cmocka_unit_test(refreshes_ahead_and_serves_what_is_there),
		cmocka_unit_test(tells_the_class_of_a_failure_and_nothing_more),
		cmocka_unit_test(a_slow_issuer_is_given_up_on),
		cmocka_unit_test(nobody_listens),
		cmocka_unit_test(waits_as_long_as_it_is_told),
		cmocka_unit_test(serves_until_the_end_and_never_after),
		cmocka_unit_test(a_sandbox_has_a_budget_of_mints),
		cmocka_unit_test(gives_back_at_the_end_of_the_sandbox),
		cmocka_unit_test(mints_anew_what_an_origin_does_not_take),
		cmocka_unit_test(follows_refresh_tokens_through_restarts),
		cmocka_unit_test(
		    another_definition_ends_what_the_one_before_minted),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
