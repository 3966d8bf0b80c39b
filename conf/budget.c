/*
 * Numbers of budgets and their counts, see budget.h.
 */
#include "conf/budget.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert(sizeof(struct budget_slot) % 8 == 0, "slots stand in a row");

static const struct {
	const char *name;
	uint32_t seconds;
} periods[] = {
	{ "second", 1 },
	{ "minute", 60 },
	{ "hour", 3600 },
	{ "day", 86400 },
};
#define PERIODS (sizeof(periods) / sizeof(periods[0]))

/* Takes decimal digits off *s; false without one, or with more than max. */
static bool
take_digits(struct span *s, size_t max, uint32_t *ret)
{
	uint32_t n = 0;
	size_t i = 0;

	while (i < s->len && s->ptr[i] >= '0' && s->ptr[i] <= '9') {
		if (i == max)
			return false;
		n = n * 10 + (uint32_t)(s->ptr[i++] - '0');
	}
	if (i == 0)
		return false;
	*s = (struct span){ s->ptr + i, s->len - i };
	*ret = n;
	return true;
}

static bool
take_byte(struct span *s, char c)
{
	if (s->len == 0 || s->ptr[0] != (uint8_t)c)
		return false;
	*s = (struct span){ s->ptr + 1, s->len - 1 };
	return true;
}

const char *
budget_parse_rate(struct span v, struct budget *b)
{
	uint32_t n;

	if (!take_digits(&v, 7, &n) || !take_byte(&v, '/'))
		return "write a rate as 100/minute";
	if (n == 0 || n > BUDGET_RATE_MAX)
		return "a rate is 1 to 1000000 requests";
	for (size_t i = 0; i < PERIODS; i++) {
		if (!span_is(v, periods[i].name))
			continue;
		b->rate = n;
		b->rate_s = periods[i].seconds;
		return NULL;
	}
	return "a rate is for each second, minute, hour or day";
}

/* --- time --- */

static bool
take_two(struct span *s, uint32_t max, uint32_t *ret)
{
	struct span two = { s->ptr, s->len < 2 ? s->len : 2 };
	size_t before = two.len;

	if (before != 2 || !take_digits(&two, 2, ret) || two.len != 0 ||
	    *ret > max)
		return false;
	*s = (struct span){ s->ptr + 2, s->len - 2 };
	return true;
}

static bool
is_leap(uint32_t year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static uint32_t
days_of(uint32_t year, uint32_t month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };

	return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

static uint64_t
days_since_1970(uint32_t year, uint32_t month, uint32_t day)
{
	uint64_t days = 0;

	for (uint32_t y = 1970; y < year; y++)
		days += is_leap(y) ? 366 : 365;
	for (uint32_t m = 1; m < month; m++)
		days += days_of(year, m);
	return days + day - 1;
}

const char *
budget_parse_until(struct span v, uint64_t *ret_s)
{
	static const char form[] = "write the end in UTC, as 2026-12-31T18:00Z";
	uint32_t year, month, day, hour, minute, second = 0;

	if (!take_digits(&v, 4, &year) || !take_byte(&v, '-') ||
	    !take_two(&v, 12, &month) || !take_byte(&v, '-') ||
	    !take_two(&v, 31, &day) || !take_byte(&v, 'T') ||
	    !take_two(&v, 23, &hour) || !take_byte(&v, ':') ||
	    !take_two(&v, 59, &minute))
		return form;
	if (take_byte(&v, ':') && !take_two(&v, 59, &second))
		return form;
	if (!take_byte(&v, 'Z') || v.len != 0)
		return form;
	if (year < 1970 || month == 0 || day == 0 || day > days_of(year, month))
		return "there is no such day";
	*ret_s = days_since_1970(year, month, day) * 86400 +
	    UINT64_C(60) * (hour * 60 + minute) + second;
	return NULL;
}

const char *
budget_rate_text(const struct budget *b, char buf[32])
{
	const char *name = "second";

	for (size_t i = 0; i < PERIODS; i++) {
		if (periods[i].seconds == b->rate_s)
			name = periods[i].name;
	}
	(void)snprintf(buf, 32, "%u/%s", b->rate, name);
	return buf;
}

/* --- counts --- */

uint64_t
budget_left(uint64_t max, uint64_t used)
{
	if (max == 0)
		return UINT64_MAX;
	return used < max ? max - used : 0;
}

/* A slice is this long; the span is all of them but the newest, begun one. */
static uint64_t
slice_ms(const struct budget *b)
{
	uint64_t ms = (uint64_t)b->rate_s * 1000 / (BUDGET_SLICES - 1);

	/* Rounded up: never a shorter span than was asked for. */
	return ms + ((uint64_t)b->rate_s * 1000 % (BUDGET_SLICES - 1) != 0);
}

/* How many were counted in slices that the span which ends now touches. */
static uint64_t
in_span(const struct budget_slot *s, uint64_t now, uint64_t *ret_oldest)
{
	uint64_t sum = 0;

	*ret_oldest = now;
	for (uint64_t i = 0; i < BUDGET_SLICES && i <= s->newest; i++) {
		uint64_t at = s->newest - i;
		uint32_t n = s->slices[at % BUDGET_SLICES];

		if (at + BUDGET_SLICES <= now)
			break;
		sum += n;
		if (n > 0)
			*ret_oldest = at;
	}
	return sum;
}

uint64_t
budget_rate_left(const struct budget_slot *s, uint64_t boot_ms,
    uint64_t *ret_wait_ms)
{
	uint64_t now, oldest, used;

	if (s->budget.rate == 0)
		return UINT64_MAX;
	now = boot_ms / slice_ms(&s->budget);
	used = in_span(s, now, &oldest);
	if (used < s->budget.rate)
		return s->budget.rate - used;
	*ret_wait_ms =
	    (oldest + BUDGET_SLICES) * slice_ms(&s->budget) - boot_ms;
	return 0;
}

void
budget_rate_count(struct budget_slot *s, uint64_t boot_ms)
{
	uint64_t now;

	if (s->budget.rate == 0)
		return;
	now = boot_ms / slice_ms(&s->budget);
	if (now >= s->newest + BUDGET_SLICES)
		memset(s->slices, 0, sizeof(s->slices));
	else
		for (uint64_t at = s->newest + 1; at <= now; at++)
			s->slices[at % BUDGET_SLICES] = 0;
	/* A clock of boot time does not go back; if it did, no room is won. */
	if (now > s->newest)
		s->newest = now;
	s->slices[s->newest % BUDGET_SLICES]++;
}

void
budget_slot_set(struct budget_slot *s, const struct budget *b, uint64_t boot_ms)
{
	uint64_t held = 0, now, oldest;

	if (s->budget.rate != 0 && s->budget.rate_s != b->rate_s)
		held = in_span(s, boot_ms / slice_ms(&s->budget), &oldest);
	if (s->budget.rate_s != b->rate_s) {
		memset(s->slices, 0, sizeof(s->slices));
		s->newest = 0;
	}
	s->budget = *b;
	if (b->rate == 0 || held == 0)
		return;
	now = boot_ms / slice_ms(b);
	s->newest = now;
	s->slices[now % BUDGET_SLICES] = (uint32_t)held;
}

bool
budget_slot_is_sound(const struct budget_slot *s)
{
	return s->budget.rate_s <= BUDGET_RATE_S_MAX &&
	    (s->budget.rate == 0) == (s->budget.rate_s == 0) &&
	    memchr(s->rule, '\0', sizeof(s->rule)) != NULL &&
	    memchr(s->file, '\0', sizeof(s->file)) != NULL;
}
