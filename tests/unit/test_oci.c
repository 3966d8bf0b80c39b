/*
 * Tokens of OCI registries: what a request needs one for, what the token
 * server is asked, and what of its answers is believed.
 */
#include "tests/unit/mint_support.h"

#include <cmocka.h>

#include "credential-broker/oci_scope.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

#define D "sha256:0123456789abcdef"

struct scope_row {
	const char *method, *path;
	enum oci_access most;
	const char *scope; /* NULL: there is none */
};

static const struct scope_row scope_rows[] = {
	{ "GET", "/v2/", OCI_PULL, "" },
	{ "GET", "/v2/app/manifests/latest", OCI_PULL, "repository:app:pull" },
	{ "HEAD", "/v2/acme/app/manifests/" D, OCI_PULL,
	    "repository:acme/app:pull" },
	{ "GET", "/v2/a/b/c-d_e.f/blobs/" D, OCI_PULL,
	    "repository:a/b/c-d_e.f:pull" },
	{ "GET", "/v2/app/tags/list", OCI_PULL, "repository:app:pull" },
	{ "GET", "/v2/app/referrers/" D, OCI_PULL, "repository:app:pull" },
	/* names that hold the words of endpoints */
	{ "GET", "/v2/manifests/blobs/" D, OCI_PULL,
	    "repository:manifests:pull" },
	{ "GET", "/v2/a/manifests/manifests/v1", OCI_PULL,
	    "repository:a/manifests:pull" },
	{ "GET", "/v2/a/blobs/uploads/blobs/uploads/x", OCI_PUSH,
	    "repository:a/blobs/uploads:pull,push" },
	/* what writes */
	{ "POST", "/v2/app/blobs/uploads/", OCI_PUSH,
	    "repository:app:pull,push" },
	{ "PATCH", "/v2/app/blobs/uploads/5f/part", OCI_PUSH,
	    "repository:app:pull,push" },
	{ "PUT", "/v2/app/manifests/v1", OCI_DELETE,
	    "repository:app:pull,push" },
	{ "GET", "/v2/app/blobs/uploads/5f", OCI_PUSH,
	    "repository:app:pull,push" },
	{ "DELETE", "/v2/app/blobs/uploads/5f", OCI_PUSH,
	    "repository:app:pull,push" },
	{ "DELETE", "/v2/app/manifests/" D, OCI_DELETE,
	    "repository:app:delete" },
	/* beyond the most */
	{ "POST", "/v2/app/blobs/uploads/", OCI_PULL, NULL },
	{ "GET", "/v2/app/blobs/uploads/5f", OCI_PULL, NULL },
	{ "PUT", "/v2/app/manifests/v1", OCI_PULL, NULL },
	{ "DELETE", "/v2/app/manifests/v1", OCI_PUSH, NULL },
	/* no endpoint of one repository */
	{ "GET", "/v2", OCI_PULL, NULL },
	{ "GET", "/v2/_catalog", OCI_PULL, NULL },
	{ "GET", "/v2/app", OCI_PULL, NULL },
	{ "GET", "/v2/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/app/manifests/", OCI_PULL, NULL },
	{ "GET", "/v2/app/tags/other", OCI_PULL, NULL },
	{ "GET", "/token", OCI_PULL, NULL },
	{ "GET", "/v3/app/manifests/v1", OCI_PULL, NULL },
	{ "TRACE", "/v2/app/manifests/v1", OCI_DELETE, NULL },
	{ "get", "/v2/app/manifests/v1", OCI_PULL, NULL },
	/* no name, or one that says more than it seems */
	{ "GET", "/v2/App/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/-app/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/app-/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/a-/b/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/a%2Fb/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/app:push/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/a,b/manifests/v1", OCI_PULL, NULL },
	{ "GET", "/v2/app%20repository:x:push/manifests/v1", OCI_PULL, NULL },
};

static void
a_request_needs_one_repository_and_one_access(void **state)
{
	char scope[KIND_SCOPE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(scope_rows) / sizeof(scope_rows[0]);
	     i++) {
		const struct scope_row *r = &scope_rows[i];
		const bool is = oci_scope(r->method, span_of(r->path), r->most,
		    scope, sizeof(scope));

		if (is != (r->scope != NULL) ||
		    (is && strcmp(scope, r->scope) != 0))
			fail_msg("%s %s: %s", r->method, r->path,
			    is ? scope : "none");
	}
}

static void
what_does_not_fit_is_refused(void **state)
{
	char path[400] = "/v2/", scope[32];

	(void)state;
	assert_true(oci_scope("GET", span_of("/v2/app/manifests/v1"), OCI_PULL,
	    scope, sizeof("repository:app:pull")));
	assert_false(oci_scope("GET", span_of("/v2/app/manifests/v1"), OCI_PULL,
	    scope, sizeof("repository:app:pull") - 1));
	memset(path + 4, 'a', 256);
	memcpy(path + 260, "/manifests/v1", sizeof("/manifests/v1"));
	assert_false(oci_scope("GET", span_of(path), OCI_PULL, path + 300,
	    sizeof(path) - 300));
}

/* --- with a token server -------------------------------------------------- */

static struct message_broker_credential *
registry(const struct issuer *i)
{
	static struct message_broker_credential m;

	(void)free_of(&m, BROKER_KIND_OCI);
	set_url(&m, "realm", i, "/token?x=y");
	set(&m, "registry", "registry.acme.example", false);
	set(&m, "login", "ci", false);
	set(&m, "password", "file:/secret/free", true);
	set(&m, "access", "push", false);
	return &m;
}

