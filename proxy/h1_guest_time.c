/*
 * Time of the guest's half in HTTP/1.1: what must happen by when, and the rest
 * of a connection on which nothing does.
 */
#include "proxy/h1_guest_private.h"

#include <assert.h>

#include "base/clock.h"

/*
 * An idle connection holds its buffers this long: to make them anew for each of
 * many requests would cost more than the requests' heads.
 */
#define REST_MS 1000

static void
arm(struct h1_guest *h, uint64_t at_ms, uint64_t now_ms)
{
	uint64_t ms = at_ms > now_ms ? at_ms - now_ms : 0;
	struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	h->timer_ms = at_ms;
	(void)event_add(&h->timer, &tv);
}

static bool
is_idle(const struct h1_guest *h)
{
	return h->state == H1_HEAD && h->in.len == 0 && h->out.len == 0;
}

/* When there is next something to do. */
static uint64_t
next_ms(const struct h1_guest *h)
{
	uint64_t rest_ms = h->used_ms + REST_MS;

	if (is_idle(h) && !h->is_resting && rest_ms < h->deadline_ms)
		return rest_ms;
	return h->deadline_ms;
}

void
h1_guest_set_deadline(struct h1_guest *h, uint64_t ms)
{
	uint64_t now = clock_mono_ms(), next;

	h->used_ms = now;
	h->is_resting = false;
	h->deadline_ms = ms == 0 ? 0 : now + ms;
	next = next_ms(h);
	if (ms != 0 && (h->timer_ms == 0 || h->timer_ms > next))
		arm(h, next, now);
}

static void
rest(struct h1_guest *h)
{
	h->is_resting = true;
	buf_done(&h->in);
	buf_done(&h->out);
	stream_rest(h->spec.stream);
}

static void
on_head_late(struct h1_guest *h)
{
	struct deny d = deny_init(REASON_TIMEOUT);

	if (h->in.len == 0) {
		h1_guest_enter(h, H1_DEAD);
		return;
	}
	d.status = 408;
	d.detail = "the request's head did not arrive in time";
	h1_guest_refuse_head(h, &d);
}

static void
on_late(struct h1_guest *h)
{
	h->deadline_ms = 0;
	if (h->state == H1_HEAD)
		on_head_late(h);
	else if (h->state == H1_LOOK)
		h1_guest_end_look(h);
	else if (h->state == H1_DRAIN)
		h1_guest_enter(h, H1_CLOSE);
	else
		h1_guest_enter(h, H1_DEAD);
	h1_guest_run(h);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct h1_guest *h = arg;
	uint64_t now = clock_mono_ms();

	(void)fd;
	(void)what;
	h->timer_ms = 0;
	if (h->deadline_ms == 0)
		return;
	if (now >= h->deadline_ms) {
		on_late(h);
		return;
	}
	if (is_idle(h) && now - h->used_ms >= REST_MS)
		rest(h);
	arm(h, next_ms(h), now);
}

void
h1_guest_init_timer(struct h1_guest *h)
{
	int rc = event_assign(&h->timer, h->gate->base, -1, 0, on_timer, h);

	assert(rc == 0);
}
