/* Reports: what is counted, how it is written, and what a guest cannot do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "cli/html.h"
#include "cli/page.h"
#include "cli/report.h"
#include "cli/timeline.h"
#include "tests/unit/page_scan.h"

/* --- text and quantities ---------------------------------------------------
 */

static const struct {
	const char *claim, *in, *want;
} text_rows[] = {
	{ "letters stay", "GET /a-b_c", "GET /a-b_c" },
	{ "markup is text", "<script>", "&lt;script&gt;" },
	{ "quotes end no attribute", "\" onload='x'",
	    "&quot; onload=&#39;x&#39;" },
	{ "entities are text", "&lt;", "&amp;lt;" },
	{ "controls are shown", "a\x1b[31m\n\x7f", "a\\x1b[31m\\x0a\\x7f" },
	{ "other bytes are shown", "\xc3\xa4", "\\xc3\\xa4" },
};

static const struct {
	const char *claim, *in, *want;
} line_rows[] = {
	{ "lines and tabs stay", "a\n\tb", "a\n\tb" },
	{ "markup is text", "</pre><b>", "&lt;/pre&gt;&lt;b&gt;" },
	{ "what turns the order of letters is shown", "\xe2\x80\xae",
	    "\\xe2\\x80\\xae" },
	{ "controls are shown", "\x1b\r", "\\x1b\\x0d" },
};

struct sink {
	char *text;
	size_t len;
	FILE *f;
};

static FILE *
sink_open(struct sink *s)
{
	s->f = open_memstream(&s->text, &s->len);
	assert_non_null(s->f);
	return s->f;
}

static void
sink_expect(struct sink *s, const char *claim, const char *want)
{
	(void)fclose(s->f);
	if (strcmp(s->text, want) != 0)
		fail_msg("%s: \"%s\", want \"%s\"", claim, s->text, want);
	free(s->text);
}

static void
writes_text(void **state)
{
	struct sink s;

	(void)state;
	for (size_t i = 0; i < sizeof(text_rows) / sizeof(*text_rows); i++) {
		html_text(sink_open(&s), text_rows[i].in);
		sink_expect(&s, text_rows[i].claim, text_rows[i].want);
	}
	for (size_t i = 0; i < sizeof(line_rows) / sizeof(*line_rows); i++) {
		html_lines(sink_open(&s), line_rows[i].in,
		    strlen(line_rows[i].in));
		sink_expect(&s, line_rows[i].claim, line_rows[i].want);
	}
}

static const struct {
	void (*put)(FILE *f, uint64_t n);
	uint64_t n;
	const char *want;
} quantity_rows[] = {
	{ html_count, 0, "0" },
	{ html_count, 999, "999" },
	{ html_count, 1000, "1,000" },
	{ html_count, 1234567, "1,234,567" },
	{ html_count, UINT64_MAX, "18,446,744,073,709,551,615" },
	{ html_bytes, 0, "0&#160;B" },
	{ html_bytes, 999, "999&#160;B" },
	{ html_bytes, 1000, "1.0&#160;kB" },
	{ html_bytes, 4250000, "4.2&#160;MB" },
	{ html_bytes, 156300708, "156&#160;MB" },
	{ html_bytes, UINT64_MAX, "18.4&#160;EB" },
	{ html_span, 0, "0 ms" },
	{ html_span, 850, "850 ms" },
	{ html_span, 3000, "3 s" },
	{ html_span, 37660, "37.6 s" },
	{ html_span, 60000, "1 min" },
	{ html_span, 83000, "1 min 23 s" },
	{ html_span, 3600000, "1 h" },
	{ html_span, 5400000, "1 h 30 min" },
	{ html_span, 90000000, "1 d 1 h" },
};

static void
writes_quantities(void **state)
{
	struct sink s;

	(void)state;
	for (size_t i = 0; i < sizeof(quantity_rows) / sizeof(*quantity_rows);
	     i++) {
		quantity_rows[i].put(sink_open(&s), quantity_rows[i].n);
		sink_expect(&s, "a quantity", quantity_rows[i].want);
	}
}

