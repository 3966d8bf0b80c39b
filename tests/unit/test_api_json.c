/* The control API's JSON and routes: what is taken, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/api_json.h"
#include "daemon/api_route.h"

static const struct {
	const char *claim;
	enum api_op op;
	const char *json;
	int want;
	const char *says; /* part of the error */
} body_rows[] = {
	{ "a create with all its members", API_CREATE,
	    "{\"name\":\"a\",\"policy\":\"[policy]\",\"policy_name\":\"p.ini\","
	    "\"device\":\"veth\",\"owner\":5,\"ca\":\"b\",\"ttl\":60}",
	    0, "" },
	{ "an empty object", API_CREATE, "{}", 0, "" },
	{ "a reload takes a policy", API_RELOAD, "{\"policy\":\"x\"}", 0, "" },
	{ "a reload takes no device", API_RELOAD, "{\"device\":\"tap\"}",
	    -EINVAL, "no member" },
	{ "a misspelt member is an error", API_CREATE, "{\"tlt\":60}", -EINVAL,
	    "no member" },
	{ "a member that comes twice", API_CREATE, "{\"ttl\":60,\"ttl\":0}",
	    -EINVAL, "not JSON" },
	{ "a path is no member", API_CREATE, "{\"netns\":\"/run/x\"}", -EINVAL,
	    "no member" },
	{ "a policy path is no member", API_CREATE,
	    "{\"policy_path\":\"/etc/shadow\"}", -EINVAL, "no member" },
	{ "an unknown device", API_CREATE, "{\"device\":\"bridge\"}", -EINVAL,
	    "\"tap\" or \"veth\"" },
	{ "a text where a number belongs", API_CREATE, "{\"ttl\":\"60\"}",
	    -EINVAL, "a whole number" },
	{ "a negative time", API_CREATE, "{\"ttl\":-1}", -EINVAL, "from 0" },
	{ "a time that would wrap", API_CREATE, "{\"ttl\":4294967296}", -EINVAL,
	    "from 0" },
	{ "the owner that stands for the peer", API_CREATE,
	    "{\"owner\":4294967295}", -EINVAL, "from 0" },
	{ "a name that is too long", API_CREATE,
	    "{\"name\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}",
	    -EINVAL, "too long" },
	{ "a name that is a path", API_CREATE, "{\"name\":\"../x\"}", -EINVAL,
	    "a to z" },
	{ "a name in capitals", API_CREATE, "{\"name\":\"A\"}", -EINVAL,
	    "a to z" },
	{ "a name that begins like an option", API_CREATE, "{\"name\":\"-a\"}",
	    -EINVAL, "a to z" },
	{ "a CA that is a path", API_CREATE, "{\"ca\":\"../../x\"}", -EINVAL,
	    "\"ca\" is made of" },
	{ "a CA that is not named", API_CREATE, "{\"ca\":\"\"}", 0, "" },
	{ "a NUL in a name", API_CREATE, "{\"name\":\"a\\u0000b\"}", -EINVAL,
	    "not JSON" },
	{ "a control byte in the policy's name", API_CREATE,
	    "{\"policy_name\":\"a\\nb\"}", -EINVAL, "printable" },
	{ "an array", API_CREATE, "[]", -EINVAL, "not a JSON object" },
	{ "no JSON at all", API_CREATE, "name=a", -EINVAL, "not JSON" },
	{ "nothing", API_CREATE, "", -EINVAL, "not JSON" },
	{ "attach takes netns", API_ATTACH, "{\"netns\":true}", 0, "" },
	{ "attach takes no policy", API_ATTACH, "{\"policy\":\"x\"}", -EINVAL,
	    "no member" },
};

static void
reads_bodies(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(body_rows) / sizeof(*body_rows); i++) {
		struct message_api_request req = {
			.op = (uint8_t)body_rows[i].op
		};
		struct api_body body = { NULL, 0 };
		struct err err = { "" };
		int rc = api_json_read(span_of(body_rows[i].json), &req, &body,
		    &err);

		api_body_done(&body);
		if (rc != body_rows[i].want ||
		    strstr(err.text, body_rows[i].says) == NULL)
			fail_msg("%s: %d, \"%s\"", body_rows[i].claim, rc,
			    err.text);
	}
}

static void
keeps_what_it_read(void **state)
{
	struct message_api_request req = { .op = API_CREATE };
	struct api_body body = { NULL, 0 };
	struct err err = { "" };

	(void)state;
	assert_int_equal(api_json_read(span_of(body_rows[0].json), &req, &body,
			     &err),
	    0);
	assert_string_equal(req.name, "a");
	assert_string_equal(req.ca, "b");
	assert_string_equal(req.display_name, "p.ini");
	assert_int_equal(req.device, API_DEVICE_VETH);
	assert_int_equal(req.owner_uid, 5);
	assert_int_equal(req.ttl_s, 60);
	assert_int_equal(body.policy_len, 8);
	assert_string_equal(body.policy, "[policy]");
	api_body_done(&body);
}

