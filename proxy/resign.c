/*
 * Signing anew, see resign.h.
 */
#include "proxy/resign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "wire/token.h"

#define DATE_FIELD "x-amz-date"
#define TOKEN_FIELD "x-amz-security-token"

/* --- the key --- */

static bool
copy(char *to, size_t size, struct span s)
{
	if (s.len == 0 || s.len >= size)
		return false;
	memcpy(to, s.ptr, s.len);
	to[s.len] = '\0';
	return true;
}

static bool
take_hex(struct span s, uint8_t ret[DIGEST_BYTES])
{
	if (s.len != DIGEST_HEX_SIZE - 1)
		return false;
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		int high = ascii_hex(s.ptr[2 * i]);
		int low = ascii_hex(s.ptr[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret[i] = (uint8_t)(high * 16 + low);
	}
	return true;
}

bool
resign_key_parse(struct span value, struct resign_key *ret)
{
	struct span id = token_cut(&value, ' ');
	struct span date = token_cut(&value, ' ');
	struct span region = token_cut(&value, ' ');
	struct span service = token_cut(&value, ' ');
	struct span key = token_cut(&value, ' ');

	memset(ret, 0, sizeof(*ret));
	ret->token = value;
	if (sigv4_is_key_id(id) && date.len == SIGV4_DATE_SIZE - 1 &&
	    sigv4_is_word(region) && sigv4_is_word(service) &&
	    copy(ret->key_id, sizeof(ret->key_id), id) &&
	    copy(ret->scope.date, sizeof(ret->scope.date), date) &&
	    copy(ret->scope.region, sizeof(ret->scope.region), region) &&
	    copy(ret->scope.service, sizeof(ret->scope.service), service) &&
	    take_hex(key, ret->key))
		return true;
	resign_key_wipe(ret);
	return false;
}

void
resign_key_wipe(struct resign_key *k)
{
	secret_wipe(k, sizeof(*k));
}

/* --- what the guest has signed --- */

/* As it was written, since that is what was signed. */
static void
write_authority(const struct http_request *req, char *buf, size_t size)
{
	if (req->authority.has_port)
		(void)snprintf(buf, size, "%s:%u", req->authority.host,
		    (unsigned int)req->authority.port);
	else
		(void)snprintf(buf, size, "%s", req->authority.host);
}

static int
keep_canonical(struct resign *r, const struct http_request *req)
{
	char host[HOST_SIZE + 8];
	const struct sigv4_subject subject = {
		.service = r->guest.scope.service,
		.method = req->method,
		.path = req->path,
		.query = req->has_query ? req->query : (struct span){ NULL, 0 },
		.fields = &req->fields,
		.host = host,
		.names = r->guest.names,
	};
	struct wr w;

	write_authority(req, host, sizeof(host));
	w = buf_write(&r->canonical, sigv4_canonical_room(&subject));
	r->status = sigv4_canonical(&w, &subject);
	return r->status == SIGV4_OK ? buf_write_end(&r->canonical, &w) : 0;
}

int
resign_new(const struct http_request *req, struct resign **ret)
{
	struct sigv4 guest;
	enum sigv4_status status = sigv4_parse(req, &guest);
	struct resign *r = NULL;
	int rc = 0;

	*ret = NULL;
	if (status == SIGV4_NONE)
		return 0;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	r->status = status;
	if (status == SIGV4_OK) {
		r->guest = guest;
		rc = keep_canonical(r, req);
	}
	if (rc != 0)
		resign_free(r);
	else
		*ret = r;
	return rc;
}

void
resign_free(struct resign *r)
{
	if (r == NULL)
		return;
	buf_done(&r->canonical);
	buf_done(&r->held);
	free(r);
}

bool
resign_wants_body(const struct resign *r)
{
	return r->status == SIGV4_OK && r->guest.payload == SIGV4_PAYLOAD_BODY;
}

/* The last line of the canonical request. */
static int
payload_text(const struct resign *r, char ret[DIGEST_HEX_SIZE])
{
	uint8_t digest[DIGEST_BYTES];
	struct span body = buf_span(&r->held);
	int rc;

	if (r->guest.payload != SIGV4_PAYLOAD_BODY) {
		memcpy(ret, r->guest.payload_text, DIGEST_HEX_SIZE);
		return 0;
	}
	rc = digest_sha256(body.ptr, body.len, digest);
	if (rc == 0)
		digest_hex(digest, ret);
	return rc;
}

static int
placeholder_key(const struct resign *r, uint8_t ret[DIGEST_BYTES])
{
	char secret[SIGV4_PLACEHOLDER_SIZE];
	int rc = sigv4_placeholder_secret(r->guest.key_id, secret);

	return rc == 0 ? sigv4_derive(span_of(secret), &r->guest.scope, ret)
		       : rc;
}

static bool
is_same(const char a[DIGEST_HEX_SIZE], const char b[DIGEST_HEX_SIZE])
{
	return CRYPTO_memcmp(a, b, DIGEST_HEX_SIZE - 1) == 0;
}

bool
resign_is_sound(const struct resign *r)
{
	struct buf whole = { .len = 0 };
	char payload[DIGEST_HEX_SIZE], signature[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES];
	int rc = payload_text(r, payload);

	if (rc == 0)
		rc = placeholder_key(r, key);
	if (rc == 0)
		rc = buf_append(&whole, buf_span(&r->canonical));
	if (rc == 0)
		rc = buf_append(&whole, span_of(payload));
	if (rc == 0)
		rc = sigv4_sign(key, &r->guest.scope, r->guest.time,
		    buf_span(&whole), signature);
	buf_done(&whole);
	return rc == 0 && is_same(signature, r->guest.signature);
}

/* --- signing --- */

static bool
has_field(const struct http_fields *f, struct span name)
{
	for (size_t i = 0; i < f->count; i++)
		if (span_eq_case(f->at[i].name, name))
			return true;
	return false;
}

static void
add_field(struct http_fields *f, const char *name, struct span value)
{
	if (f->count < HTTP_FIELDS_MAX)
		f->at[f->count++] = (struct http_field){ span_of(name), value };
}

static int
compare_names(const void *a, const void *b)
{
	const struct span *x = a, *y = b;
	size_t n = x->len < y->len ? x->len : y->len;
	int d = memcmp(x->ptr, y->ptr, n);

	return d != 0 ? d : (x->len > y->len) - (x->len < y->len);
}

/*
 * What the guest signed, as far as it goes out, and what is ours. False when
 * there are too many.
 */
static bool
write_names(const struct resign *r, const struct http_fields *f, bool in_query,
    char ret[SIGV4_NAMES_SIZE])
{
	static const char *const ours[] = { DATE_FIELD, TOKEN_FIELD };
	struct span all[SIGV4_NAMES_MAX + 2], rest = span_of(r->guest.names);
	struct wr w = wr_init(ret, SIGV4_NAMES_SIZE - 1);
	size_t count = 0;

	while (rest.ptr != NULL) {
		struct span name = token_cut(&rest, ';');

		if (has_field(f, name) && !span_is(name, DATE_FIELD) &&
		    !span_is(name, TOKEN_FIELD))
			all[count++] = name;
	}
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (!in_query && has_field(f, span_of(ours[i])))
			all[count++] = span_of(ours[i]);
	qsort(all, count, sizeof(all[0]), compare_names);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			wr_u8(&w, ';');
		wr_bytes(&w, all[i].ptr, all[i].len);
	}
	if (!wr_ok(&w))
		return false;
	ret[w.len] = '\0';
	return true;
}

