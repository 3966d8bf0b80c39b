/*
 * The samples are clean, answer as they say, and are no longer than what they
 * were written after.
 */
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
#include <unistd.h>

#include "base/fd.h"
#include "conf/compile.h"
#include "conf/expect.h"
#include "conf/lint.h"
#include "conf/policy.h"
#include "conf/presets.h"

#define PATH_SIZE 512

static char *
read_text(const char *path)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY);
	char *text;
	size_t len;

	if (fd < 0)
		fail_msg("%s is not there", path);
	assert_int_equal(fd_read_all(fd, POLICY_TEXT_MAX_BYTES, &text, &len),
	    0);
	return text;
}

/* The policy, which must have nothing that a reviewer would ask. */
static struct compile_result *
compile_clean(const char *name, const char *text)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = name,
		.text = span_of(text),
		.preset = presets_find,
		.review = lint_review };

	assert_non_null(r);
	(void)compile_policy(&in, r);
	if (r->finding_count > 0)
		fail_msg("%s", r->findings[0].text);
	return r;
}

/* Asks the expectations at path, if it is there. */
static void
ask(const char *path, const struct policy_pair *pair,
    struct expect_report *report)
{
	static uint8_t buf[65536];
	struct wr w = wr_init(buf, sizeof(buf) - 1);
	struct expect_output out = { .lines = &w };
	struct err err = { "" };
	AUTO_FREE char *text = NULL;

	if (access(path, F_OK) != 0)
		return;
	text = read_text(path);
	if (expect_run(path, span_of(text), pair, &out, report, &err) != 0)
		fail_msg("%s", err.text);
	buf[w.len] = '\0';
	if (report->failed > 0)
		fail_msg("%s", (char *)buf);
}

static size_t
check_sample(const char *name)
{
	char path[PATH_SIZE];
	AUTO_FREE char *text = NULL;
	struct compile_result *r;
	struct policy *p;
	struct expect_report report = { 0, 0 };

	(void)snprintf(path, sizeof(path), "%s/%s.ini", TEST_SAMPLES, name);
	text = read_text(path);
	r = compile_clean(name, text);
	assert_int_equal(policy_map_bytes(r->image, r->image_len, &p), 0);
	ask(path, &(struct policy_pair){ p, NULL }, &report);
	(void)snprintf(path, sizeof(path), "%s/%s.expect.ini", TEST_SAMPLES,
	    name);
	ask(path, &(struct policy_pair){ p, NULL }, &report);
	policy_unref(p);
	compile_result_done(r);
	free(r);
	return report.asked;
}

/* All of the folder but the host's own configuration. */
static void
each_sample_is_clean_and_answers(void **state)
{
	DIR *d = opendir(TEST_SAMPLES);
	const struct dirent *e;
	size_t samples = 0, asked = 0;

	(void)state;
	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char name[PATH_SIZE];
		const char *dot = strrchr(e->d_name, '.');

		if (dot == NULL || strcmp(dot, ".ini") != 0 ||
		    strstr(e->d_name, ".expect.") != NULL ||
		    strcmp(e->d_name, "tapward.ini") == 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s",
		    (int)(dot - e->d_name), e->d_name);
		asked += check_sample(name);
		samples++;
	}
	(void)closedir(d);
	print_message("%zu samples, %zu expectations\n", samples, asked);
	assert_true(samples >= 12);
}

static size_t
count_lines(const char *text)
{
	size_t lines = 0;

	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		lines += len > 0 && text[0] != ';' && text[0] != '#';
		text += len + (text[len] == '\n');
	}
	return lines;
}

/* sample, lines of the original, where it is, commit */
static void
check_original(char *row)
{
	char path[PATH_SIZE], *rest = row;
	const char *name = strsep(&rest, "\t"), *count = strsep(&rest, "\t");
	AUTO_FREE char *text = NULL;
	size_t lines, max;

	assert_non_null(rest);
	max = strtoul(count, NULL, 10);
	(void)snprintf(path, sizeof(path), "%s/%s.ini", TEST_SAMPLES, name);
	text = read_text(path);
	lines = count_lines(text);
	if (lines > max)
		fail_msg("%s: %zu lines, the original has %zu", name, lines,
		    max);
	if (check_sample(name) == 0)
		fail_msg("%s has no expectation", name);
}

static void
no_sample_is_longer_than_its_original(void **state)
{
	AUTO_FREE char *text = read_text(TEST_ORIGINALS);
	char *rest = text, *row;
	size_t rows = 0;

	(void)state;
	while ((row = strsep(&rest, "\n")) != NULL) {
		if (row[0] == '\0' || row[0] == '#')
			continue;
		check_original(row);
		rows++;
	}
	assert_true(rows >= 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_is_clean_and_answers),
		cmocka_unit_test(no_sample_is_longer_than_its_original),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
