/*
 * Canonical requests and their signatures, see sigv4.h.
 */
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/sigv4.h"
#include "wire/sigv4_query.h"
#include "wire/token.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
/* A string to sign holds nothing long but a scope. */
#define TEXT_SIZE 512
/* SHA-256 of nothing. */
#define EMPTY_DIGEST                                                           \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static bool
signs_path_as_it_is(const char *service)
{
	return strcmp(service, "s3") == 0 ||
	    strcmp(service, "s3-object-lambda") == 0 ||
	    strcmp(service, "s3-outposts") == 0;
}

size_t
sigv4_canonical_room(const struct sigv4_subject *s)
{
	size_t names = strlen(s->names);
	size_t room = 64 + s->method.len + 3 * s->path.len + s->query.len +
	    SIGV4_PARAMETERS_MAX + strlen(s->host) + 2 * names +
	    (size_t)2 * SIGV4_NAMES_MAX + s->payload.len;

	for (size_t i = 0; i < s->fields->count; i++)
		room += s->fields->at[i].value.len + 2;
	return room;
}

/* Without blanks around it, and with one for each run of them. */
static void
write_value(struct wr *w, struct span v)
{
	bool is_blank = false;

	v = token_trim(v);
	for (size_t i = 0; i < v.len; i++) {
		if (v.ptr[i] == ' ' || v.ptr[i] == '\t') {
			is_blank = true;
			continue;
		}
		if (is_blank)
			wr_u8(w, ' ');
		is_blank = false;
		wr_u8(w, v.ptr[i]);
	}
}

/* "name:value\n", the values of all fields of this name with commas between. */
static bool
write_field(struct wr *w, const struct sigv4_subject *s, struct span name)
{
	bool is_there = false;

	wr_bytes(w, name.ptr, name.len);
	wr_u8(w, ':');
	for (size_t i = 0; i < s->fields->count; i++) {
		const struct http_field *f = &s->fields->at[i];

		if (!span_eq_case(f->name, name))
			continue;
		if (is_there)
			wr_u8(w, ',');
		write_value(w, f->value);
		is_there = true;
	}
	if (!is_there && s->host[0] != '\0' && span_is(name, "host")) {
		wr_text(w, s->host);
		is_there = true;
	}
	wr_u8(w, '\n');
	return is_there;
}

static enum sigv4_status
write_fields(struct wr *w, const struct sigv4_subject *s)
{
	struct span rest = span_of(s->names);

	while (rest.ptr != NULL)
		if (!write_field(w, s, token_cut(&rest, ';')))
			return SIGV4_NAMES;
	return SIGV4_OK;
}

enum sigv4_status
sigv4_canonical(struct wr *w, const struct sigv4_subject *s)
{
	enum sigv4_status st;

	wr_bytes(w, s->method.ptr, s->method.len);
	wr_u8(w, '\n');
	if (signs_path_as_it_is(s->service))
		wr_bytes(w, s->path.ptr, s->path.len);
	else
		sigv4_escape(w, s->path, "/");
	wr_u8(w, '\n');
	st = sigv4_query_sort(w, s->query);
	wr_u8(w, '\n');
	if (st == SIGV4_OK)
		st = write_fields(w, s);
	wr_u8(w, '\n');
	wr_text(w, s->names);
	wr_u8(w, '\n');
	wr_bytes(w, s->payload.ptr, s->payload.len);
	return st;
}

int
sigv4_derive(struct span secret, const struct sigv4_scope *scope,
    uint8_t ret_key[DIGEST_BYTES])
{
	uint8_t key[DIGEST_BYTES];
	const struct span parts[] = { span_of(scope->date),
		span_of(scope->region), span_of(scope->service),
		span_of("aws4_request") };
	int rc = digest_hmac_after("AWS4", secret, parts[0], key);

	for (size_t i = 1; i < sizeof(parts) / sizeof(parts[0]) && rc == 0; i++)
		rc = digest_hmac((struct span){ key, sizeof(key) }, parts[i],
		    key);
	if (rc == 0)
		memcpy(ret_key, key, sizeof(key));
	digest_wipe(key, sizeof(key));
	return rc;
}

static int
digest_text(struct span s, char ret[DIGEST_HEX_SIZE])
{
	uint8_t digest[DIGEST_BYTES];
	int rc = digest_sha256(s.ptr, s.len, digest);

	if (rc == 0)
		digest_hex(digest, ret);
	return rc;
}

