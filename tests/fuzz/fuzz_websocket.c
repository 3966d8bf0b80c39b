/*
 * A request that is let through opens a WebSocket in one reading only: its key
 * is base64 of 16 bytes, there is one of it and of the version, and written
 * anew it is let through again. An answer is let through only with the accept
 * that was wanted, and offers nothing that was not asked for.
 *
 * The first byte says what was asked for, the rest is a head: of a request,
 * or of an answer.
 */
#include "fuzz_head.h"

#include "wire/websocket.h"

#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static uint8_t buf[4 * HTTP_HEAD_MAX_BYTES];

static void
has_one(const struct http_fields *f, const char *name)
{
	HOLDS(http_field_find(f, name, 0) != NULL);
	HOLDS(http_field_find(f, name, 1) == NULL);
}

static void
request_is_sound(const struct http_request *req)
{
	struct span key, again;
	static struct http_request read;
	struct wr w = wr_init(buf, sizeof(buf));

	if (websocket_check_request(&req->fields, &key) != WEBSOCKET_OK)
		return;
	has_one(&req->fields, "Sec-WebSocket-Key");
	has_one(&req->fields, "Sec-WebSocket-Version");
	HOLDS(key.len == WEBSOCKET_KEY_LEN && key.ptr[23] == '=');
	http_write_request_line(&w, req->method, req->path, req->has_query,
	    req->query);
	write_fields(&w, &req->fields);
	HOLDS(wr_ok(&w));
	if (w.len > HTTP_HEAD_MAX_BYTES ||
	    http_request_parse((struct span){ buf, w.len }, &read) != HTTP_OK)
		return;
	HOLDS(websocket_check_request(&read.fields, &again) == WEBSOCKET_OK);
	HOLDS(span_eq(key, again));
}

static void
answer_is_sound(const struct http_fields *f, uint8_t asked)
{
	struct websocket_offer offer = { .accept = ACCEPT,
		.has_protocol = (asked & 1) != 0,
		.has_extensions = (asked & 2) != 0 };

	if (websocket_check_answer(f, &offer) != WEBSOCKET_OK)
		return;
	has_one(f, "Sec-WebSocket-Accept");
	HOLDS(span_is(http_field_find(f, "sec-websocket-accept", 0)->value,
	    ACCEPT));
	if (!offer.has_protocol)
		HOLDS(http_field_find(f, "Sec-WebSocket-Protocol", 0) == NULL);
	if (!offer.has_extensions)
		HOLDS(
		    http_field_find(f, "Sec-WebSocket-Extensions", 0) == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request req;
	static struct http_response res;
	struct rd r = rd_init(data, size);
	uint8_t first = rd_u8(&r);
	struct span head = find_head(rd_take(&r, rd_left(&r)));

	if (http_request_parse(head, &req) == HTTP_OK)
		request_is_sound(&req);
	if (http_response_parse(head, HTTP_METHOD_GET, true, &res) == HTTP_OK)
		answer_is_sound(&res.fields, first);
	return 0;
}
