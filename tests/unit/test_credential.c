/*
 * Definitions of credentials: what is taken over, and who may use it.
 */
#include "conf/grant.h"
#include "tests/unit/broker_support.h"
#include "tests/unit/caught_log.h"

static const struct {
	const char *claim, *value;
	size_t len;
	const char *want;
} value_rows[] = {
	{ "nothing", "", 0, "holds nothing" },
	{ "line ends only", "\r\n\n", 3, "holds nothing" },
	{ "too little to be told in an answer", "1234567\n", 8, "less than 8" },
	{ "a second line", CANARY "\nX-Evil: 1", 27, "control byte" },
	{ "a carriage return", CANARY "\rx", 19, "control byte" },
	{ "a NUL", CANARY "\0x", 19, "control byte" },
	{ "a tab", CANARY "\tx", 19, "control byte" },
	{ "DEL", CANARY "\x7fx", 19, "control byte" },
	{ "a blank at its end", CANARY " ", 18, "blank" },
};

static void
refuses_a_value_that_no_header_can_hold(void **state)
{
	struct world *w = world_ready();

	(void)state;
	for (size_t i = 0; i < sizeof(value_rows) / sizeof(value_rows[0]);
	     i++) {
		send_definition(w, unbound(), CANARY "-other");
		send_definition_from(w, npm(),
		    source(value_rows[i].value, value_rows[i].len));
		send_configured(w, 2);
		if (w->done.ok ||
		    strstr(w->done.text, value_rows[i].want) == NULL)
			fail_msg("%s: %s", value_rows[i].claim, w->done.text);
		assert_non_null(strstr(w->done.text, "credential npm"));
		assert_non_null(strstr(w->done.text, "file:/secret/npm"));
	}
	/* The set before is in force, all of it. */
	assert_string_equal(ask_npm(w)->value, CANARY);
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	world_free(w);
}

static void
refuses_a_source_that_is_not_a_private_file(void **state)
{
	struct world *w = world_ready();
	static char large[KIND_VALUE_MAX_BYTES + 17];
	int pipe_fds[2];

	(void)state;
	send_definition_from(w, npm(), file_with_mode(0640));
	send_configured(w, 1);
	assert_non_null(strstr(w->done.text, "chmod 600"));
	send_definition_from(w, npm(), file_with_mode(0400));
	send_configured(w, 1);
	assert_true(w->done.ok);
	assert_string_equal(ask_npm(w)->value, CANARY);
	assert_int_equal(pipe(pipe_fds), 0);
	send_definition_from(w, npm(), pipe_fds[0]);
	send_configured(w, 1);
	assert_non_null(strstr(w->done.text, "is not a file"));
	(void)close(pipe_fds[1]);
	memset(large, 'a', sizeof(large));
	send_definition_from(w, npm(), source(large, sizeof(large)));
	send_configured(w, 1);
	assert_non_null(strstr(w->done.text, "16 KiB"));
	send_definition_from(w, npm(), source(large, sizeof(large) - 1));
	send_configured(w, 1);
	assert_non_null(strstr(w->done.text, "16 KiB"));
	world_free(w);
}

/* The supervisor could not open it; the others are none the worse for it. */
static void
lends_nothing_of_what_came_without_its_source(void **state)
{
	struct world *w = world_ready();

	(void)state;
	send_definition_from(w, npm(), -1);
	send_definition(w, unbound(), CANARY "-free");
	send_configured(w, 2);
	assert_true(w->done.ok);
	assert_int_equal(ask_npm(w)->reason, REASON_CREDENTIAL_UNAVAILABLE);
	wait_for_count(w, &w->record_count, 1);
	assert_string_equal(w->records[0].detail, "not-ready");
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	/* Guests are kept from bringing a key of theirs all the same. */
	wait_for_count(w, &w->told_count, 2);
	assert_int_equal(w->grant_count, 2);
	assert_string_equal(w->grants[0].hosts[0], "npm.acme.example");
	world_free(w);
}

