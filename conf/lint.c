/*
 * Rules against each other. The number of comparisons is bounded: a policy of
 * 256 KiB can name thousands of rules, and a question that is not asked there
 * is no loss to anybody.
 */
#include "conf/lint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/cover.h"

#define STEPS_MAX 4000000u

const char *
lint_section(const struct model_rule *r)
{
	return r->is_git ? "git" : action_name(r->action);
}

struct place
lint_at(const struct model *m, const struct model_rule *r)
{
	const uint32_t *off = vec_at(&m->files, r->file);

	return (struct place){ model_string(m, *off), r->line };
}

const char *
lint_host_text(const struct model *m, const struct model_host *h,
    char buf[IMAGE_STRING_SIZE + 4])
{
	static const char *const stars[PATTERN_KINDS] = { "", "*.", "**." };

	(void)snprintf(buf, IMAGE_STRING_SIZE + 4, "%s%s", stars[h->kind],
	    model_string(m, h->name));
	return buf;
}

bool
lint_run_has(const struct model *m, const struct vec *v,
    const struct image_run *run, const char *word)
{
	for (uint32_t i = 0; i < run->count; i++) {
		const uint32_t *off = vec_at(v, run->at + i);

		if (strcmp(model_string(m, *off), word) == 0)
			return true;
	}
	return run->count == 0;
}

bool
lint_writes(const struct model *m, const struct model_rule *r)
{
	static const char *const reading[] = { "GET", "HEAD", "OPTIONS" };

	for (uint32_t i = 0; i < r->methods.count; i++) {
		const uint32_t *off = vec_at(&m->methods, r->methods.at + i);
		bool is_reading = false;

		for (size_t k = 0; k < sizeof(reading) / sizeof(reading[0]);
		     k++)
			is_reading = is_reading ||
			    strcmp(model_string(m, *off), reading[k]) == 0;
		if (!is_reading)
			return true;
	}
	return r->methods.count == 0;
}

/* --- rules that never decide --------------------------------------------- */

struct lint {
	const struct model *m;
	struct compile_result *ret;
	size_t *first; /* of each rule, its first host in model.hosts */
	size_t steps;
};

/*
 * Rule a matches what rule b matches, on the hosts of both. The paths of a
 * [git] rule are repositories: a rule that asks for no part of a request holds
 * it, and no other is held against it.
 */
static bool
holds(const struct lint *l, const struct model_rule *a,
    const struct model_rule *b)
{
	if ((a->is_git || b->is_git) &&
	    a->methods.count + a->paths.count + a->queries.count > 0)
		return false;
	return cover_request((struct cover_rule){ l->m, a },
	    (struct cover_rule){ l->m, b });
}

/* The first pattern of rule `by` that covers the host; NULL without one. */
static const struct model_host *
covering(struct lint *l, size_t by, const struct model_host *host)
{
	for (size_t i = l->first[by]; i < l->first[by + 1]; i++) {
		const struct model_host *h = vec_at(&l->m->hosts, i);

		if (l->steps++ > STEPS_MAX)
			return NULL;
		if (cover_host((struct cover_host){ l->m, h },
			(struct cover_host){ l->m, host }))
			return h;
	}
	return NULL;
}

/* How many of the rule's hosts rule `by` names; *ret_some is one of them. */
static size_t
count_covered(struct lint *l, size_t rule, size_t by,
    const struct model_host **ret_some)
{
	size_t n = 0;

	for (size_t i = l->first[rule]; i < l->first[rule + 1]; i++) {
		const struct model_host *h = vec_at(&l->m->hosts, i);

		if (covering(l, by, h) == NULL)
			continue;
		*ret_some = h;
		n++;
	}
	return n;
}

