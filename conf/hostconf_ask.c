/*
 * [ask]: the program that answers questions of [ask] rules before a person is
 * asked.
 */
#include <string.h>

#include "conf/hostconf_parse.h"
#include "conf/words.h"

#define HOOK_TIMEOUT_MIN_MS 100
/* Longer, and it is a person who should be asked. */
#define HOOK_TIMEOUT_MAX_MS 300000

const char *
hostconf_take_hook(struct hostconf_parse *p, struct span v)
{
	if (v.len == 0 || v.ptr[0] != '/' || span_printable(v) != v.len)
		return "an absolute path, and arguments that blanks part; "
		       "there is no shell";
	return hostconf_copy(p->c->ask_hook, sizeof(p->c->ask_hook), v)
	    ? NULL
	    : "too long";
}

const char *
hostconf_take_hook_user(struct hostconf_parse *p, struct span v)
{
	return words_is_name(v) && !span_is(v, "root") &&
		hostconf_copy(p->c->ask_run_as, sizeof(p->c->ask_run_as), v)
	    ? NULL
	    : "the name of a user that is not root";
}

const char *
hostconf_take_hook_timeout(struct hostconf_parse *p, struct span v)
{
	uint64_t ms;

	if (!limit_parse(UNIT_MS, v, &ms) || ms < HOOK_TIMEOUT_MIN_MS ||
	    ms > HOOK_TIMEOUT_MAX_MS)
		return "a time from 100ms to 5m";
	p->c->ask_hook_timeout_ms = (uint32_t)ms;
	return NULL;
}

int
hostconf_finish_ask(struct hostconf_parse *p)
{
	if (p->c->ask_hook[0] != '\0')
		return 0;
	return err_at(p->err, p->file, p->line,
	    "[ask] names no program: add `hook = /PROGRAM ARGUMENT ...`, or "
	    "remove the section");
}
