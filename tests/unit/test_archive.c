/*
 * The archive stream as bytes: what is written is read back however it is cut,
 * and what no honest end writes is refused before anything is made of it.
 */
#include "archive_support.h"

static uint8_t buf[1 << 20];

/* What one archive was read as, in the words of put_script(). */
static void
read_all(struct wr *out, struct archive_parser *p, struct span in, size_t piece)
{
	static const char letters[] = "?dflue";
	struct archive_entry e;
	struct span part, data;

	while (in.len > 0) {
		enum archive_event event = ARCHIVE_ENTRY;

		part = (struct span){ in.ptr, in.len < piece ? in.len : piece };
		in.ptr += part.len;
		in.len -= part.len;
		while (event != ARCHIVE_MORE) {
			event = archive_parse(p, &part, &e, &data);
			if (event == ARCHIVE_BAD)
				return;
			if (event == ARCHIVE_ENTRY)
				wr_fmt(out, "%c%.*s%.*s;", letters[e.type],
				    (int)e.name.len, (const char *)e.name.ptr,
				    (int)e.target.len,
				    (const char *)e.target.ptr);
			if (event == ARCHIVE_DATA)
				wr_bytes(out, data.ptr, data.len);
			if (event == ARCHIVE_DONE)
				wr_text(out, "e;");
		}
	}
}

static void
reads_back_what_was_written_in_any_pieces(void **state)
{
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	put_script(&w,
	    "d @ 755 f a 644 hello d b 700 l c ../a u f z 600 x u e");
	for (size_t piece = 1; piece <= w.len; piece++) {
		struct archive_parser p = { .fault = ARCHIVE_OK };
		uint8_t text[256];
		struct wr out = wr_init(text, sizeof(text));

		read_all(&out, &p, (struct span){ buf, w.len }, piece);
		assert_int_equal(archive_end(&p), ARCHIVE_OK);
		row_span("what was written", (struct span){ text, out.len },
		    "d;fa;hellodb;lc../a;u;fz;xu;e;");
	}
}

/* The fault that the len bytes of buf give, read at once and by bytes. */
static enum archive_fault
fault_of(size_t len)
{
	enum archive_fault faults[2];

	for (size_t i = 0; i < 2; i++) {
		struct archive_parser p = { .fault = ARCHIVE_OK };
		uint8_t text[8192];
		struct wr out = wr_init(text, sizeof(text));

		read_all(&out, &p, (struct span){ buf, len }, i == 0 ? len : 1);
		faults[i] = archive_end(&p);
	}
	row_equal("the same in pieces", faults[1], faults[0]);
	return faults[0];
}

static const struct {
	const char *claim;
	const char *script;
	enum archive_fault want;
} orders[] = {
	{ "a directory", "d @ 755 u e", ARCHIVE_OK },
	{ "a file", "f @ 644 hello e", ARCHIVE_OK },
	{ "a link as the root", "l @ a e", ARCHIVE_BAD_ORDER },
	{ "a root with a name", "d a 755 u e", ARCHIVE_BAD_NAME },
	{ "nothing but an end", "e", ARCHIVE_BAD_ORDER },
	{ "no end", "d @ 755 u", ARCHIVE_CUT },
	{ "a directory that is not left", "d @ 755 e", ARCHIVE_BAD_ORDER },
	{ "left twice", "d @ 755 u u e", ARCHIVE_BAD_ORDER },
	{ "a second root", "d @ 755 u d @ 755 u e", ARCHIVE_BAD_ORDER },
	{ "a file beside the root", "d @ 755 u f a 644 x e",
	    ARCHIVE_BAD_ORDER },
	{ "a file after the file", "f @ 644 x f a 644 x e", ARCHIVE_BAD_ORDER },
	{ "a file in a file", "f @ 644 x u e", ARCHIVE_BAD_ORDER },
	{ "a file without a name", "d @ 755 f @ 644 x u e", ARCHIVE_BAD_NAME },
	{ "records after the end", "d @ 755 u e d @ 755", ARCHIVE_BAD_END },
	{ "a name that climbs", "d @ 755 f .. 644 x u e", ARCHIVE_BAD_NAME },
	{ "a directory that does", "d @ 755 d .. 755 f x 644 x u u e",
	    ARCHIVE_BAD_NAME },
	{ "a link that does", "d @ 755 l .. x u e", ARCHIVE_BAD_NAME },
	{ "the name of the directory itself", "d @ 755 d . 755 u u e",
	    ARCHIVE_BAD_NAME },
	{ "a path", "d @ 755 f a/b 644 x u e", ARCHIVE_BAD_NAME },
	{ "an absolute path", "d @ 755 f /etc/passwd 644 x u e",
	    ARCHIVE_BAD_NAME },
	{ "a path that climbs", "d @ 755 f ../x 644 x u e", ARCHIVE_BAD_NAME },
	{ "a slash at the end", "d @ 755 d a/ 755 u u e", ARCHIVE_BAD_NAME },
	{ "three dots are a name", "d @ 755 f ... 644 x u e", ARCHIVE_OK },
	{ "set-user-id", "d @ 755 f a 4755 x u e", ARCHIVE_BAD_MODE },
	{ "set-group-id", "d @ 755 f a 2755 x u e", ARCHIVE_BAD_MODE },
	{ "sticky", "d @ 1777 u e", ARCHIVE_BAD_MODE },
	{ "the bits of a device's type", "d @ 755 f a 20666 x u e",
	    ARCHIVE_BAD_MODE },
};

