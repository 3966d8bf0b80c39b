/*
 * What of Cloud Storage a token is cut down to: a credential access boundary,
 * as Google's Security Token Service takes it.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_GCP_BOUNDARY_H
#define TAPWARD_CREDENTIAL_BROKER_GCP_BOUNDARY_H

#include "base/err.h"
#include "credential-broker/credential.h"
#include "credential-broker/form.h"

/* cloud.google.com: a boundary has at most ten rules. */
#define GCP_BUCKETS_MAX 10

/*
 * Checks `bucket = NAME[/PREFIX]` and `bucket-role = roles/NAME`. 0, or -EINVAL
 * and a text.
 */
int gcp_boundary_check(const struct credential *c, struct err *err);
/* Appends the JSON; the definition was checked and has a bucket. */
void gcp_boundary_write(const struct credential *c, struct form *f);

#endif
