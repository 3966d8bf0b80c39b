/*
 * Handshakes and frames of WebSocket. Each row of frames is fed whole and in
 * every smaller step, with the same bytes out and the same end.
 */
#include "wire_rows.h"

#include <stdbool.h>
#include <string.h>

#include "wire/websocket.h"

#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define GET                                                                    \
	"GET /chat HTTP/1.1\r\nHost: a.example\r\nUpgrade: websocket\r\n"      \
	"Connection: Upgrade\r\n"

static const struct {
	const char *claim, *fields;
	enum websocket_status want;
} requests[] = {
	{ "RFC 6455 1.3", KEY VERSION, WEBSOCKET_OK },
	{ "names are in any case",
	    "sec-websocket-key:dGhlIHNhbXBsZSBub25jZQ=="
	    "\r\nSEC-WEBSOCKET-VERSION: 13 \r\n",
	    WEBSOCKET_OK },
	{ "no key", VERSION, WEBSOCKET_KEY },
	{ "two keys", KEY KEY VERSION, WEBSOCKET_KEY },
	{ "an empty key", "Sec-WebSocket-Key:\r\n" VERSION, WEBSOCKET_KEY },
	{ "15 bytes", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n" VERSION,
	    WEBSOCKET_KEY },
	{ "17 bytes", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZWE=\r\n" VERSION,
	    WEBSOCKET_KEY },
	{ "no base64",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub2_jZQ==\r\n" VERSION,
	    WEBSOCKET_KEY },
	{ "16 bytes and some bits",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n" VERSION,
	    WEBSOCKET_KEY },
	{ "a list of keys",
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==, x\r\n" VERSION,
	    WEBSOCKET_KEY },
	{ "no version", KEY, WEBSOCKET_VERSION },
	{ "two versions", KEY VERSION VERSION, WEBSOCKET_VERSION },
	{ "an older version", KEY "Sec-WebSocket-Version: 8\r\n",
	    WEBSOCKET_VERSION },
	{ "a list of versions", KEY "Sec-WebSocket-Version: 13, 8\r\n",
	    WEBSOCKET_VERSION },
	{ "another spelling of 13", KEY "Sec-WebSocket-Version: 013\r\n",
	    WEBSOCKET_VERSION },
	{ "protocols",
	    KEY VERSION "Sec-WebSocket-Protocol: a, b\r\n"
			"Sec-WebSocket-Protocol: c.d\r\n",
	    WEBSOCKET_OK },
	{ "an empty protocol", KEY VERSION "Sec-WebSocket-Protocol: a,,b\r\n",
	    WEBSOCKET_PROTOCOL },
	{ "a protocol that is none",
	    KEY VERSION "Sec-WebSocket-Protocol: a, b c\r\n",
	    WEBSOCKET_PROTOCOL },
};

static void
row_74_a_request_opens_a_websocket_as_the_rfc_has_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(requests); i++) {
		char head[1024];
		struct wr w = wr_init(head, sizeof(head));
		static struct http_request req;
		struct span key = { NULL, 0 };

		wr_text(&w, GET);
		wr_text(&w, requests[i].fields);
		wr_text(&w, "\r\n");
		row_equal(requests[i].claim,
		    http_request_parse((struct span){ w.buf, w.len }, &req),
		    HTTP_OK);
		assert_true(req.is_websocket);
		row_equal(requests[i].claim,
		    websocket_check_request(&req.fields, &key),
		    requests[i].want);
		if (requests[i].want == WEBSOCKET_OK)
			row_span(requests[i].claim, key,
			    "dGhlIHNhbXBsZSBub25jZQ==");
	}
}

#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
#define ACCEPTED "Sec-WebSocket-Accept: " ACCEPT "\r\n"

static const struct {
	const char *claim, *fields;
	bool has_protocol, has_extensions;
	enum websocket_status want;
} answers[] = {
	{ "RFC 6455 1.3", ACCEPTED, false, false, WEBSOCKET_OK },
	{ "no accept", "", true, true, WEBSOCKET_ACCEPT },
	{ "another accept",
	    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n", false,
	    false, WEBSOCKET_ACCEPT },
	{ "in another case",
	    "Sec-WebSocket-Accept: S3PPLMBITXAQ9KYGZZHZRBK+XOO=\r\n", false,
	    false, WEBSOCKET_ACCEPT },
	{ "the key itself",
	    "Sec-WebSocket-Accept: dGhlIHNhbXBsZSBub25jZQ==\r\n", false, false,
	    WEBSOCKET_ACCEPT },
	{ "accept and more", "Sec-WebSocket-Accept: " ACCEPT ", x\r\n", false,
	    false, WEBSOCKET_ACCEPT },
	{ "two accepts", ACCEPTED ACCEPTED, false, false, WEBSOCKET_ACCEPT },
	{ "a protocol that was asked for",
	    ACCEPTED "Sec-WebSocket-Protocol: chat\r\n", true, false,
	    WEBSOCKET_OK },
	{ "... and none chosen", ACCEPTED, true, true, WEBSOCKET_OK },
	{ "a protocol that was not",
	    ACCEPTED "Sec-WebSocket-Protocol: chat\r\n", false, true,
	    WEBSOCKET_PROTOCOL },
	{ "two of them", ACCEPTED "Sec-WebSocket-Protocol: a, b\r\n", true,
	    false, WEBSOCKET_PROTOCOL },
	{ "two fields",
	    ACCEPTED "Sec-WebSocket-Protocol: a\r\n"
		     "Sec-WebSocket-Protocol: b\r\n",
	    true, false, WEBSOCKET_PROTOCOL },
	{ "extensions that were asked for",
	    ACCEPTED "Sec-WebSocket-Extensions: permessage-deflate\r\n", false,
	    true, WEBSOCKET_OK },
	{ "extensions that were not",
	    ACCEPTED "Sec-WebSocket-Extensions: permessage-deflate\r\n", true,
	    false, WEBSOCKET_EXTENSIONS },
};

