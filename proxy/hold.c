/*
 * Holds of one gate, see hold.h.
 */
#include "proxy/hold.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/message.h"
#include "proxy/bucket.h"

struct hold {
	LIST_ENTRY(hold) link;
	struct gate *gate;
	uint32_t id;
	size_t bytes;
	hold_fn *done;
	void *arg;
	struct event *timer;
	bool is_released;
	char by[ASK_BY_SIZE];
};

struct holds {
	LIST_HEAD(, hold) all;
	uint32_t count;
	size_t bytes;
	struct bucket rate;
};

int
holds_new(struct gate *g)
{
	g->holds = calloc(1, sizeof(*g->holds));
	if (g->holds == NULL)
		return -ENOMEM;
	LIST_INIT(&g->holds->all);
	g->holds->rate = bucket_init(HOLD_RATE, clock_mono_ms());
	return 0;
}

void
holds_free(struct gate *g)
{
	if (g->holds == NULL)
		return;
	while (!LIST_EMPTY(&g->holds->all))
		hold_cancel(LIST_FIRST(&g->holds->all));
	free(g->holds);
	g->holds = NULL;
}

static void
hold_free(struct hold *h)
{
	struct holds *all = h->gate->holds;

	LIST_REMOVE(h, link);
	all->count--;
	all->bytes -= h->bytes;
	if (h->timer != NULL)
		event_free(h->timer);
	free(h);
}

/* The supervisor is still asking. */
static void
take_back(const struct hold *h)
{
	if (h->gate->supervisor != NULL)
		(void)chan_send(h->gate->supervisor, MSG_ASK_CANCEL, h->id,
		    NULL, NULL, 0);
}

static void
finish(struct hold *h, enum hold_end how, const char *by)
{
	hold_fn *done = h->done;
	void *arg = h->arg;

	hold_free(h);
	done(how, by, arg);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct hold *h = arg;
	char by[ASK_BY_SIZE];

	(void)fd;
	(void)what;
	take_back(h);
	memcpy(by, h->by, sizeof(by));
	finish(h, h->is_released ? HOLD_ALLOWED : HOLD_LATE, by);
}

void
hold_cancel(struct hold *h)
{
	if (h == NULL)
		return;
	take_back(h);
	hold_free(h);
}

void
hold_release(struct hold *h, const char *by)
{
	h->is_released = true;
	(void)snprintf(h->by, sizeof(h->by), "%s", by);
	event_active(h->timer, EV_TIMEOUT, 0);
}

void
holds_unheard(struct gate *g)
{
	while (g->holds != NULL && !LIST_EMPTY(&g->holds->all))
		finish(LIST_FIRST(&g->holds->all), HOLD_UNHEARD, "");
}

void
holds_answer(struct gate *g, uint32_t id, const struct message_asked *m)
{
	static const enum hold_end ends[ASK_OUTCOMES] = {
		[ASK_DENIED] = HOLD_DENIED,
		[ASK_ALLOWED] = HOLD_ALLOWED,
		[ASK_UNHEARD] = HOLD_UNHEARD,
	};
	struct hold *h;

	if (g->holds == NULL)
		return;
	LIST_FOREACH(h, &g->holds->all, link)
	if (h->id == id)
		break;
	/* It was taken back while the answer was on its way. */
	if (h != NULL)
		finish(h, ends[m->outcome], m->by);
}

/* NULL, or why nothing more can be asked. */
static const char *
check_room(struct gate *g, size_t bytes)
{
	struct holds *all = g->holds;

	if (g->supervisor == NULL || all == NULL)
		return "tapwardd is not there to ask";
	if (all->count >= g->limits.asks ||
	    bytes > g->limits.ask_memory_bytes - all->bytes)
		return "as many requests as may wait for an answer already";
	if (!bucket_take(&all->rate, clock_mono_ms()))
		return "too many questions a second";
	return NULL;
}

static int
put(struct hold *h, const struct message_ask *m)
{
	const uint32_t ms = h->gate->limits.ask_timeout_ms;
	const struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	h->timer = evtimer_new(h->gate->base, on_timer, h);
	if (h->timer == NULL || event_add(h->timer, &tv) == -1)
		return -ENOMEM;
	message_ask_encode(&w, m);
	return chan_send(h->gate->supervisor, MSG_ASK, h->id, &w, NULL, 0);
}

struct hold *
hold_new(struct gate *g, const struct message_ask *m, size_t bytes,
    hold_fn *done, void *arg, const char **ret_detail)
{
	const char *fault = check_room(g, bytes);
	struct hold *h = fault == NULL ? calloc(1, sizeof(*h)) : NULL;

	if (h == NULL) {
		*ret_detail = fault != NULL ? fault : "out of memory";
		return NULL;
	}
	h->gate = g;
	h->id = chan_next_id(g->supervisor);
	h->bytes = bytes;
	h->done = done;
	h->arg = arg;
	LIST_INSERT_HEAD(&g->holds->all, h, link);
	g->holds->count++;
	g->holds->bytes += bytes;
	if (put(h, m) != 0) {
		hold_free(h);
		*ret_detail = "tapwardd does not take the question";
		return NULL;
	}
	return h;
}
