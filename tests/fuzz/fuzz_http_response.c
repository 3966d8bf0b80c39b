/*
 * As fuzz_http_request, for answers; and an answer without a body is framed
 * so whatever it declares. The first byte says what was asked.
 */
#include "fuzz_head.h"

static uint8_t buf[4 * HTTP_HEAD_MAX_BYTES];

static void
same_meaning(const struct http_response *a, const struct http_response *b)
{
	HOLDS(a->status == b->status && span_eq(a->reason, b->reason));
	HOLDS(a->framing == b->framing && a->length == b->length);
	HOLDS(a->has_length == b->has_length);
	same_fields(&a->fields, &b->fields);
	if (a->minor == b->minor)
		HOLDS(a->is_keep_alive == b->is_keep_alive);
}

static void
is_framed_soundly(const struct http_response *res, enum http_method asked)
{
	if (res->status < 200 || res->status == 204 || res->status == 304 ||
	    asked == HTTP_METHOD_HEAD)
		HOLDS(res->framing == HTTP_FRAMING_NONE || res->status == 101);
	if (res->framing == HTTP_FRAMING_LENGTH)
		HOLDS(res->has_length);
	if (res->framing == HTTP_FRAMING_CLOSE)
		HOLDS(!res->is_keep_alive && !res->has_length);
	HOLDS(res->length <= HTTP_LENGTH_MAX_BYTES);
}

static void
comes_back(const struct http_response *res, enum http_method asked,
    bool asked_upgrade)
{
	struct http_response again;
	struct wr w = wr_init(buf, sizeof(buf));
	struct span head;

	http_write_status_line(&w, res->status, res->reason);
	write_fields(&w, &res->fields);
	HOLDS(wr_ok(&w));
	if (w.len > HTTP_HEAD_MAX_BYTES)
		return;
	head = find_head((struct span){ buf, w.len });
	HOLDS(head.len == w.len);
	HOLDS(
	    http_response_parse(head, asked, asked_upgrade, &again) == HTTP_OK);
	same_meaning(res, &again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum http_method methods[] = { HTTP_METHOD_GET,
		HTTP_METHOD_HEAD, HTTP_METHOD_CONNECT, HTTP_METHOD_OTHER };
	struct rd r = rd_init(data, size);
	uint8_t first = rd_u8(&r);
	struct span head = find_head(rd_take(&r, rd_left(&r)));
	struct http_response res;

	if (head.len == 0 ||
	    http_response_parse(head, methods[first & 3], (first & 4) != 0,
		&res) != HTTP_OK)
		return 0;
	is_framed_soundly(&res, methods[first & 3]);
	comes_back(&res, methods[first & 3], (first & 4) != 0);
	return 0;
}
