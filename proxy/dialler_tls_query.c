/*
 * Questions by TLS, see dialler_tls.h. A question waits for one resolver, or
 * for several when the first was slow; bits say for which. Which connection it
 * went by is forgotten: an answer is known by its id and by its question, and
 * counts if that resolver was asked.
 */
#include "proxy/dialler_tls.h"

#include "base/clock.h"
#include "proxy/dialler_tls_private.h"
#include "wire/dns_ask.h"

/* How often a question goes out again because a connection ended. */
#define RESENDS_MAX 3
/*
 * So many more messages than questions, and it is no resolver. Answers that
 * come too late are no fault of that kind.
 */
#define STRAYS_MAX 32
#define TURN_MIN_MS 10

static const struct span nothing = { NULL, 0 };

static unsigned int
bit_of(const struct dialler_tls_resolver *r)
{
	return 1u << (unsigned int)(r - r->tls->resolvers);
}

/* Not later than at. */
static void
wake_at(struct dialler_tls *t, uint64_t at_mono_ms)
{
	const uint64_t now = clock_mono_ms();
	struct timeval tv;

	if (t->timer_mono_ms != 0 && t->timer_mono_ms <= at_mono_ms)
		return;
	tv = dialler_tls_in_ms(
	    at_mono_ms > now + TURN_MIN_MS ? at_mono_ms - now : TURN_MIN_MS);
	t->timer_mono_ms = at_mono_ms;
	(void)evtimer_add(t->timer, &tv);
}

/* --- questions ------------------------------------------------------------ */

static void
wait_no_more(struct dialler_query *q, struct dialler_tls_resolver *r)
{
	q->waits &= ~bit_of(r);
	r->owes--;
	dialler_tls_close_when_idle(r);
}

/* q is its owner's after this. */
static void
finish(struct dialler_tls *t, struct dialler_query *q, struct span packet,
    enum dialler_fault fault)
{
	for (unsigned int i = 0; i < t->count; i++)
		if ((q->waits & bit_of(&t->resolvers[i])) != 0)
			wait_no_more(q, &t->resolvers[i]);
	TAILQ_REMOVE(&t->queries, q, link);
	t->by_id[q->id % DIALLER_TLS_QUERIES_MAX] = NULL;
	t->open--;
	q->done(packet, fault, q->arg);
}

static void
send_to(const struct dialler_query *q, struct dialler_tls_resolver *r)
{
	r->conn_asked++;
	dialler_tls_conn_ask(r->conn, q);
}

/* False: it cannot be asked, and q->fault says why. */
static bool
put_to(struct dialler_query *q, struct dialler_tls_resolver *r)
{
	const uint64_t now = clock_mono_ms();

	q->tried |= bit_of(r);
	if (!dialler_tls_have_conn(r)) {
		q->fault = r->fault;
		return false;
	}
	(void)evtimer_del(r->idle);
	q->waits |= bit_of(r);
	r->owes++;
	q->moved_tick = ++r->tls->tick;
	q->due_mono_ms = now + r->tls->try_ms < q->end_mono_ms
	    ? now + r->tls->try_ms
	    : q->end_mono_ms;
	wake_at(r->tls, q->due_mono_ms);
	if (dialler_tls_conn_is_open(r->conn))
		send_to(q, r);
	return true;
}

/* Whom to ask next; those that rest come last. NULL: nobody is left. */
static struct dialler_tls_resolver *
choose(struct dialler_tls *t, const struct dialler_query *q)
{
	const uint64_t now = clock_mono_ms();
	struct dialler_tls_resolver *resting = NULL;

	for (unsigned int i = 0; i < t->count; i++) {
		struct dialler_tls_resolver *r = &t->resolvers[i];

		if ((q->tried & bit_of(r)) != 0)
			continue;
		if (now >= r->rests_until_mono_ms)
			return r;
		if (resting == NULL)
			resting = r;
	}
	return resting;
}

