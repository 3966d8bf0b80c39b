/*
 * Policies from what was asked for, see learn.h: what is kept of it, and in
 * which order it is written.
 */
#include "conf/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/learn_private.h"
#include "wire/git.h"
#include "wire/host.h"
#include "wire/path.h"

struct learn *
learn_new(void)
{
	struct learn *l = calloc(1, sizeof(*l));

	if (l != NULL)
		l->all = VEC_OF(struct learn_asked);
	return l;
}

struct learn_asked *
learn_at(const struct learn *l, size_t i)
{
	return vec_at(&l->all, i);
}

void
learn_free(struct learn *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->all.count; i++)
		free(learn_at(l, i)->target);
	vec_done(&l->all);
	free(l);
}

/* The number of a method; LEARN_METHODS_MAX when there are too many. */
static uint32_t
method_number(struct learn *l, const char *method)
{
	uint32_t i = 0;

	while (i < l->method_count && strcmp(l->methods[i], method) != 0)
		i++;
	if (i == l->method_count && i < LEARN_METHODS_MAX) {
		(void)snprintf(l->methods[i], sizeof(l->methods[i]), "%s",
		    method);
		l->method_count++;
	}
	return i;
}

static struct learn_asked *
find_asked(const struct learn *l, const struct learn_asked *a,
    const char *target)
{
	for (size_t i = 0; i < l->all.count; i++) {
		struct learn_asked *b = learn_at(l, i);

		if (learn_is_same_place(a, b) && b->scheme == a->scheme &&
		    b->method == a->method &&
		    strcmp(b->credential, a->credential) == 0 &&
		    strcmp(b->target, target) == 0)
			return b;
	}
	return NULL;
}

static bool
is_tunnel(enum audit_scheme s)
{
	return s == AUDIT_SCHEME_TCP || s == AUDIT_SCHEME_PASSTHROUGH;
}

static enum audit_scheme
scheme_of(const struct learn_request *r)
{
	if (r->scheme != AUDIT_SCHEME_NONE)
		return r->scheme;
	return r->port == PORT_HTTP ? AUDIT_SCHEME_HTTP : AUDIT_SCHEME_HTTPS;
}

static bool
is_sound(const struct learn_request *r)
{
	char name[HOST_SIZE];

	if (host_parse(span_of(r->host), name) != HOST_NAME ||
	    strcmp(name, r->host) != 0 || r->port == 0 ||
	    (r->credential[0] != '\0' &&
		!words_is_name(span_of(r->credential))))
		return false;
	if (is_tunnel(r->scheme))
		return r->method[0] == '\0' && r->target[0] == '\0';
	return words_is_method(span_of(r->method)) && r->target[0] == '/';
}

int
learn_add(struct learn *l, const struct learn_request *r)
{
	struct learn_asked a = { .port = r->port,
		.scheme = scheme_of(r),
		.count = r->count };
	struct learn_asked *known;

	if (!is_sound(r))
		return 0;
	a.method = method_number(l, r->method);
	(void)snprintf(a.host, sizeof(a.host), "%s", r->host);
	(void)snprintf(a.credential, sizeof(a.credential), "%s", r->credential);
	known = find_asked(l, &a, r->target);
	if (known != NULL) {
		known->count += r->count;
		return 0;
	}
	if (a.method == LEARN_METHODS_MAX || l->all.count >= LEARN_REQUESTS_MAX)
		return -E2BIG;
	a.target = strdup(r->target);
	if (a.target == NULL || vec_push(&l->all, &a) != 0) {
		free(a.target);
		return -ENOMEM;
	}
	return 0;
}

/* --- what belongs together --- */

bool
learn_is_same_place(const struct learn_asked *a, const struct learn_asked *b)
{
	return a->port == b->port && strcmp(a->host, b->host) == 0;
}

bool
learn_is_websocket(const struct learn_asked *a)
{
	return a->scheme == AUDIT_SCHEME_WSS || a->scheme == AUDIT_SCHEME_WS;
}

bool
learn_is_same_rule(const struct learn_asked *a, const struct learn_asked *b)
{
	return !b->is_covered && !b->is_other && learn_is_same_place(a, b) &&
	    a->kind == b->kind &&
	    learn_is_websocket(a) == learn_is_websocket(b) &&
	    strcmp(a->credential, b->credential) == 0 &&
	    (a->kind != LEARN_PLAIN || a->methods == b->methods);
}

static struct span
path_of(const struct learn_asked *a)
{
	return (
	    struct span){ (const uint8_t *)a->target, strcspn(a->target, "?") };
}

static struct span
query_of(const struct learn_asked *a)
{
	size_t len = path_of(a).len;

	return span_of(a->target + len + (a->target[len] == '?' ? 1 : 0));
}

struct span
learn_path(const struct learn_asked *a)
{
	struct span path = path_of(a), repo;

	if (a->kind != LEARN_FETCH)
		return path;
	(void)git_service_of(path, &repo);
	return repo;
}

/* Which methods each path is asked by, as bits. */
static void
note_methods(struct learn *l)
{
	for (size_t i = 0; i < l->all.count; i++) {
		struct learn_asked *a = learn_at(l, i);

		a->methods = 0;
		for (size_t k = 0; k < l->all.count; k++) {
			const struct learn_asked *b = learn_at(l, k);

			if (!b->is_covered && learn_is_same_place(a, b) &&
			    a->kind == b->kind &&
			    learn_is_websocket(a) == learn_is_websocket(b) &&
			    span_eq(path_of(a), path_of(b)))
				a->methods |= UINT32_C(1) << b->method;
		}
	}
}

