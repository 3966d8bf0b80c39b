/*
 * A connection to an origin whose TLS agreed on HTTP/2: it carries many
 * exchanges of this sandbox, each of them a struct origin that is a stream of
 * it. All have one key (host, port, scheme, credential), and were dialled
 * under one policy.
 *
 * The gate's pool lists these connections, busy or idle. One that got a GOAWAY
 * or has failed takes no more streams and ends with its last.
 */
#ifndef TAPWARD_PROXY_H2_ORIGIN_H
#define TAPWARD_PROXY_H2_ORIGIN_H

#include "proxy/origin.h"

struct h2_origin;

/*
 * Makes o's connection a shared one, of which o is the first stream. 0, or
 * -ENOMEM and o is to be freed.
 */
int h2_origin_start(struct origin *o);
/*
 * A new stream of a connection that fits, in the state of one from the pool;
 * NULL without one. Of a connection without any stream only if it moved less
 * than idle_max_ms ago.
 */
struct origin *h2_origin_take(struct gate *g, const struct origin_key *key,
    uint64_t idle_max_ms);
/* As the functions of origin.h without the 2. */
int h2_origin_send_head(struct origin *o, const struct origin_request *r);
size_t h2_origin_send_body(struct origin *o, struct span data);
void h2_origin_send_trailers(struct origin *o, const struct http_fields *f);
void h2_origin_send_end(struct origin *o);
void h2_origin_resume(struct origin *o);
/* o is no stream of its connection any more; resets it if it is not whole. */
void h2_origin_leave(struct origin *o);

/* No new streams on those there are; idle ones end. */
void h2_origins_flush(struct gate *g);
/* The same for those that carry this credential; NULL: that carry any. */
void h2_origins_revoke(struct gate *g, const char *credential);
/* Ends all, for good. */
void h2_origins_free(struct gate *g);

#endif
