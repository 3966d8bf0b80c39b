#include <assert.h>
#include <string.h>

#include "wire/http.h"
#include "wire/http_head.h"
#include "wire/token.h"

static bool
has_byte(struct span s, int c)
{
	return s.len > 0 && memchr(s.ptr, c, s.len) != NULL;
}

static enum http_status
parse_authority(struct span in, const char *address, struct authority *ret)
{
	const enum authority_status s = authority_parse(in, ret);

	if (s == AUTHORITY_ADDRESS && address != NULL &&
	    authority_is_address(in, address, ret))
		return HTTP_OK;
	return http_head_authority(s);
}

/* Splits "path?query". */
static void
parse_path(struct span in, struct http_request *req)
{
	struct span rest = in;

	req->path = token_cut(&rest, '?');
	req->has_query = rest.ptr != NULL;
	req->query = rest;
}

/* What a scheme's name and "://" leave of an absolute form. */
static bool
take_scheme(struct span *in, struct http_request *req)
{
	static const struct {
		const char *prefix;
		enum http_scheme scheme;
	} rows[] = {
		{ "http://", HTTP_SCHEME_HTTP },
		{ "https://", HTTP_SCHEME_HTTPS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rd r = rd_span(*in);

		if (!span_is_case(rd_take(&r, strlen(rows[i].prefix)),
			rows[i].prefix))
			continue;
		*in = rd_take(&r, rd_left(&r));
		req->scheme = rows[i].scheme;
		return true;
	}
	return false;
}

/* Takes all before the first '/' or '?'. */
static struct span
take_authority(struct span *in)
{
	struct rd r = rd_span(*in);
	size_t len = 0;
	struct span authority;

	while (len < in->len && in->ptr[len] != '/' && in->ptr[len] != '?')
		len++;
	authority = rd_take(&r, len);
	*in = rd_take(&r, rd_left(&r));
	return authority;
}

/* RFC 9112 3.2.2, 3.2.4: without a path it is "/", or "*" for OPTIONS. */
static enum http_status
parse_absolute(struct span target, struct http_request *req)
{
	struct span rest = target, authority;

	if (!take_scheme(&rest, req))
		return HTTP_TARGET;
	req->form = HTTP_FORM_ABSOLUTE;
	authority = take_authority(&rest);
	parse_path(rest, req);
	if (req->path.len == 0)
		req->path = span_of(
		    req->known_method == HTTP_METHOD_OPTIONS && !req->has_query
			? "*"
			: "/");
	return parse_authority(authority, req->address, &req->authority);
}

/* RFC 9112 3.2: which form a target has follows from the method. */
static enum http_status
parse_target(struct span target, struct http_request *req)
{
	if (!token_is_visible(target))
		return HTTP_TARGET;
	if (has_byte(target, '#'))
		return HTTP_FRAGMENT;
	if (req->known_method == HTTP_METHOD_CONNECT) {
		req->form = HTTP_FORM_AUTHORITY;
		return http_head_authority(
		    authority_parse_connect(target, &req->authority));
	}
	if (span_is(target, "*")) {
		req->form = HTTP_FORM_ASTERISK;
		req->path = target;
		return req->known_method == HTTP_METHOD_OPTIONS ? HTTP_OK
								: HTTP_TARGET;
	}
	if (target.ptr[0] != '/')
		return parse_absolute(target, req);
	req->form = HTTP_FORM_ORIGIN;
	parse_path(target, req);
	return HTTP_OK;
}

/* RFC 9112 3: exactly one SP between the parts. */
static enum http_status
parse_start_line(struct span line, struct http_request *req)
{
	struct span rest = line, target;
	enum http_status s;

	req->method = token_cut(&rest, ' ');
	if (req->method.len == 0 || rest.len == 0)
		return HTTP_START_LINE;
	target = token_cut(&rest, ' ');
	if (target.len == 0 || has_byte(rest, ' '))
		return HTTP_START_LINE;
	s = http_head_version(rest, &req->minor);
	if (s != HTTP_OK)
		return s;
	if (!token_is(req->method))
		return HTTP_METHOD;
	req->known_method = http_method_find(req->method);
	return parse_target(target, req);
}

/* The port that a Host field without one means beside this target. */
static uint16_t
default_port(const struct http_request *req)
{
	if (req->form == HTTP_FORM_AUTHORITY)
		return req->authority.port;
	return req->scheme == HTTP_SCHEME_HTTPS ? 443 : 80;
}

/* Does the Host field alone say whom the request is for? */
static bool
is_named_by_host(const struct http_request *req)
{
	return req->form == HTTP_FORM_ORIGIN || req->form == HTTP_FORM_ASTERISK;
}

/*
 * RFC 9112 3.2: exactly one. CONNECT by HTTP/1.0 goes without (Python's
 * http.client before 3.12): its target alone names the host.
 */
static enum http_status
parse_host(struct http_request *req)
{
	const struct http_field *field =
	    http_field_find(&req->fields, "Host", 0);
	struct authority host;
	enum http_status s;

	if (field == NULL)
		return req->form == HTTP_FORM_AUTHORITY && req->minor == 0
		    ? HTTP_OK
		    : HTTP_NO_HOST;
	if (http_field_find(&req->fields, "Host", 1) != NULL)
		return HTTP_TWO_HOSTS;
	s = parse_authority(field->value, req->address, &host);
	if (s != HTTP_OK)
		return s;
	req->has_host = true;
	if (is_named_by_host(req))
		req->authority = host;
	else if (!authority_same(&req->authority, &host, default_port(req)))
		return HTTP_HOST_MISMATCH;
	return HTTP_OK;
}

static enum http_status
parse_body(struct http_request *req)
{
	struct http_body body;
	enum http_status s = http_head_body(&req->fields, req->minor, &body);

	if (s != HTTP_OK)
		return s;
	if (!body.is_chunked && !body.has_length)
		return HTTP_OK;
	if (req->known_method == HTTP_METHOD_CONNECT)
		return HTTP_CONNECT_BODY;
	req->framing =
	    body.is_chunked ? HTTP_FRAMING_CHUNKED : HTTP_FRAMING_LENGTH;
	req->length = body.length;
	return HTTP_OK;
}

/* RFC 9110 10.1.1: the one expectation there is; none from HTTP/1.0. */
static enum http_status
parse_expect(struct http_request *req)
{
	const struct http_field *field =
	    http_field_find(&req->fields, "Expect", 0);

	if (field == NULL)
		return HTTP_OK;
	if (!span_is_case(field->value, "100-continue") ||
	    http_field_find(&req->fields, "Expect", 1) != NULL)
		return HTTP_EXPECT;
	req->expects_continue = req->minor == 1 &&
	    (req->framing == HTTP_FRAMING_CHUNKED || req->length > 0);
	return HTTP_OK;
}

static void
parse_upgrade(struct http_request *req)
{
	req->has_upgrade = http_field_find(&req->fields, "Upgrade", 0) != NULL;
	req->is_websocket = req->known_method == HTTP_METHOD_GET &&
	    req->minor == 1 && req->framing == HTTP_FRAMING_NONE &&
	    http_head_is_websocket(&req->fields);
}

static enum http_status
parse_meaning(struct http_request *req, bool is_ours)
{
	enum http_status s = parse_host(req);

	/* Beside a target that names a host it would be another one. */
	if (s == HTTP_HOST_ADDRESS && is_ours && is_named_by_host(req))
		s = HTTP_OK;
	if (s == HTTP_OK)
		s = parse_body(req);
	if (s == HTTP_OK)
		s = parse_expect(req);
	if (s == HTTP_OK)
		s = http_head_connection(&req->fields, req->minor,
		    &req->is_keep_alive);
	if (s == HTTP_OK)
		parse_upgrade(req);
	return s;
}

static enum http_status
parse_head(struct span rest, bool is_ours, struct http_request *req)
{
	struct span line;
	enum http_status s = http_head_line(&rest, &line);

	if (s == HTTP_OK && line.len == 0)
		s = http_head_line(&rest, &line);
	if (s != HTTP_OK)
		return s;
	if (line.len == 0)
		return HTTP_NO_START_LINE;
	s = parse_start_line(line, req);
	if (s == HTTP_OK)
		s = http_head_fields(rest, &req->fields);
	return s == HTTP_OK ? parse_meaning(req, is_ours) : s;
}

static enum http_status
parse_whole(struct span head, const char *address, bool is_ours,
    struct http_request *ret)
{
	struct http_request req = { .form = HTTP_FORM_ORIGIN,
		.address = address };
	enum http_status s;

	if (head.len > HTTP_HEAD_MAX_BYTES)
		return HTTP_HEAD_SIZE;
	s = parse_head(head, is_ours, &req);
	if (s == HTTP_OK)
		*ret = req;
	return s;
}

enum http_status
http_request_parse(struct span head, struct http_request *ret)
{
	return parse_whole(head, NULL, false, ret);
}

enum http_status
http_request_parse_ours(struct span head, struct http_request *ret)
{
	return parse_whole(head, NULL, true, ret);
}

enum http_status
http_request_parse_at(struct span head, const char *address,
    struct http_request *ret)
{
	return parse_whole(head, address, false, ret);
}
