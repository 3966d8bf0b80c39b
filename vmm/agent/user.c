/*
 * See user.h. A line that is not of its file's form is no user's.
 */
#include "vmm/agent/user.h"

#include <stdbool.h>
#include <string.h>

#include "vmm/agent/lines.h"

/* (uid_t)-1 means "no change" to the kernel, never a user. */
#define ID_MAX (UINT32_MAX - 1)

/* passwd(5): name:password:uid:gid:gecos:home:shell */
static bool
take_passwd(struct span line, struct span *ret_name, struct user *ret)
{
	struct span f[7];
	struct user u = { .uid = 0 };
	uint32_t uid, gid;

	for (size_t i = 0; i < 6; i++)
		if (!lines_take(&line, ':', &f[i]))
			return false;
	f[6] = line; /* a shell may be missing */
	if (f[0].len == 0 || !lines_number(f[2], ID_MAX, &uid) ||
	    !lines_number(f[3], ID_MAX, &gid) ||
	    !lines_copy(f[0], u.name, sizeof(u.name)) ||
	    !lines_copy(f[5], u.home, sizeof(u.home)) ||
	    !lines_copy(f[6], u.shell, sizeof(u.shell)))
		return false;
	u.uid = uid;
	u.gid = gid;
	*ret_name = f[0];
	*ret = u;
	return true;
}

/* group(5): name:password:gid:member,member */
static bool
take_group(struct span line, struct span *ret_name, gid_t *ret_gid,
    struct span *ret_members)
{
	struct span f[3];
	uint32_t gid;

	for (size_t i = 0; i < 3; i++)
		if (!lines_take(&line, ':', &f[i]))
			return false;
	if (f[0].len == 0 || !lines_number(f[2], ID_MAX, &gid))
		return false;
	*ret_name = f[0];
	*ret_gid = gid;
	*ret_members = line;
	return true;
}

/* The first line of that name or, if it is a number, that number. */
static bool
find_passwd(struct span spec, struct span passwd, struct user *ret)
{
	struct span line, name;
	uint32_t uid = 0;
	const bool is_number = lines_number(spec, ID_MAX, &uid);
	struct user u;

	while (lines_take(&passwd, '\n', &line)) {
		if (!take_passwd(line, &name, &u))
			continue;
		if (is_number ? u.uid == uid : span_eq(name, spec)) {
			*ret = u;
			return true;
		}
	}
	return false;
}

static bool
find_group(struct span spec, struct span group, gid_t *ret)
{
	struct span line, name, members;
	uint32_t number;
	gid_t gid;

	if (lines_number(spec, ID_MAX, &number)) {
		*ret = number;
		return true;
	}
	while (lines_take(&group, '\n', &line)) {
		if (!take_group(line, &name, &gid, &members) ||
		    !span_eq(name, spec))
			continue;
		*ret = gid;
		return true;
	}
	return false;
}

static bool
has_member(struct span members, const char *name)
{
	struct span member;

	while (lines_take(&members, ',', &member))
		if (span_is(member, name))
			return true;
	return false;
}

static void
add_groups(struct user *u, struct span group)
{
	struct span line, name, members;
	gid_t gid;

	if (u->name[0] == '\0')
		return;
	while (lines_take(&group, '\n', &line) &&
	    u->group_count < USER_GROUPS_MAX) {
		if (take_group(line, &name, &gid, &members) && gid != u->gid &&
		    has_member(members, u->name))
			u->groups[u->group_count++] = gid;
	}
}

/* An image of one static program has no passwd at all. */
static bool
make_unlisted(struct span spec, struct user *ret)
{
	struct user u = { .home = "/", .shell = "/bin/sh" };
	uint32_t uid;

	if (span_is(spec, "root"))
		spec = span_of("0");
	if (!lines_number(spec, ID_MAX, &uid))
		return false;
	u.uid = uid;
	u.gid = uid;
	if (uid == 0) {
		memcpy(u.name, "root", sizeof("root"));
		memcpy(u.home, "/root", sizeof("/root"));
	}
	*ret = u;
	return true;
}

int
user_find(struct span spec, struct span passwd, struct span group,
    struct user *ret, struct err *err)
{
	struct span name = { NULL, 0 };
	struct user u;
	gid_t gid;

	(void)lines_take(&spec, ':', &name);
	if (name.len == 0)
		name = span_of("root");
	if (!find_passwd(name, passwd, &u) && !make_unlisted(name, &u))
		return err_at(err, NULL, 0, "no user \"%.*s\" in this image",
		    (int)name.len, (const char *)name.ptr);
	if (spec.len > 0) {
		if (!find_group(spec, group, &gid))
			return err_at(err, NULL, 0,
			    "no group \"%.*s\" in this image", (int)spec.len,
			    (const char *)spec.ptr);
		u.gid = gid;
	}
	add_groups(&u, group);
	*ret = u;
	return 0;
}
