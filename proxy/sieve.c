/*
 * A body that is searched as it streams, see sieve.h.
 */
#include "proxy/sieve.h"

#include <assert.h>

/* Coded bytes that are decoded before another look; see step(). */
#define PIECE_BYTES 1024
#define PIECE_FEW_BYTES 32
#define PIECE_MANY_BYTES 4096
/* Room for what a decoder gives at once. */
#define PLAIN_BYTES 16384

void
sieve_init(struct sieve *s, const struct scan_forms *forms)
{
	*s = (struct sieve){ .forms = forms };
	s->held.is_secret = true;
	s->plain.is_secret = true;
}

bool
sieve_decode(struct sieve *s, enum coding coding, struct decode_budget *budget)
{
	if (!decode_budget_take(budget, SIEVE_CODED_MAX_BYTES))
		return false;
	s->budget = budget;
	s->decoder = decoder_new(coding, budget);
	return s->decoder != NULL;
}

void
sieve_done(struct sieve *s)
{
	if (s->budget != NULL)
		decode_budget_give(s->budget, SIEVE_CODED_MAX_BYTES);
	decoder_free(s->decoder);
	buf_done(&s->held);
	buf_done(&s->plain);
	*s = (struct sieve){ .forms = NULL };
}

static struct span
from(const struct buf *b, size_t at)
{
	struct span s = buf_span(b);

	return (struct span){ at < s.len ? s.ptr + at : NULL, s.len - at };
}

static size_t
held_max(const struct sieve *s)
{
	return scan_forms_longest(s->forms) +
	    (s->decoder == NULL ? SIEVE_HELD_MAX_BYTES : SIEVE_CODED_MAX_BYTES);
}

/* --- as it is --- */

static void
mask(struct sieve *s)
{
	if (s->clean < s->held.len)
		s->clean +=
		    scan_mask(s->forms, s->held.ptr + s->held.at + s->clean,
			s->held.len - s->clean, s->is_ending, &s->found);
}

size_t
sieve_skim(struct sieve *s, struct span data)
{
	struct scan_found found = { .form = SCAN_NONE };

	if (s->forms == NULL || s->decoder != NULL || s->held.len > 0)
		return 0;
	if (s->skimmed == 0)
		s->skimmed = scan_look(s->forms, data, false, &found);
	/* It is to be overwritten: in a copy. */
	if (found.form != SCAN_NONE)
		s->skimmed = 0;
	return s->skimmed < data.len ? s->skimmed : data.len;
}

void
sieve_skimmed(struct sieve *s, size_t len)
{
	assert(len <= s->skimmed);
	s->skimmed -= len;
}

/* --- coded --- */

/* What was decoded. False: the secret is in there, or there is too much. */
static bool
look_plain(struct sieve *s, bool is_last)
{
	struct span text = buf_span(&s->plain);
	size_t clean;

	if (text.len == 0)
		return true;
	clean = scan_look(s->forms, text, is_last, &s->found);
	if (s->found.form != SCAN_NONE) {
		s->status = SIEVE_LEAK;
		return false;
	}
	buf_consume(&s->plain, clean);
	if (s->plain.len > SIEVE_HELD_MAX_BYTES + scan_forms_longest(s->forms))
		s->status = SIEVE_LARGE;
	return s->status == SIEVE_GOES_ON;
}

/*
 * The coded bytes themselves: fields of gzip's head, and frames of zstd and
 * brotli that decoders skip, say nothing decoded.
 */
static bool
look_coded(struct sieve *s)
{
	struct span text = from(&s->held, s->searched);

	if (text.len > 0)
		s->searched +=
		    scan_look(s->forms, text, s->is_ending, &s->found);
	if (s->found.form != SCAN_NONE)
		s->status = SIEVE_LEAK;
	return s->status == SIEVE_GOES_ON;
}

