/*
 * One reading of a message: a head of HTTP/2 that is taken, written as one of
 * HTTP/1.1, is taken by the other parser and says the same. Trailers that are
 * kept are kept by the other, too.
 *
 * Input: a byte that says what it is and what was asked, then fields: a byte
 * and the name, two bytes and the value.
 */
#include "fuzz_head.h"

#include <string.h>

#include "wire/http2.h"

static uint8_t buf[4 * HTTP_HEAD_MAX_BYTES];

/* What the writer of a head adds to its fields, or leaves out. */
static bool
is_written_apart(struct span name)
{
	return span_is_case(name, "host") ||
	    span_is_case(name, "transfer-encoding");
}

static void
write_rest(struct wr *w, const struct http_fields *f, enum http_framing framing)
{
	if (framing == HTTP_FRAMING_CHUNKED)
		http_write_field(w, span_of("transfer-encoding"),
		    span_of("chunked"));
	for (size_t i = 0; i < f->count; i++)
		if (!is_written_apart(f->at[i].name))
			http_write_field(w, f->at[i].name, f->at[i].value);
	http_write_end(w);
}

static void
same_but_apart(const struct http_fields *a, const struct http_fields *b)
{
	size_t k = 0;

	for (size_t i = 0; i < a->count; i++) {
		if (is_written_apart(a->at[i].name))
			continue;
		while (k < b->count && is_written_apart(b->at[k].name))
			k++;
		HOLDS(k < b->count);
		HOLDS(span_eq(a->at[i].name, b->at[k].name));
		HOLDS(span_eq(a->at[i].value, b->at[k].value));
		k++;
	}
	while (k < b->count && is_written_apart(b->at[k].name))
		k++;
	HOLDS(k == b->count);
}

static void
check_request(const struct http_fields *all, bool is_whole)
{
	static struct http_request a, b;
	struct wr w = wr_init(buf, sizeof(buf));
	struct span head;

	if (http2_request_read(all, is_whole, &a) != HTTP_OK)
		return;
	http_write_request_line(&w, a.method, a.path, a.has_query, a.query);
	http_write_host(&w, a.authority.host, a.authority.port, 0);
	write_rest(&w, &a.fields, a.framing);
	HOLDS(wr_ok(&w));
	if (w.len > HTTP_HEAD_MAX_BYTES || a.fields.count + 2 > HTTP_FIELDS_MAX)
		return;
	head = find_head((struct span){ buf, w.len });
	HOLDS(head.len == w.len);
	HOLDS(http_request_parse(head, &b) == HTTP_OK);
	HOLDS(span_eq(a.method, b.method) && a.known_method == b.known_method);
	HOLDS(a.form == b.form && span_eq(a.path, b.path));
	HOLDS(a.has_query == b.has_query && span_eq(a.query, b.query));
	HOLDS(strcmp(a.authority.host, b.authority.host) == 0);
	HOLDS(a.authority.port == b.authority.port);
	HOLDS(a.framing == b.framing && a.length == b.length);
	HOLDS(a.expects_continue == b.expects_continue);
	HOLDS(a.is_keep_alive && b.is_keep_alive);
	HOLDS(!a.has_upgrade && !b.has_upgrade);
	same_but_apart(&a.fields, &b.fields);
}

static void
check_response(const struct http_fields *all, enum http_method asked,
    bool is_whole)
{
	static struct http_response a, b;
	struct wr w = wr_init(buf, sizeof(buf));
	struct span head;

	if (http2_response_read(all, asked, is_whole, &a) != HTTP_OK)
		return;
	HOLDS(a.status != 101 && a.length <= HTTP_LENGTH_MAX_BYTES);
	http_write_status_line(&w, a.status, span_of(""));
	/* An end that came with the head is told by a length in HTTP/1. */
	if (a.framing == HTTP_FRAMING_LENGTH && !a.has_length)
		http_write_field(&w, span_of("content-length"), span_of("0"));
	write_rest(&w, &a.fields, a.framing);
	HOLDS(wr_ok(&w));
	if (w.len > HTTP_HEAD_MAX_BYTES || a.fields.count + 2 > HTTP_FIELDS_MAX)
		return;
	head = find_head((struct span){ buf, w.len });
	HOLDS(head.len == w.len);
	HOLDS(http_response_parse(head, asked, false, &b) == HTTP_OK);
	HOLDS(a.status == b.status && a.framing == b.framing);
	HOLDS(a.length == b.length && b.is_keep_alive);
	if (a.framing != HTTP_FRAMING_LENGTH || a.has_length)
		same_but_apart(&a.fields, &b.fields);
}

static void
check_trailers(const struct http_fields *all)
{
	static struct http_fields a, b;
	struct wr w = wr_init(buf, sizeof(buf));

	if (http2_trailers_read(all, &a) != HTTP_OK)
		return;
	for (size_t i = 0; i < a.count; i++)
		HOLDS(!http_name_is_reserved(a.at[i].name));
	write_fields(&w, &a);
	HOLDS(wr_ok(&w));
	HOLDS(http_trailers_parse((struct span){ buf, w.len }, &b) == HTTP_OK);
	same_fields(&a, &b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum http_method methods[] = { HTTP_METHOD_GET,
		HTTP_METHOD_HEAD, HTTP_METHOD_OPTIONS, HTTP_METHOD_OTHER };
	static struct http_fields all;
	struct rd r = rd_init(data, size);
	uint8_t first = rd_u8(&r);
	bool is_whole = (first & 4) != 0;

	all.count = 0;
	/* The cap is the caller's (h2_head_add()). */
	while (rd_left(&r) > 0 && all.count < HTTP_FIELDS_MAX - 1) {
		struct http_field *f = &all.at[all.count];
		size_t name_len = rd_u8(&r), value_len;

		f->name = rd_take(&r, name_len);
		value_len = rd_u16(&r);
		f->value = rd_take(&r, value_len);
		if (!rd_ok(&r))
			break;
		all.count++;
	}
	check_request(&all, is_whole);
	check_response(&all, methods[first & 3], is_whole);
	check_trailers(&all);
	return 0;
}
