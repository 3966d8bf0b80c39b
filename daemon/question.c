/* Questions and answers, see question.h. */
#include "daemon/question.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/message.h"
#include "conf/limits.h"
#include "conf/verdict.h"
#include "daemon/link_api.h"
#include "daemon/link_recorder.h"
#include "daemon/question_private.h"
#include "daemon/supervisor.h"

#define AREA "ask"
/*
 * How long dialler and broker let through what was allowed once: to mint, to
 * dial and to try again are some 30 s.
 */
#define OPEN_S 60

/* An answer that stands for the same question until its time is up. */
struct standing {
	LIST_ENTRY(standing) link;
	uint32_t id;
	struct message_ask m; /* the first one of them */
	bool is_allowed, by_host;
	char by[ASK_BY_SIZE];
	uint64_t since_wall_ms, until_wall_ms, until_boot_ms;
};

/* --- finding --- */

static struct question *
find_waiting(const struct sandbox *s, uint32_t id)
{
	struct question *q;

	LIST_FOREACH(q, &s->questions.waiting, link)
	if (q->id == id)
		return q;
	return NULL;
}

static struct standing *
find_standing(const struct sandbox *s, uint32_t id)
{
	struct standing *st;

	LIST_FOREACH(st, &s->questions.standing, link)
	if (st->id == id)
		return st;
	return NULL;
}

static struct sandbox *
find_sandbox(const struct supervisor *sv, uint32_t id)
{
	struct sandbox *s;

	LIST_FOREACH(s, &sv->sandboxes, entry)
	if (find_waiting(s, id) != NULL || find_standing(s, id) != NULL)
		return s;
	return NULL;
}

/*
 * Not counted from one: an answer that was meant for a question of another
 * supervisor must find nothing.
 */
static uint32_t
new_id(const struct supervisor *sv)
{
	uint32_t id;

	do {
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			die(AREA, "no random numbers");
	} while (id == 0 || find_sandbox(sv, id) != NULL);
	return id;
}

/* --- telling --- */

static void
write_down(const struct sandbox *s, const struct message_ask *m,
    enum action verdict, enum reason reason, const char *detail)
{
	struct audit_record r = audit_record_init(AUDIT_ASK);

	r.verdict = (uint8_t)verdict;
	r.reason = reason;
	r.by_ceiling = m->by_ceiling;
	r.rule = m->rule;
	r.file = m->file;
	r.line = m->line;
	r.host = span_of(m->subject.host);
	r.port = m->subject.port;
	r.method = span_of(m->subject.method);
	r.path = span_of(m->subject.target);
	r.credential = m->subject.credential;
	r.detail = span_of(detail);
	link_recorder_record(s, &r);
}

static void
tell_gate(const struct question *q, enum ask_outcome outcome, const char *by)
{
	struct message_asked m = { .outcome = (uint8_t)outcome };

	(void)snprintf(m.by, sizeof(m.by), "%s", by);
	if (q->sandbox->gate != NULL)
		gate_answer(q->sandbox->gate, q->number, &m);
}

/* --- the life of a question --- */

static void
question_free(struct question *q)
{
	struct sandbox *s = q->sandbox;

	question_hook_end(q);
	asks_cancel(&s->sv->services[SERVICE_DIALLER].asks, q);
	asks_cancel(&s->sv->services[SERVICE_BROKER].asks, q);
	LIST_REMOVE(q, link);
	s->questions.waiting_count--;
	free(q);
}

static void
opened(struct question *q)
{
	if (q->has_failed)
		tell_gate(q, ASK_UNHEARD, "");
	else
		tell_gate(q, ASK_ALLOWED, q->by);
	question_free(q);
}

static void
on_opened(void *arg, int rc, const struct answer *a)
{
	struct question *q = arg;

	(void)a;
	q->has_failed = q->has_failed || rc != 0;
	if (--q->opening == 0)
		opened(q);
}

static void
open_at(struct question *q, enum service_id which, const struct wr *body)
{
	struct service *s = &q->sandbox->sv->services[which];

	q->opening++;
	if (service_ask(s, MSG_ASK_ALLOWED, body, NULL, 0,
		(struct asker){ on_opened, q }) == 0)
		return;
	q->opening--;
	q->has_failed = true;
}