static void
row_74_an_answer_opens_what_was_asked_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(answers); i++) {
		struct websocket_offer offer = { .accept = ACCEPT,
			.has_protocol = answers[i].has_protocol,
			.has_extensions = answers[i].has_extensions };
		char head[1024];
		struct wr w = wr_init(head, sizeof(head));
		static struct http_response res;

		wr_text(&w,
		    "HTTP/1.1 101 Switching Protocols\r\n"
		    "Upgrade: websocket\r\nConnection: Upgrade\r\n");
		wr_text(&w, answers[i].fields);
		wr_text(&w, "\r\n");
		row_equal(answers[i].claim,
		    http_response_parse((struct span){ w.buf, w.len },
			HTTP_METHOD_GET, true, &res),
		    HTTP_OK);
		row_equal(answers[i].claim,
		    websocket_check_answer(&res.fields, &offer),
		    answers[i].want);
	}
}

static void
fields_of_the_handshake_are_known_by_name(void **state)
{
	(void)state;
	assert_true(websocket_is_field(span_of("Sec-WebSocket-Key")));
	assert_true(websocket_is_field(span_of("sec-websocket-x")));
	assert_false(websocket_is_field(span_of("Sec-WebSocket-")));
	assert_false(websocket_is_field(span_of("Sec-WebSocke")));
	assert_false(websocket_is_field(span_of("Upgrade")));
}

/* --- frames --- */

#define HELLO "\x81\x05Hello"

static const struct {
	const char *claim;
	struct span in;
	enum websocket_frame want; /* MORE: none is refused */
	const char *data, *control;
	bool is_at_rest;
} rows[] = {
	{ "RFC 6455 5.7: one message", BYTES(HELLO), WEBSOCKET_FRAME_MORE,
	    "Hello", "", true },
	{ "RFC 6455 5.7: in two parts", BYTES("\x01\x03Hel\x80\x02lo"),
	    WEBSOCKET_FRAME_MORE, "Hello", "", true },
	{ "RFC 6455 5.7: a ping within",
	    BYTES("\x01\x03Hel\x89\x05Hello"
		  "\x80\x02lo"),
	    WEBSOCKET_FRAME_MORE, "Hello", "Hello", true },
	{ "a message that goes on", BYTES("\x01\x03Hel"), WEBSOCKET_FRAME_MORE,
	    "Hel", "", false },
	{ "a frame that goes on", BYTES("\x82\x05Hel"), WEBSOCKET_FRAME_MORE,
	    "Hel", "", false },
	{ "a head that goes on", BYTES("\x82"), WEBSOCKET_FRAME_MORE, "", "",
	    false },
	{ "empty frames", BYTES("\x81\0\x02\0\0\0\x80\0\x8a\0\x88\0"),
	    WEBSOCKET_FRAME_MORE, "", "", true },
	{ "a close with a reason", BYTES("\x88\x04\x03\xe9ok"),
	    WEBSOCKET_FRAME_MORE, "", "\x03\xe9ok", true },
	{ "row 121: masked", BYTES("\x81\x85\1\2\3\4Hello"),
	    WEBSOCKET_FRAME_MASKED, "", "", false },
	{ "row 121: compressed", BYTES("\xc1\x05Hello"),
	    WEBSOCKET_FRAME_RESERVED, "", "", false },
	{ "row 121: the second reserved bit", BYTES("\xa1\x05Hello"),
	    WEBSOCKET_FRAME_RESERVED, "", "", false },
	{ "row 121: the third", BYTES("\x91\x05Hello"),
	    WEBSOCKET_FRAME_RESERVED, "", "", false },
	{ "an unknown kind of message", BYTES("\x83\x01x"),
	    WEBSOCKET_FRAME_OPCODE, "", "", false },
	{ "an unknown kind of control", BYTES("\x8b\x01x"),
	    WEBSOCKET_FRAME_OPCODE, "", "", false },
	{ "a control frame in parts", BYTES("\x09\x01x"), WEBSOCKET_FRAME_LONG,
	    "", "", false },
	{ "a long control frame", BYTES("\x89\x7e\0\x7ex"),
	    WEBSOCKET_FRAME_LONG, "", "", false },
	{ "a part of no message", BYTES(HELLO "\x80\x01x"),
	    WEBSOCKET_FRAME_ORDER, "Hello", "", false },
	{ "a message within one", BYTES("\x01\x03Hel\x81\x02lo"),
	    WEBSOCKET_FRAME_ORDER, "Hel", "", false },
	{ "a length of 125 in two bytes", BYTES("\x82\x7e\0\x7dx"),
	    WEBSOCKET_FRAME_LENGTH, "", "", false },
	{ "a length of 65535 in eight", BYTES("\x82\x7f\0\0\0\0\0\0\xff\xffx"),
	    WEBSOCKET_FRAME_LENGTH, "", "", false },
	{ "a length over 63 bits", BYTES("\x82\x7f\x80\0\0\0\0\0\0\0x"),
	    WEBSOCKET_FRAME_LENGTH, "", "", false },
	{ "a length of 63 bits",
	    BYTES("\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffx"),
	    WEBSOCKET_FRAME_MORE, "x", "", false },
	{ "a length in two bytes", BYTES("\x82\x7e\0\x7ex"),
	    WEBSOCKET_FRAME_MORE, "x", "", false },
};

