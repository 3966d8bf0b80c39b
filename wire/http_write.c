#include "wire/http_write.h"

#include "wire/token.h"

/* Writes part if it is what its place wants. */
static void
put(struct wr *w, struct span part, bool is_fit)
{
	if (!is_fit)
		w->failed = true;
	wr_bytes(w, part.ptr, part.len);
}

void
http_write_request_line(struct wr *w, struct span method, struct span path,
    bool has_query, struct span query)
{
	put(w, method, token_is(method));
	wr_u8(w, ' ');
	put(w, path, token_is_visible(path));
	if (has_query) {
		wr_u8(w, '?');
		put(w, query, query.len == 0 || token_is_visible(query));
	}
	wr_text(w, " HTTP/1.1\r\n");
}

void
http_write_status_line(struct wr *w, unsigned int status, struct span reason)
{
	if (status < 100 || status > 599)
		w->failed = true;
	wr_text(w, "HTTP/1.1 ");
	wr_decimal(w, status);
	wr_u8(w, ' ');
	put(w, reason, token_is_text(reason));
	wr_text(w, "\r\n");
}

void
http_write_field(struct wr *w, struct span name, struct span value)
{
	put(w, name, token_is(name));
	wr_text(w, ": ");
	put(w, value, token_is_text(value));
	wr_text(w, "\r\n");
}

void
http_write_text(struct wr *w, const char *name, const char *value)
{
	http_write_field(w, span_of(name), span_of(value));
}

void
http_write_length(struct wr *w, uint64_t length)
{
	wr_text(w, "Content-Length: ");
	wr_decimal(w, length);
	wr_text(w, "\r\n");
}

void
http_write_host(struct wr *w, const char *host, uint16_t port,
    uint16_t default_port)
{
	wr_text(w, "Host: ");
	put(w, span_of(host), token_is_visible(span_of(host)));
	if (port != default_port) {
		wr_u8(w, ':');
		wr_decimal(w, port);
	}
	wr_text(w, "\r\n");
}

void
http_write_end(struct wr *w)
{
	wr_text(w, "\r\n");
}