/* Nothing is in force yet: a set that lacks a value is better than none. */
static void
begins_without_a_value_that_is_of_no_use(void **state)
{
	struct world *w = world_new();

	(void)state;
	attach(w, "ci-one");
	send_definition_from(w, npm(), file_with_mode(0640));
	send_definition(w, unbound(), CANARY "-free");
	send_configured(w, 2);
	assert_true(w->done.ok);
	assert_non_null(strstr(w->done.text, "credential npm"));
	assert_non_null(strstr(w->done.text, "chmod 600"));
	wait_for_count(w, &w->told_count, 1);
	assert_int_equal(w->grant_count, 2);
	assert_string_equal(w->grants[0].hosts[0], "npm.acme.example");
	assert_int_equal(ask_npm(w)->reason, REASON_CREDENTIAL_UNAVAILABLE);
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	/* From then on a set is in force, and one that is worse is refused. */
	send_definition(w, npm(), CANARY);
	send_definition(w, unbound(), "short");
	send_configured(w, 2);
	assert_false(w->done.ok);
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	send_definition(w, npm(), CANARY);
	send_configured(w, 1);
	assert_true(w->done.ok);
	assert_string_equal(w->done.text, "");
	assert_string_equal(ask_npm(w)->value, CANARY);
	world_free(w);
}

/* Of both, what is said is why the set was refused. */
static void
does_not_begin_with_a_definition_that_is_not_sound(void **state)
{
	struct world *w = world_new();

	(void)state;
	send_definition_from(w, npm(), file_with_mode(0640));
	send_definition(w, unbound(), CANARY);
	send_definition(w, unbound(), CANARY);
	send_configured(w, 3);
	assert_false(w->done.ok);
	assert_non_null(strstr(w->done.text, "defined twice"));
	assert_false(broker_is_configured(w->broker));
	world_free(w);
}

static void
spoil_host(struct message_broker_credential *m)
{
	(void)snprintf(m->hosts[0], sizeof(m->hosts[0]), "*.acme.example");
}

static void
spoil_hosts(struct message_broker_credential *m)
{
	m->host_count = 0;
}

static void
spoil_method(struct message_broker_credential *m)
{
	(void)snprintf(m->methods[0], sizeof(m->methods[0]), "TRACE");
}

static void
spoil_path(struct message_broker_credential *m)
{
	(void)snprintf(m->paths[0], sizeof(m->paths[0]), "/a/../b");
}

static void
spoil_deny_path(struct message_broker_credential *m)
{
	(void)snprintf(m->deny_paths[0], sizeof(m->deny_paths[0]), "token");
}

static void
spoil_field(struct message_broker_credential *m)
{
	m->apply = LEASE_APPLY_HEADER;
	(void)snprintf(m->field, sizeof(m->field), "x-a: b");
}

static void
spoil_parameter(struct message_broker_credential *m)
{
	m->apply = LEASE_APPLY_QUERY;
	(void)snprintf(m->field, sizeof(m->field), "key=a&b");
}

static void
spoil_target(struct message_broker_credential *m)
{
	(void)snprintf(m->field, sizeof(m->field), "x-a");
}

static void
spoil_strip(struct message_broker_credential *m)
{
	(void)snprintf(m->strip[0], sizeof(m->strip[0]), "Authorization");
}

static void
spoil_strip_response(struct message_broker_credential *m)
{
	m->strip_response[0][0] = ':';
}

static void
spoil_user(struct message_broker_credential *m)
{
	m->apply = LEASE_APPLY_BASIC;
	(void)snprintf(m->user, sizeof(m->user), "a:b");
}

static void
refuses_a_definition_that_is_not_sound(void **state)
{
	static void (*const spoils[])(struct message_broker_credential *
	    m) = { spoil_host, spoil_hosts, spoil_method, spoil_path,
		spoil_deny_path, spoil_field, spoil_parameter, spoil_target,
		spoil_strip, spoil_strip_response, spoil_user };
	struct world *w = world_ready();

	(void)state;
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		struct message_broker_credential *m = npm();

		spoils[i](m);
		send_definition(w, m, CANARY);
		send_configured(w, 1);
		if (w->done.ok)
			fail_msg("spoilt in way %zu", i);
	}
	/* Two of one name, and fewer than were said to come. */
	send_definition(w, npm(), CANARY);
	send_definition(w, npm(), CANARY);
	send_configured(w, 2);
	assert_false(w->done.ok);
	send_definition(w, npm(), CANARY);
	send_configured(w, 2);
	assert_false(w->done.ok);
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	world_free(w);
}