static void
tell_shadow(struct lint *l, const struct model_rule *r,
    const struct model_rule *deny, const struct model_host *host)
{
	char text[IMAGE_STRING_SIZE + 4];
	struct place at = lint_at(l->m, deny);

	finding_review(l->ret, lint_at(l->m, r), "shadowed",
	    "[%s %s] names %s in vain: [deny %s] (%s:%u) stands against it; "
	    "remove one of the two",
	    lint_section(r), model_string(l->m, r->name),
	    lint_host_text(l->m, host, text), model_string(l->m, deny->name),
	    at.file, at.line);
}

static void
check_shadow(struct lint *l, size_t i, size_t by)
{
	const struct model_rule *r = model_rule_at(l->m, i);
	const struct model_rule *deny = model_rule_at(l->m, by);
	const struct model_host *some = NULL;
	struct place at = lint_at(l->m, deny);
	size_t n;

	if (!holds(l, deny, r))
		return;
	n = count_covered(l, i, by, &some);
	if (n > 0 && n < r->hosts)
		tell_shadow(l, r, deny, some);
	else if (n > 0)
		finding_review(l->ret, lint_at(l->m, r), "shadowed",
		    "[%s %s] never lets anything through: [deny %s] (%s:%u) "
		    "stands against all of it; remove one of the two",
		    lint_section(r), model_string(l->m, r->name),
		    model_string(l->m, deny->name), at.file, at.line);
}

/* Does rule `by` give all that rule r gives, beside hosts and requests? */
static bool
gives_all(const struct model *m, const struct model_rule *by,
    const struct model_rule *r)
{
	uint32_t widen = by->widen;

	/* without a path nothing is asked of it */
	if (by->paths.count == 0)
		widen |= WIDEN_ENCODED_SLASH;
	/* what it counts, and when it ends, holds whatever else matches */
	if (r->budget != 0 || (r->widen & WIDEN_REDIRECT) != 0)
		return false;
	return !by->is_git && !r->is_git && by->action == r->action &&
	    by->scheme == r->scheme && by->tls == r->tls &&
	    (r->widen & ~widen) == 0 &&
	    strcmp(model_string(m, by->credential),
		model_string(m, r->credential)) == 0;
}

static void
check_unused(struct lint *l, size_t i, size_t by)
{
	const struct model_rule *r = model_rule_at(l->m, i);
	const struct model_rule *other = model_rule_at(l->m, by);
	const struct model_host *some = NULL;
	struct place at = lint_at(l->m, other);

	if (!gives_all(l->m, other, r) || !holds(l, other, r) ||
	    count_covered(l, i, by, &some) != r->hosts)
		return;
	/* of two that say the same the later goes */
	if (by > i && lint_is_own(other) && gives_all(l->m, r, other) &&
	    holds(l, r, other) &&
	    count_covered(l, by, i, &some) == other->hosts)
		return;
	finding_review(l->ret, lint_at(l->m, r), "unused",
	    "[%s %s] adds nothing to [%s %s] (%s:%u): remove it",
	    lint_section(r), model_string(l->m, r->name), lint_section(other),
	    model_string(l->m, other->name), at.file, at.line);
}

/* A rule in which nothing is seen, and one that sends a credential there. */
static void
check_unstripped(struct lint *l, size_t i, size_t by)
{
	const struct model_rule *r = model_rule_at(l->m, i);
	const struct model_rule *other = model_rule_at(l->m, by);
	const struct model_host *some = NULL;
	struct place at = lint_at(l->m, other);

	if ((r->tls != TLS_MODE_PASSTHROUGH && r->scheme != SCHEME_TCP) ||
	    other->credential == 0 || count_covered(l, by, i, &some) == 0)
		return;
	finding_review(l->ret, lint_at(l->m, r), "unstripped",
	    "%s is where [%s %s] (%s:%u) sends a credential, and on these "
	    "ports nothing is seen: a guest's own key is not taken out there",
	    model_string(l->m, some->name), lint_section(other),
	    model_string(l->m, other->name), at.file, at.line);
}

/* --- what one rule says twice -------------------------------------------- */

