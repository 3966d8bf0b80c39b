/*
 * Heads with AWS signatures. What is read is well-formed; a canonical request
 * does not hang on the order of the query; what a gate would write in place of
 * a presigned query is read again, and signed as it was meant. The input is
 * also taken for the first line of a signed chunk.
 */
#include "fuzz_head.h"

#include <string.h>

#include "wire/sigv4.h"
#include "wire/sigv4_query.h"

static uint8_t first[8 * HTTP_HEAD_MAX_BYTES];
static uint8_t second[8 * HTTP_HEAD_MAX_BYTES];
static uint8_t text[4 * HTTP_HEAD_MAX_BYTES];

static void
is_well_formed(const struct sigv4 *s)
{
	HOLDS(sigv4_is_key_id(span_of(s->key_id)));
	HOLDS(sigv4_is_word(span_of(s->scope.region)));
	HOLDS(sigv4_is_word(span_of(s->scope.service)));
	HOLDS(strlen(s->signature) == DIGEST_HEX_SIZE - 1);
	HOLDS(strlen(s->time) == SIGV4_TIME_SIZE - 1);
	HOLDS(memcmp(s->time, s->scope.date, SIGV4_DATE_SIZE - 1) == 0);
	HOLDS(strstr(s->names, "host") != NULL);
	HOLDS(
	    (s->payload == SIGV4_PAYLOAD_BODY) == (s->payload_text[0] == '\0'));
}

/* Its last parameter put first. */
static struct span
turn(struct span query, struct wr *w)
{
	const uint8_t *last = NULL;

	for (size_t i = 0; i < query.len; i++)
		if (query.ptr[i] == '&')
			last = query.ptr + i;
	if (last == NULL)
		return query;
	wr_bytes(w, last + 1, query.len - (size_t)(last - query.ptr) - 1);
	wr_u8(w, '&');
	wr_bytes(w, query.ptr, (size_t)(last - query.ptr));
	return (struct span){ w->buf, w->len };
}

static void
order_does_not_count(const struct http_request *req, const struct sigv4 *s)
{
	struct wr a = wr_init(first, sizeof(first));
	struct wr b = wr_init(second, sizeof(second));
	struct wr w = wr_init(text, sizeof(text));
	struct sigv4_subject subject = { .service = s->scope.service,
		.method = req->method,
		.path = req->path,
		.query = req->query,
		.fields = &req->fields,
		.host = "",
		.names = s->names,
		.payload = span_of(s->payload_text) };
	size_t room = sigv4_canonical_room(&subject);
	enum sigv4_status st = sigv4_canonical(&a, &subject);

	if (st != SIGV4_OK)
		return;
	HOLDS(wr_ok(&a) && a.len <= room);
	subject.query = turn(req->query, &w);
	HOLDS(sigv4_canonical(&b, &subject) == SIGV4_OK && wr_ok(&b));
	HOLDS(a.len == b.len && memcmp(first, second, a.len) == 0);
}

/* A gate's own parameters in place of the guest's. */
static void
is_replaced(const struct http_request *req, const struct sigv4 *s)
{
	struct span value[SIGV4_PARAMETER_COUNT];
	struct wr w = wr_init(text, sizeof(text));
	struct http_request mine = *req;
	struct sigv4 again;

	memset(value, 0, sizeof(value));
	value[SIGV4_PARAMETER_ALGORITHM] = span_of("AWS4-HMAC-SHA256");
	value[SIGV4_PARAMETER_CREDENTIAL] =
	    span_of("AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request");
	value[SIGV4_PARAMETER_DATE] = span_of("20130524T000000Z");
	value[SIGV4_PARAMETER_EXPIRES] = span_of("60");
	value[SIGV4_PARAMETER_NAMES] = span_of(s->names);
	value[SIGV4_PARAMETER_SIGNATURE] = span_of(s->signature);
	value[SIGV4_PARAMETER_TOKEN] = span_of("a/token+==");
	HOLDS(sigv4_query_write(&w, req->query, value));
	mine.query = (struct span){ text, w.len };
	HOLDS(sigv4_parse(&mine, &again) == SIGV4_OK);
	HOLDS(again.form == SIGV4_QUERY);
	HOLDS(strcmp(again.key_id, "AKIAIOSFODNN7EXAMPLE") == 0);
	HOLDS(strcmp(again.names, s->names) == 0);
	HOLDS(strcmp(again.signature, s->signature) == 0);
}

static void
is_a_chunk(struct span in)
{
	struct sigv4_chunk c, again;
	enum http_status st = sigv4_chunk_parse(in, 65536, &c);

	HOLDS(st == HTTP_OK || st == HTTP_MORE || st == HTTP_CODING);
	if (st != HTTP_OK)
		return;
	HOLDS(c.size <= 65536 && c.line_len <= in.len);
	HOLDS(c.line_len <= SIGV4_CHUNK_LINE_MAX);
	for (size_t i = 1; i < c.line_len; i++)
		HOLDS(sigv4_chunk_parse((struct span){ in.ptr, i }, 65536,
			  &again) == HTTP_MORE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size }, head = find_head(in);
	struct http_request req;
	struct sigv4_query q;
	struct sigv4 s;
	enum sigv4_status st;

	is_a_chunk(in);
	if (head.len == 0 || http_request_parse(head, &req) != HTTP_OK)
		return 0;
	st = sigv4_parse(&req, &s);
	HOLDS(sigv4_status_text(st) != NULL);
	if (st != SIGV4_OK)
		return 0;
	HOLDS(sigv4_query_read(req.query, &q) == SIGV4_OK);
	HOLDS(q.is_signed == (s.form == SIGV4_QUERY) && !q.is_version_2);
	is_well_formed(&s);
	order_does_not_count(&req, &s);
	if (s.form == SIGV4_QUERY)
		is_replaced(&req, &s);
	return 0;
}
