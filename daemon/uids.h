/*
 * Uids of `[daemon] uid-range`: fixed ones for the roles, then one for each
 * live gate, not given again while a process of it lives.
 */
#ifndef TAPWARD_DAEMON_UIDS_H
#define TAPWARD_DAEMON_UIDS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum uid_role {
	UID_RECORDER,
	UID_BROKER,
	UID_DIALLER,
	UID_API,
	UID_COMPILE,
	UID_CA,
	UID_HELPER,     /* programs of `kind = exec` that name no user */
	UID_ROLES = 16, /* room for more; gates take from here on */
};

struct uids {
	uid_t first;
	uint32_t count;
	uint32_t next;
	uint64_t *used; /* a bit each */
	/* Whether a process of uid lives; set by a test. */
	bool (*is_alive)(uid_t uid);
};

/* -EINVAL for a range without room for a gate; -ENOMEM; 0. */
int uids_init(struct uids *u, uid_t first, uid_t last);
void uids_done(struct uids *u);
uid_t uids_role(const struct uids *u, enum uid_role role);
/*
 * The next one that nobody has and no process runs under, round the range, so
 * that one is not given again soon. -EAGAIN when all are taken.
 */
int uids_take(struct uids *u, uid_t *ret_uid);
/* Takes this one, for a gate that lives. -EINVAL, -EBUSY, or 0. */
int uids_take_this(struct uids *u, uid_t uid);
void uids_give_back(struct uids *u, uid_t uid);
/* Is it one that gates may have? */
bool uids_is_gate(const struct uids *u, uid_t uid);

#endif
