/* The command line's own parts: durations, and where a policy is read from. */
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
#include <sys/stat.h>
#include <unistd.h>

#include "cli/duration.h"
#include "cli/output.h"
#include "cli/policy_file.h"

static const struct {
	const char *text;
	uint32_t want_s; /* 0: refused */
} duration_rows[] = {
	{ "90s", 90 },
	{ "90", 90 },
	{ "30m", 1800 },
	{ "12h", 43200 },
	{ "7d", 604800 },
	{ "0", 0 },
	{ "0m", 0 },
	{ "", 0 },
	{ "m", 0 },
	{ "1w", 0 },
	{ "1h30m", 0 },
	{ "-1", 0 },
	{ " 1", 0 },
	{ "367d", 0 },
	{ "18446744073709551617", 0 },
};

static void
reads_durations(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(duration_rows) / sizeof(*duration_rows);
	     i++) {
		uint32_t got = 0;
		bool ok = duration_parse(duration_rows[i].text, &got);

		if (ok != (duration_rows[i].want_s != 0) ||
		    (ok && got != duration_rows[i].want_s))
			fail_msg("\"%s\": %d, %u", duration_rows[i].text, ok,
			    got);
	}
}

static void
a_terminal_gets_printable_text(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "exec sh -c ~", "exec sh -c ~" },
		{ "a\x1b[2Jb", "a?[2Jb" },
		{ "a\rb\nc\td", "a?b?c?d" },
		{ "\x7f\x01", "??" },
		{ "a\xc2\x9b"
		  "2Jb",
		    "a?2Jb" }, /* U+009B, CSI in one */
		{ "\xe2\x80\xae"
		  "x",
		    "?x" }, /* U+202E */
		{ "\xf0\x9f\x98\x80", "?" },
		{ "\x9b"
		  "2J",
		    "2J" }, /* no character of UTF-8 */
		{ "\xff\xfe", "??" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "%s", rows[i].text);
		output_make_printable(text);
		assert_string_equal(text, rows[i].want);
	}
}

static char folder[64];

static int
make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/tapward-cli-XXXXXX");
	return mkdtemp(folder) == NULL || chdir(folder) == -1 ? -1 : 0;
}

static int
remove_folder(void **state)
{
	char command[128];

	(void)state;
	if (chdir("/") == -1)
		return -1;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

/* Reads path and expects a refusal that says part. */
static void
expect_refusal(const char *path, size_t max, const char *part)
{
	struct policy_file file;
	struct err err = { "" };

	if (policy_file_read(path, max, &file, &err) == 0)
		fail_msg("%s was read", path);
	if (strstr(err.text, part) == NULL)
		fail_msg("%s: \"%s\"", path, err.text);
}

static void
row_189_refuses_links_fifos_folders_and_giants(void **state)
{
	(void)state;
	write_file("real.ini", "[policy]\n");
	assert_int_equal(symlink("real.ini", "link.ini"), 0);
	assert_int_equal(mkfifo("fifo.ini", 0600), 0);
	assert_int_equal(mkdir("folder.ini", 0700), 0);
	expect_refusal("link.ini", 100, "symbolic link");
	expect_refusal("fifo.ini", 100, "not a regular file");
	expect_refusal("folder.ini", 100, "not a regular file");
	expect_refusal("/dev/zero", 100, "not a regular file");
	expect_refusal("real.ini", 3, "at most 3");
	expect_refusal("absent.ini", 100, "No such file");
}

static void
finds_the_nearest_policy_up_to_the_repository(void **state)
{
	struct policy_file file;
	struct err err = { "" };

	(void)state;
	assert_int_equal(mkdir("repo", 0700), 0);
	assert_int_equal(mkdir("repo/.git", 0700), 0);
	assert_int_equal(mkdir("repo/sub", 0700), 0);
	write_file("tapward.ini", "outside\n");
	assert_int_equal(chdir("repo/sub"), 0);
	/* The one outside the repository is not taken. */
	expect_refusal(NULL, 100, "no tapward.ini here or above");
	write_file("../tapward.ini", "inside\n");
	assert_int_equal(policy_file_read(NULL, 100, &file, &err), 0);
	assert_string_equal(file.text, "inside\n");
	assert_string_equal(policy_file_name(&file), "tapward.ini");
	policy_file_done(&file);
}

static void
takes_no_policy_out_of_a_stranger_folder(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	(void)unsetenv("SUDO_UID");
	assert_int_equal(mkdir("theirs", 0755), 0);
	write_file("theirs/tapward.ini", "x\n");
	assert_int_equal(chown("theirs", 12345, 12345), 0);
	assert_int_equal(chdir("theirs"), 0);
	expect_refusal(NULL, 100, "folder of another user");
	/* Behind sudo it is the caller's own. */
	(void)setenv("SUDO_UID", "12345", 1);
	{
		struct policy_file file;
		struct err err = { "" };

		assert_int_equal(policy_file_read(NULL, 100, &file, &err), 0);
		policy_file_done(&file);
	}
	(void)unsetenv("SUDO_UID");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_durations),
		cmocka_unit_test(a_terminal_gets_printable_text),
		cmocka_unit_test_setup_teardown(
		    row_189_refuses_links_fifos_folders_and_giants, make_folder,
		    remove_folder),
		cmocka_unit_test_setup_teardown(
		    finds_the_nearest_policy_up_to_the_repository, make_folder,
		    remove_folder),
		cmocka_unit_test_setup_teardown(
		    takes_no_policy_out_of_a_stranger_folder, make_folder,
		    remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
