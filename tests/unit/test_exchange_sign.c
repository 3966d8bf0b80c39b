/*
 * Requests that a guest has signed for AWS with its placeholder: what reaches
 * the origin is signed with the real key, and nothing that is bent does.
 */
#include "inspect_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/resign.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow aws]\nhost = s3.example.org\ncredential = aws\n"               \
	"[allow other]\nhost = other.example.org\n"

#define PLACEHOLDER "AKIATAPWARDPLACEHOLD"
#define KEY_ID "ASIAREALKEYREALKEY00"
#define SECRET "the/real+secret/key/of/the/host000000000"
#define TOKEN "FwoGZXIvYXdzEBYaD/a+b=="
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GUEST_TIME "20200229T101112Z"

static char lease[1024];

/* What the broker would make of the real key. */
static void
set_lease(struct fix *f, const char *service, const char *token)
{
	struct sigv4_scope scope = { "20261130", "eu-west-1", "" };
	uint8_t key[DIGEST_BYTES];
	char hex[DIGEST_HEX_SIZE];

	(void)snprintf(scope.service, sizeof(scope.service), "%s", service);
	assert_int_equal(sigv4_derive(span_of(SECRET), &scope, key), 0);
	digest_hex(key, hex);
	(void)snprintf(lease, sizeof(lease), "%s %s %s %s %s%s%s", KEY_ID,
	    scope.date, scope.region, service, hex, token[0] == '\0' ? "" : " ",
	    token);
	f->secret = lease;
	f->apply = LEASE_APPLY_SIGV4;
	f->placeholder = PLACEHOLDER;
}

static int
setup(void **state)
{
	*state = fix_new(POLICY);
	fix_grant(*state, "s3.example.org", 443, "authorization");
	return 0;
}

static int
teardown(void **state)
{
	struct fix *f = *state;

	fix_close(f);
	fix_settle(f);
	assert_int_equal(f->gate.sign_bytes, 0);
	fix_free(f);
	return 0;
}

static void
again(struct fix *f)
{
	fix_close(f);
	fix_forget_origins(f);
	f->record_count = 0;
	peer_clear(&f->guest);
}

/* --- a guest that signs --- */

struct signed_request {
	char text[8192];
	char signature[DIGEST_HEX_SIZE];
	struct sigv4_scope scope;
	uint8_t key[DIGEST_BYTES];
};

struct plan {
	const char *line;   /* "GET /k" */
	const char *fields; /* each with CRLF */
	const char *names;
	const char *service;
	const char *payload; /* the last line of what is signed */
	const char *id;      /* whose key it is; NULL: the placeholder */
};

static void
sign(const struct plan *p, struct signed_request *ret)
{
	static uint8_t canonical[16384];
	struct wr w = wr_init(canonical, sizeof(canonical));
	char secret[SIGV4_PLACEHOLDER_SIZE];
	const char *id = p->id != NULL ? p->id : PLACEHOLDER;
	struct http_request req;
	int n;

	n = snprintf(ret->text, sizeof(ret->text),
	    "%s HTTP/1.1\r\nHost: s3.example.org\r\nX-Amz-Date: " GUEST_TIME
	    "\r\n%s\r\n",
	    p->line, p->fields);
	assert_int_equal(http_request_parse((struct span){ (uint8_t *)ret->text,
						(size_t)n },
			     &req),
	    HTTP_OK);
	ret->scope = (struct sigv4_scope){ "20200229", "eu-west-1", "" };
	(void)snprintf(ret->scope.service, sizeof(ret->scope.service), "%s",
	    p->service);
	assert_int_equal(sigv4_canonical(&w,
			     &(struct sigv4_subject){ .service = p->service,
				 .method = req.method,
				 .path = req.path,
				 .query = req.query,
				 .fields = &req.fields,
				 .host = "",
				 .names = p->names,
				 .payload = span_of(p->payload) }),
	    SIGV4_OK);
	assert_int_equal(sigv4_placeholder_secret(id, secret), 0);
	assert_int_equal(sigv4_derive(span_of(secret), &ret->scope, ret->key),
	    0);
	assert_int_equal(sigv4_sign(ret->key, &ret->scope, GUEST_TIME,
			     (struct span){ canonical, w.len }, ret->signature),
	    0);
	(void)snprintf(ret->text + n - 2, sizeof(ret->text) - (size_t)n,
	    "Authorization: AWS4-HMAC-SHA256 Credential=%s/20200229/eu-west-1/"
	    "%s/aws4_request, SignedHeaders=%s, Signature=%s\r\n\r\n",
	    id, p->service, p->names, ret->signature);
}

