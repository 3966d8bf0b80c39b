/*
 * The words of a verdict.
 */
#include "conf/verdict.h"

#include <assert.h>

#include "base/bytes.h"

const char *
action_name(enum action a)
{
	switch (a) {
	case ACTION_DENY:
		return "deny";
	case ACTION_ASK:
		return "ask";
	case ACTION_ALLOW:
		return "allow";
	}
	return "deny";
}

const char *
scheme_name(enum scheme s)
{
	switch (s) {
	case SCHEME_HTTPS:
		return "https";
	case SCHEME_HTTP:
		return "http";
	case SCHEME_TCP:
		return "tcp";
	}
	return "https";
}

const char *
git_operation_name(enum git_operation op)
{
	switch (op) {
	case GIT_CREATE:
		return "create";
	case GIT_UPDATE:
		return "update";
	case GIT_DELETE:
		return "delete";
	case GIT_FORCE:
		return "force";
	case GIT_OPERATION_NONE:
	case GIT_OPERATIONS:
		break;
	}
	return "-";
}

const char *
verdict_section(const struct verdict *v)
{
	return v->is_git ? "git" : "allow";
}

const char *
verdict_code(const struct verdict *v, char buf[48])
{
	const char *code = reason_code(v->reason);
	struct wr w = wr_init(buf, 48);

	if (v->by_ceiling && code[0] != '\0')
		wr_text(&w, "ceiling-");
	wr_text(&w, code);
	wr_u8(&w, 0);
	assert(wr_ok(&w));
	return buf;
}
