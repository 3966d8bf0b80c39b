/*
 * Heads of HTTP/2 read as strictly as those of HTTP/1, whatever the library
 * that decoded them has checked before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire/http2.h"

/* "name: value\n" each; "~" for a NUL, "^" for a LF in it. */
static struct http_fields
fields_of(const char *text, char *room)
{
	struct http_fields f = { .count = 0 };
	char *at = room;

	(void)strcpy(room, text);
	while (*at != '\0') {
		char *end = strchr(at, '\n');
		char *colon = strstr(at + 1, ": ");
		struct http_field *field = &f.at[f.count++];

		field->name =
		    (struct span){ (uint8_t *)at, (size_t)(colon - at) };
		field->value = (struct span){ (uint8_t *)colon + 2,
			(size_t)(end - colon) - 2 };
		for (char *c = at; c < end; c++)
			*c = (char)(*c == '~' ? '\0' : *c == '^' ? '\n' : *c);
		at = end + 1;
	}
	return f;
}

#define TO ":authority: a.example.org\n"
#define GET ":method: GET\n:scheme: https\n:path: /x?y\n" TO

static const struct {
	const char *claim, *fields;
	enum http_status want;
	bool has_body;
} requests[] = {
	{ "a request", GET, HTTP_OK, false },
	{ "Host alone",
	    ":method: GET\n:scheme: https\n:path: /\n"
	    "host: a.example.org\n",
	    HTTP_OK, false },
	{ "Host beside", GET "host: A.example.org:443\n", HTTP_OK, false },
	{ "te: trailers", GET "te: trailers\n", HTTP_OK, false },
	{ "OPTIONS of all", ":method: OPTIONS\n:scheme: https\n:path: *\n" TO,
	    HTTP_OK, false },
	{ "a body, no length", GET, HTTP_OK, true },
	{ "a body of a length", GET "content-length: 3\n", HTTP_OK, true },
	{ "a length, no body", GET "content-length: 3\n", HTTP_LENGTH, false },
	{ "two lengths", GET "content-length: 3\ncontent-length: 3\n",
	    HTTP_TWO_LENGTHS, true },
	{ "a length in hex", GET "content-length: 0x3\n", HTTP_LENGTH, true },
	{ "LF in a value", GET "x: a^b\n", HTTP_CONTROL, false },
	{ "NUL in a value", GET "x: a~b\n", HTTP_CONTROL, false },
	{ "LF in a name", GET "x^y: a\n", HTTP_FIELD_NAME, false },
	{ "upper case", GET "Xy: a\n", HTTP_FIELD_NAME, false },
	{ "a blank before a value", GET "x:  a\n", HTTP_FOLD, false },
	{ "a blank behind a value", GET "x: a \n", HTTP_FOLD, false },
	{ "'_' for '-'", GET "content_length: 3\n", HTTP_ALIAS, false },
	{ "connection", GET "connection: x\n", HTTP_CONNECTION_FIELD, false },
	{ "transfer-encoding", GET "transfer-encoding: chunked\n",
	    HTTP_CONNECTION_FIELD, true },
	{ "upgrade", GET "upgrade: h2c\n", HTTP_CONNECTION_FIELD, false },
	{ "te: gzip", GET "te: gzip\n", HTTP_CONNECTION_FIELD, false },
	{ "no path", ":method: GET\n:scheme: https\n" TO, HTTP_PSEUDO, false },
	{ "no scheme", ":method: GET\n:path: /\n" TO, HTTP_PSEUDO, false },
	{ "no method", ":scheme: https\n:path: /\n" TO, HTTP_PSEUDO, false },
	{ "two paths", GET ":path: /\n", HTTP_PSEUDO, false },
	{ "an unknown one", GET ":protocol: websocket\n", HTTP_PSEUDO, false },
	{ "one behind a field",
	    ":method: GET\n:scheme: https\n:path: /\nx: y\n" TO, HTTP_PSEUDO,
	    false },
	{ "CONNECT", ":method: CONNECT\n:scheme: https\n:path: /\n" TO,
	    HTTP_PSEUDO, false },
	{ "a method of two", ":method: GET x\n:scheme: https\n:path: /\n" TO,
	    HTTP_METHOD, false },
	{ "another scheme", ":method: GET\n:scheme: ftp\n:path: /\n" TO,
	    HTTP_TARGET, false },
	{ "an absolute path",
	    ":method: GET\n:scheme: https\n:path: http://b/\n" TO, HTTP_TARGET,
	    false },
	{ "an empty path", ":method: GET\n:scheme: https\n:path: \n" TO,
	    HTTP_TARGET, false },
	{ "'*' for GET", ":method: GET\n:scheme: https\n:path: *\n" TO,
	    HTTP_TARGET, false },
	{ "a blank in the path",
	    ":method: GET\n:scheme: https\n:path: /a b\n" TO, HTTP_TARGET,
	    false },
	{ "LF in the path", ":method: GET\n:scheme: https\n:path: /a^b\n" TO,
	    HTTP_TARGET, false },
	{ "a fragment", ":method: GET\n:scheme: https\n:path: /#a\n" TO,
	    HTTP_FRAGMENT, false },
	{ "no host", ":method: GET\n:scheme: https\n:path: /\n", HTTP_NO_HOST,
	    false },
	{ "another Host", GET "host: b.example.org\n", HTTP_HOST_MISMATCH,
	    false },
	{ "two Hosts", GET "host: a.example.org\nhost: a.example.org\n",
	    HTTP_TWO_HOSTS, false },
	{ "userinfo",
	    ":method: GET\n:scheme: https\n:path: /\n"
	    ":authority: u@a.example.org\n",
	    HTTP_HOST, false },
	{ "an address",
	    ":method: GET\n:scheme: https\n:path: /\n"
	    ":authority: 192.0.2.1\n",
	    HTTP_HOST_ADDRESS, false },
	{ "an empty authority",
	    ":method: GET\n:scheme: https\n:path: /\n"
	    ":authority: \n",
	    HTTP_HOST, false },
	{ "an unknown expectation", GET "expect: 200-ok\n", HTTP_EXPECT, true },
};

