/*
 * Budgets in JSON, see api_budgets.h.
 */
#include "daemon/api_budgets.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "conf/budget.h"

static bool
read_table(int fd, struct budget_table *ret)
{
	uint8_t *at = (uint8_t *)ret;
	size_t left = sizeof(*ret);

	if (lseek(fd, 0, SEEK_SET) == -1)
		return false;
	while (left > 0) {
		ssize_t n = read(fd, at, left);

		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		left -= (size_t)n;
	}
	return ret->magic == BUDGET_MAGIC;
}

static json_int_t
number(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (json_int_t)n;
}

/* Adds {"max", "used", "left"} if there is a maximum. False: no memory. */
static bool
add_count(json_t *to, const char *name, uint64_t max, uint64_t used)
{
	return max == 0 ||
	    json_object_set_new(to, name,
		json_pack("{s:I, s:I, s:I}", "max", number(max), "used",
		    number(used), "left", number(budget_left(max, used)))) == 0;
}

static bool
add_rate(json_t *to, const struct budget_slot *s)
{
	uint64_t wait_ms = 0, left;
	char text[32];

	if (s->budget.rate == 0)
		return true;
	left = budget_rate_left(s, clock_boot_ms(), &wait_ms);
	return json_object_set_new(to, "rate",
		   json_pack("{s:s, s:I, s:I}", "max",
		       budget_rate_text(&s->budget, text), "left", number(left),
		       "wait_ms", number(wait_ms))) == 0;
}

static bool
add_until(json_t *to, const struct budget *b)
{
	char text[CLOCK_TEXT_SIZE];

	return b->until_s == 0 || b->until_s > BUDGET_UNTIL_MAX ||
	    json_object_set_new(to, "until",
		json_string(clock_text(b->until_s * 1000, text))) == 0;
}

static json_t *
slot_json(const struct budget_slot *s)
{
	const struct budget *b = &s->budget;
	json_t *one = json_pack("{s:s, s:s, s:i, s:b}", "rule", s->rule, "file",
	    s->file, "line", (int)(s->line & INT32_MAX), "ceiling",
	    (int)(s->is_ceiling != 0));

	if (one == NULL)
		return NULL;
	if (add_count(one, "requests", b->max_requests, s->requests) &&
	    add_count(one, "upload", b->max_upload, s->up) &&
	    add_count(one, "download", b->max_download, s->down) &&
	    add_count(one, "connections", b->max_connections, s->open) &&
	    add_rate(one, s) && add_until(one, b))
		return one;
	json_decref(one);
	return NULL;
}

/* A name that jansson does not take (it is not UTF-8) leaves its slot out. */
json_t *
api_budgets_json(int fd)
{
	AUTO_FREE struct budget_table *t = malloc(sizeof(*t));
	json_t *all = json_array();

	if (t == NULL || all == NULL) {
		json_decref(all);
		return NULL;
	}
	if (!read_table(fd, t))
		return all;
	for (size_t i = 0; i < BUDGET_SLOTS; i++) {
		json_t *one;

		if (t->slots[i].is_in_force == 0 ||
		    !budget_slot_is_sound(&t->slots[i]))
			continue;
		one = slot_json(&t->slots[i]);
		if (one != NULL)
			(void)json_array_append_new(all, one);
	}
	return all;
}
