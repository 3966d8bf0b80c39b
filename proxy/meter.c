/*
 * Budgets in the gate, see meter.h.
 *
 * Each budget of the two files in force has a slot of the table, found once
 * when a policy is taken over, by the rule's name. A meter holds bits, not
 * slots: with another policy they would mean something else, so one of an
 * older generation counts for nothing and has nothing left.
 */
#include "proxy/meter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/budget.h"

/* How late an end may be seen that no byte brings. */
#define SWEEP_MS 250L
#define NO_SLOT UINT16_MAX

TAILQ_HEAD(meter_line, meter);

struct meters {
	struct budget_table *table; /* shared with the supervisor */
	uint16_t slots[VERDICT_FILES][BUDGETS_MAX];
	struct meter_line line;
	size_t count;
	struct event *sweep;
};

static const struct policy *
file_of(const struct gate *g, size_t file)
{
	return file == VERDICT_POLICY ? g->pair.policy : g->pair.ceiling;
}

/* --- slots --- */

static bool
is_of(const struct budget_slot *s, const struct policy_budget *b, size_t file)
{
	return s->is_ceiling == (file == VERDICT_CEILING) &&
	    strncmp(s->rule, b->rule, sizeof(s->rule)) == 0;
}

/* Its own, else a free one, else one of a rule that is gone. */
static struct budget_slot *
find_slot(struct budget_table *t, const struct policy_budget *b, size_t file)
{
	struct budget_slot *free_one = NULL, *old = NULL;

	for (size_t i = 0; i < BUDGET_SLOTS; i++) {
		struct budget_slot *s = &t->slots[i];

		if (s->rule[0] == '\0')
			free_one = free_one == NULL ? s : free_one;
		else if (is_of(s, b, file))
			return s;
		else if (!s->is_in_force)
			old = s;
	}
	if (free_one == NULL)
		free_one = old;
	if (free_one != NULL)
		*free_one = (struct budget_slot){
			.is_ceiling = file == VERDICT_CEILING,
		};
	return free_one;
}

static void
set_slot(struct budget_slot *s, const struct policy_budget *b)
{
	(void)snprintf(s->rule, sizeof(s->rule), "%s", b->rule);
	(void)snprintf(s->file, sizeof(s->file), "%s", b->file);
	s->line = b->line;
	s->is_in_force = 1;
	budget_slot_set(s, &b->budget, clock_boot_ms());
}

/*
 * Whose counts are still wanted, of both files, before any slot is given away:
 * a policy of many names must not take those of the ceiling.
 */
static void
keep_file(struct gate *g, size_t file)
{
	const struct policy *p = file_of(g, file);
	struct budget_table *t = g->meters->table;
	struct policy_budget b;

	for (size_t i = 0;
	     i < BUDGETS_MAX && p != NULL && policy_budget_at(p, i, &b); i++)
		for (size_t j = 0; j < BUDGET_SLOTS; j++)
			if (is_of(&t->slots[j], &b, file))
				t->slots[j].is_in_force = 1;
}

static void
join_file(struct gate *g, size_t file)
{
	const struct policy *p = file_of(g, file);
	struct policy_budget b;

	for (size_t i = 0; i < BUDGETS_MAX; i++) {
		struct budget_slot *s;

		g->meters->slots[file][i] = NO_SLOT;
		if (p == NULL || !policy_budget_at(p, i, &b))
			continue;
		s = find_slot(g->meters->table, &b, file);
		/* Two files at most are in force, and the table holds more. */
		if (s == NULL)
			continue;
		set_slot(s, &b);
		g->meters->slots[file][i] =
		    (uint16_t)(s - g->meters->table->slots);
	}
}

void
meters_policy_changed(struct gate *g)
{
	for (size_t i = 0; i < BUDGET_SLOTS; i++) {
		g->meters->table->slots[i].is_in_force = 0;
		g->meters->table->slots[i].open = 0;
	}
	for (size_t file = 0; file < VERDICT_FILES; file++)
		keep_file(g, file);
	for (size_t file = 0; file < VERDICT_FILES; file++)
		join_file(g, file);
}

/* --- the bits of a meter --- */

struct walk {
	const struct gate *g;
	uint64_t bits[VERDICT_FILES];
	struct meter_bit bit;
};

static struct walk
walk_init(const struct gate *g, const uint64_t bits[VERDICT_FILES])
{
	return (struct walk){ .g = g,
		.bits = { bits[VERDICT_POLICY], bits[VERDICT_CEILING] } };
}

