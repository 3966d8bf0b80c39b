/*
 * A credential's field line, and what a guest may not bring.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/inject.h"

static const struct {
	const char *claim;
	enum lease_apply apply;
	const char *field, *user, *placeholder, *value, *guest, *want;
} rows[] = {
	{ "bearer", LEASE_APPLY_BEARER, "", "", "", "secret-value", "",
	    "authorization: Bearer secret-value\r\n" },
	{ "basic", LEASE_APPLY_BASIC, "", "bot", "", "secret-value", "",
	    "authorization: Basic Ym90OnNlY3JldC12YWx1ZQ==\r\n" },
	{ "raw", LEASE_APPLY_RAW, "", "", "", "token secret", "",
	    "authorization: token secret\r\n" },
	{ "a field of its own", LEASE_APPLY_HEADER, "private-token", "", "",
	    "secret-value", "", "private-token: secret-value\r\n" },
	{ "the guest's Basic without a placeholder is overwritten",
	    LEASE_APPLY_BEARER, "", "", "", "secret-value",
	    "Basic Z2l0OlBMQUNFSE9MREVS",
	    "authorization: Bearer secret-value\r\n" },
	{ "a placeholder as password is replaced, the user stays",
	    LEASE_APPLY_BEARER, "", "", "PLACEHOLDER", "secret-value",
	    "Basic Z2l0OlBMQUNFSE9MREVS",
	    "authorization: Basic Z2l0OnNlY3JldC12YWx1ZQ==\r\n" },
	{ "a placeholder as user is replaced, the password stays",
	    LEASE_APPLY_BEARER, "", "", "PLACEHOLDER", "secret-value",
	    "basic UExBQ0VIT0xERVI6eA==",
	    "authorization: Basic c2VjcmV0LXZhbHVlOng=\r\n" },
	{ "padding may be missing", LEASE_APPLY_BEARER, "", "", "PLACEHOLDER",
	    "secret-value", "Basic UExBQ0VIT0xERVI6eA",
	    "authorization: Basic c2VjcmV0LXZhbHVlOng=\r\n" },
	{ "part of a password is no placeholder", LEASE_APPLY_BEARER, "", "",
	    "PLACE", "secret-value", "Basic Z2l0OlBMQUNFSE9MREVS",
	    "authorization: Bearer secret-value\r\n" },
	{ "what is not base64 is overwritten", LEASE_APPLY_BEARER, "", "",
	    "PLACEHOLDER", "secret-value", "Basic !!!!",
	    "authorization: Bearer secret-value\r\n" },
	{ "nor is it with padding within", LEASE_APPLY_BEARER, "", "",
	    "PLACEHOLDER", "secret-value", "Basic UExBQ0VIT0xERVI6=A==",
	    "authorization: Bearer secret-value\r\n" },
	{ "nor with a blank before it", LEASE_APPLY_BEARER, "", "",
	    "PLACEHOLDER", "secret-value", "Basic  UExBQ0VIT0xERVI6eA==",
	    "authorization: Bearer secret-value\r\n" },
	{ "a field of its own is never a pair", LEASE_APPLY_HEADER, "x-key", "",
	    "PLACEHOLDER", "secret-value", "Basic Z2l0OlBMQUNFSE9MREVS",
	    "x-key: secret-value\r\n" },
};

static void
make_lease(struct message_lease *m, enum lease_apply apply, const char *value)
{
	*m = (struct message_lease){ .lease_id = 1, .apply = apply };
	assert_int_equal(secret_set(&m->value, value, strlen(value)), 0);
}

static struct injections leases;

static void
the_line_is_made_by_the_lease(void **state)
{
	struct secret pair = SECRET_NONE;
	struct injection *in;
	struct message_lease m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct secret *line;

		make_lease(&m, rows[i].apply, rows[i].value);
		(void)snprintf(m.field, sizeof(m.field), "%s", rows[i].field);
		(void)snprintf(m.user, sizeof(m.user), "%s", rows[i].user);
		(void)snprintf(m.placeholder, sizeof(m.placeholder), "%s",
		    rows[i].placeholder);
		assert_int_equal(injection_get(&leases, &m, &in), 0);
		assert_null(m.value.ptr);
		assert_int_equal(injection_pair_line(in, span_of(rows[i].guest),
				     &pair),
		    0);
		line = pair.len > 0 ? &pair : &in->line;
		if (!secret_equals(line, span_of(rows[i].want)))
			fail_msg("%s: %.*s", rows[i].claim, (int)line->len,
			    (const char *)line->ptr);
		injection_unref(in);
	}
	secret_done(&pair);
	assert_true(LIST_EMPTY(&leases));
}

static void
a_value_that_would_break_the_head_is_refused(void **state)
{
	static const char *const values[] = { "short", "two\r\nlines-of-it",
		" begins-blank", "ends-blank ", "caf\xc3\xa9-and-more" };
	struct injection *in = NULL;
	struct message_lease m;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		make_lease(&m, LEASE_APPLY_RAW, values[i]);
		assert_int_equal(injection_get(&leases, &m, &in), -EINVAL);
		assert_null(in);
		assert_null(m.value.ptr);
		assert_true(LIST_EMPTY(&leases));
	}
}

static void
a_lease_is_made_ready_once(void **state)
{
	struct injection *a, *b, *c, *d;
	struct message_lease m;

	(void)state;
	make_lease(&m, LEASE_APPLY_BEARER, "secret-value");
	assert_int_equal(injection_get(&leases, &m, &a), 0);
	make_lease(&m, LEASE_APPLY_BEARER, "secret-value");
	assert_int_equal(injection_get(&leases, &m, &b), 0);
	assert_ptr_equal(a, b);
	/* Not by its number alone. */
	make_lease(&m, LEASE_APPLY_BEARER, "another-value");
	assert_int_equal(injection_get(&leases, &m, &c), 0);
	assert_ptr_not_equal(a, c);
	make_lease(&m, LEASE_APPLY_BEARER, "secret-value");
	m.keeps_set_cookie = true;
	assert_int_equal(injection_get(&leases, &m, &d), 0);
	assert_ptr_not_equal(a, d);
	injection_unref(a);
	injection_unref(c);
	injection_unref(d);
	assert_ptr_equal(LIST_FIRST(&leases), b);
	injection_unref(b);
	assert_true(LIST_EMPTY(&leases));
	injection_unref(NULL);
}

