/*
 * Is an atom of one policy within the other? By the same reading of rules as
 * conf/decide.c: what is asked here of patterns is asked there of requests.
 */
#include <string.h>

#include "conf/change_private.h"
#include "conf/glob.h"

/* A rule's patterns of one key, and how they match. */
struct patterns {
	const struct model *m;
	const struct vec *v;
	const struct image_run *run;
	uint8_t sep;
	enum cover_case c;
};

/* The patterns hold the one; NULL is held by a rule without any. */
static bool
run_holds(const struct patterns *p, const char *one, size_t *steps)
{
	for (uint32_t i = 0; i < p->run->count && one != NULL; i++) {
		const uint32_t *off = vec_at(p->v, p->run->at + i);

		++*steps;
		if (cover_glob(span_of(model_string(p->m, *off)), span_of(one),
			p->sep, p->c))
			return true;
	}
	return p->run->count == 0;
}

static bool
has_port(const struct model *m, const struct model_rule *r, uint16_t port)
{
	for (uint32_t i = 0; i < r->ports.count; i++) {
		const uint16_t *at = vec_at(&m->ports, r->ports.at + i);

		if (*at == port)
			return true;
	}
	return r->ports.count == 0;
}

/* One pattern of the rule holds every name that the atom's host stands for. */
static bool
holds_host(const struct side *s, size_t rule, const struct atom *a,
    size_t *steps)
{
	for (size_t i = s->first[rule]; i < s->first[rule + 1]; i++) {
		const struct model_host *h = vec_at(&s->m.hosts, i);

		++*steps;
		if (cover_host((struct cover_host){ &s->m, h },
			(struct cover_host){ a->m, a->host }))
			return true;
	}
	return false;
}

/* Some name is common to both: one of two such patterns holds the other. */
static bool
meets_host(const struct side *s, size_t rule, const struct atom *a,
    size_t *steps)
{
	for (size_t i = s->first[rule]; i < s->first[rule + 1]; i++) {
		struct cover_host x = { &s->m, vec_at(&s->m.hosts, i) };
		struct cover_host y = { a->m, a->host };

		++*steps;
		if (cover_host(x, y) || cover_host(y, x))
			return true;
	}
	return false;
}

static bool
holds_request(const struct model *m, const struct model_rule *r,
    const struct atom *a, enum cover_case c, size_t *steps)
{
	struct patterns methods = { m, &m->methods, &r->methods, '/', c };
	struct patterns paths = { m, &m->paths, &r->paths, '/', c };
	struct patterns queries = { m, &m->queries, &r->queries, '&', c };

	return run_holds(&methods, a->method, steps) &&
	    run_holds(&paths, a->path, steps) &&
	    run_holds(&queries, a->query, steps);
}

/* A deny rule that opts in for %2F holds back less of what has one. */
static bool
holds_slashes(const struct model_rule *r, const struct atom *a)
{
	return a->rule->action != ACTION_DENY || r->paths.count == 0 ||
	    (r->widen & WIDEN_ENCODED_SLASH & ~a->rule->widen) == 0;
}

bool
change_is_denied(const struct side *s, const struct atom *a, size_t *steps)
{
	for (size_t i = 0; i < s->m.rules.count; i++) {
		const struct model_rule *r = model_rule_at(&s->m, i);
		uint32_t parts =
		    r->methods.count + r->paths.count + r->queries.count;

		if (r->action != ACTION_DENY ||
		    (a->port == 0 && r->ports.count > 0) ||
		    !has_port(&s->m, r, a->port) ||
		    /* a repository is not a path, but is denied with its host
		     */
		    (a->rule->is_git && parts > 0) || !holds_slashes(r, a) ||
		    !holds_request(&s->m, r, a, COVER_ANY_CASE, steps))
			continue;
		if (holds_host(s, i, a, steps))
			return true;
	}
	return false;
}

bool
change_is_asked(const struct side *s, const struct atom *a, size_t *steps)
{
	for (size_t i = 0; i < s->m.rules.count; i++) {
		const struct model_rule *r = model_rule_at(&s->m, i);

		if (r->action == ACTION_ASK && r->is_git == a->rule->is_git &&
		    r->scheme == a->rule->scheme &&
		    has_port(&s->m, r, a->port) &&
		    (a->rule->widen & ~r->widen) == 0 &&
		    holds_request(&s->m, r, a, COVER_EXACT, steps) &&
		    holds_host(s, i, a, steps))
			return true;
	}
	return false;
}

static size_t
rule_number(const struct model *m, const struct model_rule *r)
{
	return (size_t)(r - model_rule_at(m, 0));
}