static void
refuses_records_that_may_not_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(orders); i++) {
		struct wr w = wr_init(buf, sizeof(buf));

		put_script(&w, orders[i].script);
		row_equal(orders[i].claim, fault_of(w.len), orders[i].want);
	}
}

/* Fields that a script cannot say; all in the root directory. */
static const struct {
	const char *claim;
	struct archive_entry e;
	enum archive_fault want;
} fields[] = {
	{ "a name with a NUL", { .type = ARCHIVE_FILE, .name = BYTES("a\0b") },
	    ARCHIVE_BAD_NAME },
	{ "a name with a line end",
	    { .type = ARCHIVE_FILE, .name = BYTES("a\nb") }, ARCHIVE_CUT },
	{ "a name of no known encoding",
	    { .type = ARCHIVE_FILE, .name = BYTES("\xff\xfe") }, ARCHIVE_CUT },
	{ "a second of more than 10^9 ns",
	    { .type = ARCHIVE_FILE,
		.name = BYTES("a"),
		.mtime_ns = 1000000000 },
	    ARCHIVE_BAD_TIME },
	{ "a time before 1970",
	    { .type = ARCHIVE_FILE, .name = BYTES("a"), .mtime_s = -1 },
	    ARCHIVE_CUT },
	{ "8 EiB less one byte, of which none comes",
	    { .type = ARCHIVE_FILE, .name = BYTES("a"), .size = INT64_MAX },
	    ARCHIVE_CUT },
	{ "8 EiB",
	    { .type = ARCHIVE_FILE,
		.name = BYTES("a"),
		.size = (uint64_t)INT64_MAX + 1 },
	    ARCHIVE_BAD_SIZE },
	{ "a link to nothing", { .type = ARCHIVE_LINK, .name = BYTES("a") },
	    ARCHIVE_BAD_TARGET },
	{ "a link with a NUL",
	    { .type = ARCHIVE_LINK,
		.name = BYTES("a"),
		.target = BYTES("b\0c") },
	    ARCHIVE_BAD_TARGET },
};

static void
refuses_fields_that_cannot_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(fields); i++) {
		struct wr w = wr_init(buf, sizeof(buf));

		put_script(&w, "d @ 755");
		archive_entry_encode(&w, &fields[i].e);
		row_equal(fields[i].claim, fault_of(w.len), fields[i].want);
	}
}

static void
knows_no_hard_links_devices_or_sockets(void **state)
{
	(void)state;
	for (unsigned int type = 0; type < 256; type++) {
		struct wr w = wr_init(buf, sizeof(buf));

		if (type >= ARCHIVE_DIR && type <= ARCHIVE_END)
			continue;
		put_script(&w, "d @ 755");
		wr_u8(&w, (uint8_t)type);
		row_equal("a type", fault_of(w.len), ARCHIVE_BAD_TYPE);
	}
}