/* What an echo holds of it may be less than what was sent. */
static void
what_is_secret_in_a_value_is_looked_for(void **state)
{
	static const struct {
		const char *claim;
		enum lease_apply apply;
		const char *value, *text;
		bool is_found;
	} echoes[] = {
		{ "a token without its scheme", LEASE_APPLY_RAW,
		    "token ghp_0123456789", "{\"t\":\"ghp_0123456789\"}",
		    true },
		{ "the scheme alone", LEASE_APPLY_RAW, "token ghp_0123456789",
		    "token of a kind", false },
		{ "what a whole Basic says", LEASE_APPLY_RAW,
		    "Basic cm9ib3Q6aHVudGVyMTIz", "hunter123", true },
		{ "the pair of a short password", LEASE_APPLY_RAW,
		    "basic cm9ib3Q6cHdk", "user robot:pwd", true },
		{ "its user", LEASE_APPLY_RAW, "Basic cm9ib3Q6aHVudGVyMTIz",
		    "robot", false },
		{ "a whole Basic as it is", LEASE_APPLY_RAW,
		    "Basic cm9ib3Q6aHVudGVyMTIz", "cm9ib3Q6aHVudGVyMTIz",
		    true },
		{ "no base64 at all", LEASE_APPLY_RAW, "Basic !!!!!!!!!",
		    "!!!!!!!!!", true },
		{ "a scheme in a field of its own", LEASE_APPLY_HEADER,
		    "Bearer abcdefgh", "abcdefgh", true },
		{ "one cookie of several", LEASE_APPLY_HEADER,
		    "lang=en; session=abcdefgh", "{\"session\": \"abcdefgh\"}",
		    true },
		{ "a short cookie is no secret alone", LEASE_APPLY_HEADER,
		    "lang=en; session=abcdefgh", "{\"lang\": \"en\"}", false },
		{ "a short rest is no secret alone", LEASE_APPLY_RAW,
		    "long-scheme abc", "abc", false },
		{ "but the whole is", LEASE_APPLY_RAW, "long-scheme abc",
		    "long-scheme abc", true },
		{ "base64 of Basic's base64", LEASE_APPLY_BASIC, "secret-value",
		    /* base64 of "authorization: Basic cm9ib3Q6c2Vj..." */
		    "YXV0aG9yaXphdGlvbjogQmFzaWMgY205aWIzUTZjMlZqY21WMExYWmhi"
		    "SFZs",
		    true },
	};
	struct injection *in;
	struct message_lease m;

	(void)state;
	for (size_t i = 0; i < sizeof(echoes) / sizeof(echoes[0]); i++) {
		struct scan_found found = { .form = SCAN_NONE };

		make_lease(&m, echoes[i].apply, echoes[i].value);
		(void)snprintf(m.user, sizeof(m.user), "robot");
		(void)snprintf(m.field, sizeof(m.field), "%s",
		    strchr(echoes[i].value, '=') == NULL ? "x-key" : "cookie");
		assert_int_equal(injection_get(&leases, &m, &in), 0);
		(void)scan_look(&in->forms, span_of(echoes[i].text), true,
		    &found);
		if ((found.form != SCAN_NONE) != echoes[i].is_found)
			fail_msg("%s", echoes[i].claim);
		injection_unref(in);
	}
}

