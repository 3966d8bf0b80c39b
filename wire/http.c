/*
 * Names: which fields and methods mean something to us.
 */
#include "wire/http.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/token.h"

enum {
	NAME_HOP = 1 << 0,       /* of one connection (RFC 9110 7.6.1) */
	NAME_OWN = 1 << 1,       /* the writer sets it itself */
	NAME_PROTECTED = 1 << 2, /* Connection cannot have it removed */
	NAME_TARGET = 1 << 3, /* names another host or path than the request */
	NAME_METHOD = 1 << 4, /* names another method */
};

/*
 * Names that a message's framing, its host, a credential or a verdict hangs
 * on. Each is reserved: no alias of it is let through.
 */
static const struct {
	struct span name;
	unsigned int flags;
} name_rows[] = {
	{ SPAN("Connection"), NAME_HOP },
	{ SPAN("Keep-Alive"), NAME_HOP },
	{ SPAN("Proxy-Authenticate"), NAME_HOP },
	{ SPAN("Proxy-Authentication-Info"), NAME_HOP },
	{ SPAN("Proxy-Authorization"), NAME_HOP },
	{ SPAN("Proxy-Connection"), NAME_HOP },
	{ SPAN("TE"), NAME_HOP },
	{ SPAN("Trailer"), NAME_HOP },
	{ SPAN("Transfer-Encoding"), NAME_HOP },
	{ SPAN("Upgrade"), NAME_HOP },
	{ SPAN("HTTP2-Settings"), NAME_HOP },

	{ SPAN("Host"), NAME_OWN },
	{ SPAN("Content-Length"), NAME_OWN },
	{ SPAN("Expect"), NAME_OWN },

	{ SPAN("Authorization"), NAME_PROTECTED },
	{ SPAN("Cookie"), NAME_PROTECTED },
	{ SPAN("Set-Cookie"), NAME_PROTECTED },
	{ SPAN("X-Api-Key"), NAME_PROTECTED },
	{ SPAN("Api-Key"), NAME_PROTECTED },
	{ SPAN("X-Auth-Token"), NAME_PROTECTED },
	{ SPAN("X-Vault-Token"), NAME_PROTECTED },
	{ SPAN("X-Amz-Security-Token"), NAME_PROTECTED },
	{ SPAN("X-Goog-Api-Key"), NAME_PROTECTED },
	{ SPAN("Private-Token"), NAME_PROTECTED },
	{ SPAN("Job-Token"), NAME_PROTECTED },
	{ SPAN("Deploy-Token"), NAME_PROTECTED },
	{ SPAN("X-Forwarded-For"), NAME_PROTECTED },
	{ SPAN("X-Forwarded-Proto"), NAME_PROTECTED },
	{ SPAN("Content-Encoding"), NAME_PROTECTED },
	{ SPAN("Content-Type"), NAME_PROTECTED },
	{ SPAN("Content-Range"), NAME_PROTECTED },
	{ SPAN("Range"), NAME_PROTECTED },
	{ SPAN("Accept-Encoding"), NAME_PROTECTED },
	{ SPAN("Cache-Control"), NAME_PROTECTED },
	{ SPAN("Vary"), NAME_PROTECTED },
	{ SPAN("Location"), NAME_PROTECTED },
	{ SPAN("WWW-Authenticate"), NAME_PROTECTED },
	{ SPAN("Date"), NAME_PROTECTED },
	{ SPAN("Sec-WebSocket-Accept"), NAME_PROTECTED },
	{ SPAN("Sec-WebSocket-Extensions"), NAME_PROTECTED },
	{ SPAN("Sec-WebSocket-Key"), NAME_PROTECTED },
	{ SPAN("Sec-WebSocket-Protocol"), NAME_PROTECTED },
	{ SPAN("Sec-WebSocket-Version"), NAME_PROTECTED },

	/* RFC 7239, and what servers behind others look at first. */
	{ SPAN("Forwarded"), NAME_TARGET },
	{ SPAN("X-Forwarded-Host"), NAME_TARGET },
	{ SPAN("X-Forwarded-Server"), NAME_TARGET },
	{ SPAN("X-Forwarded-Path"), NAME_TARGET },
	{ SPAN("X-Forwarded-Prefix"), NAME_TARGET },
	{ SPAN("X-Forwarded-Uri"), NAME_TARGET },
	{ SPAN("X-Host"), NAME_TARGET },
	{ SPAN("X-HTTP-Host-Override"), NAME_TARGET },
	{ SPAN("X-Original-Host"), NAME_TARGET },
	{ SPAN("X-Original-Uri"), NAME_TARGET },
	{ SPAN("X-Original-Url"), NAME_TARGET },
	{ SPAN("X-Rewrite-Url"), NAME_TARGET },
	/* By which a guest names the next proxy (smokescreen). */
	{ SPAN("X-Upstream-Https-Proxy"), NAME_TARGET },

	{ SPAN("X-HTTP-Method"), NAME_METHOD | NAME_PROTECTED },
	{ SPAN("X-HTTP-Method-Override"), NAME_METHOD | NAME_PROTECTED },
	{ SPAN("X-Method-Override"), NAME_METHOD | NAME_PROTECTED },
};