static const struct {
	const char *claim, *line;
	unsigned int status;
	enum api_op op;
	const char *name;
} route_rows[] = {
	{ "the list", "GET /v1/sandboxes", 200, API_LIST, "" },
	{ "its next page", "GET /v1/sandboxes?after=b", 200, API_LIST, "b" },
	{ "create", "POST /v1/sandboxes", 200, API_CREATE, "" },
	{ "one sandbox", "GET /v1/sandboxes/ab-1", 200, API_SHOW, "ab-1" },
	{ "its end", "DELETE /v1/sandboxes/a", 200, API_REMOVE, "a" },
	{ "its policy", "PUT /v1/sandboxes/a/policy", 200, API_RELOAD, "a" },
	{ "attach", "POST /v1/sandboxes/a/attach", 200, API_ATTACH, "a" },
	{ "its log", "GET /v1/sandboxes/a/log?denied=1&follow=1", 200, API_LOG,
	    "a" },
	{ "the whole log", "GET /v1/log", 200, API_LOG, "" },
	{ "status", "GET /v1/status", 200, API_STATUS, "" },
	{ "metrics", "GET /metrics", 200, API_METRICS, "" },
	{ "top", "GET /v1/top", 200, API_TOP, "" },
	{ "a page of top", "GET /v1/top?after=b", 200, API_TOP, "b" },
	{ "top of one", "GET /v1/sandboxes/a/top", 200, API_TOP_ONE, "a" },
	{ "pages of one", "GET /v1/sandboxes/a/top?after=b", 400, API_TOP_ONE,
	    "a" },
	{ "another method", "PATCH /v1/sandboxes", 405, API_LIST, "" },
	{ "the policy cannot be read back", "GET /v1/sandboxes/a/policy", 405,
	    API_LIST, "" },
	{ "a name in capitals", "GET /v1/sandboxes/A", 404, API_SHOW, "" },
	{ "no name", "GET /v1/sandboxes/", 404, API_SHOW, "" },
	{ "a name that is a path", "GET /v1/sandboxes/..%2fa", 404, API_SHOW,
	    "" },
	{ "more behind the name", "GET /v1/sandboxes/a/b", 404, API_LIST, "" },
	{ "an unknown query", "GET /v1/sandboxes?x=1", 400, API_LIST, "" },
	{ "a query that comes twice", "GET /v1/log?denied=1&denied=1", 400,
	    API_LOG, "" },
	{ "follow where there is nothing to follow", "GET /v1/status?follow=1",
	    400, API_STATUS, "" },
	{ "after what is no name", "GET /v1/sandboxes?after=../x", 400,
	    API_LIST, "" },
	{ "after nothing", "GET /v1/sandboxes?after=", 400, API_LIST, "" },
	{ "after where there are no pages", "GET /v1/log?after=b", 400,
	    API_LIST, "" },
	{ "elsewhere", "GET /", 404, API_LIST, "" },
};

static void
finds_routes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(route_rows) / sizeof(*route_rows); i++) {
		struct message_api_request req = { .op = API_LIST };
		struct api_target target = { API_LIST, false, false };
		struct http_request http;
		char head[256];
		unsigned int status;

		(void)snprintf(head, sizeof(head),
		    "%s HTTP/1.1\r\nHost: tapward\r\n\r\n", route_rows[i].line);
		assert_int_equal(http_request_parse(span_of(head), &http),
		    HTTP_OK);
		status = api_route_find(&http, &target, &req);
		if (status != route_rows[i].status)
			fail_msg("%s: %u", route_rows[i].claim, status);
		if (status != 200)
			continue;
		if (target.op != route_rows[i].op ||
		    strcmp(req.name, route_rows[i].name) != 0)
			fail_msg("%s: op %d name \"%s\"", route_rows[i].claim,
			    (int)target.op, req.name);
	}
}

static void
findings_become_lines(void **state)
{
	json_t *json = api_json_error("no", span_of("a:1: x\nb:2: y\n"));
	const json_t *findings = json_object_get(json, "findings");

	(void)state;
	assert_int_equal(json_array_size(findings), 2);
	assert_string_equal(json_string_value(json_array_get(findings, 1)),
	    "b:2: y");
	json_decref(json);
}

static void
dropped_packets_stand_by_their_reason(void **state)
{
	const struct message_api_sandbox s = { .name = "one",
		.dropped = { [REASON_PACKET_UDP - REASON_PACKET_FIRST] = 7 } };
	json_t *json = api_json_sandbox(&s);
	const json_t *dropped = json_object_get(json, "dropped");

	(void)state;
	assert_int_equal(json_object_size(dropped), 1);
	assert_int_equal(json_integer_value(
			     json_object_get(dropped, "packet-udp")),
	    7);
	json_decref(json);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_bodies),
		cmocka_unit_test(keeps_what_it_read),
		cmocka_unit_test(finds_routes),
		cmocka_unit_test(findings_become_lines),
		cmocka_unit_test(dropped_packets_stand_by_their_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