/* The next budget; NULL past the last, or with *ret_is_lost an unknown one. */
static struct budget_slot *
walk_next(struct walk *w, bool *ret_is_lost)
{
	for (unsigned int file = 0; file < VERDICT_FILES; file++) {
		uint16_t slot;

		if (w->bits[file] == 0)
			continue;
		w->bit = (struct meter_bit){ true, (uint8_t)file,
			(uint8_t)__builtin_ctzll(w->bits[file]) };
		w->bits[file] &= w->bits[file] - 1;
		slot = w->g->meters == NULL
		    ? NO_SLOT
		    : w->g->meters->slots[file][w->bit.i];
		if (slot != NO_SLOT)
			return &w->g->meters->table->slots[slot];
		*ret_is_lost = true;
	}
	return NULL;
}

static bool
has_bits(const uint64_t bits[VERDICT_FILES])
{
	return (bits[VERDICT_POLICY] | bits[VERDICT_CEILING]) != 0;
}

/* --- refusals --- */

static void
say_rate(const struct budget_slot *s, uint64_t wait_ms,
    struct meter_refusal *ret)
{
	char text[32];

	ret->retry_after_s = (unsigned int)((wait_ms + 999) / 1000);
	(void)snprintf(ret->detail, sizeof(ret->detail), "%s",
	    budget_rate_text(&s->budget, text));
}

static void
say_max(enum reason why, const struct budget_slot *s, struct meter_refusal *ret)
{
	uint64_t max = why == REASON_LIMIT_REQUESTS ? s->budget.max_requests
	    : why == REASON_LIMIT_UPLOAD            ? s->budget.max_upload
						    : s->budget.max_download;

	(void)snprintf(ret->detail, sizeof(ret->detail), "%llu%s",
	    (unsigned long long)max,
	    why == REASON_LIMIT_REQUESTS ? "" : " bytes");
}

/* Whose budget it is, in the words of its file. */
static void
name_rule(const struct gate *g, enum reason why, struct meter_refusal *ret)
{
	const struct policy *p = file_of(g, ret->bit.file);
	struct policy_budget b = { "-", "", 0, "", { 0 } };

	if (p != NULL)
		(void)policy_budget_at(p, ret->bit.i, &b);
	ret->verdict = (struct verdict){ .action = ACTION_DENY,
		.reason = why,
		.by_ceiling = ret->bit.file == VERDICT_CEILING,
		.rule = b.rule,
		.file = b.file,
		.line = b.line,
		.say = b.say,
		.credential = "" };
	if (ret->verdict.by_ceiling)
		ret->detail[0] = '\0';
}

static void
refuse(const struct gate *g, struct meter_bit bit, enum reason why,
    const struct budget_slot *s, uint64_t wait_ms, struct meter_refusal *ret)
{
	*ret = (struct meter_refusal){ .bit = bit };
	if (why == REASON_LIMIT_RATE) {
		say_rate(s, wait_ms, ret);
	} else if (why == REASON_LIMIT_CONNECTIONS) {
		(void)snprintf(ret->detail, sizeof(ret->detail), "%u at once",
		    s->budget.max_connections);
		/* A retry mends it, as it does with a rate. */
		ret->status = 429;
		ret->retry_after_s = 1;
	} else if (why != REASON_UNTIL) {
		say_max(why, s, ret);
	}
	name_rule(g, why, ret);
}

/* A budget that is not known: nothing is left of it. */
static void
refuse_lost(const struct gate *g, struct meter_bit bit,
    struct meter_refusal *ret)
{
	*ret = (struct meter_refusal){ .bit = bit };
	name_rule(g, REASON_LIMIT_REQUESTS, ret);
}

/* --- begin and end --- */

static bool
has_ended(const struct budget_slot *s)
{
	return s->budget.until_s != 0 &&
	    s->budget.until_s <= clock_wall_ms() / 1000;
}

/* Those that stay refused first: whoever reads of a rate tries again. */
static enum reason
why_not(const struct budget_slot *s, uint64_t announced, uint64_t *ret_wait_ms)
{
	const struct budget *b = &s->budget;

	if (has_ended(s))
		return REASON_UNTIL;
	if (budget_left(b->max_requests, s->requests) == 0)
		return REASON_LIMIT_REQUESTS;
	if (budget_left(b->max_upload, s->up) < announced)
		return REASON_LIMIT_UPLOAD;
	if (budget_left(b->max_download, s->down) == 0)
		return REASON_LIMIT_DOWNLOAD;
	if (budget_left(b->max_connections, s->open) == 0)
		return REASON_LIMIT_CONNECTIONS;
	if (budget_rate_left(s, clock_boot_ms(), ret_wait_ms) == 0)
		return REASON_LIMIT_RATE;
	return REASON_NONE;
}