static void
check_needless_hosts(struct lint *l, size_t rule)
{
	const struct model_rule *r = model_rule_at(l->m, rule);
	char x[IMAGE_STRING_SIZE + 4], y[IMAGE_STRING_SIZE + 4];

	for (size_t i = l->first[rule]; i < l->first[rule + 1]; i++) {
		const struct model_host *h = vec_at(&l->m->hosts, i);
		const struct model_host *by = covering(l, rule, h);

		if (by == NULL || by == h)
			continue;
		finding_review(l->ret, lint_at(l->m, r), "needless",
		    "host %s is named by %s already: remove it",
		    lint_host_text(l->m, h, x), lint_host_text(l->m, by, y));
		return;
	}
}

static void
check_needless_run(struct lint *l, const struct model_rule *r,
    const struct vec *v, const struct image_run *run, const char *key,
    uint8_t sep)
{
	for (uint32_t i = 0; i < run->count; i++) {
		const char *x =
		    model_string(l->m, *(uint32_t *)vec_at(v, run->at + i));

		for (uint32_t k = 0; k < run->count; k++) {
			const char *y = model_string(l->m,
			    *(uint32_t *)vec_at(v, run->at + k));

			l->steps++;
			if (k == i || (strcmp(x, y) == 0 && k > i) ||
			    !cover_glob(span_of(y), span_of(x), sep,
				COVER_EXACT))
				continue;
			finding_review(l->ret, lint_at(l->m, r), "needless",
			    "%s %.80s is within %.80s already: remove it", key,
			    x, y);
			return;
		}
	}
}

static void
check_needless(struct lint *l, size_t rule)
{
	const struct model *m = l->m;
	const struct model_rule *r = model_rule_at(m, rule);

	check_needless_hosts(l, rule);
	check_needless_run(l, r, &m->methods, &r->methods, "method", '/');
	check_needless_run(l, r, &m->paths, &r->paths, "path", '/');
	check_needless_run(l, r, &m->queries, &r->queries, "query", '&');
}

/* One finding for each rule and question: the first that fits. */
static void
check_rule(struct lint *l, size_t i)
{
	const struct model_rule *r = model_rule_at(l->m, i);
	size_t before = l->ret->finding_count;

	for (size_t by = 0; by < l->m->rules.count && r->action != ACTION_DENY;
	     by++) {
		const struct model_rule *other = model_rule_at(l->m, by);

		if (by == i)
			continue;
		if (other->action == ACTION_DENY)
			check_shadow(l, i, by);
		else
			check_unstripped(l, i, by);
		if (l->ret->finding_count != before || l->steps > STEPS_MAX)
			break;
	}
	for (size_t by = 0; by < l->m->rules.count &&
	     l->ret->finding_count == before && l->steps <= STEPS_MAX;
	     by++) {
		if (by != i)
			check_unused(l, i, by);
	}
	check_needless(l, i);
}

/* The hosts of a rule stand together, in the order of the rules. */
static void
find_first_hosts(struct lint *l)
{
	size_t rule = 0;

	for (size_t i = 0; i < l->m->hosts.count; i++) {
		const struct model_host *h = vec_at(&l->m->hosts, i);

		while (rule <= h->rule)
			l->first[rule++] = i;
	}
	while (rule <= l->m->rules.count)
		l->first[rule++] = l->m->hosts.count;
}

int
lint_rules(const struct model *m, struct compile_result *ret)
{
	struct lint l = { .m = m, .ret = ret };

	l.first = calloc(m->rules.count + 1, sizeof(*l.first));
	if (l.first == NULL)
		return -ENOMEM;
	find_first_hosts(&l);
	for (size_t i = 0; i < m->rules.count && l.steps <= STEPS_MAX; i++) {
		if (lint_is_own(model_rule_at(m, i)))
			check_rule(&l, i);
	}
	free(l.first);
	return 0;
}

int
lint_review(const struct model *m, const struct policy *image,
    struct compile_result *ret)
{
	int rc = lint_rules(m, ret);

	lint_hosts(m, ret);
	lint_probes(m, image, ret);
	return rc == 0 ? lint_presets(m, ret) : rc;
}
