/*
 * Requests to AWS whose answer is a key, a token or a password: with them a
 * guest would hold what it is not to hold, in an answer that no scan knows.
 */
#ifndef TAPWARD_PROXY_RESIGN_MINT_H
#define TAPWARD_PROXY_RESIGN_MINT_H

#include <stdbool.h>

#include "base/bytes.h"

struct resign_asked {
	const char *service; /* as it is signed */
	struct span path;
	struct span query;
	struct span target; /* of X-Amz-Target, or empty */
	struct span body;   /* if resign_mint_reads_body() */
	bool is_coded;      /* the body, so that it cannot be read */
};

/* What a service is asked to do may stand in its body: it has to be there. */
bool resign_mint_reads_body(const char *service);
/* NULL, or what stands against the request, for a person. */
const char *resign_mint_fault(const struct resign_asked *a);

#endif
