/*
 * The messages of gate and broker: what is written is read back, and what no
 * honest sender writes is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/message_lease.h"

static uint8_t buf[LEASE_BODY_MAX_BYTES];

static struct message_lease
sample_lease(void)
{
	struct message_lease m = { .reason = REASON_NONE,
		.lease_id = 5,
		.expires_boot_ms = 123456,
		.any_request = true,
		.serves_websocket = true,
		.apply = LEASE_APPLY_HEADER,
		.field = "x-token",
		.user = "",
		.placeholder = "npm_placeholder",
		.strip = { "authorization", "cookie" },
		.strip_count = 2,
		.strip_response = { "x-session" },
		.strip_response_count = 1,
		.keeps_set_cookie = true };

	assert_int_equal(secret_set(&m.value, "sesame", 6), 0);
	return m;
}

static int
lease_over_the_wire(struct message_lease *in, struct message_lease *out)
{
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	message_lease_encode(&w, in);
	secret_done(&in->value);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	return message_lease_decode(&r, out);
}

static void
reads_back_a_lease(void **state)
{
	struct message_lease in = sample_lease(), out;

	(void)state;
	assert_int_equal(lease_over_the_wire(&in, &out), 0);
	assert_int_equal(out.lease_id, 5);
	assert_true(out.any_request);
	assert_true(out.serves_websocket);
	assert_string_equal(out.field, "x-token");
	assert_string_equal(out.placeholder, "npm_placeholder");
	assert_int_equal(out.strip_count, 2);
	assert_string_equal(out.strip[1], "cookie");
	assert_int_equal(out.strip_response_count, 1);
	assert_string_equal(out.strip_response[0], "x-session");
	assert_true(out.keeps_set_cookie);
	assert_true(span_is(secret_span(&out.value), "sesame"));
	secret_done(&out.value);
}

static void
reads_back_the_name_of_a_parameter(void **state)
{
	struct message_lease in = sample_lease(), out;

	(void)state;
	in.apply = LEASE_APPLY_QUERY;
	memcpy(in.field, "apiKey_v-1", sizeof("apiKey_v-1"));
	assert_int_equal(lease_over_the_wire(&in, &out), 0);
	assert_int_equal(out.apply, LEASE_APPLY_QUERY);
	assert_string_equal(out.field, "apiKey_v-1");
	secret_done(&out.value);
}

static void
reads_back_the_longest_secret(void **state)
{
	struct message_lease in = sample_lease(), out;

	(void)state;
	assert_int_equal(secret_alloc(&in.value, SECRET_MAX_BYTES), 0);
	memset(in.value.ptr, 's', SECRET_MAX_BYTES);
	assert_int_equal(lease_over_the_wire(&in, &out), 0);
	assert_int_equal(out.value.len, SECRET_MAX_BYTES);
	secret_done(&out.value);
}

static void
a_refused_lease_has_no_value(void **state)
{
	struct message_lease in = sample_lease(), out;

	(void)state;
	in.reason = REASON_CREDENTIAL_MISUSE;
	assert_int_equal(lease_over_the_wire(&in, &out), 0);
	assert_int_equal(out.reason, REASON_CREDENTIAL_MISUSE);
	assert_null(out.value.ptr);
}

static void
with_line_end(struct message_lease *m)
{
	assert_int_equal(secret_set(&m->value, "a\r\nb", 4), 0);
}

static void
without_value(struct message_lease *m)
{
	secret_done(&m->value);
}

static void
without_field(struct message_lease *m)
{
	m->field[0] = '\0';
}

static void
without_parameter(struct message_lease *m)
{
	m->apply = LEASE_APPLY_QUERY;
	m->field[0] = '\0';
}

static void
with_bent_parameter(struct message_lease *m)
{
	m->apply = LEASE_APPLY_QUERY;
	memcpy(m->field, "a&b", 4);
}

static void
with_upper_case_strip(struct message_lease *m)
{
	memcpy(m->strip[0], "Cookie", 7);
}

static void
with_unknown_apply(struct message_lease *m)
{
	m->apply = LEASE_APPLY_COUNT;
}

static void
with_control_in_user(struct message_lease *m)
{
	memcpy(m->user, "a\nb", 4);
}

static void
refuses_leases_that_no_broker_sends(void **state)
{
	static const struct {
		const char *claim;
		void (*spoil)(struct message_lease *m);
	} rows[] = {
		{ "a value that ends a line", with_line_end },
		{ "no value", without_value },
		{ "a header without a name", without_field },
		{ "a parameter without a name", without_parameter },
		{ "a parameter that is two", with_bent_parameter },
		{ "a field name in upper case", with_upper_case_strip },
		{ "a way to apply that is none", with_unknown_apply },
		{ "a user that ends a line", with_control_in_user },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct message_lease in = sample_lease(), out;

		rows[i].spoil(&in);
		if (lease_over_the_wire(&in, &out) != -EBADMSG)
			fail_msg("%s", rows[i].claim);
	}
}

static void
reads_back_a_lease_request(void **state)
{
	struct message_lease_request in = { .credential = "npm",
		.host = "registry.example.org",
		.port = 443,
		.scheme = 0,
		.method = "GET",
		.path = span_of("/x"),
		.has_query = true,
		.query = span_of("service=git-upload-pack"),
		.is_websocket = true };
	struct message_lease_request out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_lease_request_encode(&w, &in);
	r = rd_init(buf, w.len);
	assert_int_equal(message_lease_request_decode(&r, &out), 0);
	assert_true(rd_done(&r));
	assert_string_equal(out.credential, "npm");
	assert_string_equal(out.method, "GET");
	assert_true(span_is(out.path, "/x"));
	assert_true(out.has_query);
	assert_true(span_is(out.query, "service=git-upload-pack"));
	assert_true(out.is_websocket);
	in.credential[0] = '\0';
	w = wr_init(buf, sizeof(buf));
	message_lease_request_encode(&w, &in);
	r = rd_init(buf, w.len);
	assert_int_equal(message_lease_request_decode(&r, &out), -EBADMSG);
}

static struct message_grant
sample_grant(void)
{
	return (struct message_grant){ .port = 443,
		.host_count = 2,
		.hosts = { "a.example.org", "b.example.org" },
		.name_count = 2,
		.names = { "x-acme-key", "authorization" } };
}

static int
grant_over_the_wire(const struct message_grant *in, struct message_grant *out)
{
	struct wr w = wr_init(buf, GRANT_BODY_MAX_BYTES);
	struct rd r;
	int rc;

	message_grant_encode(&w, in);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	rc = message_grant_decode(&r, out);
	assert_true(rc != 0 || rd_done(&r));
	return rc;
}

static void
reads_back_a_grant_and_the_longest_there_is(void **state)
{
	struct message_grant in = sample_grant();
	static struct message_grant out;

	(void)state;
	assert_int_equal(grant_over_the_wire(&in, &out), 0);
	assert_int_equal(out.port, 443);
	assert_int_equal(out.host_count, 2);
	assert_string_equal(out.hosts[1], "b.example.org");
	assert_int_equal(out.name_count, 2);
	assert_string_equal(out.names[0], "x-acme-key");
	in.host_count = GRANT_HOSTS_MAX;
	for (size_t i = 0; i < GRANT_HOSTS_MAX; i++)
		memset(in.hosts[i], 'h', HOST_NAME_SIZE - 1);
	in.name_count = GRANT_NAMES_MAX;
	for (size_t i = 0; i < GRANT_NAMES_MAX; i++)
		memset(in.names[i], 'n', LEASE_FIELD_NAME_SIZE - 1);
	assert_int_equal(grant_over_the_wire(&in, &out), 0);
	assert_int_equal(strlen(out.names[GRANT_NAMES_MAX - 1]),
	    LEASE_FIELD_NAME_SIZE - 1);
}

static void
grant_without_port(struct message_grant *m)
{
	m->port = 0;
}

static void
grant_without_host(struct message_grant *m)
{
	m->host_count = 0;
}

static void
grant_with_empty_host(struct message_grant *m)
{
	m->hosts[0][0] = '\0';
}

static void
grant_with_upper_case_name(struct message_grant *m)
{
	m->names[0][0] = 'X';
}

static void
grant_with_empty_name(struct message_grant *m)
{
	m->names[0][0] = '\0';
}

static void
refuses_grants_that_no_broker_sends(void **state)
{
	static const struct {
		const char *claim;
		void (*spoil)(struct message_grant *m);
	} rows[] = {
		{ "no port", grant_without_port },
		{ "no host", grant_without_host },
		{ "a host that is empty", grant_with_empty_host },
		{ "a field name in upper case", grant_with_upper_case_name },
		{ "a field name that is empty", grant_with_empty_name },
	};
	const struct message_grants_whole whole = { GRANTS_MAX + 1 };
	struct message_grants_whole whole_out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct message_grant in = sample_grant();
		static struct message_grant out;

		rows[i].spoil(&in);
		if (grant_over_the_wire(&in, &out) != -EBADMSG)
			fail_msg("%s", rows[i].claim);
	}
	message_grants_whole_encode(&w, &whole);
	r = rd_init(buf, w.len);
	assert_int_equal(message_grants_whole_decode(&r, &whole_out), -EBADMSG);
}

static void
refuses_what_was_cut_anywhere(void **state)
{
	struct message_lease lease = sample_lease(), lease_out;
	const struct message_grant grant = sample_grant();
	static struct message_grant grant_out;
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	message_lease_encode(&w, &lease);
	secret_done(&lease.value);
	for (size_t len = 0; len < w.len; len++) {
		struct rd r = rd_init(buf, len);

		assert_int_equal(message_lease_decode(&r, &lease_out),
		    -EBADMSG);
	}
	w = wr_init(buf, sizeof(buf));
	message_grant_encode(&w, &grant);
	for (size_t len = 0; len < w.len; len++) {
		struct rd r = rd_init(buf, len);

		assert_int_equal(message_grant_decode(&r, &grant_out),
		    -EBADMSG);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_a_lease),
		cmocka_unit_test(reads_back_the_name_of_a_parameter),
		cmocka_unit_test(reads_back_the_longest_secret),
		cmocka_unit_test(a_refused_lease_has_no_value),
		cmocka_unit_test(refuses_leases_that_no_broker_sends),
		cmocka_unit_test(reads_back_a_lease_request),
		cmocka_unit_test(reads_back_a_grant_and_the_longest_there_is),
		cmocka_unit_test(refuses_grants_that_no_broker_sends),
		cmocka_unit_test(refuses_what_was_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
