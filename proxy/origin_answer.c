/*
 * The answer of an origin, HTTP/1.1: head parsed strictly, interim ones
 * dropped, the body taken out of its framing. Any error of framing ends the
 * connection, which is then never used again.
 */
#include "proxy/origin_private.h"

#include <stdio.h>
#include <string.h>

#include "proxy/exchange.h"

/* Interim answers (1xx) before the final one. */
#define INTERIM_MAX 8
#define READ_BYTES 16384
/* Of what comes faster than that, and is searched and passed on in one go. */
#define BULK_READ_BYTES 49152
#define HEAD_READ_BYTES 4096

void
origin_answer_begin(struct origin *o)
{
	o->scan = (struct http_scan){ .at = 0 };
	o->chunked = (struct chunked){ .state = 0 };
	o->interim_count = 0;
	o->ready = 0;
	o->is_chunked_done = false;
	buf_consume(&o->trailers, o->trailers.len);
}

static void
fail(struct origin *o, const char *detail)
{
	exchange_origin_failed(o->x, REASON_BAD_RESPONSE, false, detail,
	    EXCHANGE_FATE_UNKNOWN);
}

/*
 * In HTTP/1.1 nothing may come before it is asked for: it would be taken for
 * the answer (row 59). An end is found when the request is sent.
 */
void
origin_answer_await(struct origin *o)
{
	uint8_t byte;
	size_t len;

	if (!o->is_h2 &&
	    stream_read(&o->stream, &byte, sizeof(byte), &len) == STREAM_OK)
		fail(o, "the origin spoke before it was asked");
	else
		exchange_origin_ready(o->x);
}

/* The connection has ended. */
static void
fail_ended(struct origin *o, bool was_reset)
{
	const char *detail = was_reset ? "the origin broke the connection off"
				       : "the origin closed the connection";

	if (o->state == ORIGIN_ASKED && !o->has_answer_bytes)
		exchange_origin_failed(o->x, REASON_ORIGIN_UNREACHABLE, false,
		    detail,
		    o->was_idle ? EXCHANGE_FATE_STALE : EXCHANGE_FATE_UNKNOWN);
	else
		fail(o, detail);
}

/* False: they are malformed, or the exchange is over. */
static bool
give_trailers(struct origin *o)
{
	struct http_fields f;
	enum http_status s;

	if (o->trailers.len == 0)
		return true;
	s = http_trailers_parse(buf_span(&o->trailers), &f);
	if (s != HTTP_OK) {
		fail(o, "its trailers are malformed");
		return false;
	}
	return exchange_origin_trailers(o->x, &f);
}

static void
end(struct origin *o)
{
	if (!give_trailers(o))
		return;
	o->state = ORIGIN_ENDED;
	exchange_origin_end(o->x);
}

/* The head is whole, len bytes long. True: go on. */
static bool
take_head(struct origin *o, size_t len)
{
	struct http_response res;
	struct span head = { buf_span(&o->in).ptr, len };
	enum http_status s =
	    http_response_parse(head, o->method, o->key.is_websocket, &res);

	if (s != HTTP_OK) {
		fail(o, http_status_text(s));
		return false;
	}
	if (res.status < 200 && res.framing != HTTP_FRAMING_TUNNEL) {
		if (++o->interim_count > INTERIM_MAX) {
			fail(o, "too many interim answers");
			return false;
		}
		buf_consume(&o->in, len);
		o->scan = (struct http_scan){ .at = 0 };
		return true;
	}
	o->framing = res.framing;
	o->left = res.framing == HTTP_FRAMING_LENGTH ? res.length : 0;
	o->keeps = res.is_keep_alive && res.framing != HTTP_FRAMING_CLOSE &&
	    !o->key.is_websocket;
	o->state = ORIGIN_ANSWER;
	exchange_origin_head(o->x, &res);
	if (o->state != ORIGIN_ANSWER)
		return false;
	buf_consume(&o->in, len);
	if (res.framing == HTTP_FRAMING_TUNNEL)
		origin_tunnel_begin(o);
	return true;
}

/* True: go on; false: more bytes are wanted, or it is over. */
static bool
run_head(struct origin *o)
{
	size_t len;
	enum http_status s;

	if (!http_response_begins(buf_span(&o->in))) {
		fail(o, http_status_text(HTTP_VERSION));
		return false;
	}
	s = http_scan(&o->scan, buf_span(&o->in), &len);
	if (s == HTTP_OK && len <= o->gate->limits.head_max_bytes)
		return take_head(o, len);
	if (s == HTTP_MORE && o->in.len <= o->gate->limits.head_max_bytes)
		return false;
	fail(o,
	    http_status_text(
		s == HTTP_OK || s == HTTP_MORE ? HTTP_HEAD_SIZE : s));
	return false;
}

/* Bytes that were decoded, and are no body. False: out of memory. */
static bool
pass_over(struct origin *o, size_t len)
{
	struct span taken = { buf_span(&o->in).ptr, len };
	struct span trailers = chunked_trailers(&o->chunked, taken);

	if (trailers.len > 0 && buf_append(&o->trailers, trailers) != 0) {
		fail(o, "out of memory");
		return false;
	}
	buf_consume(&o->in, len);
	return true;
}

