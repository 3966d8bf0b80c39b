/*
 * The clocks we read, in one place, so that a test can stop and move them.
 * Timers and deadlines run on CLOCK_MONOTONIC, leases on CLOCK_BOOTTIME (a
 * suspended host must not lengthen them); wall time is only printed and put
 * into certificates.
 */
#ifndef TAPWARD_BASE_CLOCK_H
#define TAPWARD_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_mono_ms(void);
uint64_t clock_mono_us(void);
uint64_t clock_boot_ms(void);
/* Milliseconds since 1970-01-01 UTC. */
uint64_t clock_wall_ms(void);

/* All three clocks stand at these values until clock_test_release(). */
void clock_test_set(uint64_t mono_ms, uint64_t boot_ms, uint64_t wall_ms);
void clock_test_advance(uint64_t ms);
void clock_test_release(void);

/* "2026-01-31T23:59:59.123Z" and its NUL. */
#define CLOCK_TEXT_SIZE 25
/* RFC 3339, UTC, milliseconds. Returns buf. */
const char *clock_text(uint64_t wall_ms, char buf[CLOCK_TEXT_SIZE]);

#endif
