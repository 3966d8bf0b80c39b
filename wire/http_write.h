/*
 * Heads in the one canonical spelling that we send: single blanks, CRLF, a
 * blank after the colon. A part that holds CR, LF, NUL, or is not what its
 * place wants fails the writer (wr_ok() false), so that nothing a guest or an
 * origin sent can end a line.
 */
#ifndef TAPWARD_WIRE_HTTP_WRITE_H
#define TAPWARD_WIRE_HTTP_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/* "GET /path?query HTTP/1.1". Method is a token, the others visible ASCII. */
void http_write_request_line(struct wr *w, struct span method, struct span path,
    bool has_query, struct span query);
/* "HTTP/1.1 200 OK". status is 100..599. */
void http_write_status_line(struct wr *w, unsigned int status,
    struct span reason);
/* name is a token; value has no control byte but HTAB. */
void http_write_field(struct wr *w, struct span name, struct span value);
void http_write_text(struct wr *w, const char *name, const char *value);
void http_write_length(struct wr *w, uint64_t length);
/* "Host: name", with ":port" unless it is the scheme's default. */
void http_write_host(struct wr *w, const char *host, uint16_t port,
    uint16_t default_port);
/* The empty line. */
void http_write_end(struct wr *w);

#endif
