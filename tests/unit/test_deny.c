/*
 * What a refused guest is shown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/deny.h"
#include "wire/http.h"

static struct deny
request(enum reason reason)
{
	struct deny d = deny_init(reason);

	d.method = span_of("GET");
	d.host = "registry.example.org";
	d.port = 443;
	d.path = span_of("/left-pad");
	d.rule = "npm";
	d.file = "tapward.ini";
	d.line = 12;
	return d;
}

static const struct {
	const char *claim;
	enum reason reason;
	bool by_ceiling;
	const char *say, *detail, *credential;
	unsigned int status;
	const char *code, *proxy, *line;
} rows[] = {
	{ "a rule's refusal names file and line", REASON_METHOD, false, "", "",
	    "", 403, "method", "http_request_denied",
	    "tapward: GET https://registry.example.org/left-pad refused: no "
	    "rule for this host allows this method (method, "
	    "tapward.ini:12)\n" },
	{ "of the ceiling only that it was it", REASON_NO_RULE, true, "", "",
	    "", 403, "ceiling-no-rule", "http_request_denied",
	    "tapward: GET https://registry.example.org/left-pad refused: no "
	    "rule names this host (ceiling-no-rule, the host's ceiling)\n" },
	{ "the rule's own text is shown", REASON_DENIED_BY_RULE, false,
	    "ask in #infra", "", "", 403, "denied-by-rule",
	    "http_request_denied",
	    "tapward: GET https://registry.example.org/left-pad refused: ask "
	    "in #infra (denied-by-rule, tapward.ini:12)\n" },
	{ "a credential is named, not shown", REASON_CREDENTIAL_MISUSE, false,
	    "", "", "npm-acme", 403, "credential-misuse", "http_request_denied",
	    "tapward: GET https://registry.example.org/left-pad refused: the "
	    "credential is not for this request: npm-acme "
	    "(credential-misuse, tapward.ini:12)\n" },
	{ "an origin that cannot be found may be asked again",
	    REASON_RESOLVE_FAILED, false, "", "", "", 502, "resolve-failed",
	    "dns_error", NULL },
	{ "one that took too long", REASON_TIMEOUT, false, "", "", "", 504,
	    "timeout", "http_response_timeout", NULL },
	{ "an address that is not public is refused for good",
	    REASON_PRIVATE_ADDRESS, false, "", "", "", 403, "private-address",
	    "destination_ip_prohibited", NULL },
	{ "a rate is told when to come again", REASON_LIMIT_RATE, false, "", "",
	    "", 429, "limit-rate", "http_request_denied", NULL },
	{ "a fault in the request is 400", REASON_BAD_REQUEST, false, "",
	    "the head has two Host fields", "", 400, "bad-request",
	    "http_request_error", NULL },
	{ "another host is 421", REASON_HOST_MISMATCH, false, "", "", "", 421,
	    "host-mismatch", "http_request_error", NULL },
};

static void
each_reason_has_its_form(void **state)
{
	static struct deny_answer a;
	char proxy[160];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct deny d = request(rows[i].reason);

		d.by_ceiling = rows[i].by_ceiling;
		d.say = rows[i].say;
		d.detail = rows[i].detail;
		d.credential = rows[i].credential;
		deny_answer(&d, &a);
		if (a.status != rows[i].status ||
		    strcmp(a.code, rows[i].code) != 0)
			fail_msg("%s: %u %s", rows[i].claim, a.status, a.code);
		if (rows[i].line != NULL && strcmp(a.body, rows[i].line) != 0)
			fail_msg("%s: %s", rows[i].claim, a.body);
		(void)snprintf(proxy, sizeof(proxy),
		    "tapward; error=%s; details=\"%s\"", rows[i].proxy,
		    rows[i].code);
		assert_string_equal(a.proxy_status, proxy);
		assert_int_equal(a.has_retry_after, rows[i].status == 429);
		assert_int_equal(a.body_len, strlen(a.body));
	}
}

static bool
is_printable(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s < 0x20 || *s > 0x7e)
			return false;
	return true;
}

static void
every_line_is_short_and_printable_and_keeps_its_end(void **state)
{
	static struct deny_answer a;
	static char path[4096];
	struct deny d;

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path, "/\x1b[31m\r\nSet-Cookie: a\xff\0", 24);
	for (int r = 1; r < REASON_COUNT; r++) {
		d = request((enum reason)r);
		d.path = (struct span){ (uint8_t *)path, sizeof(path) };
		d.method = (struct span){ (uint8_t *)path, sizeof(path) };
		d.say = r % 2 == 0 ? "" : "a\nb";
		d.detail =
		    "one more clause, as long as any of them can well be";
		deny_answer(&d, &a);
		assert_true(a.body_len <= DENY_TEXT_MAX + 1);
		assert_int_equal(a.body[a.body_len - 1], '\n');
		a.body[a.body_len - 1] = '\0';
		assert_true(is_printable(a.body));
		assert_true(is_printable(a.phrase));
		assert_non_null(strstr(a.body, "tapward.ini:12)"));
	}
}

static void
json_carries_the_line_in_each_field_that_clients_print(void **state)
{
	static struct deny_answer a;
	struct deny d = request(REASON_METHOD);
	const char *line =
	    "tapward: GET https://registry.example.org/left-pad refused: no "
	    "rule for this host allows this method (method, tapward.ini:12)";
	char want[1024];

	(void)state;
	d.form = DENY_FORM_JSON;
	deny_answer(&d, &a);
	(void)snprintf(want, sizeof(want),
	    "{\"error\":\"%s\",\"message\":\"%s\",\"errors\":[{\"code\":"
	    "\"DENIED\",\"message\":\"%s\",\"detail\":\"%s\"}],"
	    "\"warning\":\"%s\",\"reason\":\"method\"}\n",
	    line, line, line, line, line);
	assert_string_equal(a.body, want);
	assert_string_equal(a.content_type, "application/json");
	d.form = DENY_FORM_LFS;
	deny_answer(&d, &a);
	assert_string_equal(a.body, want);
	assert_string_equal(a.content_type, "application/vnd.git-lfs+json");
}

#define PIP_ACCEPT "application/vnd.pypi.simple.v1+json, text/html; q=0.01"

static const struct {
	const char *agent, *accept, *path;
	enum deny_form form;
} forms[] = {
	{ NULL, "application/json", "/", DENY_FORM_JSON },
	{ NULL, "text/html, application/vnd.npm.install-v1+JSON;q=1", "/",
	    DENY_FORM_JSON },
	{ "curl/7.88.1", "*/*", "/", DENY_FORM_TEXT },
	{ NULL, NULL, "/", DENY_FORM_TEXT },
	{ "Composer/2.5.5 (Linux; PHP 8)", NULL, "/packages.json",
	    DENY_FORM_JSON },
	{ "git/2.39 Composer/2", "*/*", "/", DENY_FORM_TEXT },
	/* an index page of pip's, and a file */
	{ "pip/23.0.1 {\"ci\":null}", PIP_ACCEPT, "/simple/x/",
	    DENY_FORM_TYPE },
	{ "pip/23.0.1", "*/*", "/packages/x.whl", DENY_FORM_TEXT },
	{ "uv/0.5", PIP_ACCEPT, "/simple/x/", DENY_FORM_JSON },
	/* the first question of an image's pull, and the next */
	{ "skopeo/1.9.3", NULL, "/v2/", DENY_FORM_PING },
	{ "containers/5.23 (github.com/containers/image)", NULL, "/v2/",
	    DENY_FORM_PING },
	{ "skopeo/1.9.3", NULL, "/v2/x/blobs/uploads/", DENY_FORM_JSON },
	{ "docker/20.10", NULL, "/v2/", DENY_FORM_TEXT },
	/* a question of git-lfs, and an object */
	{ NULL, "application/vnd.git-lfs+json; charset=utf-8", "/",
	    DENY_FORM_LFS },
	{ "git-lfs/3.3.0 (GitHub; linux amd64; go 1.19)", NULL, "/",
	    DENY_FORM_LFS },
	{ "git/2.39 git-lfs/3", NULL, "/", DENY_FORM_TEXT },
};