static bool
may_be_mended(enum reason r)
{
	return r == REASON_LIMIT_RATE || r == REASON_LIMIT_CONNECTIONS;
}

/* Is there room in all of them? */
static bool
admits(const struct gate *g, const uint64_t bits[VERDICT_FILES],
    uint64_t announced, struct meter_refusal *ret)
{
	struct walk w = walk_init(g, bits);
	bool is_lost = false, is_refused = false;
	struct budget_slot *s;

	while ((s = walk_next(&w, &is_lost)) != NULL) {
		uint64_t wait_ms = 0;
		enum reason why = why_not(s, announced, &wait_ms);

		if (why == REASON_NONE || (is_refused && may_be_mended(why)))
			continue;
		refuse(g, w.bit, why, s, wait_ms, ret);
		is_refused = true;
		if (!may_be_mended(why))
			return false;
	}
	if (is_lost)
		refuse_lost(g, w.bit, ret);
	return !is_lost && !is_refused;
}

static void
join(struct gate *g, struct meter *m, const struct verdict *v)
{
	const struct timeval tv = { 0, SWEEP_MS * 1000 };

	memcpy(m->bits, v->budgets, sizeof(m->bits));
	m->generation = g->policy_generation;
	if (m->is_on)
		return;
	m->is_on = true;
	TAILQ_INSERT_TAIL(&g->meters->line, m, link);
	if (g->meters->count++ == 0)
		(void)event_add(g->meters->sweep, &tv);
}

static void
leave(struct gate *g, struct meter *m)
{
	m->is_on = false;
	TAILQ_REMOVE(&g->meters->line, m, link);
	if (--g->meters->count == 0)
		(void)event_del(g->meters->sweep);
}

bool
meter_begin(struct gate *g, struct meter *m, const struct verdict *v,
    uint64_t bytes, uint64_t announced, struct meter_refusal *ret)
{
	struct walk w = walk_init(g, v->budgets);
	struct budget_slot *s;
	bool is_lost = false;

	if (!has_bits(v->budgets))
		return true;
	if (!admits(g, v->budgets, announced, ret))
		return false;
	while ((s = walk_next(&w, &is_lost)) != NULL) {
		s->requests++;
		s->open++;
		s->up += bytes;
		budget_rate_count(s, clock_boot_ms());
	}
	join(g, m, v);
	return true;
}

void
meter_rejoin(struct gate *g, struct meter *m, const struct verdict *v)
{
	struct walk w = walk_init(g, v->budgets);
	struct budget_slot *s;
	bool is_lost = false;

	if (!has_bits(v->budgets)) {
		if (m->is_on)
			leave(g, m);
		return;
	}
	while ((s = walk_next(&w, &is_lost)) != NULL)
		s->open++;
	if (g->meters != NULL)
		join(g, m, v);
}

void
meter_end(struct gate *g, struct meter *m)
{
	struct walk w = walk_init(g, m->bits);
	struct budget_slot *s;
	bool is_lost = false;

	if (!m->is_on)
		return;
	leave(g, m);
	if (m->generation != g->policy_generation)
		return;
	while ((s = walk_next(&w, &is_lost)) != NULL)
		if (s->open > 0)
			s->open--;
}

/* --- bytes --- */

static uint64_t
left_of(const struct budget_slot *s, enum meter_way way)
{
	return way == METER_UP ? budget_left(s->budget.max_upload, s->up)
			       : budget_left(s->budget.max_download, s->down);
}

uint64_t
meter_left(const struct gate *g, const struct meter *m, enum meter_way way)
{
	struct walk w = walk_init(g, m->bits);
	uint64_t least = UINT64_MAX;
	struct budget_slot *s;
	bool is_lost = false;

	if (!m->is_on)
		return UINT64_MAX;
	if (m->generation != g->policy_generation)
		return 0;
	while ((s = walk_next(&w, &is_lost)) != NULL) {
		uint64_t left = left_of(s, way);

		least = left < least ? left : least;
	}
	return is_lost ? 0 : least;
}

