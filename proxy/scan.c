/*
 * The search for a secret, see scan.h. There are two ways to come upon a form:
 * its first bytes stand in the text as they are, which the window finds; or one
 * of them is an escape, which is looked for by the three bytes that an escape
 * can begin with. Either way match() then tells.
 */
#include <string.h>

#include "proxy/scan_private.h"
#include "wire/spelling.h"

/* Texts that are worth more than one window at a time. */
#define LANES 4
#define LANES_MIN_BYTES 2048
/* A text of so many bytes has a whole word in it, wherever it begins. */
#define WORD_BYTES sizeof(uint64_t)
#define WORD_MIN_BYTES (2 * WORD_BYTES - 1)
/* Where the middle is text, all is taken for it. */
#define PAGE_BYTES 512
/*
 * Places of the text that the same part of a form may end at: more than one
 * only where the secret itself holds a '%', '\' or '&'.
 */
#define ENDS_MAX 16

struct look {
	const struct scan_table *table;
	struct span text;
	uint8_t *mask; /* the same text, NULL: the first hit ends the search */
	bool is_last;
	bool is_over;
	size_t open_at; /* the first place that a form could begin at */
	struct scan_found *found;
};

/* --- does a form begin here? --- */

enum match { MATCH_NONE, MATCH_OPEN, MATCH_WHOLE };

struct ends {
	size_t at[ENDS_MAX];
	size_t count;
	bool is_open;    /* the text ended on the way */
	bool is_escaped; /* some byte was one */
};

static void
add_end(struct ends *e, size_t at)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->at[i] == at)
			return;
	if (e->count < ENDS_MAX)
		e->at[e->count++] = at;
}

/* All the ways to read this byte at this place. */
static void
match_byte(uint8_t byte, struct span text, size_t at, struct ends *ret)
{
	struct span rest = { text.ptr + at, text.len - at };
	struct spelling s = { 0, 1 };

	if (rest.len == 0) {
		ret->is_open = true;
		return;
	}
	s.byte = rest.ptr[0];
	for (size_t depth = 0;; depth++) {
		enum spelling_step step;

		if (s.byte == byte) {
			ret->is_escaped = ret->is_escaped || depth > 0;
			add_end(ret, at + s.len);
		}
		step = depth == SPELLING_DEPTH_MAX ? SPELLING_PLAIN
						   : spelling_resolve(&s, rest);
		ret->is_open = ret->is_open || step == SPELLING_OPEN;
		if (step != SPELLING_MEANT)
			return;
	}
}

static void
match_next(uint8_t byte, struct span text, struct ends *e)
{
	struct ends next = { .is_open = e->is_open,
		.is_escaped = e->is_escaped };

	for (size_t i = 0; i < e->count; i++)
		match_byte(byte, text, e->at[i], &next);
	*e = next;
}

/* Most bytes stand for themselves, and few places match at all. */
static bool
is_plain(const struct ends *e, struct span text, uint8_t byte)
{
	return e->count == 1 && e->at[0] < text.len &&
	    text.ptr[e->at[0]] == byte && !spelling_is_lead(byte);
}

/*
 * OPEN as well when its last byte is there, but may be the lead of an escape
 * that is not: any split is to have the same outcome.
 */
static enum match
match(const struct look *l, const struct scan_row *row, size_t at,
    struct ends *e)
{
	struct span text = l->text;

	e->at[0] = at;
	e->count = 1;
	e->is_open = e->is_escaped = false;
	for (size_t i = 0; i < row->len && e->count > 0; i++) {
		uint8_t byte = scan_row_byte(row, i);

		if (is_plain(e, text, byte))
			e->at[0]++;
		else
			match_next(byte, text, e);
	}
	if (e->is_open && !l->is_last)
		return MATCH_OPEN;
	return e->count > 0 ? MATCH_WHOLE : MATCH_NONE;
}

static size_t
furthest(const struct ends *e)
{
	size_t most = 0;

	for (size_t i = 0; i < e->count; i++)
		if (e->at[i] > most)
			most = e->at[i];
	return most;
}

static void
note(struct look *l, const struct scan_row *row, bool is_escaped)
{
	if (l->found->form == SCAN_NONE) {
		l->found->form = row->form;
		l->found->is_escaped = is_escaped;
	}
	l->is_over = l->mask == NULL;
}

/* Of a form whose first byte is not known yet. */
#define FIRST_ANY (-1)

/*
 * Tries each form that begins with this byte. Returns how far the search may go
 * on: past what it hid.
 */
