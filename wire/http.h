/*
 * Heads of HTTP/1 messages, strictly by RFC 9112. One parser for all of them:
 * what is judged is what is written again (wire/http_write.h), raw heads are
 * never forwarded. Whatever other parsers read in two ways is refused, each
 * with an outcome of its own.
 */
#ifndef TAPWARD_WIRE_HTTP_H
#define TAPWARD_WIRE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/authority.h"

#define HTTP_HEAD_MAX_BYTES 65536
#define HTTP_FIELDS_MAX 128
/* Largest Content-Length: 2^53, which every language counts exactly. */
#define HTTP_LENGTH_MAX_BYTES (UINT64_C(1) << 53)

enum http_status {
	HTTP_OK,
	HTTP_MORE,          /* http_scan() only: the head does not end yet */
	HTTP_HEAD_SIZE,     /* over HTTP_HEAD_MAX_BYTES */
	HTTP_FIELD_COUNT,   /* over HTTP_FIELDS_MAX */
	HTTP_LINE_END,      /* a CR or LF that is not part of CRLF */
	HTTP_CONTROL,       /* NUL or another control byte, DEL */
	HTTP_NO_START_LINE, /* two leading CRLF, or nothing */
	HTTP_START_LINE,    /* not three parts with one SP between them */
	HTTP_METHOD,        /* not a token */
	HTTP_TARGET,        /* no form that fits the method, or a bad byte */
	HTTP_FRAGMENT,      /* '#' in the target (CVE-2021-32779) */
	HTTP_VERSION,       /* not HTTP/1.0 or HTTP/1.1; also HTTP/0.9 */
	HTTP_STATUS_CODE,   /* not 100..599 in three digits */
	HTTP_FOLD,          /* a line that begins with a blank (9112 5.2) */
	HTTP_FIELD_NAME,    /* empty, not a token, blank before ':', no ':' */
	HTTP_ALIAS,         /* '_' for '-' in a name that we act on */
	HTTP_NO_HOST,
	HTTP_TWO_HOSTS,
	HTTP_HOST,          /* authority_parse() refuses it */
	HTTP_HOST_ADDRESS,  /* an IP literal: well-formed, never allowed */
	HTTP_HOST_MISMATCH, /* target and Host differ */
	HTTP_LENGTH,        /* not 0|[1-9][0-9]*, or too large */
	HTTP_TWO_LENGTHS,   /* equal or not */
	HTTP_CODING,        /* Transfer-Encoding but "chunked", once */
	HTTP_CODING_AND_LENGTH,
	HTTP_CODING_IN_1_0,
	HTTP_CONNECT_BODY, /* CONNECT with Content-Length or a coding */
	HTTP_EXPECT,       /* anything but 100-continue */
	HTTP_CONNECTION,   /* Connection is not a list of tokens */
	HTTP_UPGRADE,      /* answers: 101 not asked for, or to no websocket */
	HTTP_NO_BODY,      /* answers: 1xx or 204 that declares a body */
	HTTP_PSEUDO,       /* HTTP/2: a pseudo-field that must not be so */
	HTTP_CONNECTION_FIELD, /* HTTP/2: a field of HTTP/1 connections */
	HTTP_STATUS_COUNT
};

/* One clause for a person: "the head has two Host fields". */
const char *http_status_text(enum http_status s);

/* Where the search for the end of a head stands. Zeroed: at the start. */
struct http_scan {
	size_t at;
	uint8_t state; /* enum in http_scan.c */
};

/*
 * Looks for the empty line that ends a head. so_far holds all bytes of the
 * message so far, from its first; bytes seen in an earlier call are not
 * looked at again, so that writes of one byte cost no more than one of all.
 *
 * HTTP_OK: ret_len is the length of the head, its end included. HTTP_MORE:
 * call again with more. Else refused: HTTP_LINE_END, HTTP_CONTROL,
 * HTTP_HEAD_SIZE; the outcome does not depend on how bytes were split.
 */
