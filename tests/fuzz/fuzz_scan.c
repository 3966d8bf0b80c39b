/*
 * A random secret, in a random form and spelling at a random place of random
 * text, coded or not, split anywhere: no byte that tells of it comes out of the
 * search, and a text that does not hold it comes out as it went in.
 *
 * Input: 8 bytes of choices, the secret's length, the secret, the text.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "../unit/code.h"
#include "../unit/say.h"
#include "proxy/sieve.h"
#include "wire/spelling.h"

#define TEXT_MAX 4096
#define ROOM 300000
#define SECRET_MAX 64

static uint8_t text[ROOM], body[ROOM], out[ROOM], read_back[ROOM];
static size_t out_len;

/* What may be in a credential (proxy/inject.h). */
static uint8_t
visible(uint8_t c)
{
	return (uint8_t)(0x21 + c % (0x7f - 0x21));
}

static void
pass(struct sieve *s, struct span ready, size_t len, bool is_skimmed)
{
	memcpy(out + out_len, ready.ptr, len);
	out_len += len;
	if (is_skimmed)
		sieve_skimmed(s, len);
	else
		sieve_take(s, len);
}

static enum sieve_status
give(struct sieve *s, enum sieve_status status, uint32_t *seed)
{
	while (status == SIEVE_TURN || sieve_ready(s).len > 0) {
		struct span ready = sieve_ready(s);
		size_t len = next_piece(seed);

		if (ready.len > 0)
			pass(s, ready, len < ready.len ? len : ready.len,
			    false);
		if (status == SIEVE_TURN)
			status = sieve_run(s);
	}
	return status;
}

static enum sieve_status
put(struct sieve *s, struct span in, uint32_t *seed)
{
	enum sieve_status status = SIEVE_GOES_ON;

	while (in.len > 0 && status == SIEVE_GOES_ON) {
		size_t len = sieve_skim(s, in), most = next_piece(seed);

		len = len < most ? len : most;
		if (len > 0)
			pass(s, in, len, true);
		in.ptr += len;
		in.len -= len;
		if (s->skimmed > 0)
			continue;
		len = sieve_room(s) < in.len ? sieve_room(s) : in.len;
		status =
		    give(s, sieve_put(s, (struct span){ in.ptr, len }), seed);
		in.ptr += len;
		in.len -= len;
	}
	return status;
}

static enum sieve_status
sift(struct span in, enum coding coding, const struct scan_forms *forms,
    uint32_t seed)
{
	struct decode_budget budget = { .max_bytes = 64 << 20, .ratio = 1100 };
	enum sieve_status status = SIEVE_GOES_ON;
	struct sieve s;

	out_len = 0;
	sieve_init(&s, forms);
	if (coding != CODING_NONE)
		HOLDS(sieve_decode(&s, coding, &budget));
	while (in.len > 0 && status == SIEVE_GOES_ON) {
		size_t len = next_piece(&seed);
		struct span part = { in.ptr, len < in.len ? len : in.len };

		status = put(&s, part, &seed);
		in.ptr += part.len;
		in.len -= part.len;
	}
	if (status == SIEVE_GOES_ON)
		status = give(&s, sieve_end(&s), &seed);
	HOLDS(status != SIEVE_GOES_ON || sieve_is_empty(&s));
	sieve_done(&s);
	HOLDS(budget.used == 0);
	return status;
}

/* Who reads what came out so far has so many bytes of the text. */
static size_t
length_read(enum coding coding)
{
	struct decode_budget budget = { .max_bytes = 64 << 20, .ratio = 1100 };
	struct decoder *d = decoder_new(coding, &budget);
	struct span in = { out, out_len };
	size_t total = 0, len;

	while (decoder_run(d, &in, read_back + total, ROOM - total, &len) ==
	    DECODE_ROOM)
		total += len;
	total += len;
	decoder_free(d);
	return total;
}

/* A spelling may read as another text that is the secret, too, or end in it. */
static bool
holds(const struct scan_forms *forms, struct span s)
{
	struct scan_found found = { .form = SCAN_NONE };

	(void)scan_look(forms, s, true, &found);
	return found.form != SCAN_NONE;
}

