/*
 * Does one pattern or rule hold whatever another holds? Sound, not complete:
 * a yes is certain, a no may be a maybe. For people who read policies; what
 * decides asks conf/policy.h.
 */
#ifndef TAPWARD_CONF_COVER_H
#define TAPWARD_CONF_COVER_H

#include <stdbool.h>

#include "base/bytes.h"
#include "conf/model.h"

enum cover_case {
	COVER_EXACT,
	COVER_ANY_CASE, /* letters of either case: patterns of a deny rule */
};

/* Every text that b matches, a matches (conf/glob.h; %2F is a slash). */
bool cover_glob(struct span a, struct span b, uint8_t sep, enum cover_case c);
/*
 * A rule or host of a model. Two of them may come from two models: a policy
 * and its successor, a policy and a preset.
 */
struct cover_host {
	const struct model *m;
	const struct model_host *host;
};
struct cover_rule {
	const struct model *m;
	const struct model_rule *rule;
};

/* Every name that b stands for, a stands for. */
bool cover_host(struct cover_host a, struct cover_host b);
/*
 * Every request to a host of both that rule b matches, rule a matches, on
 * every port of b. Hosts, actions, modes and credentials are not compared.
 */
bool cover_request(struct cover_rule a, struct cover_rule b);

#endif
