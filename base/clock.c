/*
 * The clocks, see clock.h.
 */
#include "base/clock.h"

#include <assert.h>
#include <stdbool.h>
#include <time.h>

#include "base/bytes.h"

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

/*
 * The date that lies days after 1970-01-01 (Gregorian). Counted from the first
 * of a March, so that the day that comes every four years is a year's last:
 * then months are 31, 30, 31, 30, 31 days twice, and the rest of it.
 */
static struct date
date_after(uint64_t days)
{
	const unsigned int era = 146097; /* days in 400 years */
	/* From 0000-03-01. */
	const uint64_t from_march = days + 719468;
	const unsigned int day = (unsigned int)(from_march % era);
	const unsigned int year =
	    (day - day / 1460 + day / 36524 - day / (era - 1)) / 365;
	const unsigned int of_year = day - (365 * year + year / 4 - year / 100);
	const unsigned int month = (5 * of_year + 2) / 153;
	struct date d = { .year = year + 400 * (unsigned int)(from_march / era),
		.month = month < 10 ? month + 3 : month - 9,
		.day = of_year - (153 * month + 2) / 5 + 1 };

	if (d.month <= 2)
		d.year++;
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
	struct wr w = wr_init(buf, CLOCK_TEXT_SIZE);

	wr_digits(&w, d.year, 4);
	wr_u8(&w, '-');
	wr_digits(&w, d.month, 2);
	wr_u8(&w, '-');
	wr_digits(&w, d.day, 2);
	wr_u8(&w, 'T');
	wr_digits(&w, t / 3600000, 2);
	wr_u8(&w, ':');
	wr_digits(&w, t / 60000 % 60, 2);
	wr_u8(&w, ':');
	wr_digits(&w, t / 1000 % 60, 2);
	wr_u8(&w, '.');
	wr_digits(&w, t % 1000, 3);
	wr_text(&w, "Z");
	wr_u8(&w, 0);
	return buf;
}
