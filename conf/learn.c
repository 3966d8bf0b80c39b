/*
 * Policies from what was denied, see learn.h.
 *
 * A preset fits if it lets through all that was asked of some host; of those
 * that fit the one for the most requests is taken, until none fits what is
 * left. So a preset is never taken for a host that needs a rule all the same.
 */
#include "conf/learn.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/names.h"
#include "conf/compile.h"
#include "conf/policy.h"
#include "conf/presets.h"
#include "conf/vec.h"
#include "conf/words.h"
#include "wire/host.h"
#include "wire/path.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443
/* Longest path that is written: a line of a policy holds 200 bytes. */
#define PATH_MAX_BYTES 120
/* As many as a word has bits: HTTP has some forty, WebDAV's with them. */
#define METHODS_MAX 32

struct asked {
	char host[HOST_NAME_SIZE];
	char *target;     /* owned */
	uint32_t methods; /* of all that ask for its path, as bits */
	uint32_t method;  /* number */
	uint16_t port;
	uint64_t count;
	bool is_covered; /* by a preset that was taken */
	bool is_written; /* in a rule */
};

struct learn {
	struct vec all; /* struct asked */
	char methods[METHODS_MAX][METHOD_NAME_SIZE];
	size_t method_count;
};

struct learn *
learn_new(void)
{
	struct learn *l = calloc(1, sizeof(*l));

	if (l != NULL)
		l->all = VEC_OF(struct asked);
	return l;
}

static struct asked *
asked_at(const struct learn *l, size_t i)
{
	return vec_at(&l->all, i);
}

void
learn_free(struct learn *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->all.count; i++)
		free(asked_at(l, i)->target);
	vec_done(&l->all);
	free(l);
}

/* The number of a method; METHODS_MAX when there are too many. */
static uint32_t
method_number(struct learn *l, const char *method)
{
	uint32_t i = 0;

	while (i < l->method_count && strcmp(l->methods[i], method) != 0)
		i++;
	if (i == l->method_count && i < METHODS_MAX) {
		(void)snprintf(l->methods[i], sizeof(l->methods[i]), "%s",
		    method);
		l->method_count++;
	}
	return i;
}

static struct asked *
find_asked(const struct learn *l, const struct asked *a, const char *target)
{
	for (size_t i = 0; i < l->all.count; i++) {
		struct asked *b = asked_at(l, i);

		if (b->port == a->port && b->method == a->method &&
		    strcmp(b->host, a->host) == 0 &&
		    strcmp(b->target, target) == 0)
			return b;
	}
	return NULL;
}

int
learn_add(struct learn *l, const char *host, uint16_t port, const char *method,
    const char *target)
{
	struct asked a = { .port = port, .count = 1 }, *known;
	char name[HOST_SIZE];

	if (host_parse(span_of(host), name) != HOST_NAME ||
	    strcmp(name, host) != 0 || !words_is_method(span_of(method)) ||
	    target[0] != '/' || port == 0)
		return 0;
	a.method = method_number(l, method);
	(void)snprintf(a.host, sizeof(a.host), "%s", host);
	known = find_asked(l, &a, target);
	if (known != NULL) {
		known->count++;
		return 0;
	}
	if (a.method == METHODS_MAX || l->all.count >= LEARN_REQUESTS_MAX)
		return -E2BIG;
	a.target = strdup(target);
	if (a.target == NULL || vec_push(&l->all, &a) != 0) {
		free(a.target);
		return -ENOMEM;
	}
	return 0;
}

/* --- presets --- */

static struct span
path_of(const struct asked *a)
{
	return (
	    struct span){ (const uint8_t *)a->target, strcspn(a->target, "?") };
}

static bool
is_allowed(const struct learn *l, const struct policy *p, const struct asked *a)
{
	struct span path = path_of(a);
	struct path_reading reading = path_read(path);
	struct policy_pair pair = { p, NULL };
	struct policy_request req = { .host = a->host,
		.port = a->port,
		.scheme = a->port == PORT_HTTP ? SCHEME_HTTP : SCHEME_HTTPS,
		.method = span_of(l->methods[a->method]),
		.path = path,
		.has_query = a->target[path.len] == '?',
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };

	req.query = span_of(a->target + path.len + (req.has_query ? 1 : 0));
	return policy_judge_request(&pair, &req).action == ACTION_ALLOW;
}