static struct world *
world_of(struct issuer *i, const char *const *script)
{
	struct world *w = world_at(i, script);

	begin_with(w, registry(i), SECRET "\n");
	return w;
}

static const struct answer *
ask_registry(struct world *w, const char *method, const char *path)
{
	const unsigned int before = w->answer_count;

	request(w, "free", "free.acme.example", 443, SCHEME_HTTPS, method,
	    path);
	wait_for_count(w, &w->answer_count, before + 1);
	return &w->answers[before];
}

static void
each_repository_and_access_has_a_token_of_its_own(void **state)
{
	static const char *const script[] = { JSON
		"{\"token\":\"token-of-one\",\"expires_in\":300}",
		JSON "{\"access_token\":\"token-of-two\",\"expires_in\":300}",
		JSON "{\"token\":\"token-of-three\"}", NULL };
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	const struct answer *a;

	(void)state;
	a = ask_registry(w, "GET", "/v2/acme/app/manifests/v1");
	assert_string_equal(a->value, "token-of-one");
	/* one lease must not serve another repository */
	assert_false(a->any_request);
	assert_non_null(strstr(issuer.last,
	    "GET /token?x=y&service=registry.acme.example&client_id=tapward"
	    "&scope=repository%3Aacme%2Fapp%3Apull HTTP/1.1\r\n"));
	assert_non_null(strstr(issuer.last,
	    "Authorization: Basic Y2k6Y2FuYXJ5LXNlY3JldCsvOiU=\r\n"));
	assert_string_equal(ask_registry(w, "HEAD", "/v2/acme/app/blobs/" D)
				->value,
	    "token-of-one");
	assert_int_equal(issuer.count, 1);
	assert_string_equal(ask_registry(w, "POST",
				"/v2/acme/app/blobs/uploads/")
				->value,
	    "token-of-two");
	assert_string_equal(ask_registry(w, "GET", "/v2/acme/web/tags/list")
				->value,
	    "token-of-three");
	assert_int_equal(issuer.count, 3);
	/* beyond `access`, or of no repository: nobody is asked */
	assert_int_equal(ask_registry(w, "DELETE", "/v2/acme/app/manifests/v1")
			     ->reason,
	    REASON_CREDENTIAL_UNAVAILABLE);
	assert_int_equal(ask_registry(w, "GET", "/v2/_catalog")->reason,
	    REASON_CREDENTIAL_UNAVAILABLE);
	assert_int_equal(issuer.count, 3);
	world_end(w, &issuer);
}

struct fault_row {
	const char *claim, *answer;
	enum mint_fault fault;
};

static const struct fault_row fault_rows[] = {
	{ "a wrong password",
	    "HTTP/1.1 401 No\r\nContent-Type: application/json\r\n\r\n"
	    "{\"errors\":[{\"code\":\"UNAUTHORIZED\"}]}",
	    MINT_REFUSED },
	{ "too many pulls", "HTTP/1.1 429 No\r\nRetry-After: 9\r\n\r\n",
	    MINT_RATE },
	{ "no token", JSON "{\"expires_in\":60}", MINT_ANSWER },
	{ "a token that is none", JSON "{\"token\":7}", MINT_ANSWER },
	{ "a life that is none",
	    JSON "{\"token\":\"aaaaaaaa\",\"expires_in\":\"long\"}",
	    MINT_ANSWER },
	{ "one that ended before it was sent",
	    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	    "Date: Thu, 01 Jan 2026 01:00:00 GMT\r\nConnection: close\r\n\r\n"
	    "{\"token\":\"aaaaaaaa\",\"expires_in\":300,"
	    "\"issued_at\":\"2026-01-01T00:55:00Z\"}",
	    MINT_EXPIRED },
	{ "a page for people",
	    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>",
	    MINT_ANSWER },
	{ "another realm",
	    "HTTP/1.1 307 No\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
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
		struct world *w = world_of(&issuer, script);
		const struct answer *a =
		    ask_registry(w, "GET", "/v2/app/manifests/v1");

		if (a->reason != REASON_CREDENTIAL_UNAVAILABLE ||
		    strcmp(a->detail, mint_faults[fault_rows[i].fault].word) !=
			0)
			fail_msg("%s: %s", fault_rows[i].claim, a->detail);
		world_end(w, &issuer);
	}
}

static void
a_token_that_lay_there_ends_with_its_own_time(void **state)
{
	static const char *const script[] = {
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		"Date: Thu, 01 Jan 2026 01:00:00 GMT\r\nConnection: "
		"close\r\n\r\n"
		"{\"token\":\"old-token\",\"expires_in\":300,"
		"\"issued_at\":\"2026-01-01T00:58:00Z\"}",
		NULL
	};
	struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	const struct token *t;

	(void)state;
	assert_string_equal(ask_registry(w, "GET", "/v2/app/manifests/v1")
				->value,
	    "old-token");
	t = LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
	assert_true(t->hard_boot_ms <= clock_boot_ms() + 180 * 1000);
	world_end(w, &issuer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_needs_one_repository_and_one_access),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(
		    each_repository_and_access_has_a_token_of_its_own),
		cmocka_unit_test(a_failure_is_told_by_its_class),
		cmocka_unit_test(a_token_that_lay_there_ends_with_its_own_time),
	};

	log_init("test", log_level_from_env());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
