#include "wire_rows.h"

#include <stdbool.h>

#include "wire/http.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define END "\r\n"

static const struct {
	const char *claim;
	struct span head;
	enum http_method asked;
	bool asked_upgrade;
	enum http_status want;
	enum http_framing framing;
	uint64_t length;
	bool is_keep_alive;
} rows[] = {
	{ "a length", BYTES(OK "Content-Length: 5\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_OK, HTTP_FRAMING_LENGTH, 5, true },
	{ "chunks", BYTES(OK "Transfer-Encoding: chunked\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_CHUNKED, 0, true },
	{ "neither: to the end of the connection", BYTES(OK END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_CLOSE, 0, false },
	{ "neither, though it says keep-alive",
	    BYTES("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_CLOSE, 0, false },
	{ "close after a length",
	    BYTES(OK "Content-Length: 0\r\nConnection: close\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_LENGTH, 0, false },
	{ "HTTP/1.0 closes",
	    BYTES("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_LENGTH, 5, false },
	{ "row 59: HEAD has no body, whatever it declares",
	    BYTES(OK "Content-Length: 5\r\n" END), HTTP_METHOD_HEAD, false,
	    HTTP_OK, HTTP_FRAMING_NONE, 5, true },
	{ "row 59: nor with chunks",
	    BYTES(OK "Transfer-Encoding: chunked\r\n" END), HTTP_METHOD_HEAD,
	    false, HTTP_OK, HTTP_FRAMING_NONE, 0, true },
	{ "304 has no body",
	    BYTES("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_NONE, 5, true },
	{ "204 has no body", BYTES("HTTP/1.1 204 No Content\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_NONE, 0, true },
	{ "204 may declare nothing",
	    BYTES("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_NONE, 0, true },
	{ "row 59: 204 with a body",
	    BYTES("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_NO_BODY, 0, 0, false },
	{ "row 59: 204 with chunks",
	    BYTES("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_NO_BODY, 0, 0, false },
	{ "row 59: 100 with a body",
	    BYTES("HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_NO_BODY, 0, 0, false },
	{ "100 has no body", BYTES("HTTP/1.1 100 Continue\r\n" END),
	    HTTP_METHOD_OTHER, false, HTTP_OK, HTTP_FRAMING_NONE, 0, true },
	{ "row 59: length and coding",
	    BYTES(OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_CODING_AND_LENGTH, 0, 0, false },
	{ "row 59: the same to HEAD",
	    BYTES(OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n" END),
	    HTTP_METHOD_HEAD, false, HTTP_CODING_AND_LENGTH, 0, 0, false },
	{ "row 59: two lengths",
	    BYTES(OK "Content-Length: 5\r\nContent-Length: 5\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_TWO_LENGTHS, 0, 0, false },
	{ "row 38: a length of 003", BYTES(OK "Content-Length: 003\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_LENGTH, 0, 0, false },
	{ "row 39: gzip, chunked",
	    BYTES(OK "Transfer-Encoding: gzip, chunked\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_CODING, 0, 0, false },
	{ "row 40: a coding in HTTP/1.0",
	    BYTES("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_CODING_IN_1_0, 0, 0, false },
	{ "row 45: LF alone", BYTES("HTTP/1.1 200 OK\nContent-Length: 5\n\n"),
	    HTTP_METHOD_GET, false, HTTP_LINE_END, 0, 0, false },
	{ "row 46: a fold", BYTES(OK "X: a\r\n b\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_FOLD, 0, 0, false },
	{ "row 47: a blank before the colon",
	    BYTES(OK "Content-Length : 5\r\n" END), HTTP_METHOD_GET, false,
	    HTTP_FIELD_NAME, 0, 0, false },
	{ "row 48: a NUL", BYTES(OK "X: a\0b\r\n" END), HTTP_METHOD_GET, false,
	    HTTP_CONTROL, 0, 0, false },
	{ "row 49: Content_Length", BYTES(OK "Content_Length: 5\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_ALIAS, 0, 0, false },
	{ "row 74: 101 that was asked for",
	    BYTES("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n" END),
	    HTTP_METHOD_GET, true, HTTP_OK, HTTP_FRAMING_TUNNEL, 0, false },
	{ "row 74: 101 that was not",
	    BYTES("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
		  "Upgrade: websocket\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_UPGRADE, 0, 0, false },
	{ "row 74: 101 to another protocol",
	    BYTES("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\n"
		  "Upgrade: h2c\r\n" END),
	    HTTP_METHOD_GET, true, HTTP_UPGRADE, 0, 0, false },
	{ "row 74: 200 for an upgrade is a plain answer",
	    BYTES(OK "Content-Length: 2\r\nUpgrade: websocket\r\n" END),
	    HTTP_METHOD_GET, true, HTTP_OK, HTTP_FRAMING_LENGTH, 2, true },
	{ "2xx to CONNECT is a tunnel", BYTES(OK "Content-Length: 5\r\n" END),
	    HTTP_METHOD_CONNECT, false, HTTP_OK, HTTP_FRAMING_TUNNEL, 5,
	    false },
	{ "403 to CONNECT is an answer",
	    BYTES("HTTP/1.1 403 No\r\nContent-Length: 5\r\n" END),
	    HTTP_METHOD_CONNECT, false, HTTP_OK, HTTP_FRAMING_LENGTH, 5, true },
	{ "no reason", BYTES("HTTP/1.1 200 \r\nContent-Length: 0\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_OK, HTTP_FRAMING_LENGTH, 0, true },
	{ "and no blank before it",
	    BYTES("HTTP/1.1 200\r\nContent-Length: 0\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_OK, HTTP_FRAMING_LENGTH, 0, true },
	{ "a status of 99", BYTES("HTTP/1.1 99 X\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_STATUS_CODE, 0, 0, false },
	{ "a status of 600", BYTES("HTTP/1.1 600 X\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_STATUS_CODE, 0, 0, false },
	{ "a status of 0200", BYTES("HTTP/1.1 0200 X\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_STATUS_CODE, 0, 0, false },
	{ "a status with a sign", BYTES("HTTP/1.1 +20 X\r\n" END),
	    HTTP_METHOD_GET, false, HTTP_STATUS_CODE, 0, 0, false },
	{ "two blanks", BYTES("HTTP/1.1  200 OK\r\n" END), HTTP_METHOD_GET,
	    false, HTTP_STATUS_CODE, 0, 0, false },
	{ "HTTP/2.0", BYTES("HTTP/2.0 200 OK\r\n" END), HTTP_METHOD_GET, false,
	    HTTP_VERSION, 0, 0, false },
	{ "ICY", BYTES("ICY 200 OK\r\n" END), HTTP_METHOD_GET, false,
	    HTTP_VERSION, 0, 0, false },
	{ "a leading line end", BYTES("\r\n" OK END), HTTP_METHOD_GET, false,
	    HTTP_NO_START_LINE, 0, 0, false },
};

static enum http_status
feed(size_t row, size_t step, struct http_response *res)
{
	struct span in = rows[row].head;
	struct http_scan scan = { .at = 0 };
	enum http_status s = HTTP_MORE;
	size_t have = 0, len = 0;

	while (s == HTTP_MORE && have < in.len) {
		have = in.len - have > step ? have + step : in.len;
		s = http_scan(&scan, (struct span){ in.ptr, have }, &len);
	}
	if (s != HTTP_OK)
		return s;
	return http_response_parse((struct span){ in.ptr, len },
	    rows[row].asked, rows[row].asked_upgrade, res);
}

static void
frames_each_answer_however_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t step = 1; step < 100; step += 9) {
			struct http_response res;

			row_equal(rows[i].claim, feed(i, step, &res),
			    rows[i].want);
			if (rows[i].want != HTTP_OK)
				continue;
			row_equal(rows[i].claim, res.framing, rows[i].framing);
			row_equal(rows[i].claim, res.length, rows[i].length);
			row_equal(rows[i].claim, res.is_keep_alive,
			    rows[i].is_keep_alive);
		}
}

static void
keeps_status_reason_and_fields(void **state)
{
	static const struct span head = BYTES(
	    "HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\nX: y\r\n\r\n");
	struct http_response res;

	(void)state;
	assert_int_equal(http_response_parse(head, HTTP_METHOD_GET, false,
			     &res),
	    HTTP_OK);
	assert_int_equal(res.status, 404);
	assert_int_equal(res.minor, 1);
	assert_true(res.has_length);
	row_span("reason", res.reason, "Not Found");
	row_span("field", http_field_find(&res.fields, "x", 0)->value, "y");
}

static void
tells_what_is_no_http_from_its_first_bytes(void **state)
{
	static const struct {
		const char *claim;
		struct span so_far;
		bool want;
	} begins[] = {
		{ "nothing yet", BYTES(""), true },
		{ "one byte", BYTES("H"), true },
		{ "all but the minor version", BYTES("HTTP/1."), true },
		{ "a status line", BYTES("HTTP/1.1 200"), true },
		{ "row 59: HTTP/0.9", BYTES("<"), false },
		{ "row 59: the preface of HTTP/2", BYTES("PRI"), false },
		{ "row 59: a SETTINGS frame", BYTES("\0\0\x12"), false },
		{ "row 59: a TLS alert", BYTES("\x15\x03"), false },
		{ "another version", BYTES("HTTP/2"), false },
		{ "lower case", BYTES("http"), false },
		{ "a line end first", BYTES("\r"), false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(begins); i++)
		row_equal(begins[i].claim,
		    http_response_begins(begins[i].so_far), begins[i].want);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tells_what_is_no_http_from_its_first_bytes),
		cmocka_unit_test(frames_each_answer_however_split),
		cmocka_unit_test(keeps_status_reason_and_fields),
	};

	return cmocka_run_group_tests_name("http_response", tests, NULL, NULL);
}
