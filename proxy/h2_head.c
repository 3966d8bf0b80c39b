/*
 * Heads of HTTP/2, see h2_head.h.
 */
#include "proxy/h2_head.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/token.h"

/* What HPACK's tables charge a field for (RFC 7541 4.1). */
#define FIELD_EXTRA_BYTES 32

static int
add_crumb(struct h2_head *h, struct span value)
{
	int rc = 0;

	if (h->cookie.len > 0)
		rc = buf_append(&h->cookie, span_of("; "));
	return rc == 0 ? buf_append(&h->cookie, value) : rc;
}

struct span
h2_head_span(nghttp2_rcbuf *b)
{
	nghttp2_vec v = nghttp2_rcbuf_get_buf(b);

	return (struct span){ v.base, v.len };
}

int
h2_head_add(struct h2_head *h, struct span name, struct span value,
    size_t max_bytes)
{
	size_t size = name.len + value.len;
	struct wr w;

	/* One place is kept for the cookie. */
	if (h->bytes + size + FIELD_EXTRA_BYTES > max_bytes ||
	    h->count + 1 >= HTTP_FIELDS_MAX)
		return -EMSGSIZE;
	h->bytes += size + FIELD_EXTRA_BYTES;
	if (span_is(name, "cookie") && value.len > 0)
		return add_crumb(h, value);
	h->count++;
	w = buf_write(&h->text, size + 8);
	wr_u32(&w, (uint32_t)name.len);
	wr_u32(&w, (uint32_t)value.len);
	wr_bytes(&w, name.ptr, name.len);
	wr_bytes(&w, value.ptr, value.len);
	return buf_write_end(&h->text, &w);
}

void
h2_head_fields(const struct h2_head *h, struct http_fields *ret)
{
	struct rd r = rd_span(buf_span(&h->text));

	ret->count = 0;
	while (rd_left(&r) > 0) {
		struct http_field *f = &ret->at[ret->count++];
		uint32_t name_len = rd_u32(&r), value_len = rd_u32(&r);

		f->name = rd_take(&r, name_len);
		f->value = rd_take(&r, value_len);
	}
	if (h->cookie.len > 0)
		ret->at[ret->count++] = (struct http_field){ span_of("cookie"),
			buf_span(&h->cookie) };
}

void
h2_head_done(struct h2_head *h)
{
	buf_done(&h->text);
	buf_done(&h->cookie);
	h->count = h->bytes = 0;
}

void
h2_nv_init(struct h2_nv *nv)
{
	nv->count = 0;
}

static void
add(struct h2_nv *nv, struct span name, struct span value, uint8_t flags)
{
	if (nv->count == sizeof(nv->at) / sizeof(nv->at[0]))
		return;
	/* The library takes pointers that are not const, and copies. */
	nv->at[nv->count++] = (nghttp2_nv){
		.name = (uint8_t *)(uintptr_t)name.ptr,
		.namelen = name.len,
		.value = (uint8_t *)(uintptr_t)value.ptr,
		.valuelen = value.len,
		.flags = flags,
	};
}

void
h2_nv_add(struct h2_nv *nv, struct span name, struct span value)
{
	add(nv, name, value, NGHTTP2_NV_FLAG_NONE);
}

void
h2_nv_text(struct h2_nv *nv, const char *name, const char *value)
{
	h2_nv_add(nv, span_of(name), span_of(value));
}

void
h2_nv_status(struct h2_nv *nv, unsigned int status)
{
	(void)snprintf(nv->status, sizeof(nv->status), "%u", status % 1000);
	h2_nv_text(nv, ":status", nv->status);
}

void
h2_nv_length(struct h2_nv *nv, uint64_t length)
{
	(void)snprintf(nv->length, sizeof(nv->length), "%" PRIu64, length);
	h2_nv_text(nv, "content-length", nv->length);
}

void
h2_nv_retry_after(struct h2_nv *nv, unsigned int seconds)
{
	(void)snprintf(nv->retry, sizeof(nv->retry), "%u", seconds);
	h2_nv_text(nv, "retry-after", nv->retry);
}

void
h2_nv_fields(struct h2_nv *nv, const struct http_fields *f)
{
	for (size_t i = 0; i < f->count; i++)
		h2_nv_add(nv, f->at[i].name, f->at[i].value);
}

/* Takes a line without its CRLF. */
static struct span
take_line(struct span *rest)
{
	struct span line = token_cut(rest, '\n');

	if (line.len > 0)
		line.len--;
	return line;
}

/* "name: value", as http_write_field() writes it. */
static struct http_field
split(struct span line)
{
	struct span value = line, name = token_cut(&value, ':');

	return (struct http_field){ name, token_trim(value) };
}

void
h2_nv_request(struct h2_nv *nv, const struct origin_request *r,
    enum scheme scheme)
{
	struct span rest = r->head, start = take_line(&rest);
	struct span line = r->credential_line;
	struct span host = take_line(&rest), method = token_cut(&start, ' ');

	h2_nv_add(nv, span_of(":method"), method);
	h2_nv_text(nv, ":scheme", scheme == SCHEME_HTTP ? "http" : "https");
	h2_nv_add(nv, span_of(":authority"), split(host).value);
	add(nv, span_of(":path"), token_cut(&start, ' '),
	    r->is_target_secret ? NGHTTP2_NV_FLAG_NO_INDEX
				: NGHTTP2_NV_FLAG_NONE);
	while (rest.len > 0) {
		struct http_field f = split(take_line(&rest));

		h2_nv_add(nv, f.name, f.value);
	}
	while (line.len > 0) {
		struct http_field f = split(take_line(&line));

		add(nv, f.name, f.value, NGHTTP2_NV_FLAG_NO_INDEX);
	}
	if (r->framing == HTTP_FRAMING_LENGTH)
		h2_nv_length(nv, r->length);
	if (r->takes_trailers)
		h2_nv_text(nv, "te", "trailers");
}
