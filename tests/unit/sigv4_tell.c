/*
 * For tests/check/sigv4: reads the head of a request from its input, and says
 * what wire/sigv4.h makes of it, so that another implementation can be held
 * against it. Arguments: the secret key, the digest of the body in hexadecimal.
 */
#include <stdio.h>

#include "wire/sigv4.h"

static uint8_t head[HTTP_HEAD_MAX_BYTES], canonical[4 * HTTP_HEAD_MAX_BYTES];

static int
tell(const struct http_request *req, const struct sigv4 *s, const char *secret,
    const char *body)
{
	struct wr w = wr_init(canonical, sizeof(canonical));
	uint8_t key[DIGEST_BYTES];
	char signature[DIGEST_HEX_SIZE];
	struct sigv4_subject subject = { .service = s->scope.service,
		.method = req->method,
		.path = req->path,
		.query = req->query,
		.fields = &req->fields,
		.host = "",
		.names = s->names,
		.payload = span_of(s->payload == SIGV4_PAYLOAD_BODY
			? body
			: s->payload_text) };
	enum sigv4_status st = sigv4_canonical(&w, &subject);

	if (st != SIGV4_OK || !wr_ok(&w)) {
		(void)printf("canonical: %s\n", sigv4_status_text(st));
		return 1;
	}
	if (sigv4_derive(span_of(secret), &s->scope, key) != 0 ||
	    sigv4_sign(key, &s->scope, s->time,
		(struct span){ canonical, w.len }, signature) != 0)
		return 1;
	(void)printf("%s %s %s %s %s %s\n", s->key_id, s->scope.date,
	    s->scope.region, s->scope.service, s->signature, signature);
	(void)printf("%.*s", (int)w.len, (const char *)canonical);
	return 0;
}

int
main(int argc, char **argv)
{
	size_t len = fread(head, 1, sizeof(head), stdin);
	struct http_request req;
	struct sigv4 s;
	enum http_status hs;
	enum sigv4_status st;

	if (argc != 3)
		return 2;
	hs = http_request_parse((struct span){ head, len }, &req);
	if (hs != HTTP_OK) {
		(void)printf("head: %s\n", http_status_text(hs));
		return 1;
	}
	st = sigv4_parse(&req, &s);
	if (st != SIGV4_OK) {
		(void)printf("signature: %s\n", sigv4_status_text(st));
		return 1;
	}
	return tell(&req, &s, argv[1], argv[2]);
}
