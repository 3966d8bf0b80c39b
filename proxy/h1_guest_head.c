/*
 * Heads of a guest's requests: what is none is answered here; CONNECT, on the
 * explicit port, too.
 */
#include "proxy/h1_guest_private.h"

#include <errno.h>
#include <string.h>

#include "proxy/audit.h"
#include "proxy/lease.h"
#include "proxy/metadata.h"
#include "wire/token.h"

#define PORT_HTTPS 443

static void
record(struct h1_guest *h, const struct deny *d, unsigned int status)
{
	struct audit_record r = audit_record_init(AUDIT_REQUEST);

	r.verdict = ACTION_DENY;
	r.reason = d->reason;
	r.by_ceiling = d->by_ceiling;
	r.rule = d->rule;
	r.file = d->file;
	r.line = d->line;
	r.host = span_of(d->host);
	r.port = d->port;
	r.method = d->method;
	r.path = d->path;
	r.status = (uint16_t)status;
	r.detail = span_of(d->detail);
	audit_send(h->gate, &r);
	h->gate->status.denied++;
	*h->spec.front.is_recorded = true;
}

void
h1_guest_refuse_head(struct h1_guest *h, struct deny *d)
{
	unsigned int status = deny_status(d);

	if (d->host[0] == '\0') {
		d->host = h->spec.front.host;
		d->port = h->spec.front.port;
	}
	d->scheme = h->spec.front.scheme;
	h->keeps = false;
	h->is_whole = false; /* who knows what follows */
	h1_guest_write_deny(h, d, false);
	record(h, d, status);
	h1_guest_enter(h, H1_CLOSE);
	h1_guest_set_deadline(h, h->gate->limits.relay_idle_timeout_ms);
}

/* Something else than HTTP, on its first bytes: TLS, SSH, SOCKS. */
static bool
is_not_http(const struct h1_guest *h)
{
	return !h->has_seen_request &&
	    !token_is_char(buf_span(&h->in).ptr[0]) &&
	    buf_span(&h->in).ptr[0] != '\r';
}

static void
refuse_status(struct h1_guest *h, enum http_status s)
{
	struct deny d = deny_init(REASON_BAD_REQUEST);
	struct span in = buf_span(&h->in);

	d.detail = http_status_text(s);
	if (s == HTTP_HEAD_SIZE || s == HTTP_FIELD_COUNT) {
		d.reason = REASON_LIMIT_HEAD;
		/* The request line alone is too long (RFC 9110 15.5.15). */
		if (memchr(in.ptr, '\n', in.len) == NULL)
			d.status = 414;
	} else if (s == HTTP_HOST_MISMATCH) {
		d.reason = REASON_HOST_MISMATCH;
		d.status = 400;
	} else if (s == HTTP_EXPECT) {
		d.status = 417; /* RFC 9110 10.1.1 */
	} else if (is_not_http(h)) {
		d.reason = REASON_NOT_HTTP;
	}
	h1_guest_refuse_head(h, &d);
}

/* --- CONNECT --- */

/*
 * What follows a CONNECT must be still in the socket: the head was read to its
 * end only, unless a chunked body before it was read past its own.
 */
static bool
has_read_past(const struct h1_guest *h, size_t head_len)
{
	return h->in.len > head_len;
}

static void
take_connect(struct h1_guest *h, const struct http_request *req, size_t len)
{
	const struct authority *a = &req->authority;
	struct verdict v =
	    policy_judge_connect(&h->gate->pair, a->host, a->port);
	struct deny d = deny_of(&v);
	bool is_tls = a->port == PORT_HTTPS ||
	    (v.action != ACTION_DENY && v.scheme != SCHEME_HTTP);

	d.method = req->method;
	d.host = a->host;
	d.port = a->port;
	if (has_read_past(h, len)) {
		d.reason = REASON_BAD_REQUEST;
		d.detail = "bytes follow the CONNECT before its answer";
		h1_guest_refuse_head(h, &d);
		return;
	}
	/* On a TLS port the denial waits inside, where it can be read. */
	if (!is_tls) {
		if (v.action != ACTION_DENY) {
			d.reason = REASON_PORT;
			d.detail = "CONNECT is for TLS; ask for http:// here";
		}
		h1_guest_refuse_head(h, &d);
		return;
	}
	memcpy(h->connect.host, a->host, sizeof(h->connect.host));
	h->connect.port = a->port;
	if (buf_append(&h->out,
		span_of("HTTP/1.1 200 Connection established\r\n\r\n")) != 0)
		h1_guest_enter(h, H1_DEAD);
	else
		h1_guest_enter(h, H1_CONNECTED);
	buf_consume(&h->in, len);
}

