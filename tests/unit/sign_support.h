/*
 * A guest that signs for AWS with its placeholder, and an origin that checks
 * by the real key.
 */
#ifndef TAPWARD_TESTS_UNIT_SIGN_SUPPORT_H
#define TAPWARD_TESTS_UNIT_SIGN_SUPPORT_H

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
static inline void
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

static inline int
setup(void **state)
{
	*state = fix_new(POLICY);
	fix_grant(*state, "s3.example.org", 443, "authorization");
	return 0;
}

static inline int
teardown(void **state)
{
	struct fix *f = *state;

	fix_close(f);
	fix_settle(f);
	assert_int_equal(f->gate.sign_bytes, 0);
	fix_free(f);
	return 0;
}

static inline void
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

static inline void
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
static inline void
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

/* --- what is refused --- */

/* What is around it stays. */
static inline void
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

static inline void
was_refused(struct fix *f, const char *claim, const char *detail)
{
	fix_until(f, f->record_count > 0);
	if (fix_last(f)->r.reason != REASON_CREDENTIAL_MISUSE ||
	    strcmp(fix_last(f)->detail, detail) != 0)
		fail_msg("%s: %s", claim, fix_last(f)->detail);
	assert_int_equal(f->origin_count, 0);
	fix_until(f, peer_has(&f->guest, "Tapward-Reason: credential-misuse"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
