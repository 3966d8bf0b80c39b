#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/git_push.h"
#include "wire/pktline.h"

#define A "1111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222"
#define Z "0000000000000000000000000000000000000000"
#define Z64 Z "000000000000000000000000"
#define A64 A "111111111111111111111111"
#define PACK "|PACK"

/*
 * Lines parted by '|': "-" is a flush, "=" a delimiter, "PACK" the start of a
 * pack, '%' a NUL, '$' a line end, anything else a pkt-line.
 */
static size_t
make(const char *text, uint8_t *buf, size_t size)
{
	struct wr w = wr_init(buf, size);

	while (*text != '\0') {
		size_t len = strcspn(text, "|");
		uint8_t line[512];
		struct wr l = wr_init(line, sizeof(line));

		for (size_t i = 0; i < len; i++)
			wr_u8(&l,
			    text[i] == '%'       ? 0
				: text[i] == '$' ? '\n'
						 : (uint8_t)text[i]);
		if (len == 1 && *text == '-')
			pktline_write_flush(&w);
		else if (len == 1 && *text == '=')
			wr_text(&w, "0001");
		else if (len == 4 && memcmp(text, "PACK", 4) == 0)
			wr_bytes(&w, "PACK\0\0\0\2\0\0\0\1rest", 16);
		else
			pktline_write(&w, (struct span){ line, l.len });
		text += len;
		text += *text == '|' ? 1 : 0;
	}
	assert_true(wr_ok(&w));
	return w.len;
}

static const struct {
	const char *claim, *text;
	enum git_push_status want;
	size_t commands;
} rows[] = {
	{ "one command", A " " B " refs/heads/a%report-status|-" PACK,
	    GIT_PUSH_READ, 1 },
	{ "a line end is not part of it",
	    A " " B " refs/heads/a%report-status$|-" PACK, GIT_PUSH_READ, 1 },
	{ "several",
	    A " " B " refs/heads/a%|" Z " " B " b|" A " " Z " c|-" PACK,
	    GIT_PUSH_READ, 3 },
	{ "without capabilities", A " " B " a|-" PACK, GIT_PUSH_READ, 1 },
	{ "a deletion has no pack", A " " Z " a%delete-refs|-", GIT_PUSH_READ,
	    1 },
	{ "shallow", "shallow " A "|" A " " B " a|-" PACK, GIT_PUSH_READ, 1 },
	{ "options", A " " B " a%push-options|-|ci.skip|-" PACK, GIT_PUSH_READ,
	    1 },
	{ "SHA-256", Z64 " " A64 " a%object-format=sha256|-" PACK,
	    GIT_PUSH_READ, 1 },
	{ "nothing at all is a question", "-", GIT_PUSH_READ, 0 },
	{ "all known capabilities",
	    A " " B " a% report-status report-status-v2 side-band-64k quiet "
	      "atomic ofs-delta delete-refs object-format=sha1 agent=git/2.39 "
	      "session-id=x|-" PACK,
	    GIT_PUSH_READ, 1 },
	{ "a capability that is not known", A " " B " a%new|-" PACK,
	    GIT_PUSH_CAPABILITY, 1 },
	{ "another object format", A " " B " a%object-format=sha256|-" PACK,
	    GIT_PUSH_CAPABILITY, 1 },
	{ "capabilities of a later line", A " " B " a%|" A " " B " b%quiet|-",
	    GIT_PUSH_COMMAND, 1 },
	{ "names of two lengths", A " " B " a|" Z64 " " A64 " b|-",
	    GIT_PUSH_COMMAND, 1 },
	{ "nothing to nothing", Z " " Z " a|-", GIT_PUSH_COMMAND, 0 },
	{ "a name in capitals",
	    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA " B " a|-",
	    GIT_PUSH_COMMAND, 0 },
	{ "a short name", "1111 " B " a|-", GIT_PUSH_COMMAND, 0 },
	{ "no reference", A " " B " |-", GIT_PUSH_COMMAND, 0 },
	{ "no blank", A " " B "|-", GIT_PUSH_COMMAND, 0 },
	{ "a certificate", "push-cert%report-status$|-", GIT_PUSH_CERTIFICATE,
	    0 },
	{ "a bad shallow line", "shallow x|-", GIT_PUSH_SHALLOW, 0 },
	{ "shallow alone", "shallow " A "|-", GIT_PUSH_SHALLOW, 0 },
	{ "shallow behind a command", A " " B " a|shallow " A "|-",
	    GIT_PUSH_COMMAND, 1 },
	{ "a delimiter", A " " B " a|=" PACK, GIT_PUSH_PKTLINE, 1 },
	{ "no pack", A " " B " a|-", GIT_PUSH_SHORT, 1 },
	{ "something else for a pack", A " " B " a|-|" A " " B " b|-",
	    GIT_PUSH_PACK, 1 },
	{ "a pack behind a deletion", A " " Z " a|-" PACK, GIT_PUSH_TRAILING,
	    1 },
	{ "a list behind nothing", "-|" A " " B " a|-" PACK, GIT_PUSH_TRAILING,
	    0 },
	{ "no end", A " " B " a", GIT_PUSH_SHORT, 1 },
	{ "options without an end", A " " B " a%push-options|-|x",
	    GIT_PUSH_SHORT, 1 },
	{ "empty", "", GIT_PUSH_SHORT, 0 },
	{ "version 2 of the protocol", "command=push|-", GIT_PUSH_COMMAND, 0 },
};

