#include "wire/http.h"
#include "wire/http_head.h"
#include "wire/token.h"

bool
http_response_begins(struct span so_far)
{
	struct rd want = rd_span(span_of("HTTP/1.")), is = rd_span(so_far);
	size_t len = so_far.len < rd_left(&want) ? so_far.len : rd_left(&want);

	return span_eq(rd_take(&is, len), rd_take(&want, len));
}

/* RFC 9112 4: three digits; a missing SP after them is let pass. */
static enum http_status
parse_status_line(struct span line, struct http_response *res)
{
	struct span rest = line, version = token_cut(&rest, ' ');
	enum http_status s = http_head_version(version, &res->minor);
	struct span code = token_cut(&rest, ' ');
	uint64_t status;

	if (s != HTTP_OK)
		return s;
	if (!token_decimal(code, 599, &status) || status < 100)
		return HTTP_STATUS_CODE;
	res->status = (unsigned int)status;
	res->reason = rest;
	return HTTP_OK;
}

/* RFC 9112 6.1, RFC 9110 8.6; "Content-Length: 0" does no harm there. */
static bool
declares_body(const struct http_body *body)
{
	return body->is_chunked || body->length > 0;
}

/* RFC 9112 6.3, in its order. */
static enum http_status
frame(struct http_response *res, const struct http_body *body,
    enum http_method asked, bool asked_upgrade)
{
	bool is_bodyless = res->status < 200 || res->status == 204;

	if (is_bodyless && declares_body(body))
		return HTTP_NO_BODY;
	if (res->status == 101) {
		res->framing = HTTP_FRAMING_TUNNEL;
		return asked_upgrade && http_head_is_websocket(&res->fields)
		    ? HTTP_OK
		    : HTTP_UPGRADE;
	}
	if (is_bodyless || res->status == 304 || asked == HTTP_METHOD_HEAD)
		res->framing = HTTP_FRAMING_NONE;
	else if (asked == HTTP_METHOD_CONNECT && res->status < 300)
		res->framing = HTTP_FRAMING_TUNNEL;
	else if (body->is_chunked)
		res->framing = HTTP_FRAMING_CHUNKED;
	else if (body->has_length)
		res->framing = HTTP_FRAMING_LENGTH;
	else
		res->framing = HTTP_FRAMING_CLOSE;
	return HTTP_OK;
}

static enum http_status
parse_meaning(struct http_response *res, enum http_method asked,
    bool asked_upgrade)
{
	struct http_body body;
	enum http_status s = http_head_body(&res->fields, res->minor, &body);

	if (s == HTTP_OK)
		s = http_head_connection(&res->fields, res->minor,
		    &res->is_keep_alive);
	if (s == HTTP_OK)
		s = frame(res, &body, asked, asked_upgrade);
	if (s != HTTP_OK)
		return s;
	res->has_length = body.has_length;
	res->length = body.length;
	if (res->framing == HTTP_FRAMING_CLOSE ||
	    res->framing == HTTP_FRAMING_TUNNEL)
		res->is_keep_alive = false;
	return HTTP_OK;
}

enum http_status
http_trailers_parse(struct span section, struct http_fields *ret)
{
	enum http_status s = http_head_fields(section, ret);

	if (s == HTTP_OK)
		http_trailers_keep(ret);
	return s;
}

enum http_status
http_response_parse(struct span head, enum http_method asked,
    bool asked_upgrade, struct http_response *ret)
{
	struct http_response res = { .status = 0 };
	struct span rest = head, line;
	enum http_status s;

	if (head.len > HTTP_HEAD_MAX_BYTES)
		return HTTP_HEAD_SIZE;
	s = http_head_line(&rest, &line);
	if (s == HTTP_OK && line.len == 0)
		s = HTTP_NO_START_LINE;
	if (s == HTTP_OK)
		s = parse_status_line(line, &res);
	if (s == HTTP_OK)
		s = http_head_fields(rest, &res.fields);
	if (s == HTTP_OK)
		s = parse_meaning(&res, asked, asked_upgrade);
	if (s == HTTP_OK)
		*ret = res;
	return s;
}
