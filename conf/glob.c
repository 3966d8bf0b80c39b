/*
 * Both questions are asked of patterns as lists of tokens. A set of places
 * within a pattern is kept as one bool a place; there is no backtracking, so
 * no pattern costs more than the product of the two lengths.
 */
#include "conf/glob.h"

#include <string.h>

#include "base/ascii.h"

/* A token is a byte, or one of these two. */
enum {
	TOKEN_STAR = 0x100,
	TOKEN_ANY = 0x101,
};

struct tokens {
	uint16_t at[GLOB_MAX_BYTES];
	size_t count;
};

static bool
is_wild(uint16_t token)
{
	return token >= TOKEN_STAR;
}

/* The byte that '%' and two digits at i stand for, or -1. */
static int
triplet(struct span s, size_t i)
{
	int high, low;

	if (s.ptr[i] != '%' || s.len - i < 3)
		return -1;
	high = ascii_hex(s.ptr[i + 1]);
	low = ascii_hex(s.ptr[i + 2]);
	return high >= 0 && low >= 0 ? high * 16 + low : -1;
}

static uint16_t
next_token(struct span s, size_t *i, bool decode)
{
	int byte = decode ? triplet(s, *i) : -1;
	uint8_t c = s.ptr[*i];

	if (byte >= 0) {
		*i += 3;
		return (uint16_t)byte;
	}
	*i += 1;
	if (c != '*')
		return c;
	if (*i < s.len && s.ptr[*i] == '*') {
		*i += 1;
		return TOKEN_ANY;
	}
	return TOKEN_STAR;
}

static bool
tokenize(struct span s, bool decode, struct tokens *ret)
{
	ret->count = 0;
	if (s.len > GLOB_MAX_BYTES)
		return false;
	for (size_t i = 0; i < s.len;)
		ret->at[ret->count++] = next_token(s, &i, decode);
	return true;
}

/* Places behind a wild token may be reached without a byte. */
static void
skip_wild(const struct tokens *t, bool *places)
{
	for (size_t i = 0; i < t->count; i++) {
		if (places[i] && is_wild(t->at[i]))
			places[i + 1] = true;
	}
}

static bool
is_byte(uint16_t token, uint8_t c, bool any_case)
{
	if (token == c)
		return true;
	return any_case && !is_wild(token) &&
	    ascii_lower((uint8_t)token) == ascii_lower(c);
}

/* Moves every place over byte c, from the last place on down. */
static void
step(const struct tokens *t, bool *places, uint8_t c, uint8_t sep,
    bool any_case)
{
	bool next[GLOB_MAX_BYTES + 1] = { false };

	for (size_t i = 0; i < t->count; i++) {
		if (!places[i])
			continue;
		if (t->at[i] == TOKEN_ANY ||
		    (t->at[i] == TOKEN_STAR && c != sep))
			next[i] = true;
		else if (is_byte(t->at[i], c, any_case))
			next[i + 1] = true;
	}
	memcpy(places, next, sizeof(next));
	skip_wild(t, places);
}

static bool
match(struct span pattern, struct span text, uint8_t sep, bool any_case)
{
	bool places[GLOB_MAX_BYTES + 1] = { [0] = true };
	struct tokens t;

	if (!tokenize(pattern, false, &t))
		return false;
	skip_wild(&t, places);
	for (size_t i = 0; i < text.len; i++)
		step(&t, places, text.ptr[i], sep, any_case);
	return places[t.count];
}

bool
glob_match(struct span pattern, struct span text, uint8_t sep)
{
	return match(pattern, text, sep, false);
}

bool
glob_match_any_case(struct span pattern, struct span text, uint8_t sep)
{
	return match(pattern, text, sep, true);
}

/* Can the two tokens take one byte together? */
static bool
meet(uint16_t a, uint16_t b, uint8_t sep)
{
	if (a == TOKEN_ANY || b == TOKEN_ANY)
		return true;
	if (a == TOKEN_STAR)
		return b != sep;
	if (b == TOKEN_STAR)
		return a != sep;
	return a == b;
}

/*
 * One row of the table "can a from place i and b from place j match one
 * text": here is the row of i, below that of i + 1. A wild token may be left
 * without a byte; it stays where it is when the other takes one.
 */
static bool
overlap_cell(uint16_t a, uint16_t b, const bool *below, const bool *here,
    size_t j, uint8_t sep)
{
	if (is_wild(a) && below[j])
		return true;
	if (is_wild(b) && here[j + 1])
		return true;
	if (!meet(a, b, sep))
		return false;
	if (is_wild(a))
		return !is_wild(b) && here[j + 1];
	return is_wild(b) ? below[j] : below[j + 1];
}

static void
overlap_row(const struct tokens *a, const struct tokens *b, size_t i,
    const bool *below, bool *here, uint8_t sep)
{
	bool is_end = i == a->count;

	here[b->count] = is_end || (is_wild(a->at[i]) && below[b->count]);
	for (size_t left = b->count; left > 0; left--) {
		size_t j = left - 1;

		here[j] = is_end
		    ? is_wild(b->at[j]) && here[j + 1]
		    : overlap_cell(a->at[i], b->at[j], below, here, j, sep);
	}
}

bool
glob_overlaps(struct span a, struct span b, uint8_t sep, size_t *ret_steps)
{
	bool rows[2][GLOB_MAX_BYTES + 1] = { { false } };
	struct tokens ta, tb;

	if (!tokenize(a, true, &ta) || !tokenize(b, true, &tb))
		return true;
	*ret_steps += (ta.count + 1) * (tb.count + 1);
	for (size_t left = ta.count + 1; left > 0; left--)
		overlap_row(&ta, &tb, left - 1, rows[left % 2],
		    rows[(left - 1) % 2], sep);
	return rows[0][0];
}
