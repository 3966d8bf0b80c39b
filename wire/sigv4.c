/*
 * Reading a signature, see sigv4.h.
 */
#include "wire/sigv4.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/sigv4_query.h"
#include "wire/token.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define ALGORITHM_4A "AWS4-ECDSA-P256-SHA256"
/* All parameters but the token: a list of names, and what is short. */
#define VALUES_SIZE (SIGV4_NAMES_SIZE + 1024)

const char *
sigv4_status_text(enum sigv4_status s)
{
	static const char *const texts[] = {
		[SIGV4_OK] = "it is well-formed",
		[SIGV4_NONE] = "it has no AWS signature",
		[SIGV4_VERSION_2] = "signature version 2 is not taken: "
				    "have the client use version 4",
		[SIGV4_VERSION_4A] = "signature version 4A is not taken: "
				     "have the client use version 4",
		[SIGV4_TWO] = "it has more than one AWS signature",
		[SIGV4_FORM] = "its AWS signature is malformed",
		[SIGV4_SCOPE] = "the scope of its AWS signature is malformed",
		[SIGV4_NAMES] = "the signed headers of its AWS signature are "
				"not a sorted list of what it has, with host",
		[SIGV4_TIME] = "its X-Amz-Date is missing, malformed or not "
			       "of the day that is signed for",
		[SIGV4_PAYLOAD] = "its x-amz-content-sha256 names a form that "
				  "is not taken",
		[SIGV4_EVENTS] = "signed event streams are not taken",
		[SIGV4_PARAMETERS] = "its query cannot be signed: too many "
				     "parameters, or an empty one",
	};
	static_assert(sizeof(texts) / sizeof(texts[0]) == SIGV4_STATUS_COUNT,
	    "each status has a text");

	return texts[s];
}

bool
sigv4_is_word(struct span s)
{
	if (s.len == 0 || s.len >= SIGV4_WORD_SIZE || !ascii_is_alnum(s.ptr[0]))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_alnum(s.ptr[i]) && s.ptr[i] != '-')
			return false;
	return true;
}

bool
sigv4_is_key_id(struct span s)
{
	if (s.len < 16 || s.len >= SIGV4_KEY_ID_SIZE)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_alnum(s.ptr[i]) && s.ptr[i] != '_')
			return false;
	return true;
}

static bool
is_digits(struct span s, size_t count)
{
	if (s.len != count)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (!ascii_is_digit(s.ptr[i]))
			return false;
	return true;
}

/* 64 digits in lower case, as all SDKs write them. */
static bool
is_digest(struct span s)
{
	if (s.len != DIGEST_HEX_SIZE - 1)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (ascii_hex(s.ptr[i]) < 0 ||
		    ascii_lower(s.ptr[i]) != s.ptr[i])
			return false;
	return true;
}

/* s fits, as was checked. */
static void
copy(char *to, size_t size, struct span s)
{
	assert(s.len < size);
	if (s.len > 0)
		memcpy(to, s.ptr, s.len);
	to[s.len] = '\0';
}

static enum sigv4_status
take_scope(struct span credential, struct sigv4 *s)
{
	struct span key = token_cut(&credential, '/');
	struct span date = token_cut(&credential, '/');
	struct span region = token_cut(&credential, '/');
	struct span service = token_cut(&credential, '/');

	if (!sigv4_is_key_id(key) || !is_digits(date, SIGV4_DATE_SIZE - 1) ||
	    !sigv4_is_word(region) || !sigv4_is_word(service) ||
	    !span_is(credential, "aws4_request"))
		return SIGV4_SCOPE;
	copy(s->key_id, sizeof(s->key_id), key);
	copy(s->scope.date, sizeof(s->scope.date), date);
	copy(s->scope.region, sizeof(s->scope.region), region);
	copy(s->scope.service, sizeof(s->scope.service), service);
	return SIGV4_OK;
}

static bool
is_signed_name(struct span s)
{
	if (!token_is(s))
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (ascii_lower(s.ptr[i]) != s.ptr[i])
			return false;
	return true;
}

static bool
is_before(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int d = n == 0 ? 0 : memcmp(a.ptr, b.ptr, n);

	return d < 0 || (d == 0 && a.len < b.len);
}