static void
check_secret(const struct scan_forms *forms, struct span whole, size_t at,
    size_t end, unsigned int kind, uint32_t seed)
{
	struct wr w = wr_init(body, sizeof(body));

	if (kind >= CODE_KINDS) {
		HOLDS(sift(whole, CODING_NONE, forms, seed) == SIEVE_GOES_ON);
		HOLDS(out_len == whole.len);
		/* Of an escaped escape, the secret may begin with the inner. */
		while (at < end && spelling_is_lead(out[at]))
			at++;
		for (size_t i = at; i < end; i++)
			HOLDS(out[i] == '*');
		return;
	}
	code((enum code_kind)kind, whole, &w);
	HOLDS(
	    sift((struct span){ body, w.len },
		code_coding((enum code_kind)kind), forms, seed) == SIEVE_LEAK);
	HOLDS(length_read(code_coding((enum code_kind)kind)) <= at);
}

static void
check_clean(const struct scan_forms *forms, struct span clean,
    unsigned int kind, uint32_t seed)
{
	struct wr w = wr_init(body, sizeof(body));

	if (holds(forms, clean))
		return;
	if (kind >= CODE_KINDS) {
		HOLDS(sift(clean, CODING_NONE, forms, seed) == SIEVE_GOES_ON);
		HOLDS(span_eq((struct span){ out, out_len }, clean));
		return;
	}
	code((enum code_kind)kind, clean, &w);
	/* Coded, it may hold the secret as it is: no random input will. */
	HOLDS(sift((struct span){ body, w.len },
		  code_coding((enum code_kind)kind), forms,
		  seed) == SIEVE_GOES_ON);
	HOLDS(span_eq((struct span){ out, out_len },
	    (struct span){ body, w.len }));
}

/*
 * Where one secret can overlap another, that is half hidden with the first.
 * Keys are random: none repeats four bytes of its own.
 */
static bool
repeats_itself(struct span s)
{
	for (size_t i = 0; i + 4 <= s.len; i++)
		for (size_t j = i + 1; j + 4 <= s.len; j++)
			if (memcmp(s.ptr + i, s.ptr + j, 4) == 0)
				return true;
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t secret[SECRET_MAX];
	struct scan_forms forms = { SECRET_NONE };
	struct rd r = rd_init(data, size);
	uint32_t seed = rd_u32(&r) | 1;
	unsigned int form = rd_u8(&r) % SAY_FORMS, way = rd_u8(&r) % SAY_WAYS;
	unsigned int kind = rd_u8(&r) % (2 * CODE_KINDS);
	size_t place = rd_u8(&r);
	size_t len = (size_t)SCAN_SECRET_MIN_BYTES +
	    rd_u8(&r) % (SECRET_MAX - SCAN_SECRET_MIN_BYTES + 1u);
	struct span raw = rd_take(&r, len), before, after;
	struct scan_secret s = { .value = { secret, len } };
	struct wr w = wr_init(text, sizeof(text));
	size_t at = 0, end = 0;

	if (!rd_ok(&r) || rd_left(&r) > TEXT_MAX)
		return 0;
	for (size_t i = 0; i < len; i++)
		secret[i] = visible(raw.ptr[i]);
	if (repeats_itself(s.value))
		return 0;
	place = place * rd_left(&r) / 255;
	before = rd_take(&r, place);
	after = rd_take(&r, rd_left(&r));
	HOLDS(scan_forms_set(&forms, &s, 1) == 0);
	say(&w, (enum say_form)form, (enum say_way)way, before, s.value, after,
	    &at, &end);
	check_secret(&forms, (struct span){ text, w.len }, at, end, kind, seed);
	w = wr_init(text, sizeof(text));
	wr_bytes(&w, before.ptr, before.len);
	wr_bytes(&w, after.ptr, after.len);
	check_clean(&forms, (struct span){ text, w.len }, kind, seed);
	scan_forms_done(&forms);
	return 0;
}
