/*
 * Flights of questions, see dialler_resolve.h. A flight lives until both of its
 * questions are answered, which may be after its deadline: whoever
 * asks for the name then joins it anew.
 */
#include "proxy/dialler_resolve.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/message.h"
#include "base/names.h"
#include "conf/resolver_text.h"
#include "proxy/dialler_ares.h"
#include "proxy/dialler_health.h"
#include "proxy/dialler_tls.h"
#include "wire/dns.h"

/* Names asked at once, of all sandboxes: two sockets and some KiB each. */
#define FLIGHTS_MAX 1024

enum { HALF_IPV4, HALF_IPV6, HALVES };

static const uint16_t half_types[HALVES] = {
	[HALF_IPV4] = DNS_TYPE_A,
	[HALF_IPV6] = DNS_TYPE_AAAA,
};

struct flight;

/* One of the two questions. */
struct half {
	struct flight *flight;
	struct dialler_query query;
	bool is_open;
	enum dialler_answer_status status;
	enum dialler_fault fault; /* why it is FAILED */
	struct dialler_answer answer;
};

struct dialler_lookup {
	LIST_ENTRY(dialler_lookup) link;
	dialler_resolved *done;
	void *arg;
};

struct flight {
	LIST_ENTRY(flight) link;
	struct dialler_resolver *resolver;
	char host[HOST_NAME_SIZE];
	uint64_t whose; /* who asked first */
	struct half halves[HALVES];
	struct event *timer;
	LIST_HEAD(lookups, dialler_lookup) lookups;
};

struct dialler_resolver {
	struct event_base *base;
	struct dialler_ares *ares;
	struct dialler_tls *tls;
	bool is_tls; /* they are asked by it, and in no other way */
	struct dialler_cache *cache;
	const struct message_dialler_config *config;
	LIST_HEAD(flights, flight) flights;
	unsigned int flight_count;
};

/* What both halves came to, by now. */
struct outcome {
	bool is_known; /* an answer that may be kept */
	uint32_t ttl_s;
	enum dialler_fault why; /* there is none */
	unsigned int count;
	struct address addresses[DIALLER_RESOLVED_MAX];
};

static bool
flight_is_open(const struct flight *f)
{
	return f->halves[HALF_IPV4].is_open || f->halves[HALF_IPV6].is_open;
}

static void
flight_free(struct flight *f)
{
	struct dialler_lookup *l, *next;

	for (l = LIST_FIRST(&f->lookups); l != NULL; l = next) {
		next = LIST_NEXT(l, link);
		LIST_REMOVE(l, link);
		free(l);
	}
	LIST_REMOVE(f, link);
	f->resolver->flight_count--;
	event_free(f->timer);
	free(f);
}

static void
add_half(struct outcome *o, const struct dialler_answer *a)
{
	memcpy(&o->addresses[o->count], a->addresses,
	    a->count * sizeof(a->addresses[0]));
	o->count += a->count;
	if (a->ttl_s < o->ttl_s)
		o->ttl_s = a->ttl_s;
}

static uint32_t
clamp(uint32_t v, uint32_t min, uint32_t max)
{
	if (v < min)
		return min;
	return v > max ? max : v;
}

/*
 * A half that is open still, or failed, leaves the other one to count: a
 * nameserver that cannot do AAAA must not take a host away. An answer that is
 * not one spoils both.
 */
static void
flight_outcome(const struct flight *f, struct outcome *ret)
{
	const struct message_dialler_limits *limits =
	    &f->resolver->config->limits;
	bool is_none = true;

	*ret = (struct outcome){ .ttl_s = UINT32_MAX };
	for (int i = 0; i < HALVES; i++) {
		const struct half *h = &f->halves[i];

		if (h->status == DIALLER_ANSWER_BAD) {
			ret->count = 0;
			ret->why = DIALLER_FAULT_BAD_ANSWER;
			return;
		}
		if (h->status == DIALLER_ANSWER_FAILED)
			ret->why = h->fault;
		if (h->status == DIALLER_ANSWER_ADDRESSES)
			add_half(ret, &h->answer);
		if (h->status != DIALLER_ANSWER_NONE)
			is_none = false;
	}
	if (is_none)
		ret->why = DIALLER_FAULT_NO_NAME;
	ret->is_known = is_none || ret->count > 0;
	ret->ttl_s = is_none
	    ? limits->cache_negative_s
	    : clamp(ret->ttl_s, limits->cache_min_s, limits->cache_max_s);
}

/* Tells everybody who waits; callees may cancel lookups, but not ask. */
static void
flight_tell(struct flight *f, const struct outcome *o)
{
	struct dialler_lookup *l;

	while ((l = LIST_FIRST(&f->lookups)) != NULL) {
		LIST_REMOVE(l, link);
		l->done(o->addresses, o->count, o->why, l->arg);
		free(l);
	}
}