static void
names_of_keys_are_stripped_in_any_spelling(void **state)
{
	struct message_lease m = { .apply = LEASE_APPLY_HEADER,
		.field = "x-acme",
		.strip = { "acme-session" },
		.strip_count = 1 };

	(void)state;
	assert_true(inject_is_stripped(span_of("Authorization")));
	assert_true(inject_is_stripped(span_of("proxy_authorization")));
	assert_true(inject_is_stripped(span_of("COOKIE")));
	assert_true(inject_is_stripped(span_of("X-Api-Key")));
	assert_false(inject_is_stripped(span_of("Accept")));
	assert_false(inject_is_stripped(span_of("X-Acme")));
	assert_true(inject_is_stripped_by(&m, span_of("X_Acme")));
	assert_true(inject_is_stripped_by(&m, span_of("Acme-Session")));
	assert_false(inject_is_stripped_by(&m, span_of("Accept")));
}

static void
answers_lose_sessions_and_what_the_lease_lists(void **state)
{
	struct message_lease m = { .strip_response = { "x-session" },
		.strip_response_count = 1 };

	(void)state;
	assert_true(inject_is_withheld_by(&m, span_of("Set-Cookie")));
	assert_true(inject_is_withheld_by(&m, span_of("set_cookie2")));
	assert_true(inject_is_withheld_by(&m, span_of("X-Session")));
	assert_false(inject_is_withheld_by(&m, span_of("ETag")));
	m.keeps_set_cookie = true;
	assert_false(inject_is_withheld_by(&m, span_of("Set-Cookie")));
	assert_true(inject_is_withheld_by(&m, span_of("X_Session")));
}

static void
echoing_methods_carry_none(void **state)
{
	(void)state;
	assert_true(inject_method_may_carry(HTTP_METHOD_GET));
	assert_true(inject_method_may_carry(HTTP_METHOD_OTHER));
	assert_false(inject_method_may_carry(HTTP_METHOD_TRACE));
	assert_false(inject_method_may_carry(HTTP_METHOD_OPTIONS));
	assert_false(inject_method_may_carry(HTTP_METHOD_CONNECT));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_is_made_by_the_lease),
		cmocka_unit_test(a_value_that_would_break_the_head_is_refused),
		cmocka_unit_test(a_lease_is_made_ready_once),
		cmocka_unit_test(what_is_secret_in_a_value_is_looked_for),
		cmocka_unit_test(names_of_keys_are_stripped_in_any_spelling),
		cmocka_unit_test(
		    answers_lose_sessions_and_what_the_lease_lists),
		cmocka_unit_test(echoing_methods_carry_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
