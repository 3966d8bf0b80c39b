/*
 * Putting a credential into a request, and keeping what a guest brought of
 * its own out of it.
 */
#ifndef TAPWARD_PROXY_INJECT_H
#define TAPWARD_PROXY_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/bytes.h"
#include "base/message_lease.h"
#include "base/secret.h"
#include "proxy/scan.h"
#include "wire/http.h"

/* Longest Authorization of a guest that is looked into. */
#define INJECT_BASIC_MAX 1024

/*
 * One lease as a gate holds it, ready to be sent and to be looked for: one for
 * all exchanges that use it, and for connections kept for the next. It is wiped
 * with its last user; who keeps it for later must let it go at the lease's end.
 */
struct injection {
	unsigned int refs;
	LIST_ENTRY(injection) link;
	struct message_lease lease; /* and its value */
	struct secret line;         /* "authorization: Bearer ...\r\n" */
	struct scan_forms forms;    /* what an answer must not repeat */
};

/* Those of a gate that somebody uses. */
LIST_HEAD(injections, injection);

/*
 * The one of this lease: that which is in all, or a new one that is then in
 * there. The lease's value is taken, or wiped. 0; -EINVAL for a value that is
 * too short to be looked for in answers or would break the head; else -errno.
 */
int injection_get(struct injections *all, struct message_lease *lease,
    struct injection **ret);
struct injection *injection_ref(struct injection *in);
void injection_unref(struct injection *in); /* NULL is fine */
/* Lets go what slot holds, and takes a reference to in, or NULL, into it. */
void injection_set(struct injection **slot, struct injection *in);

/*
 * The line for a request in which the guest sent its placeholder inside Basic:
 * decoded, replaced, encoded again. *ret is emptied when guest_authorization
 * holds none: then in->line it is. 0 or -errno.
 */
int injection_pair_line(const struct injection *in,
    struct span guest_authorization, struct secret *ret);

/*
 * "user:password" of a Basic authorization, into buf. Its length; 0 for what is
 * none, or is too long.
 */
size_t inject_read_pair(struct span authorization,
    uint8_t buf[INJECT_BASIC_MAX]);

/*
 * Field names that a guest may not bring to a host:port where its sandbox has
 * a credential, whichever rule matched.
 */
bool inject_is_stripped(struct span name);
/* The same by what this lease says: its strip list and its own field. */
bool inject_is_stripped_by(const struct message_lease *lease, struct span name);
/* Of an answer: sessions, unless the lease keeps them, and what it lists. */
bool inject_is_withheld_by(const struct message_lease *lease, struct span name);
/* An answer could repeat what of it is secret. */
static inline bool
injection_has_forms(const struct injection *in)
{
	return in != NULL && in->lease.apply != LEASE_APPLY_CERTIFICATE;
}

/* Methods that may carry a credential: not TRACE, OPTIONS, CONNECT. */
bool inject_method_may_carry(enum http_method m);

#endif
