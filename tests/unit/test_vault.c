/*
 * Secrets of Vault: what it is asked, in which order, and what is renewed.
 */
#include "tests/unit/vault_support.h"

#include "credential-broker/journal.h"

static void
logs_in_makes_a_token_reads_and_gives_all_back(void **state)
{
	static const char *const script[] = { LOGIN, CHILD, VALUE, NO_CONTENT,
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &approle);
	const struct answer *a = ask_free(w);

	(void)state;
	/* The line end that a file brought along is no part of it. */
	assert_string_equal(a->value, "of-the-vault");
	was_asked(&issuer, 0, "POST /v1/auth/approle/login ", NULL,
	    "{\"role_id\":\"r-1\",\"secret_id\":\"" SECRET "\"}");
	assert_null(strstr(issuer.kept[0], "X-Vault-Namespace"));
	was_asked(&issuer, 1, "POST /v1/auth/token/create ", "hvs.login",
	    CREATE_BODY);
	was_asked(&issuer, 2, "GET /v1/secret/data/ci/npm ", "hvs.child", "");
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	assert_int_equal(issuer.count, 3);
	/* One question ends the login, and with it what it made. */
	end_sandbox(w, &issuer, 4);
	was_asked(&issuer, 3, "POST /v1/auth/token/revoke-self ", "hvs.login",
	    "");
	assert_int_equal(issuer.count, 4);
	world_end(w, &issuer);
}

struct login_row {
	const char *claim;
	struct keys keys;
	const char *answers[5]; /* but for that to what gives it back */
	unsigned int count;     /* of them */
	const char *login, *body;
	const char *create, *parent;
	const char *read, *value, *user;
	const char *root;
};

static const struct login_row login_rows[] = {
	{ "a token, of which a role makes others",
	    { { { "auth", "token", NULL }, { "auth-token", "file:/s", SECRET },
		{ "token-role", "ci", NULL }, { "engine", "kv1", NULL },
		{ "user-field", "login", NULL } } },
	    { CHILD,
		JSON ENVELOPE("", "2764800", "false") "\"data\":{\"token\":"
						      "\"of-kv-one\","
						      "\"login\":\"me\"}}" },
	    2, NULL, NULL, "POST /v1/auth/token/create/ci ", SECRET,
	    "GET /v1/secret/ci/npm ", "of-kv-one", "me", "hvs.child" },
	{ "a JWT, at a mount of its own, in a namespace",
	    { { { "auth", "jwt", NULL }, { "auth-role", "tapward", NULL },
		{ "auth-mount", "jwt/ci", NULL }, { "jwt", "file:/s", SECRET },
		{ "namespace", "team/a", NULL } } },
	    { LOGIN, CHILD, VALUE }, 3, "POST /v1/auth/jwt/ci/login ",
	    "{\"role\":\"tapward\",\"jwt\":\"" SECRET "\"}",
	    "POST /v1/auth/token/create ", "hvs.login",
	    "GET /v1/secret/data/ci/npm ", "of-the-vault", "", "hvs.login" },
	{ "a service account of Kubernetes, what is made for whoever asks",
	    { { { "auth", "kubernetes", NULL },
		{ "auth-role", "tapward", NULL }, { "jwt", "file:/s", SECRET },
		{ "engine", "dynamic", NULL },
		{ "user-field", "login", NULL } } },
	    { LOGIN, CHILD, LEASED("a/b/c", "600", "true", "made-for-us") }, 3,
	    "POST /v1/auth/kubernetes/login ",
	    "{\"role\":\"tapward\",\"jwt\":\"" SECRET "\"}",
	    "POST /v1/auth/token/create ", "hvs.login",
	    "GET /v1/secret/ci/npm ", "made-for-us", "v-ci", "hvs.login" },
};

static void
each_login_and_each_engine(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(login_rows) / sizeof(login_rows[0]);
	     i++) {
		const struct login_row *r = &login_rows[i];
		const char *script[6] = { NULL };
		struct issuer issuer;
		struct world *w;
		const struct answer *a;
		unsigned int n = 0;

		memcpy(script, r->answers, r->count * sizeof(*script));
		script[r->count] = NO_CONTENT;
		w = world_of(&issuer, script, &r->keys);
		a = ask_free(w);
		if (strcmp(a->value, r->value) != 0)
			fail_msg("%s: %s", r->claim, a->detail);
		assert_string_equal(a->user, r->user);
		if (r->login != NULL)
			was_asked(&issuer, n++, r->login, NULL, r->body);
		was_asked(&issuer, n++, r->create, r->parent, CREATE_BODY);
		was_asked(&issuer, n, r->read, "hvs.child", "");
		assert_int_equal(strstr(issuer.kept[n],
				     "X-Vault-Namespace: team/a\r\n") != NULL,
		    i == 1);
		end_sandbox(w, &issuer, r->count + 1);
		was_asked(&issuer, r->count, "POST /v1/auth/token/revoke-self ",
		    r->root, "");
		world_end(w, &issuer);
	}
}