static enum sieve_status
status_of(enum decode_status d)
{
	switch (d) {
	case DECODE_MORE:
	case DECODE_ROOM:
		return SIEVE_GOES_ON;
	case DECODE_BROKEN:
		return SIEVE_BROKEN;
	case DECODE_LARGE:
		break;
	}
	return SIEVE_LARGE;
}

/*
 * One call of the decoder, for at most a piece: so little is held back when
 * the last of it says what could be a start, and an event of a stream is cut
 * finely. Returns how much came out.
 */
static size_t
step(struct sieve *s)
{
	struct span in = from(&s->held, s->fed);
	size_t most = in.len < PIECE_MANY_BYTES ? PIECE_FEW_BYTES : PIECE_BYTES;
	uint8_t *to = buf_reserve(&s->plain, PLAIN_BYTES);
	enum decode_status d;
	size_t before, len;

	if (to == NULL) {
		s->status = SIEVE_MEMORY;
		return 0;
	}
	in.len = in.len < most ? in.len : most;
	before = in.len;
	d = decoder_run(s->decoder, &in, to, PLAIN_BYTES, &len);
	buf_commit(&s->plain, len);
	s->fed += before - in.len;
	s->has_more = d == DECODE_ROOM;
	s->status = status_of(d);
	if (s->status != SIEVE_GOES_ON || !look_plain(s, false))
		return len;
	/* All that these say was searched, and none of it could be a start. */
	if (!s->has_more && s->plain.len == 0 && decoder_is_settled(s->decoder))
		s->clean = s->fed < s->searched ? s->fed : s->searched;
	return len;
}

/* All went into the decoder. Is it whole? */
static void
end_coded(struct sieve *s)
{
	if (!decoder_is_whole(s->decoder))
		s->status = SIEVE_BROKEN;
	else if (look_plain(s, true))
		s->clean = s->held.len;
}

static void
run_coded(struct sieve *s)
{
	size_t turn = 0;

	s->status = SIEVE_GOES_ON;
	if (!look_coded(s))
		return;
	while (s->fed < s->held.len || s->has_more) {
		if (turn >= SIEVE_TURN_BYTES) {
			s->status = SIEVE_TURN;
			return;
		}
		turn += step(s);
		if (s->status != SIEVE_GOES_ON)
			return;
	}
	if (s->is_ending)
		end_coded(s);
}

/* --- both --- */

static size_t
room(const struct sieve *s)
{
	size_t most = held_max(s);

	return s->held.len < most ? most - s->held.len : 0;
}

size_t
sieve_room(const struct sieve *s)
{
	return s->status == SIEVE_TURN ? 0 : room(s);
}

static bool
is_over(const struct sieve *s)
{
	return s->status != SIEVE_GOES_ON && s->status != SIEVE_TURN;
}

enum sieve_status
sieve_run(struct sieve *s)
{
	if (is_over(s))
		return s->status;
	if (s->decoder == NULL)
		mask(s);
	else
		run_coded(s);
	/* It waits for bytes that it could not take. */
	if (s->status == SIEVE_GOES_ON && s->clean == 0 && room(s) == 0)
		s->status = SIEVE_LARGE;
	return s->status;
}

enum sieve_status
sieve_put(struct sieve *s, struct span data)
{
	assert(s->forms != NULL && data.len <= sieve_room(s));
	if (buf_append(&s->held, data) != 0)
		s->status = SIEVE_MEMORY;
	return sieve_run(s);
}

enum sieve_status
sieve_end(struct sieve *s)
{
	s->is_ending = true;
	return sieve_run(s);
}

struct span
sieve_ready(const struct sieve *s)
{
	return (struct span){ buf_span(&s->held).ptr, s->clean };
}

void
sieve_take(struct sieve *s, size_t len)
{
	assert(len <= s->clean);
	buf_consume(&s->held, len);
	s->clean -= len;
	if (s->decoder == NULL)
		return;
	s->searched -= len;
	s->fed -= len;
}

bool
sieve_is_empty(const struct sieve *s)
{
	return s->held.len == 0;
}