static const struct {
	const char *claim, *pattern;
	uint8_t owner;
	const char *principal, *sandbox;
	uid_t uid;
	const char *user;
	bool want;
} grant_rows[] = {
	{ "name and user", "ci-*", BROKER_OWNER_USER, "ci-runner", "ci-1", 1000,
	    "ci-runner", true },
	{ "another name", "ci-*", BROKER_OWNER_USER, "ci-runner", "dev-1", 1000,
	    "ci-runner", false },
	{ "the name as a part", "ci-*", BROKER_OWNER_USER, "ci-runner", "xci-1",
	    1000, "ci-runner", false },
	{ "another user", "ci-*", BROKER_OWNER_USER, "ci-runner", "ci-1", 1001,
	    "mallory", false },
	{ "a user without a name", "ci-*", BROKER_OWNER_USER, "ci-runner",
	    "ci-1", 1002, "", false },
	{ "root is not that user", "ci-*", BROKER_OWNER_USER, "ci-runner",
	    "ci-1", 0, "root", false },
	{ "a group", "*", BROKER_OWNER_GROUP, "builders", "ci-1", 1000, "x",
	    true },
	{ "another group", "*", BROKER_OWNER_GROUP, "admins", "ci-1", 1000, "x",
	    false },
	{ "a group is not a user", "*", BROKER_OWNER_GROUP, "x", "ci-1", 1000,
	    "x", false },
	{ "a user is not a group", "*", BROKER_OWNER_USER, "builders", "ci-1",
	    1000, "x", false },
	{ "no owner: root's", "*", BROKER_OWNER_ROOT, "", "ci-1", 0, "root",
	    true },
	{ "no owner: nobody else's", "*", BROKER_OWNER_ROOT, "", "ci-1", 1000,
	    "ci-runner", false },
	{ "an exact name", "ci-1", BROKER_OWNER_ROOT, "", "ci-1", 0, "root",
	    true },
	{ "and not what begins so", "ci-1", BROKER_OWNER_ROOT, "", "ci-10", 0,
	    "root", false },
};

static void
grants_by_name_and_owner(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(grant_rows) / sizeof(grant_rows[0]);
	     i++) {
		static struct credential c;
		struct message_broker_grant *g = &c.definition.grants[0];
		struct message_broker_attach s = { .owner_uid =
						       grant_rows[i].uid,
			.group_count = 1,
			.groups = { "builders" } };

		c.definition.grant_count = 1;
		g->owner = grant_rows[i].owner;
		(void)snprintf(g->name, sizeof(g->name), "%s",
		    grant_rows[i].pattern);
		(void)snprintf(g->principal, sizeof(g->principal), "%s",
		    grant_rows[i].principal);
		(void)snprintf(s.sandbox, sizeof(s.sandbox), "%s",
		    grant_rows[i].sandbox);
		(void)snprintf(s.owner_user, sizeof(s.owner_user), "%s",
		    grant_rows[i].user);
		if (grant_covers(&c.definition, &s) != grant_rows[i].want)
			fail_msg("%s", grant_rows[i].claim);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_a_value_that_no_header_can_hold),
		cmocka_unit_test(refuses_a_source_that_is_not_a_private_file),
		cmocka_unit_test(lends_nothing_of_what_came_without_its_source),
		cmocka_unit_test(begins_without_a_value_that_is_of_no_use),
		cmocka_unit_test(
		    does_not_begin_with_a_definition_that_is_not_sound),
		cmocka_unit_test(refuses_a_definition_that_is_not_sound),
		cmocka_unit_test(grants_by_name_and_owner),
	};

	return cmocka_run_group_tests(tests, catch_log, look_through_log);
}
