/*
 * From a verdict to its record.
 */
#include "conf/record.h"

struct audit_record
audit_record_of(enum audit_event event, const struct verdict *v)
{
	struct audit_record r = audit_record_init(event);

	r.verdict = (uint8_t)v->action;
	r.reason = v->reason;
	r.by_ceiling = v->by_ceiling;
	r.rule = v->rule;
	r.file = v->file;
	r.line = v->line;
	if (v->learned.reason != REASON_NONE)
		r.learned = (struct audit_learned){ v->learned.reason,
			v->learned.rule, v->learned.file, v->learned.line };
	return r;
}