static size_t
try_at(struct look *l, size_t at, int first)
{
	const struct scan_row *best = NULL;
	size_t best_end = at + 1;
	bool is_escaped = false;
	struct ends e;

	for (size_t i = 0; i < l->table->count; i++) {
		const struct scan_row *row = &l->table->rows[i];
		enum match m = first == FIRST_ANY || first == row->first
		    ? match(l, row, at, &e)
		    : MATCH_NONE;

		if (m == MATCH_OPEN && at < l->open_at)
			l->open_at = at;
		if (m != MATCH_WHOLE ||
		    (best != NULL && furthest(&e) <= best_end))
			continue;
		best = row;
		best_end = furthest(&e);
		is_escaped = e.is_escaped;
	}
	if (best == NULL)
		return at + 1;
	note(l, best, is_escaped);
	if (l->mask != NULL)
		memset(l->mask + at, '*', best_end - at);
	return best_end;
}

/* --- forms that begin as they are --- */

static size_t
try_plain(struct look *l, size_t at)
{
	return try_at(l, at, l->text.ptr[at]);
}

static inline size_t
shift_at(const struct scan_table *t, const uint8_t *text, size_t at)
{
	return t->shift[scan_slot(text + at + t->window - SCAN_BLOCK)];
}

/* Windows that begin from at to before end. */
static void
look_lane(struct look *l, size_t at, size_t end)
{
	while (at < end && !l->is_over) {
		size_t far = shift_at(l->table, l->text.ptr, at);

		at = far == 0 ? try_plain(l, at) : at + far;
	}
}

/*
 * A step waits for two loads; side by side, those of four parts of the text
 * wait together.
 */
static size_t
look_lanes(struct look *l, size_t end)
{
	const struct scan_table *t = l->table;
	const uint8_t *text = l->text.ptr;
	size_t part = end / LANES;
	size_t a = 0, b = part, c = 2 * part, d = 3 * part;

	while (a < part && b < 2 * part && c < 3 * part && d < end) {
		size_t fa = shift_at(t, text, a), fb = shift_at(t, text, b);
		size_t fc = shift_at(t, text, c), fd = shift_at(t, text, d);

		a = fa == 0 ? try_plain(l, a) : a + fa;
		b = fb == 0 ? try_plain(l, b) : b + fb;
		c = fc == 0 ? try_plain(l, c) : c + fc;
		d = fd == 0 ? try_plain(l, d) : d + fd;
		if (l->is_over)
			return end;
	}
	look_lane(l, a, part);
	look_lane(l, b, 2 * part);
	look_lane(l, c, 3 * part);
	return d;
}

static void
look_plain(struct look *l)
{
	const struct scan_table *t = l->table;
	struct span text = l->text;
	size_t end = text.len < t->window ? 0 : text.len - t->window + 1;
	size_t at = 0;

	if (end >= LANES_MIN_BYTES)
		at = look_lanes(l, end);
	look_lane(l, at, end);
	/* What is shorter than a window is no more than a start. */
	for (at = end; at < text.len && !l->is_over && !l->is_last; at++)
		if ((t->flags[text.ptr[at]] & SCAN_BEGINS) != 0)
			(void)try_plain(l, at);
}

/* --- forms of which one of the first bytes is an escape --- */

static bool
has_flag(const struct look *l, uint8_t byte, enum scan_flag flag)
{
	return (l->table->flags[byte] & flag) != 0;
}

/* Are the last two bytes before at, and byte, in some form's start? */
static bool
is_in_window(const struct look *l, size_t at, uint8_t byte)
{
	const uint8_t three[SCAN_BLOCK] = { l->text.ptr[at - 2],
		l->text.ptr[at - 1], byte };

	return l->table->shift[scan_slot(three)] < l->table->widest;
}

/* An escape of byte is at `at`: is it in a form that begins here or before? */
static void
try_escape(struct look *l, size_t at, uint8_t byte)
{
	if (!has_flag(l, byte, SCAN_OCCURS))
		return;
	if (has_flag(l, byte, SCAN_BEGINS))
		(void)try_at(l, at, byte);
	if (at > 0 && has_flag(l, l->text.ptr[at - 1], SCAN_BEGINS))
		(void)try_plain(l, at - 1);
	if (at < 2 || !is_in_window(l, at, byte))
		return;
	for (size_t i = 2; i < l->table->window && i <= at && !l->is_over; i++)
		if (has_flag(l, l->text.ptr[at - i], SCAN_BEGINS))
			(void)try_plain(l, at - i);
}

/* The text ends within an escape: of which byte is not known yet. */
static void
try_open(struct look *l, size_t at)
{
	(void)try_at(l, at, FIRST_ANY);
	for (size_t i = 1; i < l->table->window && i <= at && !l->is_over; i++)
		if (has_flag(l, l->text.ptr[at - i], SCAN_BEGINS))
			(void)try_plain(l, at - i);
}