static bool
is_same_place(const struct asked *a, const struct asked *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

/* All that is left of the place of a is let through. */
static bool
fits_place(const struct learn *l, const struct policy *p, const struct asked *a)
{
	for (size_t i = 0; i < l->all.count; i++) {
		const struct asked *b = asked_at(l, i);

		if (!b->is_covered && is_same_place(a, b) &&
		    !is_allowed(l, p, b))
			return false;
	}
	return true;
}

/* How many requests it is for; with takes they are covered from now on. */
static uint64_t
gain_of(struct learn *l, const struct policy *p, bool takes)
{
	uint64_t gain = 0;

	for (size_t i = 0; i < l->all.count; i++) {
		struct asked *a = asked_at(l, i);

		if (a->is_covered || !is_allowed(l, p, a) ||
		    !fits_place(l, p, a))
			continue;
		gain += a->count;
		a->is_written = takes;
	}
	for (size_t i = 0; i < l->all.count && takes; i++) {
		struct asked *a = asked_at(l, i);

		a->is_covered = a->is_covered || a->is_written;
		a->is_written = false;
	}
	return gain;
}

/* NULL when it does not compile, or memory is short. */
static struct policy *
preset_policy(const struct preset *preset, struct compile_result *r)
{
	char text[WORDS_NAME_MAX + 64];
	struct compile_input in = { .display_name = "preset",
		.preset = presets_find };
	struct policy *p = NULL;

	(void)snprintf(text, sizeof(text),
	    "[policy]\nversion = 1\npreset = %s\n", preset->name);
	in.text = span_of(text);
	if (compile_policy(&in, r) != 0 ||
	    policy_map_bytes(r->image, r->image_len, &p) != 0)
		return NULL;
	return p;
}

/* What one preset is good for now; with takes it is taken. */
static int
try_preset(struct learn *l, const struct preset *preset, bool takes,
    uint64_t *ret_gain)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct policy *p = r == NULL ? NULL : preset_policy(preset, r);

	*ret_gain = p == NULL ? 0 : gain_of(l, p, takes);
	policy_unref(p);
	if (r == NULL)
		return -ENOMEM;
	compile_result_done(r);
	free(r);
	return 0;
}

static int
write_presets(struct learn *l, struct wr *w)
{
	for (;;) {
		const struct preset *best = NULL;
		uint64_t most = 0, gain;
		int rc = 0;

		for (const struct preset *p = presets_all; p->name != NULL;
		     p++) {
			rc = try_preset(l, p, false, &gain);
			if (rc != 0)
				return rc;
			if (gain > most) {
				most = gain;
				best = p;
			}
		}
		if (best == NULL)
			return 0;
		rc = try_preset(l, best, true, &gain);
		if (rc != 0)
			return rc;
		wr_fmt(w, "preset  = %s ; %llu requests\n", best->name,
		    (unsigned long long)gain);
	}
}

/* --- rules --- */

/* Can it stand in a policy, and is it then this path and no other? */
static bool
is_writable(struct span path)
{
	if (path.len == 0 || path.len > PATH_MAX_BYTES ||
	    path_read(path).is_ambiguous)
		return false;
	for (size_t i = 0; i < path.len; i++)
		if (path.ptr[i] <= ' ' || path.ptr[i] >= 0x7f ||
		    strchr("*,;#\"", path.ptr[i]) != NULL)
			return false;
	return path_pattern_fault(path) == NULL;
}

/* Asked of one place by the same methods each: paths of one rule. */
static bool
is_same_rule(const struct asked *a, const struct asked *b)
{
	return !b->is_covered && is_same_place(a, b) &&
	    a->methods == b->methods;
}

/* Which methods each path is asked by, as bits. */
static void
note_methods(struct learn *l)
{
	for (size_t i = 0; i < l->all.count; i++) {
		struct asked *a = asked_at(l, i);

		a->methods = 0;
		for (size_t k = 0; k < l->all.count; k++) {
			const struct asked *b = asked_at(l, k);

			if (!b->is_covered && is_same_place(a, b) &&
			    span_eq(path_of(a), path_of(b)))
				a->methods |= UINT32_C(1) << b->method;
		}
	}
}

/* The first of those before n that this is a path of. */
static bool
is_first_path(const struct learn *l, const struct asked *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct asked *b = asked_at(l, i);

		if (is_same_rule(a, b) && span_eq(path_of(a), path_of(b)))
			return false;
	}
	return true;
}

static uint64_t
count_path(const struct learn *l, const struct asked *a)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->all.count; i++) {
		const struct asked *b = asked_at(l, i);

		if (is_same_rule(a, b) && span_eq(path_of(a), path_of(b)))
			n += b->count;
	}
	return n;
}

