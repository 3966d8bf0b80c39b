#include "wire_rows.h"

#include <stdio.h>
#include <string.h>

#include "wire/sigv4.h"
#include "wire/sigv4_query.h"

#define SECRET "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SIX "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
#define SCOPE "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
#define FIELDS "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date"
#define HEAD(line, fields)                                                     \
	line " HTTP/1.1\r\nHost: examplebucket.s3.amazonaws.com\r\n" fields    \
	     "\r\n\r\n"
/* The example GET Object of "Authenticating requests: authorization header". */
#define GET_LINE "GET /test.txt"
#define SUMMED "Range: bytes=0-9\r\nx-amz-content-sha256: " EMPTY "\r\n"
#define DATED SUMMED "x-amz-date: 20130524T000000Z\r\n"
#define AUTHORIZED(parts)                                                      \
	HEAD(GET_LINE, DATED "Authorization: AWS4-HMAC-SHA256 " parts)
/* The example of "Authenticating requests: using query parameters". */
#define QUERY_CREDENTIAL                                                       \
	"X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3"    \
	"%2Faws4_request"
#define QUERY_SIGNATURE                                                        \
	"X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d15" \
	"7751f604d404"
#define QUERY_START                                                            \
	"GET /test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&" QUERY_CREDENTIAL
#define QUERY_REST                                                             \
	"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400"                     \
	"&X-Amz-SignedHeaders=host"
#define PRESIGNED QUERY_START QUERY_REST "&" QUERY_SIGNATURE

