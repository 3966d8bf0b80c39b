/*
 * The query of a request as AWS Signature Version 4 sees it: its parameters,
 * those of a presigned URL among them, and the order they are signed in.
 */
#ifndef TAPWARD_WIRE_SIGV4_QUERY_H
#define TAPWARD_WIRE_SIGV4_QUERY_H

#include "base/bytes.h"
#include "wire/sigv4.h"

enum sigv4_parameter {
	SIGV4_PARAMETER_ALGORITHM,
	SIGV4_PARAMETER_CREDENTIAL,
	SIGV4_PARAMETER_DATE,
	SIGV4_PARAMETER_EXPIRES,
	SIGV4_PARAMETER_NAMES,
	SIGV4_PARAMETER_SIGNATURE,
	SIGV4_PARAMETER_CONTENT, /* may be missing, as may the next */
	SIGV4_PARAMETER_TOKEN,
	SIGV4_PARAMETER_COUNT
};

struct sigv4_query {
	struct span value[SIGV4_PARAMETER_COUNT]; /* escaped; borrowed */
	bool is_signed;                           /* has one of these at all */
	bool is_version_2;
};

/*
 * SIGV4_OK; SIGV4_TWO when one comes twice; SIGV4_FORM when the name of one is
 * written in another way; SIGV4_PARAMETERS.
 */
enum sigv4_status sigv4_query_read(struct span query, struct sigv4_query *ret);

/*
 * The query that a gate sends: as it is, but for these parameters. Where value
 * has none (ptr NULL) the parameter is left out, else it is escaped, at the end
 * if there was none. False when it does not fit, or cannot be read.
 */
bool sigv4_query_write(struct wr *w, struct span query,
    const struct span value[SIGV4_PARAMETER_COUNT]);

/* All parameters but X-Amz-Signature, sorted, each with its '='. */
enum sigv4_status sigv4_query_sort(struct wr *w, struct span query);

/* False for a '%' without two digits, or when it does not fit. */
bool sigv4_unescape(struct wr *w, struct span s);
/* All but letters, digits, "-_.~", and what is in but, as "%2F". */
void sigv4_escape(struct wr *w, struct span s, const char *but);

#endif
