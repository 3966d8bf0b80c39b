/* Who may learn, see learning.h. */
#include "daemon/learning.h"

#include <string.h>

#include "base/log.h"
#include "conf/grant.h"
#include "daemon/link_broker.h"
#include "daemon/supervisor.h"

const char *
learning_fault(const struct supervisor *sv, const char *name,
    uint32_t owner_uid)
{
	const struct hostconf *h = sv->config->host;
	struct message_broker_attach who = { .generation = 0 };

	if (!h->has_ceiling)
		return "learning needs a ceiling, since nothing else bounds "
		       "what is let through meanwhile: this host has `policy = "
		       "none`; whoever runs it can name one in [ceiling]";
	(void)strncpy(who.sandbox, name, sizeof(who.sandbox) - 1);
	link_broker_fill_owner(&who, owner_uid);
	if (!grants_cover(h->learn, h->learn_count, &who))
		return "this host does not let your sandboxes learn: whoever "
		       "runs it can write `learn = NAME user:YOU` into "
		       "[ceiling] of its configuration and reload it; "
		       "NAME may hold stars";
	/* The ceiling before stays when the new one has an error. */
	if (sv->ceiling.policy == NULL || !policy_learns(sv->ceiling.policy))
		return "the host's ceiling that counts does not permit to "
		       "learn yet: tapward status says which it is";
	return NULL;
}

bool
learning_may(const struct sandbox *s)
{
	return learning_fault(s->sv, s->state.name, s->state.owner_uid) == NULL;
}

bool
learning_settle(struct sandbox *s)
{
	int rc;

	if (!s->learns || learning_may(s))
		return true;
	rc = policy_set_unlearn(&s->policy, s->sv->ceiling.policy);
	if (rc == 0)
		rc = sandbox_keep_policy(s, &s->policy);
	if (rc != 0) {
		log_err("learning", "sandbox=%s: %s", s->state.name,
		    strerror(-rc));
		return false;
	}
	s->learns = false;
	sandbox_say(s, "learns no longer");
	return true;
}