static enum sigv4_status
take_names(struct span names, struct sigv4 *s)
{
	struct span rest = names, before = { NULL, 0 };
	bool has_host = false;
	size_t count = 0;

	if (names.len == 0 || names.len >= sizeof(s->names))
		return SIGV4_NAMES;
	do {
		struct span name = token_cut(&rest, ';');

		if (!is_signed_name(name) || !is_before(before, name) ||
		    ++count > SIGV4_NAMES_MAX)
			return SIGV4_NAMES;
		has_host = has_host || span_is(name, "host");
		before = name;
	} while (rest.ptr != NULL);
	if (!has_host)
		return SIGV4_NAMES;
	copy(s->names, sizeof(s->names), names);
	return SIGV4_OK;
}

static enum sigv4_status
take_time(struct span time, struct sigv4 *s)
{
	if (time.len != SIGV4_TIME_SIZE - 1 || time.ptr[8] != 'T' ||
	    time.ptr[15] != 'Z' ||
	    !is_digits((struct span){ time.ptr, 8 }, 8) ||
	    !is_digits((struct span){ time.ptr + 9, 6 }, 6) ||
	    !span_is((struct span){ time.ptr, 8 }, s->scope.date))
		return SIGV4_TIME;
	copy(s->time, sizeof(s->time), time);
	return SIGV4_OK;
}

static enum sigv4_status
take_signature(struct span signature, struct sigv4 *s)
{
	if (!is_digest(signature))
		return SIGV4_FORM;
	copy(s->signature, sizeof(s->signature), signature);
	return SIGV4_OK;
}

static bool
is_s3(const char *service)
{
	return strcmp(service, "s3") == 0 ||
	    strcmp(service, "s3-object-lambda") == 0 ||
	    strcmp(service, "s3-outposts") == 0;
}

/* What is told of the payload; empty: nothing is. */
static enum sigv4_status
take_payload(struct span told, struct sigv4 *s)
{
	s->payload = SIGV4_PAYLOAD_TOLD;
	if (told.len == 0 && s->form == SIGV4_QUERY && is_s3(s->scope.service))
		told = span_of(SIGV4_UNSIGNED_TEXT);
	if (told.len == 0)
		s->payload = SIGV4_PAYLOAD_BODY;
	else if (span_is(told, SIGV4_CHUNKS_TEXT))
		s->payload = SIGV4_PAYLOAD_CHUNKS;
	else if (span_is(told, "STREAMING-AWS4-HMAC-SHA256-EVENTS"))
		return SIGV4_EVENTS;
	else if (!span_is(told, SIGV4_UNSIGNED_TEXT) &&
	    !span_is(told, "STREAMING-UNSIGNED-PAYLOAD-TRAILER") &&
	    !is_digest(told))
		return SIGV4_PAYLOAD;
	if (s->payload == SIGV4_PAYLOAD_CHUNKS && s->form == SIGV4_QUERY)
		return SIGV4_PAYLOAD;
	copy(s->payload_text, sizeof(s->payload_text), told);
	return SIGV4_OK;
}

/* The value of the one field of this name; empty without. False: two. */
static bool
only_field(const struct http_request *req, const char *name, struct span *ret)
{
	const struct http_field *f = http_field_find(&req->fields, name, 0);

	*ret = f == NULL ? (struct span){ NULL, 0 } : f->value;
	return f == NULL || http_field_find(&req->fields, name, 1) == NULL;
}

/* The parts of the Authorization field, each once, in any order. */
static enum sigv4_status
read_parts(struct span value, struct span parts[3])
{
	static const char *const names[3] = { "Credential", "SignedHeaders",
		"Signature" };

	memset(parts, 0, 3 * sizeof(parts[0]));
	do {
		struct span part = token_trim(token_cut(&value, ','));
		struct span name = token_cut(&part, '=');
		size_t i = 0;

		while (i < 3 && !span_is(name, names[i]))
			i++;
		if (i == 3 || parts[i].len > 0 || part.len == 0)
			return SIGV4_FORM;
		parts[i] = part;
	} while (value.ptr != NULL);
	return parts[0].len > 0 && parts[1].len > 0 && parts[2].len > 0
	    ? SIGV4_OK
	    : SIGV4_FORM;
}

static enum sigv4_status
take_all(struct sigv4 *s, const struct span parts[3], struct span time,
    struct span told)
{
	enum sigv4_status st = take_scope(parts[0], s);

