/*
 * Whom to ask in the clear, see dialler_ares.h: the order of resolvers, on two
 * lanes of c-ares.
 */
#include "proxy/dialler_ares.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proxy/dialler_health.h"
#include "proxy/dialler_lane.h"

/* First wait for an answer; c-ares doubles it at each of TRIES. */
#define TRY_TIMEOUT_MS 1000
#define TRIES 3
#define LANES 2
/* How resolvers are (dialler_health.h). */
#define LOOK_WAIT_MS 1500
#define LOOK_PAUSE_MS 2000

/*
 * The resolvers of a channel of c-ares cannot be put into another order while
 * a question is open, and it cannot be made anew in a sealed process, so there
 * are two: new questions go to the one, the other runs dry.
 */
struct dialler_ares {
	struct dialler_lane lanes[LANES];
	struct dialler_health *health;
	struct dialler_lane *current;
	unsigned int count;
	struct message_resolver resolvers[DIALLER_RESOLVERS_MAX];
	unsigned int first;      /* who is asked first */
	bool is_late;            /* that one was silent */
	uint64_t turned_boot_ms; /* when first was set */
	bool has_resolvers;
};

int
dialler_ares_new(struct event_base *base, struct dialler_ares **ret)
{
	static const struct dialler_lane_how how = {
		.timeout_ms = TRY_TIMEOUT_MS,
		.tries = TRIES,
	};
	static const struct dialler_health_how look = {
		.wait_ms = LOOK_WAIT_MS,
		.pause_ms = LOOK_PAUSE_MS,
	};
	struct dialler_ares *a;
	int rc;

	if (access("/dev/urandom", R_OK) == -1)
		return -ENOENT;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return -ENOMEM;
	a->current = &a->lanes[0];
	rc = dialler_health_new(base, &look, &a->health);
	for (int i = 0; i < LANES && rc == 0; i++) {
		a->lanes[i].ares = a;
		rc = dialler_lane_init(&a->lanes[i], base, &how);
	}
	if (rc != 0) {
		dialler_ares_free(a);
		return rc;
	}
	*ret = a;
	return 0;
}

void
dialler_ares_free(struct dialler_ares *a)
{
	if (a == NULL)
		return;
	for (int i = 0; i < LANES; i++)
		dialler_lane_done(&a->lanes[i]);
	dialler_health_free(a->health);
	free(a);
}

int
dialler_ares_set_resolvers(struct dialler_ares *a,
    const struct message_resolver *resolvers, unsigned int count)
{
	int rc;

	assert(count <= DIALLER_RESOLVERS_MAX);
	for (int i = 0; i < LANES; i++)
		dialler_lane_cancel(&a->lanes[i]);
	a->count = count;
	if (count > 0)
		memcpy(a->resolvers, resolvers, count * sizeof(resolvers[0]));
	a->first = 0;
	a->is_late = false;
	rc = dialler_lane_set(a->current, a->resolvers, count, 0);
	a->has_resolvers = rc == 0 && count > 0;
	dialler_health_set(a->health, a->resolvers, rc == 0 ? count : 0);
	return rc;
}

/* Whom to ask first from now on; how it was if the other lane is not dry. */
static void
turn_to(struct dialler_ares *a, unsigned int first)
{
	struct dialler_lane *other =
	    &a->lanes[a->current == &a->lanes[0] ? 1 : 0];

	if (other->open > 0 ||
	    dialler_lane_set(other, a->resolvers, a->count, first) != 0)
		return;
	a->first = first;
	a->current = other;
	a->is_late = false;
	a->turned_boot_ms = clock_boot_ms();
	log_info("dialler", "resolver=%u of %u is asked first", first + 1,
	    a->count);
}

static void
keep_order(struct dialler_ares *a)
{
	if (a->count < 2)
		return;
	if (a->is_late)
		turn_to(a, (a->first + 1) % a->count);
	else if (a->first != 0 &&
	    clock_boot_ms() - a->turned_boot_ms >= DIALLER_RESOLVER_REST_MS)
		turn_to(a, 0);
}

/* What an answer, or none, says of whoever was asked first. */
static void
note_answer(struct dialler_ares *a, const struct dialler_query *q, bool is_late)
{
	if (is_late && q->lane == a->current)
		a->is_late = true;
	/* It, or the name's own nameservers, which may be a guest's. */
	if (is_late || q->sender != a->first)
		dialler_health_suspect(a->health);
}

static void
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is c-ares' */
on_answer(void *arg, int status, int timeouts, unsigned char *packet,
    int packet_len)
{
	struct dialler_query *q = arg;
	struct dialler_ares *a = q->lane->ares;
	const enum dialler_fault fault = dialler_lane_fault(status);
	const struct span s = dialler_lane_packet(packet, packet_len);

	q->lane->open--;
	q->sender = s.len > 0
	    ? dialler_lane_sender(q->lane, a->resolvers, a->count)
	    : a->count;
	if (fault != DIALLER_FAULT_CANCELLED)
		note_answer(a, q, timeouts > 0);
	q->done(s, s.len > 0 ? DIALLER_FAULT_NONE : fault, q->arg);
}

void
dialler_ares_ask(struct dialler_ares *a, const char *host, uint16_t type,
    struct dialler_query *q)
{
	/* c-ares 1.18.1 would leak the question. */
	if (!a->has_resolvers) {
		q->done((struct span){ NULL, 0 }, DIALLER_FAULT_NO_RESOLVER,
		    q->arg);
		return;
	}
	keep_order(a);
	q->lane = a->current;
	q->lane->open++;
	dialler_lane_ask(q->lane, host, type, on_answer, q);
}

struct dialler_health *
dialler_ares_health(struct dialler_ares *a)
{
	return a->health;
}
