/*
 * What mints, see resign_mint.h. A service that has a row, and a way to ask it
 * that is not understood here, is refused: one that is not listed is for the
 * host's configuration to name (`service`), or not.
 */
#include "proxy/resign_mint.h"

#include <string.h>

#include "wire/sigv4_query.h"
#include "wire/token.h"

#define ACTION_SIZE 64

enum how {
	NEVER,   /* all that it is for is to hand out keys */
	ONLY,    /* of its actions, in a form or a query, only these */
	BUT,     /* all but these actions */
	TARGETS, /* all but these, as X-Amz-Target or an operation's path */
	PATHS,   /* all but paths that begin so */
};

static const struct row {
	const char *service;
	enum how how;
	const char *names[8];
} rows[] = {
	{ "sts", ONLY,
	    { "GetCallerIdentity", "DecodeAuthorizationMessage",
		"GetAccessKeyInfo" } },
	{ "iam", BUT,
	    { "CreateAccessKey", "CreateLoginProfile", "UpdateLoginProfile",
		"CreateServiceSpecificCredential",
		"ResetServiceSpecificCredential", "CreateVirtualMFADevice" } },
	{ "ecr", TARGETS, { "GetAuthorizationToken" } },
	{ "ecr-public", TARGETS, { "GetAuthorizationToken" } },
	{ "codeartifact", PATHS, { "/v1/authorization-token" } },
	{ "redshift", BUT,
	    { "GetClusterCredentials", "GetClusterCredentialsWithIAM" } },
	{ "redshift-serverless", TARGETS, { "GetCredentials" } },
	{ "cognito-identity", TARGETS,
	    { "GetCredentialsForIdentity", "GetOpenIdToken",
		"GetOpenIdTokenForDeveloperIdentity" } },
	{ "s3express", NEVER, { NULL } },
	{ "rolesanywhere", NEVER, { NULL } },
	{ "sso", NEVER, { NULL } },
	{ "sso-oauth", NEVER, { NULL } },
	{ "signin", NEVER, { NULL } },
	{ "eks-auth", NEVER, { NULL } },
};

static const struct row *
find(const char *service)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].service, service) == 0)
			return &rows[i];
	return NULL;
}

bool
resign_mint_reads_body(const char *service)
{
	const struct row *row = find(service);

	return row != NULL && (row->how == ONLY || row->how == BUT);
}

static bool
is_listed(const struct row *row, struct span name)
{
	for (size_t i = 0; i < sizeof(row->names) / sizeof(row->names[0]); i++)
		if (row->names[i] != NULL && span_is_case(name, row->names[i]))
			return true;
	return false;
}

/*
 * Counts the actions of a form or a query, and keeps the last. One that is
 * escaped, or too long, counts and is none of ours.
 */
static unsigned int
take_actions(struct span form, char ret[ACTION_SIZE])
{
	unsigned int count = 0;

	while (form.len > 0) {
		struct span value = token_cut(&form, '&');
		struct span name = token_cut(&value, '=');
		uint8_t text[ACTION_SIZE];
		struct wr w = wr_init(text, sizeof(text));

		if (!sigv4_unescape(&w, name) ||
		    !span_is_case((struct span){ text, w.len }, "Action"))
			continue;
		count++;
		ret[0] = '\0';
		if (value.len < ACTION_SIZE && token_is(value)) {
			memcpy(ret, value.ptr, value.len);
			ret[value.len] = '\0';
		}
	}
	return count;
}

/* One action, told in one place, by a protocol that is known here. */
static const char *
check_action(const struct row *row, const struct resign_asked *a)
{
	char action[ACTION_SIZE] = "";
	unsigned int count = take_actions(a->query, action);

	count += take_actions(a->body, action);
	if (a->is_coded || count != 1 || a->target.len > 0 ||
	    !span_is(a->path, "/"))
		return "what it asks of the service is not told by one Action";
	if (is_listed(row, span_of(action)) != (row->how == ONLY))
		return "the answer to this action holds keys, and is not for "
		       "a guest";
	return NULL;
}

/* "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken" */
static struct span
last_part(struct span s, uint8_t separator)
{
	struct span part = s;

	while (s.ptr != NULL)
		part = token_cut(&s, separator);
	return part;
}

const char *
resign_mint_fault(const struct resign_asked *a)
{
	static const char mints[] = "the answer to this operation holds keys, "
				    "and is not for a guest";
	const struct row *row = find(a->service);

	if (row == NULL)
		return NULL;
	switch (row->how) {
	case NEVER:
		return "this service hands out keys, which are not for a guest";
	case ONLY:
	case BUT:
		return check_action(row, a);
	case TARGETS:
		return is_listed(row, last_part(a->target, '.')) ||
			is_listed(row, last_part(a->path, '/'))
		    ? mints
		    : NULL;
	case PATHS:
		return a->path.len >= strlen(row->names[0]) &&
			span_is_case((struct span){ a->path.ptr,
					 strlen(row->names[0]) },
			    row->names[0])
		    ? mints
		    : NULL;
	}
	return mints;
}