static void
open_way(struct question *q, bool by_host)
{
	struct message_ask_allowed m = {
		.generation = q->sandbox->state.generation,
		.subject = q->m.subject,
		.by_host = by_host,
		.seconds = OPEN_S,
	};
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.sandbox, q->sandbox->state.name, sizeof(m.sandbox));
	message_ask_allowed_encode(&w, &m);
	q->is_opening = true;
	open_at(q, SERVICE_DIALLER, &w);
	if (m.subject.credential[0] != '\0')
		open_at(q, SERVICE_BROKER, &w);
	/* Else the last answer, which never comes from inside, ends it. */
	if (q->opening == 0)
		opened(q);
}

void
question_settle(struct question *q, const struct question_answer *a)
{
	char text[AUDIT_DETAIL_MAX];

	(void)snprintf(text, sizeof(text), "id %08" PRIx32 ": %s by %s%s",
	    q->id, a->is_allowed ? "allowed" : "denied", a->by,
	    a->is_by_standing ? ", for longer than once" : "");
	write_down(q->sandbox, &q->m,
	    a->is_allowed ? ACTION_ALLOW : ACTION_DENY,
	    a->is_allowed ? REASON_NONE : REASON_ASK_DENIED, text);
	link_api_event(q->sandbox, "answered");
	question_hook_end(q);
	q->is_hook_over = true;
	(void)snprintf(q->by, sizeof(q->by), "%s", a->by);
	if (a->is_allowed) {
		open_way(q, a->by_host);
		return;
	}
	tell_gate(q, ASK_DENIED, a->by);
	question_free(q);
}

/* --- answers that stand --- */

static void
standing_free(struct sandbox *s, struct standing *st)
{
	LIST_REMOVE(st, link);
	s->questions.standing_count--;
	free(st);
}

static void
drop_ended(struct sandbox *s)
{
	const uint64_t now_ms = clock_boot_ms();
	struct standing *st, *next;

	for (st = LIST_FIRST(&s->questions.standing); st != NULL; st = next) {
		next = LIST_NEXT(st, link);
		if (st->until_boot_ms <= now_ms)
			standing_free(s, st);
	}
}

static bool
answers(const struct standing *st, const struct message_ask *m)
{
	return st->until_boot_ms > clock_boot_ms() &&
	    (st->by_host || !m->by_ceiling) &&
	    ask_subject_equals(&st->m.subject, &m->subject);
}

static struct question_answer
answer_of(const struct standing *st)
{
	return (struct question_answer){ .is_allowed = st->is_allowed,
		.by = st->by,
		.by_host = st->by_host,
		.is_by_standing = true };
}

/* All that wait and ask the same. */
static void
answer_all(struct sandbox *s, const struct standing *st)
{
	const struct question_answer a = answer_of(st);
	struct question *q, *next;

	for (q = LIST_FIRST(&s->questions.waiting); q != NULL; q = next) {
		next = LIST_NEXT(q, link);
		if (!q->is_opening && answers(st, &q->m))
			question_settle(q, &a);
	}
}

static void
set_until(struct standing *st, uint32_t seconds)
{
	st->until_boot_ms = clock_boot_ms() + (uint64_t)seconds * 1000;
	st->until_wall_ms = clock_wall_ms() + (uint64_t)seconds * 1000;
}

/* NULL: there are too many, or memory is short. */
static struct standing *
standing_new(struct sandbox *s, const struct message_ask *m,
    const struct question_answer *a)
{
	struct standing *st;

	drop_ended(s);
	if (s->questions.standing_count >= QUESTION_STANDING_MAX)
		return NULL;
	st = calloc(1, sizeof(*st));
	if (st == NULL)
		return NULL;
	st->id = new_id(s->sv);
	st->m = *m;
	st->is_allowed = a->is_allowed;
	st->by_host = a->by_host;
	(void)snprintf(st->by, sizeof(st->by), "%s", a->by);
	st->since_wall_ms = clock_wall_ms();
	set_until(st, a->seconds);
	LIST_INSERT_HEAD(&s->questions.standing, st, link);
	s->questions.standing_count++;
	return st;
}

