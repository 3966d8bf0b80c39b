/*
 * libpsl answers for one name and cannot enumerate, so what lies below a name
 * is only known for rules of the form *.NAME, and for the table here.
 */
#include "conf/public_suffix.h"

#include <libpsl.h>
#include <stdio.h>
#include <string.h>

#include "wire/host.h"

/* Parents of public suffixes: below, anybody gets a bucket or a site. */
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

/* A child of name is a public suffix by a rule for all children. */
static bool
is_above_suffix(const psl_ctx_t *psl, const char *name)
{
	char probe[HOST_SIZE + 8];

	(void)snprintf(probe, sizeof(probe), "tapward.%s", name);
	return psl_is_public_suffix(psl, probe) != 0;
}

const char *
public_suffix_fault(const char *name)
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

bool
public_suffix_is_below(const char *name)
{
	size_t n = sizeof(shared_parents) / sizeof(shared_parents[0]);

	for (size_t i = 0; i < n; i++) {
		if (strcmp(name, shared_parents[i]) == 0 ||
		    host_is_under(shared_parents[i], name))
			return true;
	}
	return false;
}