static void
look_escape(struct look *l, size_t at)
{
	struct span rest = { l->text.ptr + at, l->text.len - at };
	struct spelling s = { rest.ptr[0], 1 };
	enum spelling_step step = SPELLING_MEANT;

	for (size_t depth = 0;
	     depth < SPELLING_DEPTH_MAX && step == SPELLING_MEANT; depth++) {
		step = spelling_resolve(&s, rest);
		if (step == SPELLING_MEANT && !l->is_over)
			try_escape(l, at, s.byte);
	}
	if (step == SPELLING_OPEN && !l->is_last && !l->is_over)
		try_open(l, at);
}

/*
 * Behind a lead that was looked at: in a row of backslashes it was read through
 * each of them already, as far as that goes.
 */
static size_t
skip_row(const struct look *l, size_t at, size_t end)
{
	size_t most = at + SPELLING_DEPTH_MAX;

	if (has_flag(l, '\\', SCAN_OCCURS))
		return at;
	while (at < end && at < most && l->text.ptr[at] == '\\')
		at++;
	return at;
}

/* Leads of one kind from at to before end. */
static void
look_leads(struct look *l, uint8_t lead, enum scan_flag behind, size_t at,
    size_t end)
{
	const uint8_t *text = l->text.ptr;

	while (at < end && !l->is_over) {
		const uint8_t *next = memchr(text + at, lead, end - at);

		if (next == NULL)
			return;
		at = (size_t)(next - text) + 1;
		if (at < l->text.len &&
		    (l->table->flags[text[at]] & behind) == 0)
			continue;
		look_escape(l, at - 1);
		if (lead == '\\')
			at = skip_row(l, at, end);
	}
}

static void
look_part(struct look *l, size_t at, size_t end)
{
	look_leads(l, '%', SCAN_BEHIND_PERCENT, at, end);
	look_leads(l, '\\', SCAN_BEHIND_BACKSLASH, at, end);
	look_leads(l, '&', SCAN_BEHIND_AMPERSAND, at, end);
}

static bool
is_text(const struct look *l, size_t at)
{
	uint64_t word;

	memcpy(&word, l->text.ptr + at, sizeof(word));
	return (word & UINT64_C(0x8080808080808080)) == 0;
}

/* The first word from at on that is text; its place, or the end. */
static size_t
next_text(const struct look *l, size_t at)
{
	for (; l->text.len - at >= WORD_BYTES; at += WORD_BYTES)
		if (is_text(l, at))
			return at;
	return l->text.len;
}

/* A word that is not, perhaps not the first: to look at too much is fine. */
static size_t
next_other(const struct look *l, size_t at)
{
	while (
	    l->text.len - at >= PAGE_BYTES && is_text(l, at + PAGE_BYTES / 2))
		at += PAGE_BYTES;
	for (; l->text.len - at >= WORD_BYTES; at += WORD_BYTES)
		if (!is_text(l, at))
			return at;
	return l->text.len;
}

/*
 * What is spelled with escapes is ASCII, a word of it at least if it is long
 * enough: few words of what is packed are, and the rest is passed over. What
 * the text ends with may be a start, which is shorter.
 */
static void
look_escapes(struct look *l)
{
	size_t len = l->text.len, at = 0;

	if (l->table->window < WORD_MIN_BYTES || len < WORD_MIN_BYTES) {
		look_part(l, 0, len);
		return;
	}
	while ((at = next_text(l, at)) < len && !l->is_over) {
		size_t end = next_other(l, at);

		look_part(l, at < WORD_BYTES ? 0 : at - WORD_BYTES,
		    len - end < WORD_BYTES ? len : end + WORD_BYTES);
		at = end;
	}
	look_part(l, len - WORD_MIN_BYTES, len);
}

static size_t
look(struct look *l)
{
	size_t len = l->text.len;

	/* Most names and values of fields are too short to be any form. */
	if (l->table == NULL || len == 0 ||
	    (l->is_last && len < l->table->window))
		return len;
	l->open_at = len;
	look_plain(l);
	look_escapes(l);
	return l->open_at;
}

size_t
scan_mask(const struct scan_forms *f, uint8_t *text, size_t len, bool is_last,
    struct scan_found *found)
{
	struct look l = { .table = scan_table_of(f),
		.text = { text, len },
		.mask = text,
		.is_last = is_last,
		.found = found };

	return look(&l);
}

size_t
scan_look(const struct scan_forms *f, struct span text, bool is_last,
    struct scan_found *found)
{
	struct look l = { .table = scan_table_of(f),
		.text = text,
		.is_last = is_last,
		.found = found };

	return look(&l);
}