/* --- an origin that checks --- */

static struct sigv4 seen;

/* The head that o has is signed with the real key. */
static void
is_signed_right(const char *claim, const struct peer *o, const char *body)
{
	static uint8_t canonical[16384];
	struct wr w = wr_init(canonical, sizeof(canonical));
	struct http_scan scan = { .at = 0 };
	struct span in = { o->in, o->in_len };
	char signature[DIGEST_HEX_SIZE], payload[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES], digest[DIGEST_BYTES];
	struct http_request req;
	size_t len = 0;

	assert_int_equal(http_scan(&scan, in, &len), HTTP_OK);
	in.len = len;
	assert_int_equal(http_request_parse(in, &req), HTTP_OK);
	if (sigv4_parse(&req, &seen) != SIGV4_OK)
		fail_msg("%s: %.*s", claim, (int)len, (const char *)o->in);
	assert_string_equal(seen.key_id, KEY_ID);
	assert_string_equal(seen.scope.date, "20261130");
	assert_int_equal(digest_sha256(body, strlen(body), digest), 0);
	digest_hex(digest, payload);
	assert_int_equal(sigv4_canonical(&w,
			     &(struct sigv4_subject){ .service =
							  seen.scope.service,
				 .method = req.method,
				 .path = req.path,
				 .query = req.query,
				 .fields = &req.fields,
				 .host = "",
				 .names = seen.names,
				 .payload =
				     span_of(seen.payload == SIGV4_PAYLOAD_BODY
					     ? payload
					     : seen.payload_text) }),
	    SIGV4_OK);
	assert_int_equal(sigv4_derive(span_of(SECRET), &seen.scope, key), 0);
	assert_int_equal(sigv4_sign(key, &seen.scope, seen.time,
			     (struct span){ canonical, w.len }, signature),
	    0);
	if (strcmp(signature, seen.signature) != 0)
		fail_msg("%s: %.*s\n%.*s", claim, (int)len, (const char *)o->in,
		    (int)w.len, (const char *)canonical);
	/* Nothing of the guest's signature is left. */
	assert_false(peer_has(o, PLACEHOLDER));
	assert_false(peer_has(o, GUEST_TIME));
}

/* --- heads --- */

#define SUMMED "X-Amz-Content-Sha256: " EMPTY "\r\n"
#define S3_NAMES "host;x-amz-content-sha256;x-amz-date"

static const struct {
	const char *claim;
	struct plan plan;
	const char *token;
	const char *want;  /* in what the origin gets; or NULL */
	const char *never; /* not in there */
} heads[] = {
	{ "S3, its payload told",
	    { "GET /a%20b?x=2&x=1&uploads", SUMMED, S3_NAMES, "s3", EMPTY,
		NULL },
	    "", "GET /a%20b?x=2&x=1&uploads HTTP/1.1\r\n", "Token" },
	{ "with the token of a session",
	    { "GET /k", SUMMED, S3_NAMES, "s3", EMPTY, NULL }, TOKEN,
	    "x-amz-security-token: " TOKEN "\r\n", NULL },
	{ "a token of the guest's own is replaced",
	    { "GET /k", SUMMED "X-Amz-Security-Token: mine\r\n",
		"host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
		"s3", EMPTY, NULL },
	    TOKEN, "x-amz-security-token: " TOKEN "\r\n", "mine" },
	{ "or goes, where the key has none",
	    { "GET /k", SUMMED "X-Amz-Security-Token: mine\r\n",
		"host;x-amz-content-sha256;x-amz-date;x-amz-security-token",
		"s3", EMPTY, NULL },
	    "", NULL, "ecurity-" },
	{ "a part of an object",
	    { "GET /k", SUMMED "Range: bytes=5-9\r\n",
		"host;range;x-amz-content-sha256;x-amz-date", "s3", EMPTY,
		NULL },
	    "", "Range: bytes=5-9\r\n", NULL },
	{ "a part of an answer of another service",
	    { "GET /k", "Range: bytes=5-9\r\n", "host;range;x-amz-date",
		"execute-api", EMPTY, NULL },
	    TOKEN, NULL, "bytes=5-9" },
	{ "fields that do not go on are not signed",
	    { "GET /k",
		SUMMED "Accept-Encoding: gzip\r\nTE: trailers\r\n"
		       "X-Api-Key: mine\r\n",
		"accept-encoding;host;te;x-amz-content-sha256;x-amz-date;"
		"x-api-key",
		"s3", EMPTY, NULL },
	    "", "Accept-Encoding: identity\r\n", "mine" },
	{ "an escaped path of a service that escapes it once more",
	    { "GET /2015/f/a%3Ab/c%40d", "", "host;x-amz-date", "lambda", EMPTY,
		NULL },
	    "", "GET /2015/f/a%3Ab/c%40d HTTP/1.1\r\n", NULL },
	{ "unsigned payload",
	    { "GET /k", "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n", S3_NAMES,
		"s3", SIGV4_UNSIGNED_TEXT, NULL },
	    TOKEN, "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\r\n", NULL },
	{ "an action that mints nothing",
	    { "GET /?Action=GetCallerIdentity&Version=2011-06-15", "",
		"host;x-amz-date", "sts", EMPTY, NULL },
	    TOKEN, "Action=GetCallerIdentity", NULL },
};