static void
requests_are_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		char room[1024];
		struct http_fields all = fields_of(requests[i].fields, room);
		struct http_request req;
		enum http_status s =
		    http2_request_read(&all, !requests[i].has_body, &req);

		if (s != requests[i].want)
			fail_msg("%s: %s", requests[i].claim,
			    http_status_text(s));
	}
}

static void
a_request_is_what_http1_would_have_made_of_it(void **state)
{
	char room[1024];
	struct http_fields all =
	    fields_of(GET "expect: 100-continue\nx: y\n", room);
	struct http_request req;

	(void)state;
	assert_int_equal(http2_request_read(&all, false, &req), HTTP_OK);
	assert_true(span_is(req.method, "GET"));
	assert_int_equal(req.known_method, HTTP_METHOD_GET);
	assert_int_equal(req.form, HTTP_FORM_ORIGIN);
	assert_int_equal(req.scheme, HTTP_SCHEME_HTTPS);
	assert_string_equal(req.authority.host, "a.example.org");
	assert_true(span_is(req.path, "/x"));
	assert_true(req.has_query && span_is(req.query, "y"));
	assert_int_equal(req.framing, HTTP_FRAMING_CHUNKED);
	assert_true(req.expects_continue);
	assert_int_equal(req.fields.count, 2);
	assert_int_equal(http2_request_read(&all, true, &req), HTTP_OK);
	assert_int_equal(req.framing, HTTP_FRAMING_NONE);
	assert_false(req.expects_continue);
}

static void
nobody_waits_for_a_body_of_no_bytes(void **state)
{
	char room[1024];
	struct http_fields all =
	    fields_of(GET "expect: 100-continue\ncontent-length: 0\n", room);
	struct http_request req;

	(void)state;
	assert_int_equal(http2_request_read(&all, false, &req), HTTP_OK);
	assert_int_equal(req.framing, HTTP_FRAMING_LENGTH);
	assert_false(req.expects_continue);
}

