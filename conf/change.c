/*
 * Each atom of one policy is looked for in the other, both ways: what is new
 * is opened, what is gone is closed. Deny rules are read apart: what an old
 * one held back and no new one does is open, if a rule gives it.
 */
#include "conf/change.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/change_private.h"
#include "conf/parse.h"

#define METHODS_SIZE 160
#define LINE_SIZE 1024

struct change {
	const struct side *from; /* what is asked of */
	const struct side *in;   /* ... whether it is in this one */
	bool is_opening;
	size_t steps;
	struct wr *w;
	struct json *json;
	struct change_report *ret;
};

/* --- both sides ---------------------------------------------------------- */

static int
side_init(struct side *s, const struct compile_input *in)
{
	struct compile_result *said = calloc(1, sizeof(*said));
	size_t rule = 0;
	int rc;

	*s = (struct side){ .first = NULL };
	rc = said == NULL ? -ENOMEM : model_init(&s->m);
	if (rc == 0)
		rc = parse_policy(in, &s->m, said);
	free(said);
	s->first = calloc(s->m.rules.count + 1, sizeof(*s->first));
	if (rc == 0 && s->first == NULL)
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < s->m.hosts.count; i++) {
		const struct model_host *h = vec_at(&s->m.hosts, i);

		while (rule <= h->rule)
			s->first[rule++] = i;
	}
	while (rc == 0 && rule <= s->m.rules.count)
		s->first[rule++] = s->m.hosts.count;
	return rc;
}

static void
side_done(struct side *s)
{
	model_done(&s->m);
	free(s->first);
}

/* --- words --------------------------------------------------------------- */

static const char *const stars[PATTERN_KINDS] = { "", "*.", "**." };

/* "*.example.org:8443" */
static void
write_host(struct wr *w, const struct atom *a)
{
	uint16_t usual = a->rule->scheme == SCHEME_HTTP ? 80 : 443;

	wr_fmt(w, "%s%s", stars[a->host->kind],
	    model_string(a->m, a->host->name));
	if (a->port != 0 && (a->port != usual || a->rule->scheme == SCHEME_TCP))
		wr_fmt(w, ":%u", a->port);
}

static void
write_request(struct wr *w, const struct atom *a, const char *methods)
{
	const struct model_rule *r = a->rule;
	const char *scheme = r->scheme == SCHEME_HTTP ? "http://" : "https://";

	if (r->action == ACTION_DENY)
		scheme = "";
	wr_fmt(w, "%s of %s", methods[0] != '\0' ? methods : "every method",
	    scheme);
	write_host(w, a);
	wr_text(w, a->path != NULL ? a->path : ", every path");
	if (a->query != NULL)
		wr_fmt(w, "?%s", a->query);
	if ((r->widen & WIDEN_ENCODED_SLASH) != 0)
		wr_text(w, ", %2F as a slash");
	if ((r->widen & WIDEN_WEBSOCKET) != 0)
		wr_text(w, ", WebSockets too");
	if ((r->widen & WIDEN_REDIRECT) != 0)
		wr_text(w, ", redirects too");
}

/* ", with LFS", and from where beside its own host. */
static void
write_lfs(struct wr *w, const struct atom *a)
{
	const char *before = ", with LFS, at ";

	if ((a->rule->git.flags & IMAGE_GIT_LFS) == 0)
		return;
	for (size_t i = 0; i < a->m->redirects.count; i++) {
		const struct image_redirect *r = vec_at(&a->m->redirects, i);

		if (model_rule_at(a->m, r->rule) != a->rule)
			continue;
		wr_fmt(w, "%s%s%s", before, stars[r->kind],
		    model_string(a->m, r->name));
		before = " and ";
	}
	if (before[0] == ',')
		wr_text(w, ", with LFS");
}

static void
write_git(struct wr *w, const struct atom *a)
{
	const struct image_git *g = &a->rule->git;

	if (a->ref == NULL)
		wr_text(w, "fetches of ");
	else
		wr_fmt(w, "pushes to %s of ", a->ref);
	write_host(w, a);
	wr_text(w, a->path != NULL ? a->path : "/**");
	write_lfs(w, a);
	if (a->ref == NULL)
		return;
	wr_text(w, (g->flags & IMAGE_GIT_DELETE) != 0 ? ", deleting too" : "");
	wr_text(w, (g->flags & IMAGE_GIT_FORCE) != 0 ? ", by force too" : "");
	if (g->max_push != 0)
		wr_fmt(w, ", %llu bytes at most",
		    (unsigned long long)g->max_push);
}

static void
write_words(struct wr *w, const struct atom *a, const char *methods)
{
	const struct model_rule *r = a->rule;

	if (r->is_git) {
		write_git(w, a);
	} else if (r->scheme == SCHEME_TCP && r->action != ACTION_DENY) {
		wr_text(w, "tcp to ");
		write_host(w, a);
		wr_text(w, ", never looked into");
	} else if (r->tls == TLS_MODE_PASSTHROUGH) {
		wr_text(w, "TLS to ");
		write_host(w, a);
		wr_text(w, ", never looked into");
	} else {
		write_request(w, a, methods);
	}
	if (r->credential != 0)
		wr_fmt(w, ", with credential %s",
		    model_string(a->m, r->credential));
}