static void
heads_are_signed_with_the_real_key(void **state)
{
	static struct signed_request r;
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		struct peer *o;

		set_lease(f, heads[i].plan.service, heads[i].token);
		sign(&heads[i].plan, &r);
		fix_open_tls(f, "s3.example.org");
		o = fix_ask(f, r.text);
		is_signed_right(heads[i].claim, o, "");
		if (heads[i].want != NULL && !peer_has(o, heads[i].want))
			fail_msg("%s: %.*s", heads[i].claim, (int)o->in_len,
			    (const char *)o->in);
		if (heads[i].never != NULL && peer_has(o, heads[i].never))
			fail_msg("%s: %.*s", heads[i].claim, (int)o->in_len,
			    (const char *)o->in);
		peer_say(o, OK);
		fix_until(f, peer_has(&f->guest, "\r\n\r\nok"));
		again(f);
	}
}

static const struct {
	const char *claim;
	struct plan plan;
	const char *change, *to; /* of the text after it was signed */
	const char *detail;
} refused[] = {
	{ "another key",
	    { "GET /k", SUMMED, S3_NAMES, "s3", EMPTY, "AKIAIOSFODNN7EXAMPLE" },
	    NULL, NULL,
	    "it is signed with another key than the credential's placeholder" },
	{ "a path that was changed",
	    { "GET /k", SUMMED, S3_NAMES, "s3", EMPTY, NULL }, "/k", "/l",
	    "its AWS signature does not fit the placeholder's key" },
	{ "a query that was changed",
	    { "GET /k?a=1", SUMMED, S3_NAMES, "s3", EMPTY, NULL }, "a=1", "a=2",
	    "its AWS signature does not fit the placeholder's key" },
	{ "a field that was changed",
	    { "GET /k", SUMMED "X-Amz-Acl: private\r\n",
		"host;x-amz-acl;x-amz-content-sha256;x-amz-date", "s3", EMPTY,
		NULL },
	    "private", "publicc",
	    "its AWS signature does not fit the placeholder's key" },
	{ "another service than was signed for",
	    { "GET /k", SUMMED, S3_NAMES, "s3", EMPTY, NULL }, "eu-west-1/s3",
	    "eu-west-1/s4",
	    "its AWS signature does not fit the placeholder's key" },
	{ "a signature that was changed",
	    { "GET /k", SUMMED, S3_NAMES, "s3", EMPTY, NULL },
	    "Signature=", "Sognature=", "its AWS signature is malformed" },
	{ "version 4A", { "GET /k", SUMMED, S3_NAMES, "s3", EMPTY, NULL },
	    "AWS4-HMAC-SHA256 C", "AWS4-ECDSA-P256-SHA256 C",
	    "signature version 4A is not taken: have the client use version "
	    "4" },
	{ "chunks with a signed trailer",
	    { "GET /k",
		"X-Amz-Content-Sha256: "
		"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER\r\n",
		S3_NAMES, "s3", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
		NULL },
	    NULL, NULL,
	    "its x-amz-content-sha256 names a form that is not taken" },
	{ "a role to be assumed",
	    { "GET /?Action=AssumeRole&Version=2011-06-15", "",
		"host;x-amz-date", "sts", EMPTY, NULL },
	    NULL, NULL,
	    "the answer to this action holds keys, and is not for a guest" },
	{ "an action that is told twice",
	    { "GET /?Action=GetCallerIdentity&Action=AssumeRole", "",
		"host;x-amz-date", "sts", EMPTY, NULL },
	    NULL, NULL,
	    "what it asks of the service is not told by one Action" },
	{ "an action that is escaped",
	    { "GET /?%41ction=AssumeRole&Action=GetCallerIdentity", "",
		"host;x-amz-date", "sts", EMPTY, NULL },
	    NULL, NULL,
	    "what it asks of the service is not told by one Action" },
	{ "a key to be made",
	    { "GET /?Action=CreateAccessKey", "", "host;x-amz-date", "iam",
		EMPTY, NULL },
	    NULL, NULL,
	    "the answer to this action holds keys, and is not for a guest" },
	{ "a password of a registry",
	    { "GET /",
		"X-Amz-Target: AmazonEC2ContainerRegistry_V20150921."
		"GetAuthorizationToken\r\n",
		"host;x-amz-date;x-amz-target", "ecr", EMPTY, NULL },
	    NULL, NULL,
	    "the answer to this operation holds keys, and is not for a "
	    "guest" },
	{ "a token of a repository",
	    { "GET /v1/authorization-token?domain=d", "", "host;x-amz-date",
		"codeartifact", EMPTY, NULL },
	    NULL, NULL,
	    "the answer to this operation holds keys, and is not for a "
	    "guest" },
	{ "a session of a fast bucket",
	    { "GET /?session", "", "host;x-amz-date", "s3express", EMPTY,
		NULL },
	    NULL, NULL,
	    "this service hands out keys, which are not for a guest" },
};

