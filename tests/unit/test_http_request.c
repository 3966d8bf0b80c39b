/*
 * Heads of requests. Each row is parsed whole and fed byte by byte, with the
 * same outcome (row 57). Row numbers are those of the catalogue of escapes.
 */
#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/http.h"

#define HOST "Host: a.example\r\n"
#define GET "GET / HTTP/1.1\r\n" HOST
#define POST "POST / HTTP/1.1\r\n" HOST
#define END "\r\n"

struct row {
	const char *claim;
	struct span head;
	enum http_status want;
};

static const struct row refusals[] = {
	{ "row 36: length, then coding",
	    BYTES(
		POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" END),
	    HTTP_CODING_AND_LENGTH },
	{ "row 36: coding, then length",
	    BYTES(
		POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n" END),
	    HTTP_CODING_AND_LENGTH },
	{ "row 37: two lengths",
	    BYTES(POST "Content-Length: 0\r\nContent-Length: 31\r\n" END),
	    HTTP_TWO_LENGTHS },
	{ "row 37: two equal lengths",
	    BYTES(POST "Content-Length: 5\r\nContent-Length: 5\r\n" END),
	    HTTP_TWO_LENGTHS },
	{ "row 37: a list of equal lengths",
	    BYTES(POST "Content-Length: 5, 5\r\n" END), HTTP_LENGTH },
	{ "row 37: a list of lengths",
	    BYTES(POST "Content-Length: 5,6\r\n" END), HTTP_LENGTH },
	{ "row 38: a plus", BYTES(POST "Content-Length: +10\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: minus zero", BYTES(POST "Content-Length: -0\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a minus", BYTES(POST "Content-Length: -48\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: hexadecimal", BYTES(POST "Content-Length: 0x10\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a leading zero", BYTES(POST "Content-Length: 010\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: two zeros", BYTES(POST "Content-Length: 00\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: an underscore", BYTES(POST "Content-Length: 1_0\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a letter", BYTES(POST "Content-Length: 1Z\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a blank more in front",
	    BYTES(POST "Content-Length:  5\r\n" END), HTTP_LENGTH },
	{ "row 38: a tab in front", BYTES(POST "Content-Length:\t5\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a blank behind", BYTES(POST "Content-Length: 5 \r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a blank inside", BYTES(POST "Content-Length: 5 0\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: empty", BYTES(POST "Content-Length:\r\n" END), HTTP_LENGTH },
	{ "row 38: empty but a blank", BYTES(POST "Content-Length: \r\n" END),
	    HTTP_LENGTH },
	{ "row 38: 2^53 + 1",
	    BYTES(POST "Content-Length: 9007199254740993\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: 2^64",
	    BYTES(POST "Content-Length: 18446744073709551616\r\n" END),
	    HTTP_LENGTH },
	{ "row 38: a vertical tab", BYTES(POST "Content-Length: 5\x0b\r\n" END),
	    HTTP_CONTROL },
	{ "row 39: a comma in front",
	    BYTES(POST "Transfer-Encoding: ,chunked\r\n" END), HTTP_CODING },
	{ "row 39: a comma behind",
	    BYTES(POST "Transfer-Encoding: chunked,\r\n" END), HTTP_CODING },
	{ "row 39: a letter in front",
	    BYTES(POST "Transfer-Encoding: xchunked\r\n" END), HTTP_CODING },
	{ "row 39: identity", BYTES(POST "Transfer-Encoding: identity\r\n" END),
	    HTTP_CODING },
	{ "row 39: two codings",
	    BYTES(POST "Transfer-Encoding: chunked, identity\r\n" END),
	    HTTP_CODING },
	{ "row 39: gzip under chunked",
	    BYTES(POST "Transfer-Encoding: gzip, chunked\r\n" END),
	    HTTP_CODING },
	{ "row 39: a parameter",
	    BYTES(POST "Transfer-Encoding: chunked;a=b\r\n" END), HTTP_CODING },
	{ "row 39: a vertical tab",
	    BYTES(POST "Transfer-Encoding: \x0b"
		       "chunked\r\n" END),
	    HTTP_CONTROL },
	{ "row 39: a no-break space",
	    BYTES(POST "Transfer-Encoding: \xa0"
		       "chunked\r\n" END),
	    HTTP_CODING },
	{ "row 39: a tab in front",
	    BYTES(POST "Transfer-Encoding:\tchunked\r\n" END), HTTP_CODING },
	{ "row 39: a blank behind",
	    BYTES(POST "Transfer-Encoding: chunked \r\n" END), HTTP_CODING },
	{ "row 39: two fields",
	    BYTES(POST "Transfer-Encoding: chunked\r\n"
		       "Transfer-Encoding: chunked\r\n" END),
	    HTTP_CODING },
	{ "row 39: an empty coding", BYTES(POST "Transfer-Encoding:\r\n" END),
	    HTTP_CODING },
	{ "row 39: a NUL", BYTES(POST "Transfer-Encoding: chunked\0\r\n" END),
	    HTTP_CONTROL },
	{ "row 40: a coding in HTTP/1.0",
	    BYTES("POST / HTTP/1.0\r\n" HOST
		  "Transfer-Encoding: chunked\r\n" END),
	    HTTP_CODING_IN_1_0 },
	{ "row 45: LF alone", BYTES("GET / HTTP/1.1\nHost: a.example\n\n"),
	    HTTP_LINE_END },
	{ "row 45: CR alone in a value",
	    BYTES(GET "Visible: x\rSmuggled: y\r\n" END), HTTP_LINE_END },
	{ "row 45: CR and a letter for the end", BYTES(GET "\rX" END END),
	    HTTP_LINE_END },
	{ "row 45: two CR", BYTES(GET "X: y\r\r\n" END), HTTP_LINE_END },
	{ "row 46: a folded coding",
	    BYTES(POST "Transfer-Encoding:\r\n chunked\r\n" END), HTTP_FOLD },
	{ "row 46: a folded value", BYTES(GET "X: a\r\n b\r\n" END),
	    HTTP_FOLD },
	{ "row 46: a fold on the first field",
	    BYTES("GET / HTTP/1.1\r\n Host: a.example\r\n" END), HTTP_FOLD },
	{ "row 46: a fold in Host",
	    BYTES("GET / HTTP/1.1\r\nHost: a.example\r\n .b\r\n" END),
	    HTTP_FOLD },
	{ "row 47: a blank before the colon",
	    BYTES(POST "Content-Length : 34\r\n" END), HTTP_FIELD_NAME },
	{ "row 47: a tab before the name",
	    BYTES("GET / HTTP/1.1\r\n\tContent-Length: 1\r\n" HOST END),
	    HTTP_FOLD },
	{ "row 47: an empty name", BYTES(GET ": x\r\n" END), HTTP_FIELD_NAME },
	{ "row 47: a colon alone", BYTES(GET ":\r\n" END), HTTP_FIELD_NAME },
	{ "row 47: a line end in a name", BYTES(GET "Te\nst: x\r\n" END),
	    HTTP_LINE_END },
	{ "row 47: no colon", BYTES(POST "Content-Length 10\r\n" END),
	    HTTP_FIELD_NAME },
	{ "row 47: a byte over 0x7f in a name", BYTES(GET "\x85: x\r\n" END),
	    HTTP_FIELD_NAME },
	{ "row 48: a NUL in a value", BYTES(GET "X: v\0alue\r\n" END),
	    HTTP_CONTROL },
	{ "row 48: a form feed in a value", BYTES(GET "X: \x0c\r\n" END),
	    HTTP_CONTROL },
	{ "row 48: DEL in a value", BYTES(GET "X: \x7f\r\n" END),
	    HTTP_CONTROL },
	{ "row 49: Transfer_Encoding",
	    BYTES(POST "Transfer_Encoding: chunked\r\n" END), HTTP_ALIAS },
	{ "row 49: Content_Length", BYTES(POST "content_LENGTH: 5\r\n" END),
	    HTTP_ALIAS },
	{ "row 49: X_Forwarded_For",
	    BYTES(GET "X_Forwarded-For: 1.2.3.4\r\n" END), HTTP_ALIAS },
	{ "row 49: Proxy_Authorization",
	    BYTES(GET "Proxy_Authorization: x\r\n" END), HTTP_ALIAS },
	{ "row 50: two blanks", BYTES("GET  / HTTP/1.1\r\n" HOST END),
	    HTTP_START_LINE },
	{ "row 50: a blank behind", BYTES("GET / HTTP/1.1 \r\n" HOST END),
	    HTTP_START_LINE },
	{ "row 50: a blank in front", BYTES(" GET / HTTP/1.1\r\n" HOST END),
	    HTTP_START_LINE },
	{ "row 50: a tab", BYTES("GET\t/ HTTP/1.1\r\n" HOST END),
	    HTTP_VERSION },
	{ "row 50: a line end", BYTES("GET /\nHTTP/1.1\r\n" HOST END),
	    HTTP_LINE_END },
	{ "row 50: lower case", BYTES("GET / http/1.1\r\n" HOST END),
	    HTTP_VERSION },
	{ "row 50: HTTP/1.32", BYTES("GET / HTTP/1.32\r\n" HOST END),
	    HTTP_VERSION },
	{ "row 50: HTTP/01.1", BYTES("GET / HTTP/01.1\r\n" HOST END),
	    HTTP_VERSION },
	{ "row 50: HTTP/2.0, and the preface of HTTP/2",
	    BYTES("PRI * HTTP/2.0\r\n" END), HTTP_VERSION },
	{ "row 50: HTTP/0.9", BYTES("GET /\r\n" END), HTTP_VERSION },
	{ "row 50: a method alone", BYTES("GET\r\n" END), HTTP_START_LINE },
	{ "row 50: ICY", BYTES("GET / ICY/1.1\r\n" HOST END), HTTP_VERSION },
	{ "row 50: a method that is no token",
	    BYTES("G=\":<>(e),[T];? / HTTP/1.1\r\n" HOST END), HTTP_METHOD },
	{ "row 50: two leading line ends", BYTES("\r\n\r\n" GET END),
	    HTTP_NO_START_LINE },
	{ "row 52: another expectation",
	    BYTES(POST "Content-Length: 1\r\nExpect: x 100-continue\r\n" END),
	    HTTP_EXPECT },
	{ "row 52: two of them",
	    BYTES(POST "Expect: 100-continue\r\nExpect: 100-continue\r\n" END),
	    HTTP_EXPECT },
	{ "row 61: absolute form and another Host",
	    BYTES("GET http://allowed.com/ HTTP/1.1\r\nHost: evil.com\r\n" END),
	    HTTP_HOST_MISMATCH },
	{ "row 61: the same with another port",
	    BYTES("GET http://a.example/ HTTP/1.1\r\n"
		  "Host: a.example:8080\r\n" END),
	    HTTP_HOST_MISMATCH },
	{ "row 62: two Host fields",
	    BYTES("GET / HTTP/1.1\r\nHost: allowed\r\nHost: evil\r\n" END),
	    HTTP_TWO_HOSTS },
	{ "row 62: two equal ones", BYTES(GET HOST END), HTTP_TWO_HOSTS },
	{ "row 62: a list", BYTES("GET / HTTP/1.1\r\nHost: a.b,c.d\r\n" END),
	    HTTP_HOST },
	{ "row 62: Host with a blank",
	    BYTES("GET / HTTP/1.1\r\nHost : a.example\r\n" END),
	    HTTP_FIELD_NAME },
	{ "row 63: no Host", BYTES("GET / HTTP/1.1\r\n" END), HTTP_NO_HOST },
	{ "row 63: HTTP/1.0 without", BYTES("GET / HTTP/1.0\r\n" END),
	    HTTP_NO_HOST },
	{ "row 63: an empty one", BYTES("GET / HTTP/1.1\r\nHost:\r\n" END),
	    HTTP_HOST },
	{ "row 64: userinfo in absolute form",
	    BYTES("GET http://allowed.com@evil.com/ HTTP/1.1\r\n" HOST END),
	    HTTP_HOST },
	{ "row 64: a fragment as authority",
	    BYTES("GET http://evil.com#@allowed.com/ HTTP/1.1\r\n" HOST END),
	    HTTP_FRAGMENT },
	{ "row 64: a backslash",
	    BYTES("GET http://evil.com\\@allowed.com/ HTTP/1.1\r\n" HOST END),
	    HTTP_HOST },
	{ "row 64: a path in Host",
	    BYTES("GET / HTTP/1.1\r\nHost: allowed.com/evil\r\n" END),
	    HTTP_HOST },
	{ "row 64: userinfo in Host",
	    BYTES("GET / HTTP/1.1\r\nHost: x@a.example\r\n" END), HTTP_HOST },
	{ "row 65: a number sign in the path",
	    BYTES("GET /app1/admin#foo HTTP/1.1\r\n" HOST END), HTTP_FRAGMENT },
	{ "row 67: CONNECT without a port",
	    BYTES("CONNECT a.example HTTP/1.1\r\n" HOST END), HTTP_HOST },
	{ "row 67: CONNECT to a path", BYTES("CONNECT / HTTP/1.1\r\n" HOST END),
	    HTTP_HOST },
	{ "row 67: CONNECT with a scheme",
	    BYTES("CONNECT http://a.example:80 HTTP/1.1\r\n" HOST END),
	    HTTP_HOST },
	{ "row 67: CONNECT with another Host",
	    BYTES("CONNECT b.example:443 HTTP/1.1\r\n" HOST END),
	    HTTP_HOST_MISMATCH },
	{ "row 67: CONNECT with another port in Host",
	    BYTES("CONNECT a.example:443 HTTP/1.1\r\n"
		  "Host: a.example:80\r\n" END),
	    HTTP_HOST_MISMATCH },
	{ "row 67: CONNECT with a length",
	    BYTES("CONNECT a.example:443 HTTP/1.1\r\n" HOST
		  "Content-Length: 0\r\n" END),
	    HTTP_CONNECT_BODY },
	{ "row 67: CONNECT by HTTP/1.1 without Host",
	    BYTES("CONNECT a.example:443 HTTP/1.1\r\n" END), HTTP_NO_HOST },
	{ "row 17: an address in Host",
	    BYTES("GET / HTTP/1.1\r\nHost: 1.2.3.4\r\n" END),
	    HTTP_HOST_ADDRESS },
	{ "row 17: CONNECT to an address",
	    BYTES("CONNECT [2606:4700::1111]:443 HTTP/1.1\r\n" HOST END),
	    HTTP_HOST_ADDRESS },
	{ "row 18: an odd address",
	    BYTES("GET / HTTP/1.1\r\nHost: 127.1\r\n" END), HTTP_HOST },
	{ "an asterisk with GET", BYTES("GET * HTTP/1.1\r\n" HOST END),
	    HTTP_TARGET },
	{ "a target without a slash",
	    BYTES("GET index.html HTTP/1.1\r\n" HOST END), HTTP_TARGET },
	{ "another scheme", BYTES("GET ftp://a.example/ HTTP/1.1\r\n" HOST END),
	    HTTP_TARGET },
	{ "no authority", BYTES("GET http:///x HTTP/1.1\r\n" HOST END),
	    HTTP_HOST },
	{ "a byte over 0x7f in the target",
	    BYTES("GET /\xc3\xa9 HTTP/1.1\r\n" HOST END), HTTP_TARGET },
	{ "a Connection that is no list",
	    BYTES(GET "Connection: keep alive\r\n" END), HTTP_CONNECTION },
	{ "a control byte in the first line", BYTES("\x16\x03\x01\x02" END END),
	    HTTP_CONTROL },
};

/* As a connection does it: byte by byte, then the whole head at once. */
static enum http_status
feed(struct span in, size_t step, struct http_request *req)
{
	struct http_scan scan = { .at = 0 };
	enum http_status s = HTTP_MORE;
	size_t have = 0, len = 0;

	while (s == HTTP_MORE && have < in.len) {
		have = in.len - have > step ? have + step : in.len;
		s = http_scan(&scan, (struct span){ in.ptr, have }, &len);
	}
	if (s != HTTP_OK)
		return s;
	return http_request_parse((struct span){ in.ptr, len }, req);
}

static void
refuses_each_with_its_own_reason_however_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refusals); i++) {
		const struct row *r = &refusals[i];
		struct http_request req;

		row_equal(r->claim, feed(r->head, r->head.len, &req), r->want);
		for (size_t step = 1; step < 5; step++)
			row_equal(r->claim, feed(r->head, step, &req), r->want);
	}
}

struct good {
	const char *claim;
	struct span head;
	const char *method, *host, *path, *query; /* query NULL: none */
	enum http_form form;
	enum http_framing framing;
	uint64_t length;
	bool is_keep_alive, expects_continue, is_websocket;
};

static const struct good goods[] = {
	{ "a plain request", BYTES(GET END), "GET", "a.example", "/", NULL,
	    HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0, true, false, false },
	{ "a query, even an empty one",
	    BYTES("GET /a?b=c?d HTTP/1.1\r\n" HOST END), "GET", "a.example",
	    "/a", "b=c?d", HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0, true, false,
	    false },
	{ "row 1, 2: the host is canonical",
	    BYTES("GET /? HTTP/1.1\r\nHost:A.Example.\r\n" END), "GET",
	    "a.example", "/", "", HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0, true,
	    false, false },
	{ "row 50: one leading line end", BYTES("\r\n" GET END), "GET",
	    "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0,
	    true, false, false },
	{ "row 51: a body with GET is framed",
	    BYTES(GET "Content-Length: 31\r\n" END), "GET", "a.example", "/",
	    NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_LENGTH, 31, true, false,
	    false },
	{ "row 38: 2^53",
	    BYTES(POST "Content-Length: 9007199254740992\r\n" END), "POST",
	    "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_LENGTH,
	    9007199254740992, true, false, false },
	{ "row 39: chunked in capitals",
	    BYTES(POST "Transfer-Encoding: CHUNKED\r\n" END), "POST",
	    "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_CHUNKED, 0,
	    true, false, false },
	{ "row 52: an expectation with a body",
	    BYTES(POST "Content-Length: 1\r\nExpect: 100-Continue\r\n" END),
	    "POST", "a.example", "/", NULL, HTTP_FORM_ORIGIN,
	    HTTP_FRAMING_LENGTH, 1, true, true, false },
	{ "row 52: and without one",
	    BYTES(POST "Content-Length: 0\r\nExpect: 100-continue\r\n" END),
	    "POST", "a.example", "/", NULL, HTTP_FORM_ORIGIN,
	    HTTP_FRAMING_LENGTH, 0, true, false, false },
	{ "row 61: absolute form, Host equal but for the port",
	    BYTES("GET HTTP://A.example/x?y HTTP/1.1\r\n"
		  "Host: a.example:80\r\n" END),
	    "GET", "a.example", "/x", "y", HTTP_FORM_ABSOLUTE,
	    HTTP_FRAMING_NONE, 0, true, false, false },
	{ "absolute form without a path",
	    BYTES("GET http://a.example?q HTTP/1.1\r\n" HOST END), "GET",
	    "a.example", "/", "q", HTTP_FORM_ABSOLUTE, HTTP_FRAMING_NONE, 0,
	    true, false, false },
	{ "OPTIONS by absolute form without a path",
	    BYTES("OPTIONS http://a.example HTTP/1.1\r\n" HOST END), "OPTIONS",
	    "a.example", "*", NULL, HTTP_FORM_ABSOLUTE, HTTP_FRAMING_NONE, 0,
	    true, false, false },
	{ "OPTIONS *", BYTES("OPTIONS * HTTP/1.1\r\n" HOST END), "OPTIONS",
	    "a.example", "*", NULL, HTTP_FORM_ASTERISK, HTTP_FRAMING_NONE, 0,
	    true, false, false },
	{ "CONNECT", BYTES("CONNECT a.example:443 HTTP/1.1\r\n" HOST END),
	    "CONNECT", "a.example", "", NULL, HTTP_FORM_AUTHORITY,
	    HTTP_FRAMING_NONE, 0, true, false, false },
	{ "CONNECT by HTTP/1.0 without Host",
	    BYTES("CONNECT a.example:443 HTTP/1.0\r\n" END), "CONNECT",
	    "a.example", "", NULL, HTTP_FORM_AUTHORITY, HTTP_FRAMING_NONE, 0,
	    false, false, false },
	{ "close", BYTES(GET "Connection: foo, Close\r\n" END), "GET",
	    "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0,
	    false, false, false },
	{ "HTTP/1.0 closes", BYTES("GET / HTTP/1.0\r\n" HOST END), "GET",
	    "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0,
	    false, false, false },
	{ "unless asked to keep",
	    BYTES("GET / HTTP/1.0\r\n" HOST "Connection: keep-alive\r\n" END),
	    "GET", "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE,
	    0, true, false, false },
	{ "row 74: a WebSocket",
	    BYTES(GET "Connection: keep-alive, Upgrade\r\n"
		      "Upgrade: WebSocket\r\n" END),
	    "GET", "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE,
	    0, true, false, true },
	{ "row 74: not without Connection: upgrade",
	    BYTES(GET "Upgrade: websocket\r\n" END), "GET", "a.example", "/",
	    NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0, true, false, false },
	{ "row 74: nor beside another protocol",
	    BYTES(GET "Connection: upgrade\r\nUpgrade: websocket\r\n"
		      "Upgrade: h2c\r\n" END),
	    "GET", "a.example", "/", NULL, HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE,
	    0, true, false, false },
	{ "values keep their inner blanks and lose the outer ones",
	    BYTES(GET "X: \t a b \t\r\n" END), "GET", "a.example", "/", NULL,
	    HTTP_FORM_ORIGIN, HTTP_FRAMING_NONE, 0, true, false, false },
};

static void
check_good(const struct good *g, const struct http_request *req)
{
	row_span(g->claim, req->method, g->method);
	row_span(g->claim, span_of(req->authority.host), g->host);
	row_span(g->claim, req->path, g->path);
	row_equal(g->claim, req->has_query, g->query != NULL);
	row_span(g->claim, req->query, g->query != NULL ? g->query : "");
	row_equal(g->claim, req->form, g->form);
	row_equal(g->claim, req->framing, g->framing);
	row_equal(g->claim, req->length, g->length);
	row_equal(g->claim, req->is_keep_alive, g->is_keep_alive);
	row_equal(g->claim, req->expects_continue, g->expects_continue);
	row_equal(g->claim, req->is_websocket, g->is_websocket);
}

static void
reads_each_part_however_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(goods); i++) {
		struct http_request req;

		for (size_t step = 1; step < 6; step++) {
			row_equal(goods[i].claim,
			    feed(goods[i].head, step, &req), HTTP_OK);
			check_good(&goods[i], &req);
		}
	}
}

static void
keeps_fields_in_order_with_blanks_trimmed(void **state)
{
	struct http_request req;
	const struct span head =
	    BYTES(GET "X: \t a b \t\r\nx: 2\r\nEmpty:\r\nL: \xe9\r\n" END);

	(void)state;
	assert_int_equal(http_request_parse(head, &req), HTTP_OK);
	assert_int_equal(req.fields.count, 5);
	row_span("first", http_field_find(&req.fields, "x", 0)->value, "a b");
	row_span("second", http_field_find(&req.fields, "X", 1)->value, "2");
	assert_null(http_field_find(&req.fields, "X", 2));
	row_span("empty", req.fields.at[3].value, "");
	row_span("Latin-1", req.fields.at[4].value, "\xe9");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    refuses_each_with_its_own_reason_however_split),
		cmocka_unit_test(reads_each_part_however_split),
		cmocka_unit_test(keeps_fields_in_order_with_blanks_trimmed),
	};

	return cmocka_run_group_tests_name("http_request", tests, NULL, NULL);
}
