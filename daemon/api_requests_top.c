/*
 * What `tapward top` shows. Gates and recorder are asked at once, for half a
 * second at most; of one that has not answered by then what it said before is
 * shown. A sandbox of somebody else is there by its name alone.
 */
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/message_top.h"
#include "daemon/api_requests_private.h"
#include "daemon/counters.h"
#include "daemon/link_api.h"
#include "daemon/link_recorder.h"
#include "daemon/supervisor.h"

#define PATIENCE_US 500000

struct top_job {
	struct supervisor *sv;
	struct sandbox_request to;
	uint32_t peer_uid;
	struct event *timeout;
	unsigned int left; /* that have not answered */
	struct message_top top;
};

static void
job_free(struct top_job *j)
{
	if (j->timeout != NULL)
		event_free(j->timeout);
	free(j);
}

/* A gate that was taken over says what it likes: sums end somewhere. */
static void
add(struct message_gate_status *to, const struct message_gate_status *from)
{
	to->accepted = recent_add(to->accepted, from->accepted);
	to->requests = recent_add(to->requests, from->requests);
	to->denied = recent_add(to->denied, from->denied);
	to->up = recent_add(to->up, from->up);
	to->down = recent_add(to->down, from->down);
}

/* Its numbers now; a gate that is another begins at 0 again. */
static void
fill_counts(struct sandbox *s, struct message_top_entry *ret)
{
	const struct message_gate_status *now = gate_status(s->gate);
	struct message_gate_status all;

	if (now->accepted < s->counted.accepted ||
	    now->requests < s->counted.requests)
		add(&s->counted_before, &s->counted);
	s->counted = *now;
	all = s->counted_before;
	add(&all, now);
	ret->connections = now->connections;
	ret->accepted = all.accepted;
	ret->requests = all.requests;
	ret->denied = all.denied;
	ret->up = all.up;
	ret->down = all.down;
	ret->asks = s->questions.waiting_count;
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		ret->dropped = recent_add(ret->dropped, s->dropped[i]);
}

static void
fill_entry(const struct top_job *j, struct sandbox *s,
    struct message_top_entry *ret)
{
	*ret = (struct message_top_entry){
		.state = (uint8_t)sandbox_state(s),
		.owner_uid = s->state.owner_uid,
		.generation = s->state.generation,
		.created_wall_ms = s->state.created_wall_ms,
		.learns = s->learns,
		.is_shown = api_may(&s->state, j->peer_uid),
	};
	memcpy(ret->name, s->state.name, sizeof(ret->name));
	if (ret->is_shown)
		fill_counts(s, ret);
}