/* What is around it stays. */
static void
replace(char *text, size_t size, const char *from, const char *to)
{
	char *at = from == NULL ? NULL : strstr(text, from);
	size_t rest;

	if (from == NULL)
		return;
	assert_non_null(at);
	rest = strlen(at + strlen(from)) + 1;
	assert_true((size_t)(at - text) + strlen(to) + rest <= size);
	memmove(at + strlen(to), at + strlen(from), rest);
	memcpy(at, to, strlen(to));
}

static void
was_refused(struct fix *f, const char *claim, const char *detail)
{
	fix_until(f, f->record_count > 0);
	if (fix_last(f)->r.reason != REASON_CREDENTIAL_MISUSE ||
	    strcmp(fix_last(f)->detail, detail) != 0)
		fail_msg("%s: %s", claim, fix_last(f)->detail);
	assert_int_equal(f->origin_count, 0);
	fix_until(f, peer_has(&f->guest, "Tapward-Reason: credential-misuse"));
}

static void
what_is_bent_is_refused(void **state)
{
	static struct signed_request r;
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		set_lease(f, refused[i].plan.service, TOKEN);
		sign(&refused[i].plan, &r);
		replace(r.text, sizeof(r.text), refused[i].change,
		    refused[i].to);
		fix_open_tls(f, "s3.example.org");
		peer_say(&f->guest, r.text);
		was_refused(f, refused[i].claim, refused[i].detail);
		again(f);
	}
}

static void
what_is_not_signed_is_refused(void **state)
{
	struct fix *f = *state;

	set_lease(f, "s3", TOKEN);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest,
	    "GET /k HTTP/1.1\r\nHost: s3.example.org\r\n"
	    "Authorization: Bearer " PLACEHOLDER "\r\n\r\n");
	was_refused(f, "Bearer", "it has no AWS signature");
}

/* A guest cannot have a part of an answer by signing what is not to be. */
static void
a_signature_for_another_credential_is_text(void **state)
{
	static const struct plan plan = { "GET /k",
		SUMMED "Range: bytes=5-9\r\n",
		"host;range;x-amz-content-sha256;x-amz-date", "s3", EMPTY,
		NULL };
	static struct signed_request r;
	struct fix *f = *state;
	struct peer *o;

	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	o = fix_ask(f, r.text);
	assert_true(peer_has(o, "authorization: Bearer s3cr3t-canary-"));
	assert_false(peer_has(o, "bytes=5-9"));
	assert_false(peer_has(o, "AWS4"));
}