/* --- time ------------------------------------------------------------------
 */

static const struct {
	const char *text;
	uint64_t want_ms; /* 0: refused */
} time_rows[] = {
	{ "1970-01-01T00:00:00.001Z", 1 },
	{ "2000-02-29T00:00:00.000Z", UINT64_C(951782400000) },
	{ "2026-11-30T02:40:54.615Z", UINT64_C(1796006454615) },
	{ "9999-12-31T23:59:59.999Z", UINT64_C(253402300799999) },
	{ "2026-02-29T00:00:00.000Z", 0 },
	{ "2026-04-31T00:00:00.000Z", 0 },
	{ "2026-01-01T24:00:00.000Z", 0 },
	{ "2026-01-01T00:60:00.000Z", 0 },
	{ "2026-13-01T00:00:00.000Z", 0 },
	{ "2026-00-01T00:00:00.000Z", 0 },
	{ "2026-01-00T00:00:00.000Z", 0 },
	{ "1969-12-31T23:59:59.999Z", 0 },
	{ "2026-01-01T00:00:00Z", 0 },
	{ "2026-01-01T00:00:00.000+", 0 },
	{ "2026-01-01T00:00:00.000Z ", 0 },
	{ "+026-01-01T00:00:00.000Z", 0 },
	{ "", 0 },
};

static void
reads_times(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(time_rows) / sizeof(*time_rows); i++) {
		uint64_t got = 0;
		bool ok = timeline_parse(time_rows[i].text, &got);

		if (ok != (time_rows[i].want_ms != 0) ||
		    got != time_rows[i].want_ms)
			fail_msg("\"%s\": %d, %llu", time_rows[i].text, ok,
			    (unsigned long long)got);
	}
}

/* Whatever the order and the distance, nothing is lost. */
static void
a_timeline_keeps_sums(void **state)
{
	static const uint64_t times_ms[] = { 5000, 5001, 4000, 90000, 5000000,
		3, 86400000, UINT64_C(31536000000), 0,
		UINT64_C(253402300799999) };
	static struct timeline t;
	uint64_t sum;

	(void)state;
	for (size_t i = 0; i < sizeof(times_ms) / sizeof(*times_ms); i++) {
		const struct timeline_slot one = { 1, 0, 2, 3 };

		timeline_add(&t, times_ms[i], &one);
		sum = 0;
		assert_true(t.count <= TIMELINE_SLOTS);
		for (size_t k = 0; k < t.count; k++)
			sum += t.slots[k].allowed;
		assert_int_equal(sum, i + 1);
		assert_true(t.from_ms % timeline_step_ms(&t) == 0);
	}
}

/* --- records ---------------------------------------------------------------
 */

#define HEAD(sandbox, generation)                                              \
	"{\"seq\":1,\"time\":\"2026-11-30T02:40:54.615Z\",\"prev\":\"0\","     \
	"\"sandbox\":\"" sandbox "\",\"generation\":" generation ","           \
	"\"policy\":\"abc\","
#define OWN HEAD("s", "7")
#define DENIED "\"verdict\":\"deny\",\"rule\":\"-\",\"at\":\"p.ini:1\","
#define REQUEST "\"event\":\"request\","

static json_t *
report_of(const char *const *lines, size_t count)
{
	struct report *r = report_new("s", 0);
	json_t *ret;

	assert_non_null(r);
	for (size_t i = 0; i < count; i++)
		report_take(r, span_of(lines[i]));
	ret = report_finish(r);
	report_free(r);
	if (ret != NULL)
		(void)json_object_set_new(ret, "log",
		    json_pack("{s:s}", "chain", "whole"));
	return ret;
}

static json_int_t
total(const json_t *report, const char *key)
{
	return json_integer_value(
	    json_object_get(json_object_get(report, "totals"), key));
}

static const json_t *
row(const json_t *report, const char *table, size_t i)
{
	return json_array_get(json_object_get(report, table), i);
}

