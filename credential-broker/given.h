/*
 * Secrets that the service manager gave the broker itself: files of
 * $CREDENTIALS_DIRECTORY (LoadCredential= of its unit), which `credential:NAME`
 * in the configuration names. They are opened before the process is sealed;
 * what they hold is read like that of any source (base/source.h).
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_GIVEN_H
#define TAPWARD_CREDENTIAL_BROKER_GIVEN_H

#include "base/err.h"
#include "base/message_broker.h"

struct given;

/* Each credential may have some of its own. */
#define GIVEN_MAX 1024

/*
 * Opens all that is in folder (NULL: nothing is). 0, -E2BIG for more than
 * GIVEN_MAX, or -errno.
 */
int given_new(const char *folder, struct given **ret);
void given_free(struct given *g); /* NULL is fine */

/*
 * The descriptors of MSG_BROKER_CREDENTIAL, to which those are added that the
 * supervisor had not and we were given; settings of which that is so then say
 * is_open. ret borrows. Returns how many there are.
 */
unsigned int given_complete(const struct given *g,
    struct message_broker_credential *d, const int *fds, unsigned int count,
    int ret[BROKER_CREDENTIAL_FDS_MAX]);
/*
 * A `credential:NAME` that nobody was given: -ENOKEY and what mends it, else
 * 0. After given_complete(), of which count is the result.
 */
int given_check(const struct given *g,
    const struct message_broker_credential *d, unsigned int count,
    struct err *err);

#endif
