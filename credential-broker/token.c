/*
 * The engine of minted values, see token.h. All deadlines are of
 * CLOCK_BOOTTIME and are looked at when somebody asks; a timer only bounds a
 * flight.
 */
#include "credential-broker/token.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "credential-broker/broker.h"
#include "credential-broker/credential.h"
#include "credential-broker/lease.h"
#include "credential-broker/record.h"
#include "credential-broker/revoker.h"
#include "credential-broker/sandbox.h"

#define AREA "token"
#define SECOND_MS UINT64_C(1000)
/* A value is used until so much before its end, or a tenth of its life. */
#define HARD_MARGIN_MS (10 * SECOND_MS)
/* The next one is fetched so much before, or a third of its life. */
#define SOFT_MARGIN_MS (60 * SECOND_MS)
/* From the answer to whoever asked for it, on a machine that is busy. */
#define ARRIVAL_MS (SECOND_MS / 2)
/* One that lives shorter than this has ended when it is used. */
#define LIFE_MIN_MS (2 * SECOND_MS)
/* After a failure: doubled each time, half of it at random. */
#define BACKOFF_MS SECOND_MS
#define BACKOFF_MAX_MS (300 * SECOND_MS)
/* What nobody but an operator can mend. */
#define PERMANENT_MS (60 * SECOND_MS)

struct token_wait {
	TAILQ_ENTRY(token_wait) link;
	uint32_t id;
	struct message_lease_request req; /* path and query lie behind it */
};

/* From 0 to max - 1; not a secret, so its lack is no failure. */
static uint64_t
random_below(uint64_t max)
{
	uint64_t n = 0;

	if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != (ssize_t)sizeof(n))
		n = 0;
	return max == 0 ? 0 : n % max;
}

static uint64_t
min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool
is_usable(const struct token *t)
{
	return t->number != 0 && clock_boot_ms() < t->hard_boot_ms;
}

/* Its issuer still takes it, whether or not we do. */
static bool
lives(const struct token *t)
{
	return t->number != 0 && clock_boot_ms() < t->minted.not_after_boot_ms;
}

/* --- one value ------------------------------------------------------------ */

/* Gives it back to its issuer, unless it has ended there by itself. */
static void
end_value(struct token *t, struct minted *m)
{
	if (m->value.len == 0)
		return;
	if (clock_boot_ms() >= m->not_after_boot_ms &&
	    clock_boot_ms() >= m->root_end_boot_ms)
		revoker_forget(t->credential, m);
	else
		revoker_take(t->credential, m);
	minted_done(m);
}

static void
drop_value(struct token *t)
{
	end_value(t, &t->minted);
	t->number = 0;
}

/* Requests are on their way with it: it is given back later, if at all. */
static void
retire_value(struct token *t)
{
	end_value(t, &t->before);
	t->before = t->minted;
	t->minted = (struct minted){ .not_after_boot_ms = 0 };
}

/* False: it has ended already. */
static bool
set_ends(struct token *t, uint64_t not_after, uint64_t began)
{
	const uint64_t now = clock_boot_ms();
	uint64_t life, margin;

	if (not_after == UINT64_MAX) {
		t->soft_boot_ms = t->hard_boot_ms = UINT64_MAX;
		return true;
	}
	/* Of when it was asked for: the issuer counts from before it came. */
	if (not_after < began + LIFE_MIN_MS || not_after <= now)
		return false;
	life = not_after - began;
	margin = min_of(HARD_MARGIN_MS, life / 10);
	t->hard_boot_ms = not_after - margin;
	margin = min_of(SOFT_MARGIN_MS + life / 20, life / 3);
	t->soft_boot_ms = not_after - margin;
	t->soft_boot_ms -= random_below(margin / 5 + 1);
	return t->hard_boot_ms > now;
}

static uint64_t
next_number(void)
{
	uint64_t n = 0;

	return getrandom(&n, sizeof(n), 0) == (ssize_t)sizeof(n) ? n | 1 : 0;
}

/* What gives the old value back gives back this one, too. */
static void
renew_value(struct token *t, struct minted *m)
{
	if (m->value.len == 0) {
		m->value = secret_steal(&t->minted.value);
		memcpy(m->user, t->minted.user, sizeof(m->user));
	}
	revoker_forget(t->credential, &t->minted);
	minted_done(&t->minted);
}