	if (st == SIGV4_OK)
		st = take_names(parts[1], s);
	if (st == SIGV4_OK)
		st = take_signature(parts[2], s);
	if (st == SIGV4_OK)
		st = take_time(time, s);
	return st == SIGV4_OK ? take_payload(told, s) : st;
}

static enum sigv4_status
parse_header(const struct http_request *req, struct span value, struct sigv4 *s)
{
	struct span parts[3], time, told;
	enum sigv4_status st = read_parts(value, parts);

	if (st != SIGV4_OK)
		return st;
	if (!only_field(req, "x-amz-date", &time))
		return SIGV4_TIME;
	if (!only_field(req, "x-amz-content-sha256", &told))
		return SIGV4_PAYLOAD;
	s->form = SIGV4_HEADER;
	return take_all(s, parts, time, told);
}

static bool
expires_is_sound(struct span s)
{
	uint64_t seconds;

	return token_decimal(s, SIGV4_EXPIRES_MAX_S, &seconds) && seconds > 0;
}

static enum sigv4_status
parse_query(const struct http_request *req, const struct sigv4_query *q,
    struct sigv4 *s)
{
	uint8_t text[VALUES_SIZE];
	struct wr w = wr_init(text, sizeof(text));
	struct span value[SIGV4_PARAMETER_COUNT], parts[3], told;

	for (size_t i = 0; i < SIGV4_PARAMETER_COUNT; i++) {
		size_t at = w.len;

		/* A token is replaced, whatever it is, and may be long. */
		if (i != SIGV4_PARAMETER_TOKEN &&
		    !sigv4_unescape(&w, q->value[i]))
			return SIGV4_FORM;
		value[i] = (struct span){ text + at, w.len - at };
	}
	if (span_is(value[SIGV4_PARAMETER_ALGORITHM], ALGORITHM_4A))
		return SIGV4_VERSION_4A;
	if (!span_is(value[SIGV4_PARAMETER_ALGORITHM], ALGORITHM))
		return SIGV4_FORM;
	if (!expires_is_sound(value[SIGV4_PARAMETER_EXPIRES]))
		return SIGV4_FORM;
	if (!only_field(req, "x-amz-content-sha256", &told))
		return SIGV4_PAYLOAD;
	if (told.len > 0 && value[SIGV4_PARAMETER_CONTENT].len > 0)
		return SIGV4_PAYLOAD;
	if (told.len == 0)
		told = value[SIGV4_PARAMETER_CONTENT];
	parts[0] = value[SIGV4_PARAMETER_CREDENTIAL];
	parts[1] = value[SIGV4_PARAMETER_NAMES];
	parts[2] = value[SIGV4_PARAMETER_SIGNATURE];
	s->form = SIGV4_QUERY;
	return take_all(s, parts, value[SIGV4_PARAMETER_DATE], told);
}

static bool
begins(struct span s, const char *scheme)
{
	size_t n = strlen(scheme);

	return s.len > n && s.ptr[n] == ' ' &&
	    span_is_case((struct span){ s.ptr, n }, scheme);
}

static enum sigv4_status
parse(const struct http_request *req, struct sigv4 *s)
{
	struct span field, query = { NULL, 0 };
	struct sigv4_query q;
	enum sigv4_status st;

	if (!only_field(req, "authorization", &field))
		return SIGV4_TWO;
	if (req->has_query)
		query = req->query;
	st = sigv4_query_read(query, &q);
	if (st != SIGV4_OK)
		return st;
	if (q.is_version_2 || begins(field, "AWS"))
		return SIGV4_VERSION_2;
	if (begins(field, ALGORITHM_4A))
		return SIGV4_VERSION_4A;
	if (!begins(field, ALGORITHM))
		return q.is_signed ? parse_query(req, &q, s) : SIGV4_NONE;
	if (q.is_signed)
		return SIGV4_TWO;
	field.ptr += strlen(ALGORITHM) + 1;
	field.len -= strlen(ALGORITHM) + 1;
	return parse_header(req, field, s);
}

enum sigv4_status
sigv4_parse(const struct http_request *req, struct sigv4 *ret)
{
	struct sigv4 s;
	enum sigv4_status st;

	memset(&s, 0, sizeof(s));
	st = parse(req, &s);
	if (st == SIGV4_OK)
		*ret = s;
	return st;
}
