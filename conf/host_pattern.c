/*
 * See host_pattern.h.
 */
#include "conf/host_pattern.h"

#include <libpsl.h>
#include <stdio.h>
#include <string.h>

/*
 * Parents of public suffixes that libpsl cannot enumerate: whatever is named
 * below them may be anybody's bucket or site.
 */
static const char *const shared_parents[] = {
	"amazonaws.com",
	"azure.com",
	"azurewebsites.net",
	"cloudfront.net",
	"fastly.net",
	"github.com",
	"google.com",
	"oraclecloud.com",
	"vercel.com",
	"windows.net",
};

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

/* A child of name is a public suffix by a rule for all children. */
static bool
is_above_suffix(const psl_ctx_t *psl, const char *name)
{
	char probe[HOST_SIZE + 8];

	(void)snprintf(probe, sizeof(probe), "tapward.%s", name);
	return psl_is_public_suffix(psl, probe) != 0;
}

static const char *
wildcard_fault(const char *name)
{
	const psl_ctx_t *psl = psl_builtin();

	if (psl == NULL)
		return "wildcards cannot be checked: this libpsl has no list "
		       "built in";
	if (psl_registrable_domain(psl, name) == NULL ||
	    is_above_suffix(psl, name))
		return "a wildcard on a public suffix names hosts of "
		       "everybody: name the domain below it";
	return NULL;
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
	if (status != HOST_NAME && status != HOST_SINGLE_LABEL)
		return name_fault(in, status);
	return wildcard_fault(ret->name);
}

bool
host_pattern_is_shared(const struct host_pattern *p)
{
	size_t n = sizeof(shared_parents) / sizeof(shared_parents[0]);

	if (p->kind == PATTERN_EXACT)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(p->name, shared_parents[i]) == 0 ||
		    host_is_under(shared_parents[i], p->name))
			return true;
	}
	return false;
}
