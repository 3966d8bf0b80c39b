/*
 * Heads of HTTP/2 messages (RFC 9113 8), as lists of fields that HPACK gave,
 * read into what the parsers of HTTP/1 make, as strictly: one judgement, one
 * spelling to send on. The library that decodes frames checks much of this,
 * too; nothing here relies on it.
 *
 * all holds pseudo-fields and fields in the order they came in; results borrow
 * from it. is_whole: the stream ended with the head, there is no body.
 */
#ifndef TAPWARD_WIRE_HTTP2_H
#define TAPWARD_WIRE_HTTP2_H

#include "wire/http.h"

/*
 * CONNECT, with or without :protocol, is HTTP_PSEUDO. A body without a length
 * is HTTP_FRAMING_CHUNKED, which stands for "its end is told". ret is written
 * for HTTP_OK only.
 */
enum http_status http2_request_read(const struct http_fields *all,
    bool is_whole, struct http_request *ret);

/*
 * A body that ends with its stream is HTTP_FRAMING_CHUNKED; one that is not
 * there HTTP_FRAMING_LENGTH of 0, or NONE where there must be none.
 */
enum http_status http2_response_read(const struct http_fields *all,
    enum http_method asked, bool is_whole, struct http_response *ret);

/*
 * Fields behind a body. Those that framing, a credential or a verdict hangs
 * on are left out (RFC 9110 6.5.1).
 */
enum http_status http2_trailers_read(const struct http_fields *all,
    struct http_fields *ret);

/*
 * Is the status of http2_request_read() a malformed message (RFC 9113 8.1.1)
 * that is answered by a stream error? Else by 400, which says more.
 */
bool http2_is_malformed(enum http_status s);

#endif
