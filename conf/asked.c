/*
 * What was allowed, see asked.h. Times are those of boot: a host that slept
 * has let it end.
 */
#include "conf/asked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct asked_entry {
	TAILQ_ENTRY(asked_entry) link;
	struct message_ask_subject subject;
	bool by_host;
	uint64_t until_boot_ms;
};

void
asked_init(struct asked *all)
{
	TAILQ_INIT(&all->entries);
	all->count = 0;
}

static void
drop(struct asked *all, struct asked_entry *e)
{
	TAILQ_REMOVE(&all->entries, e, link);
	all->count--;
	free(e);
}

void
asked_done(struct asked *all)
{
	while (!TAILQ_EMPTY(&all->entries))
		drop(all, TAILQ_FIRST(&all->entries));
}

static void
drop_ended(struct asked *all)
{
	const uint64_t now_ms = clock_boot_ms();
	struct asked_entry *e, *next;

	for (e = TAILQ_FIRST(&all->entries); e != NULL; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->until_boot_ms <= now_ms)
			drop(all, e);
	}
}

int
asked_add(struct asked *all, const struct message_ask_allowed *m)
{
	struct asked_entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return -ENOMEM;
	drop_ended(all);
	if (all->count == ASKED_MAX)
		drop(all, TAILQ_FIRST(&all->entries));
	e->subject = m->subject;
	e->by_host = m->by_host;
	e->until_boot_ms = clock_boot_ms() + (uint64_t)m->seconds * 1000;
	TAILQ_INSERT_TAIL(&all->entries, e, link);
	all->count++;
	return 0;
}

static bool
is_place(const struct asked_entry *e, const struct verdict *v, const char *host,
    uint16_t port)
{
	return e->until_boot_ms > clock_boot_ms() &&
	    (e->by_host || !v->by_ceiling) &&
	    (enum scheme)e->subject.scheme == v->scheme &&
	    e->subject.port == port && strcmp(e->subject.host, host) == 0;
}

static bool
is_request(const struct asked_entry *e, const struct verdict *v,
    const struct policy_request *req)
{
	struct span left = span_of(e->subject.target), path = left;
	const uint8_t *mark = memchr(left.ptr, '?', left.len);

	if (mark != NULL)
		path.len = (size_t)(mark - left.ptr);
	left.ptr += path.len;
	left.len -= path.len;
	if (left.len > 0) {
		left.ptr++;
		left.len--;
	}
	return span_is(req->method, e->subject.method) &&
	    span_eq(req->path, path) && req->has_query == (mark != NULL) &&
	    (mark == NULL || span_eq(req->query, left)) &&
	    req->is_websocket == e->subject.is_websocket &&
	    strcmp(v->credential, e->subject.credential) == 0;
}

struct verdict
asked_dial(const struct asked *all, struct verdict v, const char *host,
    uint16_t port)
{
	const struct asked_entry *e;

	if (v.action != ACTION_ASK)
		return v;
	TAILQ_FOREACH(e, &all->entries, link)
	if (is_place(e, &v, host, port))
		v.action = ACTION_ALLOW;
	return v;
}

struct verdict
asked_request(const struct asked *all, struct verdict v,
    const struct policy_request *req)
{
	const struct asked_entry *e;

	if (v.action != ACTION_ASK)
		return v;
	TAILQ_FOREACH(e, &all->entries, link)
	if (is_place(e, &v, req->host, req->port) && is_request(e, &v, req))
		v.action = ACTION_ALLOW;
	return v;
}
