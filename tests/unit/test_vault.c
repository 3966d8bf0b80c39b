/*
 * Secrets of Vault, against a double that answers as its HTTP API says: what
 * it is asked, in which order, and what of its answers is believed.
 */
#include "tests/unit/mint_support.h"

#include <cmocka.h>

#include "credential-broker/journal.h"
#include "credential-broker/revoker.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

#define NO_CONTENT "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
#define DENIED                                                                 \
	"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"         \
	"Connection: close\r\n\r\n{\"errors\":[\"permission denied\"]}"
#define ENVELOPE(lease, life, renewable)                                       \
	"{\"request_id\":\"d2d1\",\"lease_id\":\"" lease                       \
	"\",\"renewable\":" renewable ",\"lease_duration\":" life              \
	",\"wrap_info\":null,"                                                 \
	"\"warnings\":null,"
#define AUTH(token, policies, life, type)                                      \
	JSON ENVELOPE("", "0",                                                 \
	    "false") "\"data\":null,\"auth\":{"                                \
		     "\"client_token\":\"" token                               \
		     "\",\"accessor\":\"acc-" token                            \
		     "\",\"policies\":" policies                               \
		     ",\"token_policies\":" policies                           \
		     ",\"metadata\":null,\"lease_duration\":" life             \
		     ",\"renewable\":true,\"entity_id\":\"\",\"token_type\":"  \
		     "\"" type "\",\"orphan\":false,\"num_uses\":0}}"
#define LOGIN AUTH("hvs.login", "[\"default\",\"broker\"]", "3600", "service")
#define CHILD AUTH("hvs.child", "[\"ci\",\"default\"]", "900", "service")
#define KV2(fields, metadata)                                                  \
	JSON ENVELOPE("", "0",                                                 \
	    "false") "\"data\":{\"data\":" fields                              \
		     ",\"metadata\":{\"created_time\":\"2026-01-01T00:00:"     \
		     "00Z\","                                                  \
		     "\"custom_metadata\":null,\"version\":3" metadata "}},"   \
		     "\"auth\":null}"
#define LIVE ",\"deletion_time\":\"\",\"destroyed\":false"
#define VALUE KV2("{\"token\":\"of-the-vault\\n\",\"login\":\"ci-bot\"}", LIVE)
#define LEASED(lease, life, renewable, value)                                  \
	JSON ENVELOPE(lease, life,                                             \
	    renewable) "\"data\":{\"token\":\"" value                          \
		       "\",\"login\":\"v-ci\"},\"auth\":null}"
#define RENEWED(life)                                                          \
	JSON ENVELOPE("database/creds/ci/abc", life, "true") "\"data\":null,"  \
							     "\"auth\":null}"

/* What a definition may say beyond what all have. */
struct keys {
	const char *names[8][2]; /* a name that ends with '!' is a source */
};

static const struct keys approle = { { { "auth", "approle" },
    { "role-id", "r-1" }, { "secret-id!", "file:/secret/free" } } };

static struct message_broker_credential *
definition(const struct issuer *i, const struct keys *keys)
{
	static struct message_broker_credential m;

	(void)free_of(&m, BROKER_KIND_VAULT);
	set_url(&m, "vault-url", i, "");
	set(&m, "vault-policy", "ci", false);
	set(&m, "mount", "secret", false);
	set(&m, "secret", "ci/npm", false);
	set(&m, "field", "token", false);
	for (size_t n = 0; n < 8 && keys->names[n][0] != NULL; n++) {
		const char *text = keys->names[n][0];
		const size_t len = strcspn(text, "!");
		char name[BROKER_SETTING_NAME_SIZE] = "";

		assert_true(len < sizeof(name));
		memcpy(name, text, len);
		set(&m, name, keys->names[n][1], text[len] == '!');
	}
	return &m;
}

static struct world *
world_of(struct issuer *i, const char *const *script, const struct keys *keys)
{
	struct world *w = world_at(i, script);

	begin_with(w, definition(i, keys), SECRET "\n");
	return w;
}

static struct token *
token_of(const struct world *w)
{
	return LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
}

/* The nth request begins so, holds (NULL: has no) token, and has this body. */
static void
was_asked(const struct issuer *i, unsigned int n, const char *line,
    const char *token, const char *body)
{
	const char *text = i->kept[n], *end;
	char field[128];

	assert_true(n < i->count);
	if (strncmp(text, line, strlen(line)) != 0)
		fail_msg("request %u is no %s:\n%s", n, line, text);
	(void)snprintf(field, sizeof(field), "\r\nX-Vault-Token: %s\r\n",
	    token == NULL ? "" : token);
	if (token == NULL)
		assert_null(strstr(text, "X-Vault-Token"));
	else if (strstr(text, field) == NULL)
		fail_msg("request %u is not by %s:\n%s", n, token, text);
	assert_non_null(strstr(text, "\r\nX-Vault-Request: true\r\n"));
	assert_null(strstr(text, "Wrap"));
	end = strstr(text, "\r\n\r\n") + 4;
	if (strcmp(end, body) != 0)
		fail_msg("request %u asks for %s", n, end);
	if (*body != '\0')
		assert_non_null(
		    strstr(text, "\r\nContent-Type: application/json\r\n"));
}