static const char *
text(const json_t *object, const char *key)
{
	const char *t = json_string_value(json_object_get(object, key));

	return t == NULL ? "" : t;
}

static void
counts_what_is_the_sandbox_s(void **state)
{
	static const char *const lines[] = {
		HEAD("s", "6") REQUEST
		"\"verdict\":\"allow\",\"host\":\"old\"}",
		OWN "\"event\":\"lifecycle\",\"verdict\":\"allow\","
		    "\"detail\":\"created\"}",
		HEAD("t", "9") REQUEST "\"verdict\":\"allow\",\"host\":\"t\"}",
		OWN REQUEST
		"\"verdict\":\"allow\",\"rule\":\"r\",\"at\":\"p.ini:3\","
		"\"host\":\"a.example\",\"port\":443,\"status\":200,\"up\":5,"
		"\"down\":70,\"credential\":\"c\"}",
		OWN REQUEST DENIED
		"\"reason\":\"no-rule\",\"host\":\"b.example\",\"port\":443,"
		"\"method\":\"POST\",\"path\":\"/x\"}",
		HEAD("s", "6") REQUEST
		"\"verdict\":\"allow\",\"host\":\"old\"}",
		OWN "\"event\":\"connect\",\"verdict\":\"allow\",\"host\":"
		    "\"a.example\",\"port\":443,\"up\":0,\"down\":0}",
		OWN "\"event\":\"connect\",\"verdict\":\"allow\",\"host\":"
		    "\"d.example\",\"port\":22,\"up\":9,\"down\":9,\"rule\":"
		    "\"t\",\"at\":\"p.ini:9\"}",
		"not JSON",
		OWN "\"event\":\"lease\",\"verdict\":\"allow\",\"credential\":"
		    "\"c\",\"detail\":\"mint fp=0a0b0c0d scope=11223344\"}",
	};
	json_t *r = report_of(lines, sizeof(lines) / sizeof(*lines));

	(void)state;
	assert_non_null(r);
	assert_int_equal(total(r, "requests"), 2);
	assert_int_equal(total(r, "refused"), 1);
	assert_int_equal(total(r, "up"), 14);
	assert_int_equal(total(r, "down"), 79);
	assert_int_equal(total(r, "connections"), 1);
	assert_int_equal(total(r, "tunnels"), 1);
	assert_int_equal(total(r, "hosts"), 2);
	assert_true(json_is_true(json_object_get(r, "has_begin")));
	assert_false(json_is_true(json_object_get(r, "has_ended")));
	assert_int_equal(json_integer_value(
			     json_object_get(r, "other_generations")),
	    1);
	assert_string_equal(text(row(r, "hosts", 0), "host"), "a.example");
	assert_string_equal(text(row(r, "refused", 0), "says"),
	    "no rule names this host");
	assert_string_equal(text(row(r, "refused", 0), "remedy"),
	    "[allow b-example-1] ; 1 requests\nhost    = b.example\n"
	    "method  = POST\npath    = /x ; 1\n");
	assert_string_equal(
	    text(json_array_get(json_object_get(row(r, "credentials", 0),
				    "values"),
		     0),
		"fingerprint"),
	    "0a0b0c0d");
	json_decref(r);
}