/* --- bodies --- */

#define BODY "{\"TableName\": \"things\"}"
#define TARGET "X-Amz-Target: DynamoDB_20120810.Scan\r\n"
#define BODY_NAMES "content-length;host;x-amz-date;x-amz-target"

static void
digest_of(const char *text, char ret[DIGEST_HEX_SIZE])
{
	uint8_t digest[DIGEST_BYTES];

	assert_int_equal(digest_sha256(text, strlen(text), digest), 0);
	digest_hex(digest, ret);
}

static void
a_body_is_held_until_it_is_whole(void **state)
{
	static struct signed_request r;
	char digest[DIGEST_HEX_SIZE];
	struct plan plan = { "POST /", TARGET "Content-Length: 23\r\n",
		BODY_NAMES, "dynamodb", digest, NULL };
	struct fix *f = *state;
	struct peer *o;

	digest_of(BODY, digest);
	set_lease(f, "dynamodb", TOKEN);
	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, r.text);
	peer_send(&f->guest, BODY, 10);
	fix_settle(f);
	assert_int_equal(f->dial_count, 0);
	assert_int_equal(f->gate.sign_bytes, 10);
	peer_say(&f->guest, &BODY[10]);
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, BODY));
	is_signed_right("a body", o, BODY);
	peer_say(o, OK);
	fix_until(f, peer_has(&f->guest, "\r\n\r\nok"));
	assert_int_equal(fix_last(f)->r.up, strlen(BODY));
}

/* Its length is known by then. */
static void
a_body_in_chunks_gets_a_length(void **state)
{
	static struct signed_request r;
	char digest[DIGEST_HEX_SIZE];
	struct plan plan = { "POST /",
		TARGET "Transfer-Encoding: chunked\r\n"
		       "Expect: 100-continue\r\n",
		"host;x-amz-date;x-amz-target", "dynamodb", digest, NULL };
	struct fix *f = *state;
	struct peer *o;

	digest_of(BODY, digest);
	set_lease(f, "dynamodb", "");
	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, r.text);
	fix_until(f, peer_has(&f->guest, "100 Continue"));
	peer_say(&f->guest, "17\r\n" BODY "\r\n0\r\n\r\n");
	o = fix_origin(f, 0);
	fix_until(f, peer_has(o, BODY));
	assert_true(peer_has(o, "Content-Length: 23\r\n"));
	is_signed_right("a body", o, BODY);
}

static void
a_body_that_was_changed_is_refused(void **state)
{
	static struct signed_request r;
	char digest[DIGEST_HEX_SIZE];
	struct plan plan = { "POST /", TARGET "Content-Length: 23\r\n",
		BODY_NAMES, "dynamodb", digest, NULL };
	struct fix *f = *state;

	digest_of(BODY, digest);
	set_lease(f, "dynamodb", TOKEN);
	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, r.text);
	peer_say(&f->guest, "{\"TableName\": \"thoughts");
	was_refused(f, "a body",
	    "its AWS signature does not fit the placeholder's key");
}

#define MINTING "Action=AssumeRole&RoleArn=arn"

/* Though its digest is told, so that it need not be held to be signed. */
static void
an_action_in_a_body_is_read(void **state)
{
	static struct signed_request r;
	char digest[DIGEST_HEX_SIZE], fields[256];
	struct plan plan = { "POST /", fields,
		"host;x-amz-content-sha256;x-amz-date", "sts", digest, NULL };
	struct fix *f = *state;

	digest_of(MINTING, digest);
	(void)snprintf(fields, sizeof(fields),
	    "X-Amz-Content-Sha256: %s\r\nContent-Length: %zu\r\n", digest,
	    strlen(MINTING));
	set_lease(f, "sts", TOKEN);
	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, r.text);
	peer_say(&f->guest, MINTING);
	was_refused(f, "an action",
	    "the answer to this action holds keys, and is not for a guest");
}

static void
what_is_held_is_bounded(void **state)
{
	static struct signed_request r;
	static uint8_t piece[65536];
	struct plan plan = { "POST /", TARGET "Content-Length: 8000000\r\n",
		BODY_NAMES, "dynamodb", EMPTY, NULL };
	struct fix *f = *state;

	set_lease(f, "dynamodb", TOKEN);
	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, r.text);
	for (int i = 0; i < 70; i++)
		peer_send(&f->guest, piece, sizeof(piece));
	was_refused(f, "a large body",
	    "there is no room to hold its body until it is signed");
	assert_true(peer_has(&f->guest, "HTTP/1.1 413 "));
}

