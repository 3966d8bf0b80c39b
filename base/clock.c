/*
 * The clocks, see clock.h.
 */
#include "base/clock.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

static struct {
	bool is_stopped;
	uint64_t mono_ms;
	uint64_t boot_ms;
	uint64_t wall_ms;
} test;

static uint64_t
read_us(clockid_t id)
{
	struct timespec ts;
	int rc = clock_gettime(id, &ts);

	assert(rc == 0);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
clock_mono_us(void)
{
	return test.is_stopped ? test.mono_ms * 1000 : read_us(CLOCK_MONOTONIC);
}

uint64_t
clock_mono_ms(void)
{
	return clock_mono_us() / 1000;
}

uint64_t
clock_boot_ms(void)
{
	return test.is_stopped ? test.boot_ms : read_us(CLOCK_BOOTTIME) / 1000;
}

uint64_t
clock_wall_ms(void)
{
	return test.is_stopped ? test.wall_ms : read_us(CLOCK_REALTIME) / 1000;
}

void
clock_test_set(uint64_t mono_ms, uint64_t boot_ms, uint64_t wall_ms)
{
	test.is_stopped = true;
	test.mono_ms = mono_ms;
	test.boot_ms = boot_ms;
	test.wall_ms = wall_ms;
}

void
clock_test_advance(uint64_t ms)
{
	assert(test.is_stopped);
	test.mono_ms += ms;
	test.boot_ms += ms;
	test.wall_ms += ms;
}

void
clock_test_release(void)
{
	test.is_stopped = false;
}

struct date {
	unsigned int year, month, day;
};

static bool
is_leap(unsigned int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* The date that lies days after 1970-01-01 (Gregorian). */
static struct date
date_after(uint64_t days)
{
	static const unsigned int lengths[] = { 31, 28, 31, 30, 31, 30, 31, 31,
		30, 31, 30, 31 };
	const unsigned int era = 146097; /* days in 400 years */
	struct date d = { 1970 + 400 * (unsigned int)(days / era), 1, 1 };
	unsigned int left = (unsigned int)(days % era);
	unsigned int len;

	while (left >= (len = is_leap(d.year) ? 366 : 365)) {
		left -= len;
		d.year++;
	}
	while (left >=
	    (len = lengths[d.month - 1] + (d.month == 2 && is_leap(d.year)))) {
		left -= len;
		d.month++;
	}
	d.day += left;
	return d;
}

/*
 * Not gmtime_r() and strftime(): the first call of glibc's opens
 * /etc/localtime, which our system call filters kill for.
 */
const char *
clock_text(uint64_t wall_ms, char buf[CLOCK_TEXT_SIZE])
{
	const uint64_t day_ms = 86400000;
	const uint64_t last_ms = 253402300799999; /* 9999-12-31T23:59:59.999 */
	uint64_t ms = wall_ms < last_ms ? wall_ms : last_ms;
	struct date d = date_after(ms / day_ms);
	unsigned int t = (unsigned int)(ms % day_ms);

	(void)snprintf(buf, CLOCK_TEXT_SIZE,
	    "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", d.year % 10000,
	    d.month % 100, d.day % 100, t / 3600000 % 100, t / 60000 % 60,
	    t / 1000 % 60, t % 1000);
	return buf;
}