/* Where a line is from: a rule, or, with an empty name, [policy]. */
struct source {
	const char *section;
	const char *rule;
	const char *file;
	uint32_t line;
};

static struct source
source_of(const struct model *m, const struct model_rule *r)
{
	const uint32_t *file = vec_at(&m->files, r->file);

	return (struct source){ r->is_git ? "git" : action_name(r->action),
		model_string(m, r->name), model_string(m, *file), r->line };
}

/* One line: what, why if there is more to say than that, and from where. */
static void
tell_words(struct change *c, const char *words, const char *why,
    const struct source *from)
{
	const char *kind = c->is_opening ? "opens" : "closes";

	*(c->is_opening ? &c->ret->opens : &c->ret->closes) += 1;
	if (c->w != NULL)
		wr_fmt(c->w, "%-6s %s%s  [%s%s%s] %s:%u\n", kind, words, why,
		    from->section, from->rule[0] != '\0' ? " " : "", from->rule,
		    from->file, from->line);
	if (c->json == NULL || !wr_ok(c->json->w))
		return;
	json_open_object(c->json, NULL);
	json_str(c->json, "kind", kind);
	json_str(c->json, "what", words);
	json_str(c->json, "why", why);
	json_str(c->json, "section", from->section);
	json_str(c->json, "rule", from->rule);
	json_str(c->json, "file", from->file);
	json_u64(c->json, "line", from->line);
	json_close_object(c->json);
}

static void
tell(struct change *c, const struct atom *a, const char *methods,
    const char *why)
{
	struct source from = source_of(a->m, a->rule);
	uint8_t text[LINE_SIZE];
	struct wr words = wr_init(text, sizeof(text) - 1);

	write_words(&words, a, methods);
	if (a->rule->action == ACTION_ASK && why[0] == '\0')
		wr_text(&words, ", if somebody answers");
	text[words.len] = '\0';
	tell_words(c, (const char *)text, why, &from);
}

/* --- each atom of a rule ------------------------------------------------- */

/* String i of a run; NULL of an empty one. */
static const char *
item(const struct model *m, const struct vec *v, const struct image_run *run,
    uint32_t i)
{
	const uint32_t *off;

	if (run->count == 0)
		return NULL;
	off = vec_at(v, run->at + i);
	return model_string(m, *off);
}

static uint32_t
at_least_one(uint32_t n)
{
	return n > 0 ? n : 1;
}

static bool
is_over(struct change *c)
{
	if (c->steps > CHANGE_STEPS_MAX)
		c->ret->is_cut = true;
	return c->ret->is_cut;
}

typedef bool atom_fn(struct change *c, const struct atom *a);

/* Is it new here, or gone there? */
static bool
is_changed(struct change *c, const struct atom *a)
{
	return !change_is_denied(c->from, a, &c->steps) &&
	    !change_is_given(c->in, a, &c->steps);
}

/* Held back here by a deny or ask rule, and not there. */
static bool
is_bared(struct change *c, const struct atom *a)
{
	if (change_is_denied(c->in, a, &c->steps) ||
	    (a->rule->action == ACTION_ASK &&
		change_is_asked(c->in, a, &c->steps)))
		return false;
	return change_has_gift(c->in, a, GIFT_WIDER, &c->steps);
}

/*
 * Where a [git] rule is, no other rule lets a push through (conf/decide.c):
 * one that is gone may leave pushes to an allow rule.
 */
static bool
is_unkept(struct change *c, const struct atom *a)
{
	struct atom push = *a;

	push.method = "POST";
	push.path = NULL;
	return !change_is_kept(c->in, &push, &c->steps) &&
	    change_has_gift(c->in, &push, GIFT_PLAIN, &c->steps);
}

/* One more of a list of methods, if there is room. */
static size_t
add_method(char list[METHODS_SIZE], size_t len, const char *method)
{
	static const char comma[] = ", ";
	size_t n = strlen(method), more = len > 0 ? sizeof(comma) - 1 : 0;

	if (len + more + n >= METHODS_SIZE)
		return len;
	memcpy(list + len, comma, more);
	memcpy(list + len + more, method, n + 1);
	return len + more + n;
}

/* Methods are told together, since they are read together. */
static void
each_method(struct change *c, struct atom *a, atom_fn *fn, const char *why)
{
	const struct model_rule *r = a->rule;
	char methods[METHODS_SIZE] = "";
	size_t len = 0;
	bool is_any = false;

	for (uint32_t i = 0; i < at_least_one(r->methods.count); i++) {
		a->method = item(a->m, &a->m->methods, &r->methods, i);
		if (!fn(c, a))
			continue;
		is_any = true;
		if (a->method != NULL)
			len = add_method(methods, len, a->method);
	}
	if (is_any)
		tell(c, a, methods, why);
}