/* A large one goes out piece by piece, as the origin takes it. */
static void
a_large_body_waits_for_its_origin(void **state)
{
	static struct signed_request r;
	static char big[1000001];
	char digest[DIGEST_HEX_SIZE];
	struct plan plan = { "POST /", TARGET "Content-Length: 1000000\r\n",
		BODY_NAMES, "dynamodb", digest, NULL };
	struct fix *f = *state;
	struct peer *o;

	memset(big, 'a', sizeof(big) - 1);
	digest_of(big, digest);
	set_lease(f, "dynamodb", TOKEN);
	sign(&plan, &r);
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, r.text);
	peer_say(&f->guest, big);
	o = fix_origin(f, 0);
	o->is_slow = true;
	fix_settle(f);
	o->is_slow = false;
	fix_until(f, o->in_len > 1000000 && peer_has(o, big));
	is_signed_right("a large body", o, big);
	peer_say(o, OK);
	fix_until(f, peer_has(&f->guest, "\r\n\r\nok"));
}

/* --- signed chunks --- */

#define CHUNKED_FIELDS(length)                                                 \
	"X-Amz-Content-Sha256: " SIGV4_CHUNKS_TEXT                             \
	"\r\nContent-Length: " length "\r\n"

/* Appends one to text, behind the signature before it. */
static void
add_chunk(const struct signed_request *r, char before[DIGEST_HEX_SIZE],
    const char *data, char *text, size_t size)
{
	char mine[DIGEST_HEX_SIZE];
	size_t len = strlen(text);

	assert_int_equal(sigv4_sign_chunk(r->key, &r->scope, GUEST_TIME, before,
			     span_of(data), mine),
	    0);
	memcpy(before, mine, sizeof(mine));
	(void)snprintf(text + len, size - len,
	    "%zx;chunk-signature=%s\r\n%s\r\n", strlen(data), mine, data);
}

static void
make_chunks(struct signed_request *r, char *text, size_t size)
{
	/* 5 + 3 bytes, three lines of 82 and as many CRLF behind data. */
	static const struct plan plan = { "PUT /k", CHUNKED_FIELDS("266"),
		"content-length;host;x-amz-content-sha256;x-amz-date", "s3",
		SIGV4_CHUNKS_TEXT, NULL };
	char before[DIGEST_HEX_SIZE];

	sign(&plan, r);
	memcpy(before, r->signature, sizeof(before));
	text[0] = '\0';
	add_chunk(r, before, "hello", text, size);
	add_chunk(r, before, "abc", text, size);
	add_chunk(r, before, "", text, size);
	assert_int_equal(strlen(text), 266);
}

/* What o got behind its head is signed, chunk by chunk, with the real key. */
static void
chunks_are_signed_right(const struct peer *o, const char *const *data,
    size_t count)
{
	uint8_t key[DIGEST_BYTES];
	char before[DIGEST_HEX_SIZE], text[1024] = "";
	struct wr w = wr_init(text, sizeof(text) - 1);
	struct signed_request r;

	assert_int_equal(sigv4_derive(span_of(SECRET), &seen.scope, key), 0);
	memcpy(before, seen.signature, sizeof(before));
	memcpy(r.key, key, sizeof(key));
	r.scope = seen.scope;
	for (size_t i = 0; i < count; i++) {
		char mine[DIGEST_HEX_SIZE];

		assert_int_equal(sigv4_sign_chunk(key, &seen.scope, seen.time,
				     before, span_of(data[i]), mine),
		    0);
		memcpy(before, mine, sizeof(mine));
		wr_fmt(&w, "%zx;chunk-signature=%s\r\n%s\r\n", strlen(data[i]),
		    mine, data[i]);
	}
	assert_true(wr_ok(&w));
	assert_true(peer_has(o, text));
}

