/*
 * Putting a credential into a request, and keeping what a guest brought of
 * its own out of it.
 */
#ifndef TAPWARD_PROXY_INJECT_H
#define TAPWARD_PROXY_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/message_lease.h"
#include "base/secret.h"
#include "proxy/scan.h"
#include "wire/http.h"

/* Longest Authorization of a guest that is looked into. */
#define INJECT_BASIC_MAX 1024

/* One lease, ready to be sent. Zeroed: none. */
struct injection {
	uint64_t lease_id;       /* 0: none */
	uint64_t ends_boot_ms;   /* the lease's end, CLOCK_BOOTTIME */
	bool has_guest_pair;     /* made from a guest's Basic, too */
	struct secret line;      /* "authorization: Bearer ...\r\n" */
	struct scan_forms forms; /* what an answer must not repeat */
};

/*
 * Makes the field line from the lease and, when the guest sent its
 * placeholder inside Basic, from the guest's Authorization ("" without one):
 * decoded, replaced, encoded again. What was made of the same lease before is
 * kept. 0, -EINVAL for a value that is too short to be looked for in answers
 * or would break the head, else -errno; the injection is then empty.
 */
int injection_set(struct injection *in, const struct message_lease *lease,
    struct span guest_authorization);
void injection_done(struct injection *in);

/*
 * Field names that a guest may not bring to a host:port where its sandbox has
 * a credential, whichever rule matched.
 */
bool inject_is_stripped(struct span name);
/* The same by what this lease says: its strip list and its own field. */
bool inject_is_stripped_by(const struct message_lease *lease, struct span name);
/* Methods that may carry a credential: not TRACE, OPTIONS, CONNECT. */
bool inject_method_may_carry(enum http_method m);

#endif