/* Apart from what was refused, and in the policy's own words. */
static void
tells_what_the_ceiling_alone_let_through(void **state)
{
	static const char *const lines[] = {
		OWN REQUEST
		"\"verdict\":\"allow\",\"reason\":\"\",\"rule\":\"most\","
		"\"at\":\"ceiling.ini:4\",\"learned\":\"path\","
		"\"learned_rule\":\"api\",\"learned_at\":\"p.ini:3\","
		"\"host\":\"a.example\",\"port\":443,\"method\":\"GET\","
		"\"path\":\"/x\",\"status\":200}",
		OWN "\"event\":\"connect\",\"verdict\":\"allow\",\"rule\":"
		    "\"most\",\"learned\":\"no-rule\",\"host\":\"a.example\","
		    "\"port\":443,\"up\":0,\"down\":0}",
	};
	json_t *r = report_of(lines, sizeof(lines) / sizeof(*lines));

	(void)state;
	assert_non_null(r);
	assert_int_equal(total(r, "requests"), 1);
	assert_int_equal(total(r, "refused"), 0);
	assert_int_equal(total(r, "learned"), 1);
	assert_null(row(r, "refused", 0));
	assert_null(row(r, "learned", 1));
	assert_string_equal(text(row(r, "learned", 0), "rule"), "api");
	assert_string_equal(text(row(r, "learned", 0), "at"), "p.ini:3");
	assert_string_equal(text(row(r, "learned", 0), "reason"), "path");
	assert_non_null(
	    strstr(text(row(r, "learned", 0), "remedy"), "path    = /x ; 1"));
	assert_string_equal(text(row(r, "rules", 0), "rule"), "most");
	json_decref(r);
}

static const struct {
	const char *claim, *line;
	const char *remedy; /* what is in it; "" for none */
	const char *advice;
} refusal_rows[] = {
	{ "the ceiling is nothing that a policy mends",
	    "\"reason\":\"ceiling-no-rule\",\"host\":\"b.example\","
	    "\"port\":443,\"method\":\"GET\",\"path\":\"/\"}",
	    "", "The host's ceiling says no" },
	{ "a deny rule is told",
	    "\"reason\":\"denied-by-rule\",\"host\":\"b\"}", "",
	    "A deny rule says no" },
	{ "another port is in the rule",
	    "\"reason\":\"port\",\"host\":\"b.example\",\"port\":8443,"
	    "\"method\":\"GET\",\"path\":\"/\"}",
	    "port    = 8443", "" },
	{ "a path that a policy cannot hold is not written",
	    "\"reason\":\"path\",\"host\":\"b.example\",\"port\":443,"
	    "\"method\":\"GET\",\"path\":\"/a,b\\u000a[allow x]\"}",
	    "method  = GET\n", "" },
	{ "a host that is none gets no rule",
	    "\"reason\":\"no-rule\",\"host\":\"a\\u000ab\",\"port\":443,"
	    "\"method\":\"GET\",\"path\":\"/\"}",
	    "", "" },
	{ "a reason that we do not know is kept",
	    "\"reason\":\"new\","
	    "\"host\":\"b\"}",
	    "", "" },
};

static void
says_what_would_allow_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refusal_rows) / sizeof(*refusal_rows);
	     i++) {
		char line[1024];
		const char *lines[] = { line };
		const char *remedy, *advice;
		json_t *r;

		(void)snprintf(line, sizeof(line), "%s%s", OWN REQUEST DENIED,
		    refusal_rows[i].line);
		r = report_of(lines, 1);
		remedy = text(row(r, "refused", 0), "remedy");
		advice = text(row(r, "refused", 0), "advice");
		if (strstr(remedy, refusal_rows[i].remedy) == NULL ||
		    (*refusal_rows[i].remedy == '\0') != (*remedy == '\0') ||
		    strstr(advice, refusal_rows[i].advice) == NULL ||
		    strstr(remedy, "\n[allow x]") != NULL)
			fail_msg("%s: \"%s\", \"%s\"", refusal_rows[i].claim,
			    remedy, advice);
		json_decref(r);
	}
}

