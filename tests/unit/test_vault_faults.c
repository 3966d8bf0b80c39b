/*
 * Secrets of Vault: what of its answers is not believed, what is given back
 * whatever happens, and what the configuration may not say.
 */
#include "tests/unit/vault_support.h"

#include "credential-broker/journal.h"

struct fault_row {
	const char *claim;
	const char *answers[4];
	unsigned int count; /* of them; the last one is what is wrong */
	bool has_root;      /* and something has to be given back */
	enum mint_fault fault;
};

#define PLAIN(status) "HTTP/1.1 " status "\r\nConnection: close\r\n\r\n"

static const struct fault_row fault_rows[] = {
	{ "a login that is refused", { DENIED }, 1, false, MINT_REFUSED },
	{ "a sealed vault", { PLAIN("503 Sealed") }, 1, false, MINT_ISSUER },
	{ "a standby that is slow to know", { LOGIN, PLAIN("412 Not yet") }, 2,
	    true, MINT_ISSUER },
	{ "a limit",
	    { "HTTP/1.1 429 No\r\nRetry-After: 9\r\nConnection: "
	      "close\r\n\r\n" },
	    1, false, MINT_RATE },
	{ "a redirect to the active node",
	    { "HTTP/1.1 307 No\r\nLocation: http://127.0.0.1:1/\r\n"
	      "Connection: close\r\n\r\n" },
	    1, false, MINT_ANSWER },
	{ "a page for people",
	    { "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
	      "Connection: close\r\n\r\n<p>" },
	    1, false, MINT_ANSWER },
	{ "no JSON", { JSON "{\"auth\":{" }, 1, false, MINT_ANSWER },
	{ "no token", { JSON "{\"auth\":{\"lease_duration\":60}}" }, 1, false,
	    MINT_ANSWER },
	{ "one that is asked a second factor of",
	    { JSON "{\"auth\":{\"client_token\":\"\",\"lease_duration\":0,"
		   "\"mfa_requirement\":{}}}" },
	    1, false, MINT_ANSWER },
	{ "a login that is wrapped",
	    { JSON "{\"auth\":null,\"wrap_info\":{\"token\":\"hvs.wrapped\","
		   "\"ttl\":60}}" },
	    1, false, MINT_ANSWER },
	{ "a batch token, which nobody can give back",
	    { AUTH("hvb.login", "[\"ci\"]", "60", "batch") }, 1, false,
	    MINT_ANSWER },
	{ "a token with a line end",
	    { AUTH("hvs.a\\r\\nX-Other: b", "[\"ci\"]", "60", "service") }, 1,
	    false, MINT_ANSWER },
	{ "a token without life",
	    { AUTH("hvs.login", "[\"ci\"]", "0", "service") }, 1, true,
	    MINT_EXPIRED },
	{ "a policy that was not asked for",
	    { LOGIN,
		AUTH("hvs.child", "[\"ci\",\"admin\"]", "900", "service") },
	    2, true, MINT_SCOPE },
	{ "root", { LOGIN, AUTH("hvs.child", "[\"root\"]", "900", "service") },
	    2, true, MINT_SCOPE },
	{ "policies that are none",
	    { LOGIN, AUTH("hvs.child", "null", "900", "service") }, 2, true,
	    MINT_SCOPE },
	{ "a token that may not be made", { LOGIN, DENIED }, 2, true,
	    MINT_REFUSED },
	{ "a secret that is not there",
	    { LOGIN, CHILD,
		"HTTP/1.1 404 No\r\nContent-Type: application/json\r\n"
		"Connection: close\r\n\r\n{\"errors\":[]}" },
	    3, true, MINT_REFUSED },
	{ "another field",
	    { LOGIN, CHILD, KV2("{\"key\":\"aaaaaaaa\"}", LIVE) }, 3, true,
	    MINT_ANSWER },
	{ "a field that is no text",
	    { LOGIN, CHILD, KV2("{\"token\":7}", LIVE) }, 3, true,
	    MINT_ANSWER },
	{ "a version that was deleted",
	    { LOGIN, CHILD,
		KV2("null",
		    ",\"deletion_time\":\"2026-01-01T00:00:00Z\","
		    "\"destroyed\":false") },
	    3, true, MINT_EXPIRED },
	{ "a version that was destroyed",
	    { LOGIN, CHILD,
		KV2("{\"token\":\"aaaaaaaa\"}",
		    ",\"deletion_time\":\"\",\"destroyed\":true") },
	    3, true, MINT_ANSWER },
	{ "an engine of version 1",
	    { LOGIN, CHILD,
		JSON ENVELOPE("", "60", "false") "\"data\":{\"token\":"
						 "\"aaaaaaaa\"}}" },
	    3, true, MINT_ANSWER },
	{ "a secret that is wrapped",
	    { LOGIN, CHILD,
		JSON "{\"data\":null,\"wrap_info\":{\"token\":\"hvs.w\"}}" },
	    3, true, MINT_ANSWER },
	{ "a value that no field can hold",
	    { LOGIN, CHILD, KV2("{\"token\":\"two\\nlines-of-it\"}", LIVE) }, 3,
	    true, MINT_ANSWER },
};

