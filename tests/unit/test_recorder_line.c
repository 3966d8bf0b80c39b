/*
 * The form of an audit line: fields, escapes, caps; and that no guest byte
 * can look like a field.
 */
#include "tests/unit/recorder_support.h"

static char buf[RECORDER_LINE_MAX];

static const char *
line_of(const char *sandbox, const struct audit_record *record)
{
	const struct message_recorder_sandbox about = sandbox_named(sandbox);
	struct recorder_line line = {
		.head.seq = 42,
		.wall_ms = 1769904000123,
		.about = &about,
	};
	struct wr w = wr_init(buf, sizeof(buf) - 1);

	memcpy(line.head.prev, AUDIT_GENESIS, sizeof(line.head.prev));
	recorder_line_write(&w, &line, record);
	assert_true(wr_ok(&w));
	buf[w.len] = '\0';
	return buf;
}

static void
assert_has(const char *line, const char *field)
{
	if (strstr(line, field) == NULL)
		fail_msg("no %s in %s", field, line);
}

static void
writes_every_field(void **state)
{
	struct audit_record r = audit_record_init(AUDIT_REQUEST);
	static const char *const fields[] = {
		"{\"seq\":42,\"time\":\"2026-02-01T00:00:00.123Z\"",
		",\"prev\":\"000000",
		"\"sandbox\":\"one\"",
		"\"generation\":7",
		"\"policy\":\"aaaa",
		"\"event\":\"request\"",
		"\"verdict\":\"deny\"",
		"\"reason\":\"ceiling-path\"",
		"\"rule\":\"api\"",
		"\"at\":\"tapward.ini:12\",\"learned\":\"method\"",
		"\"learned_rule\":\"old\",\"learned_at\":\"p.ini:7\"",
		"\"scheme\":\"wss\"",
		"\"host\":\"api.example.org\"",
		"\"port\":443",
		"\"address\":\"192.0.2.1:443\"",
		"\"method\":\"GET\"",
		"\"path\":\"/x\"",
		"\"status\":403",
		"\"up\":1",
		"\"down\":2",
		"\"ms\":3",
		"\"credential\":\"github\"",
		"\"lease\":9",
		"\"detail\":\"why\"}",
	};

	(void)state;
	r.reason = REASON_PATH;
	r.by_ceiling = true;
	r.rule = "api";
	r.file = "tapward.ini";
	r.line = 12;
	r.learned = (struct audit_learned){ REASON_METHOD, "old", "p.ini", 7 };
	r.scheme = AUDIT_SCHEME_WSS;
	r.host = span_of("api.example.org");
	r.port = 443;
	r.address = "192.0.2.1:443";
	r.method = span_of("GET");
	r.path = span_of("/x");
	r.status = 403;
	r.up = 1;
	r.down = 2;
	r.ms = 3;
	r.credential = "github";
	r.lease = 9;
	r.detail = span_of("why");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		assert_has(line_of("one", &r), fields[i]);
}

static void
leaves_out_what_is_not_there(void **state)
{
	struct audit_record r = audit_record_init(AUDIT_DNS);
	const char *line = line_of("one", &r);

	(void)state;
	assert_has(line, "\"at\":\"-\"");
	assert_has(line, "\"reason\":\"\"");
	assert_null(strstr(line, "\"host\""));
	assert_null(strstr(line, "\"up\""));
	assert_null(strstr(line, "\"detail\""));
}

static void
is_printable_whatever_a_guest_sent(void **state)
{
	struct audit_record r = audit_record_init(AUDIT_REQUEST);
	uint8_t every[256];

	(void)state;
	for (size_t i = 0; i < sizeof(every); i++)
		every[i] = (uint8_t)i;
	r.path = (struct span){ every, sizeof(every) };
	for (const char *p = line_of("one", &r); *p != '\0'; p++)
		assert_in_range((uint8_t)*p, 0x20, 0x7e);
}

static void
fits_with_every_field_at_its_longest(void **state)
{
	static uint8_t junk[AUDIT_PATH_MAX + 100];
	static char long_file[128], long_rule[64], credential[64], address[56];
	struct audit_record r = audit_record_init(AUDIT_REQUEST);
	const struct span all = { junk, sizeof(junk) };

	(void)state;
	memset(junk, 0xff, sizeof(junk));
	memset(long_file, '"', sizeof(long_file) - 1);
	memset(long_rule, '"', sizeof(long_rule) - 1);
	memset(credential, '"', sizeof(credential) - 1);
	memset(address, '"', sizeof(address) - 1);
	r.host = all;
	r.method = all;
	r.path = all;
	r.detail = all;
	r.file = long_file;
	r.rule = long_rule;
	r.credential = credential;
	r.address = address;
	r.up = r.down = r.lease = UINT64_MAX;
	r.line = r.ms = UINT32_MAX;
	r.status = r.port = UINT16_MAX;
	assert_true(strlen(line_of("one", &r)) + 1 < RECORDER_LINE_MAX);
}

static void
a_guest_cannot_write_a_field(void **state)
{
	struct message_recorder_read wanted = { .denied_only = true };
	struct audit_record r = audit_record_init(AUDIT_REQUEST);

	(void)state;
	r.verdict = ACTION_ALLOW;
	r.path = span_of("/\",\"verdict\":\"deny\",\"sandbox\":\"two\",\"");
	assert_false(
	    recorder_line_matches(span_of(line_of("one", &r)), &wanted));
	wanted.denied_only = false;
	memcpy(wanted.sandbox, "two", 4);
	assert_false(
	    recorder_line_matches(span_of(line_of("one", &r)), &wanted));
}

static void
matches_by_sandbox_and_verdict(void **state)
{
	struct audit_record allowed = audit_record_init(AUDIT_REQUEST);
	struct audit_record denied = denial_of("example.org");
	struct message_recorder_read all = { .follow = false };
	struct message_recorder_read one = { .denied_only = true };

	(void)state;
	allowed.verdict = ACTION_ALLOW;
	memcpy(one.sandbox, "one", 4);
	assert_true(
	    recorder_line_matches(span_of(line_of("one", &allowed)), &all));
	assert_false(
	    recorder_line_matches(span_of(line_of("one", &allowed)), &one));
	assert_true(
	    recorder_line_matches(span_of(line_of("one", &denied)), &one));
	assert_false(
	    recorder_line_matches(span_of(line_of("one2", &denied)), &one));
	/* Another that had the name before, or has it later. */
	for (uint64_t i = 1; i < 100; i++) {
		one.generation = i;
		assert_int_equal(recorder_line_matches(span_of(line_of("one",
							   &denied)),
				     &one),
		    i == 7);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_every_field),
		cmocka_unit_test(leaves_out_what_is_not_there),
		cmocka_unit_test(is_printable_whatever_a_guest_sent),
		cmocka_unit_test(fits_with_every_field_at_its_longest),
		cmocka_unit_test(a_guest_cannot_write_a_field),
		cmocka_unit_test(matches_by_sandbox_and_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
