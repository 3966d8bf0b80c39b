/*
 * Text that the agent reads in the guest: u8 length and a user's name, then a
 * text that is taken as configuration, accounts and environment. The image may
 * be anybody's.
 *
 * Holds: a configuration that is taken has a root and one way to the host, and
 * names that end; a user that is found is none but (uid_t)-1, and what is of
 * him has lines or a number to come from; an environment has no name twice.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "vmm/agent/config.h"
#include "vmm/agent/env.h"
#include "vmm/agent/user.h"

static void
check_config(struct span text)
{
	struct agent_config c;
	struct err err = { "" };

	if (agent_config_parse(text, &c, &err) != 0) {
		HOLDS(err.text[0] != '\0');
		return;
	}
	HOLDS(c.root[0] != '\0');
	HOLDS((c.port[0] != '\0') != (c.vsock_port != 0));
	HOLDS(c.prefix_len <= 32);
	HOLDS(c.gateway == 0 || c.address != 0);
	HOLDS(strlen(c.workdir) < sizeof(c.workdir));
	HOLDS(c.workdir[0] == '\0' || c.workdir[0] == '/');
}

static void
check_user(struct span spec, struct span text)
{
	struct user u;
	struct err err = { "" };

	if (user_find(spec, text, text, &u, &err) != 0) {
		HOLDS(err.text[0] != '\0');
		return;
	}
	HOLDS(u.uid != (uid_t)-1 && u.gid != (gid_t)-1);
	HOLDS(u.group_count <= USER_GROUPS_MAX);
	for (size_t i = 0; i < u.group_count; i++)
		HOLDS(u.groups[i] != (gid_t)-1);
	HOLDS(strlen(u.name) < sizeof(u.name));
	HOLDS(strlen(u.home) < sizeof(u.home));
	HOLDS(u.name[0] == '\0' || spec.len == 0 || text.len > 0 || u.uid == 0);
}

static void
check_env(struct span text)
{
	struct env e = { .vars = NULL };

	HOLDS(env_put_lines(&e, text) == 0);
	for (size_t i = 0; i < e.count; i++) {
		const char *sign = strchr(e.vars[i], '=');

		HOLDS(sign != NULL && sign != e.vars[i]);
		for (size_t k = 0; k < i; k++)
			HOLDS(strncmp(e.vars[i], e.vars[k],
				  (size_t)(sign - e.vars[i]) + 1) != 0);
	}
	HOLDS(e.count == 0 || e.vars[e.count] == NULL);
	env_done(&e);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd r = rd_init(data, size);
	const struct span spec = rd_take(&r, rd_u8(&r));
	struct span text;

	if (!rd_ok(&r) || size > 20000)
		return 0;
	text = rd_take(&r, rd_left(&r));
	check_config(text);
	check_user(spec, text);
	check_env(text);
	return 0;
}
