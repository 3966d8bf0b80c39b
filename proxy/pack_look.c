/*
 * See pack_look.h; gitformat-pack(5) says what a pack looks like.
 */
#include "proxy/pack_look.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <zlib.h>

#include "conf/siphash.h"

#define OID_MAX 32
#define HEADER_BYTES 12
/* Type and size, then a distance or a name: all that is before the data. */
#define ENTRY_MAX_BYTES (10 + 10 + OID_MAX)
#define PIECE_BYTES 8192
/* No pack is as long, and no sum of it and an offset overflows. */
#define DISTANCE_MAX (UINT64_C(1) << 48)
#define NEWS_MAX 8
/* Twice PACK_LOOK_COMMITS_MAX, so that a place is found soon. */
#define PLACES 16384
static_assert(PLACES >= 2 * PACK_LOOK_COMMITS_MAX, "half of it stays free");

enum entry_type {
	ENTRY_COMMIT = 1,
	ENTRY_OFS_DELTA = 6,
	ENTRY_REF_DELTA = 7,
};

struct commit {
	uint64_t offset; /* in the pack */
	uint8_t oid[OID_MAX];
	uint8_t *text; /* without git's own header */
	size_t len;
	unsigned int walk; /* the last one that came by */
};

enum look_phase {
	LOOK_HEADER,
	LOOK_ENTRY,
	LOOK_DATA,
	LOOK_OVER,
};

struct pack_look {
	size_t oid_bytes;
	enum look_phase phase;
	uint32_t objects; /* still to come, with the one that is read */
	uint64_t offset;  /* of the next byte */
	size_t unpacked;
	size_t kept;
	/* the entry that is read */
	uint8_t head[ENTRY_MAX_BYTES];
	size_t head_len;
	uint64_t entry_at;
	uint64_t size;
	bool is_delta;
	uint8_t base_oid[OID_MAX];
	size_t base_len; /* of what it differs from, if that is a commit */
	size_t base;     /* its number */
	uint8_t *data;   /* NULL: it is none that is kept */
	size_t data_len;
	z_stream z;
	bool has_z;
	/* commits, and where each is by its name: number + 1, or 0 */
	struct commit *commits;
	size_t count, room;
	uint16_t places[PLACES];
	struct siphash_key key;
	unsigned int walks;
	uint16_t list[PACK_LOOK_COMMITS_MAX]; /* of a walk: still to visit */
	bool is_fresh; /* commits came since it was asked */
	bool has_news;
	unsigned int news;
};

struct pack_look *
pack_look_new(size_t oid_len)
{
	struct pack_look *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	assert(oid_len == 40 || oid_len == 64);
	l->oid_bytes = oid_len / 2;
	l->has_z = inflateInit(&l->z) == Z_OK;
	if (!l->has_z ||
	    getrandom(&l->key, sizeof(l->key), 0) != sizeof(l->key)) {
		pack_look_free(l);
		return NULL;
	}
	return l;
}

void
pack_look_free(struct pack_look *l)
{
	if (l == NULL)
		return;
	if (l->has_z)
		(void)inflateEnd(&l->z);
	for (size_t i = 0; i < l->count; i++)
		free(l->commits[i].text);
	free(l->commits);
	free(l->data);
	free(l);
}

/* --- commits --- */

/* Where a commit of this name is, or would be. */
static uint16_t *
place_of(struct pack_look *l, const uint8_t *oid)
{
	size_t i =
	    (size_t)siphash(&l->key, (struct span){ oid, l->oid_bytes }) %
	    PLACES;

	while (l->places[i] != 0 &&
	    memcmp(l->commits[l->places[i] - 1].oid, oid, l->oid_bytes) != 0)
		i = (i + 1) % PLACES;
	return &l->places[i];
}

/* Git names an object by the hash of "commit LEN NUL" and what it says. */
static bool
name_commit(const struct pack_look *l, struct commit *c)
{
	const EVP_MD *md = l->oid_bytes == 20 ? EVP_sha1() : EVP_sha256();
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned int len = 0;
	uint8_t buf[32];
	struct wr w = wr_init(buf, sizeof(buf));
	bool is_done;

	wr_text(&w, "commit ");
	wr_decimal(&w, c->len);
	wr_u8(&w, 0);
	is_done = ctx != NULL && EVP_DigestInit_ex(ctx, md, NULL) == 1 &&
	    EVP_DigestUpdate(ctx, buf, w.len) == 1 &&
	    EVP_DigestUpdate(ctx, c->text, c->len) == 1 &&
	    EVP_DigestFinal_ex(ctx, c->oid, &len) == 1;
	EVP_MD_CTX_free(ctx);
	return is_done && len == l->oid_bytes;
}

