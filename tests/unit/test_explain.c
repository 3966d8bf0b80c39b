#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/check.h"
#include "conf/explain.h"
#include "tests/unit/make_policy.h"

static const char policy_text[] =
    POLICY_HEAD "[allow api]\n" /* line 3 */
		"host = api.example.org\n"
		"method = GET\n"
		"path = /repos/**\n"
		"say = only repos\n"
		"[allow db]\n" /* line 8 */
		"host = db.example.org\n"
		"scheme = tcp\n"
		"port = 5432\n"
		"[allow pin]\n" /* line 12 */
		"host = pin.example.org\n"
		"tls = passthrough\n"
		"[allow up]\n" /* line 15 */
		"host = up.example.org\n"
		"[deny bad]\n" /* line 17 */
		"host = bad.example.org\n"
		"[allow git]\n" /* line 19 */
		"host = git.example.org\n"
		"query = service=git-upload-pack\n"
		"[allow plain]\n" /* line 22 */
		"host = plain.example.org\n"
		"scheme = http\n"
		"[allow ws]\n" /* line 25 */
		"host = ws.example.org\n"
		"websocket = yes\n"
		"credential = chat\n"
		"[allow narrow]\n" /* line 29 */
		"host = narrow.example.org\n"
		"websocket = yes\n";
static const char ceiling_text[] =
    POLICY_HEAD "[allow all]\nhost = **.example.org\n"
		"[allow db]\nhost = db.example.org\nscheme = tcp\nport = 5432\n"
		"[allow pin]\nhost = pin.example.com\ntls = passthrough\n"
		"[allow plain]\nhost = plain.example.org\nscheme = http\n"
		"[allow ws]\nhost = ws.example.org\nwebsocket = yes\n"
		"[deny up]\nhost = up.example.org\n";

static void
a_url_gets_the_gates_verdict_and_a_hint(void **state)
{
	static const struct {
		const char *target, *method;
		int status;
		const char *code, *at, *hint; /* what the hint holds */
	} rows[] = {
		{ "https://api.example.org/repos/x", NULL, 0, "",
		    "tapward.ini:3", NULL },
		{ "api.example.org/repos/x", NULL, 0, "", "tapward.ini:3",
		    NULL },
		{ "API.example.org.:443/repos/x", NULL, 0, "", "tapward.ini:3",
		    NULL },
		{ "api.example.org", NULL, 0, "", "tapward.ini:3", NULL },
		{ "https://api.example.org/x", NULL, 1, "path", "tapward.ini:3",
		    "add `path = /x` to [allow api]" },
		{ "https://api.example.org/repos/../x", NULL, 1, "path",
		    "tapward.ini:3", "can be read in two ways" },
		{ "https://api.example.org/repos%2fx", NULL, 1, "path",
		    "tapward.ini:3", "add `encoded-slash = yes`" },
		{ "https://api.example.org/repos/x", "POST", 1, "method",
		    "tapward.ini:3", "add `method = POST` to [allow api]" },
		{ "https://api.example.org:8443/repos/x", NULL, 1, "port",
		    "tapward.ini:3", "add `port = 8443`" },
		{ "http://api.example.org/repos/x", NULL, 1, "port",
		    "tapward.ini:3", "`scheme = http`" },
		{ "https://x.example.org/", NULL, 1, "no-rule", "tapward.ini:1",
		    "`host = x.example.org`" },
		{ "https://bad.example.org/", NULL, 1, "denied-by-rule",
		    "tapward.ini:17", "remove or narrow [deny bad]" },
		{ "https://git.example.org/a?service=git-receive-pack", NULL, 1,
		    "query", "tapward.ini:19",
		    "`query = service=git-receive-pack`" },
		{ "https://git.example.org/a?service=git-upload-pack", NULL, 0,
		    "", "tapward.ini:19", NULL },
		{ "https://up.example.org/", NULL, 1, "ceiling-denied-by-rule",
		    "ceiling.ini:18", "the host's administrator can remove" },
		{ "tcp://db.example.org:5432", NULL, 0, "", "tapward.ini:8",
		    NULL },
		{ "https://db.example.org:5432", NULL, 1, "port",
		    "tapward.ini:8", "`scheme = https`" },
		{ "tcp://api.example.org:443", NULL, 1, "port", "tapward.ini:3",
		    "`scheme = tcp`" },
		{ "http://plain.example.org/", NULL, 0, "", "tapward.ini:22",
		    NULL },
		{ "wss://ws.example.org/chat", NULL, 0, "", "tapward.ini:25",
		    NULL },
		{ "WSS://ws.example.org", "GET", 0, "", "tapward.ini:25",
		    NULL },
		{ "wss://api.example.org/repos/x", NULL, 1, "websocket",
		    "tapward.ini:3",
		    "add `websocket = yes` to [allow api] (tapward.ini:3)" },
		{ "wss://narrow.example.org", NULL, 1, "ceiling-websocket",
		    "ceiling.ini:3", "the host's administrator can add" },
		{ "https://narrow.example.org/", NULL, 0, "", "tapward.ini:29",
		    NULL },
		{ "ws://plain.example.org/", NULL, 1, "websocket",
		    "tapward.ini:22", "add `websocket = yes` to [allow" },
		{ "ws://ws.example.org/", NULL, 1, "port", "tapward.ini:25",
		    "`scheme = http`" },
		{ "dns://api.example.org", NULL, 0, "", "tapward.ini:3", NULL },
		{ "DNS://db.example.org.", NULL, 0, "", "tapward.ini:8", NULL },
		{ "dns://x.example.org", NULL, 1, "no-rule", "tapward.ini:1",
		    "`host = x.example.org`" },
		{ "dns://up.example.org", NULL, 1, "ceiling-denied-by-rule",
		    "ceiling.ini:18", NULL },
		{ "tcp://198.18.149.226:5432", NULL, 0, "", "tapward.ini:8",
		    NULL },
		{ "tcp://198.18.149.226:5433", NULL, 1, "packet-tcp",
		    "tapward.ini:1", "with `port = 5433`" },
		{ "tcp://203.0.113.7:22", NULL, 1, "packet-tcp",
		    "tapward.ini:1", "no address is let through" },
		{ "udp://api.example.org:443", NULL, 1, "packet-udp",
		    "tapward.ini:1", "falls back to TCP" },
	};
	struct policy *p = make_policy(policy_text);
	struct policy *c = make_ceiling(ceiling_text);
	struct policy_pair pair = { p, c };
	struct explanation e;
	struct err err;
	char at[RULE_AT_SIZE];

	(void)state;
	assert_true(p != NULL && c != NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (explain(&pair, rows[i].target, rows[i].method, &e, &err) !=
		    0)
			fail_msg("%s: %s", rows[i].target, err.text);
		(void)snprintf(at, sizeof(at), "%s:%u", e.verdict.file,
		    e.verdict.line);
		if (explain_status(&e) != rows[i].status ||
		    strcmp(e.code, rows[i].code) != 0 ||
		    strcmp(at, rows[i].at) != 0 ||
		    (rows[i].hint == NULL
			    ? e.hint[0] != '\0'
			    : strstr(e.hint, rows[i].hint) == NULL))
			fail_msg("%s: %d %s at %s, hint \"%s\"", rows[i].target,
			    explain_status(&e), e.code, at, e.hint);
	}
	policy_unref(p);
	policy_unref(c);
}