/* To the next one. Without one it waits for whoever owes it, or it is over. */
static void
move_on(struct dialler_tls *t, struct dialler_query *q)
{
	struct dialler_tls_resolver *r;

	while ((r = choose(t, q)) != NULL)
		if (put_to(q, r))
			return;
	if (q->waits == 0) {
		finish(t, q, nothing, q->fault);
		return;
	}
	q->due_mono_ms = q->end_mono_ms;
	wake_at(t, q->due_mono_ms);
}

/*
 * A connection that gave answers may end when its time is over, or the
 * resolver was started anew: what it owes is asked again there.
 */
static bool
ask_again(struct dialler_query *q, struct dialler_tls_resolver *r)
{
	if (q->resends == RESENDS_MAX)
		return false;
	q->resends++;
	return put_to(q, r);
}

/* The connection has ended, or is to. */
static void
conn_over(struct dialler_tls_resolver *r, enum dialler_fault fault,
    const char *text)
{
	struct dialler_tls *t = r->tls;
	const bool was_of_use =
	    r->conn_answers > 0 && fault != DIALLER_FAULT_BAD_ANSWER;
	const bool was_open = dialler_tls_conn_is_open(r->conn);
	const bool was_idle =
	    r->owes == 0 && fault == DIALLER_FAULT_CLOSED && was_open;
	struct dialler_query *q, *next;

	dialler_tls_close(r);
	if (!was_of_use && !was_idle)
		dialler_tls_note_down(r, fault, text);
	/*
	 * Names that nobody answers for are a guest's to choose: they keep no
	 * other guest's from being asked for at once.
	 */
	if (was_open && fault == DIALLER_FAULT_TIMEOUT)
		r->has_failed = false;
	for (q = TAILQ_FIRST(&t->queries); q != NULL; q = next) {
		next = TAILQ_NEXT(q, link);
		if ((q->waits & bit_of(r)) == 0)
			continue;
		wait_no_more(q, r);
		q->fault = fault;
		if (!was_of_use || !ask_again(q, r))
			move_on(t, q);
	}
}

static void
on_end(enum dialler_fault fault, const char *text, void *arg)
{
	conn_over(arg, fault, text);
}

static void
on_open(void *arg)
{
	struct dialler_tls_resolver *r = arg;
	struct dialler_query *q;

	dialler_tls_note_up(r);
	TAILQ_FOREACH(q, &r->tls->queries, link)
	if ((q->waits & bit_of(r)) != 0)
		send_to(q, r);
	dialler_tls_close_when_idle(r);
}

/* Whoever says this does not know; somebody else may. */
static bool
is_failure(uint8_t rcode)
{
	return rcode != DNS_RCODE_NOERROR && rcode != DNS_RCODE_NXDOMAIN;
}

static bool
on_message(struct span message, void *arg)
{
	struct dialler_tls_resolver *r = arg;
	struct dialler_tls *t = r->tls;
	const uint16_t id = dns_ask_id(message);
	struct dialler_query *q = t->by_id[id % DIALLER_TLS_QUERIES_MAX];
	uint8_t rcode;

	r->conn_messages++;
	if (q == NULL || q->id != id || (q->waits & bit_of(r)) == 0 ||
	    !dns_ask_answers(message, q->host, q->type, &rcode))
		return r->conn_messages < r->conn_asked + STRAYS_MAX;
	r->conn_answers++;
	r->state.answers++;
	r->heard_tick = ++t->tick;
	if (!is_failure(rcode)) {
		finish(t, q, message, DIALLER_FAULT_NONE);
		return true;
	}
	wait_no_more(q, r);
	q->fault = DIALLER_FAULT_FAILED;
	move_on(t, q);
	return true;
}

/* --- time ----------------------------------------------------------------- */

/* Connected, and nothing at all has come since q was put to it. */
static bool
is_silent(const struct dialler_tls_resolver *r, const struct dialler_query *q)
{
	return (q->waits & bit_of(r)) != 0 &&
	    dialler_tls_conn_is_open(r->conn) && r->heard_tick < q->moved_tick;
}

