/* The pool, see pool.h. */
#include "daemon/pool.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/supervisor.h"

#define REFILL_PAUSE_MIN_MS 1
#define REFILL_PAUSE_MAX_MS 5000
#define REFILL_YIELD_MS 10

struct pool_entry {
	TAILQ_ENTRY(pool_entry) entry;
	struct pool *pool;
	struct pool_pair pair;
};

static void
entry_remove(struct pool_entry *e)
{
	TAILQ_REMOVE(&e->pool->entries, e, entry);
	e->pool->count--;
	free(e);
}

static void
pair_end(struct pool_pair *pair)
{
	gate_free(pair->gate);
	(void)sandbox_net_remove(pair->net);
}

static void
refill_after(struct pool *p, unsigned int ms)
{
	const struct timeval tv = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000,
	};

	if (event_add(p->refill, &tv) == -1)
		log_err("pool", "no memory for a timer");
}

static void
on_entry_hello(const struct message_hello *hello, void *arg)
{
	struct pool_entry *e = arg;

	(void)hello;
	e->pool->pause_ms = REFILL_PAUSE_MIN_MS;
	pool_fill(e->pool);
}

/* It has nothing to say before it is started. */
static void
on_entry_started(void *arg)
{
	struct pool_entry *e = arg;

	gate_kill(e->pair.gate);
}

static void
on_entry_policy(const char *digest, void *arg)
{
	(void)digest;
	on_entry_started(arg);
}

static void
on_entry_sockets(int fds[GATE_SOCKET_COUNT], void *arg)
{
	(void)fds;
	on_entry_started(arg);
}

static void
fall_back(struct pool *p)
{
	refill_after(p, p->pause_ms);
	p->pause_ms *= 4;
	if (p->pause_ms > REFILL_PAUSE_MAX_MS)
		p->pause_ms = REFILL_PAUSE_MAX_MS;
}

static void
on_entry_gone(void *arg)
{
	struct pool_entry *e = arg;
	struct pool *p = e->pool;

	log_warn("pool", "a waiting gate ended");
	pair_end(&e->pair);
	entry_remove(e);
	fall_back(p);
}

static const struct gate_owner entry_owner = {
	.on_hello = on_entry_hello,
	.on_started = on_entry_started,
	.on_policy = on_entry_policy,
	.on_sockets = on_entry_sockets,
	.on_gone = on_entry_gone,
};

static int
make_pair(struct supervisor *sv, const struct gate_owner *owner, void *arg,
    struct pool_pair *ret, struct err *err)
{
	struct pool_pair pair = { NULL, NULL };
	int rc = sandbox_net_prepare(&sv->host, &sv->plan, NET_DEVICE_TAP,
	    &pair.net, err);

	if (rc != 0)
		return rc;
	rc = gate_start(sv, pair.net, owner, arg, &pair.gate);
	if (rc != 0) {
		(void)err_os(err, rc, "starting tapward-gate");
		pair_end(&pair);
		return rc;
	}
	*ret = pair;
	return 0;
}

static int
add_entry(struct pool *p)
{
	struct pool_entry *e = calloc(1, sizeof(*e));
	struct err err;
	int rc;

	if (e == NULL)
		return -ENOMEM;
	e->pool = p;
	rc = make_pair(p->sv, &entry_owner, e, &e->pair, &err);
	if (rc != 0) {
		log_warn("pool", "%s", err.text);
		free(e);
		return rc;
	}
	TAILQ_INSERT_TAIL(&p->entries, e, entry);
	p->count++;
	return 0;
}

static void
on_refill(evutil_socket_t fd, short what, void *arg)
{
	struct pool *p = arg;

	(void)fd;
	(void)what;
	if (p->count >= p->sv->config->host->pool)
		return;
	/* Making one takes the loop for tens of milliseconds. */
	if (p->sv->creating > 0 && pool_ready_count(p) > 0) {
		refill_after(p, REFILL_YIELD_MS);
		return;
	}
	if (add_entry(p) != 0) {
		fall_back(p);
		return;
	}
	pool_fill(p);
}

int
pool_init(struct pool *p, struct supervisor *sv)
{
	*p = (struct pool){ .sv = sv, .pause_ms = REFILL_PAUSE_MIN_MS };
	TAILQ_INIT(&p->entries);
	p->refill = evtimer_new(sv->base, on_refill, p);
	return p->refill == NULL ? -ENOMEM : 0;
}

void
pool_done(struct pool *p)
{
	struct pool_entry *e;

	if (p->refill == NULL)
		return;
	while ((e = TAILQ_FIRST(&p->entries)) != NULL) {
		pair_end(&e->pair);
		entry_remove(e);
	}
	event_free(p->refill);
	p->refill = NULL;
}

void
pool_fill(struct pool *p)
{
	if (p->count < p->sv->config->host->pool &&
	    !evtimer_pending(p->refill, NULL))
		refill_after(p, p->pause_ms);
}

int
pool_take(struct pool *p, const struct gate_owner *owner, void *arg,
    struct pool_pair *ret, struct err *err)
{
	struct pool_entry *e;
	int rc;

	TAILQ_FOREACH(e, &p->entries, entry)
	if (gate_is_ready(e->pair.gate))
		break;
	if (e == NULL) {
		rc = make_pair(p->sv, owner, arg, ret, err);
	} else {
		*ret = e->pair;
		entry_remove(e);
		gate_set_owner(ret->gate, owner, arg);
		rc = 0;
	}
	pool_fill(p);
	return rc;
}

unsigned int
pool_ready_count(const struct pool *p)
{
	const struct pool_entry *e;
	unsigned int n = 0;

	TAILQ_FOREACH(e, &p->entries, entry)
	if (gate_is_ready(e->pair.gate))
		n++;
	return n;
}

bool
pool_has_inode(const struct pool *p, uint64_t inode)
{
	const struct pool_entry *e;

	TAILQ_FOREACH(e, &p->entries, entry)
	if (sandbox_net_inode(e->pair.net) == inode)
		return true;
	return false;
}