static void
what_is_no_url_gets_no_verdict(void **state)
{
	static const struct {
		const char *target, *want;
	} rows[] = {
		{ "", "" },
		{ "ftp://a.example.org/", "schemes are https://" },
		{ "https://1.2.3.4/", "an IP address matches no rule" },
		{ "https://[::1]/", "an IP address matches no rule" },
		{ "https://0x7f.1/", "" },
		{ "https://a@b.example.org/", "a@b.example.org: " },
		{ "https://a.example.org:0/", "a.example.org:0: " },
		{ "https://a.example.org:007/", "" },
		{ "https://a..example.org/", "" },
		{ "https://a.example.org/#x", "a URL holds no blanks" },
		{ "https://a.example.org/a b", "a URL holds no blanks" },
		{ "https://g\xd1\x96thub.com/", "a URL holds no blanks" },
		{ "https://a%2eexample.org/", "" },
		{ "https://[a.example.org]/", "" },
		{ "tcp://a.example.org", "tcp:// needs a port" },
		{ "tcp://a.example.org:22/x", "tcp:// names a host" },
		{ "dns://metadata", "metadata: the gate answers that there" },
		{ "dns://1.2.3.4", "1.2.3.4: the gate answers" },
		{ "udp://a.example.org", "udp:// needs" },
		{ "udp://8.8.8.8:53", "questions for names go to the gate" },
		{ "tcp://198.18.0.1:443",
		    "198.18.0.1:443 leads to the gate, which judges the" },
	};
	struct policy_pair pair = { NULL, NULL };
	struct explanation e;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = explain(&pair, rows[i].target, NULL, &e, &err);

		if (rc != -EINVAL ||
		    strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: %d %s", rows[i].target, rc, err.text);
	}
	/* without a policy everything is denied, with a word on why */
	assert_int_equal(explain(&pair, "https://a.example.org/", NULL, &e,
			     &err),
	    0);
	assert_string_equal(e.code, "no-policy");
	assert_int_equal(explain_status(&e), 1);
}