static void
flight_finish(struct flight *f)
{
	struct outcome o;

	flight_outcome(f, &o);
	if (o.is_known)
		dialler_cache_put(f->resolver->cache, f->host, o.addresses,
		    o.count, o.ttl_s);
	flight_tell(f, &o);
	flight_free(f);
}

/* The deadline; or, made active by flight_start(), the end of both halves. */
static void
on_flight_timer(evutil_socket_t fd, short what, void *arg)
{
	struct flight *f = arg;
	struct outcome o;

	(void)fd;
	(void)what;
	if (!flight_is_open(f)) {
		flight_finish(f);
		return;
	}
	if (!f->resolver->is_tls)
		dialler_health_suspect(dialler_ares_health(f->resolver->ares));
	flight_outcome(f, &o);
	flight_tell(f, &o);
}

/* May come from inside flight_start(), so the loop goes on. */
static void
on_half(struct span packet, enum dialler_fault fault, void *arg)
{
	struct half *h = arg;
	struct flight *f = h->flight;

	h->is_open = false;
	if (fault == DIALLER_FAULT_CANCELLED)
		return;
	h->fault =
	    packet.len == 0 ? fault : DIALLER_FAULT_FAILED; /* it says so */
	h->status = packet.len == 0
	    ? DIALLER_ANSWER_FAILED
	    : dialler_answer_parse(packet, f->host, half_types[h - f->halves],
		  &h->answer);
	if (packet.len > 0 && !f->resolver->is_tls)
		dialler_health_answered(dialler_ares_health(f->resolver->ares),
		    h->query.sender,
		    dialler_answer_is_ours(packet, f->host,
			half_types[h - f->halves]));
	if (!flight_is_open(f))
		event_active(f->timer, EV_TIMEOUT, 0);
}

