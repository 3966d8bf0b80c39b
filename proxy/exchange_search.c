/*
 * The search of an answer for the credential that its request carried.
 * Nothing that was not searched reaches the guest's half.
 */
#include "proxy/exchange_private.h"

#include <stdio.h>

bool
exchange_holds_secret(struct exchange *x, struct span s)
{
	if (injection_has_forms(x->injection))
		(void)scan_look(&x->injection->forms, s, true, &x->found);
	return x->found.form != SCAN_NONE;
}

void
exchange_refuse_leak(struct exchange *x, const char *where)
{
	char detail[EXCHANGE_LEAK_SIZE];

	exchange_leak_text(x, where, detail);
	exchange_refuse_for(x, REASON_CREDENTIAL_LEAK, detail);
}

void
exchange_leak_text(const struct exchange *x, const char *where,
    char buf[EXCHANGE_LEAK_SIZE])
{
	const struct scan_found *found =
	    x->found.form != SCAN_NONE ? &x->found : &x->sieve.found;
	char form[SCAN_FORM_TEXT_SIZE];

	scan_found_text(found, form);
	(void)snprintf(buf, EXCHANGE_LEAK_SIZE, "%s, %s", where, form);
}

/*
 * False: it cannot be searched. A part of what is coded cannot be read; that
 * it is a part, nobody asked for.
 */
bool
exchange_search_begin(struct exchange *x, const struct http_response *res)
{
	enum coding coding = coding_of(&res->fields);

	if (!exchange_is_searched(x))
		return true;
	sieve_init(&x->sieve, &x->injection->forms);
	if (res->framing == HTTP_FRAMING_NONE || coding == CODING_NONE)
		return true;
	if (coding == CODING_OTHER || res->status == 206) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    "coded so that it cannot be searched for the credential");
		return false;
	}
	if (!sieve_decode(&x->sieve, coding, &x->gate->decode)) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    "coded, and there is no memory to look into more of such");
		return false;
	}
	return true;
}

/* False: it is over. */
static bool
goes_on(struct exchange *x, enum sieve_status s)
{
	switch (s) {
	case SIEVE_GOES_ON:
		return true;
	case SIEVE_TURN:
		event_active(&x->kick, 0, 0);
		return true;
	case SIEVE_LEAK:
		exchange_refuse_leak(x, "in its body");
		break;
	case SIEVE_BROKEN:
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    "it is not what its coding says");
		break;
	case SIEVE_LARGE:
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    "too much of it cannot be searched for the credential");
		break;
	case SIEVE_MEMORY:
		exchange_refuse_for(x, REASON_BAD_RESPONSE, "out of memory");
		break;
	}
	return false;
}

void
exchange_search_on_kick(evutil_socket_t fd, short what, void *arg)
{
	struct exchange *x = arg;

	(void)fd;
	(void)what;
	if (x->state == EXCHANGE_OPEN && goes_on(x, sieve_run(&x->sieve)))
		exchange_resume(x);
}

bool
exchange_search_end(struct exchange *x)
{
	return !exchange_is_searched(x) || goes_on(x, sieve_end(&x->sieve));
}

bool
exchange_give(struct exchange *x)
{
	struct span s = sieve_ready(&x->sieve);

	if (s.len > 0) {
		size_t taken = x->ops->body(x->arg, s);

		exchange_went_down(x, taken);
		sieve_take(&x->sieve, taken);
	}
	return sieve_is_empty(&x->sieve);
}

/* What is searched goes on without a copy. Returns how much did. */
static size_t
skim(struct exchange *x, struct span data)
{
	size_t taken;

	data.len = sieve_skim(&x->sieve, data);
	if (data.len == 0)
		return 0;
	taken = x->ops->body(x->arg, data);
	sieve_skimmed(&x->sieve, taken);
	exchange_went_down(x, taken);
	return taken;
}

size_t
exchange_search_body(struct exchange *x, struct span data)
{
	size_t skimmed = skim(x, data), room;

	/* The guest's half takes no more, or something is to be held. */
	if (x->sieve.skimmed > 0)
		return skimmed;
	data.ptr += skimmed;
	data.len -= skimmed;
	room = sieve_room(&x->sieve);
	if (data.len > room)
		data.len = room;
	if (data.len > 0 && goes_on(x, sieve_put(&x->sieve, data)))
		(void)exchange_give(x);
	return skimmed + data.len;
}
