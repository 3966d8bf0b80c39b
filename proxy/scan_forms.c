/*
 * The forms of a secret, and the tables by which they are searched for.
 */
#include "proxy/scan_private.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/spelling.h"

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/* "\u002f": the longest that a byte is commonly written as. */
#define SPELLED_MAX_BYTES 6

static const char hex_digits[] = "0123456789abcdef";

static const char *const form_texts[] = {
	[SCAN_NONE] = "",
	[SCAN_RAW] = "as it is",
	[SCAN_CASE] = "in other letter case",
	[SCAN_PLUS] = "form-encoded",
	[SCAN_HEX] = "hexadecimal",
	[SCAN_BASE64] = "base64",
	[SCAN_BASE64_HEX] = "base64 in hexadecimal",
	[SCAN_BASE64_TWICE] = "base64 of base64",
};

static_assert(sizeof(form_texts) / sizeof(form_texts[0]) == SCAN_FORMS,
    "each form has a text");

void
scan_found_text(const struct scan_found *found, char buf[SCAN_FORM_TEXT_SIZE])
{
	(void)snprintf(buf, SCAN_FORM_TEXT_SIZE, "%s%s",
	    form_texts[found->form], found->is_escaped ? ", escaped" : "");
}

/* --- the bytes of one form --- */

/*
 * The digits of base64 that depend on nothing but the secret when skip bytes
 * of other text lie before it in its group of three.
 */
static size_t
base64_first(size_t skip)
{
	return (skip * 8 + 5) / 6;
}

static size_t
base64_len(size_t len, size_t skip)
{
	return (skip + len) * 8 / 6 - base64_first(skip);
}

static uint8_t
base64_digit(struct span core, size_t skip, size_t i)
{
	size_t bit = (base64_first(skip) + i) * 6 - skip * 8;
	unsigned int pair = (unsigned int)core.ptr[bit / 8] << 8;

	if (bit / 8 + 1 < core.len)
		pair |= core.ptr[bit / 8 + 1];
	return (uint8_t)base64_digits[(pair >> (10 - bit % 8)) & 63];
}

static uint8_t
url_safe(uint8_t c)
{
	return c == '+' ? '-' : c == '/' ? '_' : c;
}

static uint8_t
upper(uint8_t c)
{
	return c >= 'a' && c <= 'z' ? (uint8_t)(c - 'a' + 'A') : c;
}

uint8_t
scan_row_byte(const struct scan_row *row, size_t i)
{
	uint8_t c;

	switch (row->form) {
	case SCAN_CASE:
		c = row->core.ptr[i];
		return row->is_other ? upper(c) : ascii_lower(c);
	case SCAN_PLUS:
		c = row->core.ptr[i];
		return c == ' ' ? '+' : c;
	case SCAN_HEX:
	case SCAN_BASE64_HEX:
		c = row->core.ptr[i / 2];
		c = (uint8_t)hex_digits[(i % 2 == 0 ? c >> 4 : c & 15)];
		return row->is_other ? upper(c) : c;
	case SCAN_BASE64:
	case SCAN_BASE64_TWICE:
		c = base64_digit(row->core, row->skip, i);
		return row->is_other ? url_safe(c) : c;
	case SCAN_NONE:
	case SCAN_RAW:
	case SCAN_FORMS:
		break;
	}
	return row->core.ptr[i];
}

/* --- the table --- */

static struct scan_table *
table_of(const struct scan_forms *f)
{
	/* Whole pages: aligned for any type. */
	return (void *)f->room.ptr;
}

const struct scan_table *
scan_table_of(const struct scan_forms *f)
{
	return table_of(f);
}

static bool
rows_equal(const struct scan_row *a, const struct scan_row *b)
{
	if (a->len != b->len)
		return false;
	for (size_t i = 0; i < a->len; i++)
		if (scan_row_byte(a, i) != scan_row_byte(b, i))
			return false;
	return true;
}

/* base64url of a secret without the two digits is the same form, and so on. */
static void
add_row(struct scan_table *t, struct scan_row row)
{
	for (size_t i = 0; i < t->count; i++)
		if (rows_equal(&t->rows[i], &row))
			return;
	assert(t->count < SCAN_ROWS_MAX);
	row.first = scan_row_byte(&row, 0);
	t->rows[t->count++] = row;
}

static void
add_both(struct scan_table *t, struct scan_row row)
{
	add_row(t, row);
	row.is_other = true;
	add_row(t, row);
}

static void
add_base64(struct scan_table *t, enum scan_form form, struct span core)
{
	for (uint8_t skip = 0; skip < 3; skip++)
		add_both(t,
		    (struct scan_row){ .form = form,
			.core = core,
			.skip = skip,
			.len = base64_len(core.len, skip) });
}