/* 20261130T235959Z, of our clock; of the key's day, which may just be over. */
static void
write_time(struct resign *r, const struct sigv4_scope *scope, uint64_t wall_ms)
{
	struct wr w = wr_init(r->time, sizeof(r->time));
	char text[CLOCK_TEXT_SIZE];

	/* Of "2026-11-30T23:59:59.123Z" what is before the fraction. */
	(void)clock_text(wall_ms, text);
	for (const char *p = text; *p != '.'; p++)
		if (*p != '-' && *p != ':')
			wr_u8(&w, (uint8_t)*p);
	wr_bytes(&w, "Z", 2);
	if (memcmp(r->time, scope->date, SIGV4_DATE_SIZE - 1) != 0)
		(void)snprintf(r->time, sizeof(r->time), "%sT235959Z",
		    scope->date);
}

#define CREDENTIAL_SIZE (SIGV4_KEY_ID_SIZE + 2 * SIGV4_WORD_SIZE + 32)

static void
write_credential(const struct resign_key *k, char ret[CREDENTIAL_SIZE])
{
	(void)snprintf(ret, CREDENTIAL_SIZE, "%s/%s/%s/%s/aws4_request",
	    k->key_id, k->scope.date, k->scope.region, k->scope.service);
}

/* The request is whole but for the signature: makes it. */
static int
sign(struct resign *r, const struct resign_key *k,
    const struct resign_request *req, struct span query, const char *names)
{
	struct buf canonical = { .is_secret = true };
	char payload[DIGEST_HEX_SIZE];
	struct sigv4_subject s = { .service = k->scope.service,
		.method = req->method,
		.path = req->path,
		.query = query,
		.fields = req->fields,
		.host = "",
		.names = names };
	int rc = payload_text(r, payload);
	struct wr w;

	if (rc != 0)
		return rc;
	s.payload = span_of(payload);
	w = buf_write(&canonical, sigv4_canonical_room(&s));
	if (sigv4_canonical(&w, &s) != SIGV4_OK)
		rc = -EMSGSIZE;
	else
		rc = buf_write_end(&canonical, &w);
	if (rc == 0)
		rc = sigv4_sign(k->key, &k->scope, r->time,
		    buf_span(&canonical), r->before);
	buf_done(&canonical);
	return rc;
}

