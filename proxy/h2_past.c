/*
 * The last streams of a connection, see h2_past.h.
 */
#include "proxy/h2_past.h"

/* Streams that requests are sent on have odd numbers. */
static uint32_t
nth(int32_t id)
{
	return (uint32_t)id / 2;
}

static uint8_t *
slot(struct h2_past *p, uint32_t n)
{
	return &p->state[n % H2_PAST_SLOTS];
}

void
h2_past_open(struct h2_past *p, int32_t id)
{
	uint32_t n, first;

	if (id <= p->last || id % 2 == 0)
		return;
	n = nth(id);
	first = p->last == 0 ? 0 : nth(p->last) + 1;
	if (n - first > H2_PAST_SLOTS)
		first = n - H2_PAST_SLOTS;
	for (; first < n; first++)
		*slot(p, first) = H2_PAST_SKIPPED;
	*slot(p, n) = H2_PAST_OPEN;
	p->last = id;
}

void
h2_past_end(struct h2_past *p, int32_t id)
{
	if (h2_past_find(p, id) == H2_PAST_OPEN)
		*slot(p, nth(id)) = H2_PAST_ENDED;
}

enum h2_past_state
h2_past_find(const struct h2_past *p, int32_t id)
{
	if (id <= 0 || id > p->last || id % 2 == 0 ||
	    nth(p->last) - nth(id) >= H2_PAST_SLOTS)
		return H2_PAST_UNKNOWN;
	return (enum h2_past_state)p->state[nth(id) % H2_PAST_SLOTS];
}
