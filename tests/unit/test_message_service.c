/*
 * Bodies of the messages to dialler and broker: what no honest supervisor
 * writes is refused where it is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "base/message_broker.h"
#include "base/message_dialler.h"
#include "base/message_done.h"

static struct message_dialler_config config;
static struct message_broker_credential credential;

static void
good_config(void)
{
	memset(&config, 0, sizeof(config));
	config.limits = (struct message_dialler_limits){ 1, 1, 1, 1, 1, 1, 1 };
	config.resolver_count = 1;
	config.resolvers[0].address.family = 4;
	config.resolvers[0].port = 53;
	config.own_range_count = 1;
	config.own_ranges[0].address =
	    (struct message_address){ 4, { 100, 64, 0, 0 } };
	config.own_ranges[0].bits = 30;
	config.exception_count = 1;
	config.exceptions[0].host_count = 1;
	(void)snprintf(config.exceptions[0].hosts[0], DIALLER_PATTERN_SIZE,
	    "**.corp.example");
	config.exceptions[0].range_count = 1;
	config.exceptions[0].ranges[0].address =
	    (struct message_address){ 6, { 0xfd } };
	config.exceptions[0].ranges[0].bits = 8;
	(void)snprintf(config.proxy.host, HOST_NAME_SIZE, "p.example.org");
	config.proxy.port = 3128;
	(void)snprintf(config.proxy.user, DIALLER_PROXY_USER_SIZE, "svc");
	config.proxy.has_password = true;
	config.proxy.direct_count = 1;
	(void)snprintf(config.proxy.direct[0], DIALLER_PATTERN_SIZE,
	    "*.x.example");
}

static int
read_config_again(void)
{
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	static struct message_dialler_config read;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;
	int rc;

	message_dialler_config_encode(&w, &config);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	memset(&read, 0, sizeof(read));
	rc = message_dialler_config_decode(&r, &read);
	if (rc == 0) {
		assert_true(rd_done(&r));
		assert_memory_equal(&read, &config, sizeof(read));
	}
	return rc;
}

static void
bit_past_range(void)
{
	config.own_ranges[0].address.bytes[3] = 1;
}

static void
too_many_bits(void)
{
	config.own_ranges[0].bits = 33;
}

static void
no_limit(void)
{
	config.limits.in_flight = 0;
}

static void
no_time(void)
{
	config.limits.connect_timeout_ms = 0;
}

static void
no_port(void)
{
	config.resolvers[0].port = 0;
}

static void
no_pattern(void)
{
	config.exceptions[0].hosts[0][0] = '\0';
}

static void
no_family(void)
{
	config.resolvers[0].address.family = 5;
}

static void
proxy_without_port(void)
{
	config.proxy.port = 0;
}

static void
user_without_proxy(void)
{
	config.proxy.host[0] = '\0';
	config.proxy.port = 0;
}

static void
password_without_user(void)
{
	config.proxy.user[0] = '\0';
}

static void
no_direct_pattern(void)
{
	config.proxy.direct[0][0] = '\0';
}

static void
refuses_what_would_widen_what_is_dialled(void **state)
{
	static void (*const spoils[])(void) = { bit_past_range, too_many_bits,
		no_limit, no_time, no_port, no_pattern, no_family,
		proxy_without_port, user_without_proxy, password_without_user,
		no_direct_pattern };

	(void)state;
	good_config();
	assert_int_equal(read_config_again(), 0);
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		good_config();
		spoils[i]();
		if (read_config_again() != -EBADMSG)
			fail_msg("spoilt in way %zu", i);
	}
}

static void
good_credential(void)
{
	struct message_broker_grant *g = &credential.grants[0];

	memset(&credential, 0, sizeof(credential));
	(void)snprintf(credential.name, sizeof(credential.name), "npm");
	credential.host_count = 1;
	(void)snprintf(credential.hosts[0], HOST_NAME_SIZE, "a.example");
	credential.port = 443;
	credential.serves_websocket = true;
	credential.grant_count = 1;
	(void)snprintf(g->name, sizeof(g->name), "ci-*");
	g->owner = BROKER_OWNER_USER;
	(void)snprintf(g->principal, sizeof(g->principal), "ci-runner");
}

static int
read_credential_again(void)
{
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	static struct message_broker_credential read;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;
	int rc;

	message_broker_credential_encode(&w, &credential);
	assert_true(wr_ok(&w));
	r = rd_init(buf, w.len);
	memset(&read, 0, sizeof(read));
	rc = message_broker_credential_decode(&r, &read);
	if (rc == 0) {
		assert_true(rd_done(&r));
		assert_memory_equal(&read, &credential, sizeof(read));
	}
	return rc;
}

static void
user_without_name(void)
{
	credential.grants[0].principal[0] = '\0';
}

static void
root_with_name(void)
{
	credential.grants[0].owner = BROKER_OWNER_ROOT;
}

static void
no_owner(void)
{
	credential.grants[0].owner = BROKER_OWNER_COUNT;
}

static void
no_sandbox(void)
{
	credential.grants[0].name[0] = '\0';
}

static void
no_kind(void)
{
	credential.kind = BROKER_KIND_COUNT;
}

static void
no_apply(void)
{
	credential.apply = LEASE_APPLY_COUNT;
}

static void
no_name(void)
{
	credential.name[0] = '\0';
}

static void
no_host(void)
{
	credential.hosts[0][0] = '\0';
}

static void
refuses_what_would_widen_a_grant(void **state)
{
	static void (*const spoils[])(void) = { user_without_name,
		root_with_name, no_owner, no_sandbox, no_kind, no_apply,
		no_name, no_host };

	(void)state;
	good_credential();
	assert_int_equal(read_credential_again(), 0);
	for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
		good_credential();
		spoils[i]();
		if (read_credential_again() != -EBADMSG)
			fail_msg("spoilt in way %zu", i);
	}
}

/* The largest definition has to fit the message that carries it. */
static void
holds_the_largest_definition(void **state)
{
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	good_credential();
	credential.host_count = BROKER_HOSTS_MAX;
	credential.path_count = BROKER_PATHS_MAX;
	credential.deny_path_count = BROKER_PATHS_MAX;
	for (int i = 0; i < BROKER_HOSTS_MAX; i++)
		memset(credential.hosts[i], 'a', HOST_NAME_SIZE - 1);
	for (int i = 0; i < BROKER_PATHS_MAX; i++) {
		memset(credential.paths[i], 'a', BROKER_PATH_SIZE - 1);
		memset(credential.deny_paths[i], 'a', BROKER_PATH_SIZE - 1);
	}
	message_broker_credential_encode(&w, &credential);
	assert_true(wr_ok(&w));
}

static void
takes_one_printable_line_as_an_answer(void **state)
{
	static const struct message_done rows[] = {
		{ true, "" },
		{ false, "what, and how to mend it" },
		{ false, "two\nlines" },
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		uint8_t buf[MESSAGE_SMALL_BYTES];
		struct wr w = wr_init(buf, sizeof(buf));
		struct message_done read = { false, "" };
		struct rd r;

		message_done_encode(&w, &rows[i]);
		r = rd_init(buf, w.len);
		assert_int_equal(message_done_decode(&r, &read),
		    i == 2 ? -EBADMSG : 0);
		if (i < 2)
			assert_string_equal(read.text, rows[i].text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_what_would_widen_what_is_dialled),
		cmocka_unit_test(refuses_what_would_widen_a_grant),
		cmocka_unit_test(holds_the_largest_definition),
		cmocka_unit_test(takes_one_printable_line_as_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