static const struct {
	const char *claim;
	struct span head;
	enum sigv4_status want;
} rows[] = {
	{ "the example of the manual",
	    BYTES(AUTHORIZED("Credential=" SCOPE "," FIELDS ",Signature=" SIX)),
	    SIGV4_OK },
	{ "parts in another order, with blanks",
	    BYTES(AUTHORIZED(
		"Signature=" SIX ", " FIELDS " , Credential=" SCOPE)),
	    SIGV4_OK },
	{ "no signature", BYTES(HEAD(GET_LINE, "X-A: b")), SIGV4_NONE },
	{ "a token of another scheme",
	    BYTES(HEAD(GET_LINE, "Authorization: Bearer AWS4")), SIGV4_NONE },
	{ "version 2", BYTES(HEAD(GET_LINE, "Authorization: AWS AK:sig=")),
	    SIGV4_VERSION_2 },
	{ "version 2, presigned",
	    BYTES(HEAD("GET /k?AWSAccessKeyId=A&Signature=b&Expires=1",
		"X-A: b")),
	    SIGV4_VERSION_2 },
	{ "version 4A",
	    BYTES(HEAD(GET_LINE,
		"Authorization: AWS4-ECDSA-P256-SHA256 Credential=a")),
	    SIGV4_VERSION_4A },
	{ "version 4A, presigned",
	    BYTES(HEAD("GET /k?X-Amz-Algorithm=AWS4-ECDSA-P256-SHA256",
		"X-A: b")),
	    SIGV4_VERSION_4A },
	{ "a part that is missing",
	    BYTES(AUTHORIZED("Credential=" SCOPE "," FIELDS)), SIGV4_FORM },
	{ "a part that is there twice",
	    BYTES(AUTHORIZED("Credential=" SCOPE "," FIELDS ",Signature=" SIX
			     ",Signature=" SIX)),
	    SIGV4_FORM },
	{ "a part that nobody knows",
	    BYTES(AUTHORIZED(
		"Credential=" SCOPE "," FIELDS ",Signature=" SIX ",More=x")),
	    SIGV4_FORM },
	{ "a comma at the end",
	    BYTES(AUTHORIZED(
		"Credential=" SCOPE "," FIELDS ",Signature=" SIX ",")),
	    SIGV4_FORM },
	{ "a signature that is too short",
	    BYTES(AUTHORIZED("Credential=" SCOPE "," FIELDS ",Signature=abcd")),
	    SIGV4_FORM },
	{ "a scope with a part too many",
	    BYTES(AUTHORIZED("Credential=AKIAIOSFODNN7EXAMPLE/20130524/a/b/c/"
			     "aws4_request," FIELDS ",Signature=" SIX)),
	    SIGV4_SCOPE },
	{ "a scope of another end",
	    BYTES(AUTHORIZED("Credential=AKIAIOSFODNN7EXAMPLE/20130524/a/b/"
			     "aws3_request," FIELDS ",Signature=" SIX)),
	    SIGV4_SCOPE },
	{ "a region with a blank",
	    BYTES(AUTHORIZED("Credential=AKIAIOSFODNN7EXAMPLE/20130524/a b/c/"
			     "aws4_request," FIELDS ",Signature=" SIX)),
	    SIGV4_SCOPE },
	{ "a short key",
	    BYTES(AUTHORIZED("Credential=AKIA/20130524/us-east-1/s3/"
			     "aws4_request," FIELDS ",Signature=" SIX)),
	    SIGV4_SCOPE },
	{ "names that are not sorted",
	    BYTES(AUTHORIZED("Credential=" SCOPE
			     ",SignedHeaders=range;host,Signature=" SIX)),
	    SIGV4_NAMES },
	{ "a name twice",
	    BYTES(AUTHORIZED(
		"Credential=" SCOPE ",SignedHeaders=host;host,Signature=" SIX)),
	    SIGV4_NAMES },
	{ "names without host",
	    BYTES(AUTHORIZED(
		"Credential=" SCOPE ",SignedHeaders=range,Signature=" SIX)),
	    SIGV4_NAMES },
	{ "a name in capitals",
	    BYTES(AUTHORIZED(
		"Credential=" SCOPE ",SignedHeaders=Host;host,Signature=" SIX)),
	    SIGV4_NAMES },
	{ "no date",
	    BYTES(HEAD(GET_LINE,
		SUMMED "Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE
		       "," FIELDS ",Signature=" SIX)),
	    SIGV4_TIME },
	{ "a date of another day than the scope's",
	    BYTES(HEAD(GET_LINE,
		SUMMED "x-amz-date: 20130525T000000Z\r\n"
		       "Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE
		       "," FIELDS ",Signature=" SIX)),
	    SIGV4_TIME },
	{ "two dates",
	    BYTES(HEAD(GET_LINE,
		DATED "x-amz-date: 20130524T000001Z\r\n"
		      "Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE
		      "," FIELDS ",Signature=" SIX)),
	    SIGV4_TIME },
	{ "two digests of the payload",
	    BYTES(HEAD(GET_LINE,
		DATED "x-amz-content-sha256: " EMPTY "\r\n"
		      "Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE
		      "," FIELDS ",Signature=" SIX)),
	    SIGV4_PAYLOAD },
	{ "chunks whose trailer is signed, too",
	    BYTES(HEAD("PUT /k",
		"x-amz-date: 20130524T000000Z\r\nx-amz-content-sha256: "
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER\r\n"
		"Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE "," FIELDS
		",Signature=" SIX)),
	    SIGV4_PAYLOAD },
	{ "events",
	    BYTES(HEAD("POST /k",
		"x-amz-date: 20130524T000000Z\r\nx-amz-content-sha256: "
		"STREAMING-AWS4-HMAC-SHA256-EVENTS\r\n"
		"Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE "," FIELDS
		",Signature=" SIX)),
	    SIGV4_EVENTS },
	{ "two fields",
	    BYTES(AUTHORIZED("Credential=" SCOPE "," FIELDS ",Signature=" SIX
			     "\r\nAuthorization: Bearer a")),
	    SIGV4_TWO },
	{ "a field and a presigned URL",
	    BYTES(HEAD(PRESIGNED,
		DATED "Authorization: AWS4-HMAC-SHA256 Credential=" SCOPE
		      "," FIELDS ",Signature=" SIX)),
	    SIGV4_TWO },
	{ "presigned", BYTES(HEAD(PRESIGNED, "X-A: b")), SIGV4_OK },
	{ "presigned, a parameter twice",
	    BYTES(HEAD(PRESIGNED "&X-Amz-Date=20130524T000000Z", "X-A: b")),
	    SIGV4_TWO },
	{ "presigned, a parameter escaped",
	    BYTES(HEAD(PRESIGNED "&X%2DAmz-Date=20130524T000000Z", "X-A: b")),
	    SIGV4_FORM },
	{ "presigned, a parameter in small letters",
	    BYTES(HEAD(PRESIGNED "&x-amz-security-token=a", "X-A: b")),
	    SIGV4_FORM },
	{ "presigned, for no time",
	    BYTES(HEAD(QUERY_START "&X-Amz-Date=20130524T000000Z"
				   "&X-Amz-Expires=0"
				   "&X-Amz-SignedHeaders=host"
				   "&" QUERY_SIGNATURE,
		"X-A: b")),
	    SIGV4_FORM },
	{ "presigned, for more than a week",
	    BYTES(HEAD(QUERY_START "&X-Amz-Date=20130524T000000Z"
				   "&X-Amz-Expires=604801"
				   "&X-Amz-SignedHeaders=host"
				   "&" QUERY_SIGNATURE,
		"X-A: b")),
	    SIGV4_FORM },
	{ "presigned, without its end",
	    BYTES(HEAD(QUERY_START QUERY_REST, "X-A: b")), SIGV4_FORM },
	{ "presigned, with chunks",
	    BYTES(HEAD(PRESIGNED, "x-amz-content-sha256: " SIGV4_CHUNKS_TEXT)),
	    SIGV4_PAYLOAD },
};

