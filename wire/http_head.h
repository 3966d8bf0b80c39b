/*
 * What heads of requests and of answers have in common: lines, fields, the
 * declared body, the connection. For the two parsers only.
 */
#ifndef TAPWARD_WIRE_HTTP_HEAD_H
#define TAPWARD_WIRE_HTTP_HEAD_H

#include "wire/http.h"

/*
 * Takes one line off rest, without its CRLF. HTTP_LINE_END if there is none,
 * or it holds a CR; HTTP_CONTROL.
 */
enum http_status http_head_line(struct span *rest, struct span *ret_line);

/* "HTTP/1.0" or "HTTP/1.1", else HTTP_VERSION. */
enum http_status http_head_version(struct span in, unsigned int *ret_minor);

/*
 * Field lines and the empty line, after which nothing may come. ret_fields is
 * changed whatever comes out.
 */
enum http_status http_head_fields(struct span rest,
    struct http_fields *ret_fields);

/* What the fields declare about the body (RFC 9112 6). */
struct http_body {
	bool is_chunked;
	bool has_length;
	uint64_t length;
};

enum http_status http_head_body(const struct http_fields *f, unsigned int minor,
    struct http_body *ret_body);

/* RFC 9112 9.3; HTTP_CONNECTION when a Connection field is no list. */
enum http_status http_head_connection(const struct http_fields *f,
    unsigned int minor, bool *ret_is_keep_alive);

/* What authority_parse() found, as a request's status. */
enum http_status http_head_authority(enum authority_status s);

/* One Upgrade field "websocket", and Connection names it. */
bool http_head_is_websocket(const struct http_fields *f);

#endif
