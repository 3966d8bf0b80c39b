/*
 * A dialler's world (dialler_support.h) whose resolvers are asked by TLS.
 */
#ifndef TAPWARD_TESTS_UNIT_DOT_SUPPORT_H
#define TAPWARD_TESTS_UNIT_DOT_SUPPORT_H

#include "tests/unit/dialler_support.h"

#include <signal.h>

#include "proxy/roots.h"
#include "tests/unit/dot_peer.h"

#define DOT_HOST "dns.example"
#define DOT_FIRST "127.0.0.5"
#define DOT_SECOND "127.0.0.6"

/* Who signs for resolvers, and one of whom nobody knows. */
static struct ca_made dot_ca, dot_other_ca;
static struct span dot_roots; /* the index of the first of them */

static inline int
dot_setup(void **state)
{
	uint8_t *image;
	uint32_t count;

	(void)state;
	/* As base/child.c does for each program. */
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    ca_make("resolvers' CA", 86400, &dot_ca) != 0 ||
	    ca_make("another CA", 86400, &dot_other_ca) != 0 ||
	    roots_build((struct span){ dot_ca.cert, dot_ca.cert_len }, &image,
		&dot_roots.len, &count) != 0)
		return -1;
	dot_roots.ptr = image;
	return 0;
}

static inline int
dot_teardown(void **state)
{
	(void)state;
	secret_done(&dot_ca.both);
	secret_done(&dot_other_ca.both);
	free((void *)(uintptr_t)dot_roots.ptr);
	return 0;
}

/* The first count of peers begin to listen, and are w's resolvers. */
static inline void
dot_put(struct world *w, struct dot_peer *peers, unsigned int count)
{
	static const char *const at[] = { DOT_FIRST, DOT_SECOND };

	w->roots = dot_roots;
	w->config->resolver_count = count;
	for (unsigned int i = 0; i < count; i++) {
		struct message_resolver *r = &w->config->resolvers[i];
		struct dot_peer *p = &peers[i];

		p->base = w->base;
		p->ns = w->ns;
		p->ca = p->ca == NULL ? &dot_ca : p->ca;
		p->host = DOT_HOST;
		dot_peer_init(p, at[i]);
		r->address = range(at[i]).address;
		r->port = p->port;
		(void)snprintf(r->tls_name, sizeof(r->tls_name), DOT_HOST);
	}
}

#endif