/* What of one port a policy can say only in one way; the less is kept last. */
static unsigned int
speech_of(const struct learn_asked *a)
{
	static const unsigned int speeches[AUDIT_SCHEME_COUNT] = {
		[AUDIT_SCHEME_HTTP] = 1,
		[AUDIT_SCHEME_WS] = 1,
		[AUDIT_SCHEME_TCP] = 2,
		[AUDIT_SCHEME_PASSTHROUGH] = 3,
	};

	return speeches[a->scheme];
}

static void
note_others(struct learn *l)
{
	for (size_t i = 0; i < l->all.count; i++) {
		struct learn_asked *a = learn_at(l, i);

		a->is_other = false;
		for (size_t k = 0; k < l->all.count; k++)
			a->is_other = a->is_other ||
			    (learn_is_same_place(a, learn_at(l, k)) &&
				speech_of(learn_at(l, k)) < speech_of(a));
	}
}

/* --- git --- */

static bool
is_fetch(const struct learn *l, const struct learn_asked *a)
{
	static const char service[] = "service=git-upload-pack";
	const char *method = l->methods[a->method];
	struct span repo, path = path_of(a);
	struct path_reading reading = path_read(path);

	if (a->scheme != AUDIT_SCHEME_HTTPS || a->port == PORT_HTTP ||
	    reading.is_ambiguous || reading.has_encoded_slash)
		return false;
	switch (git_service_of(path, &repo)) {
	case GIT_SERVICE_REFS:
		return strcmp(method, "GET") == 0 &&
		    span_is(query_of(a), service) && learn_is_writable(repo);
	case GIT_SERVICE_FETCH:
		return strcmp(method, "POST") == 0 &&
		    a->target[path.len] == '\0' && learn_is_writable(repo);
	case GIT_SERVICE_NONE:
	case GIT_SERVICE_PUSH:
	case GIT_SERVICE_LFS:
	case GIT_SERVICE_LOCKS:
	case GIT_SERVICE_OTHERS:
	case GIT_SERVICE_UNLOCK:
	case GIT_SERVICE_VERIFY:
	case GIT_SERVICE_OBJECT:
	case GIT_SERVICES:
		return false;
	}
	return false;
}

/*
 * Once there is a [git] rule for a place, [git] rules alone let pushes through
 * there, and to which references is not known here.
 */
static bool
is_pushed_to(const struct learn *l, const struct learn_asked *a)
{
	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *b = learn_at(l, i);

		if (learn_is_same_place(a, b) &&
		    git_may_be_push(path_of(b), query_of(b)))
			return true;
	}
	return false;
}

static void
note_kinds(struct learn *l, bool with_git)
{
	for (size_t i = 0; i < l->all.count; i++) {
		struct learn_asked *a = learn_at(l, i);

		a->kind = LEARN_PLAIN;
		if (is_tunnel(a->scheme))
			a->kind = LEARN_TUNNEL;
		else if (with_git && is_fetch(l, a) && !is_pushed_to(l, a))
			a->kind = LEARN_FETCH;
	}
}

/* --- the text --- */

static void
begin_writing(struct learn *l, bool with_git)
{
	for (size_t i = 0; i < l->all.count; i++) {
		learn_at(l, i)->is_covered = false;
		learn_at(l, i)->is_written = false;
	}
	note_kinds(l, with_git);
	note_others(l);
	note_methods(l);
}

static bool
is_left(const struct learn_asked *a)
{
	return !a->is_covered && !a->is_written && !a->is_other;
}

static void
write_others(const struct learn *l, struct wr *w)
{
	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *a = learn_at(l, i);

		if (a->is_other)
			wr_fmt(w,
			    "\n; not in here: %s:%u by %s, since something "
			    "else was spoken there, too ; %llu\n",
			    a->host, a->port, audit_scheme_name(a->scheme),
			    (unsigned long long)a->count);
	}
}

int
learn_write(struct learn *l, struct wr *w)
{
	size_t rules = 0;
	int rc;

	begin_writing(l, true);
	wr_text(w, "[policy]\nversion = 1\n");
	rc = learn_write_presets(l, w);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *a = learn_at(l, i);
		char name[RULE_NAME_SIZE];

		if (!is_left(a))
			continue;
		(void)snprintf(name, sizeof(name), "learned-%zu", ++rules);
		wr_text(w, "\n");
		learn_write_rule(l, a, name, w);
	}
	write_others(l, w);
	return wr_ok(w) ? 0 : -EMSGSIZE;
}

int
learn_write_rules(struct learn *l, const char *name, size_t *number,
    struct wr *w)
{
	const size_t before = w->len;

	begin_writing(l, false);
	for (size_t i = 0; i < l->all.count; i++) {
		const struct learn_asked *a = learn_at(l, i);
		char numbered[RULE_NAME_SIZE];

		if (!is_left(a))
			continue;
		(void)snprintf(numbered, sizeof(numbered), "%.40s-%zu", name,
		    ++*number);
		if (w->len > before)
			wr_text(w, "\n");
		learn_write_rule(l, a, numbered, w);
	}
	return wr_ok(w) ? 0 : -EMSGSIZE;
}
