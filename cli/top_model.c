/* Rows and rates, see top_model.h. */
#include "cli/top_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a rate is of, how it is counted, and its name in JSON. */
static const struct {
	enum top_column rate, of;
	uint64_t a_second; /* what one in a second comes out as */
	const char *key;
} rates[] = {
	{ TOP_REQUEST_RATE, TOP_REQUESTS, 10, "request_rate" },
	{ TOP_UP_RATE, TOP_UP, 1, "up_rate" },
	{ TOP_DOWN_RATE, TOP_DOWN, 1, "down_rate" },
};

/* Of what is counted; a rate of more would not fit our arithmetic. */
#define RATE_COUNT_MAX (UINT64_C(1) << 50)

#define RATE_COUNT (sizeof(rates) / sizeof(rates[0]))

static const struct {
	enum top_column column;
	const char *key;
} numbers[] = {
	{ TOP_CONNECTIONS, "connections" },
	{ TOP_REQUESTS, "requests" },
	{ TOP_ASKS, "asks" },
	{ TOP_UP, "up" },
	{ TOP_DOWN, "down" },
};

void
top_model_done(struct top_model *m)
{
	json_decref(m->json);
	free(m->rows);
	*m = (struct top_model){ 0 };
}

/* TOP_UNKNOWN for what is no number. */
static uint64_t
number_of(const json_t *json, const char *key)
{
	const json_t *v = json_object_get(json, key);

	return json_is_integer(v) && json_integer_value(v) >= 0
	    ? (uint64_t)json_integer_value(v)
	    : TOP_UNKNOWN;
}

static void
copy_text(const json_t *json, const char *key, char *buf, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	(void)snprintf(buf, size, "%s", text == NULL ? "" : text);
}

static void
read_row(const json_t *json, struct top_row *ret)
{
	uint64_t refused = number_of(json, "refused");
	uint64_t dropped = number_of(json, "dropped");

	*ret = (struct top_row){ .generation = number_of(json, "generation") };
	copy_text(json, "name", ret->name, sizeof(ret->name));
	copy_text(json, "state", ret->state, sizeof(ret->state));
	/* That it runs goes without saying; what else it is counts more. */
	if (json_is_true(json_object_get(json, "learning")) &&
	    strcmp(ret->state, "running") == 0)
		(void)snprintf(ret->state, sizeof(ret->state), "learning");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		ret->values[numbers[i].column] =
		    number_of(json, numbers[i].key);
	ret->values[TOP_REFUSED] =
	    refused == TOP_UNKNOWN || dropped == TOP_UNKNOWN
	    ? TOP_UNKNOWN
	    : refused + dropped;
	for (size_t i = 0; i < RATE_COUNT; i++)
		ret->values[rates[i].rate] = TOP_UNKNOWN;
}

static int
by_name(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* A count that fell began anew: nothing is known of what it was before. */
static uint64_t
rate_of(uint64_t before, uint64_t now, uint64_t a_second, uint64_t ms)
{
	if (before == TOP_UNKNOWN || now == TOP_UNKNOWN || now > RATE_COUNT_MAX)
		return TOP_UNKNOWN;
	return now < before ? 0 : (now - before) * 1000 * a_second / ms;
}

static void
fill_rates(struct top_row *row, const struct top_row *before, uint64_t ms)
{
	for (size_t i = 0; i < RATE_COUNT; i++)
		row->values[rates[i].rate] =
		    rate_of(before->values[rates[i].of],
			row->values[rates[i].of], rates[i].a_second, ms);
}

static void
fill_all_rates(const struct top_model *m, struct top_row *rows, size_t count,
    uint64_t sample_ms)
{
	for (size_t i = 0; sample_ms > m->sample_ms && i < count; i++) {
		const struct top_row *before = top_model_find(m, rows[i].name);

		if (before != NULL && before->generation == rows[i].generation)
			fill_rates(&rows[i], before, sample_ms - m->sample_ms);
	}
}

const struct top_row *
top_model_find(const struct top_model *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (strcmp(m->rows[i].name, name) == 0)
			return &m->rows[i];
	return NULL;
}

bool
top_model_take(struct top_model *m, json_t *json)
{
	const json_t *all = json_object_get(json, "sandboxes");
	size_t count = json_array_size(all), i;
	uint64_t sample_ms = number_of(json, "sample_ms");
	struct top_row *rows;
	json_t *one;

	if (!json_is_array(all) || sample_ms == TOP_UNKNOWN) {
		json_decref(json);
		return false;
	}
	rows = calloc(count + 1, sizeof(*rows));
	if (rows == NULL) {
		json_decref(json);
		return false;
	}
	json_array_foreach(all, i, one)
	{
		read_row(one, &rows[i]);
	}
	fill_all_rates(m, rows, count, sample_ms);
	top_model_done(m);
	*m = (struct top_model){ json, sample_ms, rows, count };
	return true;
}

/* What qsort() has no room for: one thread, one sort at a time. */
static struct {
	enum top_column by;
	bool is_reversed;
} order;

static int
compare(const struct top_row *x, const struct top_row *y)
{
	uint64_t a = x->values[order.by], b = y->values[order.by];

	if (order.by == TOP_NAME)
		return 0;
	if (order.by == TOP_STATE)
		return strcmp(x->state, y->state);
	/* What is not known comes last, as if it were less than nothing. */
	a = a == TOP_UNKNOWN ? 0 : a + 1;
	b = b == TOP_UNKNOWN ? 0 : b + 1;
	return (a < b) - (a > b);
}

static int
by_order(const void *a, const void *b)
{
	int c = compare(a, b);

	if (c == 0)
		c = by_name(a, b);
	return order.is_reversed ? -c : c;
}

void
top_model_sort(struct top_model *m, enum top_column by, bool is_reversed)
{
	order.by = by;
	order.is_reversed = is_reversed;
	if (m->count > 1)
		qsort(m->rows, m->count, sizeof(*m->rows), by_order);
}

void
top_model_add_rates(struct top_model *m)
{
	size_t at;
	json_t *one;

	json_array_foreach(json_object_get(m->json, "sandboxes"), at, one)
	{
		const struct top_row *row = top_model_find(m,
		    json_string_value(json_object_get(one, "name")));

		for (size_t i = 0; row != NULL && i < RATE_COUNT; i++) {
			const uint64_t v = row->values[rates[i].rate];

			(void)json_object_set_new(one, rates[i].key,
			    v == TOP_UNKNOWN ? json_null()
					     : json_real((double)v /
						   (double)rates[i].a_second));
		}
	}
}