#define NAME_ROWS (sizeof(name_rows) / sizeof(name_rows[0]))
/* Longest of them. */
#define NAME_LEN_MAX 25

static_assert(NAME_ROWS <= UINT8_MAX, "a row's number fits");

/*
 * The rows by the length of their names: a head has many fields, most of none
 * of these names, and two of the same length are few.
 */
struct name_index {
	bool is_made;
	uint8_t begin[NAME_LEN_MAX + 2]; /* in rows, of each length */
	uint8_t rows[NAME_ROWS];
};

static void
make_index(struct name_index *x)
{
	uint8_t at = 0;

	for (size_t len = 0; len <= NAME_LEN_MAX; len++) {
		x->begin[len] = at;
		for (size_t i = 0; i < NAME_ROWS; i++)
			if (name_rows[i].name.len == len)
				x->rows[at++] = (uint8_t)i;
	}
	x->begin[NAME_LEN_MAX + 1] = at;
	assert(at == NAME_ROWS);
	x->is_made = true;
}

static unsigned int
flags_of(struct span name)
{
	static struct name_index x;

	if (!x.is_made)
		make_index(&x);
	if (name.len > NAME_LEN_MAX)
		return 0;
	for (size_t k = x.begin[name.len]; k < x.begin[name.len + 1]; k++)
		if (span_eq_case(name, name_rows[x.rows[k]].name))
			return name_rows[x.rows[k]].flags;
	return 0;
}

/* As '-', in lower case. */
static uint8_t
plain(uint8_t c)
{
	return c == '_' ? '-' : ascii_lower(c);
}

bool
http_bytes_alias(const uint8_t *name, const uint8_t *of, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (plain(name[i]) != plain(of[i]))
			return false;
	return true;
}

bool
http_name_is_reserved(struct span name)
{
	for (size_t i = 0; i < NAME_ROWS; i++)
		if (http_name_aliases(name, name_rows[i].name))
			return true;
	return false;
}

bool
http_name_is_bent(struct span name)
{
	return name.len > 0 && memchr(name.ptr, '_', name.len) != NULL &&
	    http_name_is_reserved(name);
}

static const struct {
	struct span name;
	enum http_method method;
} methods[] = {
	{ SPAN("GET"), HTTP_METHOD_GET },
	{ SPAN("HEAD"), HTTP_METHOD_HEAD },
	{ SPAN("POST"), HTTP_METHOD_OTHER },
	{ SPAN("PUT"), HTTP_METHOD_PUT },
	{ SPAN("PATCH"), HTTP_METHOD_OTHER },
	{ SPAN("DELETE"), HTTP_METHOD_DELETE },
	{ SPAN("OPTIONS"), HTTP_METHOD_OPTIONS },
	{ SPAN("TRACE"), HTTP_METHOD_TRACE },
	{ SPAN("TRACK"), HTTP_METHOD_TRACE }, /* as IIS calls it */
	{ SPAN("CONNECT"), HTTP_METHOD_CONNECT },
};
#define METHODS (sizeof(methods) / sizeof(methods[0]))

enum http_method
http_method_find(struct span method)
{
	for (size_t i = 0; i < METHODS; i++)
		if (span_eq(method, methods[i].name))
			return methods[i].method;
	return HTTP_METHOD_OTHER;
}

bool
http_method_is_misspelt(struct span method)
{
	for (size_t i = 0; i < METHODS; i++)
		if (span_eq_case(method, methods[i].name))
			return !span_eq(method, methods[i].name);
	return false;
}

bool
http_method_is_idempotent(enum http_method m)
{
	switch (m) {
	case HTTP_METHOD_GET:
	case HTTP_METHOD_HEAD:
	case HTTP_METHOD_PUT:
	case HTTP_METHOD_DELETE:
	case HTTP_METHOD_OPTIONS:
	case HTTP_METHOD_TRACE:
		return true;
	case HTTP_METHOD_CONNECT:
	case HTTP_METHOD_OTHER:
		break;
	}
	return false;
}