void
question_settle_for(struct question *q, const struct question_answer *a)
{
	struct standing *st =
	    a->seconds == 0 ? NULL : standing_new(q->sandbox, &q->m, a);

	if (st == NULL)
		question_settle(q, a);
	else
		answer_all(q->sandbox, st);
}

/* --- told by gates --- */

int
question_ask(struct sandbox *s, uint32_t number, const struct message_ask *m)
{
	struct questions *all = &s->questions;
	char text[AUDIT_DETAIL_MAX];
	const struct standing *st;
	struct question *q;

	LIST_FOREACH(q, &all->waiting, link)
	if (q->number == number)
		return -EPROTO;
	if (all->waiting_count >= limit_rows[LIMIT_ASKS].max)
		return -EPROTO;
	q = calloc(1, sizeof(*q));
	if (q == NULL)
		return -ENOMEM;
	q->sandbox = s;
	q->id = new_id(s->sv);
	q->number = number;
	q->m = *m;
	q->asked_wall_ms = clock_wall_ms();
	q->hook_fd = -1;
	LIST_INSERT_HEAD(&all->waiting, q, link);
	all->waiting_count++;
	(void)snprintf(text, sizeof(text), "id %08" PRIx32 ": asked", q->id);
	write_down(s, m, ACTION_ASK, REASON_NONE, text);
	link_api_event(s, "asked");
	LIST_FOREACH(st, &all->standing, link)
	if (answers(st, m)) {
		const struct question_answer a = answer_of(st);

		question_settle(q, &a);
		return 0;
	}
	question_hooks_go_on(s->sv);
	return 0;
}

void
question_cancel(struct sandbox *s, uint32_t number)
{
	char text[AUDIT_DETAIL_MAX];
	struct question *q;

	LIST_FOREACH(q, &s->questions.waiting, link)
	if (q->number == number)
		break;
	/* It was answered while this was on its way. */
	if (q == NULL)
		return;
	(void)snprintf(text, sizeof(text),
	    "id %08" PRIx32 ": over before it was answered", q->id);
	if (!q->is_opening)
		write_down(s, &q->m, ACTION_DENY, REASON_ASK_TIMEOUT, text);
	question_free(q);
	question_hooks_go_on(s->sv);
}

void
questions_forget(struct sandbox *s)
{
	while (!LIST_EMPTY(&s->questions.waiting))
		question_free(LIST_FIRST(&s->questions.waiting));
}

void
questions_done(struct sandbox *s)
{
	questions_forget(s);
	while (!LIST_EMPTY(&s->questions.standing))
		standing_free(s, LIST_FIRST(&s->questions.standing));
}

/* --- told by people --- */

static void
describe(const struct sandbox *s, uint32_t id, const struct message_ask *m,
    struct message_api_ask *ret)
{
	*ret = (struct message_api_ask){ .id = id, .ask = *m };
	memcpy(ret->sandbox, s->state.name, sizeof(ret->sandbox));
	ret->owner_uid = s->state.owner_uid;
}

static void
describe_waiting(const struct question *q, struct message_api_ask *ret)
{
	describe(q->sandbox, q->id, &q->m, ret);
	ret->state = API_ASK_WAITING;
	ret->since_wall_ms = q->asked_wall_ms;
	ret->until_wall_ms = q->asked_wall_ms +
	    q->sandbox->sv->config->host->limits[LIMIT_ASK_TIMEOUT];
}

static void
describe_standing(const struct sandbox *s, const struct standing *st,
    struct message_api_ask *ret)
{
	describe(s, st->id, &st->m, ret);
	ret->state = st->is_allowed ? API_ASK_ALLOWED : API_ASK_DENIED;
	ret->since_wall_ms = st->since_wall_ms;
	ret->until_wall_ms = st->until_wall_ms;
	memcpy(ret->by, st->by, sizeof(ret->by));
}

static enum api_result
answer_waiting(struct question *q, const struct question_answer *a,
    struct message_api_ask *ret, const char **ret_text)
{
	struct sandbox *s = q->sandbox;
	struct standing *st;

	describe_waiting(q, ret);
	if (q->is_opening) {
		*ret_text = "it has been answered";
		return API_EXISTS;
	}
	if (a->seconds == 0) {
		question_settle(q, a);
		return API_OK;
	}
	st = standing_new(s, &q->m, a);
	if (st == NULL) {
		*ret_text = "this sandbox has 64 answers that stand; end one "
			    "of them with tapward ask deny, or answer once";
		return API_LIMIT;
	}
	answer_all(s, st);
	return API_OK;
}

