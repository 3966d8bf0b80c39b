#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/compile_rows.h"

static void
a_ceiling_is_a_policy_without_credentials(void **state)
{
	static const struct row rows[] = {
		{ "a ceiling", ALLOW, NULL },
		{ "a ceiling with presets",
		    "[policy]\nversion = 1\npreset = npm-read\n", NULL },
		{ "a ceiling with a credential", ALLOW "credential = c\n",
		    "t.ini:5: a ceiling hands out no credential" },
	};

	(void)state;
	try_rows(rows, sizeof(rows) / sizeof(rows[0]), true);
}

static void
presets_are_named_and_keep_their_lines(void **state)
{
	static const struct row rows[] = {
		{ "a preset", "[policy]\nversion = 1\npreset = npm-read\n",
		    NULL },
		{ "an unknown one", "[policy]\nversion = 1\npreset = npm\n",
		    "t.ini:3: unknown preset npm" },
		{ "one twice",
		    "[policy]\nversion = 1\npreset = npm-read, npm-read\n",
		    "t.ini:3: preset = npm-read: this preset is named twice" },
		{ "a path for a preset",
		    "[policy]\nversion = 1\npreset = ../x\n",
		    "t.ini:3: preset = ../x: not a name" },
		{ "a rule named as one of a preset",
		    "[policy]\nversion = 1\npreset = npm-read\n"
		    "[allow npm-read]\nhost = a.example.org\n",
		    "preset:npm-read:10: a second rule named npm-read (first "
		    "at t.ini:4)" },
		{ "a rule that differs from one of a preset",
		    "[policy]\nversion = 1\npreset = debian-read\n"
		    "[allow x]\nhost = x.debian.org\ntls = passthrough\n",
		    "preset:debian-read:6: [allow debian-read] and [allow x] "
		    "(t.ini:4) both cover" },
	};
	struct policy *p = make_policy_with("t.ini",
	    "[policy]\nversion = 1\npreset = npm-read\n", false, presets_find);
	struct policy_pair pair = { p, NULL };
	struct policy_request req = { .host = "x.npmjs.org",
		.port = 443,
		.method = span_of("GET"),
		.path = span_of("/@acme%2fwidget"),
		.has_encoded_slash = true };
	struct verdict v;

	(void)state;
	TRY(rows);
	assert_non_null(p);
	v = policy_judge_request(&pair, &req);
	assert_int_equal(v.action, ACTION_ALLOW);
	assert_string_equal(v.file, "preset:npm-read");
	assert_int_equal(v.line, 10);
	req.method = span_of("PUT");
	assert_int_equal(policy_judge_request(&pair, &req).reason,
	    REASON_METHOD);
	/* without any rule at all it is still the text's [policy] line */
	v = policy_judge_connect(&pair, "example.org", 443);
	assert_string_equal(v.file, "t.ini");
	assert_int_equal(v.line, 1);
	policy_unref(p);
}

static struct span
preset_of_presets(const char *name, void *arg)
{
	(void)name;
	(void)arg;
	return span_of("[policy]\nversion = 1\npreset = npm-read\n");
}

static void
a_preset_names_no_presets(void **state)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = "t.ini",
		.text = span_of("[policy]\nversion = 1\npreset = x\n"),
		.preset = preset_of_presets };

	(void)state;
	assert_int_equal(compile_policy(&in, r), -EINVAL);
	assert_true(has_finding(r,
	    "preset:x:3: preset = npm-read: a preset cannot name presets"));
	drop(r);
}

/* All at once: no names collide, no rules disagree, nothing warns. */
static void
the_shipped_presets_go_together(void **state)
{
	uint8_t text[8192];
	struct wr w = wr_init(text, sizeof(text));
	struct compile_result *r;

	(void)state;
	wr_text(&w, POLICY_HEAD);
	for (const struct preset *p = presets_all; p->name != NULL; p++)
		wr_fmt(&w, "preset = %s\n", p->name);
	assert_true(wr_ok(&w));
	r = compile_text((const char *)text, w.len, false);
	if (r->finding_count > 0)
		fail_msg("%s", r->findings[0].text);
	drop(r);
}

