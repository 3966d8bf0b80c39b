/*
 * What a reviewer would ask of a policy that compiles: rules that never
 * decide, patterns that are wider than they look, what writes where people
 * mean to read. Each question has a code, by which it can be waived.
 */
#ifndef TAPWARD_CONF_LINT_H
#define TAPWARD_CONF_LINT_H

#include "conf/compile.h"
#include "conf/finding.h"
#include "conf/model.h"

/* A compile_review (conf/compile.h). */
int lint_review(const struct model *m, const struct policy *image,
    struct compile_result *ret);

/*
 * The parts of it; each asks about the rules of the text, not of presets. 0 or
 * -ENOMEM.
 */
int lint_rules(const struct model *m, struct compile_result *ret);
void lint_hosts(const struct model *m, struct compile_result *ret);
void lint_probes(const struct model *m, const struct policy *image,
    struct compile_result *ret);
int lint_presets(const struct model *m, struct compile_result *ret);

/* What they share. */
static inline bool
lint_is_own(const struct model_rule *r)
{
	return r->file == 0;
}
/* "allow", "git": what stands in the heading of the rule. */
const char *lint_section(const struct model_rule *r);
struct place lint_at(const struct model *m, const struct model_rule *r);
/* The pattern as it is written, in buf. */
const char *lint_host_text(const struct model *m, const struct model_host *h,
    char buf[IMAGE_STRING_SIZE + 4]);
/* The rule has no such key, or one of its patterns is the word. */
bool lint_run_has(const struct model *m, const struct vec *v,
    const struct image_run *run, const char *word);
/* A method other than GET, HEAD and OPTIONS is allowed. */
bool lint_writes(const struct model *m, const struct model_rule *r);

#endif
