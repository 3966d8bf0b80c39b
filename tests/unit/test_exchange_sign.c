/*
 * Requests that a guest has signed for AWS with its placeholder: what reaches
 * the origin is signed with the real key, and nothing that is bent does.
 */
#include "sign_support.h"

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
	const struct CMUnitTest tests[] = {
		TEST(heads_are_signed_with_the_real_key),
		TEST(what_is_bent_is_refused),
		TEST(what_is_not_signed_is_refused),
		TEST(a_signature_for_another_credential_is_text),
		TEST(a_placeholder_goes_to_no_other_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
