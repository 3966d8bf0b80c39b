/*
 * What the guest's agent reads as text: its configuration, the image's
 * accounts, environments.
 */
#include "wire_rows.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "vmm/agent/config.h"
#include "vmm/agent/env.h"
#include "vmm/agent/user.h"

#define WHOLE "root=r\nport=p\n"

static void
reads_a_configuration(void **state)
{
	static const uint8_t mac[6] = { 2, 0x54, 0x57, 0xab, 0xcd, 0xef };
	static const char text[] =
	    "address=100.64.0.2/30\ngateway=100.64.0.1\n"
	    "mac=02:54:57:ab:CD:ef\ndns=100.64.0.1\nhostname=ci-7\n"
	    "root=tapward-root\ndisk=/dev/vdb\nvsock=1024\n\n"
	    "time=1769817600\nworkdir=/workspace\nuser=node:node\noff=reboot";
	struct agent_config c;
	struct err err;

	(void)state;
	assert_int_equal(agent_config_parse(span_of(text), &c, &err), 0);
	assert_int_equal(c.address, 0x64400002);
	assert_int_equal(c.prefix_len, 30);
	assert_int_equal(c.gateway, 0x64400001);
	assert_int_equal(c.dns, 0x64400001);
	assert_true(c.has_mac);
	assert_memory_equal(c.mac, mac, sizeof(mac));
	assert_string_equal(c.hostname, "ci-7");
	assert_string_equal(c.root, "tapward-root");
	assert_string_equal(c.disk, "/dev/vdb");
	assert_string_equal(c.port, "");
	assert_int_equal(c.vsock_port, 1024);
	assert_int_equal(c.time_s, 1769817600);
	assert_string_equal(c.workdir, "/workspace");
	assert_string_equal(c.user, "node:node");
	assert_true(c.reboots);
}

static void
does_with_the_least(void **state)
{
	struct agent_config c;
	struct err err;

	(void)state;
	assert_int_equal(agent_config_parse(span_of(WHOLE), &c, &err), 0);
	assert_int_equal(c.address, 0);
	assert_false(c.has_mac);
	assert_false(c.reboots);
}

static const struct {
	const char *claim, *text, *want;
} configs[] = {
	{ "nothing", "", "/tapward/config: no root" },
	{ "no way to the host", "root=r\n",
	    "/tapward/config: one of port and vsock is wanted" },
	{ "two ways", WHOLE "vsock=9\n",
	    "/tapward/config: one of port and vsock is wanted" },
	{ "a key that there is not", WHOLE "rot=x\n",
	    "/tapward/config:3: no such key" },
	{ "a line without a value", "root\n",
	    "/tapward/config:1: not a value of root" },
	{ "an empty value", "root=\n",
	    "/tapward/config:1: not a value of root" },
	{ "a key twice", "root=a\nroot=b\n",
	    "/tapward/config:2: root a second time" },
	{ "a gateway to nowhere", WHOLE "gateway=1.2.3.4\n",
	    "/tapward/config: a gateway without an address" },
	{ "three numbers", WHOLE "dns=1.2.3\n",
	    "/tapward/config:3: not a value of dns" },
	{ "five numbers", WHOLE "dns=1.2.3.4.5\n",
	    "/tapward/config:3: not a value of dns" },
	{ "a number above 255", WHOLE "dns=1.2.3.256\n",
	    "/tapward/config:3: not a value of dns" },
	{ "a sign", WHOLE "dns=1.2.3.+4\n",
	    "/tapward/config:3: not a value of dns" },
	{ "no address", WHOLE "dns=0.0.0.0\n",
	    "/tapward/config:3: not a value of dns" },
	{ "a length of 33", WHOLE "address=1.2.3.4/33\n",
	    "/tapward/config:3: not a value of address" },
	{ "no length", WHOLE "address=1.2.3.4\n",
	    "/tapward/config:3: not a value of address" },
	{ "five bytes of a MAC", WHOLE "mac=02:00:00:00:00\n",
	    "/tapward/config:3: not a value of mac" },
	{ "seven", WHOLE "mac=02:00:00:00:00:00:00\n",
	    "/tapward/config:3: not a value of mac" },
	{ "a relative folder", WHOLE "workdir=a\n",
	    "/tapward/config:3: not a value of workdir" },
	{ "vsock port 0", "root=r\nvsock=0\n",
	    "/tapward/config:2: not a value of vsock" },
	{ "another end", WHOLE "off=halt\n",
	    "/tapward/config:3: not a value of off" },
};

static void
says_what_is_wrong_with_a_configuration(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(configs); i++) {
		struct agent_config c;
		struct err err;

		row_equal(configs[i].claim,
		    (uint64_t)-agent_config_parse(span_of(configs[i].text), &c,
			&err),
		    EINVAL);
		row_span(configs[i].claim, span_of(err.text), configs[i].want);
	}
}

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
			     "broken:x:five:5::/:/bin/sh\n"
			     "daemon:*:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
			     "node:x:1000:1000::/home/node:/bin/sh\n"
			     "noshell:x:1001:100::/home/noshell:\n"
			     "short:x:1002:1002\n"
			     "1003:x:4000:4000::/home/number:/bin/sh";