static void
gives_each_head_its_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct http_request req;
		struct sigv4 s = { .key_id = "untouched" };
		enum sigv4_status got;

		row_equal(rows[i].claim, http_request_parse(rows[i].head, &req),
		    HTTP_OK);
		got = sigv4_parse(&req, &s);
		row_equal(rows[i].claim, got, rows[i].want);
		assert_true(strlen(sigv4_status_text(got)) > 0);
		row_span(rows[i].claim, span_of(s.key_id),
		    got == SIGV4_OK ? "AKIAIOSFODNN7EXAMPLE" : "untouched");
	}
}

/* Signs what was read anew: it is the signature that is there. */
static void
check_signature(const char *claim, struct span head)
{
	static uint8_t canonical[4096];
	struct wr w = wr_init(canonical, sizeof(canonical));
	char signature[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES];
	struct http_request req;
	struct sigv4 s;

	row_equal(claim, http_request_parse(head, &req), HTTP_OK);
	row_equal(claim, sigv4_parse(&req, &s), SIGV4_OK);
	row_equal(claim,
	    sigv4_canonical(&w,
		&(struct sigv4_subject){ .service = s.scope.service,
		    .method = req.method,
		    .path = req.path,
		    .query = req.query,
		    .fields = &req.fields,
		    .host = "",
		    .names = s.names,
		    .payload = span_of(s.payload_text) }),
	    SIGV4_OK);
	assert_int_equal(sigv4_derive(span_of(SECRET), &s.scope, key), 0);
	assert_int_equal(sigv4_sign(key, &s.scope, s.time,
			     (struct span){ canonical, w.len }, signature),
	    0);
	row_span(claim, span_of(signature), s.signature);
}

static void
signs_as_the_manual_says(void **state)
{
	const struct span get =
	    BYTES(AUTHORIZED("Credential=" SCOPE "," FIELDS ",Signature=" SIX));
	const struct span presigned = BYTES(HEAD(PRESIGNED, "X-A: b"));

	(void)state;
	check_signature("the example GET", get);
	check_signature("the example URL", presigned);
}