/* Up to which '/' are they all alike? 0: a path of them cannot be written. */
static size_t
common_folder(const struct learn *l, const struct asked *a)
{
	struct span path = path_of(a);
	size_t len = path.len;

	for (size_t i = 0; i < l->all.count; i++) {
		const struct asked *b = asked_at(l, i);
		struct span other = path_of(b);
		size_t k = 0;

		if (!is_same_rule(a, b))
			continue;
		if (path_read(other).is_ambiguous)
			return 0;
		while (k < len && k < other.len && path.ptr[k] == other.ptr[k])
			k++;
		len = k;
	}
	while (len > 0 && path.ptr[len - 1] != '/')
		len--;
	while (len > 0 && !is_writable((struct span){ path.ptr, len }))
		for (len--; len > 0 && path.ptr[len - 1] != '/';)
			len--;
	return len;
}

static void
write_methods(const struct learn *l, const struct asked *a, struct wr *w)
{
	const char *sep = "method  = ";

	for (size_t i = 0; i < l->method_count; i++) {
		if ((a->methods & UINT32_C(1) << i) == 0)
			continue;
		wr_fmt(w, "%s%s", sep, l->methods[i]);
		sep = ", ";
	}
	wr_text(w, "\n");
}

static void
write_paths(struct learn *l, const struct asked *a, struct wr *w)
{
	size_t paths = 0, folder;
	bool all_writable = true, has_slash = false;

	for (size_t i = 0; i < l->all.count; i++) {
		const struct asked *b = asked_at(l, i);

		if (!is_same_rule(a, b))
			continue;
		paths += is_first_path(l, b, i) ? 1 : 0;
		all_writable = all_writable && is_writable(path_of(b));
		has_slash =
		    has_slash || path_read(path_of(b)).has_encoded_slash;
	}
	folder = common_folder(l, a);
	if (!all_writable && folder == 0)
		return; /* without the key every path matches */
	if (has_slash)
		wr_text(w, "encoded-slash = yes\n");
	if (!all_writable || paths > LEARN_PATHS_MAX) {
		wr_fmt(w, "path    = %.*s**\n", (int)folder, a->target);
		return;
	}
	for (size_t i = 0; i < l->all.count; i++) {
		const struct asked *b = asked_at(l, i);

		if (is_same_rule(a, b) && is_first_path(l, b, i))
			wr_fmt(w, "path    = %.*s ; %llu\n",
			    (int)path_of(b).len, b->target,
			    (unsigned long long)count_path(l, b));
	}
}

/* [allow NAME] for the first, [allow NAME-2] for the one after it. */
static void
write_rule(struct learn *l, struct asked *a, const char *name, struct wr *w)
{
	uint64_t count = 0;

	for (size_t i = 0; i < l->all.count; i++)
		if (is_same_rule(a, asked_at(l, i)))
			count += asked_at(l, i)->count;
	wr_fmt(w, "[allow %s] ; %llu requests\nhost    = %s\n", name,
	    (unsigned long long)count, a->host);
	if (a->port == PORT_HTTP)
		wr_text(w, "scheme  = http\n");
	else if (a->port != PORT_HTTPS)
		wr_fmt(w, "port    = %u\n", a->port);
	write_methods(l, a, w);
	write_paths(l, a, w);
	for (size_t i = 0; i < l->all.count; i++)
		if (is_same_rule(a, asked_at(l, i)))
			asked_at(l, i)->is_written = true;
}

static void
begin_writing(struct learn *l)
{
	for (size_t i = 0; i < l->all.count; i++) {
		asked_at(l, i)->is_covered = false;
		asked_at(l, i)->is_written = false;
	}
	note_methods(l);
}

int
learn_write(struct learn *l, struct wr *w)
{
	size_t rules = 0;
	int rc;

	begin_writing(l);
	wr_text(w, "[policy]\nversion = 1\n");
	rc = write_presets(l, w);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < l->all.count; i++) {
		struct asked *a = asked_at(l, i);
		char name[RULE_NAME_SIZE];

		if (a->is_covered || a->is_written)
			continue;
		(void)snprintf(name, sizeof(name), "learned-%zu", ++rules);
		wr_text(w, "\n");
		write_rule(l, a, name, w);
	}
	return wr_ok(w) ? 0 : -EMSGSIZE;
}

int
learn_write_rules(struct learn *l, const char *name, size_t *number,
    struct wr *w)
{
	const size_t before = w->len;

	begin_writing(l);
	for (size_t i = 0; i < l->all.count; i++) {
		struct asked *a = asked_at(l, i);
		char numbered[RULE_NAME_SIZE];

		if (a->is_written)
			continue;
		(void)snprintf(numbered, sizeof(numbered), "%.40s-%zu", name,
		    ++*number);
		if (w->len > before)
			wr_text(w, "\n");
		write_rule(l, a, numbered, w);
	}
	return wr_ok(w) ? 0 : -EMSGSIZE;
}
