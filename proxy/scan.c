/*
 * The search for a secret, see scan.h.
 *
 * The shift table is indexed by a hash of three bytes and says how far the
 * window may move when its last three bytes hash there; 0 means that a form
 * may end its first len_min bytes here. Every form takes part with its first
 * len_min bytes only, so one window serves all.
 */
#include "proxy/scan.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

/* Bytes that are hashed together; no form is shorter. */
#define BLOCK 3
#define SHIFT_MAX 255
/*
 * Secrets whose base64 is looked for in escaped spellings, too: passwords and
 * keys. Longer ones are mostly base64 themselves, and locked memory is scarce.
 */
#define ESCAPED_BASE64_MAX 512

static size_t
hash(const uint8_t *p)
{
	uint32_t v =
	    (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;

	/* Fibonacci hashing: the product is meant to lose its high bits. */
	return (size_t)(((uint64_t)v * 0x9e3779b1u & 0xffffffffu) >> 20);
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/*
 * The digits of base64 that depend on nothing but the secret when skip bytes
 * of other text lie before it in its group of three. Returns their number.
 */
static size_t
base64_inner(struct span s, size_t skip, bool url_safe, uint8_t *ret)
{
	size_t first = (skip * 8 + 5) / 6;
	size_t end = (skip + s.len) * 8 / 6;

	for (size_t i = first; i < end; i++) {
		size_t bit = i * 6 - skip * 8;
		unsigned int pair = (unsigned int)s.ptr[bit / 8] << 8;
		uint8_t c;

		if (bit / 8 + 1 < s.len)
			pair |= s.ptr[bit / 8 + 1];
		c = (uint8_t)base64_digits[(pair >> (10 - bit % 8)) & 63];
		if (url_safe && c == '+')
			c = '-';
		if (url_safe && c == '/')
			c = '_';
		ret[i - first] = c;
	}
	return end - first;
}

static void
add_form(struct scan_forms *f, size_t len)
{
	size_t at = 0;

	assert(f->count < SCAN_FORMS_MAX);
	if (f->count > 0)
		at = f->at[f->count - 1] + f->len[f->count - 1];
	/* base64url of a secret without the two digits is the same form. */
	for (size_t i = 0; i < f->count; i++)
		if (f->len[i] == len &&
		    memcmp(f->bytes.ptr + f->at[i], f->bytes.ptr + at, len) ==
			0)
			return;
	f->at[f->count] = at;
	f->len[f->count] = len;
	f->count++;
}

static uint8_t *
form_end(struct scan_forms *f)
{
	size_t at = 0;

	if (f->count > 0)
		at = f->at[f->count - 1] + f->len[f->count - 1];
	return f->bytes.ptr + at;
}

static void
fill_shift(struct scan_forms *f)
{
	size_t widest;

	f->len_min = SIZE_MAX;
	f->len_max = 0;
	for (size_t i = 0; i < f->count; i++) {
		if (f->len[i] < f->len_min)
			f->len_min = f->len[i];
		if (f->len[i] > f->len_max)
			f->len_max = f->len[i];
	}
	widest = f->len_min - BLOCK + 1;
	if (widest > SHIFT_MAX)
		widest = SHIFT_MAX;
	memset(f->shift, (int)widest, sizeof(f->shift));
	for (size_t i = 0; i < f->count; i++) {
		const uint8_t *p = f->bytes.ptr + f->at[i];

		f->begins[p[0]] = true;
		for (size_t j = 0; j + BLOCK <= f->len_min; j++) {
			size_t far = f->len_min - BLOCK - j;
			uint8_t *slot = &f->shift[hash(p + j)];

			if (far < *slot)
				*slot = (uint8_t)far;
		}
	}
}

/*
 * Writers that an echo goes through write some bytes otherwise: encodeURI() and
 * urllib keep a slash that encodeURIComponent() does not; of JSON's, PHP's puts
 * a backslash before it, those of .NET, Gson and Go write \u00NN for what
 * could end a script. A secret without such bytes has no further forms.
 */
enum escape_way { ESCAPE_PERCENT, ESCAPE_BACKSLASH, ESCAPE_U };

#define RESERVED "!#$%&'()*+,/:;=?@[]\"<>\\^`{|} "

static const struct escape {
	const char *bytes;
	enum escape_way way;
	bool is_upper; /* hexadecimal digits */
	bool is_of_base64;
} escapes[] = {
	{ RESERVED, ESCAPE_PERCENT, true, false },
	{ RESERVED, ESCAPE_PERCENT, false, false },
	{ "!#$%&'()*+,:;=?@[]\"<>\\^`{|} ", ESCAPE_PERCENT, true, false },
	{ "/\"\\", ESCAPE_BACKSLASH, false, true },
	{ "\"\\", ESCAPE_BACKSLASH, false, false },
	{ "+<>&'\"`", ESCAPE_U, true, true },
	{ "=<>&'", ESCAPE_U, false, false },
	{ "<>&", ESCAPE_U, false, false },
};

#define ESCAPES (sizeof(escapes) / sizeof(escapes[0]))

static size_t
escape_byte(const struct escape *e, uint8_t c, uint8_t ret[6])
{
	const char *digits =
	    e->is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
	struct wr w = wr_init(ret, 6);

	if (memchr(e->bytes, c, strlen(e->bytes)) == NULL) {
		wr_u8(&w, c);
		return w.len;
	}
	wr_u8(&w, e->way == ESCAPE_PERCENT ? '%' : '\\');
	if (e->way == ESCAPE_BACKSLASH) {
		wr_u8(&w, c);
		return w.len;
	}
	if (e->way == ESCAPE_U)
		wr_text(&w, "u00");
	wr_u8(&w, (uint8_t)digits[c >> 4]);
	wr_u8(&w, (uint8_t)digits[c & 15]);
	return w.len;
}

/* Its length; into ret, unless that is NULL. */
static size_t
escaped(const struct escape *e, struct span s, uint8_t *ret)
{
	uint8_t one[6];
	size_t len = 0;

	for (size_t i = 0; i < s.len; i++) {
		size_t n = escape_byte(e, s.ptr[i], one);

		if (ret != NULL)
			memcpy(ret + len, one, n);
		len += n;
	}
	secret_wipe(one, sizeof(one));
	return len;
}

/* base is one of the forms already; raw, or base64. */
static void
add_escaped(struct scan_forms *f, struct span base, bool is_base64)
{
	for (size_t i = 0; i < ESCAPES; i++)
		if ((!is_base64 || escapes[i].is_of_base64) &&
		    escaped(&escapes[i], base, NULL) > base.len)
			add_form(f, escaped(&escapes[i], base, form_end(f)));
}

static struct span
form_of(const struct scan_forms *f, size_t i)
{
	return (struct span){ f->bytes.ptr + f->at[i], f->len[i] };
}

/*
 * All that the forms may take. Of base64 the two digits that are no letters
 * are escaped, to two bytes and to six: how many there are is not known yet.
 */
static size_t
room_for(struct span secret, bool escapes_base64)
{
	size_t coded = secret.len * 4 / 3 + 4;
	size_t room = secret.len + 6 * coded;

	for (size_t i = 0; i < ESCAPES; i++) {
		size_t len = escaped(&escapes[i], secret, NULL);

		room += len > secret.len ? len : 0;
	}
	return room + (escapes_base64 ? 3 * (2 + 6) * coded : 0);
}

int
scan_forms_set(struct scan_forms *f, struct span secret)
{
	bool escapes_base64 = secret.len <= ESCAPED_BASE64_MAX;
	int rc;

	scan_forms_done(f);
	if (secret.len < SCAN_SECRET_MIN_BYTES)
		return -EINVAL;
	rc = secret_alloc(&f->bytes, room_for(secret, escapes_base64));
	if (rc != 0)
		return rc;
	memcpy(f->bytes.ptr, secret.ptr, secret.len);
	add_form(f, secret.len);
	for (size_t skip = 0; skip < 3; skip++) {
		add_form(f, base64_inner(secret, skip, false, form_end(f)));
		if (escapes_base64)
			add_escaped(f, form_of(f, f->count - 1), true);
		add_form(f, base64_inner(secret, skip, true, form_end(f)));
	}
	add_escaped(f, form_of(f, 0), false);
	fill_shift(f);
	return 0;
}

void
scan_forms_done(struct scan_forms *f)
{
	secret_done(&f->bytes);
	/* The shifts tell about the secret's bytes, too. */
	secret_wipe(f, sizeof(*f));
}

bool
scan_forms_is_empty(const struct scan_forms *f)
{
	return f->count == 0;
}

/* Does a form begin at this byte, all of it there? Its length, or 0. */
static size_t
form_at(const struct scan_forms *f, struct span data, size_t at)
{
	size_t best = 0;

	for (size_t i = 0; i < f->count; i++) {
		if (f->len[i] > data.len - at || f->len[i] <= best)
			continue;
		if (memcmp(data.ptr + at, f->bytes.ptr + f->at[i], f->len[i]) ==
		    0)
			best = f->len[i];
	}
	return best;
}

bool
scan_find(const struct scan_forms *f, struct span data, size_t *ret_at,
    size_t *ret_len)
{
	size_t at = 0;

	if (f->count == 0)
		return false;
	while (data.len - at >= f->len_min) {
		size_t far = f->shift[hash(data.ptr + at + f->len_min - BLOCK)];
		size_t len = far == 0 ? form_at(f, data, at) : 0;

		if (len > 0) {
			*ret_at = at;
			*ret_len = len;
			return true;
		}
		at += far == 0 ? 1 : far;
	}
	return false;
}

/* Do the last len bytes of data begin some form that is longer? */
static bool
begins_form(const struct scan_forms *f, struct span data, size_t len)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->len[i] > len &&
		    memcmp(data.ptr + data.len - len, f->bytes.ptr + f->at[i],
			len) == 0)
			return true;
	return false;
}

size_t
scan_tail(const struct scan_forms *f, struct span data)
{
	size_t len;

	if (f->count == 0)
		return 0;
	len = f->len_max - 1;
	if (len > data.len)
		len = data.len;
	while (len > 0 &&
	    !(f->begins[data.ptr[data.len - len]] && begins_form(f, data, len)))
		len--;
	return len;
}
