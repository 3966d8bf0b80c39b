/*
 * A head has one outcome however it is split; what parses, written again in
 * the canonical form and parsed again, says the same. A request to ourselves
 * is read in the same way, but for an address as its Host.
 */
#include "fuzz_head.h"

#include <string.h>

static uint8_t buf[4 * HTTP_HEAD_MAX_BYTES];

/* The target as an origin gets it; CONNECT is never sent on. */
static void
write_head(struct wr *w, const struct http_request *req)
{
	if (req->form == HTTP_FORM_AUTHORITY) {
		wr_bytes(w, req->method.ptr, req->method.len);
		wr_fmt(w, " %s:%u HTTP/1.%u\r\n", req->authority.host,
		    (unsigned int)req->authority.port, req->minor);
	} else {
		http_write_request_line(w, req->method, req->path,
		    req->has_query, req->query);
	}
	write_fields(w, &req->fields);
}

static void
same_meaning(const struct http_request *a, const struct http_request *b)
{
	HOLDS(span_eq(a->method, b->method));
	HOLDS(a->known_method == b->known_method);
	HOLDS(strcmp(a->authority.host, b->authority.host) == 0);
	HOLDS(span_eq(a->path, b->path) && span_eq(a->query, b->query));
	HOLDS(a->has_query == b->has_query && a->has_host == b->has_host);
	HOLDS(a->framing == b->framing && a->length == b->length);
	HOLDS(a->has_upgrade == b->has_upgrade);
	same_fields(&a->fields, &b->fields);
	if (a->minor != b->minor)
		return; /* HTTP/1.0 is sent on as 1.1 */
	HOLDS(a->is_keep_alive == b->is_keep_alive);
	HOLDS(a->expects_continue == b->expects_continue);
	HOLDS(a->is_websocket == b->is_websocket);
}

static void
comes_back(const struct http_request *req)
{
	struct http_request again;
	struct wr w = wr_init(buf, sizeof(buf));
	struct span head;

	write_head(&w, req);
	HOLDS(wr_ok(&w));
	/* ": " for ":" can make it longer than a head may be. */
	if (w.len > HTTP_HEAD_MAX_BYTES)
		return;
	head = find_head((struct span){ buf, w.len });
	HOLDS(head.len == w.len);
	HOLDS(http_request_parse(head, &again) == HTTP_OK);
	same_meaning(req, &again);
}

static void
same_for_us(struct span in, enum http_status theirs)
{
	struct http_request req;
	enum http_status ours = http_request_parse_ours(in, &req);

	HOLDS(ours == theirs || theirs == HTTP_HOST_ADDRESS);
	if (ours != theirs && ours == HTTP_OK)
		HOLDS(!req.has_host &&
		    (req.form == HTTP_FORM_ORIGIN ||
			req.form == HTTP_FORM_ASTERISK));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct http_request req;
	struct span head = find_head(in);
	enum http_status s = http_request_parse(in, &req);

	HOLDS(http_status_text(s) != NULL && s != HTTP_MORE);
	same_for_us(in, s);
	/* Without a scan nothing is taken that one would have refused. */
	if (s == HTTP_OK)
		HOLDS(head.len == size);
	if (head.len > 0 && http_request_parse(head, &req) == HTTP_OK)
		comes_back(&req);
	return 0;
}
