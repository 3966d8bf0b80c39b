/*
 * A pattern is walked against another taken as text, whose stars are bytes of
 * their own: '*' takes anything but a separator and "**", "**" takes all.
 */
#include "conf/cover.h"

#include <string.h>

#include "base/ascii.h"
#include "conf/glob.h"

enum {
	STAR = 256,  /* '*' */
	STARS = 257, /* "**" */
};

struct tokens {
	uint16_t at[GLOB_MAX_BYTES];
	size_t count;
};

static bool
is_encoded_slash(struct span s)
{
	return s.len >= 3 && s.ptr[0] == '%' && s.ptr[1] == '2' &&
	    ascii_lower(s.ptr[2]) == 'f';
}

static void
tokenize(struct span s, enum cover_case c, struct tokens *ret)
{
	ret->count = 0;
	while (s.len > 0 && ret->count < GLOB_MAX_BYTES) {
		size_t used = 1;
		uint16_t token =
		    c == COVER_ANY_CASE ? ascii_lower(s.ptr[0]) : s.ptr[0];

		if (s.ptr[0] == '*') {
			used = s.len > 1 && s.ptr[1] == '*' ? 2 : 1;
			token = used == 2 ? STARS : STAR;
		} else if (is_encoded_slash(s)) {
			used = 3;
			token = '/';
		}
		ret->at[ret->count++] = token;
		s = (struct span){ s.ptr + used, s.len - used };
	}
}

/* May a star of a take this token of b? */
static bool
star_takes(uint16_t star, uint16_t token, uint8_t sep)
{
	return star == STARS || (token != sep && token != STARS);
}

bool
cover_glob(struct span a, struct span b, uint8_t sep, enum cover_case c)
{
	/* can[k]: the tokens of a so far hold the first k of b */
	bool can[GLOB_MAX_BYTES + 1] = { true };
	struct tokens x, y;

	if (a.len > GLOB_MAX_BYTES || b.len > GLOB_MAX_BYTES)
		return false;
	tokenize(a, c, &x);
	tokenize(b, c, &y);
	for (size_t i = 0; i < x.count; i++) {
		bool before = can[0];

		if (x.at[i] < STAR)
			can[0] = false;
		for (size_t k = 1; k <= y.count; k++) {
			bool was = can[k];

			if (x.at[i] < STAR)
				can[k] = before && y.at[k - 1] == x.at[i];
			else
				can[k] = was ||
				    (can[k - 1] &&
					star_takes(x.at[i], y.at[k - 1], sep));
			before = was;
		}
	}
	return can[y.count];
}

/* Is name below of, and by exactly one label if so asked? */
static bool
is_below(const char *name, const char *of, bool is_one_label)
{
	size_t n = strlen(name), k = strlen(of);

	if (n < k + 2 || name[n - k - 1] != '.' ||
	    strcmp(name + n - k, of) != 0)
		return false;
	return !is_one_label || memchr(name, '.', n - k - 1) == NULL;
}

bool
cover_host(struct cover_host a, struct cover_host b)
{
	const char *x = model_string(a.m, a.host->name);
	const char *y = model_string(b.m, b.host->name);
	enum pattern_kind kind = b.host->kind;

	if (a.host->kind == kind && strcmp(x, y) == 0)
		return true;
	if (a.host->kind == PATTERN_ONE_LABEL)
		return kind == PATTERN_EXACT && is_below(y, x, true);
	if (a.host->kind != PATTERN_ANY_DEPTH)
		return false;
	return (kind == PATTERN_ONE_LABEL && strcmp(x, y) == 0) ||
	    is_below(y, x, false);
}

/* A run of one of the model's tables of strings. */
struct words {
	const struct model *m;
	const struct vec *v;
	const struct image_run *run;
};

static struct span
word_at(const struct words *w, uint32_t i)
{
	const uint32_t *off = vec_at(w->v, w->run->at + i);

	return span_of(model_string(w->m, *off));
}

static bool
has_port(struct cover_rule r, uint16_t port)
{
	for (uint32_t i = 0; i < r.rule->ports.count; i++) {
		const uint16_t *at = vec_at(&r.m->ports, r.rule->ports.at + i);

		if (*at == port)
			return true;
	}
	return r.rule->ports.count == 0;
}

static bool
covers_ports(struct cover_rule a, struct cover_rule b)
{
	for (uint32_t i = 0; i < b.rule->ports.count; i++) {
		const uint16_t *at = vec_at(&b.m->ports, b.rule->ports.at + i);

		if (!has_port(a, *at))
			return false;
	}
	return b.rule->ports.count > 0 || a.rule->ports.count == 0;
}

/* Every pattern of b is within one of a; a run without patterns matches all. */
static bool
covers_words(const struct words *a, const struct words *b, uint8_t sep,
    enum cover_case c)
{
	for (uint32_t i = 0; i < b->run->count && a->run->count > 0; i++) {
		bool has = false;

		for (uint32_t k = 0; k < a->run->count && !has; k++)
			has = cover_glob(word_at(a, k), word_at(b, i), sep, c);
		if (!has)
			return false;
	}
	return b->run->count > 0 || a->run->count == 0;
}

bool
cover_request(struct cover_rule a, struct cover_rule b)
{
	const struct model_rule *x = a.rule, *y = b.rule;
	enum cover_case c =
	    x->action == ACTION_DENY ? COVER_ANY_CASE : COVER_EXACT;

	return covers_ports(a, b) &&
	    covers_words(&(struct words){ a.m, &a.m->methods, &x->methods },
		&(struct words){ b.m, &b.m->methods, &y->methods }, '/', c) &&
	    covers_words(&(struct words){ a.m, &a.m->paths, &x->paths },
		&(struct words){ b.m, &b.m->paths, &y->paths }, '/', c) &&
	    covers_words(&(struct words){ a.m, &a.m->queries, &x->queries },
		&(struct words){ b.m, &b.m->queries, &y->queries }, '&', c);
}