/* --- renewal -------------------------------------------------------------- */

/* Another is fetched behind the one that is there. */
static void
renew(struct world *w, struct issuer *i, unsigned int want)
{
	const struct token *t = token_of(w);
	const uint64_t number = t->number;

	clock_test_set(clock_mono_ms(), t->soft_boot_ms, clock_wall_ms());
	assert_int_equal(ask_free(w)->reason, REASON_NONE);
	wait_for_count(w, &i->count, want);
	while (t->mint != NULL)
		turn(w);
	assert_true(t->number != number);
}

static void
renews_its_tokens_and_reads_the_secret_anew(void **state)
{
	static const char *const script[] = { LOGIN, CHILD, VALUE, LOGIN, CHILD,
		KV2("{\"token\":\"of-version-four\"}", LIVE), NO_CONTENT,
		NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &approle);

	(void)state;
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	renew(w, &issuer, 6);
	was_asked(&issuer, 3, "POST /v1/auth/token/renew-self ", "hvs.login",
	    "{\"increment\":\"900s\"}");
	was_asked(&issuer, 4, "POST /v1/auth/token/renew-self ", "hvs.child",
	    "{\"increment\":\"900s\"}");
	was_asked(&issuer, 5, "GET /v1/secret/data/ci/npm ", "hvs.child", "");
	assert_string_equal(ask_free(w)->value, "of-version-four");
	/* The first was not given back: they have one root. */
	end_sandbox(w, &issuer, 7);
	was_asked(&issuer, 6, "POST /v1/auth/token/revoke-self ", "hvs.login",
	    "");
	assert_int_equal(issuer.count, 7);
	world_end(w, &issuer);
}

static const struct keys dynamic = { { { "auth", "token", NULL },
    { "auth-token", "file:/s", SECRET }, { "engine", "dynamic", NULL } } };

static void
renews_the_lease_of_what_was_made_and_keeps_it(void **state)
{
	static const char *const script[] = { CHILD,
		LEASED("db/creds/ci/abc", "900", "true", "made-for-us"), CHILD,
		RENEWED("900"), CHILD, DENIED,
		LEASED("db/creds/ci/def", "900", "true", "made-again"),
		NO_CONTENT, NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &dynamic);

	(void)state;
	assert_string_equal(ask_free(w)->value, "made-for-us");
	renew(w, &issuer, 4);
	was_asked(&issuer, 3, "POST /v1/sys/leases/renew ", "hvs.child",
	    "{\"lease_id\":\"db/creds/ci/abc\",\"increment\":900}");
	assert_string_equal(ask_free(w)->value, "made-for-us");
	/* Its lease is gone: another is made, with the same token. */
	renew(w, &issuer, 7);
	assert_string_equal(ask_free(w)->value, "made-again");
	end_sandbox(w, &issuer, 8);
	assert_int_equal(issuer.count, 8);
	world_end(w, &issuer);
}

static const struct keys stored = { { { "auth", "token", NULL },
    { "auth-token", "file:/s", SECRET } } };

