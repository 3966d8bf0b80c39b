/* Which uid is whose. */
#include "daemon/uids.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>

/*
 * The kernel looks for a process of the user: ESRCH without one. Nothing is
 * changed, and processes that hide in /proc are found.
 */
static bool
has_process(uid_t uid)
{
	errno = 0;
	(void)getpriority(PRIO_USER, uid);
	return errno != ESRCH;
}

int
uids_init(struct uids *u, uid_t first, uid_t last)
{
	uint32_t count;

	if (first == 0 || last < first || last - first < UID_ROLES)
		return -EINVAL;
	count = last - first + 1;
	*u = (struct uids){
		.first = first,
		.count = count,
		.next = UID_ROLES,
		.used = calloc(((size_t)count + 63) / 64, sizeof(*u->used)),
		.is_alive = has_process,
	};
	return u->used == NULL ? -ENOMEM : 0;
}

void
uids_done(struct uids *u)
{
	free(u->used);
	u->used = NULL;
}

uid_t
uids_role(const struct uids *u, enum uid_role role)
{
	return u->first + (uid_t)role;
}

static bool
is_used(const struct uids *u, uint32_t i)
{
	return (u->used[i / 64] >> (i % 64) & 1) != 0;
}

static void
set_used(struct uids *u, uint32_t i, bool is)
{
	uint64_t bit = UINT64_C(1) << (i % 64);

	u->used[i / 64] = is ? u->used[i / 64] | bit : u->used[i / 64] & ~bit;
}

int
uids_take(struct uids *u, uid_t *ret_uid)
{
	for (uint32_t tried = UID_ROLES; tried < u->count; tried++) {
		uint32_t i = u->next;

		u->next = i + 1 < u->count ? i + 1 : UID_ROLES;
		if (is_used(u, i) || u->is_alive(u->first + i))
			continue;
		set_used(u, i, true);
		*ret_uid = u->first + i;
		return 0;
	}
	return -EAGAIN;
}

bool
uids_is_gate(const struct uids *u, uid_t uid)
{
	return uid >= u->first && uid - u->first >= UID_ROLES &&
	    uid - u->first < u->count;
}

int
uids_take_this(struct uids *u, uid_t uid)
{
	if (!uids_is_gate(u, uid))
		return -EINVAL;
	if (is_used(u, uid - u->first))
		return -EBUSY;
	set_used(u, uid - u->first, true);
	return 0;
}

void
uids_give_back(struct uids *u, uid_t uid)
{
	if (uids_is_gate(u, uid))
		set_used(u, uid - u->first, false);
}
