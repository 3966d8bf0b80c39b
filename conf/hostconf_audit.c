/*
 * [audit]: when the log is moved aside, what of it is kept, and where its
 * head is written down beside the journal.
 */
#include "conf/hostconf_parse.h"

#define AGE_MIN_MS UINT64_C(3600000)
#define KEEP_MAX 100000u

const char *
hostconf_take_rotate_size(struct hostconf_parse *p, struct span v)
{
	uint64_t n;

	if (span_is(v, "never")) {
		p->c->rotate_bytes = 0;
		return NULL;
	}
	if (!limit_parse(UNIT_BYTES, v, &n) || n < HOSTCONF_ROTATE_MIN_BYTES)
		return "a size of at least 1MB (64MB, 1GB), or `never`";
	p->c->rotate_bytes = n;
	return NULL;
}

/* none: the word that stands for 0. */
static bool
take_age(struct span v, const char *none, uint64_t *ret_ms)
{
	uint64_t ms = 0;

	if (!span_is(v, none) &&
	    (!limit_parse(UNIT_MS, v, &ms) || ms < AGE_MIN_MS))
		return false;
	*ret_ms = ms;
	return true;
}

const char *
hostconf_take_rotate_age(struct hostconf_parse *p, struct span v)
{
	return take_age(v, "never", &p->c->rotate_age_ms)
	    ? NULL
	    : "a time of at least 1h (12h, 1d, 7d), or `never`";
}

const char *
hostconf_take_keep(struct hostconf_parse *p, struct span v)
{
	uint64_t n = 0;

	if (!span_is(v, "all") &&
	    (!limit_parse(UNIT_COUNT, v, &n) || n == 0 || n > KEEP_MAX))
		return "a number of files from 1 to 100000, or `all`";
	p->c->keep_files = (uint32_t)n;
	return NULL;
}

const char *
hostconf_take_keep_age(struct hostconf_parse *p, struct span v)
{
	return take_age(v, "all", &p->c->keep_age_ms)
	    ? NULL
	    : "a time of at least 1h (30d, 365d), or `all`";
}

const char *
hostconf_take_anchor(struct hostconf_parse *p, struct span v)
{
	if (v.len == 0 || v.ptr[0] != '/')
		return "an absolute path, of a file on another machine's disk "
		       "or of a device";
	return hostconf_copy_path(p->c->anchor, sizeof(p->c->anchor), v);
}