static void
a_push_is_read_in_one_way_or_refused(void **state)
{
	uint8_t buf[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = make(rows[i].text, buf, sizeof(buf));

		/* at once, and byte by byte */
		for (size_t piece = len + 1; piece > 0; piece = piece / 2) {
			struct git_push p = { .at = 0 };
			enum git_push_status s = GIT_PUSH_MORE;

			for (size_t got = 0; s == GIT_PUSH_MORE && got < len;) {
				got += piece < len - got ? piece : len - got;
				s = git_push_read(&p,
				    (struct span){ buf, got });
			}
			if (s == GIT_PUSH_MORE || s == GIT_PUSH_READ)
				s = git_push_end(&p, (struct span){ buf, len });
			if (s != rows[i].want || p.commands < rows[i].commands)
				fail_msg("%s: %s, %zu commands", rows[i].claim,
				    git_push_status_text(s), p.commands);
		}
	}
}

static void
commands_say_what_they_do(void **state)
{
	static const char text[] = A " " B " refs/heads/a%report-status|" Z
				     " " B " b$|" A " " Z " c d|-" PACK;
	static const struct {
		enum git_push_deed deed;
		const char *ref;
	} want[] = { { GIT_PUSH_UPDATE, "refs/heads/a" },
		{ GIT_PUSH_CREATE, "b" }, { GIT_PUSH_DELETE, "c d" } };
	uint8_t buf[1024];
	struct span all = { buf, make(text, buf, sizeof(buf)) };
	struct git_push p = { .at = 0 };
	struct git_push_command c;
	size_t at = 0;

	(void)state;
	assert_int_equal(git_push_read(&p, all), GIT_PUSH_READ);
	assert_true(p.wants_report && !p.takes_sideband && p.has_pack);
	for (size_t i = 0; i < 3; i++) {
		assert_true(git_push_next(&p, all, &at, &c));
		assert_int_equal(c.deed, want[i].deed);
		assert_true(span_is(c.ref, want[i].ref));
	}
	assert_false(git_push_next(&p, all, &at, &c));
}

static void
lines_have_one_spelling(void **state)
{
	static const struct {
		const char *text;
		enum pktline_status want;
	} lines[] = {
		{ "0005x", PKTLINE_DATA },
		{ "0000", PKTLINE_FLUSH },
		{ "0001", PKTLINE_DELIM },
		{ "0002", PKTLINE_END },
		{ "0003", PKTLINE_BAD },
		{ "0004", PKTLINE_BAD },
		{ "fff1", PKTLINE_BAD },
		{ "000Ax", PKTLINE_BAD },
		{ "+005x", PKTLINE_BAD },
		{ " 005x", PKTLINE_BAD },
		{ "0x05x", PKTLINE_BAD },
		{ "000", PKTLINE_MORE },
		{ "0006x", PKTLINE_MORE },
		{ "", PKTLINE_MORE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct span in = span_of(lines[i].text), data;

		if (pktline_read(&in, &data) != lines[i].want)
			fail_msg("%s", lines[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_push_is_read_in_one_way_or_refused),
		cmocka_unit_test(commands_say_what_they_do),
		cmocka_unit_test(lines_have_one_spelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
