/*
 * Heads of HTTP/2 on their way between libnghttp2, which tells them field by
 * field, and the readers of wire/http2.h, which want them whole.
 */
#ifndef TAPWARD_PROXY_H2_HEAD_H
#define TAPWARD_PROXY_H2_HEAD_H

#include <nghttp2/nghttp2.h>

#include "proxy/buf.h"
#include "proxy/origin.h"
#include "wire/http.h"

/* A head that is being gathered. Zeroed: empty, and holds no memory. */
struct h2_head {
	struct buf text;   /* lengths and bytes of each field */
	struct buf cookie; /* its crumbs as one (RFC 9113 8.2.3) */
	size_t count;
	size_t bytes; /* as RFC 9113 6.5.2 counts: 32 more for each */
};

/*
 * Copies a field in. 0; -EMSGSIZE when the head would be over max_bytes or
 * HTTP_FIELDS_MAX; -ENOMEM.
 */
int h2_head_add(struct h2_head *h, struct span name, struct span value,
    size_t max_bytes);
/* What a buffer of the library holds; borrows. */
struct span h2_head_span(nghttp2_rcbuf *b);
/* Borrows from h. */
void h2_head_fields(const struct h2_head *h, struct http_fields *ret);
void h2_head_done(struct h2_head *h);

/* A head to be submitted. Borrows what was added. */
struct h2_nv {
	nghttp2_nv at[HTTP_FIELDS_MAX + 16];
	size_t count;
	char status[4];
	char length[24];
	char retry[12];
};

void h2_nv_init(struct h2_nv *nv);
/* Beyond what fits nothing is added: heads are bounded before. */
void h2_nv_add(struct h2_nv *nv, struct span name, struct span value);
void h2_nv_text(struct h2_nv *nv, const char *name, const char *value);
void h2_nv_status(struct h2_nv *nv, unsigned int status);
void h2_nv_retry_after(struct h2_nv *nv, unsigned int seconds);
void h2_nv_length(struct h2_nv *nv, uint64_t length);
void h2_nv_fields(struct h2_nv *nv, const struct http_fields *f);
/*
 * The canonical head of a request (exchange_write_head()), read back: it is
 * one text whatever version it is sent in. The credential's value is kept out
 * of every compression table.
 */
void h2_nv_request(struct h2_nv *nv, const struct origin_request *r,
    enum scheme scheme);

#endif