enum http_status http_scan(struct http_scan *s, struct span so_far,
    size_t *ret_len);

struct http_field {
	struct span name;
	struct span value; /* without blanks around it */
};

struct http_fields {
	struct http_field at[HTTP_FIELDS_MAX];
	size_t count;
};

/* Methods that change how a message is framed or treated. */
enum http_method {
	HTTP_METHOD_OTHER,
	HTTP_METHOD_GET,
	HTTP_METHOD_HEAD,
	HTTP_METHOD_PUT,
	HTTP_METHOD_DELETE,
	HTTP_METHOD_OPTIONS,
	HTTP_METHOD_TRACE, /* echoes what was sent: never with a credential */
	HTTP_METHOD_CONNECT,
};

enum http_form {
	HTTP_FORM_ORIGIN,    /* "/path?query" */
	HTTP_FORM_ABSOLUTE,  /* "http://host/path" */
	HTTP_FORM_AUTHORITY, /* CONNECT "host:port" */
	HTTP_FORM_ASTERISK,  /* OPTIONS "*" */
};

/* Of an absolute-form target. */
enum http_scheme {
	HTTP_SCHEME_NONE,
	HTTP_SCHEME_HTTP,
	HTTP_SCHEME_HTTPS,
};

enum http_framing {
	HTTP_FRAMING_NONE,    /* no body */
	HTTP_FRAMING_LENGTH,  /* length bytes; may be 0 */
	HTTP_FRAMING_CHUNKED, /* wire/chunked.h */
	HTTP_FRAMING_CLOSE,   /* answers: to the end of the connection */
	HTTP_FRAMING_TUNNEL,  /* answers: 101, and 2xx to CONNECT */
};

/* Spans borrow from the head that was parsed, or are static. */
struct http_request {
	struct span method;
	enum http_method known_method;
	enum http_form form;
	enum http_scheme scheme;
	/*
	 * Where the request wants to go: the target's authority in absolute
	 * and authority form, else Host. Both are equal where both are there.
	 */
	struct authority authority;
	const char *address; /* that of http_request_parse_at() */
	bool has_host;       /* false only for CONNECT by HTTP/1.0 */
	/*
	 * Never empty: "/" for an absolute form without one, "*" for
	 * asterisk form; "" only for CONNECT. query is without its '?'.
	 */
	struct span path;
	struct span query;
	bool has_query;
	unsigned int minor; /* 0 or 1 */
	struct http_fields fields;
	enum http_framing framing; /* NONE, LENGTH or CHUNKED */
	uint64_t length;           /* with HTTP_FRAMING_LENGTH */
	bool is_keep_alive;        /* the guest will send another */
	bool expects_continue;     /* 100-continue, and there is a body */
	bool has_upgrade;          /* an Upgrade field of any kind */
	bool is_websocket; /* RFC 6455 4.1: GET, 1.1, both fields, no body */
};

/*
 * Parses one whole head: what http_scan() measured, its empty line included.
 * Total over any other bytes too. One CRLF before the request line is passed
 * over (RFC 9112 2.2). ret is written for HTTP_OK only.
 */
enum http_status http_request_parse(struct span head, struct http_request *ret);
/*
 * The same of a request that is for ourselves, whatever its Host: that may be
 * an address, of which nothing is kept (has_host is false).
 */
enum http_status http_request_parse_ours(struct span head,
    struct http_request *ret);
/*
 * The same, but this IPv4 literal is taken for a host (authority.h). NULL:
 * none is.
 */
enum http_status http_request_parse_at(struct span head, const char *address,
    struct http_request *ret);

struct http_response {
	unsigned int status; /* 100..599 */
	struct span reason;  /* may be empty */
	unsigned int minor;
	struct http_fields fields;
	enum http_framing framing;
	/*
	 * Content-Length, when has_length: the size of the body with
	 * HTTP_FRAMING_LENGTH; what GET would get in an answer to HEAD and
	 * in 304, which have no body.
	 */
	bool has_length;
	uint64_t length;
	bool is_keep_alive; /* the connection can carry another exchange */
};