static const struct {
	const char *claim, *fields;
	enum http_method asked;
	bool is_whole;
	enum http_status want;
	enum http_framing framing;
} responses[] = {
	{ "one of no told length", ":status: 200\n", HTTP_METHOD_GET, false,
	    HTTP_OK, HTTP_FRAMING_CHUNKED },
	{ "one of a length", ":status: 200\ncontent-length: 3\n",
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_LENGTH },
	{ "an empty one", ":status: 200\n", HTTP_METHOD_GET, true, HTTP_OK,
	    HTTP_FRAMING_LENGTH },
	{ "to HEAD", ":status: 200\ncontent-length: 3\n", HTTP_METHOD_HEAD,
	    true, HTTP_OK, HTTP_FRAMING_NONE },
	{ "304", ":status: 304\ncontent-length: 3\n", HTTP_METHOD_GET, true,
	    HTTP_OK, HTTP_FRAMING_NONE },
	{ "103", ":status: 103\nlink: x\n", HTTP_METHOD_GET, false, HTTP_OK,
	    HTTP_FRAMING_NONE },
	{ "103 that ends", ":status: 103\n", HTTP_METHOD_GET, true,
	    HTTP_STATUS_CODE, HTTP_FRAMING_NONE },
	{ "204 with a length", ":status: 204\ncontent-length: 3\n",
	    HTTP_METHOD_GET, true, HTTP_NO_BODY, HTTP_FRAMING_NONE },
	{ "a length, no body", ":status: 200\ncontent-length: 3\n",
	    HTTP_METHOD_GET, true, HTTP_LENGTH, HTTP_FRAMING_NONE },
	{ "101", ":status: 101\n", HTTP_METHOD_GET, false, HTTP_UPGRADE,
	    HTTP_FRAMING_NONE },
	{ "099", ":status: 099\n", HTTP_METHOD_GET, true, HTTP_STATUS_CODE,
	    HTTP_FRAMING_NONE },
	{ "600", ":status: 600\n", HTTP_METHOD_GET, true, HTTP_STATUS_CODE,
	    HTTP_FRAMING_NONE },
	{ "no status", "x: y\n", HTTP_METHOD_GET, true, HTTP_PSEUDO,
	    HTTP_FRAMING_NONE },
	{ "two", ":status: 200\n:status: 200\n", HTTP_METHOD_GET, true,
	    HTTP_PSEUDO, HTTP_FRAMING_NONE },
	{ "a late one", "x: y\n:status: 200\n", HTTP_METHOD_GET, true,
	    HTTP_PSEUDO, HTTP_FRAMING_NONE },
	{ "connection", ":status: 200\nconnection: x\n", HTTP_METHOD_GET, true,
	    HTTP_CONNECTION_FIELD, HTTP_FRAMING_NONE },
	{ "LF", ":status: 200\nx: a^b\n", HTTP_METHOD_GET, true, HTTP_CONTROL,
	    HTTP_FRAMING_NONE },
};

static void
responses_are_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(responses) / sizeof(responses[0]); i++) {
		char room[1024];
		struct http_fields all = fields_of(responses[i].fields, room);
		struct http_response res;
		enum http_status s = http2_response_read(&all,
		    responses[i].asked, responses[i].is_whole, &res);

		if (s != responses[i].want ||
		    (s == HTTP_OK && res.framing != responses[i].framing))
			fail_msg("%s: %s", responses[i].claim,
			    http_status_text(s));
	}
}

/* Reads a text of fields as trailers; kept is static for its size. */
static enum http_status
read_trailers(const char *text, const struct http_fields **ret_kept)
{
	static char room[1024];
	static struct http_fields all, kept;

	all = fields_of(text, room);
	*ret_kept = &kept;
	return http2_trailers_read(&all, &kept);
}

static void
trailers_hold_nothing_that_a_message_hangs_on(void **state)
{
	const struct http_fields *kept;

	(void)state;
	assert_int_equal(read_trailers("grpc-status: 0\ncontent-length: 3\n"
				       "authorization: x\nx-a: b\n",
			     &kept),
	    HTTP_OK);
	assert_int_equal(kept->count, 2);
	assert_true(span_is(kept->at[0].name, "grpc-status"));
	assert_true(span_is(kept->at[1].name, "x-a"));
	assert_int_equal(read_trailers(":status: 200\n", &kept), HTTP_PSEUDO);
	assert_int_equal(read_trailers("x: a^b\n", &kept), HTTP_CONTROL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_read_strictly),
		cmocka_unit_test(a_request_is_what_http1_would_have_made_of_it),
		cmocka_unit_test(nobody_waits_for_a_body_of_no_bytes),
		cmocka_unit_test(responses_are_read_strictly),
		cmocka_unit_test(trailers_hold_nothing_that_a_message_hangs_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
