/*
 * The least things of which policies are compared: one host, port, method,
 * path, query or reference of one rule. Private to change.c and
 * change_given.c.
 */
#ifndef TAPWARD_CONF_CHANGE_PRIVATE_H
#define TAPWARD_CONF_CHANGE_PRIVATE_H

#include "conf/cover.h"
#include "conf/model.h"

/* Comparisons of patterns, some seconds, before a change is taken for wider. */
#define CHANGE_STEPS_MAX 30000000u

/* NULL: the rule has no such key, and every one of them is meant. */
struct atom {
	const struct model *m;
	const struct model_rule *rule;
	const struct model_host *host;
	uint16_t port; /* 0: every port, of a deny rule */
	const char *method;
	const char *path;
	const char *query;
	const char *ref; /* of a push; NULL is a fetch */
};

/* One side: its model, and the first host of each rule in model.hosts. */
struct side {
	struct model m;
	size_t *first;
};

/* A deny rule of the side stands against all of the atom. */
bool change_is_denied(const struct side *s, const struct atom *a,
    size_t *steps);
/* Of an atom of an ask rule: an ask rule of the side asks for all of it. */
bool change_is_asked(const struct side *s, const struct atom *a, size_t *steps);
/* A rule of the side gives all of the atom, whatever its deny rules say. */
bool change_is_given(const struct side *s, const struct atom *a, size_t *steps);
/* A [git] rule of the side is for every host and the port of the atom. */
bool change_is_kept(const struct side *s, const struct atom *a, size_t *steps);
/* Which rules are looked at: whatever they give beside a deny. */
enum change_gift {
	GIFT_ANY,
	GIFT_WIDER, /* by more than the action of the atom's rule */
	GIFT_PLAIN, /* not a [git] rule */
};

/* A rule of the side may give some of the atom, which another holds back. */
bool change_has_gift(const struct side *s, const struct atom *a,
    enum change_gift gift, size_t *steps);
/*
 * What a rule counts is still counted: one rule of `in` takes all that rule
 * `rule` of `from` matches, and lets no more of it through in all. Several
 * that share it would each let as much through.
 */
bool change_is_limited(const struct side *in, const struct side *from,
    size_t rule, size_t *steps);
/* The same of what [policy] counts. */
bool change_is_whole_limited(const struct side *in, const struct side *from);

#endif