static void
chunks_are_signed_one_by_one(void **state)
{
	static const char *const data[] = { "hello", "abc", "" };
	static struct signed_request r;
	char text[1024];
	struct fix *f = *state;
	struct peer *o;

	/* Whole, and byte by byte. */
	for (size_t burst = 0; burst < 2; burst++) {
		set_lease(f, "s3", TOKEN);
		make_chunks(&r, text, sizeof(text));
		fix_open_tls(f, "s3.example.org");
		f->guest.burst = burst;
		peer_say(&f->guest, r.text);
		peer_say(&f->guest, text);
		o = fix_origin(f, 0);
		fix_until(f, peer_has(o, "0;chunk-signature="));
		fix_settle(f);
		is_signed_right("chunks", o, "");
		chunks_are_signed_right(o, data, 3);
		peer_say(o, OK);
		fix_until(f, peer_has(&f->guest, "\r\n\r\nok"));
		f->guest.burst = 0;
		again(f);
		fix_settle(f);
		assert_int_equal(f->gate.sign_bytes, 0);
	}
}

static const struct {
	const char *claim, *from, *to, *detail;
} bent[] = {
	{ "another byte", "abc", "abd",
	    "a chunk's signature does not fit the placeholder's key" },
	{ "another size", "\r\n3;", "\r\n2;",
	    "a signed chunk does not end where it should" },
	{ "no size", "\r\n3;", "\r\nx;",
	    "a signed chunk is malformed, or over 1 MiB" },
	{ "a last one that is none", "\r\n0;", "\r\n1;",
	    "its signed chunks ended early" },
};

/* What came before it is with the origin, which gets no end. */
static void
a_chunk_that_is_bent_ends_it(void **state)
{
	static struct signed_request r;
	char text[1024];
	struct fix *f = *state;

	for (size_t i = 0; i < sizeof(bent) / sizeof(bent[0]); i++) {
		struct peer *o;

		set_lease(f, "s3", TOKEN);
		make_chunks(&r, text, sizeof(text));
		replace(text, sizeof(text), bent[i].from, bent[i].to);
		fix_open_tls(f, "s3.example.org");
		peer_say(&f->guest, r.text);
		peer_say(&f->guest, text);
		o = fix_origin(f, 0);
		fix_until(f, f->record_count > 0);
		assert_int_equal(fix_last(f)->r.reason, REASON_BAD_REQUEST);
		if (strcmp(fix_last(f)->detail, bent[i].detail) != 0)
			fail_msg("%s: %s", bent[i].claim, fix_last(f)->detail);
		fix_until(f, o->is_ended || o->is_failed);
		assert_false(peer_has(o, "abd"));
		again(f);
	}
}

/* --- presigned --- */

#define PRESIGNED                                                              \
	"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" PLACEHOLDER       \
	"%2F20200229%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=" GUEST_TIME   \
	"&X-Amz-Expires=3600&X-Amz-SignedHeaders=host"

static void
presign(const char *rest, char *text, size_t size)
{
	static uint8_t canonical[4096];
	struct wr w = wr_init(canonical, sizeof(canonical));
	const struct sigv4_scope scope = { "20200229", "eu-west-1", "s3" };
	char secret[SIGV4_PLACEHOLDER_SIZE], signature[DIGEST_HEX_SIZE];
	struct http_fields none = { .count = 0 };
	char query[1024];
	uint8_t key[DIGEST_BYTES];

	(void)snprintf(query, sizeof(query), "%s%s", PRESIGNED, rest);
	assert_int_equal(sigv4_canonical(&w,
			     &(struct sigv4_subject){ .service = "s3",
				 .method = span_of("GET"),
				 .path = span_of("/k"),
				 .query = span_of(query),
				 .fields = &none,
				 .host = "s3.example.org",
				 .names = "host",
				 .payload = span_of(SIGV4_UNSIGNED_TEXT) }),
	    SIGV4_OK);
	assert_int_equal(sigv4_placeholder_secret(PLACEHOLDER, secret), 0);
	assert_int_equal(sigv4_derive(span_of(secret), &scope, key), 0);
	assert_int_equal(sigv4_sign(key, &scope, GUEST_TIME,
			     (struct span){ canonical, w.len }, signature),
	    0);
	(void)snprintf(text, size,
	    "GET /k?%s&X-Amz-Signature=%s HTTP/1.1\r\nHost: s3.example.org\r\n"
	    "Range: bytes=0-1\r\n\r\n",
	    query, signature);
}