/*
 * Can these be the first bytes of an answer, as far as they go? Something else
 * than HTTP/1 is told from it before it has ended a line.
 */
bool http_response_begins(struct span so_far);
/*
 * As http_request_parse(), of an answer. asked is what was asked (RFC 9112
 * 6.3 frames by it); asked_upgrade: the request carried Upgrade: websocket,
 * without which 101 is refused. No leading CRLF is passed over.
 */
enum http_status http_response_parse(struct span head, enum http_method asked,
    bool asked_upgrade, struct http_response *ret);

/*
 * The section behind a chunked answer, as chunked_trailers() gives it, read as
 * the fields of a head are. Those that must not come there are left out. ret
 * is changed whatever comes out.
 */
enum http_status http_trailers_parse(struct span section,
    struct http_fields *ret);
/*
 * Takes out of f what must not come behind a body: fields that framing, a
 * credential or a verdict hangs on (RFC 9110 6.5.1).
 */
void http_trailers_keep(struct http_fields *f);
/* Does TE say that whoever sent it takes trailers (RFC 9110 10.1.4)? */
bool http_takes_trailers(const struct http_fields *f);

enum http_method http_method_find(struct span method);
/*
 * One of those that everybody knows, in another case: by RFC 9110 9.1 another
 * method, which many servers take for the same.
 */
bool http_method_is_misspelt(struct span method);
/* Is twice the same as once (RFC 9110 9.2.2)? */
bool http_method_is_idempotent(enum http_method m);
/* The i-th (from 0) field of this name, without case; NULL past the last. */
const struct http_field *http_field_named(const struct http_fields *f,
    struct span name, size_t i);
static inline const struct http_field *
http_field_find(const struct http_fields *f, const char *name, size_t i)
{
	return http_field_named(f, span_of(name), i);
}
/* Equal without case and with '_' for '-': as a CGI origin reads names. */
bool http_bytes_alias(const uint8_t *name, const uint8_t *of, size_t len);
static inline bool
http_name_aliases(struct span name, struct span of)
{
	return name.len == of.len && http_bytes_alias(name.ptr, of.ptr, of.len);
}
/*
 * Is it, or an alias of it, a name that framing, host, a credential or a
 * verdict hangs on? A head that spells one with '_' is refused (HTTP_ALIAS).
 */
bool http_name_is_reserved(struct span name);
/* Is it one of those, spelled with '_' (HTTP_ALIAS)? */
bool http_name_is_bent(struct span name);
/*
 * Field i of those that name a method that an origin is to read instead of the
 * request's (X-HTTP-Method-Override and its like); NULL: there is none.
 */
const struct http_field *http_method_override(const struct http_fields *f,
    size_t i);
/* Is option (without case) in any Connection field? */
bool http_has_connection_option(const struct http_fields *f,
    struct span option);

/*
 * RFC 9110 7.6.1: fields of one connection, which are never forwarded
 * (Connection, Keep-Alive, TE, Trailer, Transfer-Encoding, Upgrade, the
 * Proxy- ones of RFC 9110 11.7, Proxy-Connection and HTTP2-Settings).
 */
bool http_is_hop_by_hop(struct span name);
/*
 * May the field be copied as it is into the message that is written anew?
 * Not: hop-by-hop ones; ones that Connection names, unless it names a field
 * that a guest must not get removed (Host, Content-*, Authorization, Cookie,
 * ...); Host, Content-Length, Expect, which the writer sets itself; and those
 * by which an origin is told another host or path than the one that was judged
 * (Forwarded, X-Forwarded-Host, X-Original-URL, ...).
 */
bool http_is_forwarded(const struct http_fields *f, struct span name);

#endif