static void
a_failure_is_told_by_its_class_and_leaves_no_token(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(fault_rows) / sizeof(fault_rows[0]);
	     i++) {
		const struct fault_row *r = &fault_rows[i];
		const char *script[6] = { NULL };
		struct issuer issuer;
		struct world *w;
		const struct answer *a;

		memcpy(script, r->answers, r->count * sizeof(*script));
		script[r->count] = NO_CONTENT;
		w = world_of(&issuer, script, &approle);
		a = ask_free(w);
		if (a->reason != REASON_CREDENTIAL_UNAVAILABLE ||
		    strcmp(a->detail, mint_faults[r->fault].word) != 0)
			fail_msg("%s: \"%s\"", r->claim, a->detail);
		while (revoker_count(w->broker->revoker) > 0)
			turn(w);
		if (issuer.count != r->count + (r->has_root ? 1 : 0))
			fail_msg("%s: %u requests", r->claim, issuer.count);
		if (r->has_root)
			was_asked(&issuer, r->count,
			    "POST /v1/auth/token/revoke-self ", "hvs.login",
			    "");
		world_end(w, &issuer);
	}
}

static void
a_secret_with_an_end_is_not_used_beyond_it(void **state)
{
	char at[CLOCK_TEXT_SIZE], answer[1024];
	const char *const script[] = { LOGIN, CHILD, answer, NULL };
	struct issuer issuer;
	struct world *w;

	(void)state;
	(void)clock_text(clock_wall_ms() + 300 * 1000, at);
	(void)snprintf(answer, sizeof(answer),
	    JSON "{\"data\":{\"data\":{\"token\":\"aaaaaaaa\"},\"metadata\":{"
		 "\"deletion_time\":\"%s\",\"destroyed\":false}}}",
	    at);
	w = world_of(&issuer, script, &approle);
	assert_string_equal(ask_free(w)->value, "aaaaaaaa");
	assert_true(token_of(w)->hard_boot_ms <= clock_boot_ms() + 300 * 1000);
	world_end(w, &issuer);
}

/* --- giving back ---------------------------------------------------------- */

/* 403 is said of a token that has ended, and of one that may not end itself. */
static void
a_token_counts_as_gone_when_it_is_nobodys(void **state)
{
	static const char *const alive = JSON "{\"data\":{\"id\":\"x\"}}";
	const char *const scripts[][6] = {
		{ LOGIN, CHILD, VALUE, DENIED, DENIED },
		{ LOGIN, CHILD, VALUE, DENIED, alive },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct secret left = SECRET_NONE;
		struct issuer issuer;
		struct world *w = world_of(&issuer, scripts[i], &approle);
		uint64_t id;

		assert_int_equal(ask_free(w)->reason, REASON_NONE);
		end_sandbox(w, &issuer, 5);
		was_asked(&issuer, 4, "GET /v1/auth/token/lookup-self ",
		    "hvs.login", "");
		/* One that lives is left for the next start to try. */
		assert_int_equal(journal_orphan(w->broker->journal,
				     w->broker->set->credentials[0], &id,
				     &left),
		    i == 1);
		secret_done(&left);
		world_end(w, &issuer);
	}
}

