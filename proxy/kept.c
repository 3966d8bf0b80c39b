/*
 * Leases that are kept, see kept.h.
 */
#include "proxy/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Each takes locked pages; a policy that names more asks anew each time. */
#define KEPT_MAX 64
/* A look at the ends of kept leases: none lies in memory longer than this. */
#define SWEEP_MS 1000

struct kept {
	TAILQ_ENTRY(kept) link;
	struct kept_key key;
	struct injection *lease; /* a reference */
};

static bool
key_equals(const struct kept_key *a, const struct kept_key *b)
{
	return strcmp(a->credential, b->credential) == 0 &&
	    strcmp(a->host, b->host) == 0 && a->port == b->port &&
	    a->scheme == b->scheme && strcmp(a->region, b->region) == 0 &&
	    strcmp(a->service, b->service) == 0;
}

static void
drop(struct kept_leases *l, struct kept *k)
{
	TAILQ_REMOVE(&l->line, k, link);
	l->count--;
	injection_unref(k->lease);
	free(k);
}

static void
drop_ended(struct kept_leases *l)
{
	uint64_t now_ms = clock_boot_ms();
	struct kept *k, *next;

	for (k = TAILQ_FIRST(&l->line); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (k->lease->lease.expires_boot_ms <= now_ms)
			drop(l, k);
	}
}

static struct kept *
find(struct kept_leases *l, const struct kept_key *key)
{
	struct kept *k;

	drop_ended(l);
	TAILQ_FOREACH(k, &l->line, link)
	if (key_equals(&k->key, key))
		return k;
	return NULL;
}

static void
sweep_later(struct kept_leases *l)
{
	static const struct timeval delay = { SWEEP_MS / 1000, 0 };

	if (l->count > 0)
		(void)event_add(l->sweep, &delay);
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct kept_leases *l = arg;

	(void)fd;
	(void)what;
	drop_ended(l);
	sweep_later(l);
}

int
kept_init(struct kept_leases *l, struct event_base *base)
{
	TAILQ_INIT(&l->line);
	l->count = 0;
	l->sweep = evtimer_new(base, on_sweep, l);
	return l->sweep == NULL ? -ENOMEM : 0;
}

void
kept_done(struct kept_leases *l)
{
	kept_forget(l, NULL);
	if (l->sweep != NULL)
		event_free(l->sweep);
	l->sweep = NULL;
}

struct injection *
kept_find(struct kept_leases *l, const struct kept_key *key)
{
	struct kept *k = find(l, key);

	return k == NULL ? NULL : k->lease;
}

void
kept_add(struct kept_leases *l, const struct kept_key *key,
    struct injection *in)
{
	struct kept *k = find(l, key);

	if (k != NULL)
		drop(l, k);
	if (l->count >= KEPT_MAX)
		drop(l, TAILQ_FIRST(&l->line));
	k = malloc(sizeof(*k));
	if (k == NULL)
		return;
	*k = (struct kept){ .key = *key, .lease = injection_ref(in) };
	TAILQ_INSERT_TAIL(&l->line, k, link);
	l->count++;
	sweep_later(l);
}

void
kept_forget(struct kept_leases *l, const char *credential)
{
	struct kept *k, *next;

	for (k = TAILQ_FIRST(&l->line); k != NULL; k = next) {
		next = TAILQ_NEXT(k, link);
		if (credential == NULL ||
		    strcmp(k->key.credential, credential) == 0)
			drop(l, k);
	}
}

void
kept_reject(struct kept_leases *l, uint64_t lease_id)
{
	struct kept *k, *next;

	for (k = TAILQ_FIRST(&l->line); k != NULL; k = next) {
		const struct message_lease *m = &k->lease->lease;

		next = TAILQ_NEXT(k, link);
		if (m->lease_id == lease_id && m->renew_boot_ms != 0)
			drop(l, k);
	}
}