static void
says_what_is_missing(void **state)
{
	static const char *const lines[] = {
		"{\"time\":\"2026-11-30T02:40:00.000Z\",\"sandbox\":\"\","
		"\"event\":\"lifecycle\",\"reason\":\"audit-unavailable\","
		"\"detail\":\"gap: before it was there\"}",
		OWN REQUEST "\"verdict\":\"allow\",\"host\":\"a\"}",
		HEAD("", "0") "\"event\":\"lifecycle\",\"verdict\":\"deny\","
			      "\"reason\":\"audit-unavailable\",\"detail\":"
			      "\"gap: the log could not be written, 3 records "
			      "lost\"}",
		OWN "\"event\":\"lifecycle\",\"verdict\":\"deny\",\"reason\":"
		    "\"limit-rate\",\"detail\":\"overflow: 9 records above the "
		    "rate\"}",
		OWN "\"event\":\"packet\",\"verdict\":\"deny\",\"reason\":"
		    "\"packet-udp\",\"detail\":\"overflow: 41 packets without "
		    "a record, 50 in all\"}",
	};
	json_t *r = report_of(lines, sizeof(lines) / sizeof(*lines));

	(void)state;
	assert_int_equal(json_array_size(json_object_get(r, "losses")), 2);
	assert_false(json_is_true(json_object_get(r, "has_begin")));
	assert_int_equal(json_integer_value(
			     json_object_get(row(r, "packets", 0), "packets")),
	    41);
	json_decref(r);
}

static void
a_scan_fills_no_memory(void **state)
{
	struct report *r = report_new("s", 0);
	json_t *all;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		char line[512];

		(void)snprintf(line, sizeof(line),
		    OWN REQUEST DENIED "\"reason\":\"no-rule\",\"host\":"
				       "\"h%d.example\",\"port\":443,"
				       "\"method\":\"GET\",\"path\":\"/%d\"}",
		    i % 1000, i);
		report_take(r, span_of(line));
	}
	all = report_finish(r);
	assert_int_equal(json_array_size(json_object_get(all, "hosts")),
	    REPORT_ROWS_MAX);
	assert_int_equal(total(all, "requests"), 3000);
	assert_int_equal(json_integer_value(
			     json_object_get(json_object_get(all, "left_out"),
				 "hosts")),
	    3 * (1000 - REPORT_ROWS_MAX));
	json_decref(all);
	report_free(r);
}

#define ASK(what)                                                              \
	OWN "\"event\":\"ask\",\"verdict\":\"ask\",\"host\":\"a.example\","    \
	    "\"port\":443,\"method\":\"POST\",\"path\":\"/x\",\"rule\":\"r\"," \
	    "\"detail\":\"" what "\"}"

static void
each_question_has_its_answer(void **state)
{
	static const char *const lines[] = {
		ASK("id 00000001: asked"),
		ASK("id 00000002: asked"),
		ASK("id 00000001: allowed by root, for longer than once"),
		ASK("id 00000003: denied by hook"), /* asked in an older log */
		ASK("id "),
		ASK("x"),
	};
	static const char *const want[][2] = {
		{ "00000001", "allowed by root, for longer than once" },
		{ "00000002", "none yet" },
		{ "00000003", "denied by hook" },
		{ "", "" },
		{ "x", "" },
	};
	json_t *r = report_of(lines, sizeof(lines) / sizeof(*lines));
	size_t count = sizeof(want) / sizeof(*want);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(r, "asks")), count);
	for (size_t i = 0; i < count; i++) {
		const json_t *one = row(r, "asks", i);

		assert_string_equal(json_string_value(
					json_object_get(one, "id")),
		    want[i][0]);
		assert_string_equal(json_string_value(
					json_object_get(one, "answer")),
		    want[i][1]);
	}
	json_decref(r);
}

/* --- the page --------------------------------------------------------------
 */

#define ATTACK                                                                 \
	"\\\"><script>alert(1)</script><img src=x onerror=alert(1)>&\\u001b"