static void
a_policy_has_its_size_a_ceiling_more(void **state)
{
	size_t len = POLICY_TEXT_MAX_BYTES + 1;
	char *text = malloc(len);
	struct compile_result *r;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', len);
	memcpy(text, ALLOW, strlen(ALLOW));
	r = compile_text(text, len, false);
	assert_true(has_finding(r, "t.ini: 262145 bytes, at most 262144"));
	drop(r);
	drop(compile_text(text, len - 1, false));
	r = compile_text(text, len, true);
	assert_non_null(r->image);
	drop(r);
	free(text);
}

static void
names_by_the_ten_thousand_are_found(void **state)
{
	const size_t names = 50000;
	char *text = malloc(names * 40 + 100), host[64];
	size_t len = (size_t)sprintf(text, POLICY_HEAD "[allow a]\n");
	struct compile_result *r;
	struct policy *p;
	struct policy_pair pair = { NULL, NULL };

	(void)state;
	for (size_t i = 0; i < names; i++)
		len +=
		    (size_t)sprintf(text + len, "host = h%zu.example.org\n", i);
	r = compile_text(text, len, true);
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), 0);
	assert_int_equal(policy_host_count(p), names);
	pair.policy = p;
	for (size_t i = 0; i < names + 1000; i++) {
		(void)snprintf(host, sizeof(host), "h%zu.example.org", i);
		assert_int_equal(policy_judge_connect(&pair, host, 443)
				     .action == ACTION_ALLOW,
		    i < names);
	}
	policy_unref(p);
	drop(r);
	free(text);
}

static void
what_a_reviewer_would_ask_is_a_warning(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "passthrough", ALLOW "tls = passthrough\n",
		    "t.ini:5: warning: passthrough judges the name only" },
		{ "tcp", ALLOW "scheme = tcp\nport = 22\n",
		    "t.ini:5: warning: scheme = tcp judges name and port" },
		{ "http", ALLOW "scheme = http\n",
		    "t.ini:5: warning: scheme = http crosses" },
		{ "121: a WebSocket", ALLOW "websocket = yes\n",
		    "t.ini:5: warning: websocket judges the request that" },
		{ "any depth", HOST("**.example.org"),
		    "t.ini:4: warning: **. names every host below" },
		{ "a shared parent", HOST("*.amazonaws.com"),
		    "t.ini:4: warning: below amazonaws.com anybody" },
		{ "nothing allowed", POLICY_HEAD,
		    "t.ini:1: warning: no [allow] rule" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct compile_result *r =
		    compile_text(rows[i].text, strlen(rows[i].text), false);

		if (r->image == NULL || r->finding_count != 1 ||
		    !has_finding(r, rows[i].want))
			fail_msg("%s: \"%s\"", rows[i].claim,
			    r->finding_count > 0 ? r->findings[0].text : "");
		drop(r);
	}
}

static void
a_flood_of_errors_is_counted_and_ends(void **state)
{
	char *text = malloc(20000);
	size_t len = (size_t)sprintf(text, ALLOW);
	struct compile_result *r;

	(void)state;
	for (int i = 0; i < 500; i++)
		len += (size_t)sprintf(text + len, "port = 0\n");
	r = compile_text(text, len, false);
	assert_int_equal(r->finding_count, COMPILE_FINDINGS_MAX);
	assert_int_equal(r->error_count, COMPILE_FINDINGS_MAX);
	drop(r);
	free(text);
}

static void
a_long_display_name_keeps_its_end(void **state)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	char name[400];
	struct compile_input in = { .display_name = name,
		.text = span_of(ALLOW) };
	struct policy *p;

	(void)state;
	memset(name, 'x', sizeof(name));
	memcpy(name + 380, "\n/a/tapward.ini", sizeof("\n/a/tapward.ini"));
	assert_int_equal(compile_policy(&in, r), 0);
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), 0);
	assert_true(strlen(policy_file(p)) < RULE_AT_SIZE - 11);
	assert_non_null(strstr(policy_file(p), "x?/a/tapward.ini"));
	policy_unref(p);
	drop(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ceiling_is_a_policy_without_credentials),
		cmocka_unit_test(presets_are_named_and_keep_their_lines),
		cmocka_unit_test(a_preset_names_no_presets),
		cmocka_unit_test(the_shipped_presets_go_together),
		cmocka_unit_test(a_policy_has_its_size_a_ceiling_more),
		cmocka_unit_test(names_by_the_ten_thousand_are_found),
		cmocka_unit_test(what_a_reviewer_would_ask_is_a_warning),
		cmocka_unit_test(a_flood_of_errors_is_counted_and_ends),
		cmocka_unit_test(a_long_display_name_keeps_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