static void
add(struct http_fields *f, const char *name, const char *value)
{
	if (value == NULL)
		return;
	f->at[f->count].name = span_of(name);
	f->at[f->count++].value = span_of(value);
}

static void
each_client_has_the_form_that_it_prints(void **state)
{
	static struct http_fields f;

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		f.count = 0;
		add(&f, "X-Accept", "application/json");
		add(&f, "user-agent", forms[i].agent);
		add(&f, "Accept", forms[i].accept);
		if (deny_form_of(&f, span_of(forms[i].path)) != forms[i].form)
			fail_msg("%s %s %s", forms[i].agent, forms[i].accept,
			    forms[i].path);
	}
}

static const struct {
	enum deny_form form;
	enum reason reason;
	unsigned int status;
	const char *type;
} statuses[] = {
	{ DENY_FORM_TYPE, REASON_METHOD, 300,
	    "text/plain; reason=\"tapward: GET https://registry.example.org/"
	    "a'b' refused: no rule for this host allows this method (method, "
	    "tapward.ini:12)\"" },
	{ DENY_FORM_PING, REASON_METHOD, 401, "application/json" },
	/* what may go better later, or is the request's own fault */
	{ DENY_FORM_TYPE, REASON_TIMEOUT, 504, "text/plain; charset=utf-8" },
	{ DENY_FORM_PING, REASON_LIMIT_RATE, 429, "application/json" },
	{ DENY_FORM_TYPE, REASON_BAD_REQUEST, 400,
	    "text/plain; charset=utf-8" },
};

static void
another_status_is_for_what_the_policy_refuses(void **state)
{
	static struct deny_answer a;

	(void)state;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		struct deny d = request(statuses[i].reason);

		d.path = span_of("/a\"b\\");
		d.form = statuses[i].form;
		deny_answer(&d, &a);
		assert_int_equal(a.status, statuses[i].status);
		assert_int_equal(a.status, deny_status(&d));
		assert_string_equal(a.content_type, statuses[i].type);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_its_form),
		cmocka_unit_test(
		    every_line_is_short_and_printable_and_keeps_its_end),
		cmocka_unit_test(
		    json_carries_the_line_in_each_field_that_clients_print),
		cmocka_unit_test(each_client_has_the_form_that_it_prints),
		cmocka_unit_test(another_status_is_for_what_the_policy_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
