/*
 * See host_pattern.h.
 */
#include "conf/host_pattern.h"

#include <string.h>

static struct span
skip(struct span s, size_t n)
{
	return (struct span){ s.ptr + n, s.len - n };
}

static bool
starts_with(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

static bool
has_byte(struct span s, int c)
{
	return s.len > 0 && memchr(s.ptr, c, s.len) != NULL;
}

/* What a name that is none looks like, for a text that helps. */
static const char *
name_fault(struct span in, enum host_status status)
{
	if (has_byte(in, '/'))
		return "this is a URL: write the host alone, and the rest as "
		       "`path = ...`";
	if (has_byte(in, '*'))
		return "a star stands in front of a whole name only: *.NAME "
		       "or **.NAME";
	if (status == HOST_ADDRESS || status == HOST_ADDRESS_ODD ||
	    has_byte(in, '['))
		return "an IP address is no host: rules name hosts by name";
	if (has_byte(in, ':'))
		return "no port here: write it as `port = N`";
	if (status == HOST_LOCALHOST)
		return "localhost never leaves a sandbox: no rule can name it";
	if (status == HOST_SINGLE_LABEL)
		return "a single label is no host on the internet: write the "
		       "full name";
	return host_status_text(status);
}

const char *
host_pattern_parse(struct span in, struct host_pattern *ret)
{
	enum host_status status;

	ret->kind = PATTERN_EXACT;
	if (starts_with(in, "**.")) {
		ret->kind = PATTERN_ANY_DEPTH;
		in = skip(in, 3);
	} else if (starts_with(in, "*.")) {
		ret->kind = PATTERN_ONE_LABEL;
		in = skip(in, 2);
	}
	status = host_parse(in, ret->name);
	if (ret->kind == PATTERN_EXACT)
		return status == HOST_NAME ? NULL : name_fault(in, status);
	/* "*.com" is a name with a star, if one that nobody may use. */
	if (status == HOST_NAME || status == HOST_SINGLE_LABEL)
		return NULL;
	return name_fault(in, status);
}