static bool
grow(struct pack_look *l)
{
	size_t room = l->room == 0 ? 16 : l->room * 2;
	struct commit *more;

	if (l->count < l->room)
		return true;
	if (l->count >= PACK_LOOK_COMMITS_MAX)
		return false;
	more = realloc(l->commits, room * sizeof(*more));
	if (more == NULL)
		return false;
	l->commits = more;
	l->room = room;
	return true;
}

/* Takes text. False: no more can be kept. */
static bool
keep_commit(struct pack_look *l, uint8_t *text, size_t len)
{
	struct commit c = { .offset = l->entry_at, .text = text, .len = len };
	uint16_t *place;

	if (l->kept + len > PACK_LOOK_KEPT_MAX_BYTES || !grow(l) ||
	    !name_commit(l, &c)) {
		free(text);
		return false;
	}
	place = place_of(l, c.oid);
	l->commits[l->count++] = c;
	if (*place == 0)
		*place = (uint16_t)l->count;
	l->kept += len;
	l->is_fresh = true;
	return true;
}

/* --- differences --- */

static uint64_t
delta_size(struct rd *r)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 35; shift += 7) {
		uint8_t c = rd_u8(r);

		v |= (uint64_t)(c & 0x7f) << shift;
		if ((c & 0x80) == 0)
			return v;
	}
	rd_fail(r);
	return 0;
}

/* The bytes of a number that the bits of which say are there. */
static uint32_t
delta_number(struct rd *r, unsigned int which, unsigned int bytes)
{
	uint32_t v = 0;

	for (unsigned int i = 0; i < bytes; i++) {
		if ((which & 1u << i) != 0)
			v |= (uint32_t)rd_u8(r) << (8 * i);
	}
	return v;
}

static void
delta_copy(struct rd *r, const struct commit *base, unsigned int op,
    struct wr *w)
{
	uint32_t at = delta_number(r, op & 0x0f, 4);
	uint32_t len = delta_number(r, op >> 4 & 7, 3);

	if (len == 0)
		len = 0x10000;
	if (at > base->len || len > base->len - at)
		rd_fail(r);
	else
		wr_bytes(w, base->text + at, len);
}

static void
delta_run(struct rd *r, const struct commit *base, struct wr *w)
{
	while (rd_ok(r) && wr_ok(w) && rd_left(r) > 0) {
		uint8_t op = rd_u8(r);
		struct span add;

		if ((op & 0x80) != 0) {
			delta_copy(r, base, op, w);
			continue;
		}
		if (op == 0)
			rd_fail(r); /* kept for later versions */
		add = rd_take(r, op);
		wr_bytes(w, add.ptr, add.len);
	}
}

/* Owned by the caller; NULL: it does not fit, or memory is short. */
static uint8_t *
delta_apply(const struct commit *base, struct span delta, size_t *ret_len)
{
	struct rd r = rd_span(delta);
	uint64_t from = delta_size(&r), to = delta_size(&r);
	uint8_t *text;
	struct wr w;

	if (!rd_ok(&r) || from != base->len || to == 0 ||
	    to > PACK_LOOK_COMMIT_MAX_BYTES)
		return NULL;
	text = malloc((size_t)to);
	if (text == NULL)
		return NULL;
	w = wr_init(text, (size_t)to);
	delta_run(&r, base, &w);
	if (!rd_done(&r) || !wr_ok(&w) || w.len != to) {
		free(text);
		return NULL;
	}
	*ret_len = w.len;
	return text;
}

/* --- entries --- */

/* What it differs from, if that was a commit before it; NULL: it was not. */
static const struct commit *
find_base(struct pack_look *l, unsigned int type, uint64_t back)
{
	if (type == ENTRY_REF_DELTA) {
		uint16_t place = *place_of(l, l->base_oid);

		return place == 0 ? NULL : &l->commits[place - 1];
	}
	for (size_t i = l->count; i > 0; i--) {
		if (l->commits[i - 1].offset + back == l->entry_at)
			return &l->commits[i - 1];
		/* They came in this order. */
		if (l->commits[i - 1].offset + back < l->entry_at)
			break;
	}
	return NULL;
}

