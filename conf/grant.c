/*
 * Grants, see grant.h.
 */
#include "conf/grant.h"

#include <string.h>

#include "conf/glob.h"

static bool
is_in_group(const struct message_broker_attach *s, const char *group)
{
	for (unsigned int i = 0; i < s->group_count; i++)
		if (strcmp(s->groups[i], group) == 0)
			return true;
	return false;
}

static bool
owner_fits(const struct message_broker_grant *g,
    const struct message_broker_attach *s)
{
	switch ((enum broker_owner)g->owner) {
	case BROKER_OWNER_ROOT:
		return s->owner_uid == 0;
	case BROKER_OWNER_USER:
		return strcmp(g->principal, s->owner_user) == 0;
	case BROKER_OWNER_GROUP:
		return is_in_group(s, g->principal);
	case BROKER_OWNER_COUNT:
		break;
	}
	return false;
}

bool
grants_cover(const struct message_broker_grant *grants, unsigned int count,
    const struct message_broker_attach *s)
{
	for (unsigned int i = 0; i < count; i++)
		if (glob_match(span_of(grants[i].name), span_of(s->sandbox),
			'\0') &&
		    owner_fits(&grants[i], s))
			return true;
	return false;
}

bool
grant_covers(const struct message_broker_credential *d,
    const struct message_broker_attach *s)
{
	return grants_cover(d->grants, d->grant_count, s);
}

bool
grant_opens_metadata(const struct message_broker_credential *d)
{
	for (unsigned int i = 0; i < d->setting_count; i++)
		if (strcmp(d->settings[i].name, "metadata") == 0)
			return strcmp(d->settings[i].text, "yes") == 0;
	return false;
}