/* Lengths that are refused when they are said, not when they have come. */
static void
refuses_lengths_at_once(void **state)
{
	static const char name[] = "\2\1\xa4\0\0\0\0\0\0\0\0\0\0\0\0\1\0";
	static const char target[] = "\3\0\0\0\0\0\0\0\0\0\0\0\0\0\1a\x10\0";
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	put_script(&w, "d @ 755");
	wr_bytes(&w, name, sizeof(name) - 1);
	row_equal("a name of 256", fault_of(w.len), ARCHIVE_BAD_NAME);
	w = wr_init(buf, sizeof(buf));
	put_script(&w, "d @ 755");
	wr_bytes(&w, target, sizeof(target) - 1);
	row_equal("a target of 4096", fault_of(w.len), ARCHIVE_BAD_TARGET);
	w = wr_init(buf, sizeof(buf));
	wr_text(&w, "TWA2");
	row_equal("another magic", fault_of(w.len), ARCHIVE_BAD_MAGIC);
	row_equal("nothing at all", fault_of(0), ARCHIVE_CUT);
}

static void
bounds_how_deep_it_goes(void **state)
{
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	put_script(&w, "d @ 755");
	for (unsigned int i = 1; i < ARCHIVE_DEPTH_MAX; i++)
		put_dir(&w, "a", 0755);
	row_equal("128 directories", fault_of(w.len), ARCHIVE_CUT);
	put_dir(&w, "a", 0755);
	row_equal("129 directories", fault_of(w.len), ARCHIVE_BAD_DEPTH);
}

/* A million entries cost the parser nothing that one does not. */
static void
holds_nothing_of_what_has_gone_by(void **state)
{
	struct archive_parser p = { .fault = ARCHIVE_OK };
	struct wr w = wr_init(buf, sizeof(buf));
	struct archive_entry e;
	struct span in, data;
	size_t count = 0;

	(void)state;
	put_script(&w, "d @ 755");
	in = (struct span){ buf, w.len };
	assert_int_equal(archive_parse(&p, &in, &e, &data), ARCHIVE_ENTRY);
	w = wr_init(buf, sizeof(buf));
	for (unsigned int i = 0; i < 1000; i++)
		put_file(&w, "a-name-of-usual-length.js", 0644, "x");
	for (unsigned int i = 0; i < 1000; i++) {
		in = (struct span){ buf, w.len };
		while (in.len > 0)
			count +=
			    archive_parse(&p, &in, &e, &data) == ARCHIVE_ENTRY;
	}
	assert_int_equal(count, 1000000);
	assert_int_equal(p.fault, ARCHIVE_OK);
}

static const struct {
	const char *claim, *target;
	unsigned int depth;
	bool want;
} targets[] = {
	{ "a name beside it", "a", 0, false },
	{ "a path below", "a/b/c", 0, false },
	{ "its own directory", ".", 0, false },
	{ "absolute", "/etc/passwd", 9, true },
	{ "the root of all", "/", 0, true },
	{ "out of the root", "..", 0, true },
	{ "out of it and back", "../name/a", 0, true },
	{ "up to the root", "..", 1, false },
	{ "up to it, and down", "../a", 1, false },
	{ "higher than it", "../../a", 1, true },
	{ "with dots and slashes between", ".././/..", 2, false },
	{ "and one more", ".././/../..", 2, true },
	{ "down and up, which a link could turn", "a/..", 0, true },
	{ "down and up, though it is deep", "a/../b", 5, true },
	{ "two dots in a name", "..a/b..", 0, false },
	{ "a slash at the end", "a/", 0, false },
};

static void
knows_which_links_lead_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(targets); i++)
		row_equal(targets[i].claim,
		    archive_target_leaves(span_of(targets[i].target),
			targets[i].depth),
		    targets[i].want);
	for (unsigned int i = ARCHIVE_OK; i <= ARCHIVE_CUT; i++)
		assert_true(strlen(archive_fault_text(i)) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_what_was_written_in_any_pieces),
		cmocka_unit_test(refuses_records_that_may_not_be),
		cmocka_unit_test(refuses_fields_that_cannot_be),
		cmocka_unit_test(knows_no_hard_links_devices_or_sockets),
		cmocka_unit_test(refuses_lengths_at_once),
		cmocka_unit_test(bounds_how_deep_it_goes),
		cmocka_unit_test(holds_nothing_of_what_has_gone_by),
		cmocka_unit_test(knows_which_links_lead_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
