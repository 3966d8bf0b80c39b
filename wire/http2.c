#include "wire/http2.h"

#include "wire/http_head.h"
#include "wire/token.h"

/* RFC 9113 8.2.2: what HTTP/2 must not carry. */
static bool
is_of_connection(const struct http_field *f)
{
	static const struct span names[] = { SPAN("connection"),
		SPAN("keep-alive"), SPAN("proxy-connection"),
		SPAN("transfer-encoding"), SPAN("upgrade") };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (span_eq(f->name, names[i]))
			return true;
	return span_is(f->name, "te") && !span_is_case(f->value, "trailers");
}

/* RFC 9113 8.2.1: a token in lower case. */
static bool
is_name(struct span name)
{
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] >= 'A' && name.ptr[i] <= 'Z')
			return false;
	return token_is(name);
}

static enum http_status
check_field(const struct http_field *f)
{
	if (!is_name(f->name))
		return HTTP_FIELD_NAME;
	if (f->value.len > 0 && !token_is_text(f->value))
		return HTTP_CONTROL;
	if (token_trim(f->value).len != f->value.len)
		return HTTP_FOLD;
	if (is_of_connection(f))
		return HTTP_CONNECTION_FIELD;
	return http_name_is_bent(f->name) ? HTTP_ALIAS : HTTP_OK;
}

static bool
is_pseudo(const struct http_field *f)
{
	return f->name.len > 0 && f->name.ptr[0] == ':';
}

/* How many pseudo-fields come first. */
static size_t
count_pseudo(const struct http_fields *all)
{
	size_t n = 0;

	while (n < all->count && is_pseudo(&all->at[n]))
		n++;
	return n;
}

/* The fields behind the first n, checked. A pseudo-field among them is bad. */
static enum http_status
take_fields(const struct http_fields *all, size_t n, struct http_fields *ret)
{
	ret->count = 0;
	for (size_t i = n; i < all->count; i++) {
		enum http_status s;

		if (is_pseudo(&all->at[i]))
			return HTTP_PSEUDO;
		s = check_field(&all->at[i]);
		if (s != HTTP_OK)
			return s;
		ret->at[ret->count++] = all->at[i];
	}
	return HTTP_OK;
}

struct pseudo {
	struct span method, scheme, authority, path;
};

static struct span *
pseudo_slot(struct pseudo *p, struct span name)
{
	if (span_is(name, ":method"))
		return &p->method;
	if (span_is(name, ":scheme"))
		return &p->scheme;
	if (span_is(name, ":authority"))
		return &p->authority;
	return span_is(name, ":path") ? &p->path : NULL;
}

static enum http_status
take_pseudo(const struct http_fields *all, size_t n, struct pseudo *ret)
{
	for (size_t i = 0; i < n; i++) {
		struct span *slot = pseudo_slot(ret, all->at[i].name);

		if (slot == NULL || slot->ptr != NULL)
			return HTTP_PSEUDO;
		*slot = all->at[i].value;
		/* An empty one is there, too. */
		if (slot->ptr == NULL)
			slot->ptr = (const uint8_t *)"";
	}
	if (ret->method.ptr == NULL || ret->scheme.ptr == NULL ||
	    ret->path.ptr == NULL)
		return HTTP_PSEUDO;
	return HTTP_OK;
}

static bool
has_hash(struct span s)
{
	(void)token_cut(&s, '#');
	return s.ptr != NULL;
}

/* RFC 9113 8.3.1. */
static enum http_status
read_path(struct span path, struct http_request *req)
{
	struct span rest = path;

	if (!token_is_visible(path))
		return HTTP_TARGET;
	if (has_hash(path))
		return HTTP_FRAGMENT;
	if (span_is(path, "*")) {
		req->form = HTTP_FORM_ASTERISK;
		req->path = path;
		return req->known_method == HTTP_METHOD_OPTIONS ? HTTP_OK
								: HTTP_TARGET;
	}
	if (path.ptr[0] != '/')
		return HTTP_TARGET;
	req->form = HTTP_FORM_ORIGIN;
	req->path = token_cut(&rest, '?');
	req->has_query = rest.ptr != NULL;
	req->query = rest;
	return HTTP_OK;
}

static enum http_status
read_line(const struct pseudo *p, struct http_request *req)
{
	if (!token_is(p->method))
		return HTTP_METHOD;
	req->method = p->method;
	req->known_method = http_method_find(p->method);
	if (req->known_method == HTTP_METHOD_CONNECT)
		return HTTP_PSEUDO;
	if (span_is(p->scheme, "https"))
		req->scheme = HTTP_SCHEME_HTTPS;
	else if (span_is(p->scheme, "http"))
		req->scheme = HTTP_SCHEME_HTTP;
	else
		return HTTP_TARGET;
	return read_path(p->path, req);
}

static enum http_status
read_authority(struct span in, struct authority *ret)
{
	return http_head_authority(authority_parse(in, ret));
}