/* Finds the next decoded bytes; false when there are none in the buffer. */
static bool
decode(struct origin *o)
{
	struct span in = buf_span(&o->in), data = { NULL, 0 };
	size_t before = in.len;
	enum chunked_status s = chunked_feed(&o->chunked, &in, &data);

	switch (s) {
	case CHUNKED_MORE:
		(void)pass_over(o, before - in.len);
		return false;
	case CHUNKED_DATA:
		buf_consume(&o->in, before - in.len - data.len);
		o->ready = data.len;
		return true;
	case CHUNKED_DONE:
		o->is_chunked_done = pass_over(o, before - in.len);
		return o->is_chunked_done;
	case CHUNKED_SIZE:
	case CHUNKED_LINE_END:
	case CHUNKED_EXTENSION:
	case CHUNKED_DATA_END:
	case CHUNKED_TRAILER:
	case CHUNKED_TRAILER_SIZE:
	case CHUNKED_STATUS_COUNT:
		break;
	}
	fail(o, chunked_status_text(s));
	return false;
}

/* Makes o->ready say how many bytes of the buffer are body. */
static bool
find_ready(struct origin *o)
{
	if (o->ready > 0)
		return true;
	switch (o->framing) {
	case HTTP_FRAMING_LENGTH:
		o->ready = o->in.len < o->left ? o->in.len : (size_t)o->left;
		return o->ready > 0;
	case HTTP_FRAMING_CLOSE:
	case HTTP_FRAMING_TUNNEL:
		o->ready = o->in.len;
		return o->ready > 0;
	case HTTP_FRAMING_CHUNKED:
		return !o->is_chunked_done && decode(o);
	case HTTP_FRAMING_NONE:
		break;
	}
	return false;
}

static bool
body_is_whole(const struct origin *o)
{
	switch (o->framing) {
	case HTTP_FRAMING_LENGTH:
		return o->left == 0;
	case HTTP_FRAMING_CHUNKED:
		return o->is_chunked_done;
	case HTTP_FRAMING_CLOSE:
	case HTTP_FRAMING_TUNNEL:
		return false; /* the end of the connection tells */
	case HTTP_FRAMING_NONE:
		break;
	}
	return true;
}

/* True: all ready bytes were taken. */
static bool
offer(struct origin *o)
{
	struct span data = { buf_span(&o->in).ptr, o->ready };
	size_t taken;

	if (o->ready == 0)
		return true;
	taken = exchange_origin_body(o->x, data);
	if (o->state != ORIGIN_ANSWER)
		return false;
	buf_consume(&o->in, taken);
	o->ready -= taken;
	if (o->framing == HTTP_FRAMING_LENGTH)
		o->left -= taken;
	return o->ready == 0;
}

/* False: blocked by the guest, or over. */
static bool
run_body(struct origin *o)
{
	while (!body_is_whole(o) && find_ready(o)) {
		if (offer(o))
			continue;
		if (o->state == ORIGIN_ANSWER)
			stream_set_reading(&o->stream, false);
		return false;
	}
	if (o->state != ORIGIN_ANSWER)
		return false;
	if (body_is_whole(o)) {
		end(o);
		return false;
	}
	return true;
}

/* True: more bytes are wanted. */
static bool
run(struct origin *o)
{
	while (o->state == ORIGIN_ASKED && o->in.len > 0)
		if (!run_head(o))
			break;
	if (o->state == ORIGIN_ASKED)
		return true;
	return o->state == ORIGIN_ANSWER && run_body(o);
}

static void
ended(struct origin *o, enum stream_result r)
{
	bool in_order = r == STREAM_END;

	if (o->up_framing == HTTP_FRAMING_TUNNEL && r != STREAM_FAILED)
		origin_tunnel_ended(o, !in_order);
	else if (in_order && o->state == ORIGIN_ANSWER &&
	    o->framing == HTTP_FRAMING_CLOSE)
		end(o);
	else
		fail_ended(o, !in_order);
}

static size_t
read_size(const struct origin *o)
{
	if (o->state == ORIGIN_ASKED)
		return HEAD_READ_BYTES;
	return o->is_bulk ? BULK_READ_BYTES : READ_BYTES;
}

static enum stream_result
read_once(struct origin *o)
{
	size_t size = read_size(o), len;
	uint8_t *room = buf_reserve(&o->in, size);
	enum stream_result r;

	if (room == NULL)
		return STREAM_FAILED;
	r = stream_read(&o->stream, room, size, &len);
	if (r != STREAM_OK)
		return r;
	buf_commit(&o->in, len);
	o->is_bulk = len >= READ_BYTES;
	o->has_answer_bytes = true;
	exchange_alive(o->x);
	return STREAM_OK;
}

void
origin_answer_read(struct origin *o)
{
	do {
		enum stream_result r = read_once(o);

		if (r == STREAM_AGAIN)
			return;
		if (r != STREAM_OK) {
			ended(o, r);
			return;
		}
		if (!run(o))
			return;
	} while (stream_has_more(&o->stream));
}

void
origin_answer_run(struct origin *o)
{
	if (run(o) && stream_has_more(&o->stream))
		origin_answer_read(o);
}