static void
a_guest_writes_no_markup(void **state)
{
	static const char *const lines[] = {
		OWN REQUEST DENIED
		"\"reason\":\"no-rule\",\"host\":\"" ATTACK "\",\"port\":443,"
		"\"method\":\"" ATTACK "\",\"path\":\"" ATTACK "\",\"detail\":"
		"\"" ATTACK "\"}",
		OWN REQUEST "\"verdict\":\"allow\",\"rule\":\"" ATTACK
			    "\",\"at\":\"" ATTACK "\",\"host\":\"" ATTACK
			    "\",\"credential\":\"" ATTACK "\"}",
		OWN "\"event\":\"dns\",\"verdict\":\"deny\",\"host\":\"" ATTACK
		    "2\",\"detail\":\"" ATTACK "\",\"reason\":\"" ATTACK "\"}",
		OWN
		"\"event\":\"packet\",\"verdict\":\"deny\",\"reason\":\"" ATTACK
		"\",\"address\":\"" ATTACK "\"}",
		OWN
		"\"event\":\"run\",\"verdict\":\"allow\",\"method\":\"" ATTACK
		"\",\"path\":\"" ATTACK "\",\"detail\":\"" ATTACK "\"}",
		OWN "\"event\":\"ask\",\"verdict\":\"ask\",\"host\":\"" ATTACK
		    "\",\"method\":\"" ATTACK "\",\"path\":\"" ATTACK
		    "\",\"detail\":\"id " ATTACK ": " ATTACK "\"}",
		OWN "\"event\":\"lifecycle\",\"verdict\":\"deny\",\"reason\":"
		    "\"" ATTACK "\",\"detail\":\"gap: " ATTACK "\"}",
		OWN "\"event\":\"lease\",\"verdict\":\"allow\",\"credential\":"
		    "\"" ATTACK "\",\"detail\":\"mint fp=" ATTACK "\"}",
	};
	json_t *r = report_of(lines, sizeof(lines) / sizeof(*lines));
	struct sink s;
	const char *fault;

	(void)state;
	(void)json_object_set_new((json_t *)(uintptr_t)row(r, "policies", 0),
	    "text", json_string("</pre><script>alert(1)</script>"));
	assert_int_equal(page_write(sink_open(&s), r), 0);
	(void)fclose(s.f);
	fault = page_scan_fault(s.text, s.len);
	if (fault != NULL)
		fail_msg("%s", fault);
	assert_non_null(strstr(s.text, "&lt;script&gt;alert(1)"));
	assert_null(strstr(s.text, "<script"));
	assert_null(strchr(s.text, '\x1b'));
	free(s.text);
	json_decref(r);
}

/* The hash in the policy is that of the style: else a page has none. */
static void
the_style_is_allowed_and_nothing_else(void **state)
{
	static const char *const lines[] = { OWN REQUEST
		"\"verdict\":\"allow\",\"host\":\"a\"}" };
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	json_t *r = report_of(lines, 1);
	uint8_t digest[DIGEST_BYTES + 1] = { 0 };
	char want[64] = "'sha256-";
	const char *from, *to;
	struct sink s;

	(void)state;
	assert_int_equal(page_write(sink_open(&s), r), 0);
	(void)fclose(s.f);
	from = strstr(s.text, "<style>");
	assert_non_null(from);
	from += strlen("<style>");
	to = strstr(from, "</style>");
	assert_non_null(to);
	assert_int_equal(digest_sha256(from, (size_t)(to - from), digest), 0);
	for (size_t i = 0, bit = 0; i < 43; i++, bit += 6) {
		unsigned int two =
		    (unsigned int)digest[bit / 8] << 8 | digest[bit / 8 + 1];

		want[8 + i] = digits[two >> (10 - bit % 8) & 63];
	}
	memcpy(want + 8 + 43, "='", 3);
	assert_non_null(strstr(s.text, want));
	assert_non_null(strstr(s.text, "default-src 'none'; style-src 'sha"));
	free(s.text);
	json_decref(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_text),
		cmocka_unit_test(writes_quantities),
		cmocka_unit_test(reads_times),
		cmocka_unit_test(a_timeline_keeps_sums),
		cmocka_unit_test(counts_what_is_the_sandbox_s),
		cmocka_unit_test(tells_what_the_ceiling_alone_let_through),
		cmocka_unit_test(says_what_would_allow_it),
		cmocka_unit_test(says_what_is_missing),
		cmocka_unit_test(a_scan_fills_no_memory),
		cmocka_unit_test(each_question_has_its_answer),
		cmocka_unit_test(a_guest_writes_no_markup),
		cmocka_unit_test(the_style_is_allowed_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
