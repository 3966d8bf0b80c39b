/*
 * Pipes for splice(2), lent out only while bytes are in them: the kernel
 * counts their pages per uid, and an idle relay must cost none.
 */
#ifndef TAPWARD_PROXY_PIPES_H
#define TAPWARD_PROXY_PIPES_H

#include <stddef.h>

/* Kept and lent together; more relays than that copy instead. */
#define PIPES_MAX 64
/* What an empty one takes for sure: 16 pages (pipe(7)). */
#define PIPE_BYTES 65536

struct pipe_pair {
	int in;  /* written */
	int out; /* read */
};

struct pipes;

struct pipes *pipes_new(void); /* NULL: no memory */
/* Closes those that are not lent; each that is lent must be back. */
void pipes_free(struct pipes *p);
int pipes_take(struct pipes *p, struct pipe_pair *ret); /* 0 or -errno */
/* An empty one comes back; one that is not empty is closed. */
void pipes_put(struct pipes *p, struct pipe_pair *pair, size_t left_bytes);
size_t pipes_lent(const struct pipes *p);

#endif
