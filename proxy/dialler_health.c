/* Looks at resolvers in the clear, see dialler_health.h. */
#include "proxy/dialler_health.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/resolver_text.h"
#include "proxy/dialler_lane.h"
#include "wire/dns.h"

#define AREA "resolver"
/* Of DNS; the low four bits of its fourth byte are the RCODE. */
#define HEADER_BYTES 12

struct health_row {
	struct message_resolver_state state;
	enum dialler_fault fault; /* why it is down */
	unsigned int bad;         /* answers in a row that are none */
	bool was_served;
	uint64_t served_mono_ms;
};

struct dialler_health {
	struct dialler_lane lane; /* one question at a time */
	struct dialler_health_how how;
	struct event *timer;
	dialler_health_changed *changed;
	void *arg;
	const struct message_resolver *resolvers;
	unsigned int count;
	unsigned int next; /* to be looked at; count: the look is over */
	bool is_asking;
	bool is_suspected; /* since the last look began */
	bool is_doubted;   /* guests' questions failed: that is why we look */
	struct health_row rows[DIALLER_RESOLVERS_MAX];
};

static void
wake_in(struct dialler_health *h, uint64_t ms)
{
	const struct timeval tv = { .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };

	(void)evtimer_add(h->timer, &tv);
}

/* --- what is known ------------------------------------------------------- */

static void
note_up(struct dialler_health *h, unsigned int i)
{
	struct health_row *r = &h->rows[i];
	char name[RESOLVER_NAME_SIZE];

	if (r->state.state == RESOLVER_UP)
		return;
	log_info(AREA, "at=%s up", resolver_text(&h->resolvers[i], name));
	r->state.state = RESOLVER_UP;
	r->state.text[0] = '\0';
	r->fault = DIALLER_FAULT_NONE;
	h->changed(h->arg);
}

static void
note_down(struct dialler_health *h, unsigned int i, enum dialler_fault fault,
    const char *text)
{
	struct health_row *r = &h->rows[i];
	char name[RESOLVER_NAME_SIZE];

	if (r->state.state == RESOLVER_DOWN && r->fault == fault)
		return;
	r->state.state = RESOLVER_DOWN;
	r->fault = fault;
	(void)snprintf(r->state.text, sizeof(r->state.text), "%s: %s",
	    dialler_fault_word(fault), text);
	log_warn(AREA, "at=%s is of no use: %s",
	    resolver_text(&h->resolvers[i], name), r->state.text);
	h->changed(h->arg);
}

static bool
serves(const struct health_row *r)
{
	return r->was_served &&
	    clock_mono_ms() - r->served_mono_ms < DIALLER_HEALTH_SERVED_MS;
}

/* It answered for the root. */
static void
judge_answer(struct dialler_health *h, unsigned int i, uint8_t rcode)
{
	const struct health_row *r = &h->rows[i];
	char text[64];

	if (r->bad >= DIALLER_HEALTH_BAD_MAX)
		return;
	if (rcode == DNS_RCODE_NOERROR || rcode == DNS_RCODE_NXDOMAIN) {
		note_up(h, i);
		return;
	}
	if (serves(r) || !h->is_doubted)
		return;
	(void)snprintf(text, sizeof(text),
	    "it answers, but with an error (rcode %u)", rcode);
	note_down(h, i, DIALLER_FAULT_FAILED, text);
}

static void
judge_silence(struct dialler_health *h, unsigned int i, int status)
{
	const enum dialler_fault fault = dialler_lane_fault(status);
	char text[64];

	if (fault == DIALLER_FAULT_CANCELLED || fault == DIALLER_FAULT_TOO_MANY)
		return;
	if (fault != DIALLER_FAULT_TIMEOUT) {
		note_down(h, i, DIALLER_FAULT_REFUSED,
		    "nobody takes questions there");
		return;
	}
	(void)snprintf(text, sizeof(text), "no answer in %d ms",
	    h->how.wait_ms);
	note_down(h, i, fault, text);
}

/* --- looking ------------------------------------------------------------- */

static bool
is_one_down(const struct dialler_health *h)
{
	for (unsigned int i = 0; i < h->count; i++)
		if (h->rows[i].state.state == RESOLVER_DOWN)
			return true;
	return false;
}