static enum mint_fault
take_value(struct token *t, struct minted *m)
{
	const bool is_refresh = t->number != 0;
	const bool is_same = m->is_renewal && m->value.len == 0;
	const char *fault = kind_value_fault(
	    secret_span(is_same ? &t->minted.value : &m->value));

	/* It was rejected meanwhile, and given back. */
	if (m->is_renewal && !is_refresh)
		return MINT_EXPIRED;
	if (fault != NULL) {
		log_warn(AREA, "credential=%s value=%s",
		    t->credential->definition.name, fault);
		return MINT_ANSWER;
	}
	if (!set_ends(t, m->not_after_boot_ms, t->began_boot_ms))
		return MINT_EXPIRED;
	if (!revoker_note(t->credential, m))
		return MINT_LOCAL;
	if (m->is_renewal)
		renew_value(t, m);
	else
		retire_value(t);
	t->minted = *m;
	*m = (struct minted){ .not_after_boot_ms = 0 };
	t->number = next_number();
	record_minted(t, is_refresh ? RECORD_REFRESH : RECORD_MINT);
	return t->number == 0 ? MINT_LOCAL : MINT_OK;
}

/* One that must not be used is not left to live, either. */
static void
refuse_value(struct token *t, struct minted *m)
{
	/* What it would give back is still in use. */
	if (m->is_renewal && t->number != 0)
		revoker_forget(t->credential, m);
	else if (m->value.len > 0 || m->revocation.len > 0)
		revoker_take(t->credential, m);
}

static void
note_failure(struct token *t, enum mint_fault fault, uint32_t retry_after_s)
{
	uint64_t pause = BACKOFF_MS << (t->failures < 9 ? t->failures : 9);

	pause = min_of(pause, BACKOFF_MAX_MS);
	if (mint_faults[fault].is_permanent && pause < PERMANENT_MS)
		pause = PERMANENT_MS;
	pause = pause / 2 + random_below(pause / 2 + 1);
	if (pause < (uint64_t)retry_after_s * SECOND_MS)
		pause = (uint64_t)retry_after_s * SECOND_MS;
	t->failures++;
	t->fault = fault;
	t->quiet_until_boot_ms = clock_boot_ms() + pause;
	record_failed(t, fault);
}

/* Everybody asks again, and finds a value or a failure that is kept. */
static void
/* NOLINTNEXTLINE(readability-function-size): TAILQ_CONCAT()'s own nesting */
tell_waits(struct token *t)
{
	struct sandbox *s = t->sandbox;
	struct token_waits all;
	struct token_wait *w;

	TAILQ_INIT(&all);
	TAILQ_CONCAT(&all, &t->waits, link);
	s->wait_count -= t->wait_count;
	t->wait_count = 0;
	while ((w = TAILQ_FIRST(&all)) != NULL) {
		TAILQ_REMOVE(&all, w, link);
		lease_request(s, w->id, &w->req);
		free(w);
	}
}

static void
mint_free(struct token *t)
{
	free(t->mint);
	t->mint = NULL;
	(void)evtimer_del(t->timer);
}

/* From a kind, or of a flight that took too long. */
static void
on_mint_done(struct mint *m, enum mint_fault fault, struct minted *result,
    uint32_t retry_after_s)
{
	struct token *t = m->arg;

	mint_free(t);
	if (fault == MINT_OK)
		fault = take_value(t, result);
	if (result != NULL && fault != MINT_OK)
		refuse_value(t, result);
	if (result != NULL)
		minted_done(result);
	if (fault == MINT_OK) {
		t->failures = 0;
		t->fault = MINT_OK;
	} else {
		note_failure(t, fault, retry_after_s);
	}
	/* Told from the loop: this may come from inside token_get(). */
	event_active(t->timer, EV_TIMEOUT, 0);
}

/* --- flights -------------------------------------------------------------- */

static void
begin(struct token *t)
{
	t->is_begun = true;
	t->began_boot_ms = clock_boot_ms();
	t->credential->kind->begin(t->mint);
}

/* A flight of this credential that has begun, or one that waits to. */
static struct token *
find_flight(struct broker *b, const struct credential *c, bool is_begun)
{
	struct sandbox *s;
	struct token *t;

	LIST_FOREACH(s, &b->sandboxes, link)
	LIST_FOREACH(t, &s->tokens, link)
	if (t->credential == c && t->mint != NULL && t->is_begun == is_begun)
		return t;
	return NULL;
}