static void
feed_row(size_t i, size_t step)
{
	struct websocket_frames f = { .left = 0 };
	char data[64], control[64];
	struct wr d = wr_init(data, sizeof(data));
	struct wr c = wr_init(control, sizeof(control));
	struct rd r = rd_span(rows[i].in);
	enum websocket_frame s = WEBSOCKET_FRAME_MORE;

	while (s == WEBSOCKET_FRAME_MORE && rd_left(&r) > 0) {
		struct span part =
		    rd_take(&r, rd_left(&r) < step ? rd_left(&r) : step);
		struct span piece;

		while ((s = websocket_frames_feed(&f, &part, &piece)) ==
			WEBSOCKET_FRAME_DATA ||
		    s == WEBSOCKET_FRAME_CONTROL)
			wr_bytes(s == WEBSOCKET_FRAME_DATA ? &d : &c, piece.ptr,
			    piece.len);
	}
	row_equal(rows[i].claim, s, rows[i].want);
	row_span(rows[i].claim, (struct span){ d.buf, d.len }, rows[i].data);
	row_span(rows[i].claim, (struct span){ c.buf, c.len }, rows[i].control);
	if (s == WEBSOCKET_FRAME_MORE)
		row_equal(rows[i].claim, websocket_frames_at_rest(&f),
		    rows[i].is_at_rest);
}

static void
frames_are_read_in_one_way_however_they_are_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		for (size_t step = 1; step <= rows[i].in.len; step++)
			feed_row(i, step);
}

static void
a_refusal_is_repeated(void **state)
{
	struct websocket_frames f = { .left = 0 };
	struct span in = span_of("\x83"), data;

	(void)state;
	assert_int_equal(websocket_frames_feed(&f, &in, &data),
	    WEBSOCKET_FRAME_OPCODE);
	in = span_of(HELLO);
	assert_int_equal(websocket_frames_feed(&f, &in, &data),
	    WEBSOCKET_FRAME_OPCODE);
	assert_int_equal(in.len, sizeof(HELLO) - 1);
}

static void
says_how_much_of_a_control_frame_there_is(void **state)
{
	struct websocket_frames f = { .left = 0 };
	struct span in = span_of("\x01\x03Hel\x89"), data;

	(void)state;
	while (websocket_frames_feed(&f, &in, &data) == WEBSOCKET_FRAME_DATA)
		assert_int_equal(websocket_frames_in_control(&f), 0);
	assert_int_equal(websocket_frames_in_control(&f), 1);
	in = span_of("\x05He");
	assert_int_equal(websocket_frames_feed(&f, &in, &data),
	    WEBSOCKET_FRAME_CONTROL);
	assert_int_equal(websocket_frames_in_control(&f), 4);
	in = span_of("llo");
	(void)websocket_frames_feed(&f, &in, &data);
	assert_int_equal(websocket_frames_in_control(&f), 0);
	assert_false(websocket_frames_at_rest(&f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    row_74_a_request_opens_a_websocket_as_the_rfc_has_it),
		cmocka_unit_test(row_74_an_answer_opens_what_was_asked_for),
		cmocka_unit_test(fields_of_the_handshake_are_known_by_name),
		cmocka_unit_test(
		    frames_are_read_in_one_way_however_they_are_split),
		cmocka_unit_test(a_refusal_is_repeated),
		cmocka_unit_test(says_how_much_of_a_control_frame_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