static void
each_query(struct change *c, struct atom *a, atom_fn *fn, const char *why)
{
	const struct model_rule *r = a->rule;

	for (uint32_t i = 0; i < at_least_one(r->queries.count); i++) {
		a->query = item(a->m, &a->m->queries, &r->queries, i);
		each_method(c, a, fn, why);
	}
	if (!r->is_git)
		return;
	for (uint32_t i = 0; i < r->git.refs.count; i++) {
		a->ref = item(a->m, &a->m->refs, &r->git.refs, i);
		each_method(c, a, fn, why);
	}
	a->ref = NULL;
}

static void
each_port(struct change *c, struct atom *a, atom_fn *fn, const char *why)
{
	const struct model_rule *r = a->rule;

	for (uint32_t i = 0; i < at_least_one(r->ports.count); i++) {
		const uint16_t *port = r->ports.count == 0
		    ? NULL
		    : vec_at(&a->m->ports, r->ports.at + i);

		a->port = port == NULL ? 0 : *port;
		for (uint32_t k = 0; k < at_least_one(r->paths.count); k++) {
			a->path = item(a->m, &a->m->paths, &r->paths, k);
			each_query(c, a, fn, why);
			if (is_over(c))
				return;
		}
	}
}

static void
each_atom(struct change *c, size_t rule, atom_fn *fn, const char *why)
{
	struct atom a = { .m = &c->from->m,
		.rule = model_rule_at(&c->from->m, rule) };

	for (size_t i = c->from->first[rule]; i < c->from->first[rule + 1];
	     i++) {
		a.host = vec_at(&c->from->m.hosts, i);
		each_port(c, &a, fn, why);
		if (is_over(c))
			return;
	}
}

/* What `from` gives and `in` does not. */
static void
compare_given(struct change *c)
{
	for (size_t i = 0; i < c->from->m.rules.count && !is_over(c); i++) {
		if (model_rule_at(&c->from->m, i)->action != ACTION_DENY)
			each_atom(c, i, is_changed, "");
	}
}

/* What a rule of `from` held back and `in` gives. */
static void
compare_held(struct change *c)
{
	const char *denied = c->is_opening ? ", which was held back"
					   : ", which is held back now";
	const char *asked = c->is_opening
	    ? ", which somebody was asked about"
	    : ", which somebody is asked about now";
	const char *pushes = c->is_opening
	    ? ": another rule may take pushes now"
	    : ": no other rule takes pushes now";

	for (size_t i = 0; i < c->from->m.rules.count && !is_over(c); i++) {
		const struct model_rule *r = model_rule_at(&c->from->m, i);

		if (r->action != ACTION_ALLOW)
			each_atom(c, i, is_bared,
			    r->action == ACTION_ASK ? asked : denied);
		else if (r->is_git)
			each_atom(c, i, is_unkept, pushes);
	}
}

/* The other side gives some of what the rule matches. */
static bool
is_given_at_all(struct change *c, size_t rule)
{
	struct atom a = { .m = &c->from->m,
		.rule = model_rule_at(&c->from->m, rule) };

	for (size_t i = c->from->first[rule]; i < c->from->first[rule + 1];
	     i++) {
		a.host = vec_at(&c->from->m.hosts, i);
		if (change_has_gift(c->in, &a, GIFT_ANY, &c->steps))
			return true;
	}
	return false;
}

/* What `from` counts and `in` does not count, or by a larger limit. */
static void
compare_limits(struct change *c)
{
	const char *more = c->is_opening
	    ? "more in all of what a budget limits or ends"
	    : "some of what a budget now limits or ends";
	const struct model *m = &c->from->m;

	for (size_t i = 0; i < m->rules.count && !is_over(c); i++) {
		struct source from = source_of(m, model_rule_at(m, i));

		if (!change_is_limited(c->in, c->from, i, &c->steps) &&
		    is_given_at_all(c, i))
			tell_words(c, more, "", &from);
	}
	if (!change_is_whole_limited(c->in, c->from)) {
		const uint32_t *file = vec_at(&m->files, 0);
		struct source from = { "policy", "", model_string(m, *file),
			m->line };

		tell_words(c, more, "", &from);
	}
}

/* What one side gives beyond the other, and what that one held back. */
static void
compare_way(struct change *c, const struct side *less, const struct side *more)
{
	c->from = more;
	c->in = less;
	compare_given(c);
	c->from = less;
	c->in = more;
	compare_held(c);
	compare_limits(c);
}

static void
compare(struct change *c, const struct side *old, const struct side *new)
{
	c->is_opening = true;
	compare_way(c, old, new);
	c->is_opening = false;
	compare_way(c, new, old);
}

int
change_write(const struct compile_input *old, const struct compile_input *new,
    struct wr *w, struct json *json, struct change_report *ret)
{
	struct side was, is;
	struct change c = { .w = w, .json = json, .ret = ret };
	int rc = side_init(&was, old), rc_new = side_init(&is, new);

	*ret = (struct change_report){ .opens = 0 };
	if (rc == 0)
		rc = rc_new;
	if (rc == 0)
		compare(&c, &was, &is);
	side_done(&was);
	side_done(&is);
	return rc;
}