static void
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is c-ares' */
on_answer(void *arg, int status, int timeouts, unsigned char *packet,
    int packet_len)
{
	const struct span s = dialler_lane_packet(packet, packet_len);
	struct dialler_health *h = arg;

	(void)timeouts;
	h->is_asking = false;
	if (status == ARES_ECANCELLED || status == ARES_EDESTRUCTION)
		return;
	if (s.len >= HEADER_BYTES)
		judge_answer(h, h->next, s.ptr[3] & 0xf);
	else
		judge_silence(h, h->next, status);
	h->next++;
	/* Not from here: for c-ares the question is open until we return. */
	wake_in(h, h->next < h->count ? 0 : h->how.pause_ms);
}

static void
ask_next(struct dialler_health *h)
{
	h->is_asking = true;
	if (dialler_lane_set(&h->lane, &h->resolvers[h->next], 1, 0) == 0) {
		dialler_lane_ask(&h->lane, ".", DNS_TYPE_NS, on_answer, h);
		return;
	}
	h->is_asking = false;
	h->next = h->count;
	wake_in(h, h->how.pause_ms);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_health *h = arg;

	(void)fd;
	(void)what;
	if (h->is_asking)
		return;
	if (h->next < h->count) {
		ask_next(h);
		return;
	}
	if (!h->is_suspected && !is_one_down(h))
		return;
	h->is_doubted = h->is_suspected || (h->is_doubted && is_one_down(h));
	h->is_suspected = false;
	h->next = 0;
	if (h->count > 0)
		ask_next(h);
}

/* --- outside ------------------------------------------------------------- */

static void
nobody_hears(void *arg)
{
	(void)arg;
}

int
dialler_health_new(struct event_base *base,
    const struct dialler_health_how *how, struct dialler_health **ret)
{
	const struct dialler_lane_how lane = {
		.timeout_ms = how->wait_ms,
		.tries = 1,
		.takes_failures = true,
	};
	struct dialler_health *h = calloc(1, sizeof(*h));
	int rc;

	if (h == NULL)
		return -ENOMEM;
	h->how = *how;
	h->changed = nobody_hears;
	h->timer = evtimer_new(base, on_timer, h);
	rc = dialler_lane_init(&h->lane, base, &lane);
	if (rc == 0 && h->timer == NULL)
		rc = -ENOMEM;
	if (rc != 0) {
		dialler_health_free(h);
		return rc;
	}
	*ret = h;
	return 0;
}

void
dialler_health_free(struct dialler_health *h)
{
	if (h == NULL)
		return;
	dialler_lane_done(&h->lane);
	if (h->timer != NULL)
		event_free(h->timer);
	free(h);
}

void
dialler_health_watch(struct dialler_health *h, dialler_health_changed *changed,
    void *arg)
{
	h->changed = changed;
	h->arg = arg;
}

void
dialler_health_set(struct dialler_health *h,
    const struct message_resolver *resolvers, unsigned int count)
{
	assert(count <= DIALLER_RESOLVERS_MAX);
	dialler_lane_cancel(&h->lane);
	(void)evtimer_del(h->timer);
	h->resolvers = resolvers;
	h->count = h->next = count;
	h->is_asking = h->is_suspected = h->is_doubted = false;
	for (unsigned int i = 0; i < DIALLER_RESOLVERS_MAX; i++)
		h->rows[i] = (struct health_row){ .bad = 0 };
}

void
dialler_health_look(struct dialler_health *h)
{
	h->next = 0;
	if (h->count > 0)
		wake_in(h, 0);
}

void
dialler_health_suspect(struct dialler_health *h)
{
	h->is_suspected = true;
	if (h->next == h->count && !evtimer_pending(h->timer, NULL))
		wake_in(h, 0);
}

void
dialler_health_answered(struct dialler_health *h, unsigned int i, bool is_ours)
{
	struct health_row *r = &h->rows[i];

	if (i >= h->count)
		return;
	r->state.answers++;
	if (is_ours) {
		r->bad = 0;
		r->was_served = true;
		r->served_mono_ms = clock_mono_ms();
		note_up(h, i);
	} else if (r->bad < DIALLER_HEALTH_BAD_MAX &&
	    ++r->bad == DIALLER_HEALTH_BAD_MAX) {
		note_down(h, i, DIALLER_FAULT_BAD_ANSWER,
		    "its last answers are to no question of ours");
	}
}

void
dialler_health_state(const struct dialler_health *h, unsigned int i,
    struct message_resolver_state *ret)
{
	assert(i < h->count);
	*ret = h->rows[i].state;
}