static void
the_text_says_what_was_decided(void **state)
{
	struct policy *p = make_policy(policy_text);
	struct policy_pair pair = { p, NULL };
	struct explanation e;
	struct err err;
	uint8_t buf[EXPLAIN_TEXT_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf) - 1);

	(void)state;
	assert_int_equal(explain(&pair, "https://api.example.org/x", NULL, &e,
			     &err),
	    0);
	explain_write(&w, &e);
	assert_true(wr_ok(&w));
	buf[w.len] = '\0';
	assert_non_null(strstr((char *)buf, "verdict: deny\n"));
	assert_non_null(strstr((char *)buf, "reason:  path ("));
	assert_non_null(strstr((char *)buf, "rule:    api\n"));
	assert_non_null(strstr((char *)buf, "at:      tapward.ini:3\n"));
	assert_non_null(strstr((char *)buf, "say:     only repos\n"));
	assert_non_null(strstr((char *)buf, "hint:    add `path"));
	w = wr_init(buf, sizeof(buf) - 1);
	assert_int_equal(explain(&pair, "https://pin.example.org/x", NULL, &e,
			     &err),
	    0);
	assert_false(e.is_inside_seen);
	explain_write(&w, &e);
	buf[w.len] = '\0';
	assert_non_null(strstr((char *)buf, "note:    passthrough: only"));
	/* where nothing is seen it is not known to be a WebSocket */
	assert_int_equal(explain(&pair, "wss://pin.example.org/x", NULL, &e,
			     &err),
	    0);
	assert_int_equal(explain_status(&e), 0);
	w = wr_init(buf, sizeof(buf) - 1);
	assert_int_equal(explain(&pair, "wss://ws.example.org", NULL, &e, &err),
	    0);
	explain_write(&w, &e);
	buf[w.len] = '\0';
	assert_non_null(strstr((char *)buf, "note:    the request that opens"));
	assert_non_null(strstr((char *)buf, "must say `websocket = yes`"));
	assert_int_equal(explain(&pair, "wss://ws.example.org", "POST", &e,
			     &err),
	    -EINVAL);
	assert_string_equal(err.text, "a WebSocket begins with GET");
	policy_unref(p);
}

static void
check_tells_files_apart_and_counts(void **state)
{
	static const struct {
		const char *claim, *text;
		enum check_kind kind;
		size_t errors, warnings;
		const char *want;
	} rows[] = {
		{ "a policy", policy_text, CHECK_GUESS, 0, 6,
		    "t.ini: ok, 9 rules for 9 host patterns\n" },
		{ "a broken policy", "[policy]\nversion = 3\nx = 1\n",
		    CHECK_GUESS, 2, 0, "t.ini:2: version = 3: the only" },
		{ "an unknown preset", "[policy]\nversion = 1\npreset = x\n",
		    CHECK_POLICY, 1, 0,
		    "t.ini:3: unknown preset x: `tapward preset list` names" },
		{ "a ceiling",
		    POLICY_HEAD "[allow a]\nhost = a.example.org\n"
				"credential = c\n",
		    CHECK_CEILING, 1, 0, "t.ini:5: a ceiling hands out no" },
		{ "a host configuration", "[ceiling]\npolicy = none\n",
		    CHECK_GUESS, 0, 1,
		    "t.ini: warning: [ceiling] policy = none" },
		{ "a broken host configuration", "[daemon]\nx = 1\n",
		    CHECK_GUESS, 1, 0, "t.ini:2: unknown key x" },
	};
	static uint8_t buf[CHECK_TEXT_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wr w = wr_init(buf, sizeof(buf) - 1);
		struct check_report r;

		assert_int_equal(check_text("t.ini", span_of(rows[i].text),
				     rows[i].kind, CHECK_LINES, &w, &r),
		    0);
		assert_true(wr_ok(&w));
		buf[w.len] = '\0';
		if (r.errors != rows[i].errors ||
		    r.warnings != rows[i].warnings ||
		    strstr((char *)buf, rows[i].want) == NULL)
			fail_msg("%s: %zu errors, %zu warnings: %s",
			    rows[i].claim, r.errors, r.warnings, (char *)buf);
	}
}

/* What is shipped passes its own check. */
static void
the_samples_are_clean(void **state)
{
	static const struct {
		const char *file;
		enum check_kind kind;
	} rows[] = {
		{ TEST_SAMPLES "/npm-private.ini", CHECK_POLICY },
		{ TEST_SAMPLES "/ceiling.ini", CHECK_CEILING },
		{ TEST_SAMPLES "/tapward.ini", CHECK_GUESS },
	};
	static uint8_t buf[CHECK_TEXT_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		AUTO_CLOSE int fd = open(rows[i].file, O_RDONLY);
		AUTO_FREE char *text = NULL;
		struct wr w = wr_init(buf, sizeof(buf) - 1);
		struct check_report r;
		size_t len;

		assert_true(fd >= 0);
		assert_int_equal(fd_read_all(fd, POLICY_TEXT_MAX_BYTES, &text,
				     &len),
		    0);
		assert_int_equal(check_text(rows[i].file, span_of(text),
				     rows[i].kind, CHECK_LINES, &w, &r),
		    0);
		buf[w.len] = '\0';
		if (r.errors + r.warnings > 0)
			fail_msg("%s", (char *)buf);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_gets_the_gates_verdict_and_a_hint),
		cmocka_unit_test(what_is_no_url_gets_no_verdict),
		cmocka_unit_test(the_text_says_what_was_decided),
		cmocka_unit_test(check_tells_files_apart_and_counts),
		cmocka_unit_test(the_samples_are_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
