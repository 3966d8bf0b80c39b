/* Each fault that is planted is found, and nothing that is not there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/compile.h"
#include "conf/lint.h"
#include "conf/policy.h"
#include "conf/presets.h"
#include "conf/waiver.h"

static char *
read_text(const char *path, size_t *ret_len)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY);
	char *text;

	if (fd < 0)
		fail_msg("%s is not there", path);
	assert_int_equal(fd_read_all(fd, POLICY_TEXT_MAX_BYTES, &text, ret_len),
	    0);
	return text;
}

static struct compile_result *
look_over(const char *name, struct span text)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = name,
		.text = text,
		.preset = presets_find,
		.review = lint_review };

	assert_non_null(r);
	(void)compile_policy(&in, r);
	compile_result_done(r);
	return r;
}

static bool
is_found(const struct compile_result *r, unsigned long line, const char *text)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct finding *f = &r->findings[i];

		if (f->line == line && f->message > 0 &&
		    strstr(f->text + f->message, text) != NULL)
			return true;
	}
	return false;
}

/* "; want: LINE: TEXT | LINE: TEXT", the first line of each. */
static size_t
check_bad(const char *name, char *text, size_t len)
{
	struct compile_result *r =
	    look_over(name, (struct span){ (const uint8_t *)text, len });
	char *line = strndup(text, strcspn(text, "\n")), *rest = line, *want;
	size_t wanted = 0;

	assert_int_equal(strncmp(line, "; want: ", 8), 0);
	rest += 8;
	while (rest != NULL) {
		char *bar = strstr(rest, " | "), *end;
		unsigned long at = strtoul(rest, &end, 10);

		want = end + 2;
		assert_true(end != rest && strncmp(end, ": ", 2) == 0);
		if (bar != NULL)
			*bar = '\0';
		if (!is_found(r, at, want))
			fail_msg("%s: nobody says \"%s\" of line %lu", name,
			    want, at);
		wanted++;
		rest = bar != NULL ? bar + 3 : NULL;
	}
	for (size_t i = 0; r->finding_count != wanted && i < r->finding_count;
	     i++)
		print_error("%s\n", r->findings[i].text);
	if (r->finding_count != wanted)
		fail_msg("%s: %zu findings, %zu were planted", name,
		    r->finding_count, wanted);
	free(line);
	free(r);
	return wanted;
}

static void
each_planted_fault_is_found(void **state)
{
	DIR *d = opendir(TEST_POLICIES "/bad");
	const struct dirent *e;
	size_t files = 0, faults = 0, len;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char path[512];
		AUTO_FREE char *text = NULL;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/bad/%s", TEST_POLICIES,
		    e->d_name);
		text = read_text(path, &len);
		faults += check_bad(e->d_name, text, len);
		files++;
	}
	(void)closedir(d);
	print_message("%zu policies, %zu faults\n", files, faults);
	assert_true(files >= 60);
}

static void
expect_nothing(const char *name, struct span text)
{
	struct compile_result *r = look_over(name, text);

	if (r->finding_count > 0)
		fail_msg("%s", r->findings[0].text);
	free(r);
}

/* Nor of the samples: unit.samples. */
static void
nothing_is_said_of_presets(void **state)
{
	(void)state;
	for (const struct preset *p = presets_all; p->name != NULL; p++)
		expect_nothing(p->name, (struct span){ p->text, p->len });
}

#define HEAD "[policy]\nversion = 1\n"
#define HTTP "host = a.example.org\nscheme = http\nmethod = GET\n"

static void
a_waiver_holds_for_its_section(void **state)
{
	static const struct {
		const char *claim, *text;
		size_t left; /* warnings */
	} rows[] = {
		{ "before the heading",
		    HEAD "; check: plain-http: signed\n[allow a]\n" HTTP, 0 },
		{ "with other comments between",
		    HEAD "; check: plain-http: signed\n\n; b\n[allow a]\n" HTTP,
		    0 },
		{ "below the heading",
		    HEAD "[allow a]\n" HTTP "; check: plain-http: signed\n"
			 "path = /a\n",
		    0 },
		{ "not for the next section",
		    HEAD "; check: plain-http: signed\n[allow a]\n" HTTP
			 "[allow b]\nhost = b.example.org\nscheme = http\n",
		    1 },
		{ "not for the one before",
		    HEAD "[allow a]\n" HTTP
			 "; check: plain-http: signed\n[allow b]\n"
			 "host = b.example.org\n",
		    2 },
		{ "several codes",
		    HEAD "; check: unseen, plain-http: it is so\n[allow a]\n"
			 "host = a.example.org\nscheme = http\n"
			 "websocket = yes\n",
		    0 },
		{ "no error is waived",
		    HEAD "; check: plain-http: x\n[allow a]\n" HTTP
			 "credential = c\n",
		    1 },
		{ "another code", HEAD "; check: unseen: x\n[allow a]\n" HTTP,
		    2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct compile_result *r =
		    look_over("t.ini", span_of(rows[i].text));

		if (r->finding_count != rows[i].left)
			fail_msg("%s: %zu left, \"%s\"", rows[i].claim,
			    r->finding_count,
			    r->finding_count > 0 ? r->findings[0].text : "");
		free(r);
	}
}

/* Each code that a warning of the set has can be waived, and the other way. */
static void
each_code_is_planted_somewhere(void **state)
{
	bool is_planted[32] = { false };
	DIR *d = opendir(TEST_POLICIES "/bad");
	const struct dirent *e;
	size_t len;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char path[512];
		AUTO_FREE char *text = NULL;
		struct compile_result *r;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/bad/%s", TEST_POLICIES,
		    e->d_name);
		text = read_text(path, &len);
		r = look_over("t.ini",
		    (struct span){ (const uint8_t *)text, len });
		for (size_t i = 0; i < r->finding_count; i++) {
			const char *code = r->findings[i].code;
			size_t k = 0;

			while (code != NULL && waiver_codes[k] != NULL &&
			    strcmp(waiver_codes[k], code) != 0)
				k++;
			if (code != NULL && waiver_codes[k] == NULL)
				fail_msg("%s cannot be waived", code);
			is_planted[k] = code != NULL || is_planted[k];
		}
		free(r);
	}
	(void)closedir(d);
	for (size_t k = 0; waiver_codes[k] != NULL; k++) {
		if (!is_planted[k])
			fail_msg("no policy has %s", waiver_codes[k]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_planted_fault_is_found),
		cmocka_unit_test(nothing_is_said_of_presets),
		cmocka_unit_test(a_waiver_holds_for_its_section),
		cmocka_unit_test(each_code_is_planted_somewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