/* From when somebody waits for it. */
static void
flight_arm(struct flight *f)
{
	const uint32_t ms = f->resolver->config->limits.resolve_timeout_ms;
	const struct timeval deadline = { .tv_sec = ms / 1000,
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	(void)evtimer_del(f->timer);
	(void)evtimer_add(f->timer, &deadline);
}

static void
half_ask(struct half *h, uint16_t type)
{
	const struct flight *f = h->flight;
	const struct dialler_resolver *r = f->resolver;

	if (r->is_tls)
		dialler_tls_ask(r->tls, f->host, type, &h->query);
	else
		dialler_ares_ask(r->ares, f->host, type, &h->query);
}

static void
flight_start(struct flight *f)
{
	for (int i = 0; i < HALVES; i++) {
		f->halves[i].is_open = true;
		f->halves[i].status = DIALLER_ANSWER_FAILED;
		f->halves[i].fault = DIALLER_FAULT_TIMEOUT;
	}
	for (int i = 0; i < HALVES; i++)
		half_ask(&f->halves[i], half_types[i]);
}

/* The questions of one sandbox must leave room for those of others. */
static bool
may_fly(const struct dialler_resolver *r, uint64_t whose)
{
	const struct flight *f;
	uint32_t count = 0;

	if (r->flight_count == FLIGHTS_MAX)
		return false;
	LIST_FOREACH(f, &r->flights, link)
	count += f->whose == whose ? 1 : 0;
	return whose == RESOLVER_OURS || count < r->config->limits.in_flight;
}

static struct flight *
flight_new(struct dialler_resolver *r, const char *host, uint64_t whose)
{
	struct flight *f;

	if (!may_fly(r, whose))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NULL;
	f->timer = evtimer_new(r->base, on_flight_timer, f);
	if (f->timer == NULL) {
		free(f);
		return NULL;
	}
	f->resolver = r;
	f->whose = whose;
	assert(strlen(host) < sizeof(f->host));
	memcpy(f->host, host, strlen(host) + 1);
	for (int i = 0; i < HALVES; i++) {
		struct half *h = &f->halves[i];

		h->flight = f;
		h->query = (struct dialler_query){ .done = on_half, .arg = h };
	}
	LIST_INSERT_HEAD(&r->flights, f, link);
	r->flight_count++;
	return f;
}

static struct flight *
flight_find(struct dialler_resolver *r, const char *host)
{
	struct flight *f;

	LIST_FOREACH(f, &r->flights, link)
	if (strcmp(f->host, host) == 0)
		return f;
	return NULL;
}

int
dialler_resolver_new(struct event_base *base, struct dialler_resolver **ret)
{
	struct dialler_resolver *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return -ENOMEM;
	r->base = base;
	r->cache = dialler_cache_new(1);
	rc = r->cache == NULL ? -ENOMEM : dialler_ares_new(base, &r->ares);
	if (rc == 0)
		rc = dialler_tls_new(base, &r->tls);
	if (rc != 0) {
		dialler_resolver_free(r);
		return rc;
	}
	*ret = r;
	return 0;
}

void
dialler_resolver_free(struct dialler_resolver *r)
{
	struct flight *f, *next;

	if (r == NULL)
		return;
	/* They cancel the halves, which live in the flights. */
	dialler_ares_free(r->ares);
	dialler_tls_free(r->tls);
	for (f = LIST_FIRST(&r->flights); f != NULL; f = next) {
		next = LIST_NEXT(f, link);
		flight_free(f);
	}
	dialler_cache_free(r->cache);
	free(r);
}

static void
restart_flights(struct dialler_resolver *r)
{
	struct flight *f, *next;

	for (f = LIST_FIRST(&r->flights); f != NULL; f = next) {
		next = LIST_NEXT(f, link);
		if (LIST_EMPTY(&f->lookups)) {
			flight_free(f);
			continue;
		}
		flight_arm(f);
		flight_start(f);
	}
}

/* Whom one way has, the other way has not: nothing falls back to it. */
static int
set_resolvers(struct dialler_resolver *r, int roots_fd)
{
	const struct message_dialler_config *c = r->config;
	struct roots *roots = NULL;
	int rc = 0, tls_rc;

	r->is_tls =
	    c->resolver_count > 0 && c->resolvers[0].tls_name[0] != '\0';
	if (roots_fd != -1 && r->is_tls)
		rc = roots_map(roots_fd, &roots);
	tls_rc = dialler_tls_configure(r->tls, c->resolvers,
	    r->is_tls ? c->resolver_count : 0, roots,
	    c->limits.resolve_timeout_ms);
	roots_unref(roots);
	if (rc == 0)
		rc = tls_rc;
	tls_rc = dialler_ares_set_resolvers(r->ares, c->resolvers,
	    r->is_tls ? 0 : c->resolver_count);
	return rc != 0 ? rc : tls_rc;
}

int
dialler_resolver_configure(struct dialler_resolver *r,
    const struct message_dialler_config *config, int roots_fd)
{
	int rc;

	r->config = config;
	dialler_cache_flush(r->cache);
	dialler_cache_resize(r->cache, config->limits.cache_names);
	rc = set_resolvers(r, roots_fd);
	restart_flights(r);
	return rc;
}

void
dialler_resolver_probe(struct dialler_resolver *r)
{
	dialler_tls_probe(r->tls);
	/* Where all goes by a forward proxy, hardly a name is resolved here. */
	if (r->config->proxy.host[0] == '\0')
		dialler_health_look(dialler_ares_health(r->ares));
}

void
dialler_resolver_status(const struct dialler_resolver *r,
    struct message_dialler_status *ret)
{
	*ret = (struct message_dialler_status){ .resolver_count = 0 };
	if (r->config == NULL)
		return;
	ret->resolver_count = r->config->resolver_count;
	for (unsigned int i = 0; i < ret->resolver_count; i++) {
		(void)resolver_text(&r->config->resolvers[i], ret->names[i]);
		if (r->is_tls)
			dialler_tls_state(r->tls, i, &ret->resolvers[i]);
		else
			dialler_health_state(dialler_ares_health(r->ares), i,
			    &ret->resolvers[i]);
	}
}

void
dialler_resolver_watch(struct dialler_resolver *r,
    dialler_resolver_changed *changed, void *arg)
{
	dialler_tls_watch(r->tls, changed, arg);
	dialler_health_watch(dialler_ares_health(r->ares), changed, arg);
}

void
dialler_resolver_tell(const struct dialler_resolver *r, struct chan *to)
{
	struct message_dialler_status m;
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	if (to == NULL)
		return;
	dialler_resolver_status(r, &m);
	message_dialler_status_encode(&w, &m);
	/* A channel that is gone tells so itself. */
	(void)chan_send(to, MSG_RESOLVERS, 0, &w, NULL, 0);
}

bool
dialler_resolver_known(struct dialler_resolver *r, const char *host,
    struct dialler_cached *ret)
{
	return dialler_cache_find(r->cache, host, ret);
}

struct dialler_lookup *
dialler_resolver_ask(struct dialler_resolver *r, const char *host,
    uint64_t whose, dialler_resolved *done, void *arg)
{
	struct dialler_lookup *l;
	struct flight *f;
	bool is_new;

	if (r->config == NULL)
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return NULL;
	f = flight_find(r, host);
	is_new = f == NULL;
	if (is_new)
		f = flight_new(r, host, whose);
	if (f == NULL) {
		free(l);
		return NULL;
	}
	l->done = done;
	l->arg = arg;
	if (LIST_EMPTY(&f->lookups))
		flight_arm(f);
	LIST_INSERT_HEAD(&f->lookups, l, link);
	if (is_new)
		flight_start(f);
	return l;
}

void
dialler_lookup_cancel(struct dialler_lookup *l)
{
	if (l == NULL)
		return;
	LIST_REMOVE(l, link);
	free(l);
}
