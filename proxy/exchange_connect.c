/*
 * From an exchange to its origin: one from the pool, or a new one. A burst of
 * requests to one place does not become a burst of handshakes: so many are
 * connecting at once, and the others wait for what comes of them. A guest of
 * HTTP/2, which sends bursts, waits for the first: it may carry them all.
 */
#include "proxy/exchange_private.h"

#include <string.h>

/*
 * A request that must not be sent twice takes a pooled connection only if it
 * was used a moment ago, so that it is unlikely to be closing.
 */
#define IDLE_SAFE_MS 1000
/* Connecting at once: to one place, and in all (the dialler takes 64). */
#define KEY_MAX 16
#define ALL_MAX 48

bool
exchange_may_repeat(const struct exchange *x, enum exchange_fate fate)
{
	if (x->was_repeated || x->is_up_begun)
		return false;
	switch (fate) {
	case EXCHANGE_FATE_UNKNOWN:
		return false;
	case EXCHANGE_FATE_STALE:
		return http_method_is_idempotent(x->known_method);
	case EXCHANGE_FATE_UNSEEN:
		return true;
	}
	return false;
}

static struct origin_key
key_of(const struct exchange *x)
{
	struct origin_key key = { .port = x->port,
		.scheme = x->front.scheme,
		.is_websocket = x->is_websocket,
		.is_redirect = x->is_redirect };

	memcpy(key.host, x->host, sizeof(key.host));
	if (x->has_credential)
		memcpy(key.credential, x->verdict.credential,
		    sizeof(key.credential));
	return key;
}

static struct origin *
take_pooled(struct exchange *x)
{
	struct origin_key key = key_of(x);
	/* A body will be gone before a stale connection shows. */
	bool is_safe =
	    x->is_up_whole && exchange_may_repeat(x, EXCHANGE_FATE_STALE);

	/* A WebSocket has a connection of its own, from its first byte. */
	if (x->was_repeated || x->is_websocket)
		return NULL;
	return pool_take(x->gate, &key, is_safe ? UINT64_MAX : IDLE_SAFE_MS);
}

struct origin *
exchange_find_origin(struct exchange *x)
{
	struct origin_key key = key_of(x);
	struct origin *o = take_pooled(x);

	return o != NULL ? o : origin_new(x->gate, &key);
}

/* Will one connection do for it and others? */
static bool
may_share(const struct exchange *x)
{
	return x->front.is_h2 && !x->is_told;
}

static bool
may_connect(const struct exchange *x)
{
	size_t all, same = origin_connecting(x->origin, &all);

	return all < ALL_MAX && same < (may_share(x) ? 1 : KEY_MAX);
}

static void
connect_new(struct exchange *x)
{
	if (origin_connect(x->origin, x) != 0)
		exchange_refuse_for(x, REASON_ORIGIN_UNREACHABLE,
		    "out of memory");
}

void
exchange_connect(struct exchange *x, struct origin *o)
{
	x->origin = o != NULL ? o : exchange_find_origin(x);
	if (x->origin != NULL && origin_is_idle(x->origin)) {
		origin_adopt(x->origin, x);
		exchange_open(x);
		return;
	}
	exchange_enter(x, EXCHANGE_CONNECT);
	if (x->origin == NULL) {
		exchange_refuse_for(x, REASON_ORIGIN_UNREACHABLE,
		    "out of memory");
	} else if (may_connect(x)) {
		connect_new(x);
	} else {
		x->is_waiting = true;
		TAILQ_INSERT_TAIL(pool_line(x->gate), x, waiting);
	}
}

void
exchange_origin_ready(struct exchange *x)
{
	memcpy(x->address, origin_address(x->origin), sizeof(x->address));
	exchange_open(x);
}

void
exchange_stop_waiting(struct exchange *x)
{
	if (!x->is_waiting)
		return;
	x->is_waiting = false;
	TAILQ_REMOVE(pool_line(x->gate), x, waiting);
}

/* One that has waited: a pooled connection takes the place of its own. */
static void
go_on(struct exchange *x)
{
	struct origin *o = take_pooled(x);

	if (o != NULL) {
		exchange_stop_waiting(x);
		origin_free(x->origin);
		x->origin = o;
		origin_adopt(o, x);
		exchange_open(x);
	} else if (may_connect(x)) {
		exchange_stop_waiting(x);
		connect_new(x);
	}
}

void
exchange_line_go_on(struct gate *g)
{
	struct exchange *x, *next;

	for (x = TAILQ_FIRST(pool_line(g)); x != NULL; x = next) {
		next = TAILQ_NEXT(x, waiting);
		go_on(x);
	}
}

/* Elsewhere: not on a connection of the pool. */
static void
repeat(struct exchange *x)
{
	struct origin *o = x->origin;

	x->was_repeated = true;
	x->origin = NULL;
	origin_free(o);
	exchange_go_out(x);
}

/* What an origin's half told of its end. */
struct failure {
	enum reason reason;
	bool by_ceiling;
	const char *detail;
	enum exchange_fate fate;
};

static void
refuse(struct exchange *x, const struct failure *f)
{
	/* Of a tunnel whoever speaks may end it, in order or not. */
	struct deny d = deny_init(x->tunnel == NULL ? f->reason : REASON_NONE);

	d.by_ceiling = f->by_ceiling;
	d.rule = x->verdict.rule;
	d.file = x->verdict.file;
	d.line = x->verdict.line;
	d.detail = f->detail;
	/* The guest has the body that we have not. */
	d.is_unseen = f->fate == EXCHANGE_FATE_UNSEEN && !x->was_repeated &&
	    x->front.is_h2;
	exchange_refuse(x, &d);
}

/*
 * Those that wait to share a connection that was not to be had. Else each of
 * them would wait for one of its own, one after another.
 */
static void
fail_line(struct gate *g, const struct origin_key *key, const struct failure *f)
{
	struct exchange *x, *next;

	for (x = TAILQ_FIRST(pool_line(g)); x != NULL; x = next) {
		next = TAILQ_NEXT(x, waiting);
		if (may_share(x) && pool_key_is(origin_key(x->origin), key))
			refuse(x, f);
	}
}

void
exchange_origin_failed(struct exchange *x, enum reason reason, bool by_ceiling,
    const char *detail, enum exchange_fate fate)
{
	const struct failure f = { reason, by_ceiling, detail, fate };
	const struct origin_key key = *origin_key(x->origin);
	bool was_connecting = x->state == EXCHANGE_CONNECT;
	struct gate *g = x->gate;

	if (exchange_may_repeat(x, fate)) {
		repeat(x);
		return;
	}
	memcpy(x->address, origin_address(x->origin), sizeof(x->address));
	refuse(x, &f);
	if (was_connecting)
		fail_line(g, &key, &f);
}

void
exchange_line_tell(struct gate *g, const struct origin_key *key)
{
	struct exchange *x;

	TAILQ_FOREACH(x, pool_line(g), waiting)
	if (pool_key_is(origin_key(x->origin), key))
		x->is_told = true;
}
