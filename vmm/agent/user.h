/*
 * Users of the guest, from the text of its /etc/passwd and /etc/group. Pure.
 */
#ifndef TAPWARD_VMM_AGENT_USER_H
#define TAPWARD_VMM_AGENT_USER_H

#include <stddef.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"

/* More groups than any image gives a user; the kernel has 65536. */
#define USER_GROUPS_MAX 64
#define USER_NAME_SIZE 65
#define USER_PATH_SIZE 1024

struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX]; /* beside gid */
	size_t group_count;
	char name[USER_NAME_SIZE]; /* empty: a number without a line */
	char home[USER_PATH_SIZE];
	char shell[USER_PATH_SIZE];
};

/*
 * Who spec names: NAME, UID, NAME:GROUP or UID:GID; empty is root. A number
 * need not be in passwd: its group is the same number then, its home "/".
 * 0, or -EINVAL with err set for a name that is not there.
 */
int user_find(struct span spec, struct span passwd, struct span group,
    struct user *ret, struct err *err);

#endif
