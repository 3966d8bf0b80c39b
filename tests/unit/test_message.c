/*
 * The messages of gate, dialler and recorder: what is written is read back,
 * and what no honest sender writes is refused.
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
#include "base/names.h"

static uint8_t buf[AUDIT_BODY_MAX_BYTES];

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
		.scheme = 2,
		.is_redirect = true };
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
	assert_true(out.is_redirect);
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
	m.learned =
	    (struct audit_learned){ REASON_NO_RULE, "-", "mine.ini", 1 };
	m.scheme = AUDIT_SCHEME_WS;
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
	assert_int_equal(out.learned.reason, REASON_NO_RULE);
	assert_string_equal(out.learned.rule, "-");
	assert_string_equal(out.learned.file, "mine.ini");
	assert_int_equal(out.learned.line, 1);
	assert_int_equal(out.scheme, AUDIT_SCHEME_WS);
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

static void
refuses_a_record_that_was_cut_anywhere(void **state)
{
	struct audit_record in = sample_record(), out;
	struct audit_text text;
	struct wr w = wr_init(buf, AUDIT_BODY_MAX_BYTES);

	(void)state;
	message_audit_encode(&w, &in);
	for (size_t len = 0; len < w.len; len++) {
		struct rd r = rd_init(buf, len);

		assert_int_equal(message_audit_decode(&r, &text, &out),
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
		cmocka_unit_test(refuses_a_record_that_was_cut_anywhere),
		cmocka_unit_test(reads_back_the_policy_in_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
