/*
 * The messages of gate, dialler, broker and recorder: what is written is read
 * back, and what no honest sender writes is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/message_audit.h"
#include "base/message_dial.h"
#include "base/message_gate.h"
#include "base/message_lease.h"
#include "base/names.h"

static uint8_t buf[LEASE_BODY_MAX_BYTES];

static void
knows_the_names_of_sandboxes(void **state)
{
	static const struct {
		const char *claim, *name;
		bool want;
	} rows[] = {
		{ "letters", "ci", true },
		{ "one digit", "1", true },
		{ "a hyphen inside", "ci-7", true },
		{ "a hyphen at the end", "ci-", true },
		{ "forty bytes", "a123456789012345678901234567890123456789",
		    true },
		{ "forty-one bytes",
		    "a1234567890123456789012345678901234567890", false },
		{ "nothing", "", false },
		{ "a hyphen first", "-ci", false },
		{ "upper case", "CI", false },
		{ "a dot", "a.b", false },
		{ "a slash", "a/b", false },
		{ "a blank", "a b", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (sandbox_name_is_valid(rows[i].name) != rows[i].want)
			fail_msg("%s", rows[i].claim);
	}
}

static void
reads_back_a_dial(void **state)
{
	const struct message_dial in = { .host = "registry.example.org",
		.port = 443,
		.scheme = 2 };
	struct message_dial out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_dial_encode(&w, &in);
	r = rd_init(buf, w.len);
	assert_int_equal(message_dial_decode(&r, &out), 0);
	assert_true(rd_done(&r));
	assert_string_equal(out.host, in.host);
	assert_int_equal(out.port, 443);
	assert_int_equal(out.scheme, 2);
}

static void
refuses_dials_that_no_gate_sends(void **state)
{
	static const struct {
		const char *claim, *host;
		uint16_t port;
		uint8_t scheme;
	} rows[] = {
		{ "no host", "", 443, 0 },
		{ "upper case", "Example.org", 443, 0 },
		{ "a blank", "a b.example", 443, 0 },
		{ "an IPv6 address", "::1", 443, 0 },
		{ "port 0", "example.org", 0, 0 },
		{ "a scheme that is none", "example.org", 443, 3 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct message_dial m = { .port = rows[i].port,
			.scheme = rows[i].scheme };
		struct wr w = wr_init(buf, sizeof(buf));
		struct rd r;

		memcpy(m.host, rows[i].host, strlen(rows[i].host));
		message_dial_encode(&w, &m);
		r = rd_init(buf, w.len);
		if (message_dial_decode(&r, &m) != -EBADMSG)
			fail_msg("%s", rows[i].claim);
	}
}

static void
reads_back_the_answer_to_a_dial(void **state)
{
	const struct message_dialed in = { .reason = REASON_PRIVATE_ADDRESS,
		.by_ceiling = true,
		.address = "10.0.0.1:443",
		.resolve_us = 7,
		.connect_us = 8 };
	struct message_dialed out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_dialed_encode(&w, &in);
	r = rd_init(buf, w.len);
	assert_int_equal(message_dialed_decode(&r, &out), 0);
	assert_true(rd_done(&r));
	assert_int_equal(out.reason, REASON_PRIVATE_ADDRESS);
	assert_true(out.by_ceiling);
	assert_string_equal(out.address, in.address);
	assert_int_equal(out.resolve_us, 7);
	assert_int_equal(out.connect_us, 8);
}

static struct audit_record
sample_record(void)
{
	struct audit_record m = audit_record_init(AUDIT_REQUEST);

	m.verdict = 2;
	m.rule = "npm";
	m.file = "tapward.ini";
	m.line = 12;
	m.host = span_of("registry.example.org");
	m.port = 443;
	m.method = span_of("GET");
	m.path = span_of("/left-pad");
	m.status = 200;
	m.up = 1;
	m.down = (UINT64_C(1) << 53) - 1;
	m.ms = 3;
	m.credential = "npm-acme";
	m.lease = 77;
	m.address = "192.0.2.1:443";
	m.detail = span_of("reused");
	return m;
}

static void
reads_back_an_audit_record(void **state)
{
	struct audit_record in = sample_record(), out;
	struct audit_text text;
	struct wr w = wr_init(buf, AUDIT_BODY_MAX_BYTES);
	struct rd r;

	(void)state;
	message_audit_encode(&w, &in);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	assert_int_equal(message_audit_decode(&r, &text, &out), 0);
	assert_true(rd_done(&r));
	assert_int_equal(out.event, AUDIT_REQUEST);
	assert_string_equal(out.rule, "npm");
	assert_string_equal(out.file, "tapward.ini");
	assert_int_equal(out.line, 12);
	assert_true(span_is(out.host, "registry.example.org"));
	assert_true(span_is(out.path, "/left-pad"));
	assert_int_equal(out.status, 200);
	assert_true(out.down == in.down);
	assert_string_equal(out.credential, "npm-acme");
	assert_int_equal(out.lease, 77);
	assert_string_equal(out.address, "192.0.2.1:443");
	assert_true(span_is(out.detail, "reused"));
}

/* Whoever reads a log by jansson or by jq reads every line, and whole. */
static void
refuses_numbers_that_readers_of_json_take_differently(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct audit_record in = sample_record(), out;
		uint64_t *const numbers[] = { &in.up, &in.down, &in.lease };
		struct audit_text text;
		struct wr w = wr_init(buf, AUDIT_BODY_MAX_BYTES);
		struct rd r;

		*numbers[i] = UINT64_C(1) << 53;
		message_audit_encode(&w, &in);
		r = rd_init(buf, w.len);
		assert_int_equal(message_audit_decode(&r, &text, &out),
		    -EBADMSG);
	}
}