static int
sign_header(struct resign *r, const struct resign_key *k,
    const struct resign_request *req, struct secret *ret_lines)
{
	AUTO_SECRET struct secret room = SECRET_NONE;
	char names[SIGV4_NAMES_SIZE], credential[CREDENTIAL_SIZE];
	struct wr w;
	int rc;

	add_field(req->fields, DATE_FIELD, span_of(r->time));
	if (k->token.len > 0)
		add_field(req->fields, TOKEN_FIELD, k->token);
	if (!write_names(r, req->fields, false, names))
		return -EMSGSIZE;
	rc = sign(r, k, req, req->query, names);
	if (rc == 0)
		rc = secret_alloc(&room,
		    k->token.len + sizeof(names) + CREDENTIAL_SIZE + 512);
	if (rc != 0)
		return rc;
	write_credential(k, credential);
	w = wr_init(room.ptr, room.len);
	wr_fmt(&w, "%s: %s\r\n", DATE_FIELD, r->time);
	wr_fmt(&w,
	    "authorization: AWS4-HMAC-SHA256 Credential=%s, "
	    "SignedHeaders=%s, Signature=%s\r\n",
	    credential, names, r->before);
	if (k->token.len > 0) {
		wr_text(&w, TOKEN_FIELD ": ");
		wr_bytes(&w, k->token.ptr, k->token.len);
		wr_text(&w, "\r\n");
	}
	return wr_ok(&w) ? secret_set(ret_lines, room.ptr, w.len) : -EMSGSIZE;
}

static int
write_query(struct buf *to, struct span query,
    const struct span value[SIGV4_PARAMETER_COUNT], size_t room)
{
	struct wr w;

	buf_done(to);
	to->is_secret = true;
	w = buf_write(to, room);
	if (!sigv4_query_write(&w, query, value))
		return -EMSGSIZE;
	return buf_write_end(to, &w);
}

#define EXPIRES_SIZE 24

static void
write_expires(struct span query, char ret[EXPIRES_SIZE])
{
	struct sigv4_query q;
	uint64_t seconds = RESIGN_EXPIRES_MAX_S;

	if (sigv4_query_read(query, &q) == SIGV4_OK)
		(void)token_decimal(q.value[SIGV4_PARAMETER_EXPIRES],
		    RESIGN_EXPIRES_MAX_S, &seconds);
	(void)snprintf(ret, EXPIRES_SIZE, "%llu", (unsigned long long)seconds);
}

static int
sign_query(struct resign *r, const struct resign_key *k,
    const struct resign_request *req, struct buf *query)
{
	char names[SIGV4_NAMES_SIZE], credential[CREDENTIAL_SIZE],
	    expires[EXPIRES_SIZE];
	struct span value[SIGV4_PARAMETER_COUNT];
	struct sigv4_query guest;
	size_t room = req->query.len + 3 * (k->token.len + sizeof(names)) +
	    (size_t)2 * CREDENTIAL_SIZE + 512;
	int rc;

	if (!write_names(r, req->fields, true, names))
		return -EMSGSIZE;
	memset(value, 0, sizeof(value));
	write_credential(k, credential);
	write_expires(req->query, expires);
	value[SIGV4_PARAMETER_ALGORITHM] = span_of("AWS4-HMAC-SHA256");
	value[SIGV4_PARAMETER_CREDENTIAL] = span_of(credential);
	value[SIGV4_PARAMETER_DATE] = span_of(r->time);
	value[SIGV4_PARAMETER_EXPIRES] = span_of(expires);
	value[SIGV4_PARAMETER_NAMES] = span_of(names);
	if (sigv4_query_read(req->query, &guest) == SIGV4_OK &&
	    guest.value[SIGV4_PARAMETER_CONTENT].ptr != NULL)
		value[SIGV4_PARAMETER_CONTENT] = span_of(r->guest.payload_text);
	if (k->token.len > 0)
		value[SIGV4_PARAMETER_TOKEN] = k->token;
	rc = write_query(query, req->query, value, room);
	if (rc == 0)
		rc = sign(r, k, req, buf_span(query), names);
	if (rc != 0)
		return rc;
	value[SIGV4_PARAMETER_SIGNATURE] = span_of(r->before);
	return write_query(query, req->query, value, room);
}

