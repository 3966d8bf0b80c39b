/*
 * The state file: read back as written, or not at all.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/state.h"

static const struct state whole = {
	.name = "one",
	.generation = UINT64_MAX,
	.boot_id = "9d3c0d6a-2a0c-4f0e-8a53-0a8d0b3c7e11",
	.netns_inode = 4026532001,
	.gate_pid = INT32_MAX,
	.gate_start_ticks = 12345678,
	.gate_uid = 2130000016,
	.device = API_DEVICE_VETH,
	.owner_uid = 1000,
	.owner_gid = 100,
	.tap_owner_uid = UINT32_MAX,
	.ca_id = "one",
	.policy_digest = "abc",
	.display_name = "repo/tapward.ini of \"x\"",
	.created_wall_ms = 1769904000123,
	.ttl_end_wall_ms = 1769904060123,
	.ttl_end_boot_ms = 60000,
};

static char text[STATE_TEXT_MAX];
static size_t text_len;

static void
write_whole(void)
{
	struct wr w = wr_init(text, sizeof(text) - 1);

	state_write(&w, &whole);
	assert_true(wr_ok(&w));
	text_len = w.len;
	text[text_len] = '\0';
}

static int
parse(const char *ptr, size_t len, struct state *ret)
{
	return state_parse((struct span){ (const uint8_t *)ptr, len }, ret);
}

static void
reads_back_what_was_written(void **state)
{
	struct state s;

	(void)state;
	write_whole();
	assert_int_equal(parse(text, text_len, &s), 0);
	assert_string_equal(s.name, whole.name);
	assert_string_equal(s.boot_id, whole.boot_id);
	assert_string_equal(s.display_name, whole.display_name);
	assert_true(s.generation == whole.generation);
	assert_true(s.tap_owner_uid == whole.tap_owner_uid);
	assert_int_equal(s.gate_pid, whole.gate_pid);
	assert_int_equal(s.device, whole.device);
	assert_true(s.created_wall_ms == whole.created_wall_ms);
}

static void
a_file_that_was_cut_does_not_count(void **state)
{
	struct state s;

	(void)state;
	write_whole();
	for (size_t len = 0; len < text_len; len++)
		assert_int_equal(parse(text, len, &s), -EBADMSG);
}

static const struct {
	const char *claim, *find, *put;
} edits[] = {
	{ "another version", "tapward-state 2", "tapward-state 1" },
	{ "a name that is a path", "name one", "name ../" },
	{ "a name that is empty", "name one", "name " },
	{ "a CA that is a path", "ca one", "ca a/b" },
	{ "a number that is none", "netns 4026532001", "netns 40265x2001" },
	{ "a number with a sign", "netns 4026532001", "netns -4026532001" },
	{ "a number with a zero before it", "netns 4026532001",
	    "netns 04026532001" },
	{ "a number that is too large for its field", "owner-uid 1000",
	    "owner-uid 4294967296" },
	{ "a number beyond 64 bits", "netns 4026532001",
	    "netns 18446744073709551616" },
	{ "no number", "netns 4026532001", "netns " },
	{ "a pid that is none", "gate-pid 2147483647", "gate-pid 2147483648" },
	{ "a device that is none", "device 1", "device 2" },
	{ "a key that is another", "owner-gid", "owner-pid" },
	{ "a key that is missing", "owner-gid 100\n", "" },
	{ "a key that comes twice", "owner-gid 100\n",
	    "owner-gid 100\nowner-gid 100\n" },
	{ "a byte that cannot be printed", "display repo", "display \x01" },
	{ "text after its end", "end\n", "end\nmore\n" },
	{ "a tie that is none", "tied 0", "tied 2" },
	{ "two blanks", "device 1", "device  1" },
};

static void
what_is_strange_does_not_count(void **state)
{
	char edited[2 * STATE_TEXT_MAX];
	struct state s;

	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		char *at;

		write_whole();
		at = strstr(text, edits[i].find);
		assert_non_null(at);
		(void)snprintf(edited, sizeof(edited), "%.*s%s%s",
		    (int)(at - text), text, edits[i].put,
		    at + strlen(edits[i].find));
		if (parse(edited, strlen(edited), &s) != -EBADMSG)
			fail_msg("%s", edits[i].claim);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_was_written),
		cmocka_unit_test(a_file_that_was_cut_does_not_count),
		cmocka_unit_test(what_is_strange_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