static void
a_presigned_url_is_signed_anew(void **state)
{
	static const char *const rests[] = { "",
		"&response-content-type=text%2Fplain",
		"&X-Amz-Security-Token=mine" };
	static const char *const tokens[] = { "", TOKEN };
	struct fix *f = *state;
	char text[4096];

	for (size_t i = 0; i < 6; i++) {
		struct peer *o;

		set_lease(f, "s3", tokens[i % 2]);
		presign(rests[i / 2], text, sizeof(text));
		fix_open_tls(f, "s3.example.org");
		o = fix_ask(f, text);
		is_signed_right(rests[i / 2], o, "");
		assert_int_equal(seen.form, SIGV4_QUERY);
		assert_true(peer_has(o, "X-Amz-Expires=300&"));
		assert_true(peer_has(o, "Range: bytes=0-1\r\n"));
		assert_false(peer_has(o, "mine"));
		assert_int_equal(peer_has(o,
				     "X-Amz-Security-Token=FwoGZXIvYXdz"
				     "EBYaD%2Fa%2Bb%3D%3D"),
		    i % 2 == 1);
		if (i / 2 == 1)
			assert_true(peer_has(o, rests[1]));
		/* A place to go to that tells the token goes to nobody. */
		peer_say(o,
		    "HTTP/1.1 307 There\r\nLocation: /k?t=" TOKEN
		    "\r\nContent-Length: 0\r\n\r\n");
		fix_until(f, f->record_count > 0);
		assert_int_equal(fix_last(f)->r.reason,
		    i % 2 == 1 ? REASON_CREDENTIAL_LEAK : REASON_NONE);
		again(f);
	}
	set_lease(f, "s3", TOKEN);
	presign("&a=b", text, sizeof(text));
	replace(text, sizeof(text), "&a=b", "&a=c");
	fix_open_tls(f, "s3.example.org");
	peer_say(&f->guest, text);
	was_refused(f, "changed",
	    "its AWS signature does not fit the placeholder's key");
}

/* --- a placeholder elsewhere --- */

#define OTHER "Host: other.example.org\r\n"

static const struct {
	const char *claim, *request;
	bool passes;
} elsewhere[] = {
	{ "in Authorization",
	    "GET / HTTP/1.1\r\n" OTHER "Authorization: Bearer " PLACEHOLDER
	    "\r\n\r\n",
	    false },
	/* base64 of "git:" and it */
	{ "in a pair",
	    "GET / HTTP/1.1\r\n" OTHER
	    "Authorization: basic Z2l0OkFLSUFUQVBXQVJEUExBQ0VIT0xE\r\n\r\n",
	    false },
	{ "in another field",
	    "GET / HTTP/1.1\r\n" OTHER "X-Key: a" PLACEHOLDER "b\r\n\r\n",
	    false },
	{ "in a path", "GET /" PLACEHOLDER " HTTP/1.1\r\n" OTHER "\r\n",
	    false },
	{ "in a query", "GET /?k=" PLACEHOLDER " HTTP/1.1\r\n" OTHER "\r\n",
	    false },
	{ "but for its last byte",
	    "GET /?k=AKIATAPWARDPLACEHOL HTTP/1.1\r\n" OTHER "\r\n", true },
};

static void
a_placeholder_goes_to_no_other_host(void **state)
{
	struct fix *f = *state;

	f->grant_placeholder = PLACEHOLDER;
	fix_grant(f, "s3.example.org", 443, "authorization");
	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
		fix_open_tls(f, "other.example.org");
		if (elsewhere[i].passes) {
			(void)fix_ask(f, elsewhere[i].request);
		} else {
			peer_say(&f->guest, elsewhere[i].request);
			was_refused(f, elsewhere[i].claim,
			    "it holds the placeholder of a credential for "
			    "another host");
		}
		again(f);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(heads_are_signed_with_the_real_key),
		TEST(what_is_bent_is_refused),
		TEST(what_is_not_signed_is_refused),
		TEST(a_signature_for_another_credential_is_text),
		TEST(a_body_is_held_until_it_is_whole),
		TEST(a_body_in_chunks_gets_a_length),
		TEST(a_body_that_was_changed_is_refused),
		TEST(an_action_in_a_body_is_read),
		TEST(what_is_held_is_bounded),
		TEST(a_large_body_waits_for_its_origin),
		TEST(chunks_are_signed_one_by_one),
		TEST(a_chunk_that_is_bent_ends_it),
		TEST(a_presigned_url_is_signed_anew),
		TEST(a_placeholder_goes_to_no_other_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