/* A yes that stood ends, or gets another time. */
static enum api_result
answer_standing(struct sandbox *s, struct standing *st,
    const struct question_answer *a, struct message_api_ask *ret,
    const char **ret_text)
{
	char text[AUDIT_DETAIL_MAX];

	describe_standing(s, st, ret);
	if (a->is_allowed && a->seconds == 0) {
		*ret_text = "it is no question any more but an answer that "
			    "stands; say for how long it is to";
		return API_INVALID;
	}
	(void)snprintf(text, sizeof(text),
	    "id %08" PRIx32 ": %s by %s from now on", st->id,
	    a->is_allowed ? "allowed" : "denied or asked", a->by);
	write_down(s, &st->m, a->is_allowed ? ACTION_ALLOW : ACTION_ASK,
	    REASON_NONE, text);
	if (a->seconds == 0) {
		standing_free(s, st);
		return API_OK;
	}
	st->is_allowed = a->is_allowed;
	st->by_host = a->by_host;
	(void)snprintf(st->by, sizeof(st->by), "%s", a->by);
	set_until(st, a->seconds);
	answer_all(s, st);
	return API_OK;
}

enum api_result
question_answer(struct supervisor *sv, const struct question_reply *reply,
    struct message_api_ask *ret, const char **ret_text)
{
	const uint32_t id = reply->id, uid = reply->uid;
	struct sandbox *s = find_sandbox(sv, id);
	struct question_answer a = { .is_allowed = reply->is_allowed,
		.seconds = reply->seconds,
		.by_host = uid == 0 };
	char by[ASK_BY_SIZE];
	const struct message_ask *m;
	enum api_result result;
	struct question *q;

	if (s == NULL || (uid != 0 && uid != s->state.owner_uid)) {
		*ret_text = "no such question waits; tapward ask list shows "
			    "those that do";
		return API_NOT_FOUND;
	}
	q = find_waiting(s, id);
	m = q != NULL ? &q->m : &find_standing(s, id)->m;
	if (m->by_ceiling && reply->is_allowed && uid != 0) {
		*ret_text = "the host's ceiling asks this: root may say yes";
		return API_FORBIDDEN;
	}
	(void)snprintf(by, sizeof(by), "uid %" PRIu32, uid);
	a.by = by;
	result = q != NULL
	    ? answer_waiting(q, &a, ret, ret_text)
	    : answer_standing(s, find_standing(s, id), &a, ret, ret_text);
	/* Those behind it, if its hook was running. */
	question_hooks_go_on(sv);
	return result;
}

/* --- what is shown --- */

/* Keeps the API_ASKS_MAX lowest ids above `after`, in order. */
static void
keep(struct message_api_asks *all, uint32_t after,
    const struct message_api_ask *a)
{
	uint32_t at = all->count;

	if (a->id <= after)
		return;
	while (at > 0 && all->asks[at - 1].id > a->id)
		at--;
	if (all->count == API_ASKS_MAX)
		all->has_more = true;
	if (at == API_ASKS_MAX)
		return;
	if (all->count < API_ASKS_MAX)
		all->count++;
	memmove(&all->asks[at + 1], &all->asks[at],
	    (all->count - 1 - at) * sizeof(*a));
	all->asks[at] = *a;
}

void
questions_page(const struct supervisor *sv, uint32_t uid, uint32_t after,
    struct message_api_asks *ret)
{
	const struct sandbox *s;

	ret->count = 0;
	ret->has_more = false;
	LIST_FOREACH(s, &sv->sandboxes, entry)
	{
		const struct standing *st;
		const struct question *q;
		struct message_api_ask a;

		if (uid != 0 && uid != s->state.owner_uid)
			continue;
		LIST_FOREACH(q, &s->questions.waiting, link)
		{
			describe_waiting(q, &a);
			if (!q->is_opening)
				keep(ret, after, &a);
		}
		LIST_FOREACH(st, &s->questions.standing, link)
		{
			describe_standing(s, st, &a);
			if (st->until_boot_ms > clock_boot_ms())
				keep(ret, after, &a);
		}
	}
}
