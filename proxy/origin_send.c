/*
 * What goes to an origin, HTTP/1.1: a head, and a body in the framing that the
 * head declares. What is sent in one turn of the loop goes out at its end.
 */
#include "proxy/origin_private.h"

#include <assert.h>

#include "proxy/exchange.h"
#include "proxy/h2_origin.h"

/* What the head says of the connection and of the body. */
#define FRAMING_BYTES 128

static void
kick(struct origin *o)
{
	event_active(&o->kick, 0, 0);
}

static int
write_framing(struct buf *out, const struct origin_request *r)
{
	struct wr w = buf_write(out, FRAMING_BYTES);

	/* RFC 9110 10.1.4: said of one connection, so Connection says it. */
	if (r->takes_trailers) {
		http_write_text(&w, "TE", "trailers");
		http_write_text(&w, "Connection", "TE");
	}
	if (r->is_websocket) {
		http_write_text(&w, "Upgrade", "websocket");
		http_write_text(&w, "Connection", "Upgrade");
	}
	switch (r->framing) {
	case HTTP_FRAMING_LENGTH:
		http_write_length(&w, r->length);
		break;
	case HTTP_FRAMING_CHUNKED:
		http_write_text(&w, "Transfer-Encoding", "chunked");
		break;
	case HTTP_FRAMING_NONE:
	case HTTP_FRAMING_CLOSE:
	case HTTP_FRAMING_TUNNEL:
		break;
	}
	http_write_end(&w);
	return buf_write_end(out, &w);
}

int
origin_send_head(struct origin *o, const struct origin_request *r)
{
	bool has_credential = r->credential != NULL;
	int rc;

	assert(o->state == ORIGIN_READY && o->out.len == 0);
	if (o->is_h2)
		return h2_origin_send_head(o, r);
	/* From here on what leaves the buffer is wiped. */
	o->out.is_secret = has_credential;
	/* An origin may repeat it. */
	o->in.is_secret = o->trailers.is_secret = has_credential;
	injection_set(&o->credential, r->credential);
	rc = buf_append(&o->out, r->head);
	if (rc == 0)
		rc = buf_append(&o->out, r->credential_line);
	if (rc == 0)
		rc = write_framing(&o->out, r);
	if (rc != 0)
		return rc;
	o->method = r->method;
	o->up_framing = r->framing;
	o->up_left = r->framing == HTTP_FRAMING_LENGTH ? r->length : 0;
	o->is_up_whole = false;
	o->is_up_blocked = false;
	o->has_answer_bytes = false;
	origin_answer_begin(o);
	stream_set_reading(&o->stream, true);
	o->state = ORIGIN_ASKED;
	kick(o);
	return 0;
}

static size_t
room(const struct origin *o)
{
	size_t most = o->gate->limits.wait_bytes;

	return o->out.len >= most ? 0 : most - o->out.len;
}

static int
append_chunk(struct buf *out, struct span data)
{
	uint8_t size[CHUNKED_HEADER_SIZE];
	size_t len = chunked_header(data.len, size);
	int rc = buf_append(out, (struct span){ size, len });

	if (rc == 0)
		rc = buf_append(out, data);
	if (rc == 0)
		rc = buf_append(out, span_of("\r\n"));
	return rc;
}

size_t
origin_send_body(struct origin *o, struct span data)
{
	int rc;

	if (o->is_h2)
		return h2_origin_send_body(o, data);
	/* It may answer all the same: what it does not want is dropped. */
	if (o->is_write_failed)
		return data.len;
	if (data.len > room(o)) {
		o->is_up_blocked = true;
		data.len = room(o);
	}
	if (data.len == 0)
		return 0;
	if (o->up_framing == HTTP_FRAMING_LENGTH) {
		assert(data.len <= o->up_left);
		o->up_left -= data.len;
	}
	rc = o->up_framing == HTTP_FRAMING_CHUNKED ? append_chunk(&o->out, data)
						   : buf_append(&o->out, data);
	if (rc != 0) {
		/* A piece is missing: nothing may follow it. */
		o->is_write_failed = true;
		buf_done(&o->out);
	}
	kick(o);
	return data.len;
}

void
origin_send_trailers(struct origin *o, const struct http_fields *f)
{
	if (o->is_h2)
		h2_origin_send_trailers(o, f);
}

void
origin_send_end(struct origin *o)
{
	if (o->is_h2) {
		h2_origin_send_end(o);
		return;
	}
	o->is_up_whole = true;
	if (o->up_framing == HTTP_FRAMING_CHUNKED && !o->is_write_failed &&
	    buf_append(&o->out, span_of(CHUNKED_END)) != 0)
		o->is_write_failed = true;
	kick(o);
}

void
origin_write(struct origin *o)
{
	enum stream_result r = STREAM_OK;
	size_t len = 0;

	while (o->out.len > 0 && r == STREAM_OK) {
		r = stream_write(&o->stream, buf_span(&o->out), &len);
		if (r == STREAM_OK) {
			buf_consume(&o->out, len);
			exchange_alive(o->x);
		}
	}
	if (r != STREAM_OK && r != STREAM_AGAIN) {
		/*
		 * It has closed while the request went out: its answer may
		 * be there to be read (a 413), and then says why.
		 */
		o->is_write_failed = true;
		buf_done(&o->out);
	}
	if (o->is_up_blocked && o->out.len <= o->gate->limits.wait_bytes / 2) {
		o->is_up_blocked = false;
		exchange_origin_room(o->x);
	}
	if (o->up_framing == HTTP_FRAMING_TUNNEL)
		origin_tunnel_written(o);
}
