/*
 * The inspected path: guest TLS, HTTP parsed strictly, a verdict for each
 * request, credentials put in, the exchange with the origin, denials a person
 * can read.
 */
#ifndef TAPWARD_PROXY_INSPECT_H
#define TAPWARD_PROXY_INSPECT_H

#include "proxy/conn.h"

/*
 * Takes over c->fd (no byte of it has been consumed). By c->front:
 * TLS: handshake with a leaf for c->sni, then requests; when the connection
 * verdict was a denial every request gets it as an answer. HTTP: requests at
 * once. EXPLICIT: absolute-form requests, or CONNECT.
 */
void inspect_start(struct conn *c);
/* The policy changed: ends what it no longer allows, within a second. */
void inspect_policy_changed(struct conn *c);
/* For conn_close() only. NULL is fine. */
void inspect_free(struct inspect *i);

#endif