/* Of a serial one: the next may begin. */
static void
begin_next(struct broker *b, const struct credential *c)
{
	struct token *t;

	if (!c->is_serial || find_flight(b, c, true) != NULL)
		return;
	t = find_flight(b, c, false);
	if (t != NULL)
		begin(t);
}

static void
cancel(struct token *t)
{
	if (t->is_begun)
		t->credential->kind->cancel(t->mint);
	mint_free(t);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct token *t = arg;

	(void)fd;
	(void)what;
	if (t->mint != NULL) {
		cancel(t);
		note_failure(t, MINT_TIMEOUT, 0);
	}
	begin_next(t->sandbox->broker, t->credential);
	tell_waits(t);
}

/* A guest must not use up what an issuer allows us in an hour. */
static bool
take_from_budget(struct sandbox *s)
{
	const uint64_t now = clock_boot_ms();
	uint64_t more;

	if (s->budget_boot_ms == 0) {
		s->budget = TOKEN_BUDGET;
		s->budget_boot_ms = now;
	}
	more = (now - s->budget_boot_ms) / TOKEN_BUDGET_EVERY_MS;
	s->budget_boot_ms += more * TOKEN_BUDGET_EVERY_MS;
	s->budget = (unsigned int)min_of(s->budget + more, TOKEN_BUDGET);
	if (s->budget == 0)
		return false;
	s->budget--;
	return true;
}

static enum mint_fault
start(struct token *t)
{
	static const struct timeval limit = { MINT_TIMEOUT_MS / 1000,
		(suseconds_t)(MINT_TIMEOUT_MS % 1000) * 1000 };
	struct credential *c = t->credential;
	struct mint *m;

	if (!take_from_budget(t->sandbox))
		return MINT_BUSY;
	m = calloc(1, sizeof(*m));
	if (m == NULL || evtimer_add(t->timer, &limit) == -1) {
		free(m);
		return MINT_LOCAL;
	}
	*m = (struct mint){ .broker = t->sandbox->broker,
		.credential = c,
		.sandbox = t->sandbox->attached.sandbox,
		.scope = t->scope,
		.before = lives(t) ? &t->minted : NULL,
		.done = on_mint_done,
		.arg = t };
	t->mint = m;
	t->is_begun = false;
	if (!c->is_serial || find_flight(t->sandbox->broker, c, true) == NULL)
		begin(t);
	return MINT_OK;
}

/* --- tokens --------------------------------------------------------------- */

static void
forget_waits(struct token *t)
{
	struct token_wait *w;

	while ((w = TAILQ_FIRST(&t->waits)) != NULL) {
		TAILQ_REMOVE(&t->waits, w, link);
		free(w);
	}
	t->sandbox->wait_count -= t->wait_count;
	t->wait_count = 0;
}

static void
token_free(struct token *t)
{
	if (t->mint != NULL)
		cancel(t);
	LIST_REMOVE(t, link);
	t->sandbox->token_count--;
	begin_next(t->sandbox->broker, t->credential);
	/* Those of one that goes on ask anew, of what is defined now. */
	tell_waits(t);
	drop_value(t);
	end_value(t, &t->before);
	event_free(t->timer);
	credential_unref(t->credential);
	free(t);
}

/* The one that nobody asked for longest, if it does nothing now. */
static void
make_room(struct sandbox *s)
{
	struct token *t, *oldest = NULL;

	LIST_FOREACH(t, &s->tokens, link)
	if (t->mint == NULL && t->wait_count == 0 &&
	    (oldest == NULL || t->asked_boot_ms < oldest->asked_boot_ms))
		oldest = t;
	if (oldest != NULL)
		token_free(oldest);
}

static struct token *
token_new(struct sandbox *s, struct credential *c, const char *scope)
{
	struct token *t;

	if (s->token_count == TOKENS_MAX)
		make_room(s);
	if (s->token_count == TOKENS_MAX)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	t->timer = evtimer_new(s->broker->base, on_timer, t);
	if (t->timer == NULL) {
		free(t);
		return NULL;
	}
	t->sandbox = s;
	t->credential = credential_ref(c);
	memcpy(t->scope, scope, strlen(scope) + 1);
	TAILQ_INIT(&t->waits);
	LIST_INSERT_HEAD(&s->tokens, t, link);
	s->token_count++;
	return t;
}

