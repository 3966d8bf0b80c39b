/*
 * See timeline.h. Each width divides the next, and slots begin at multiples of
 * theirs, so that joining slots never splits one.
 */
#include "cli/timeline.h"

#include <string.h>

#include "base/ascii.h"
#include "base/bytes.h"
#include "base/clock.h"

#define S_MS UINT64_C(1000)
#define MIN_MS (60 * S_MS)
#define HOUR_MS (60 * MIN_MS)
#define DAY_MS (24 * HOUR_MS)

/* The last holds all years that a text can name. */
static const uint64_t widths_ms[] = { 100, 200, S_MS, 2 * S_MS, 10 * S_MS,
	30 * S_MS, MIN_MS, 5 * MIN_MS, 10 * MIN_MS, 30 * MIN_MS, HOUR_MS,
	6 * HOUR_MS, DAY_MS, 10 * DAY_MS, 100 * DAY_MS, 1000 * DAY_MS,
	100000 * DAY_MS };

#define WIDTHS (sizeof(widths_ms) / sizeof(widths_ms[0]))

uint64_t
timeline_step_ms(const struct timeline *t)
{
	return widths_ms[t->step];
}

uint64_t
timeline_sum(uint64_t a, uint64_t b)
{
	return b > UINT64_MAX - a ? UINT64_MAX : a + b;
}

static void
add(struct timeline_slot *to, const struct timeline_slot *what)
{
	to->allowed = timeline_sum(to->allowed, what->allowed);
	to->refused = timeline_sum(to->refused, what->refused);
	to->up = timeline_sum(to->up, what->up);
	to->down = timeline_sum(to->down, what->down);
}

/* All that is there, again in slots of another width or from another start. */
static void
lay_out(struct timeline *t, size_t step, uint64_t from_ms)
{
	const struct timeline old = *t;
	const uint64_t width = widths_ms[step];

	*t = (struct timeline){ .step = step };
	t->from_ms = from_ms - from_ms % width;
	for (size_t i = 0; i < old.count; i++) {
		uint64_t at = old.from_ms + i * widths_ms[old.step];
		size_t k = (size_t)((at - t->from_ms) / width);

		add(&t->slots[k], &old.slots[i]);
		t->count = k + 1;
	}
}

void
timeline_add(struct timeline *t, uint64_t at_ms,
    const struct timeline_slot *what)
{
	uint64_t first = at_ms, last = at_ms;
	size_t step = t->step, k;

	if (t->count > 0) {
		uint64_t end = t->from_ms + (t->count - 1) * widths_ms[t->step];

		first = t->from_ms < at_ms ? t->from_ms : at_ms;
		last = end > at_ms ? end : at_ms;
	}
	while (step < WIDTHS - 1 &&
	    last / widths_ms[step] - first / widths_ms[step] >= TIMELINE_SLOTS)
		step++;
	if (t->count == 0 || step != t->step || first < t->from_ms)
		lay_out(t, step, first);
	k = (size_t)((at_ms - t->from_ms) / widths_ms[t->step]);
	add(&t->slots[k], what);
	t->count = k + 1 > t->count ? k + 1 : t->count;
}

/* Takes a number of so many digits off r and what must follow it. */
static unsigned int
take(struct rd *r, size_t digits, uint8_t then)
{
	unsigned int n = 0;

	for (size_t i = 0; i < digits; i++) {
		uint8_t c = rd_u8(r);

		if (!ascii_is_digit(c))
			rd_fail(r);
		else
			n = n * 10 + (unsigned int)(c - '0');
	}
	if (rd_u8(r) != then)
		rd_fail(r);
	return n;
}

static bool
is_leap(unsigned int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Since 1970-01-01; month and day count from 1. */
static uint64_t
days_since_epoch(unsigned int year, unsigned int month, unsigned int day)
{
	static const uint16_t before[] = { 0, 31, 59, 90, 120, 151, 181, 212,
		243, 273, 304, 334 };
	unsigned int past = year - 1;
	uint64_t leaps = past / 4 - past / 100 + past / 400 -
	    (1969 / 4 - 1969 / 100 + 1969 / 400);

	return UINT64_C(365) * (year - 1970) + leaps + before[month - 1] +
	    (month > 2 && is_leap(year) ? 1 : 0) + day - 1;
}

bool
timeline_parse(const char *text, uint64_t *ret_ms)
{
	struct rd r = rd_init(text, strlen(text));
	unsigned int year = take(&r, 4, '-');
	unsigned int month = take(&r, 2, '-');
	unsigned int day = take(&r, 2, 'T');
	unsigned int hour = take(&r, 2, ':');
	unsigned int minute = take(&r, 2, ':');
	unsigned int second = take(&r, 2, '.');
	unsigned int ms = take(&r, 3, 'Z');
	char again[CLOCK_TEXT_SIZE];
	uint64_t all;

	if (!rd_done(&r) || year < 1970 || month < 1 || month > 12 || day < 1)
		return false;
	all = ((days_since_epoch(year, month, day) * 24 + hour) * 60 + minute) *
		MIN_MS +
	    second * S_MS + ms;
	/* February 30 and 25:00 come out as something else. */
	if (strcmp(clock_text(all, again), text) != 0)
		return false;
	*ret_ms = all;
	return true;
}
