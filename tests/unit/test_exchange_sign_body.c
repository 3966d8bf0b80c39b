/*
 * The same of requests with a body, whole or in signed chunks, and of URLs that
 * are signed themselves.
 */
#include "sign_support.h"

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
		/* As a line: a signature may have these digits, too. */
		assert_false(peer_has(o, "\r\nabd"));
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_body_is_held_until_it_is_whole),
		TEST(a_body_in_chunks_gets_a_length),
		TEST(a_body_that_was_changed_is_refused),
		TEST(an_action_in_a_body_is_read),
		TEST(what_is_held_is_bounded),
		TEST(a_large_body_waits_for_its_origin),
		TEST(chunks_are_signed_one_by_one),
		TEST(a_chunk_that_is_bent_ends_it),
		TEST(a_presigned_url_is_signed_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