static struct token *
find(struct sandbox *s, const struct credential *c, const char *scope)
{
	struct token *t;

	LIST_FOREACH(t, &s->tokens, link)
	if (t->credential == c && strcmp(t->scope, scope) == 0)
		return t;
	return NULL;
}

/* What is due is begun; a failure that is kept is not asked about again. */
static enum mint_fault
refresh(struct token *t)
{
	const uint64_t now = clock_boot_ms();
	enum mint_fault fault;

	if (t->mint != NULL || (t->number != 0 && now < t->soft_boot_ms))
		return MINT_OK;
	if (now < t->quiet_until_boot_ms)
		return t->fault;
	fault = start(t);
	if (fault != MINT_OK)
		note_failure(t, fault, 0);
	return fault;
}

enum token_state
token_get(struct sandbox *s, struct credential *c,
    const struct message_lease_request *req, struct token **ret,
    enum mint_fault *ret_fault)
{
	char scope[KIND_SCOPE_SIZE] = "";
	struct token *t;

	*ret_fault =
	    c->kind->scope == NULL ? MINT_OK : c->kind->scope(c, req, scope);
	if (*ret_fault != MINT_OK)
		return TOKEN_FAILED;
	t = find(s, c, scope);
	if (t == NULL)
		t = token_new(s, c, scope);
	if (t == NULL) {
		*ret_fault = MINT_BUSY;
		return TOKEN_FAILED;
	}
	t->asked_boot_ms = clock_boot_ms();
	*ret = t;
	*ret_fault = refresh(t);
	/* A refresh that cannot begin harms nobody while a value is there. */
	if (is_usable(t))
		return TOKEN_HERE;
	if (t->mint != NULL)
		return TOKEN_WAITS;
	/* It may have failed at once, inside begin(). */
	if (*ret_fault == MINT_OK)
		*ret_fault = t->fault == MINT_OK ? MINT_LOCAL : t->fault;
	return TOKEN_FAILED;
}

int
token_wait(struct token *t, uint32_t id,
    const struct message_lease_request *req)
{
	const size_t path_len = req->path.len, query_len = req->query.len;
	struct token_wait *w;
	uint8_t *text;

	if (t->sandbox->wait_count == TOKEN_WAITS_MAX)
		return -ENOSPC;
	w = malloc(sizeof(*w) + path_len + query_len);
	if (w == NULL)
		return -ENOMEM;
	text = (uint8_t *)(w + 1);
	w->id = id;
	w->req = *req;
	if (path_len > 0)
		memcpy(text, req->path.ptr, path_len);
	if (query_len > 0)
		memcpy(text + path_len, req->query.ptr, query_len);
	w->req.path.ptr = text;
	w->req.query.ptr = text + path_len;
	TAILQ_INSERT_TAIL(&t->waits, w, link);
	t->wait_count++;
	t->sandbox->wait_count++;
	return 0;
}

uint64_t
token_lease_end(const struct token *t)
{
	/* One that would end on its way to the gate is of no use there. */
	return clock_boot_ms() < t->soft_boot_ms &&
		t->soft_boot_ms < t->hard_boot_ms
	    ? min_of(t->soft_boot_ms + ARRIVAL_MS, t->hard_boot_ms)
	    : t->hard_boot_ms;
}

uint64_t
token_renew_from(const struct token *t)
{
	return t->rejected_boot_ms == 0 ? 1
					: t->rejected_boot_ms + TOKEN_REJECT_MS;
}

bool
token_reject(struct sandbox *s, uint64_t number)
{
	const uint64_t now = clock_boot_ms();
	struct token *t;

	LIST_FOREACH(t, &s->tokens, link)
	if (t->number == number && number != 0)
		break;
	if (t == NULL || now < token_renew_from(t))
		return false;
	t->rejected_boot_ms = now;
	record_minted(t, RECORD_INVALIDATE);
	drop_value(t);
	return true;
}

void
token_forget_waits(struct sandbox *s)
{
	struct token *t;

	LIST_FOREACH(t, &s->tokens, link)
	forget_waits(t);
}

void
token_end(struct sandbox *s, const struct credential *c)
{
	struct token *t, *next;

	for (t = LIST_FIRST(&s->tokens); t != NULL; t = next) {
		next = LIST_NEXT(t, link);
		if (c == NULL)
			forget_waits(t);
		if (c == NULL || t->credential == c)
			token_free(t);
	}
}
