/*
 * What heads of both kinds share: the search for their end, limits, names,
 * and writing them.
 */
#include "wire_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/http.h"
#include "wire/http_write.h"

#define GET "GET / HTTP/1.1\r\nHost: a.example\r\n"

static void
finds_the_end_and_leaves_what_follows(void **state)
{
	static const struct span in = BYTES(GET "\r\nGET /evil HTTP/1.1\r\n");
	struct http_scan scan = { .at = 0 };
	size_t len = 0;

	(void)state;
	assert_int_equal(http_scan(&scan, in, &len), HTTP_OK);
	assert_int_equal(len, sizeof(GET "\r\n") - 1);
}

/* Row 45: nobody waits for the end of a head that has none. */
static void
refuses_a_bad_line_end_as_it_comes(void **state)
{
	static const struct {
		struct span in;
		enum http_status want;
	} rows[] = {
		{ BYTES("GET / HTTP/1.1\n"), HTTP_LINE_END },
		{ BYTES("GET / HTTP/1.1\rX"), HTTP_LINE_END },
		{ BYTES("\n"), HTTP_LINE_END },
		{ BYTES("\rG"), HTTP_LINE_END },
		{ BYTES(GET "\n"), HTTP_LINE_END },
		{ BYTES(GET "\rX"), HTTP_LINE_END },
		{ BYTES("\0"), HTTP_CONTROL },
		{ BYTES(GET "X\x1f"), HTTP_CONTROL },
		{ BYTES(GET "\x7f"), HTTP_CONTROL },
		{ BYTES(GET "X:\t\x80\xff"), HTTP_MORE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct http_scan scan = { .at = 0 };
		size_t len;

		row_equal("scan", http_scan(&scan, rows[i].in, &len),
		    rows[i].want);
		row_equal("again", http_scan(&scan, rows[i].in, &len),
		    rows[i].want);
	}
}

/* Bytes that were scanned are changed: the answer must not see that. */
static void
never_looks_back(void **state)
{
	char in[] = GET "X: y\r\n\r\n";
	struct http_scan scan = { .at = 0 };
	const struct span part = { (const uint8_t *)in, sizeof(in) - 3 };
	const struct span whole = { (const uint8_t *)in, sizeof(in) - 1 };
	size_t len = 0;

	(void)state;
	assert_int_equal(http_scan(&scan, part, &len), HTTP_MORE);
	memset(in, '\n', part.len);
	assert_int_equal(http_scan(&scan, whole, &len), HTTP_OK);
	assert_int_equal(len, sizeof(in) - 1);
}

/* Row 58. */
static void
bounds_the_size_of_a_head(void **state)
{
	char *in = malloc(HTTP_HEAD_MAX_BYTES + 1);
	struct http_scan scan = { .at = 0 };
	struct http_request req;
	size_t len = 0;

	(void)state;
	assert_non_null(in);
	memset(in, 'a', HTTP_HEAD_MAX_BYTES + 1);
	memcpy(in, GET "X: ", sizeof(GET "X: ") - 1);
	memcpy(in + HTTP_HEAD_MAX_BYTES - 4, "\r\n\r\n", 4);
	assert_int_equal(http_scan(&scan,
			     (struct span){ (uint8_t *)in,
				 HTTP_HEAD_MAX_BYTES },
			     &len),
	    HTTP_OK);
	assert_int_equal(len, HTTP_HEAD_MAX_BYTES);
	assert_int_equal(http_request_parse((struct span){ (uint8_t *)in, len },
			     &req),
	    HTTP_OK);
	memset(in + HTTP_HEAD_MAX_BYTES - 4, 'a', 5);
	scan = (struct http_scan){ .at = 0 };
	assert_int_equal(http_scan(&scan,
			     (struct span){ (uint8_t *)in,
				 HTTP_HEAD_MAX_BYTES },
			     &len),
	    HTTP_HEAD_SIZE);
	assert_int_equal(http_request_parse((struct span){ (uint8_t *)in,
						HTTP_HEAD_MAX_BYTES + 1 },
			     &req),
	    HTTP_HEAD_SIZE);
	free(in);
}

/* Row 58. */
static void
bounds_the_count_of_fields(void **state)
{
	char in[8192];
	struct wr w = wr_init(in, sizeof(in));
	struct http_request req;

	(void)state;
	wr_text(&w, GET);
	for (int i = 1; i < HTTP_FIELDS_MAX; i++)
		wr_fmt(&w, "X-%d: %d\r\n", i, i);
	wr_text(&w, "\r\n");
	assert_int_equal(http_request_parse((struct span){ w.buf, w.len },
			     &req),
	    HTTP_OK);
	assert_int_equal(req.fields.count, HTTP_FIELDS_MAX);
	w.len -= 2;
	wr_text(&w, "One: more\r\n\r\n");
	assert_int_equal(http_request_parse((struct span){ w.buf, w.len },
			     &req),
	    HTTP_FIELD_COUNT);
}

/* http_request_parse() without http_scan() before it. */
static void
is_total_over_what_is_no_head(void **state)
{
	static const struct {
		const char *claim;
		struct span in;
		enum http_status want;
	} rows[] = {
		{ "nothing", BYTES(""), HTTP_LINE_END },
		{ "an empty line", BYTES("\r\n"), HTTP_LINE_END },
		{ "two of them", BYTES("\r\n\r\n"), HTTP_NO_START_LINE },
		{ "no end", BYTES(GET), HTTP_LINE_END },
		{ "half an end", BYTES(GET "\r"), HTTP_LINE_END },
		{ "bytes behind the end", BYTES(GET "\r\nX"), HTTP_LINE_END },
	};
	struct http_request req;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		row_equal(rows[i].claim, http_request_parse(rows[i].in, &req),
		    rows[i].want);
}

/* Row 54. */
static void
drops_what_one_connection_owns(void **state)
{
	static const struct span head =
	    BYTES(GET "Connection: close, X-Sandbox, Authorization\r\n"
		      "Connection: Host, content-length\r\n\r\n");
	static const struct {
		const char *name;
		bool want;
	} rows[] = {
		{ "Accept", true }, { "X-Sandbox", false },
		{ "x-sandbox", false }, { "Authorization", true },
		{ "Cookie", true },
		{ "Host", false }, /* written anew, not removed */
		{ "Content-Length", false }, { "Expect", false },
		{ "Connection", false }, { "Keep-Alive", false },
		{ "TE", false }, { "Trailer", false },
		{ "transfer-encoding", false }, { "Upgrade", false },
		{ "HTTP2-Settings", false }, { "Proxy-Connection", false },
		{ "Proxy-Authorization", false },
		/* Nor what tells an origin of another host or path. */
		{ "Forwarded", false }, { "x-forwarded-host", false },
		{ "X-Original-URL", false }, { "X-Rewrite-URL", false },
		{ "X-Forwarded-For", true },
		{ "X-HTTP-Method-Override", true }, /* is judged, too */
	};
	struct http_request req;

	(void)state;
	assert_int_equal(http_request_parse(head, &req), HTTP_OK);
	for (size_t i = 0; i < ROWS(rows); i++)
		row_equal(rows[i].name,
		    http_is_forwarded(&req.fields, span_of(rows[i].name)),
		    rows[i].want);
	assert_true(http_is_hop_by_hop(span_of("te")));
	assert_false(http_is_hop_by_hop(span_of("Host")));
}

static void
sees_through_underscores(void **state)
{
	(void)state;
	assert_true(
	    http_name_aliases(span_of("x_NPM-token"), span_of("X-Npm-Token")));
	assert_true(
	    http_name_aliases(span_of("x-npm_token"), span_of("x_npm_token")));
	assert_true(
	    http_name_aliases(span_of("X-Npm-Token"), span_of("x_npm-token")));
	assert_false(
	    http_name_aliases(span_of("xnpm-token"), span_of("X-Npm-Token")));
	assert_true(http_name_is_reserved(span_of("content_length")));
	assert_true(http_name_is_reserved(span_of("Host")));
	assert_false(http_name_is_reserved(span_of("my_header")));
}

/* Rows 50, 104: by the letter "trace" is an extension, to a server TRACE. */
static void
tells_a_method_that_is_misspelt(void **state)
{
	static const struct {
		const char *method;
		bool want;
	} rows[] = {
		{ "GET", false },
		{ "get", true },
		{ "Post", true },
		{ "patch", true },
		{ "trace", true },
		{ "TRACK", false },
		{ "tRACK", true },
		{ "GETX", false },
		{ "PROPFIND", false },
		{ "propfind", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		row_equal(rows[i].method,
		    http_method_is_misspelt(span_of(rows[i].method)),
		    rows[i].want);
	assert_int_equal(http_method_find(span_of("TRACK")), HTTP_METHOD_TRACE);
	assert_int_equal(http_method_find(span_of("trace")), HTTP_METHOD_OTHER);
}

static void
writes_one_canonical_head(void **state)
{
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)state;
	http_write_request_line(&w, span_of("GET"), span_of("/a"), true,
	    span_of("b=c"));
	http_write_host(&w, "a.example", 8443, 443);
	http_write_field(&w, span_of("X"), span_of("a b"));
	http_write_text(&w, "Empty", "");
	http_write_length(&w, UINT64_C(9007199254740992));
	http_write_end(&w);
	assert_true(wr_ok(&w));
	row_span("head", (struct span){ buf, w.len },
	    "GET /a?b=c HTTP/1.1\r\nHost: a.example:8443\r\nX: a b\r\n"
	    "Empty: \r\nContent-Length: 9007199254740992\r\n\r\n");
	w = wr_init(buf, sizeof(buf));
	http_write_status_line(&w, 403, span_of("Forbidden"));
	http_write_host(&w, "a.example", 443, 443);
	assert_true(wr_ok(&w));
	row_span("status", (struct span){ buf, w.len },
	    "HTTP/1.1 403 Forbidden\r\nHost: a.example\r\n");
}

static void
write_line(struct wr *w, struct span bad)
{
	http_write_request_line(w, bad, span_of("/"), false,
	    (struct span){ NULL, 0 });
}

static void
write_path(struct wr *w, struct span bad)
{
	http_write_request_line(w, span_of("GET"), bad, false, bad);
}

static void
write_query(struct wr *w, struct span bad)
{
	http_write_request_line(w, span_of("GET"), span_of("/"), true, bad);
}

static void
write_reason(struct wr *w, struct span bad)
{
	http_write_status_line(w, 200, bad);
}

static void
write_name(struct wr *w, struct span bad)
{
	http_write_field(w, bad, span_of("x"));
}

static void
write_value(struct wr *w, struct span bad)
{
	http_write_field(w, span_of("X"), bad);
}

/* Row 80: no part can end a line, whatever brought it here. */
static void
refuses_to_write_a_part_that_ends_its_line(void **state)
{
	static void (*const writers[])(struct wr *, struct span) = {
		write_line,
		write_path,
		write_query,
		write_reason,
		write_name,
		write_value,
	};
	static const struct span bads[] = { BYTES("a\r\nX: y"), BYTES("a\n"),
		BYTES("\r"), BYTES("a\0b"), BYTES("a\x7f") };

	(void)state;
	for (size_t i = 0; i < ROWS(writers); i++)
		for (size_t k = 0; k < ROWS(bads); k++) {
			uint8_t buf[256];
			struct wr w = wr_init(buf, sizeof(buf));

			writers[i](&w, bads[k]);
			assert_false(wr_ok(&w));
		}
}

static void
says_each_outcome_in_words_of_its_own(void **state)
{
	(void)state;
	for (int s = 0; s < HTTP_STATUS_COUNT; s++)
		for (int t = 0; t < s; t++)
			assert_string_not_equal(http_status_text(
						    (enum http_status)s),
			    http_status_text((enum http_status)t));
}

/* Prometheus asks us at our address; a guest's Host is never one. */
static void
takes_an_address_as_our_own_host_alone(void **state)
{
	static const struct {
		const char *head;
		enum http_status theirs, ours;
	} rows[] = {
		{ "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9464\r\n\r\n",
		    HTTP_HOST_ADDRESS, HTTP_OK },
		{ "GET /metrics HTTP/1.1\r\nHost: [::1]:9464\r\n\r\n",
		    HTTP_HOST_ADDRESS, HTTP_OK },
		{ "GET /metrics HTTP/1.1\r\nHost: a.example\r\n\r\n", HTTP_OK,
		    HTTP_OK },
		{ "GET /metrics HTTP/1.1\r\n\r\n", HTTP_NO_HOST, HTTP_NO_HOST },
		{ "GET / HTTP/1.1\r\nHost: [::1]\r\nHost: [::1]\r\n\r\n",
		    HTTP_TWO_HOSTS, HTTP_TWO_HOSTS },
		{ "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		  "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
		    HTTP_HOST_ADDRESS, HTTP_TWO_LENGTHS },
		{ "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		    HTTP_HOST_ADDRESS, HTTP_HOST_ADDRESS },
		/* Two hosts, whoever of them is meant. */
		{ "GET http://a.example/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		    HTTP_HOST_ADDRESS, HTTP_HOST_ADDRESS },
	};
	struct http_request req;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		row_equal(rows[i].head,
		    http_request_parse(span_of(rows[i].head), &req),
		    rows[i].theirs);
		row_equal(rows[i].head,
		    http_request_parse_ours(span_of(rows[i].head), &req),
		    rows[i].ours);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_end_and_leaves_what_follows),
		cmocka_unit_test(refuses_a_bad_line_end_as_it_comes),
		cmocka_unit_test(never_looks_back),
		cmocka_unit_test(bounds_the_size_of_a_head),
		cmocka_unit_test(bounds_the_count_of_fields),
		cmocka_unit_test(is_total_over_what_is_no_head),
		cmocka_unit_test(drops_what_one_connection_owns),
		cmocka_unit_test(sees_through_underscores),
		cmocka_unit_test(takes_an_address_as_our_own_host_alone),
		cmocka_unit_test(tells_a_method_that_is_misspelt),
		cmocka_unit_test(writes_one_canonical_head),
		cmocka_unit_test(refuses_to_write_a_part_that_ends_its_line),
		cmocka_unit_test(says_each_outcome_in_words_of_its_own),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