/* Whatever a guest sends, its record fits and can be read. */
static void
cuts_guest_bytes_so_that_a_record_fits(void **state)
{
	static uint8_t huge[65536];
	struct audit_record in = sample_record(), out;
	struct audit_text text;
	struct wr w = wr_init(buf, AUDIT_BODY_MAX_BYTES);
	struct span all = { huge, sizeof(huge) };
	struct rd r;

	(void)state;
	memset(huge, 0xff, sizeof(huge));
	in.host = in.method = in.path = in.detail = all;
	message_audit_encode(&w, &in);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	assert_int_equal(message_audit_decode(&r, &text, &out), 0);
	/* One byte more than is shown tells the recorder that it was cut. */
	assert_int_equal(out.path.len, AUDIT_PATH_MAX + 1);
	assert_int_equal(out.host.len, AUDIT_HOST_MAX + 1);
}

static void
writes_our_own_text_so_that_it_can_be_read(void **state)
{
	struct audit_record in = sample_record(), out;
	struct audit_text text;
	char file[300];
	struct wr w = wr_init(buf, AUDIT_BODY_MAX_BYTES);
	struct rd r;

	(void)state;
	memset(file, 'x', sizeof(file));
	file[0] = '\n';
	file[sizeof(file) - 1] = '\0';
	in.file = file;
	message_audit_encode(&w, &in);
	r = rd_init(buf, w.len);
	assert_int_equal(message_audit_decode(&r, &text, &out), 0);
	assert_int_equal(strlen(out.file), sizeof(text.file) - 1);
	assert_int_equal(out.file[0], '?');
}

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
		.strip_count = 2 };

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
	assert_true(span_is(secret_span(&out.value), "sesame"));
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

/* The same for all: a body that was cut anywhere is refused. */
static void
refuses_every_truncation(void **state)
{
	struct audit_record audit = sample_record(), audit_out;
	struct message_lease lease = sample_lease(), lease_out;
	const struct message_grant grant = sample_grant();
	static struct message_grant grant_out;
	struct audit_text text;
	struct wr w = wr_init(buf, AUDIT_BODY_MAX_BYTES);

	(void)state;
	message_audit_encode(&w, &audit);
	for (size_t len = 0; len < w.len; len++) {
		struct rd r = rd_init(buf, len);

		assert_int_equal(message_audit_decode(&r, &text, &audit_out),
		    -EBADMSG);
	}
	w = wr_init(buf, sizeof(buf));
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

static void
reads_back_the_policy_in_force(void **state)
{
	struct message_gate_policy_ack in = { { 0 } }, out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	memset(in.policy, 'a', sizeof(in.policy) - 1);
	message_gate_policy_ack_encode(&w, &in);
	r = rd_init(buf, w.len);
	assert_int_equal(message_gate_policy_ack_decode(&r, &out), 0);
	assert_true(rd_done(&r));
	assert_string_equal(out.policy, in.policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_the_names_of_sandboxes),
		cmocka_unit_test(reads_back_a_dial),
		cmocka_unit_test(refuses_dials_that_no_gate_sends),
		cmocka_unit_test(reads_back_the_answer_to_a_dial),
		cmocka_unit_test(reads_back_an_audit_record),
		cmocka_unit_test(
		    refuses_numbers_that_readers_of_json_take_differently),
		cmocka_unit_test(cuts_guest_bytes_so_that_a_record_fits),
		cmocka_unit_test(writes_our_own_text_so_that_it_can_be_read),
		cmocka_unit_test(reads_back_a_lease),
		cmocka_unit_test(reads_back_the_longest_secret),
		cmocka_unit_test(a_refused_lease_has_no_value),
		cmocka_unit_test(refuses_leases_that_no_broker_sends),
		cmocka_unit_test(reads_back_a_lease_request),
		cmocka_unit_test(reads_back_a_grant_and_the_longest_there_is),
		cmocka_unit_test(refuses_grants_that_no_broker_sends),
		cmocka_unit_test(refuses_every_truncation),
		cmocka_unit_test(reads_back_the_policy_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
