/*
 * What `tapward top` shows: two answers of the daemon, the last and the one
 * before it, from which rates come. Pure.
 */
#ifndef TAPWARD_CLI_TOP_MODEL_H
#define TAPWARD_CLI_TOP_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"

/* In the order of their columns. */
enum top_column {
	TOP_NAME,
	TOP_STATE,
	TOP_CONNECTIONS,
	TOP_REQUEST_RATE, /* tenths a second */
	TOP_REQUESTS,
	TOP_REFUSED, /* records of a refusal, and packets */
	TOP_UP_RATE, /* bytes a second */
	TOP_DOWN_RATE,
	TOP_ASKS,
	TOP_UP,
	TOP_DOWN,
	TOP_COLUMNS
};

/* No number is known: it is another user's, or there is no rate yet. */
#define TOP_UNKNOWN UINT64_MAX

struct top_row {
	char name[SANDBOX_NAME_SIZE];
	char state[16];
	uint64_t generation;
	uint64_t values[TOP_COLUMNS]; /* of those that are numbers */
};

struct top_model {
	json_t *json; /* the last answer; NULL before the first */
	uint64_t sample_ms;
	struct top_row *rows;
	size_t count;
};

void top_model_done(struct top_model *m);
/*
 * Takes json, an answer with all its pages in one. Rates are since the answer
 * before, of sandboxes that were in it. False: it is none; m stays as it was.
 */
bool top_model_take(struct top_model *m, json_t *json);
/* Sorts the rows: names rise, numbers fall, is_reversed the other way. */
void top_model_sort(struct top_model *m, enum top_column by, bool is_reversed);
/* Puts the rates into json's sandboxes, for --json. */
void top_model_add_rates(struct top_model *m);
/* NULL if there is none. */
const struct top_row *top_model_find(const struct top_model *m,
    const char *name);

#endif
