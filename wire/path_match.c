/*
 * Patterns of paths. The match runs all readings of the pattern at once, as a
 * set of places in it, so that no pattern makes it look at a byte of the path
 * more than once: there is no backtracking to blow up.
 */
#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/path.h"
#include "wire/path_unit.h"

/* What stands at one place of a pattern. */
enum piece_kind {
	PIECE_BYTE,
	PIECE_STAR,      /* any bytes but '/' */
	PIECE_STAR_STAR, /* any bytes */
	PIECE_END,
};

struct piece {
	enum piece_kind kind;
	uint8_t byte;
};

#define PIECES_MAX (PATH_PATTERN_MAX_BYTES + 1)

struct pieces {
	struct piece at[PIECES_MAX];
	size_t count; /* PIECE_END, the last, included */
};

/* The byte that is compared for c. */
typedef uint8_t fold_fn(uint8_t c);

static uint8_t
as_it_is(uint8_t c)
{
	return c;
}

/* A set of indexes of pieces. */
#define WORD_BITS 64
struct places {
	uint64_t word[PIECES_MAX / WORD_BITS];
};

static_assert(PIECES_MAX % WORD_BITS == 0, "the words hold every place");

static struct piece
take_piece(struct rd *r, fold_fn *fold)
{
	struct path_unit u = path_unit(r);

	if (u.is_encoded || u.byte != '*')
		return (struct piece){ PIECE_BYTE, fold(u.byte) };
	if (rd_peek(r) != '*')
		return (struct piece){ PIECE_STAR, 0 };
	rd_skip(r, 1);
	return (struct piece){ PIECE_STAR_STAR, 0 };
}

/* At most PATH_PATTERN_MAX_BYTES are left in r. */
static void
split(struct rd *r, fold_fn *fold, struct pieces *ret)
{
	ret->count = 0;
	while (rd_left(r) > 0)
		ret->at[ret->count++] = take_piece(r, fold);
	ret->at[ret->count++] = (struct piece){ PIECE_END, 0 };
}

static bool
is_star(enum piece_kind kind)
{
	return kind == PIECE_STAR || kind == PIECE_STAR_STAR;
}

/* Adds i, and what can be reached from it by a star that stands for nothing. */
static void
places_add(struct places *places, const struct pieces *p, size_t i)
{
	for (;; i++) {
		places->word[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
		if (!is_star(p->at[i].kind))
			return;
	}
}

/* Where place i leads when byte c is read. */
static void
place_step(struct places *next, const struct pieces *p, size_t i, uint8_t c)
{
	const struct piece *piece = &p->at[i];

	switch (piece->kind) {
	case PIECE_BYTE:
		if (piece->byte == c)
			places_add(next, p, i + 1);
		break;
	case PIECE_STAR:
		if (c != '/')
			places_add(next, p, i);
		break;
	case PIECE_STAR_STAR:
		places_add(next, p, i);
		break;
	case PIECE_END:
		break;
	}
}

/* Replaces the set by what c leads to; false when that is empty. */
static bool
places_step(struct places *places, const struct pieces *p, uint8_t c)
{
	struct places next = { { 0 } };
	uint64_t any = 0;

	for (size_t w = 0; w * WORD_BITS < p->count; w++) {
		uint64_t word = places->word[w];

		for (; word != 0; word &= word - 1)
			place_step(&next, p,
			    w * WORD_BITS + (size_t)__builtin_ctzll(word), c);
	}
	*places = next;
	for (size_t w = 0; w * WORD_BITS < p->count; w++)
		any |= next.word[w];
	return any != 0;
}

static bool
places_has(const struct places *places, size_t i)
{
	return (places->word[i / WORD_BITS] >> i % WORD_BITS & 1) != 0;
}

/* A final "**" takes whatever comes: the most common end of a pattern. */
static bool
takes_all(const struct places *places, const struct pieces *p)
{
	return p->count >= 2 && p->at[p->count - 2].kind == PIECE_STAR_STAR &&
	    places_has(places, p->count - 2);
}

/* Takes what is before the first star off both; false when they differ. */
static bool
match_literal(struct rd *pattern, struct rd *path, fold_fn *fold)
{
	while (rd_left(pattern) > 0 && rd_peek(pattern) != '*')
		if (rd_left(path) == 0 ||
		    fold(path_unit(pattern).byte) != fold(path_unit(path).byte))
			return false;
	return true;
}

static bool
match_stars(struct rd *pattern, struct rd *path, fold_fn *fold)
{
	struct places places = { { 0 } };
	struct pieces pieces;

	split(pattern, fold, &pieces);
	places_add(&places, &pieces, 0);
	while (rd_left(path) > 0 && !takes_all(&places, &pieces))
		if (!places_step(&places, &pieces, fold(path_unit(path).byte)))
			return false;
	return takes_all(&places, &pieces) ||
	    places_has(&places, pieces.count - 1);
}

static bool
match(struct span pattern, struct span path, fold_fn *fold)
{
	struct rd p = rd_span(pattern), r = rd_span(path);

	if (pattern.len == 0 || pattern.len > PATH_PATTERN_MAX_BYTES)
		return false;
	if (!match_literal(&p, &r, fold))
		return false;
	if (rd_left(&p) == 0)
		return rd_left(&r) == 0;
	return match_stars(&p, &r, fold);
}

bool
path_match(struct span pattern, struct span path)
{
	return match(pattern, path, as_it_is);
}

bool
path_match_any_case(struct span pattern, struct span path)
{
	return match(pattern, path, ascii_lower);
}

static bool
has_three_stars(struct span pattern)
{
	size_t run = 0;

	for (size_t i = 0; i < pattern.len && run < 3; i++)
		run = pattern.ptr[i] == '*' ? run + 1 : 0;
	return run >= 3;
}

const char *
path_pattern_fault(struct span pattern)
{
	struct path_reading reading;

	if (pattern.len > PATH_PATTERN_MAX_BYTES)
		return "the pattern is longer than 255 bytes";
	if (has_three_stars(pattern))
		return "\"***\" means nothing more than \"**\"";
	reading = path_read(pattern);
	return reading.is_ambiguous ? path_fault_text(reading.fault) : NULL;
}
