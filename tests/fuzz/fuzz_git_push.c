/*
 * A push is read in one way however it is split; what was read is all that is
 * there; and commands that are written anew say the same.
 */
#include "fuzz_wire.h"

#include "wire/git_push.h"
#include "wire/pktline.h"

#define MAX_BYTES 65536

/* seed 0: all at once. As a gate does: from all that has come. */
static enum git_push_status
read_split(struct span in, uint32_t seed, struct git_push *p)
{
	enum git_push_status s = GIT_PUSH_MORE;
	size_t got = 0;

	*p = (struct git_push){ .at = 0 };
	while (s == GIT_PUSH_MORE && got < in.len) {
		size_t piece = seed == 0 ? in.len : next_piece(&seed);

		got += piece < in.len - got ? piece : in.len - got;
		s = git_push_read(p, (struct span){ in.ptr, got });
	}
	return s == GIT_PUSH_MORE || s == GIT_PUSH_READ ? git_push_end(p, in)
							: s;
}

static void
check_commands(const struct git_push *p, struct span in, bool is_read)
{
	struct git_push_command c;
	size_t at = 0, n = 0, packs = 0;

	while (git_push_next(p, in, &at, &c)) {
		HOLDS(c.ref.len > 0 && memchr(c.ref.ptr, 0, c.ref.len) == NULL);
		HOLDS(c.old_oid.len == c.new_oid.len);
		HOLDS(c.old_oid.len == 40 || c.old_oid.len == 64);
		HOLDS(at <= p->at);
		packs += c.deed != GIT_PUSH_DELETE ? 1 : 0;
		n++;
	}
	HOLDS(n <= p->commands);
	HOLDS(!is_read || (n == p->commands && (packs > 0) == p->has_pack));
}

/* The list in its one spelling, and a pack if one is due. */
static void
check_again(const struct git_push *p, struct span in)
{
	static uint8_t buf[2 * MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct git_push again = { .at = 0 };
	struct git_push_command c;
	size_t at = 0;

	while (git_push_next(p, in, &at, &c)) {
		static uint8_t line[PKTLINE_DATA_MAX_BYTES];
		struct wr l = wr_init(line, sizeof(line));

		wr_bytes(&l, c.old_oid.ptr, c.old_oid.len);
		wr_u8(&l, ' ');
		wr_bytes(&l, c.new_oid.ptr, c.new_oid.len);
		wr_u8(&l, ' ');
		wr_bytes(&l, c.ref.ptr, c.ref.len);
		wr_u8(&l, '\n');
		if (!wr_ok(&l))
			return;
		pktline_write(&w, (struct span){ l.buf, l.len });
	}
	pktline_write_flush(&w);
	if (p->has_pack)
		wr_bytes(&w, "PACK\0\0\0\2\0\0\0\0", 12);
	if (!wr_ok(&w))
		return;
	HOLDS(
	    git_push_end(&again, (struct span){ buf, w.len }) == GIT_PUSH_READ);
	HOLDS(again.commands == p->commands && again.has_pack == p->has_pack);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct git_push a, b;
	enum git_push_status s;

	if (size > MAX_BYTES)
		return 0;
	s = read_split(in, 0, &a);
	HOLDS(s != GIT_PUSH_MORE && s < GIT_PUSH_STATUS_COUNT);
	HOLDS(git_push_status_text(s)[0] != '\0');
	HOLDS(read_split(in, (uint32_t)size + 1, &b) == s);
	HOLDS(a.commands == b.commands && a.options == b.options);
	HOLDS(a.wants_report == b.wants_report);
	HOLDS(a.takes_sideband == b.takes_sideband);
	check_commands(&a, in, s == GIT_PUSH_READ);
	if (s == GIT_PUSH_READ)
		check_again(&a, in);
	return 0;
}
