/*
 * A look at a chunked body before its request goes on.
 *
 * Bodies stream: what is wrong further behind is found when the head is with
 * the origin, and can only be cut off. But smuggled requests begin with the
 * first chunks. So those that come at once are read first, and a request whose
 * body is none is refused like one whose head is none: nothing is looked up,
 * dialled or sent for it. The bytes stay in the buffer and are decoded again
 * when the origin takes them.
 */
#include "proxy/h1_guest_private.h"

#include <assert.h>

/* Beside the head, which limits.head_max_bytes bounds. */
#define LOOK_MAX_BYTES 16384
/*
 * A guest that sends its head and waits for an answer before it sends more is
 * kept waiting this long, once. One that writes byte by byte is not.
 */
#define LOOK_MS 200

void
h1_guest_look(struct h1_guest *h, const struct http_request *req, size_t len)
{
	h->head_len = len;
	h->looked = len;
	h->chunked = (struct chunked){ .state = 0 };
	/* It sends nothing more before it is told to. */
	h->is_look_over = req->expects_continue;
	h1_guest_enter(h, H1_LOOK);
	h1_guest_set_deadline(h, LOOK_MS);
}

void
h1_guest_end_look(struct h1_guest *h)
{
	h->is_look_over = true;
}

/* Reads on what has come. */
static enum chunked_status
look(struct h1_guest *h)
{
	struct rd r = rd_span(buf_span(&h->in));
	struct span in, data;
	enum chunked_status s;

	(void)rd_take(&r, h->looked);
	in = rd_take(&r, rd_left(&r));
	do {
		s = chunked_feed(&h->chunked, &in, &data);
	} while (s == CHUNKED_DATA);
	h->looked = h->in.len - in.len;
	return s;
}

static struct http_request
parse_again(const struct h1_guest *h)
{
	struct http_request req = { .minor = 0 };
	enum http_status s =
	    http_request_parse((struct span){ buf_span(&h->in).ptr,
				   h->head_len },
		&req);

	/* The buffer may have moved, its bytes are the same. */
	assert(s == HTTP_OK);
	return req;
}

static bool
refuse(struct h1_guest *h, const char *fault)
{
	struct http_request req = parse_again(h);
	struct deny d = deny_init(REASON_BAD_REQUEST);

	d.method = req.method;
	d.path = req.path;
	d.host = req.authority.host;
	d.port =
	    h->spec.front.port != 0 ? h->spec.front.port : req.authority.port;
	d.detail = fault;
	h1_guest_refuse_head(h, &d);
	return true;
}

static bool
go_on(struct h1_guest *h)
{
	struct http_request req = parse_again(h);

	h1_guest_take_request(h, &req, h->head_len);
	return true;
}

bool
h1_guest_step_look(struct h1_guest *h)
{
	switch (look(h)) {
	case CHUNKED_DONE:
		return go_on(h);
	case CHUNKED_MORE:
	case CHUNKED_DATA:
		break;
	case CHUNKED_SIZE:
	case CHUNKED_LINE_END:
	case CHUNKED_EXTENSION:
	case CHUNKED_DATA_END:
	case CHUNKED_TRAILER:
	case CHUNKED_TRAILER_SIZE:
	case CHUNKED_STATUS_COUNT:
		return refuse(h, chunked_status_text(h->chunked.fault));
	}
	if (h->is_ended)
		return refuse(h, "the body ended early");
	if (h->is_look_over || h->looked - h->head_len >= LOOK_MAX_BYTES)
		return go_on(h);
	return h1_guest_fill(h);
}