/* The most that a token may live is reached. */
static void
starts_over_with_what_cannot_be_renewed(void **state)
{
	static const char *const short_child =
	    AUTH("hvs.child", "[\"ci\"]", "110", "service");
	static const char *const other =
	    AUTH("hvs.other", "[\"ci\"]", "900", "service");
	const char *const scripts[][6] = {
		{ CHILD, VALUE, short_child, other, VALUE, NO_CONTENT },
		{ CHILD, VALUE, DENIED, other, VALUE, NO_CONTENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		const char *script[7] = { NULL };
		struct issuer issuer;
		struct world *w;

		memcpy(script, scripts[i], sizeof(scripts[i]));
		w = world_of(&issuer, script, &stored);
		assert_string_equal(ask_free(w)->value, "of-the-vault");
		renew(w, &issuer, 5);
		was_asked(&issuer, 2, "POST /v1/auth/token/renew-self ",
		    "hvs.child", "{\"increment\":\"900s\"}");
		was_asked(&issuer, 3, "POST /v1/auth/token/create ", SECRET,
		    CREATE_BODY);
		/* Both are given back, each by itself. */
		end_sandbox(w, &issuer, 7);
		assert_int_equal(issuer.count, 7);
		world_end(w, &issuer);
	}
}

static const struct {
	const char *answer; /* to the second read */
	enum mint_fault fault;
} failed_renewals[] = {
	{ "HTTP/1.1 503 Sealed\r\nConnection: close\r\n\r\n", MINT_ISSUER },
	/* somebody has stored what no field can hold */
	{ KV2("{\"token\":\"two\\nlines-of-it\"}", LIVE), MINT_ANSWER },
};

/* What is in use is not given back because another could not be had. */
static void
a_renewal_that_fails_harms_nobody(void **state)
{
	(void)state;
	for (size_t i = 0;
	     i < sizeof(failed_renewals) / sizeof(failed_renewals[0]); i++) {
		const char *const script[] = { CHILD, VALUE, CHILD,
			failed_renewals[i].answer, NO_CONTENT, NULL };
		struct issuer issuer;
		struct world *w = world_of(&issuer, script, &stored);
		const struct token *t;

		assert_string_equal(ask_free(w)->value, "of-the-vault");
		t = token_of(w);
		clock_test_set(clock_mono_ms(), t->soft_boot_ms,
		    clock_wall_ms());
		assert_string_equal(ask_free(w)->value, "of-the-vault");
		wait_for_count(w, &issuer.count, 4);
		while (t->mint != NULL)
			turn(w);
		assert_int_equal(t->fault, failed_renewals[i].fault);
		assert_string_equal(ask_free(w)->value, "of-the-vault");
		assert_int_equal(revoker_count(w->broker->revoker), 0);
		end_sandbox(w, &issuer, 5);
		was_asked(&issuer, 4, "POST /v1/auth/token/revoke-self ",
		    "hvs.child", "");
		world_end(w, &issuer);
	}
}

/* --- what ends by itself, and what does not ------------------------------- */

static void
a_token_outlives_what_was_read_with_it_and_is_given_back(void **state)
{
	static const char *const script[] = { CHILD,
		LEASED("db/creds/ci/abc", "60", "false", "made-for-us"),
		NO_CONTENT, NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &dynamic);

	(void)state;
	assert_string_equal(ask_free(w)->value, "made-for-us");
	clock_test_set(clock_mono_ms(), clock_boot_ms() + 120 * 1000,
	    clock_wall_ms());
	end_sandbox(w, &issuer, 3);
	was_asked(&issuer, 2, "POST /v1/auth/token/revoke-self ", "hvs.child",
	    "");
	world_end(w, &issuer);
}

static void
a_token_that_has_ended_is_not_asked_to(void **state)
{
	static const char *const script[] = { CHILD, VALUE, NO_CONTENT, NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &stored);

	(void)state;
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	clock_test_set(clock_mono_ms(), clock_boot_ms() + 901 * 1000,
	    clock_wall_ms());
	token_end(LIST_FIRST(&w->broker->sandboxes), NULL);
	assert_int_equal(revoker_count(w->broker->revoker), 0);
	assert_int_equal(issuer.count, 2);
	world_end(w, &issuer);
}

/* Its root was given back meanwhile, so what comes of it is worth nothing. */
static void
what_was_rejected_is_not_renewed(void **state)
{
	static const char *const script[] = { CHILD, VALUE, NO_CONTENT, CHILD,
		VALUE, NO_CONTENT, NULL };
	struct secret left = SECRET_NONE;
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &stored);
	const struct token *t;
	uint64_t id;

	(void)state;
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	t = token_of(w);
	clock_test_set(clock_mono_ms(), t->soft_boot_ms, clock_wall_ms());
	issuer.is_silent = true;
	reject(w, ask_free(w)->lease_id);
	wait_for_count(w, &issuer.count, 4);
	was_asked(&issuer, 3, "POST /v1/auth/token/revoke-self ", "hvs.child",
	    "");
	/* First the question that came last. */
	issuer.is_silent = false;
	issuer_answer(LIST_FIRST(&issuer.peers));
	issuer_answer(LIST_FIRST(&issuer.peers));
	wait_for_count(w, &issuer.count, 6);
	while (revoker_count(w->broker->revoker) > 0)
		turn(w);
	assert_int_equal(t->number, 0);
	assert_int_equal(t->fault, MINT_EXPIRED);
	assert_false(journal_orphan(w->broker->journal,
	    w->broker->set->credentials[0], &id, &left));
	world_end(w, &issuer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    logs_in_makes_a_token_reads_and_gives_all_back),
		cmocka_unit_test(each_login_and_each_engine),
		cmocka_unit_test(renews_its_tokens_and_reads_the_secret_anew),
		cmocka_unit_test(
		    renews_the_lease_of_what_was_made_and_keeps_it),
		cmocka_unit_test(starts_over_with_what_cannot_be_renewed),
		cmocka_unit_test(a_renewal_that_fails_harms_nobody),
		cmocka_unit_test(
		    a_token_outlives_what_was_read_with_it_and_is_given_back),
		cmocka_unit_test(a_token_that_has_ended_is_not_asked_to),
		cmocka_unit_test(what_was_rejected_is_not_renewed),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
