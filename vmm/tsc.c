/* See tsc.h. */
#include "vmm/tsc.h"

#include <stdint.h>
#include <time.h>

#define MEASURE_NS 20000000ull

#if defined(__x86_64__)
#include <x86intrin.h>

static uint64_t
now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

/*
 * Both clocks as near to one another as can be had: of several pairs the one
 * whose clock took the shortest time to read, since we may be interrupted.
 */
static void
read_pair(uint64_t *ret_tsc, uint64_t *ret_ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 8; i++) {
		uint64_t before = __rdtsc(), ns = now_ns(), after = __rdtsc();

		if (after - before >= best)
			continue;
		best = after - before;
		*ret_tsc = before + best / 2;
		*ret_ns = ns;
	}
}

/* When it began. */
static uint64_t began_tsc, began_ns;

void
tsc_begin(void)
{
	read_pair(&began_tsc, &began_ns);
}

unsigned int
tsc_khz(void)
{
	uint64_t tsc = 0, ns = 0;

	if (began_ns == 0)
		tsc_begin();
	while (now_ns() < began_ns + MEASURE_NS)
		;
	read_pair(&tsc, &ns);
	return (unsigned int)((tsc - began_tsc) * 1000000 / (ns - began_ns));
}

#else

void
tsc_begin(void)
{
}

unsigned int
tsc_khz(void)
{
	return 0;
}

#endif
