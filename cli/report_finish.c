/*
 * From the tables of report.c to what is printed: rows in order, the reasons
 * in words, and what would let through what was refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/reason.h"
#include "cli/report_private.h"
#include "conf/learn.h"
#include "conf/verdict.h"

#define CEILING "ceiling-"
#define REMEDY_MAX_BYTES 16384

static uint64_t
number_of(const json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

static const char *
text(const json_t *row, const char *key)
{
	const char *t = json_string_value(json_object_get(row, key));

	return t == NULL ? "" : t;
}

/* --- order ---------------------------------------------------------------- */

/* What makes a row stand above another: the sum of these, then its name. */
static uint64_t
weight(const json_t *row)
{
	static const char *const keys[] = { "up", "down", "requests",
		"connections", "questions", "packets", "count" };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		sum = timeline_sum(sum, number_of(row, keys[i]));
	return sum;
}

struct ranked {
	json_t *row;
};

static int
by_weight(const void *a, const void *b)
{
	static const char *const names[] = { "host", "rule", "reason",
		"credential", "at", "path", "method" };
	const json_t *x = ((const struct ranked *)a)->row;
	const json_t *y = ((const struct ranked *)b)->row;
	int rc = 0;

	if (weight(x) != weight(y))
		return weight(x) > weight(y) ? -1 : 1;
	for (size_t i = 0; rc == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		rc = strcmp(text(x, names[i]), text(y, names[i]));
	return rc;
}

/* The values of table as an array, heaviest first. Owned. */
static json_t *
array_of(json_t *table, bool is_sorted)
{
	size_t count = json_object_size(table), n = 0;
	struct ranked *rows = calloc(count + 1, sizeof(*rows));
	json_t *all = json_array(), *row;
	const char *key;

	if (rows == NULL)
		return all;
	json_object_foreach(table, key, row) rows[n++].row = row;
	if (is_sorted)
		qsort(rows, n, sizeof(*rows), by_weight);
	for (size_t i = 0; i < n; i++)
		(void)json_array_append(all, rows[i].row);
	free(rows);
	return all;
}

/* --- what would let it through ---------------------------------------------
 */

static const struct {
	enum reason reason;
	const char *advice;
} advices[] = {
	{ REASON_DENIED_BY_RULE,
	    "A deny rule says no, and no allow rule outweighs one." },
	{ REASON_WEBSOCKET,
	    "Add `websocket = yes` to the rule; the host's ceiling must say "
	    "so, too." },
	{ REASON_GIT_REF, "Add the reference as `push = ` to the [git] rule." },
	{ REASON_PRIVATE_ADDRESS,
	    "Only the host's configuration can let a name lead there: an "
	    "[address] section with the name and the range." },
	{ REASON_GUEST_TLS,
	    "The guest does not trust the sandbox's authority: run "
	    "tapward-trust in it." },
	{ REASON_LIMIT_REQUESTS, "Raise `max-requests` of the rule." },
	{ REASON_LIMIT_RATE, "Raise `rate` of the rule." },
	{ REASON_LIMIT_UPLOAD, "Raise `max-upload` of the rule." },
	{ REASON_LIMIT_DOWNLOAD, "Raise `max-download` of the rule." },
	{ REASON_UNTIL, "Give the rule a later `until`." },
	{ REASON_CREDENTIAL_LEAK,
	    "The answer held the credential and was kept from the guest." },
	{ REASON_CREDENTIAL_UNAVAILABLE,
	    "The host could not get the credential: `tapward status`, and "
	    "the broker's log." },
};

/* What a rule that names more mends. */
static bool
is_mendable(enum reason reason)
{
	return reason == REASON_NO_RULE || reason == REASON_PORT ||
	    reason == REASON_METHOD || reason == REASON_PATH ||
	    reason == REASON_QUERY;
}

/* "api.example.com" as the name of a rule: "api-example-com". */
static void
name_rule(const char *host, char *ret, size_t size)
{
	size_t n = 0;

	for (const char *p = host; *p != '\0' && n + 1 < size; p++)
		ret[n++] = (char)(ascii_is_alnum((uint8_t)*p) ? *p : '-');
	ret[n] = '\0';
}

/*
 * Rules for all that the row was asked, or null if none can be written. number
 * is that of the last rule of the report: no two of them have one name.
 */
static json_t *
remedy_of(const json_t *row, size_t *number)
{
	const json_t *asked = json_object_get(row, "asked"), *one;
	AUTO_FREE char *buf = malloc(REMEDY_MAX_BYTES);
	struct wr w = wr_init(buf, buf == NULL ? 0 : REMEDY_MAX_BYTES);
	struct learn *l = learn_new();
	json_t *ret = NULL;
	uint64_t port = number_of(row, "port");
	char name[RULE_NAME_SIZE];
	size_t i;
	int rc = l == NULL || port == 0 || port > UINT16_MAX ? -1 : 0;

	name_rule(text(row, "host"), name, sizeof(name));
	json_array_foreach(asked, i, one)
	{
		const struct learn_request r = { .host = text(row, "host"),
			.port = (uint16_t)port,
			.method = text(one, "method"),
			.target = text(one, "path"),
			.credential = "",
			.count = number_of(one, "count") };

		if (rc == 0)
			rc = learn_add(l, &r);
	}
	if (rc == 0 && learn_write_rules(l, name, number, &w) == 0 && w.len > 0)
		ret = json_stringn(buf, w.len);
	learn_free(l);
	return ret == NULL ? json_null() : ret;
}

static const char *
advice_of(enum reason reason)
{
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (advices[i].reason == reason)
			return advices[i].advice;
	return "";
}

/* The reason of a row in words; false for one that is not known. */
static bool
explain_reason(json_t *row, enum reason *ret, bool *ret_by_ceiling)
{
	const char *code = text(row, "reason");

	*ret_by_ceiling = strncmp(code, CEILING, strlen(CEILING)) == 0;
	if (*ret_by_ceiling)
		code += strlen(CEILING);
	if (!reason_find(code, ret))
		return false;
	(void)json_object_set_new(row, "says", json_string(reason_text(*ret)));
	return true;
}

static void
explain_refusal(json_t *row, size_t *rules)
{
	json_t *asked = json_object_get(row, "asked");
	enum reason reason = REASON_NONE;
	bool by_ceiling = false;
	bool is_known = explain_reason(row, &reason, &by_ceiling);
	const char *advice = advice_of(reason);
	json_t *remedy = NULL;

	if (asked != NULL)
		(void)json_object_set_new(row, "asked", array_of(asked, true));
	if (by_ceiling)
		advice = "The host's ceiling says no: a policy of the "
			 "repository cannot allow it.";
	else if (is_known && is_mendable(reason))
		remedy = remedy_of(row, rules);
	(void)json_object_set_new(row, "by_ceiling", json_boolean(by_ceiling));
	(void)json_object_set_new(row, "remedy",
	    remedy == NULL ? json_null() : remedy);
	(void)json_object_set_new(row, "advice", json_string(advice));
}

/* --- the whole ------------------------------------------------------------ */

static json_t *
timeline_json(const struct timeline *t)
{
	json_t *slots = json_array();
	char from[CLOCK_TEXT_SIZE];

	for (size_t i = 0; i < t->count; i++) {
		const struct timeline_slot *s = &t->slots[i];
		const uint64_t all[] = { s->allowed, s->refused, s->up,
			s->down };
		json_t *one = json_array();

		for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
			(void)json_array_append_new(one,
			    json_integer(all[k] > INT64_MAX
				    ? INT64_MAX
				    : (json_int_t)all[k]));
		(void)json_array_append_new(slots, one);
	}
	return json_pack("{s:s, s:I, s:s, s:o}", "from",
	    clock_text(t->from_ms, from), "step_ms",
	    (json_int_t)timeline_step_ms(t), "columns",
	    "allowed, refused, bytes up, bytes down", "slots", slots);
}

/* A name that was asked for and then connected to is told as a host. */
static void
drop_known_names(struct report *r)
{
	json_t *known = json_object(), *row;
	const char *key;
	void *next;

	json_object_foreach(r->tables[REPORT_HOSTS], key, row)
	    json_object_set(known, text(row, "host"), row);
	json_object_foreach(r->tables[REPORT_REFUSED], key, row)
	    json_object_set(known, text(row, "host"), row);
	json_object_foreach_safe(r->tables[REPORT_NAMES], next, key, row)
	{
		if (json_object_get(known, text(row, "host")) != NULL)
			(void)json_object_del(r->tables[REPORT_NAMES], key);
	}
	json_decref(known);
}

/* Losses from before the sandbox was there are not its own. */
static json_t *
own_losses(const struct report *r)
{
	json_t *all = json_array(), *one;
	uint64_t at_ms;
	size_t i;

	json_array_foreach(r->lists[REPORT_LOSSES], i, one)
	{
		if (timeline_parse(text(one, "time"), &at_ms) &&
		    at_ms >= r->first_ms &&
		    (!r->has_ended || at_ms <= r->last_ms + 1000))
			(void)json_array_append(all, one);
	}
	return all;
}

static void
put_tables(struct report *r, json_t *all)
{
	json_t *left_out = json_object();

	for (size_t i = 0; i < REPORT_TABLES; i++) {
		enum report_table t = (enum report_table)i;

		(void)json_object_set_new(all, report_table_name(t),
		    array_of(r->tables[i], t != REPORT_POLICIES));
		report_bump(left_out, report_table_name(t), r->left_out[i]);
	}
	for (size_t i = 0; i < REPORT_LISTS; i++) {
		enum report_list l = (enum report_list)i;

		(void)json_object_set_new(all, report_list_name(l),
		    l == REPORT_LOSSES ? own_losses(r)
				       : json_incref(r->lists[i]));
		report_bump(left_out, report_list_name(l), r->list_left_out[i]);
	}
	(void)json_object_set_new(all, "left_out", left_out);
}

/* Every sum is there, also one of nothing. */
static void
fill_totals(struct report *r)
{
	static const char *const keys[] = { "requests", "allowed", "refused",
		"connections", "refused_connections", "tunnels", "commands",
		"learned", "up", "down" };
	const json_t *row;
	const char *key;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		report_bump(r->totals, keys[i], 0);
	report_bump(r->totals, "hosts", 0);
	json_object_foreach(r->tables[REPORT_HOSTS], key, row)
	{
		if (number_of(row, "allowed") + number_of(row, "tunnels") +
			number_of(row, "connections") >
		    0)
			report_bump(r->totals, "hosts", 1);
	}
}

json_t *
report_finish(struct report *r)
{
	char from[CLOCK_TEXT_SIZE], to[CLOCK_TEXT_SIZE];
	json_t *all, *row;
	const char *key;
	enum reason reason;
	bool by_ceiling;
	size_t rules = 0;

	if (r->records == 0)
		return NULL;
	json_object_foreach(r->tables[REPORT_REFUSED], key, row)
	    explain_refusal(row, &rules);
	json_object_foreach(r->tables[REPORT_LEARNED], key, row)
	    explain_refusal(row, &rules);
	json_object_foreach(r->tables[REPORT_PACKETS], key, row)(void)
	    explain_reason(row, &reason, &by_ceiling);
	json_object_foreach(r->tables[REPORT_NAMES], key, row)(void)
	    explain_reason(row, &reason, &by_ceiling);
	drop_known_names(r);
	fill_totals(r);
	all = json_pack("{s:s, s:I, s:s, s:s, s:I, s:b, s:b, s:I, s:I, s:O,"
			" s:o}",
	    "sandbox", r->name, "generation", (json_int_t)r->generation, "from",
	    clock_text(r->first_ms, from), "to", clock_text(r->last_ms, to),
	    "duration_ms", (json_int_t)(r->last_ms - r->first_ms), "has_begin",
	    (int)r->has_created, "has_ended", (int)r->has_ended, "records",
	    (json_int_t)r->records, "other_generations", (json_int_t)r->others,
	    "totals", r->totals, "timeline", timeline_json(&r->timeline));
	if (all != NULL)
		put_tables(r, all);
	return all;
}
