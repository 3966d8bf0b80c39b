/*
 * What happened when, in slots of one width, however long it went on: when the
 * slots are too few they are joined. Pure; times are milliseconds since 1970.
 */
#ifndef TAPWARD_CLI_TIMELINE_H
#define TAPWARD_CLI_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMELINE_SLOTS 240

struct timeline_slot {
	uint64_t allowed, refused; /* requests */
	uint64_t up, down;         /* bytes */
};

/* Zeroed is empty. */
struct timeline {
	uint64_t from_ms; /* of the first slot: a multiple of its width */
	size_t step;      /* see timeline_step_ms() */
	size_t count;     /* slots up to the last that holds something */
	struct timeline_slot slots[TIMELINE_SLOTS];
};

/* In any order of time; sums stop at the largest number. */
void timeline_add(struct timeline *t, uint64_t at_ms,
    const struct timeline_slot *what);
/* The width of a slot. */
uint64_t timeline_step_ms(const struct timeline *t);

/* a + b, or the largest number. */
uint64_t timeline_sum(uint64_t a, uint64_t b);

/* The form of clock_text() alone; false for anything else. */
bool timeline_parse(const char *text, uint64_t *ret_ms);

#endif
