/*
 * Idle connections to origins, see pool.h.
 */
#include "proxy/pool.h"

#include <errno.h>
#include <event2/event.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/exchange.h"
#include "proxy/h2_origin.h"
#include "proxy/tls.h"

struct pool {
	struct h2_origins h2;
	struct origin_streams connecting;
	struct exchange_line line, tunnels;
	struct event *wake;
	struct origin *newest, *oldest;
	size_t count;
	uint32_t revocations;
	struct grave *graves;
	struct event *burial;
	uint64_t freed; /* since memory was given back, by and large */
	uint64_t freed_seen;
	struct event *trim;
};

/* So much is worth looking for, and giving back. */
#define TRIM_BYTES (1 << 20)
/* Of anything that is buried: a connection of TLS, an exchange's heads. */
#define GRAVE_BYTES 16384

static void
on_burial(evutil_socket_t fd, short what, void *arg)
{
	struct pool *p = arg;

	(void)fd;
	(void)what;
	while (p->graves != NULL) {
		struct grave *g = p->graves;

		p->graves = g->next;
		g->free(g);
	}
}

static void
free_events(struct pool *p)
{
	if (p->burial != NULL)
		event_free(p->burial);
	if (p->wake != NULL)
		event_free(p->wake);
	if (p->trim != NULL)
		event_free(p->trim);
}

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	exchange_line_go_on(arg);
}

static const struct timeval trim_delay = { 1, 0 };

/* It takes milliseconds where much is going on: then it waits. */
static void
on_trim(evutil_socket_t fd, short what, void *arg)
{
	struct pool *p = arg;

	(void)fd;
	(void)what;
	if (p->freed != p->freed_seen) {
		p->freed_seen = p->freed;
		(void)event_add(p->trim, &trim_delay);
		return;
	}
	p->freed = p->freed_seen = 0;
	if (mallinfo2().fordblks > TRIM_BYTES)
		(void)malloc_trim(0);
}

void
pool_note_freed(struct gate *g, uint64_t bytes)
{
	struct pool *p = g->pool;

	p->freed += bytes;
	if (p->freed >= TRIM_BYTES &&
	    event_pending(p->trim, EV_TIMEOUT, NULL) == 0)
		(void)event_add(p->trim, &trim_delay);
}

int
pool_new(struct gate *g)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return -ENOMEM;
	p->burial = event_new(g->base, -1, 0, on_burial, p);
	p->wake = event_new(g->base, -1, 0, on_wake, g);
	p->trim = event_new(g->base, -1, 0, on_trim, p);
	if (p->burial == NULL || p->wake == NULL || p->trim == NULL) {
		free_events(p);
		free(p);
		return -ENOMEM;
	}
	TAILQ_INIT(&p->h2);
	TAILQ_INIT(&p->connecting);
	TAILQ_INIT(&p->line);
	TAILQ_INIT(&p->tunnels);
	g->pool = p;
	return 0;
}

void
pool_free(struct gate *g)
{
	if (g->pool == NULL)
		return;
	pool_flush(g);
	h2_origins_free(g);
	on_burial(-1, 0, g->pool);
	free_events(g->pool);
	free(g->pool);
	g->pool = NULL;
}

static void
unlink_origin(struct pool *p, struct origin *o)
{
	struct origin *newer = *origin_prev(o), *older = *origin_next(o);

	if (newer != NULL)
		*origin_next(newer) = older;
	else
		p->newest = older;
	if (older != NULL)
		*origin_prev(older) = newer;
	else
		p->oldest = newer;
	p->count--;
}

struct h2_origins *
pool_h2(struct gate *g)
{
	return &g->pool->h2;
}

struct origin_streams *
pool_connecting(struct gate *g)
{
	return &g->pool->connecting;
}

struct exchange_line *
pool_line(struct gate *g)
{
	return &g->pool->line;
}

struct exchange_line *
pool_tunnels(struct gate *g)
{
	return &g->pool->tunnels;
}

void
pool_wake(struct gate *g)
{
	if (!TAILQ_EMPTY(&g->pool->line))
		event_active(g->pool->wake, 0, 0);
}

bool
pool_key_is(const struct origin_key *a, const struct origin_key *b)
{
	return a->port == b->port && a->scheme == b->scheme &&
	    a->is_websocket == b->is_websocket &&
	    a->is_redirect == b->is_redirect && strcmp(a->host, b->host) == 0 &&
	    strcmp(a->credential, b->credential) == 0;
}

struct origin *
pool_take(struct gate *g, const struct origin_key *key, uint64_t idle_max_ms)
{
	struct origin *o = h2_origin_take(g, key, idle_max_ms);

	if (o != NULL)
		return o;
	o = g->pool->newest;
	while (o != NULL) {
		struct origin *older = *origin_next(o);

		bool is_current =
		    origin_generation(o) == gate_origin_generation(g);
		bool fits = is_current && pool_key_is(origin_key(o), key) &&
		    origin_idle_ms(o) < idle_max_ms;

		if (fits || !is_current)
			unlink_origin(g->pool, o);
		/* Its event may be due: what it said would be our answer. */
		if (fits && origin_is_quiet(o))
			return o;
		if (fits || !is_current)
			origin_free(o);
		o = older;
	}
	return NULL;
}

void
pool_put(struct gate *g, struct origin *o)
{
	struct pool *p = g->pool;

	*origin_prev(o) = NULL;
	*origin_next(o) = p->newest;
	if (p->newest != NULL)
		*origin_prev(p->newest) = o;
	else
		p->oldest = o;
	p->newest = o;
	p->count++;
	pool_wake(g);
	if (p->count > g->limits.idle_origins) {
		o = p->oldest;
		unlink_origin(p, o);
		origin_free(o);
	}
}

void
pool_drop(struct gate *g, struct origin *o)
{
	unlink_origin(g->pool, o);
}

void
pool_flush(struct gate *g)
{
	while (g->pool->newest != NULL) {
		struct origin *o = g->pool->newest;

		unlink_origin(g->pool, o);
		origin_free(o);
	}
	h2_origins_flush(g);
}

void
pool_revoke(struct gate *g, const char *credential)
{
	struct origin *o = g->pool == NULL ? NULL : g->pool->newest;

	if (g->pool != NULL)
		g->pool->revocations++;
	while (o != NULL) {
		struct origin *older = *origin_next(o);
		const char *carried = origin_key(o)->credential;

		if (credential == NULL ? *carried != '\0'
				       : strcmp(carried, credential) == 0) {
			unlink_origin(g->pool, o);
			origin_free(o);
		}
		o = older;
	}
	if (g->pool == NULL)
		return;
	h2_origins_revoke(g, credential);
	tls_origins_cut(g, credential);
	exchange_tunnels_revoke(g, credential);
}

uint32_t
pool_revocations(const struct gate *g)
{
	return g->pool->revocations;
}

size_t
pool_count(const struct gate *g)
{
	return g->pool->count;
}

void
pool_bury(struct gate *g, struct grave *grave,
    void (*free_grave)(struct grave *grave))
{
	grave->free = free_grave;
	grave->next = g->pool->graves;
	g->pool->graves = grave;
	pool_note_freed(g, GRAVE_BYTES);
	event_active(g->pool->burial, 0, 0);
}