/* "Signature calculations: multiple chunks", 65,536 and 1,024 bytes of 'a'. */
static void
signs_chunks_as_the_manual_says(void **state)
{
	static const struct {
		size_t size;
		const char *want;
	} chunks[] = {
		{ 65536,
		    "ad80c730a21e5b8d04586a2213dd63b9"
		    "a0e99e0e2307b0ade35a65485a288648" },
		{ 1024,
		    "0055627c9e194cb4542bae2aa5492e3c"
		    "1575bbb81b612b7d234b86a503ef5497" },
		{ 0,
		    "b6c6ea8a5354eaf15b3cb7646744f427"
		    "5b71ea724fed81ceb9323e279d449df9" },
	};
	static const struct sigv4_scope scope = { "20130524", "us-east-1",
		"s3" };
	static uint8_t data[65536];
	const char *before = "4f232c4386841ef735655705268965c4"
			     "4a0e4690baa4adea153f7db9fa80a0a9";
	char signature[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES];

	(void)state;
	memset(data, 'a', sizeof(data));
	assert_int_equal(sigv4_derive(span_of(SECRET), &scope, key), 0);
	for (size_t i = 0; i < ROWS(chunks); i++) {
		assert_int_equal(sigv4_sign_chunk(key, &scope,
				     "20130524T000000Z", before,
				     (struct span){ data, chunks[i].size },
				     signature),
		    0);
		assert_string_equal(signature, chunks[i].want);
		before = chunks[i].want;
	}
}

static const struct {
	const char *claim;
	struct span in;
	enum http_status want;
	size_t size;
} lines[] = {
	{ "a line", BYTES("400;chunk-signature=" EMPTY "\r\nrest"), HTTP_OK,
	    1024 },
	{ "the last", BYTES("0;chunk-signature=" EMPTY "\r\n"), HTTP_OK, 0 },
	{ "as large as may be", BYTES("10000;chunk-signature=" EMPTY "\r\n"),
	    HTTP_OK, 65536 },
	{ "larger", BYTES("10001;chunk-signature=" EMPTY "\r\n"), HTTP_CODING,
	    0 },
	{ "not whole", BYTES("400;chunk-signature=" EMPTY "\r"), HTTP_MORE, 0 },
	{ "nothing", BYTES(""), HTTP_MORE, 0 },
	{ "without a signature", BYTES("400\r\n"), HTTP_CODING, 0 },
	{ "a bare LF", BYTES("400;chunk-signature=" EMPTY "\n"), HTTP_CODING,
	    0 },
	{ "a sign", BYTES("+400;chunk-signature=" EMPTY "\r\n"), HTTP_CODING,
	    0 },
	{ "another extension", BYTES("400;a=b;chunk-signature=" EMPTY "\r\n"),
	    HTTP_CODING, 0 },
	{ "a line without an end", BYTES("400;chunk-signature=" EMPTY EMPTY),
	    HTTP_CODING, 0 },
};

static void
reads_the_lines_of_chunks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(lines); i++) {
		struct sigv4_chunk c = { .size = 0 };

		row_equal(lines[i].claim,
		    sigv4_chunk_parse(lines[i].in, 65536, &c), lines[i].want);
		row_equal(lines[i].claim, c.size, lines[i].size);
	}
}

static const struct {
	const char *claim, *query, *want; /* NULL: it cannot be signed */
} orders[] = {
	{ "by name, then by value", "b=2&a=2&a=1", "a=1&a=2&b=2" },
	{ "a name alone is one without a value", "uploads", "uploads=" },
	{ "as it is escaped", "a%2F=%41&A=1", "A=1&a%2F=%41" },
	{ "a name that begins like another", "aa=1&a=2", "a=2&aa=1" },
	{ "nothing", "", "" },
	{ "an empty one", "a&&b", NULL },
	{ "an empty one at the end", "a&", NULL },
	{ "an empty name", "=a", NULL },
};

static void
sorts_queries(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(orders); i++) {
		uint8_t buf[256];
		struct wr w = wr_init(buf, sizeof(buf));
		enum sigv4_status st =
		    sigv4_query_sort(&w, span_of(orders[i].query));

		row_equal(orders[i].claim, st,
		    orders[i].want == NULL ? SIGV4_PARAMETERS : SIGV4_OK);
		if (orders[i].want != NULL)
			row_span(orders[i].claim, (struct span){ buf, w.len },
			    orders[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_each_head_its_outcome),
		cmocka_unit_test(signs_as_the_manual_says),
		cmocka_unit_test(signs_chunks_as_the_manual_says),
		cmocka_unit_test(reads_the_lines_of_chunks),
		cmocka_unit_test(sorts_queries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