static int
by_name(const void *a, const void *b)
{
	const struct message_top_entry *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* That of the page, or NULL: it is on another. */
static struct message_top_entry *
find_entry(struct top_job *j, const struct sandbox *s)
{
	struct message_top_entry key = { 0 };

	memcpy(key.name, s->state.name, sizeof(key.name));
	return bsearch(&key, j->top.entries, j->top.count, sizeof(key),
	    by_name);
}

/* Those that are still there. */
static void
fill_entries(struct top_job *j)
{
	uint16_t kept = 0;
	struct sandbox *s;

	LIST_FOREACH(s, &j->sv->sandboxes, entry)
	{
		struct message_top_entry *e = find_entry(j, s);

		if (e != NULL)
			fill_entry(j, s, e);
	}
	for (size_t i = 0; i < j->top.count; i++)
		if (j->top.entries[i].generation != 0)
			j->top.entries[kept++] = j->top.entries[i];
	j->top.count = kept;
}

static void
answer(struct top_job *j)
{
	struct message_api_status status;
	const struct message_api_answer a = {
		.result = API_OK,
		.payload = API_PAYLOAD_TOP,
		.text = "",
		.status = &status,
		.top = &j->top,
	};

	request_status_fill(j->sv, j->peer_uid, j->top.has_recent, &status);
	fill_entries(j);
	j->top.mono_ms = clock_mono_ms();
	link_api_answer(j->sv, &j->to, &a, -1);
	job_free(j);
}

static void
one_less(struct top_job *j)
{
	if (--j->left == 0)
		answer(j);
}

static void
on_gate(void *arg, int rc, const struct answer *a)
{
	(void)rc;
	(void)a;
	one_less(arg);
}

static void
on_recent(void *arg, int rc, const struct answer *a)
{
	struct top_job *j = arg;

	(void)a;
	j->top.has_recent = rc == 0;
	if (rc == 0)
		j->top.recent = j->sv->recent;
	one_less(j);
}

static void
on_timeout(evutil_socket_t fd, short what, void *arg)
{
	struct top_job *j = arg;
	struct sandbox *s;

	(void)fd;
	(void)what;
	asks_cancel(&j->sv->services[SERVICE_RECORDER].asks, j);
	LIST_FOREACH(s, &j->sv->sandboxes, entry)
	gate_forget_asker(s->gate, j);
	answer(j);
}

/* Keeps the first TOP_PAGE_MAX names after `after`, in order. */
static void
choose(struct top_job *j, const char *after)
{
	struct supervisor *sv = j->sv;
	AUTO_FREE struct message_top_entry *all =
	    calloc((size_t)sv->sandbox_count + 1, sizeof(*all));
	const struct sandbox *s;
	size_t n = 0;

	if (all == NULL)
		return;
	LIST_FOREACH(s, &sv->sandboxes, entry)
	{
		if (s->net == NULL || s->phase == SANDBOX_CREATING ||
		    strcmp(s->state.name, after) <= 0)
			continue;
		memcpy(all[n++].name, s->state.name, sizeof(all[0].name));
	}
	qsort(all, n, sizeof(*all), by_name);
	j->top.has_more = n > TOP_PAGE_MAX;
	j->top.count = (uint16_t)(j->top.has_more ? TOP_PAGE_MAX : n);
	memcpy(j->top.entries, all, j->top.count * sizeof(*all));
}

static int
by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void
ask_recorder(struct top_job *j, const struct sandbox *only)
{
	uint64_t generations[RECENT_NAMED_MAX];
	struct message_recent_wanted wanted = {
		.all = only == NULL && j->peer_uid == 0,
		.generations = generations,
	};
	const struct sandbox *s;

	LIST_FOREACH(s, &j->sv->sandboxes, entry)
	{
		if (wanted.all || wanted.count == RECENT_NAMED_MAX)
			break;
		if (only == NULL ? s->state.owner_uid == j->peer_uid
				 : s == only)
			generations[wanted.count++] = s->state.generation;
	}
	qsort(generations, wanted.count, sizeof(generations[0]), by_number);
	if (link_recorder_recent(j->sv, &wanted, on_recent, j) == 0)
		j->left++;
}

static void
ask_gates(struct top_job *j)
{
	struct sandbox *s;

	LIST_FOREACH(s, &j->sv->sandboxes, entry)
	if (find_entry(j, s) != NULL && api_may(&s->state, j->peer_uid) &&
	    gate_ask_status(s->gate, on_gate, j) == 0)
		j->left++;
}

static void
start(struct request *r, struct sandbox *only)
{
	const struct timeval patience = { .tv_usec = PATIENCE_US };
	struct top_job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		request_refuse(r, API_FAILED, "out of memory");
		return;
	}
	j->sv = r->sv;
	j->to = r->to;
	j->peer_uid = r->m->peer_uid;
	j->timeout = evtimer_new(r->sv->base, on_timeout, j);
	if (j->timeout == NULL || event_add(j->timeout, &patience) == -1) {
		request_refuse(r, API_FAILED, "out of memory");
		job_free(j);
		return;
	}
	if (only != NULL) {
		counters_read(only);
		memcpy(j->top.entries[0].name, only->state.name,
		    sizeof(only->state.name));
		j->top.count = 1;
	} else {
		choose(j, r->m->name);
	}
	j->left = 1; /* this function */
	ask_gates(j);
	ask_recorder(j, only);
	one_less(j);
}

void
request_top(struct request *r)
{
	start(r, NULL);
}

void
request_top_one(struct request *r)
{
	start(r, r->sandbox);
}
