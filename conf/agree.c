/*
 * Two host patterns stand for a common name only if one of them is found on
 * the way from the other up, as the gate looks for rules: exact, then *. of
 * the parent, then **. of each ancestor. So each pattern is compared with
 * those above it, which costs its labels, and not with all others.
 */
#include "conf/agree.h"

#include <errno.h>
#include <string.h>

#include "conf/finding.h"
#include "conf/glob.h"

/*
 * Comparisons (and cells of comparing patterns) before we give up: a policy
 * of 256 KiB can be written so that it would take hours.
 */
#define STEPS_MAX 100000000u
#define STEPS_MAX_CEILING 2000000000u

struct agree {
	const struct model *m;
	const struct policy *image;
	struct compile_result *ret;
	size_t steps;
	size_t steps_max;
	struct vec told; /* struct told */
	int rc;
};

/* Two rules that were found to disagree: said once, not for each host. */
struct told {
	uint32_t a;
	uint32_t b;
};

/* The rules of one pattern. */
struct list {
	struct image_run run;
	bool is_inline;
};

static bool
is_uninspected(const struct model_rule *r)
{
	return r->action != ACTION_DENY &&
	    (r->scheme == SCHEME_TCP || r->tls == TLS_MODE_PASSTHROUGH);
}

static bool
is_by_request(const struct model_rule *r)
{
	return r->methods.count + r->paths.count + r->queries.count > 0;
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

/*
 * A port of both, 0 without one. A rule without ports covers every port, but
 * only a deny rule is without, and two of those are never compared.
 */
static uint16_t
common_port(const struct model *m, const struct model_rule *a,
    const struct model_rule *b)
{
	const struct model_rule *few = a->ports.count > 0 ? a : b;
	const struct model_rule *other = few == a ? b : a;

	for (uint32_t i = 0; i < few->ports.count; i++) {
		const uint16_t *at = vec_at(&m->ports, few->ports.at + i);

		if (has_port(m, other, *at))
			return *at;
	}
	return 0;
}

/* Can one text match a pattern of both runs? An empty run matches all. */
static bool
runs_overlap(struct agree *g, const struct vec *v, const struct image_run *a,
    const struct image_run *b, uint8_t sep)
{
	if (a->count == 0 || b->count == 0)
		return true;
	for (uint32_t i = 0; i < a->count; i++) {
		const uint32_t *x = vec_at(v, a->at + i);

		for (uint32_t k = 0; k < b->count; k++) {
			const uint32_t *y = vec_at(v, b->at + k);

			if (glob_overlaps(span_of(model_string(g->m, *x)),
				span_of(model_string(g->m, *y)), sep,
				&g->steps))
				return true;
			if (g->steps > g->steps_max)
				return true;
		}
	}
	return false;
}

#define BELOW_SIZE (IMAGE_STRING_SIZE + 2)

/* Path i of the rule: of a [git] rule all that is at or below a repository. */
static struct span
path_at(const struct model *m, const struct model_rule *r, uint32_t i,
    char buf[BELOW_SIZE])
{
	const uint32_t *at = vec_at(&m->paths, r->paths.at + i);
	struct span s = span_of(model_string(m, *at));
	struct wr w = wr_init(buf, BELOW_SIZE);

	if (!r->is_git)
		return s;
	while (s.len > 0 && s.ptr[s.len - 1] == '*')
		s.len--;
	wr_bytes(&w, s.ptr, s.len);
	wr_text(&w, "**");
	return (struct span){ w.buf, w.len };
}

static bool
paths_overlap(struct agree *g, const struct model_rule *a,
    const struct model_rule *b)
{
	char x[BELOW_SIZE], y[BELOW_SIZE];

	if (a->paths.count == 0 || b->paths.count == 0)
		return true;
	for (uint32_t i = 0; i < a->paths.count; i++) {
		for (uint32_t k = 0; k < b->paths.count; k++) {
			if (glob_overlaps(path_at(g->m, a, i, x),
				path_at(g->m, b, k, y), '/', &g->steps))
				return true;
			if (g->steps > g->steps_max)
				return true;
		}
	}
	return false;
}

static bool
requests_overlap(struct agree *g, const struct model_rule *a,
    const struct model_rule *b)
{
	return runs_overlap(g, &g->m->methods, &a->methods, &b->methods, '/') &&
	    paths_overlap(g, a, b) &&
	    runs_overlap(g, &g->m->queries, &a->queries, &b->queries, '&');
}

static const char *
file_of(const struct model *m, const struct model_rule *r)
{
	const uint32_t *off = vec_at(&m->files, r->file);

	return model_string(m, *off);
}

/* True the first time. */
static bool
is_news(struct agree *g, uint32_t a, uint32_t b)
{
	struct told t = { a < b ? a : b, a < b ? b : a };

	for (size_t i = 0; i < g->told.count; i++) {
		const struct told *other = vec_at(&g->told, i);

		if (other->a == t.a && other->b == t.b)
			return false;
	}
	if (vec_push(&g->told, &t) != 0)
		g->rc = -ENOMEM;
	return true;
}

static const char *
section_of(const struct model_rule *r)
{
	return r->is_git ? "git" : action_name(r->action);
}

/* The later rule is the one that a person just wrote. */
static void
tell(struct agree *g, uint32_t a, uint32_t b, const char *host,
    const char *what)
{
	const struct model_rule *first = model_rule_at(g->m, a < b ? a : b);
	const struct model_rule *last = model_rule_at(g->m, a < b ? b : a);

	if (!is_news(g, a, b))
		return;
	finding_error(g->ret, (struct place){ file_of(g->m, last), last->line },
	    "[%s %s] and [%s %s] (%s:%u) both cover %s port %u, %s",
	    section_of(last), model_string(g->m, last->name), section_of(first),
	    model_string(g->m, first->name), file_of(g->m, first), first->line,
	    host, common_port(g->m, last, first), what);
}

static void
check_deny(struct agree *g, uint32_t a, uint32_t b, const char *host)
{
	const struct model_rule *x = model_rule_at(g->m, a);
	const struct model_rule *y = model_rule_at(g->m, b);
	const struct model_rule *deny = x->action == ACTION_DENY ? x : y;
	const struct model_rule *other = deny == x ? y : x;

	if (is_by_request(deny) && is_uninspected(other) &&
	    common_port(g->m, x, y) != 0)
		tell(g, a, b, host,
		    "where nothing inside is seen: deny the host whole, or "
		    "inspect it");
}

static void
check_pair(struct agree *g, uint32_t a, uint32_t b, const char *host)
{
	const struct model_rule *x = model_rule_at(g->m, a);
	const struct model_rule *y = model_rule_at(g->m, b);
	const char *cx = model_string(g->m, x->credential);
	const char *cy = model_string(g->m, y->credential);

	g->steps++;
	if (a == b)
		return;
	if (x->action == ACTION_DENY || y->action == ACTION_DENY) {
		if (x->action != y->action)
			check_deny(g, a, b, host);
		return;
	}
	if (x->scheme != y->scheme || x->tls != y->tls) {
		if (common_port(g->m, x, y) != 0)
			tell(g, a, b, host,
			    "but differ in scheme or tls: a connection is "
			    "treated in one way, so make them agree");
		return;
	}
	if (cx[0] == '\0' || cy[0] == '\0' || strcmp(cx, cy) == 0)
		return;
	if (common_port(g->m, x, y) != 0 && requests_overlap(g, x, y))
		tell(g, a, b, host,
		    "and can match one request with different credentials: "
		    "part them by method or path");
}

static uint32_t
list_at(const struct agree *g, const struct list *l, uint32_t i)
{
	return l->is_inline ? l->run.at
			    : image_u32(g->image, IMAGE_LISTS, l->run.at + i);
}

static bool
is_over(const struct agree *g)
{
	return g->rc != 0 || g->steps > g->steps_max ||
	    g->ret->error_count >= COMPILE_FINDINGS_MAX;
}

static void
check_lists(struct agree *g, const struct list *a, const struct list *b,
    const char *host)
{
	bool is_same = a->run.at == b->run.at && a->is_inline == b->is_inline;

	for (uint32_t i = 0; i < a->run.count && !is_over(g); i++) {
		for (uint32_t k = is_same ? i + 1 : 0; k < b->run.count; k++)
			check_pair(g, list_at(g, a, i), list_at(g, b, k), host);
	}
}

/* The pattern at entry i against itself and those above it. */
static void
check_entry(struct agree *g, uint32_t i)
{
	enum pattern_kind kind, above = PATTERN_ONE_LABEL;
	const char *host;
	struct list mine, other;
	struct span name;

	if (!image_entry(g->image, i, &kind, &host, &mine.run, &mine.is_inline))
		return;
	check_lists(g, &mine, &mine, host);
	name = span_of(host);
	/* *.x is below **.x itself, a name below *. and **. of its parent */
	for (bool is_self = true; name.len > 0; is_self = false) {
		const uint8_t *dot = memchr(name.ptr, '.', name.len);
		size_t used =
		    dot != NULL ? (size_t)(dot - name.ptr) + 1 : name.len;

		if (is_self && kind == PATTERN_ONE_LABEL &&
		    image_find(g->image, PATTERN_ANY_DEPTH, name, &other.run,
			&other.is_inline))
			check_lists(g, &mine, &other, host);
		name = (struct span){ name.ptr + used, name.len - used };
		if (kind == PATTERN_EXACT && above == PATTERN_ONE_LABEL &&
		    image_find(g->image, above, name, &other.run,
			&other.is_inline))
			check_lists(g, &mine, &other, host);
		above = PATTERN_ANY_DEPTH;
		if (image_find(g->image, above, name, &other.run,
			&other.is_inline))
			check_lists(g, &mine, &other, host);
	}
}

int
agree_check(const struct model *m, const struct policy *image,
    struct compile_result *ret)
{
	struct agree g = { .m = m,
		.image = image,
		.ret = ret,
		.steps_max = m->is_ceiling ? STEPS_MAX_CEILING : STEPS_MAX,
		.told = VEC_OF(struct told) };
	uint32_t n = image->tables[IMAGE_ENTRIES].count;

	/* No pattern of two rules and none above another: a long ceiling. */
	if (image->kinds == 1u << PATTERN_EXACT &&
	    image->tables[IMAGE_LISTS].count == 0)
		return 0;
	for (uint32_t i = 0; i < n && !is_over(&g); i++)
		check_entry(&g, i);
	if (g.steps > g.steps_max)
		finding_error(ret, (struct place){ image->file, 0 },
		    "too many rules with patterns on common hosts to compare "
		    "them: join some");
	vec_done(&g.told);
	return g.rc;
}
