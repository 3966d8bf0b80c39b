/*
 * Does a push move a reference forward? Commands do not say it. But the
 * commits between what a reference was and what it is to be are at the front
 * of the pack (git writes commits first), unless the origin has them already.
 * So the commits are read there, as they come, and each is known by the hash
 * of what it says: a chain of parents from the new name to the old one is a
 * proof that hangs on nothing else, neither on the pack's index nor on how an
 * origin reads a pack. What is not proven may yet be so.
 *
 * Commits that are kept as differences are read if what they differ from was
 * read before in the same pack.
 */
#ifndef TAPWARD_PROXY_PACK_LOOK_H
#define TAPWARD_PROXY_PACK_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

struct pack_look;

/* Of one pack: what is kept of commits, and how much is unpacked for it. */
#define PACK_LOOK_COMMIT_MAX_BYTES 65536
#define PACK_LOOK_COMMITS_MAX 8192
#define PACK_LOOK_KEPT_MAX_BYTES ((size_t)8 << 20)
#define PACK_LOOK_UNPACKED_MAX_BYTES ((size_t)64 << 20)

/* oid_len: 40 for SHA-1, 64 for SHA-256. NULL when memory is short. */
struct pack_look *pack_look_new(size_t oid_len);
void pack_look_free(struct pack_look *l); /* NULL is fine */

/* The next bytes of the pack. False: nothing more can be learnt from it. */
bool pack_look_feed(struct pack_look *l, struct span data);
/*
 * Are there commits since it was last asked, and something else behind them?
 * Then pack_look_shows() is worth its while; it says so a few times only.
 */
bool pack_look_has_news(struct pack_look *l);
/*
 * Both as oid_len hexadecimal digits. Is there a chain of the commits that
 * were read, from new to a parent that is old?
 */
bool pack_look_shows(struct pack_look *l, struct span new_oid,
    struct span old_oid);

#endif