static const char group[] = "root:x:0:\n"
			    "docker:x:999:node,other\n"
			    "other:x:998:other\n"
			    "users:x:100:node,node\n"
			    "node:x:1000:node\n"
			    "bad:x\n"
			    "adm:x:4:nodeless,node";

static const struct {
	const char *claim, *spec;
	int want;
	uint32_t uid, gid;
	const char *home, *name;
} users[] = {
	{ "nobody said is root", "", 0, 0, 0, "/root", "root" },
	{ "a name", "node", 0, 1000, 1000, "/home/node", "node" },
	{ "a number of a name", "1000", 0, 1000, 1000, "/home/node", "node" },
	{ "a number of nobody", "4711", 0, 4711, 4711, "/", "" },
	{ "a name with another group", "node:docker", 0, 1000, 999,
	    "/home/node", "node" },
	{ "two numbers", "5:6", 0, 5, 6, "/", "" },
	{ "a name with a number", "node:7", 0, 1000, 7, "/home/node", "node" },
	{ "a user that there is not", "nod", -EINVAL, 0, 0, "", "" },
	{ "a group that there is not", "node:nope", -EINVAL, 0, 0, "", "" },
	{ "a line that is broken", "broken", -EINVAL, 0, 0, "", "" },
	{ "a line that is too short", "short", -EINVAL, 0, 0, "", "" },
	{ "a number first, though a name looks like it", "1003", 0, 1003, 1003,
	    "/", "" },
	{ "the number that changes nothing", "4294967295", -EINVAL, 0, 0, "",
	    "" },
	{ "a number below 0", "-1", -EINVAL, 0, 0, "", "" },
	{ "no shell", "noshell", 0, 1001, 100, "/home/noshell", "noshell" },
};

static void
finds_users(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(users); i++) {
		struct user u = { .home = "" };
		struct err err;
		const int rc = user_find(span_of(users[i].spec),
		    span_of(passwd), span_of(group), &u, &err);

		row_equal(users[i].claim, (uint64_t)-rc,
		    (uint64_t)-users[i].want);
		row_equal(users[i].claim, u.uid, users[i].uid);
		row_equal(users[i].claim, u.gid, users[i].gid);
		row_span(users[i].claim, span_of(u.home), users[i].home);
		row_span(users[i].claim, span_of(u.name), users[i].name);
	}
}

static void
finds_the_groups_of_a_user(void **state)
{
	struct user u;
	struct err err;

	(void)state;
	assert_int_equal(user_find(span_of("node"), span_of(passwd),
			     span_of(group), &u, &err),
	    0);
	assert_int_equal(u.group_count, 3);
	assert_int_equal(u.groups[0], 999);
	assert_int_equal(u.groups[1], 100);
	assert_int_equal(u.groups[2], 4);
	/* a number that is nobody's is in no group */
	assert_int_equal(user_find(span_of("4711"), span_of(passwd),
			     span_of(group), &u, &err),
	    0);
	assert_int_equal(u.group_count, 0);
}

static void
does_without_accounts(void **state)
{
	const struct span none = { NULL, 0 };
	struct user u;
	struct err err;

	(void)state;
	assert_int_equal(user_find(span_of("root"), none, none, &u, &err), 0);
	assert_int_equal(u.uid, 0);
	assert_string_equal(u.home, "/root");
	assert_int_equal(user_find(span_of("node"), none, none, &u, &err),
	    -EINVAL);
	assert_string_equal(err.text, "no user \"node\" in this image");
}

static void
puts_an_environment_together(void **state)
{
	struct env e = { .vars = NULL }, copy = { .vars = NULL };
	char name[16];

	(void)state;
	assert_int_equal(env_put_lines(&e,
			     span_of("A=1\n\nnothing\n=x\nB=a=b\nA=2\nC=")),
	    0);
	assert_int_equal(e.count, 3);
	assert_string_equal(env_get(&e, "A"), "2");
	assert_string_equal(env_get(&e, "B"), "a=b");
	assert_string_equal(env_get(&e, "C"), "");
	assert_null(env_get(&e, "AB"));
	assert_int_equal(env_put(&e, (struct span)BYTES("D=a\0b")), -EINVAL);
	assert_int_equal(env_set(&e, "AB", "3"), 0);
	assert_string_equal(env_get(&e, "A"), "2");
	assert_int_equal(env_set(&e, "A=", "3"), 0);
	assert_string_equal(env_get(&e, "A"), "=3");
	for (unsigned int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "N%u", i);
		assert_int_equal(env_set(&e, name, "x"), 0);
	}
	assert_int_equal(e.count, 1004);
	assert_null(e.vars[1004]);
	assert_int_equal(env_put_all(&copy, &e), 0);
	assert_int_equal(copy.count, 1004);
	env_done(&e);
	env_done(&copy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_configuration),
		cmocka_unit_test(does_with_the_least),
		cmocka_unit_test(says_what_is_wrong_with_a_configuration),
		cmocka_unit_test(finds_users),
		cmocka_unit_test(finds_the_groups_of_a_user),
		cmocka_unit_test(does_without_accounts),
		cmocka_unit_test(puts_an_environment_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