/* The explicit port takes CONNECT and http://; false: refused. */
static bool
check_explicit(struct h1_guest *h, const struct http_request *req)
{
	struct deny d = deny_init(REASON_BAD_REQUEST);

	if (req->form == HTTP_FORM_ABSOLUTE && req->scheme == HTTP_SCHEME_HTTP)
		return true;
	d.method = req->method;
	if (req->form == HTTP_FORM_ABSOLUTE)
		d.detail = "for https a proxy is asked by CONNECT";
	else
		d.detail = "this is a proxy: ask for http://host/path";
	h1_guest_refuse_head(h, &d);
	return false;
}

/* --- requests --- */

static void
begin_request(struct h1_guest *h, const struct http_request *req)
{
	h->method = req->known_method;
	h->minor = req->minor;
	h->keeps = req->is_keep_alive;
	h->is_last = !req->is_keep_alive;
	h->expects_continue = req->expects_continue;
	h->takes_trailers = http_takes_trailers(&req->fields);
	h->framing = req->framing;
	h->left = req->framing == HTTP_FRAMING_LENGTH ? req->length : 0;
	h->chunked = (struct chunked){ .state = 0 };
	h->ready = 0;
	h->is_whole = req->framing != HTTP_FRAMING_CHUNKED && h->left == 0;
	h->is_up_blocked = false;
	h->is_answer_chunked = false;
	h->is_down_blocked = false;
	h1_guest_set_deadline(h, 0);
}

void
h1_guest_take_request(struct h1_guest *h, const struct http_request *req,
    size_t len)
{
	begin_request(h, req);
	h1_guest_enter(h, h->is_whole ? H1_WAIT : H1_BODY);
	h->head_len = len;
	if (exchange_start(&h->spec.front, req, &h1_guest_ops, h, &h->x) != 0) {
		h1_guest_enter(h, H1_DEAD);
		return;
	}
	h->head_len = 0;
	buf_consume(&h->in, len);
}

static void
take_or_look(struct h1_guest *h, const struct http_request *req, size_t len)
{
	if (req->framing == HTTP_FRAMING_CHUNKED)
		h1_guest_look(h, req, len);
	else
		h1_guest_take_request(h, req, len);
}

/* One address is known by name: that of metadata, if it is granted. */
static enum http_status
parse(const struct h1_guest *h, struct span head, struct http_request *req)
{
	const struct grants *g = lease_grants(h->gate);
	const enum http_status s = http_request_parse(head, req);

	if (s != HTTP_HOST_ADDRESS || g == NULL || !grants_have_metadata(g) ||
	    h->spec.front.scheme != SCHEME_HTTP ||
	    http_request_parse_at(head, METADATA_ADDRESS, req) != HTTP_OK ||
	    req->known_method == HTTP_METHOD_CONNECT ||
	    req->framing == HTTP_FRAMING_CHUNKED)
		return s;
	return HTTP_OK;
}

bool
h1_guest_take_head(struct h1_guest *h)
{
	struct http_request req;
	size_t len = 0;
	enum http_status s = http_scan(&h->scan, buf_span(&h->in), &len);

	if (s == HTTP_MORE && h->in.len <= h->gate->limits.head_max_bytes)
		return false;
	if (s == HTTP_MORE ||
	    (s == HTTP_OK && len > h->gate->limits.head_max_bytes))
		s = HTTP_HEAD_SIZE;
	if (s == HTTP_OK)
		s = parse(h, (struct span){ buf_span(&h->in).ptr, len }, &req);
	if (s != HTTP_OK) {
		refuse_status(h, s);
		h->has_seen_request = true;
		return true;
	}
	h->has_seen_request = true;
	if (h->spec.is_explicit && req.known_method == HTTP_METHOD_CONNECT)
		take_connect(h, &req, len);
	else if (!h->spec.is_explicit || check_explicit(h, &req))
		take_or_look(h, &req, len);
	return true;
}