int
resign_sign(struct resign *r, const struct resign_key *k,
    const struct resign_request *req, struct secret *ret_lines,
    struct buf *query)
{
	if (req->fields->count + 2 > HTTP_FIELDS_MAX)
		return -EMSGSIZE;
	write_time(r, &k->scope, req->wall_ms);
	memcpy(r->guest_before, r->guest.signature, sizeof(r->guest_before));
	secret_done(ret_lines);
	return r->guest.form == SIGV4_HEADER ? sign_header(r, k, req, ret_lines)
					     : sign_query(r, k, req, query);
}

/* --- chunks --- */

/* How many bytes to take next: up to the end of the line, then of the chunk. */
static size_t
want(struct resign *r, const char **ret_fault)
{
	struct sigv4_chunk c;
	enum http_status st = HTTP_OK;

	if (r->is_whole) {
		*ret_fault = "bytes behind the last signed chunk";
		return 0;
	}
	if (r->chunk_len == 0)
		st = sigv4_chunk_parse(buf_span(&r->held),
		    RESIGN_CHUNK_MAX_BYTES, &c);
	if (st == HTTP_MORE)
		return 1;
	if (st != HTTP_OK) {
		*ret_fault = "a signed chunk is malformed, or over 1 MiB";
		return 0;
	}
	if (r->chunk_len == 0) {
		r->is_chunk_last = c.size == 0;
		r->chunk_len = c.line_len + c.size + 2;
	}
	return r->chunk_len - r->held.len;
}

/* The chunk is whole: checks what the guest signed, and writes ours over it. */
static const char *
sign_chunk(struct resign *r, const struct resign_key *k)
{
	struct span all = buf_span(&r->held), data;
	char mine[DIGEST_HEX_SIZE], theirs[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES];
	struct sigv4_chunk c;

	if (sigv4_chunk_parse(all, RESIGN_CHUNK_MAX_BYTES, &c) != HTTP_OK ||
	    !span_is((struct span){ all.ptr + all.len - 2, 2 }, "\r\n"))
		return "a signed chunk does not end where it should";
	data = (struct span){ all.ptr + c.line_len, c.size };
	if (placeholder_key(r, key) != 0 ||
	    sigv4_sign_chunk(key, &r->guest.scope, r->guest.time,
		r->guest_before, data, theirs) != 0 ||
	    sigv4_sign_chunk(k->key, &k->scope, r->time, r->before, data,
		mine) != 0)
		return "a signed chunk cannot be signed";
	if (!is_same(theirs, c.signature))
		return "a chunk's signature does not fit the placeholder's "
		       "key";
	memcpy(r->guest_before, theirs, sizeof(theirs));
	memcpy(r->before, mine, sizeof(mine));
	/* It is as long as the guest's, and stands before the line's CRLF. */
	memcpy(r->held.ptr + r->held.at + c.line_len - 2 -
		(DIGEST_HEX_SIZE - 1),
	    mine, DIGEST_HEX_SIZE - 1);
	r->is_chunk_signed = true;
	r->is_whole = r->is_chunk_last;
	r->chunk_len = 0;
	return NULL;
}

size_t
resign_take(struct resign *r, const struct resign_key *k, struct span data,
    const char **ret_fault)
{
	size_t taken = 0;

	*ret_fault = NULL;
	while (!r->is_chunk_signed && taken < data.len) {
		size_t len = want(r, ret_fault);

		if (*ret_fault != NULL)
			break;
		if (len > data.len - taken)
			len = data.len - taken;
		if (buf_append(&r->held,
			(struct span){ data.ptr + taken, len }) != 0) {
			*ret_fault = "out of memory";
			break;
		}
		taken += len;
		if (r->chunk_len == r->held.len) {
			*ret_fault = sign_chunk(r, k);
			if (*ret_fault != NULL)
				break;
		}
	}
	return taken;
}