#define CREATE_BODY                                                            \
	"{\"policies\":[\"ci\"],\"type\":\"service\",\"renewable\":true,"      \
	"\"ttl\":\"900s\",\"display_name\":\"tapward-ci-one\","                \
	"\"meta\":{\"tapward_sandbox\":\"ci-one\","                            \
	"\"tapward_credential\":\"free\"}}"

static void
end_sandbox(struct world *w, struct issuer *i, unsigned int want)
{
	token_end(LIST_FIRST(&w->broker->sandboxes), NULL);
	wait_for_count(w, &i->count, want);
	while (revoker_count(w->broker->revoker) > 0)
		turn(w);
}

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
	    { { { "auth", "token" }, { "auth-token!", "file:/secret/free" },
		{ "token-role", "ci" }, { "engine", "kv1" },
		{ "user-field", "login" } } },
	    { CHILD,
		JSON ENVELOPE("", "2764800", "false") "\"data\":{\"token\":"
						      "\"of-kv-one\","
						      "\"login\":\"me\"}}" },
	    2, NULL, NULL, "POST /v1/auth/token/create/ci ", SECRET,
	    "GET /v1/secret/ci/npm ", "of-kv-one", "me", "hvs.child" },
	{ "a JWT, at a mount of its own, in a namespace",
	    { { { "auth", "jwt" }, { "auth-role", "tapward" },
		{ "auth-mount", "jwt/ci" }, { "jwt!", "file:/secret/free" },
		{ "namespace", "team/a" } } },
	    { LOGIN, CHILD, VALUE }, 3, "POST /v1/auth/jwt/ci/login ",
	    "{\"role\":\"tapward\",\"jwt\":\"" SECRET "\"}",
	    "POST /v1/auth/token/create ", "hvs.login",
	    "GET /v1/secret/data/ci/npm ", "of-the-vault", "", "hvs.login" },
	{ "a service account of Kubernetes, what is made for whoever asks",
	    { { { "auth", "kubernetes" }, { "auth-role", "tapward" },
		{ "jwt!", "file:/secret/free" }, { "engine", "dynamic" },
		{ "user-field", "login" } } },
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

static const struct keys dynamic = { { { "auth", "token" },
    { "auth-token!", "file:/secret/free" }, { "engine", "dynamic" } } };

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
	static const struct keys kv2 = { { { "auth", "token" },
	    { "auth-token!", "file:/secret/free" } } };

	(void)state;
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		const char *script[7] = { NULL };
		struct issuer issuer;
		struct world *w;

		memcpy(script, scripts[i], sizeof(scripts[i]));
		w = world_of(&issuer, script, &kv2);
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

/* What is in use is not given back because another could not be had. */
static void
a_renewal_that_fails_harms_nobody(void **state)
{
	static const char *const script[] = { CHILD, VALUE, CHILD,
		"HTTP/1.1 503 Sealed\r\nConnection: close\r\n\r\n", NO_CONTENT,
		NULL };
	static const struct keys kv2 = { { { "auth", "token" },
	    { "auth-token!", "file:/secret/free" } } };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script, &kv2);
	const struct token *t;

	(void)state;
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	t = token_of(w);
	clock_test_set(clock_mono_ms(), t->soft_boot_ms, clock_wall_ms());
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	wait_for_count(w, &issuer.count, 4);
	while (t->mint != NULL)
		turn(w);
	assert_int_equal(t->fault, MINT_ISSUER);
	assert_string_equal(ask_free(w)->value, "of-the-vault");
	assert_int_equal(revoker_count(w->broker->revoker), 0);
	end_sandbox(w, &issuer, 5);
	was_asked(&issuer, 4, "POST /v1/auth/token/revoke-self ", "hvs.child",
	    "");
	world_end(w, &issuer);
}

/* --- what is not believed ------------------------------------------------- */

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
	    { { { "auth", "approle" },
		{ "secret-id!", "file:/secret/free" } } },
	    SECRET, "auth = approle needs `role-id = NAME`" },
	{ "no secret to log in with", { { { "auth", "token" } } }, NULL,
	    "auth = token needs `auth-token = file:/PATH`" },
	{ "a key of another login",
	    { { { "auth", "token" }, { "auth-token!", "file:/secret/free" },
		{ "role-id", "r" } } },
	    SECRET, "role-id is of no use with auth = token: take it out" },
	{ "a mount of no login",
	    { { { "auth", "token" }, { "auth-token!", "file:/secret/free" },
		{ "auth-mount", "token" } } },
	    SECRET, "auth-mount is of no use with auth = token: take it out" },
	{ "a file that holds no token",
	    { { { "auth", "token" }, { "auth-token!", "file:/secret/free" } } },
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
		    logs_in_makes_a_token_reads_and_gives_all_back),
		cmocka_unit_test(each_login_and_each_engine),
		cmocka_unit_test(renews_its_tokens_and_reads_the_secret_anew),
		cmocka_unit_test(
		    renews_the_lease_of_what_was_made_and_keeps_it),
		cmocka_unit_test(starts_over_with_what_cannot_be_renewed),
		cmocka_unit_test(a_renewal_that_fails_harms_nobody),
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