void
meter_count(struct gate *g, const struct meter *m, enum meter_way way,
    uint64_t bytes)
{
	struct walk w = walk_init(g, m->bits);
	struct budget_slot *s;
	bool is_lost = false;

	if (!m->is_on || m->generation != g->policy_generation)
		return;
	while ((s = walk_next(&w, &is_lost)) != NULL)
		*(way == METER_UP ? &s->up : &s->down) += bytes;
}

void
meter_return(struct gate *g, const struct meter *m, enum meter_way way,
    uint64_t bytes)
{
	struct walk w = walk_init(g, m->bits);
	struct budget_slot *s;
	bool is_lost = false;

	if (!m->is_on || m->generation != g->policy_generation)
		return;
	while ((s = walk_next(&w, &is_lost)) != NULL) {
		uint64_t *used = way == METER_UP ? &s->up : &s->down;

		*used -= bytes < *used ? bytes : *used;
	}
}

void
meter_refusal_of(const struct gate *g, const struct meter *m,
    enum meter_way way, uint64_t bytes, struct meter_refusal *ret)
{
	enum reason why =
	    way == METER_UP ? REASON_LIMIT_UPLOAD : REASON_LIMIT_DOWNLOAD;
	struct walk w = walk_init(g, m->bits);
	struct budget_slot *s;
	bool is_lost = false;

	while ((s = walk_next(&w, &is_lost)) != NULL) {
		if (left_of(s, way) < bytes) {
			refuse(g, w.bit, why, s, 0, ret);
			return;
		}
	}
	refuse_lost(g, w.bit, ret);
}

/* --- what ends by itself --- */

/* Has it come to its end? */
static bool
is_over(const struct gate *g, const struct meter *m, struct meter_refusal *ret)
{
	struct walk w = walk_init(g, m->bits);
	struct budget_slot *s;
	bool is_lost = false;

	while ((s = walk_next(&w, &is_lost)) != NULL) {
		enum reason why = REASON_NONE;

		if (has_ended(s))
			why = REASON_UNTIL;
		else if (m->is_tunnel && left_of(s, METER_UP) == 0)
			why = REASON_LIMIT_UPLOAD;
		else if (m->is_tunnel && left_of(s, METER_DOWN) == 0)
			why = REASON_LIMIT_DOWNLOAD;
		if (why == REASON_NONE)
			continue;
		refuse(g, w.bit, why, s, 0, ret);
		return true;
	}
	return false;
}

static void
on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;
	struct meters *ms = g->meters;
	struct meter_refusal why;

	(void)fd;
	(void)what;
	/* Whatever ends one may end others: each turn takes the first. */
	for (size_t n = ms->count; n > 0; n--) {
		struct meter *m = TAILQ_FIRST(&ms->line);

		if (m == NULL)
			return;
		TAILQ_REMOVE(&ms->line, m, link);
		TAILQ_INSERT_TAIL(&ms->line, m, link);
		if (is_over(g, m, &why))
			m->on_over(&why, m->arg);
	}
}

/* --- all of them --- */

static int
map_table(int fd, struct budget_table **ret)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) == -1)
		return -errno;
	if (st.st_size != (off_t)sizeof(struct budget_table))
		return -EBADMSG;
	at = mmap(NULL, sizeof(struct budget_table), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

int
meters_new(struct gate *g, int fd)
{
	struct meters *ms = calloc(1, sizeof(*ms));
	int rc;

	if (ms == NULL)
		return -ENOMEM;
	TAILQ_INIT(&ms->line);
	g->meters = ms;
	rc = map_table(fd, &ms->table);
	if (rc == 0) {
		ms->sweep = event_new(g->base, -1, EV_PERSIST, on_sweep, g);
		rc = ms->sweep == NULL ? -ENOMEM : 0;
	}
	if (rc != 0) {
		meters_free(g);
		return rc;
	}
	if (ms->table->magic != BUDGET_MAGIC)
		memset(ms->table, 0, sizeof(*ms->table));
	ms->table->magic = BUDGET_MAGIC;
	meters_policy_changed(g);
	return 0;
}

void
meters_free(struct gate *g)
{
	struct meters *ms = g->meters;

	if (ms == NULL)
		return;
	if (ms->sweep != NULL)
		event_free(ms->sweep);
	if (ms->table != NULL)
		(void)munmap(ms->table, sizeof(*ms->table));
	free(ms);
	g->meters = NULL;
}