/* What base64 makes of it at one alignment, as a text that is encoded again. */
static void
add_coded(struct scan_table *t, struct span core, size_t skip, uint8_t *room)
{
	struct span coded = { room, base64_len(core.len, skip) };

	for (size_t i = 0; i < coded.len; i++)
		room[i] = base64_digit(core, skip, i);
	add_base64(t, SCAN_BASE64_TWICE, coded);
	add_both(t,
	    (struct scan_row){ .form = SCAN_BASE64_HEX,
		.core = coded,
		.len = coded.len * 2 });
}

/* Returns how much of room it took. */
static size_t
add_secret(struct scan_table *t, const struct scan_secret *s, uint8_t *room)
{
	struct span core = { room, s->value.len };
	size_t used = core.len;

	memcpy(room, s->value.ptr, core.len);
	add_row(t,
	    (struct scan_row){ .form = SCAN_RAW,
		.core = core,
		.len = core.len });
	add_both(t,
	    (struct scan_row){ .form = SCAN_CASE,
		.core = core,
		.len = core.len });
	add_row(t,
	    (struct scan_row){ .form = SCAN_PLUS,
		.core = core,
		.len = core.len });
	add_both(t,
	    (struct scan_row){ .form = SCAN_HEX,
		.core = core,
		.len = core.len * 2 });
	add_base64(t, SCAN_BASE64, core);
	for (size_t skip = 0; s->is_sent_coded && skip < 3; skip++) {
		add_coded(t, core, skip, room + used);
		used += base64_len(core.len, skip);
	}
	return used;
}

static size_t
room_for(const struct scan_secret *s)
{
	size_t room = s->value.len;

	for (size_t skip = 0; s->is_sent_coded && skip < 3; skip++)
		room += base64_len(s->value.len, skip);
	return room;
}

static void
measure(struct scan_table *t)
{
	t->window = SCAN_WINDOW_MAX;
	for (size_t i = 0; i < t->count; i++) {
		if (t->rows[i].len < t->window)
			t->window = t->rows[i].len;
		if (t->rows[i].len > t->longest)
			t->longest = t->rows[i].len;
	}
	t->widest = (uint8_t)(t->window - SCAN_BLOCK + 1);
}

static void
enter(struct scan_table *t, const struct scan_row *row)
{
	uint8_t start[SCAN_WINDOW_MAX] = { 0 };

	for (size_t i = 0; i < t->window; i++) {
		start[i] = scan_row_byte(row, i);
		t->flags[start[i]] |= SCAN_OCCURS;
	}
	t->flags[start[0]] |= SCAN_BEGINS;
	for (size_t i = 0; i + SCAN_BLOCK <= t->window; i++) {
		size_t far = t->window - SCAN_BLOCK - i;
		uint8_t *slot = &t->shift[scan_slot(start + i)];

		if (far < *slot)
			*slot = (uint8_t)far;
	}
	secret_wipe(start, sizeof(start));
}

/*
 * Which bytes may follow the lead of an escape that is worth a look: behind a
 * backslash most stand for themselves, and so must occur.
 */
static void
enter_escapes(struct scan_table *t)
{
	for (unsigned int next = 0; next < 256; next++) {
		uint8_t c = (uint8_t)next, *flags = &t->flags[next];
		bool occurs = (*flags & SCAN_OCCURS) != 0;

		if (spelling_may_begin('%', c))
			*flags |= SCAN_BEHIND_PERCENT;
		if (spelling_may_begin('&', c))
			*flags |= SCAN_BEHIND_AMPERSAND;
		if (spelling_may_begin('\\', c) &&
		    (occurs || c == 'x' || c == 'u' || spelling_is_lead(c)))
			*flags |= SCAN_BEHIND_BACKSLASH;
	}
}

int
scan_forms_set(struct scan_forms *f, const struct scan_secret *secrets,
    size_t count)
{
	size_t room = sizeof(struct scan_table);
	struct scan_table *t;
	uint8_t *end;
	int rc;

	assert(count > 0 && count <= SCAN_SECRETS_MAX);
	scan_forms_done(f);
	for (size_t i = 0; i < count; i++) {
		if (secrets[i].value.len < SCAN_SECRET_MIN_BYTES)
			return -EINVAL;
		room += room_for(&secrets[i]);
	}
	rc = secret_alloc(&f->room, room);
	if (rc != 0)
		return rc;
	t = table_of(f);
	memset(t, 0, sizeof(*t));
	end = t->bytes;
	for (size_t i = 0; i < count; i++)
		end += add_secret(t, &secrets[i], end);
	measure(t);
	memset(t->shift, t->widest, sizeof(t->shift));
	for (size_t i = 0; i < t->count; i++)
		enter(t, &t->rows[i]);
	enter_escapes(t);
	return 0;
}

void
scan_forms_done(struct scan_forms *f)
{
	secret_done(&f->room);
}

bool
scan_forms_is_empty(const struct scan_forms *f)
{
	return f->room.ptr == NULL;
}

size_t
scan_forms_longest(const struct scan_forms *f)
{
	const struct scan_table *t = scan_table_of(f);

	return t == NULL ? 0 : t->longest * SPELLED_MAX_BYTES;
}