static uint64_t
read_size(struct rd *r, unsigned int *ret_type)
{
	uint8_t c = rd_u8(r);
	uint64_t size = c & 15;

	*ret_type = c >> 4 & 7;
	for (unsigned int shift = 4; (c & 0x80) != 0; shift += 7) {
		if (shift > 53) {
			rd_fail(r);
			return 0;
		}
		c = rd_u8(r);
		size |= (uint64_t)(c & 0x7f) << shift;
	}
	return size;
}

static uint64_t
read_distance(struct rd *r)
{
	uint8_t c = rd_u8(r);
	uint64_t back = c & 0x7f;

	while ((c & 0x80) != 0 && rd_ok(r)) {
		if (back >= DISTANCE_MAX) {
			rd_fail(r);
			return 0;
		}
		c = rd_u8(r);
		back = (back + 1) << 7 | (c & 0x7f);
	}
	return back;
}

/* It is a commit, or may be one: its data is kept. False: out of memory. */
static bool
keep_data(struct pack_look *l, const struct commit *base)
{
	l->is_delta = base != NULL;
	l->base = base != NULL ? (size_t)(base - l->commits) : 0;
	l->data = malloc(l->size > 0 ? (size_t)l->size : 1);
	return l->data != NULL;
}

/* The head of an entry is whole. False: there is no going on. */
static bool
begin_entry(struct pack_look *l, unsigned int type, uint64_t back)
{
	const struct commit *base = NULL;
	bool is_kept = type == ENTRY_COMMIT;

	if (type == ENTRY_OFS_DELTA || type == ENTRY_REF_DELTA) {
		base = find_base(l, type, back);
		is_kept = base != NULL;
	}
	l->phase = LOOK_DATA;
	l->data_len = 0;
	if (!is_kept) {
		l->has_news = l->has_news || l->is_fresh;
		l->is_fresh = false;
	}
	if (inflateReset(&l->z) != Z_OK)
		return false;
	return !is_kept || l->size > PACK_LOOK_COMMIT_MAX_BYTES ||
	    keep_data(l, base);
}

/* Is what is in l->head all that is before the data? */
static bool
try_entry(struct pack_look *l, bool *ret_is_over)
{
	struct rd r = rd_init(l->head, l->head_len);
	unsigned int type;
	uint64_t back = 0;
	struct span oid;

	l->size = read_size(&r, &type);
	if (type == ENTRY_OFS_DELTA) {
		back = read_distance(&r);
	} else if (type == ENTRY_REF_DELTA) {
		oid = rd_take(&r, l->oid_bytes);
		if (oid.len > 0)
			memcpy(l->base_oid, oid.ptr, oid.len);
	}
	if (!rd_ok(&r)) {
		*ret_is_over = l->head_len == ENTRY_MAX_BYTES;
		return false;
	}
	*ret_is_over = !begin_entry(l, type, back);
	return true;
}

/* Of the pack's head and of an entry's: byte by byte. */
static bool
take_byte(struct pack_look *l, uint8_t byte)
{
	bool is_over = false;
	struct rd r;

	if (l->head_len == 0)
		l->entry_at = l->offset;
	l->offset++;
	l->head[l->head_len++] = byte;
	if (l->phase == LOOK_HEADER) {
		if (l->head_len < HEADER_BYTES)
			return true;
		r = rd_init(l->head, l->head_len);
		rd_skip(&r, 8); /* what wire/git_push.h looked at */
		l->objects = rd_u32(&r);
		l->phase = l->objects > 0 ? LOOK_ENTRY : LOOK_OVER;
		l->head_len = 0;
		return l->objects > 0;
	}
	if (try_entry(l, &is_over))
		l->head_len = 0;
	return !is_over;
}

/* False: what was kept is no commit, or there is no room for it. */
static bool
end_entry(struct pack_look *l)
{
	struct span data = { l->data, l->data_len };
	uint8_t *text = l->data;
	size_t len = l->data_len;
	bool is_kept = true;

	l->phase = LOOK_ENTRY;
	l->objects--;
	l->data = NULL;
	if (text != NULL && len != l->size) {
		free(text);
		return false;
	}
	if (text != NULL && l->is_delta) {
		uint8_t *delta = text;

		text = delta_apply(&l->commits[l->base], data, &len);
		free(delta);
		is_kept = text != NULL;
	}
	if (text != NULL)
		is_kept = keep_commit(l, text, len);
	return is_kept && l->objects > 0;
}