/* Each redirect of the atom's rule is one of the rule's, and no longer. */
static bool
gives_redirects(const struct model *m, const struct model_rule *r,
    const struct atom *a)
{
	size_t want = rule_number(a->m, a->rule), have = rule_number(m, r);

	for (size_t i = 0; i < a->m->redirects.count; i++) {
		const struct image_redirect *x = vec_at(&a->m->redirects, i);
		const struct model_host xh = { x->name, x->rule, x->kind };
		bool is_given = x->rule != want;

		for (size_t k = 0; k < m->redirects.count && !is_given; k++) {
			const struct image_redirect *y =
			    vec_at(&m->redirects, k);
			const struct model_host yh = { y->name, y->rule,
				y->kind };

			is_given = y->rule == have &&
			    x->seconds <= y->seconds &&
			    cover_host((struct cover_host){ m, &yh },
				(struct cover_host){ a->m, &xh });
		}
		if (!is_given)
			return false;
	}
	return true;
}

/* Each right of the atom's rule that goes beyond a request is given, too. */
static bool
gives_rights(const struct model *m, const struct model_rule *r,
    const struct atom *a)
{
	const struct model_rule *want = a->rule;
	const char *credential = model_string(a->m, want->credential);
	uint32_t widen = r->widen;

	/* without a path nothing is asked of it */
	if (r->paths.count == 0)
		widen |= WIDEN_ENCODED_SLASH;
	if (a->path == NULL)
		widen |= WIDEN_ENCODED_SLASH;
	if (!gives_redirects(m, r, a))
		return false;
	return r->action >= want->action && r->scheme == want->scheme &&
	    (r->tls == want->tls || r->tls == TLS_MODE_PASSTHROUGH) &&
	    (want->widen & ~widen) == 0 &&
	    (credential[0] == '\0' ||
		strcmp(credential, model_string(m, r->credential)) == 0);
}

static bool
gives_push(const struct model *m, const struct model_rule *r,
    const struct atom *a, size_t *steps)
{
	const struct image_git *x = &r->git, *y = &a->rule->git;
	struct patterns refs = { m, &m->refs, &x->refs, '/', COVER_EXACT };
	uint32_t flags = y->flags & ~(uint32_t)IMAGE_GIT_PUSH;

	if (a->ref == NULL)
		return (y->flags & IMAGE_GIT_LFS & ~x->flags) == 0;
	return x->refs.count > 0 && run_holds(&refs, a->ref, steps) &&
	    (flags & ~x->flags) == 0 &&
	    (x->max_push == 0 ||
		(y->max_push != 0 && y->max_push <= x->max_push));
}

bool
change_is_given(const struct side *s, const struct atom *a, size_t *steps)
{
	for (size_t i = 0; i < s->m.rules.count; i++) {
		const struct model_rule *r = model_rule_at(&s->m, i);

		if (r->action == ACTION_DENY || r->is_git != a->rule->is_git ||
		    !has_port(&s->m, r, a->port) ||
		    !gives_rights(&s->m, r, a) ||
		    !holds_request(&s->m, r, a, COVER_EXACT, steps) ||
		    (r->is_git && !gives_push(&s->m, r, a, steps)))
			continue;
		if (holds_host(s, i, a, steps))
			return true;
	}
	return false;
}

/* Neither names a method of the other: they have no request in common. */
static bool
shares_method(const struct model *m, const struct model_rule *r,
    const char *method)
{
	for (uint32_t i = 0; i < r->methods.count && method != NULL; i++) {
		const uint32_t *off = vec_at(&m->methods, r->methods.at + i);

		if (span_is_case(span_of(model_string(m, *off)), method))
			return true;
	}
	return r->methods.count == 0 || method == NULL;
}

bool
change_is_kept(const struct side *s, const struct atom *a, size_t *steps)
{
	for (size_t i = 0; i < s->m.rules.count; i++) {
		const struct model_rule *r = model_rule_at(&s->m, i);

		if (r->is_git && has_port(&s->m, r, a->port) &&
		    holds_host(s, i, a, steps))
			return true;
	}
	return false;
}

bool
change_has_gift(const struct side *s, const struct atom *a,
    enum change_gift gift, size_t *steps)
{
	for (size_t i = 0; i < s->m.rules.count; i++) {
		const struct model_rule *r = model_rule_at(&s->m, i);

		if (r->action > ACTION_DENY &&
		    (gift != GIFT_WIDER || r->action > a->rule->action) &&
		    (gift != GIFT_PLAIN || !r->is_git) &&
		    (a->port == 0 || has_port(&s->m, r, a->port)) &&
		    shares_method(&s->m, r, a->method) &&
		    meets_host(s, i, a, steps))
			return true;
	}
	return false;
}
