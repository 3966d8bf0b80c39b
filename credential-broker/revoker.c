/*
 * Giving values back, see revoker.h.
 */
#include "credential-broker/revoker.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include <event2/event.h>

#include "base/log.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/journal.h"

#define AREA "revoke"
#define TRY_MS 5000u
#define PAUSE_MS 1000u

struct entry {
	LIST_ENTRY(entry) link;
	struct revoker *revoker;
	struct credential *credential; /* a reference */
	struct secret what;
	uint64_t journal;    /* its entry there; 0 without one */
	struct event *timer; /* of a try, or of the pause before one */
	struct revoke *flight;
	unsigned int tries;
};

struct revoker {
	struct broker *broker;
	unsigned int count;
	LIST_HEAD(entries, entry) entries;
};

static void
entry_free(struct entry *e)
{
	if (e->flight != NULL)
		e->credential->kind->revoke_cancel(e->flight);
	free(e->flight);
	if (e->timer != NULL)
		event_free(e->timer);
	secret_done(&e->what);
	LIST_REMOVE(e, link);
	e->revoker->count--;
	credential_unref(e->credential);
	free(e);
}

static void
arm(struct entry *e, unsigned int ms)
{
	const struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	if (evtimer_add(e->timer, &tv) == -1)
		entry_free(e);
}

static void
finish(struct entry *e, enum mint_fault fault)
{
	const char *name = e->credential->definition.name;

	if (fault == MINT_OK) {
		log_info(AREA, "credential=%s revoked", name);
		journal_done(e->credential->broker->journal, e->journal);
	} else if (mint_faults[fault].is_permanent ||
	    e->tries == REVOKER_TRIES) {
		log_warn(AREA,
		    "credential=%s fault=%s: it was not given back and lives "
		    "until its end, or until this is tried at the next start",
		    name, mint_faults[fault].word);
		journal_keep(e->credential->broker->journal, e->journal);
	} else {
		arm(e, PAUSE_MS << e->tries);
		return;
	}
	entry_free(e);
}

static void
on_done(struct revoke *r, enum mint_fault fault)
{
	struct entry *e = r->arg;

	free(e->flight);
	e->flight = NULL;
	finish(e, fault);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct entry *e = arg;
	struct revoke *r;

	(void)fd;
	(void)what;
	if (e->flight != NULL) {
		e->credential->kind->revoke_cancel(e->flight);
		free(e->flight);
		e->flight = NULL;
		finish(e, MINT_TIMEOUT);
		return;
	}
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		entry_free(e);
		return;
	}
	*r = (struct revoke){ .broker = e->revoker->broker,
		.credential = e->credential,
		.what = secret_span(&e->what),
		.done = on_done,
		.arg = e };
	e->flight = r;
	e->tries++;
	/* Before it begins: it may be over, and e gone, when that returns. */
	arm(e, TRY_MS);
	e->credential->kind->revoke(r);
}

static bool
can_give_back(const struct credential *c, const struct minted *m)
{
	return c->kind->revoke != NULL &&
	    (m->revokes_itself || m->revocation.len > 0);
}

bool
revoker_note(struct credential *c, struct minted *m)
{
	if (!can_give_back(c, m) || m->journal != 0)
		return true;
	m->journal = journal_add(c->broker->journal, c,
	    secret_span(m->revokes_itself ? &m->value : &m->revocation),
	    m->not_after_boot_ms);
	return m->journal != 0;
}

void
revoker_forget(struct credential *c, const struct minted *m)
{
	journal_done(c->broker->journal, m->journal);
}

/* Takes what. It stays in the journal if there is no room for it here. */
static void
add(struct credential *c, struct secret *what, uint64_t journal)
{
	struct revoker *r = c->broker->revoker;
	struct entry *e =
	    r->count == REVOKER_MAX ? NULL : calloc(1, sizeof(*e));

	if (e == NULL) {
		secret_done(what);
		journal_keep(c->broker->journal, journal);
		return;
	}
	e->revoker = r;
	e->credential = credential_ref(c);
	e->what = secret_steal(what);
	e->journal = journal;
	LIST_INSERT_HEAD(&r->entries, e, link);
	r->count++;
	e->timer = evtimer_new(r->broker->base, on_timer, e);
	if (e->timer == NULL)
		entry_free(e);
	else
		arm(e, 0);
}

void
revoker_take(struct credential *c, struct minted *m)
{
	if (can_give_back(c, m))
		add(c, m->revokes_itself ? &m->value : &m->revocation,
		    m->journal);
}

void
revoker_sweep(struct broker *b)
{
	const struct credential_set *set = b->set;
	unsigned int count = 0;

	for (unsigned int i = 0; i < set->count; i++) {
		struct credential *c = set->credentials[i];
		struct secret what = SECRET_NONE;
		uint64_t id;

		while (c->is_loaded && c->kind->revoke != NULL &&
		    journal_orphan(b->journal, c, &id, &what)) {
			add(c, &what, id);
			count++;
		}
	}
	if (count > 0)
		log_info(AREA, "orphans=%u are given back", count);
}

unsigned int
revoker_count(const struct revoker *r)
{
	return r->count;
}

int
revoker_new(struct broker *b, struct revoker **ret)
{
	struct revoker *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return -ENOMEM;
	r->broker = b;
	LIST_INIT(&r->entries);
	*ret = r;
	return 0;
}

void
revoker_free(struct revoker *r)
{
	struct entry *e, *next;

	if (r == NULL)
		return;
	for (e = LIST_FIRST(&r->entries); e != NULL; e = next) {
		next = LIST_NEXT(e, link);
		entry_free(e);
	}
	free(r);
}
