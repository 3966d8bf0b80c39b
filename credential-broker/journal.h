/*
 * What must not be forgotten when the broker or the host ends: values that
 * have to be given back, and what a credential has learned (a refresh token
 * that replaced the one in its file). Each is on the disk before it is used,
 * sealed (seal.h).
 *
 * Two files, of which one is written to. Records are appended; once there are
 * too many that say nothing any more, those that count are written to the
 * other file and the first is emptied. After a crash between the two both say
 * the same. A record that was not written whole ends its file.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_JOURNAL_H
#define TAPWARD_CREDENTIAL_BROKER_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "credential-broker/kind.h"

struct journal;

#define JOURNAL_FILES 2
/* What can be written down at once. */
#define JOURNAL_ENTRIES_MAX 8192

struct journal *journal_new(void);    /* NULL when memory is short */
void journal_free(struct journal *j); /* NULL is fine */
/*
 * Takes the files and reads them; only the first time. 0 or -errno: without
 * files nothing that must be given back is used.
 */
int journal_open(struct journal *j, int fds[JOURNAL_FILES]);

/*
 * Writes down what revoke() will need. not_after_boot_ms as in struct minted.
 * The number of the entry; 0: it could not be written.
 */
uint64_t journal_add(struct journal *j, const struct credential *c,
    struct span what, uint64_t not_after_boot_ms);
/* It is given back, or has ended. 0 is fine. */
void journal_done(struct journal *j, uint64_t id);
/* It could not be given back: journal_orphan() finds it once more. */
void journal_keep(struct journal *j, uint64_t id);
/*
 * An entry of c that nobody takes care of (from a process before): its number
 * and what was written down, and from now on somebody does. False without one.
 * Those that have ended are forgotten on the way; those that do not open, for
 * c has other secrets now, stay until their end.
 */
bool journal_orphan(struct journal *j, const struct credential *c,
    uint64_t *ret_id, struct secret *ret);

/* What c has learned: replaces what was written before. 0 or -errno. */
int journal_put_state(struct journal *j, const struct credential *c,
    struct span what);
/* False without one that opens. */
bool journal_state(struct journal *j, const struct credential *c,
    struct secret *ret);

#endif