static struct dialler_tls_resolver *
find_silent(struct dialler_tls *t, const struct dialler_query *q)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (is_silent(&t->resolvers[i], q))
			return &t->resolvers[i];
	return NULL;
}

/*
 * The next one is asked, too. A connection that is silent is given up if it was
 * of use before, since it may be dead without our having been told, or if there
 * is somebody else to wait for: a lone resolver may be slow for once.
 */
static void
on_late(struct dialler_tls *t, struct dialler_query *q)
{
	struct dialler_tls_resolver *silent = find_silent(t, q);
	unsigned int before = q->waits;

	if (silent != NULL)
		silent->rests_until_mono_ms =
		    clock_mono_ms() + DIALLER_TLS_REST_MS;
	move_on(t, q);
	/* q may be over after this. */
	if (silent != NULL && (silent->conn_answers > 0 || q->waits != before))
		conn_over(silent, DIALLER_FAULT_TIMEOUT, "no answer");
}

static void
on_given_up(struct dialler_tls *t, struct dialler_query *q)
{
	struct dialler_tls_resolver *silent = find_silent(t, q);

	finish(t, q, nothing, DIALLER_FAULT_TIMEOUT);
	if (silent != NULL)
		conn_over(silent, DIALLER_FAULT_TIMEOUT, "no answer");
}

static struct dialler_query *
find_due(const struct dialler_tls *t, uint64_t now)
{
	struct dialler_query *q;

	TAILQ_FOREACH(q, &t->queries, link)
	if (q->due_mono_ms <= now)
		return q;
	return NULL;
}

void
dialler_tls_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_tls *t = arg;
	const uint64_t now = clock_mono_ms();
	struct dialler_query *q;

	(void)fd;
	(void)what;
	t->timer_mono_ms = 0;
	while ((q = find_due(t, now)) != NULL) {
		if (now >= q->end_mono_ms)
			on_given_up(t, q);
		else
			on_late(t, q);
	}
	TAILQ_FOREACH(q, &t->queries, link)
	wake_at(t, q->due_mono_ms);
}

/* --- outside -------------------------------------------------------------- */

struct dialler_tls_owner
dialler_tls_owner_of(struct dialler_tls_resolver *r)
{
	return (struct dialler_tls_owner){ .on_open = on_open,
		.on_message = on_message,
		.on_end = on_end,
		.arg = r };
}

void
dialler_tls_cancel_all(struct dialler_tls *t)
{
	struct dialler_query *q;

	while ((q = TAILQ_FIRST(&t->queries)) != NULL)
		finish(t, q, nothing, DIALLER_FAULT_CANCELLED);
}

/* Ids go round, so that a late answer meets none of a later question's. */
static bool
take_id(struct dialler_tls *t, struct dialler_query *q)
{
	if (t->open == DIALLER_TLS_QUERIES_MAX)
		return false;
	do
		t->last_id = (uint16_t)((t->last_id + 1u) & UINT16_MAX);
	while (t->by_id[t->last_id % DIALLER_TLS_QUERIES_MAX] != NULL);
	q->id = t->last_id;
	t->by_id[q->id % DIALLER_TLS_QUERIES_MAX] = q;
	t->open++;
	return true;
}

void
dialler_tls_ask(struct dialler_tls *t, const char *host, uint16_t type,
    struct dialler_query *q)
{
	if (t->count == 0 || !take_id(t, q)) {
		q->done(nothing,
		    t->count == 0 ? DIALLER_FAULT_NO_RESOLVER
				  : DIALLER_FAULT_TOO_MANY,
		    q->arg);
		return;
	}
	q->host = host;
	q->type = type;
	q->tried = q->waits = q->resends = 0;
	q->fault = DIALLER_FAULT_NONE;
	q->end_mono_ms = clock_mono_ms() + t->give_up_ms;
	TAILQ_INSERT_TAIL(&t->queries, q, link);
	move_on(t, q);
}
