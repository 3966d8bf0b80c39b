/*
 * An archive as a guest may send it.
 *
 * Holds: read in any pieces it is the same; every name is one component that
 * is neither "." nor ".."; modes are permissions; a file has the data that its
 * entry says, or the archive is cut; what is read, written again, is what was
 * read; no link that is said to stay inside has ".." to climb by.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "vmm/archive.h"

/* An archive of the entries and data that a parser gave. */
struct again {
	struct wr w;
	struct archive_parser p;
	unsigned int depth;
	uint64_t data_left;
};

static void
check_link(const struct archive_entry *e, unsigned int depth)
{
	bool climbs = e->target.ptr[0] == '/';
	unsigned int ups = 0;

	for (size_t i = 0; i + 1 < e->target.len; i++) {
		const bool starts = i == 0 || e->target.ptr[i - 1] == '/';
		const bool ends =
		    i + 2 == e->target.len || e->target.ptr[i + 2] == '/';

		if (starts && ends && memcmp(e->target.ptr + i, "..", 2) == 0)
			ups++;
	}
	if (climbs || ups > depth)
		HOLDS(archive_target_leaves(e->target, depth));
	if (!climbs && ups == 0)
		HOLDS(!archive_target_leaves(e->target, depth));
}

static void
check_entry(struct again *a, const struct archive_entry *e)
{
	HOLDS(a->data_left == 0);
	HOLDS(e->mode <= 0777 && e->mtime_ns < 1000000000);
	if (e->type == ARCHIVE_UP) {
		HOLDS(a->depth-- > 0);
		return;
	}
	HOLDS(e->name.len <= ARCHIVE_NAME_MAX);
	for (size_t i = 0; i < e->name.len; i++)
		HOLDS(e->name.ptr[i] != '/' && e->name.ptr[i] != '\0');
	HOLDS(!span_is(e->name, ".") && !span_is(e->name, ".."));
	HOLDS((e->name.len == 0) == (a->w.len == 4));
	HOLDS((e->name.len == 0) == (a->depth == 0));
	if (e->type == ARCHIVE_LINK)
		check_link(e, a->depth - 1);
	if (e->type == ARCHIVE_DIR)
		HOLDS(++a->depth <= ARCHIVE_DEPTH_MAX);
	a->data_left = e->size;
}

/* Reads part; false when it is refused. */
static bool
read_part(struct again *a, struct span part)
{
	struct archive_entry e;
	struct span data;

	for (;;) {
		switch (archive_parse(&a->p, &part, &e, &data)) {
		case ARCHIVE_MORE:
			HOLDS(part.len == 0);
			return true;
		case ARCHIVE_ENTRY:
			check_entry(a, &e);
			archive_entry_encode(&a->w, &e);
			break;
		case ARCHIVE_DATA:
			HOLDS(data.len > 0 && data.len <= a->data_left);
			a->data_left -= data.len;
			wr_bytes(&a->w, data.ptr, data.len);
			break;
		case ARCHIVE_DONE:
			HOLDS(a->depth == 0 && a->data_left == 0);
			archive_entry_encode(&a->w,
			    &(struct archive_entry){ .type = ARCHIVE_END });
			break;
		case ARCHIVE_BAD:
			HOLDS(a->p.fault != ARCHIVE_OK);
			return false;
		}
	}
}

static void
read_again(struct again *a, struct span in, bool in_pieces)
{
	uint32_t seed = (uint32_t)in.len;

	a->p = (struct archive_parser){ .fault = ARCHIVE_OK };
	a->w.len = 0;
	a->depth = 0;
	a->data_left = 0;
	archive_magic_encode(&a->w);
	while (in.len > 0) {
		size_t piece = in_pieces ? next_piece(&seed) * 9 : in.len;

		if (piece > in.len)
			piece = in.len;
		if (!read_part(a, (struct span){ in.ptr, piece }))
			break;
		in.ptr += piece;
		in.len -= piece;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole_buf[1 << 20], pieces_buf[1 << 20];
	static struct again whole = { .w = { .buf = whole_buf,
					  .size = sizeof(whole_buf) } };
	static struct again pieces = { .w = { .buf = pieces_buf,
					   .size = sizeof(pieces_buf) } };
	const struct span in = { data, size };

	if (size > sizeof(whole_buf) / 2)
		return 0;
	read_again(&whole, in, false);
	read_again(&pieces, in, true);
	HOLDS(archive_end(&whole.p) == archive_end(&pieces.p));
	HOLDS(wr_ok(&whole.w) && whole.w.len == pieces.w.len);
	HOLDS(memcmp(whole_buf, pieces_buf, whole.w.len) == 0);
	HOLDS(archive_fault_text(archive_end(&whole.p)) != NULL);
	if (archive_end(&whole.p) == ARCHIVE_OK) {
		HOLDS(whole.w.len == size);
		HOLDS(memcmp(whole_buf, data, size) == 0);
	}
	return 0;
}