static int
sign_text(const uint8_t key[DIGEST_BYTES], const struct wr *text,
    char ret[DIGEST_HEX_SIZE])
{
	uint8_t mac[DIGEST_BYTES];
	int rc = wr_ok(text) ? digest_hmac((struct span){ key, DIGEST_BYTES },
				   (struct span){ text->buf, text->len }, mac)
			     : -EIO;

	if (rc == 0)
		digest_hex(mac, ret);
	return rc;
}

static void
write_scope(struct wr *w, const struct sigv4_scope *scope, const char *time)
{
	wr_fmt(w, "%s\n%s/%s/%s/aws4_request\n", time, scope->date,
	    scope->region, scope->service);
}

int
sigv4_sign(const uint8_t key[DIGEST_BYTES], const struct sigv4_scope *scope,
    const char *time, struct span canonical, char ret[DIGEST_HEX_SIZE])
{
	uint8_t buf[TEXT_SIZE];
	struct wr w = wr_init(buf, sizeof(buf));
	char digest[DIGEST_HEX_SIZE];
	int rc = digest_text(canonical, digest);

	if (rc != 0)
		return rc;
	wr_text(&w, ALGORITHM "\n");
	write_scope(&w, scope, time);
	wr_text(&w, digest);
	return sign_text(key, &w, ret);
}

int
sigv4_sign_chunk(const uint8_t key[DIGEST_BYTES],
    const struct sigv4_scope *scope, const char *time, const char *before,
    struct span data, char ret[DIGEST_HEX_SIZE])
{
	uint8_t buf[TEXT_SIZE];
	struct wr w = wr_init(buf, sizeof(buf));
	char digest[DIGEST_HEX_SIZE];
	int rc = digest_text(data, digest);

	if (rc != 0)
		return rc;
	wr_text(&w, ALGORITHM "-PAYLOAD\n");
	write_scope(&w, scope, time);
	wr_fmt(&w, "%s\n" EMPTY_DIGEST "\n%s", before, digest);
	return sign_text(key, &w, ret);
}

int
sigv4_placeholder_secret(const char *key_id, char ret[SIGV4_PLACEHOLDER_SIZE])
{
	uint8_t mac[DIGEST_BYTES];
	char hex[DIGEST_HEX_SIZE];
	int rc =
	    digest_hmac(span_of("tapward placeholder"), span_of(key_id), mac);

	if (rc != 0)
		return rc;
	digest_hex(mac, hex);
	memcpy(ret, hex, SIGV4_PLACEHOLDER_SIZE - 1);
	ret[SIGV4_PLACEHOLDER_SIZE - 1] = '\0';
	return 0;
}

/* "size;chunk-signature=..." without its CRLF. */
static bool
read_line(struct span line, size_t max, struct sigv4_chunk *c)
{
	struct span size = token_cut(&line, ';');
	struct span name = token_cut(&line, '=');
	size_t n = 0;

	if (size.len == 0 || size.len > 8 ||
	    !span_is(name, "chunk-signature") ||
	    line.len != DIGEST_HEX_SIZE - 1)
		return false;
	for (size_t i = 0; i < size.len; i++) {
		int digit = ascii_hex(size.ptr[i]);

		if (digit < 0)
			return false;
		n = n * 16 + (size_t)digit;
	}
	for (size_t i = 0; i < line.len; i++) {
		if (ascii_hex(line.ptr[i]) < 0)
			return false;
		c->signature[i] = (char)ascii_lower(line.ptr[i]);
	}
	c->signature[line.len] = '\0';
	c->size = n;
	return n <= max;
}

enum http_status
sigv4_chunk_parse(struct span so_far, size_t max, struct sigv4_chunk *ret)
{
	size_t most = so_far.len < SIGV4_CHUNK_LINE_MAX ? so_far.len
							: SIGV4_CHUNK_LINE_MAX;
	const uint8_t *lf = most == 0 ? NULL : memchr(so_far.ptr, '\n', most);
	struct sigv4_chunk c;
	size_t len;

	if (lf == NULL)
		return most < SIGV4_CHUNK_LINE_MAX ? HTTP_MORE : HTTP_CODING;
	len = (size_t)(lf - so_far.ptr);
	if (len == 0 || so_far.ptr[len - 1] != '\r' ||
	    !read_line((struct span){ so_far.ptr, len - 1 }, max, &c))
		return HTTP_CODING;
	c.line_len = len + 1;
	*ret = c;
	return HTTP_OK;
}