/* :authority, Host, or both if they say the same (RFC 9113 8.3.1). */
static enum http_status
read_host(const struct pseudo *p, struct http_request *req)
{
	const struct http_field *field =
	    http_field_find(&req->fields, "host", 0);
	uint16_t port = req->scheme == HTTP_SCHEME_HTTPS ? 443 : 80;
	struct authority host;
	enum http_status s;

	if (http_field_find(&req->fields, "host", 1) != NULL)
		return HTTP_TWO_HOSTS;
	if (p->authority.ptr == NULL && field == NULL)
		return HTTP_NO_HOST;
	if (field == NULL)
		return read_authority(p->authority, &req->authority);
	s = read_authority(p->authority.ptr == NULL ? field->value
						    : p->authority,
	    &req->authority);
	if (s != HTTP_OK)
		return s;
	req->has_host = true;
	s = read_authority(field->value, &host);
	if (s != HTTP_OK)
		return s;
	return authority_same(&req->authority, &host, port)
	    ? HTTP_OK
	    : HTTP_HOST_MISMATCH;
}

static enum http_status
read_body(struct http_request *req, bool is_whole)
{
	struct http_body body;
	enum http_status s = http_head_body(&req->fields, 1, &body);

	if (s != HTTP_OK)
		return s;
	if (is_whole && body.length > 0)
		return HTTP_LENGTH;
	if (body.has_length)
		req->framing = HTTP_FRAMING_LENGTH;
	else
		req->framing =
		    is_whole ? HTTP_FRAMING_NONE : HTTP_FRAMING_CHUNKED;
	req->length = body.length;
	return HTTP_OK;
}

static enum http_status
read_expect(struct http_request *req)
{
	const struct http_field *f = http_field_find(&req->fields, "expect", 0);

	if (f == NULL)
		return HTTP_OK;
	if (!span_is_case(f->value, "100-continue") ||
	    http_field_find(&req->fields, "expect", 1) != NULL)
		return HTTP_EXPECT;
	req->expects_continue = req->framing == HTTP_FRAMING_CHUNKED ||
	    (req->framing == HTTP_FRAMING_LENGTH && req->length > 0);
	return HTTP_OK;
}

enum http_status
http2_request_read(const struct http_fields *all, bool is_whole,
    struct http_request *ret)
{
	struct http_request req = { .minor = 1, .is_keep_alive = true };
	struct pseudo p = { .method = { NULL, 0 } };
	size_t n = count_pseudo(all);
	enum http_status s = take_pseudo(all, n, &p);

	if (s == HTTP_OK)
		s = take_fields(all, n, &req.fields);
	if (s == HTTP_OK)
		s = read_line(&p, &req);
	if (s == HTTP_OK)
		s = read_host(&p, &req);
	if (s == HTTP_OK)
		s = read_body(&req, is_whole);
	if (s == HTTP_OK)
		s = read_expect(&req);
	if (s == HTTP_OK)
		*ret = req;
	return s;
}

/* RFC 9113 8.3.2; 101 is HTTP/1's (8.6). */
static enum http_status
read_status(const struct http_fields *all, size_t n, struct http_response *res)
{
	uint64_t status;

	if (n != 1 || !span_is(all->at[0].name, ":status"))
		return HTTP_PSEUDO;
	if (!token_decimal(all->at[0].value, 599, &status) || status < 100)
		return HTTP_STATUS_CODE;
	res->status = (unsigned int)status;
	return status == 101 ? HTTP_UPGRADE : HTTP_OK;
}

static enum http_status
frame(struct http_response *res, enum http_method asked, bool is_whole)
{
	struct http_body body;
	enum http_status s = http_head_body(&res->fields, 1, &body);
	bool is_bodyless = res->status < 200 || res->status == 204;

	if (s != HTTP_OK)
		return s;
	res->has_length = body.has_length;
	res->length = body.length;
	if (is_bodyless && body.length > 0)
		return HTTP_NO_BODY;
	if (is_bodyless || res->status == 304 || asked == HTTP_METHOD_HEAD) {
		res->framing = HTTP_FRAMING_NONE;
		return HTTP_OK;
	}
	if (is_whole && body.length > 0)
		return HTTP_LENGTH;
	res->framing = is_whole || body.has_length ? HTTP_FRAMING_LENGTH
						   : HTTP_FRAMING_CHUNKED;
	return HTTP_OK;
}

enum http_status
http2_response_read(const struct http_fields *all, enum http_method asked,
    bool is_whole, struct http_response *ret)
{
	struct http_response res = { .minor = 1 };
	size_t n = count_pseudo(all);
	enum http_status s = read_status(all, n, &res);

	if (s == HTTP_OK)
		s = take_fields(all, n, &res.fields);
	if (s == HTTP_OK)
		s = frame(&res, asked, is_whole);
	if (s == HTTP_OK && res.status < 200 && is_whole)
		s = HTTP_STATUS_CODE;
	if (s == HTTP_OK)
		*ret = res;
	return s;
}

enum http_status
http2_trailers_read(const struct http_fields *all, struct http_fields *ret)
{
	enum http_status s = take_fields(all, 0, ret);

	if (s == HTTP_OK)
		http_trailers_keep(ret);
	return s;
}

bool
http2_is_malformed(enum http_status s)
{
	return s == HTTP_PSEUDO || s == HTTP_FIELD_NAME || s == HTTP_CONTROL ||
	    s == HTTP_CONNECTION_FIELD || s == HTTP_FOLD || s == HTTP_METHOD ||
	    s == HTTP_LENGTH || s == HTTP_TWO_LENGTHS;
}