const struct http_field *
http_field_named(const struct http_fields *f, struct span name, size_t i)
{
	size_t found = 0;

	for (size_t k = 0; k < f->count; k++)
		if (span_eq_case(f->at[k].name, name) && found++ == i)
			return &f->at[k];
	return NULL;
}

const struct http_field *
http_method_override(const struct http_fields *f, size_t i)
{
	size_t found = 0;

	for (size_t k = 0; k < f->count; k++)
		if ((flags_of(f->at[k].name) & NAME_METHOD) != 0 &&
		    found++ == i)
			return &f->at[k];
	return NULL;
}

static bool
list_has(struct span list, struct span option)
{
	while (list.ptr != NULL)
		if (span_eq_case(token_trim(token_cut(&list, ',')), option))
			return true;
	return false;
}

static bool
any_list_has(const struct http_fields *f, struct span name, struct span option)
{
	const struct http_field *field;

	for (size_t i = 0; (field = http_field_named(f, name, i)) != NULL; i++)
		if (list_has(field->value, option))
			return true;
	return false;
}

bool
http_has_connection_option(const struct http_fields *f, struct span option)
{
	return any_list_has(f, span_of("Connection"), option);
}

bool
http_takes_trailers(const struct http_fields *f)
{
	return any_list_has(f, span_of("TE"), span_of("trailers"));
}

void
http_trailers_keep(struct http_fields *f)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++)
		if (!http_name_is_reserved(f->at[i].name))
			f->at[kept++] = f->at[i];
	f->count = kept;
}

bool
http_is_hop_by_hop(struct span name)
{
	return (flags_of(name) & NAME_HOP) != 0;
}

bool
http_is_forwarded(const struct http_fields *f, struct span name)
{
	unsigned int flags = flags_of(name);

	if ((flags & (NAME_HOP | NAME_OWN | NAME_TARGET)) != 0)
		return false;
	return (flags & NAME_PROTECTED) != 0 ||
	    !http_has_connection_option(f, name);
}

const char *
http_status_text(enum http_status s)
{
	static const char *const texts[] = {
		[HTTP_OK] = "a well-formed head",
		[HTTP_MORE] = "the head has not ended",
		[HTTP_HEAD_SIZE] = "the head is longer than 64 KiB",
		[HTTP_FIELD_COUNT] = "the head has more than 128 fields",
		[HTTP_LINE_END] = "a line does not end in CRLF",
		[HTTP_CONTROL] = "the head has a control byte",
		[HTTP_NO_START_LINE] = "the first line is empty",
		[HTTP_START_LINE] = "the first line has not three parts",
		[HTTP_METHOD] = "the method is not a token",
		[HTTP_TARGET] = "the target is of no form that fits",
		[HTTP_FRAGMENT] = "the target has a '#'",
		[HTTP_VERSION] = "the version is not HTTP/1.0 or HTTP/1.1",
		[HTTP_STATUS_CODE] = "the status is not from 100 to 599",
		[HTTP_FOLD] = "a field line begins with a blank",
		[HTTP_FIELD_NAME] = "a field name is not a token",
		[HTTP_ALIAS] = "a reserved field name is spelled with '_'",
		[HTTP_NO_HOST] = "the head has no Host field",
		[HTTP_TWO_HOSTS] = "the head has two Host fields",
		[HTTP_HOST] = "the host is not a valid name",
		[HTTP_HOST_ADDRESS] = "the host is an IP address, not a name",
		[HTTP_HOST_MISMATCH] = "target and Host name different hosts",
		[HTTP_LENGTH] = "Content-Length is not a plain number",
		[HTTP_TWO_LENGTHS] = "the head has two Content-Length fields",
		[HTTP_CODING] = "Transfer-Encoding is not \"chunked\", once",
		[HTTP_CODING_AND_LENGTH] =
		    "Transfer-Encoding and Content-Length are both there",
		[HTTP_CODING_IN_1_0] = "Transfer-Encoding in HTTP/1.0",
		[HTTP_CONNECT_BODY] = "CONNECT declares a body",
		[HTTP_EXPECT] = "Expect is not \"100-continue\"",
		[HTTP_CONNECTION] = "Connection is not a list of names",
		[HTTP_UPGRADE] = "the upgrade is not the one asked for",
		[HTTP_NO_BODY] = "a status without a body declares one",
		[HTTP_PSEUDO] =
		    "a pseudo-field is missing, unknown, twice or late",
		[HTTP_CONNECTION_FIELD] =
		    "a field of HTTP/1 connections in HTTP/2",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == HTTP_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}
