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

static void
the_line_is_made_by_the_lease(void **state)
{
	struct injection in = { .lease_id = 0 };
	struct message_lease m;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_lease(&m, rows[i].apply, rows[i].value);
		(void)snprintf(m.field, sizeof(m.field), "%s", rows[i].field);
		(void)snprintf(m.user, sizeof(m.user), "%s", rows[i].user);
		(void)snprintf(m.placeholder, sizeof(m.placeholder), "%s",
		    rows[i].placeholder);
		m.lease_id = i + 1;
		assert_int_equal(injection_set(&in, &m, span_of(rows[i].guest)),
		    0);
		if (!secret_equals(&in.line, span_of(rows[i].want)))
			fail_msg("%s: %.*s", rows[i].claim, (int)in.line.len,
			    (const char *)in.line.ptr);
		secret_done(&m.value);
	}
	injection_done(&in);
}

static void
a_value_that_would_break_the_head_is_refused(void **state)
{
	static const char *const values[] = { "short", "two\r\nlines-of-it",
		" begins-blank", "ends-blank ", "caf\xc3\xa9-and-more" };
	struct injection in = { .lease_id = 0 };
	struct message_lease m;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		make_lease(&m, LEASE_APPLY_RAW, values[i]);
		assert_int_equal(injection_set(&in, &m, span_of("")), -EINVAL);
		assert_null(in.line.ptr);
		assert_int_equal(in.lease_id, 0);
		secret_done(&m.value);
	}
	injection_done(&in);
}

static void
a_lease_is_made_ready_once_but_a_pair_each_time(void **state)
{
	struct injection in = { .lease_id = 0 };
	struct message_lease m;
	const uint8_t *line;

	(void)state;
	make_lease(&m, LEASE_APPLY_BEARER, "secret-value");
	(void)snprintf(m.placeholder, sizeof(m.placeholder), "PLACEHOLDER");
	assert_int_equal(injection_set(&in, &m, span_of("")), 0);
	line = in.line.ptr;
	assert_int_equal(injection_set(&in, &m, span_of("")), 0);
	assert_ptr_equal(in.line.ptr, line);
	assert_int_equal(injection_set(&in, &m,
			     span_of("Basic UExBQ0VIT0xERVI6eA==")),
	    0);
	assert_true(secret_equals(&in.line,
	    span_of("authorization: Basic c2VjcmV0LXZhbHVlOng=\r\n")));
	/* The next guest request without one gets the plain form again. */
	assert_int_equal(injection_set(&in, &m, span_of("")), 0);
	assert_true(secret_equals(&in.line,
	    span_of("authorization: Bearer secret-value\r\n")));
	secret_done(&m.value);
	injection_done(&in);
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
		cmocka_unit_test(
		    a_lease_is_made_ready_once_but_a_pair_each_time),
		cmocka_unit_test(names_of_keys_are_stripped_in_any_spelling),
		cmocka_unit_test(echoing_methods_carry_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
