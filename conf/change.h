/*
 * What a change of a policy opens and what it closes, in words: for a person
 * who reviews it, and for CI, which asks whether it widens.
 *
 * Sound: a change that lets anything through which was not let through before
 * widens. Not complete: what two old rules gave together and one new rule
 * gives alone may be told as opened.
 */
#ifndef TAPWARD_CONF_CHANGE_H
#define TAPWARD_CONF_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/json.h"
#include "conf/compile.h"

/* Room for what change_write() writes; beyond it lines are counted only. */
#define CHANGE_TEXT_MAX_BYTES (1u << 20)

struct change_report {
	size_t opens; /* lines, written or not */
	size_t closes;
	bool is_cut; /* too much to compare: taken for wider */
};

static inline bool
change_widens(const struct change_report *r)
{
	return r->opens > 0 || r->is_cut;
}

/*
 * Both compile. Lines go to w ("opens  GET https://..."), or as objects into
 * the array that is open in json; the other is NULL. 0 or -ENOMEM.
 */
int change_write(const struct compile_input *old,
    const struct compile_input *new, struct wr *w, struct json *json,
    struct change_report *ret);

#endif
