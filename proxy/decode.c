/*
 * Content codings, see decode.h: what is common to all.
 */
#include "proxy/decode_private.h"

#include <assert.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "wire/token.h"

struct decoder {
	const struct decode_kind *kind;
	void *arg;
	struct decode_budget *budget;
	uint64_t in, out; /* bytes so far */
};

static const struct coding_name {
	const char *name;
	enum coding coding;
} names[] = {
	{ "gzip", CODING_GZIP },
	{ "x-gzip", CODING_GZIP }, /* RFC 9110 8.4.1.3 */
	{ "deflate", CODING_DEFLATE }, { "br", CODING_BR },
	{ "zstd", CODING_ZSTD },
	{ "identity", CODING_NONE }, /* in no registry, but it is sent */
};

static enum coding
coding_named(struct span name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_is_case(name, names[i].name))
			return names[i].coding;
	return CODING_OTHER;
}

/*
 * Of gRPC and Connect: each message in the body may be coded, and nobody here
 * takes them apart.
 */
static bool
has_coded_messages(const struct http_fields *f)
{
	static const char *const fields[] = { "grpc-encoding",
		"connect-content-encoding" };
	const struct http_field *field;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (size_t k = 0;
		     (field = http_field_find(f, fields[i], k)) != NULL; k++)
			if (!span_is_case(field->value, "identity"))
				return true;
	return false;
}

enum coding
coding_of(const struct http_fields *f)
{
	const struct http_field *field;
	enum coding all = CODING_NONE;

	if (has_coded_messages(f))
		return CODING_OTHER;
	for (size_t i = 0;
	     (field = http_field_find(f, "content-encoding", i)) != NULL; i++) {
		struct span rest = field->value;

		while (rest.len > 0) {
			struct span name = token_trim(token_cut(&rest, ','));
			enum coding one =
			    name.len == 0 ? CODING_NONE : coding_named(name);

			if (one != CODING_NONE)
				all = all == CODING_NONE ? one : CODING_OTHER;
		}
	}
	return all;
}

/* Before each piece of memory. */
struct block {
	alignas(max_align_t) size_t size;
};

bool
decode_budget_take(struct decode_budget *b, size_t size)
{
	if (size > b->max_bytes || b->used > b->max_bytes - size)
		return false;
	b->used += size;
	return true;
}

void
decode_budget_give(struct decode_budget *b, size_t size)
{
	assert(size <= b->used);
	b->used -= size;
}

void *
decode_alloc(struct decode_budget *budget, size_t size)
{
	struct block *b;

	if (!decode_budget_take(budget, size))
		return NULL;
	b = malloc(sizeof(*b) + size);
	if (b == NULL) {
		decode_budget_give(budget, size);
		return NULL;
	}
	b->size = size;
	return b + 1;
}

void
decode_release(struct decode_budget *budget, void *ptr)
{
	struct block *b;

	if (ptr == NULL)
		return;
	b = (struct block *)ptr - 1;
	decode_budget_give(budget, b->size);
	secret_wipe(ptr, b->size);
	free(b);
}

static const struct decode_kind *
kind_of(enum coding coding)
{
	switch (coding) {
	case CODING_GZIP:
	case CODING_DEFLATE:
		return &decode_zlib;
	case CODING_BR:
		return &decode_brotli;
	case CODING_ZSTD:
		return &decode_zstd;
	case CODING_NONE:
	case CODING_OTHER:
		break;
	}
	return NULL;
}

struct decoder *
decoder_new(enum coding coding, struct decode_budget *budget)
{
	struct decoder *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return NULL;
	d->kind = kind_of(coding);
	d->budget = budget;
	d->arg = d->kind == NULL ? NULL : d->kind->open(coding, budget);
	if (d->arg == NULL) {
		free(d);
		return NULL;
	}
	return d;
}

void
decoder_free(struct decoder *d)
{
	if (d == NULL)
		return;
	d->kind->close(d->arg);
	free(d);
}

enum decode_status
decoder_run(struct decoder *d, struct span *in, uint8_t *room, size_t size,
    size_t *ret_len)
{
	struct wr out = wr_init(room, size);
	size_t before = in->len;
	enum decode_status s = d->kind->run(d->arg, in, &out);

	d->in += before - in->len;
	d->out += out.len;
	*ret_len = out.len;
	if ((s == DECODE_MORE || s == DECODE_ROOM) &&
	    d->out > DECODE_FREE_BYTES + d->in * d->budget->ratio)
		return DECODE_LARGE;
	return s;
}

bool
decoder_is_settled(const struct decoder *d)
{
	return d->kind->is_settled == NULL || d->kind->is_settled(d->arg);
}

bool
decoder_is_whole(const struct decoder *d)
{
	/* Of nothing at all no coding can be broken: HEAD's twin says so. */
	return d->in == 0 || d->kind->is_whole(d->arg);
}
