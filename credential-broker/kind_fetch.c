/*
 * Flights of one question, see kind_fetch.h.
 */
#include "credential-broker/kind_fetch.h"

void
kind_fetch_begun(struct mint *m, struct fetch *t, enum mint_fault fault)
{
	m->state = t;
	if (t == NULL)
		mint_end(m, fault, NULL, 0);
}

void
kind_fetch_end(struct mint *m, enum mint_fault fault, struct minted *result,
    uint32_t retry_after_s)
{
	m->state = NULL;
	mint_end(m, fault, result, retry_after_s);
	minted_done(result);
}

void
kind_fetch_cancel(struct mint *m)
{
	fetch_cancel(m->state);
	m->state = NULL;
}

void
kind_fetch_revoke_begun(struct revoke *r, struct fetch *t,
    enum mint_fault fault)
{
	r->state = t;
	if (t == NULL)
		revoke_end(r, fault);
}

void
kind_fetch_revoke_end(struct revoke *r, enum mint_fault fault)
{
	r->state = NULL;
	revoke_end(r, fault);
}

void
kind_fetch_revoke_cancel(struct revoke *r)
{
	fetch_cancel(r->state);
	r->state = NULL;
}