/* Unpacks; false: it is broken, or too much. */
static bool
take_data(struct pack_look *l, struct span *in)
{
	uint8_t piece[PIECE_BYTES];
	uInt most = in->len > PIECE_BYTES ? PIECE_BYTES : (uInt)in->len;
	size_t len, used;
	int rc;

	l->z.next_in = (z_const Bytef *)(uintptr_t)in->ptr;
	l->z.avail_in = most;
	l->z.next_out = piece;
	l->z.avail_out = sizeof(piece);
	rc = inflate(&l->z, Z_NO_FLUSH);
	if (rc != Z_OK && rc != Z_STREAM_END)
		return false;
	used = most - l->z.avail_in;
	*in = (struct span){ in->ptr + used, in->len - used };
	l->offset += used;
	len = sizeof(piece) - l->z.avail_out;
	l->unpacked += len;
	if (l->unpacked > PACK_LOOK_UNPACKED_MAX_BYTES)
		return false;
	if (l->data != NULL) {
		if (len > l->size - l->data_len)
			return false;
		memcpy(l->data + l->data_len, piece, len);
		l->data_len += len;
	}
	return rc != Z_STREAM_END || end_entry(l);
}

bool
pack_look_feed(struct pack_look *l, struct span data)
{
	bool goes_on = l->phase != LOOK_OVER;

	while (goes_on && data.len > 0) {
		if (l->phase == LOOK_DATA) {
			goes_on = take_data(l, &data);
			continue;
		}
		goes_on = take_byte(l, data.ptr[0]);
		data = (struct span){ data.ptr + 1, data.len - 1 };
	}
	if (!goes_on)
		l->phase = LOOK_OVER;
	return goes_on;
}

bool
pack_look_has_news(struct pack_look *l)
{
	bool has_news = l->has_news && l->news < NEWS_MAX;

	l->has_news = false;
	l->news += has_news ? 1 : 0;
	return has_news;
}

/* --- the chain --- */

static bool
read_oid(const struct pack_look *l, struct span hex, uint8_t oid[OID_MAX])
{
	struct wr w = wr_init(oid, OID_MAX);

	if (hex.len != 2 * l->oid_bytes)
		return false;
	for (size_t i = 0; i < hex.len; i += 2) {
		unsigned int v = 0;

		for (size_t k = 0; k < 2; k++) {
			uint8_t c = hex.ptr[i + k];

			if (c >= '0' && c <= '9')
				v = v << 4 | (unsigned int)(c - '0');
			else if (c >= 'a' && c <= 'f')
				v = v << 4 | (unsigned int)(c - 'a' + 10);
			else
				return false;
		}
		wr_u8(&w, (uint8_t)v);
	}
	return wr_ok(&w);
}

/*
 * The next line of a commit's head that names a parent: they come right behind
 * its tree. False: there is none.
 */
static bool
next_parent(const struct pack_look *l, struct rd *r, uint8_t oid[OID_MAX])
{
	struct span word = rd_take(r, 7), hex = rd_take(r, 2 * l->oid_bytes);

	return rd_u8(r) == '\n' && rd_ok(r) && span_is(word, "parent ") &&
	    read_oid(l, hex, oid);
}

static struct rd
parents_of(const struct pack_look *l, const struct commit *c)
{
	struct rd r = rd_init(c->text, c->len);
	struct span word = rd_take(&r, 5);

	rd_skip(&r, 2 * l->oid_bytes);
	if (rd_u8(&r) != '\n' || !span_is(word, "tree "))
		rd_fail(&r);
	return r;
}

/* Puts the number of a commit that was read on the list, once a walk. */
static void
visit(struct pack_look *l, const uint8_t *oid, size_t *count)
{
	uint16_t number = *place_of(l, oid);
	struct commit *c = number == 0 ? NULL : &l->commits[number - 1];

	if (c == NULL || c->walk == l->walks)
		return;
	c->walk = l->walks;
	l->list[(*count)++] = number;
}

bool
pack_look_shows(struct pack_look *l, struct span new_oid, struct span old_oid)
{
	uint8_t from[OID_MAX], to[OID_MAX], parent[OID_MAX];
	size_t count = 0;

	if (!read_oid(l, new_oid, from) || !read_oid(l, old_oid, to))
		return false;
	l->walks++;
	visit(l, from, &count);
	while (count > 0) {
		const struct commit *c = &l->commits[l->list[--count] - 1];
		struct rd r = parents_of(l, c);

		while (next_parent(l, &r, parent)) {
			if (memcmp(parent, to, l->oid_bytes) == 0)
				return true;
			visit(l, parent, &count);
		}
	}
	return false;
}