static struct world *
world_of_files(struct issuer *i, const char *const *script, const int files[2])
{
	struct world *w = world_new();

	issuer_init(i, w->base, script);
	send_journal(w, files);
	send_upstream(w);
	begin_with(w, definition(i, &approle), SECRET "\n");
	return w;
}

/*
 * It ends, unasked, once it has sent so many requests: what the next one finds
 * written down is given back.
 */
static void
another_broker_gives_back_what_one_had_begun(void **state)
{
	static const char *const script[] = { LOGIN, CHILD, VALUE, NULL };
	static const char *const second[] = { NO_CONTENT, NULL };

	(void)state;
	for (unsigned int stop = 2; stop <= 3; stop++) {
		struct issuer issuer;
		struct world *w;
		int files[2];

		journal_files(files);
		w = world_of_files(&issuer, script, files);
		request(w, "free", "free.acme.example", 443, SCHEME_HTTPS,
		    "GET", "/any");
		wait_for_count(w, &issuer.count, stop);
		world_end(w, &issuer);
		assert_int_equal(issuer.count, stop);
		w = world_of_files(&issuer, second, files);
		wait_for_count(w, &issuer.count, 1);
		was_asked(&issuer, 0, "POST /v1/auth/token/revoke-self ",
		    "hvs.login", "");
		while (revoker_count(w->broker->revoker) > 0)
			turn(w);
		world_end(w, &issuer);
		(void)close(files[0]);
		(void)close(files[1]);
	}
}

/* --- what the configuration may not say ----------------------------------- */

static const struct {
	const char *claim;
	struct keys keys;
	const char *secret, *want;
} bad[] = {
	{ "no name to log in by",
	    { { { "auth", "approle", NULL },
		{ "secret-id", "file:/s", SECRET } } },
	    SECRET, "auth = approle needs `role-id = NAME`" },
	{ "no secret to log in with", { { { "auth", "token", NULL } } }, NULL,
	    "auth = token needs `auth-token = file:/PATH`" },
	{ "a key of another login",
	    { { { "auth", "token", NULL }, { "auth-token", "file:/s", SECRET },
		{ "role-id", "r", NULL } } },
	    SECRET, "role-id is of no use with auth = token: take it out" },
	{ "a mount of no login",
	    { { { "auth", "token", NULL }, { "auth-token", "file:/s", SECRET },
		{ "auth-mount", "token", NULL } } },
	    SECRET, "auth-mount is of no use with auth = token: take it out" },
	{ "a file that holds no token",
	    { { { "auth", "token", NULL },
		{ "auth-token", "file:/s", SECRET } } },
	    "Key: Value", "auth-token does not hold a token of Vault" },
};

static void
what_cannot_work_is_an_error_of_its_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		static const char *const script[] = { DENIED, NULL };
		struct issuer issuer;
		struct world *w = world_at(&issuer, script);
		struct message_broker_credential *m =
		    definition(&issuer, &bad[i].keys);

		if (bad[i].secret != NULL)
			send_definition(w, m, bad[i].secret);
		else
			send_definition_from(w, m, -1);
		send_configured(w, 1);
		if (strstr(w->done.text, bad[i].want) == NULL)
			fail_msg("%s: \"%s\"", bad[i].claim, w->done.text);
		world_end(w, &issuer);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    a_failure_is_told_by_its_class_and_leaves_no_token),
		cmocka_unit_test(a_secret_with_an_end_is_not_used_beyond_it),
		cmocka_unit_test(a_token_counts_as_gone_when_it_is_nobodys),
		cmocka_unit_test(another_broker_gives_back_what_one_had_begun),
		cmocka_unit_test(what_cannot_work_is_an_error_of_its_key),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
