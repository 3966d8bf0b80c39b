/*
 * See report.h. Each event has a row that says what it adds to which tables; a
 * table is an object of objects, found by a key of the record, so that a line
 * costs the same however many there are.
 */
#include "cli/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_private.h"

/* Lines of life, commands, losses: each is shown by itself. */
#define LIST_MAX 200

static const char *const table_names[REPORT_TABLES] = {
	[REPORT_HOSTS] = "hosts",
	[REPORT_RULES] = "rules",
	[REPORT_REFUSED] = "refused",
	[REPORT_LEARNED] = "learned",
	[REPORT_CREDENTIALS] = "credentials",
	[REPORT_NAMES] = "names",
	[REPORT_PACKETS] = "packets",
	[REPORT_POLICIES] = "policies",
};

static const char *const list_names[REPORT_LISTS] = {
	[REPORT_ASKS] = "asks",
	[REPORT_COMMANDS] = "commands",
	[REPORT_LIFE] = "life",
	[REPORT_LOSSES] = "losses",
};

const char *
report_table_name(enum report_table t)
{
	return table_names[t];
}

static void
begin_tables(struct report *r)
{
	for (size_t i = 0; i < REPORT_TABLES; i++) {
		json_decref(r->tables[i]);
		r->tables[i] = json_object();
		r->left_out[i] = 0;
	}
	for (size_t i = 0; i < REPORT_LOSSES; i++) {
		json_decref(r->lists[i]);
		r->lists[i] = json_array();
		r->list_left_out[i] = 0;
	}
	json_decref(r->totals);
	r->totals = json_object();
	r->timeline = (struct timeline){ 0 };
	r->records = 0;
	r->has_created = false;
	r->has_ended = false;
}

struct report *
report_new(const char *name, uint64_t generation)
{
	struct report *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->name = strdup(name);
	r->wanted = generation;
	r->lists[REPORT_LOSSES] = json_array();
	begin_tables(r);
	return r;
}

void
report_free(struct report *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < REPORT_TABLES; i++)
		json_decref(r->tables[i]);
	for (size_t i = 0; i < REPORT_LISTS; i++)
		json_decref(r->lists[i]);
	json_decref(r->totals);
	free(r->name);
	free(r);
}

/* --- what rows are made of ------------------------------------------------ */

void
report_bump(json_t *row, const char *key, uint64_t n)
{
	json_t *old = json_object_get(row, key);
	uint64_t sum = timeline_sum((uint64_t)json_integer_value(old), n);

	if (sum > INT64_MAX)
		sum = INT64_MAX;
	if (old != NULL)
		(void)json_integer_set(old, (json_int_t)sum);
	else
		(void)json_object_set_new(row, key,
		    json_integer((json_int_t)sum));
}

/* A text that the row keeps from the first record it is made of. */
static void
set_once(json_t *row, const char *key, const char *text)
{
	if (*text != '\0' && json_object_get(row, key) == NULL)
		(void)json_object_set_new(row, key, json_string(text));
}

static void
set_last(json_t *row, const char *key, const char *text)
{
	if (*text != '\0')
		(void)json_object_set_new(row, key, json_string(text));
}

/* One of a few texts; more are not kept. */
static void
set_one_of(json_t *row, const char *key, const char *text)
{
	json_t *all = json_object_get(row, key);
	const json_t *one;
	size_t i;

	if (*text == '\0' || strcmp(text, "-") == 0)
		return;
	if (all == NULL) {
		all = json_array();
		(void)json_object_set_new(row, key, all);
	}
	json_array_foreach(all, i, one)
	{
		if (strcmp(json_string_value(one), text) == 0)
			return;
	}
	if (i < 8)
		(void)json_array_append_new(all, json_string(text));
}

/* NULL where the table is full. */
static json_t *
row_of(struct report *r, enum report_table t, const char *key)
{
	json_t *row = json_object_get(r->tables[t], key);

	if (row != NULL)
		return row;
	if (json_object_size(r->tables[t]) >= REPORT_ROWS_MAX) {
		r->left_out[t]++;
		return NULL;
	}
	row = json_object();
	if (json_object_set_new(r->tables[t], key, row) != 0)
		return NULL;
	return row;
}

static json_t *
host_row(struct report *r, const struct report_record *e)
{
	char key[REPORT_KEY_SIZE];
	json_t *row;

	(void)snprintf(key, sizeof(key), "%s\n%llu", e->host,
	    (unsigned long long)e->port);
	row = row_of(r, REPORT_HOSTS, key);
	set_once(row, "host", e->host);
	if (row != NULL && json_object_get(row, "port") == NULL)
		report_bump(row, "port", e->port);
	set_once(row, "first", e->time);
	set_last(row, "last", e->time);
	return row;
}

static json_t *
rule_row(struct report *r, const struct report_record *e)
{
	char key[REPORT_KEY_SIZE];
	json_t *row;

	if (strcmp(e->rule, "-") == 0 || *e->rule == '\0')
		return NULL;
	(void)snprintf(key, sizeof(key), "%s\n%s", e->rule, e->at);
	row = row_of(r, REPORT_RULES, key);
	set_once(row, "rule", e->rule);
	set_once(row, "at", e->at);
	return row;
}

static void
add_traffic(json_t *row, const struct report_record *e)
{
	if (row == NULL)
		return;
	report_bump(row, "up", e->up);
	report_bump(row, "down", e->down);
}

/* --- events --------------------------------------------------------------- */

static void
keep_asked(json_t *row, const struct report_record *e)
{
	json_t *asked = json_object_get(row, "asked"), *one;
	char key[REPORT_KEY_SIZE];

	if (*e->method == '\0')
		return;
	if (asked == NULL) {
		asked = json_object();
		(void)json_object_set_new(row, "asked", asked);
	}
	(void)snprintf(key, sizeof(key), "%s %s", e->method, e->path);
	one = json_object_get(asked, key);
	if (one == NULL) {
		if (json_object_size(asked) >= REPORT_ASKED_MAX) {
			report_bump(row, "asked_left_out", 1);
			return;
		}
		one = json_pack("{s:s, s:s}", "method", e->method, "path",
		    e->path);
		(void)json_object_set_new(asked, key, one);
	}
	report_bump(one, "count", 1);
}

/* A row for each place, reason and rule. */
static void
put_said(struct report *r, enum report_table t, const struct report_record *e,
    const char *what)
{
	char key[REPORT_KEY_SIZE];
	json_t *row;

	(void)snprintf(key, sizeof(key), "%s\n%llu\n%s\n%s\n%s", e->host,
	    (unsigned long long)e->port, e->reason, e->rule, e->at);
	row = row_of(r, t, key);
	if (row == NULL)
		return;
	set_once(row, "host", *e->host == '\0' ? e->address : e->host);
	if (json_object_get(row, "port") == NULL)
		report_bump(row, "port", e->port);
	set_once(row, "reason", e->reason);
	set_once(row, "rule", e->rule);
	set_once(row, "at", e->at);
	set_once(row, "first", e->time);
	set_last(row, "last", e->time);
	set_last(row, "detail", e->detail);
	report_bump(row, what, 1);
	keep_asked(row, e);
}

static void
refuse(struct report *r, const struct report_record *e, const char *what)
{
	put_said(r, REPORT_REFUSED, e, what);
}

/* What the policy itself would have refused, and for what. */
static void
learn(struct report *r, const struct report_record *e, const char *what)
{
	struct report_record own = *e;

	if (*e->learned == '\0')
		return;
	own.reason = e->learned;
	own.rule = e->learned_rule;
	own.at = e->learned_at;
	report_bump(r->totals, "learned", 1);
	put_said(r, REPORT_LEARNED, &own, what);
}

static void
take_request(struct report *r, const struct report_record *e)
{
	static const char *const classes[] = { "1xx", "2xx", "3xx", "4xx",
		"5xx" };
	const struct timeline_slot slot = { e->is_allowed ? 1 : 0,
		e->is_allowed ? 0 : 1, e->up, e->down };
	const char *verdict = e->is_allowed ? "allowed" : "refused";
	json_t *rows[] = { r->totals, host_row(r, e), rule_row(r, e),
		*e->credential == '\0'
		    ? NULL
		    : row_of(r, REPORT_CREDENTIALS, e->credential) };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i] == NULL)
			continue;
		report_bump(rows[i], "requests", 1);
		report_bump(rows[i], verdict, 1);
		add_traffic(rows[i], e);
	}
	if (e->is_allowed && e->status >= 100 && e->status < 600)
		report_bump(rows[1], classes[e->status / 100 - 1], 1);
	if (rows[1] != NULL) {
		set_one_of(rows[1], "rules", e->rule);
		set_one_of(rows[1], "credentials", e->credential);
	}
	if (rows[2] != NULL)
		set_one_of(rows[2], "hosts", e->host);
	if (rows[3] != NULL) {
		set_once(rows[3], "credential", e->credential);
		set_one_of(rows[3], "hosts", e->host);
		if (strcmp(e->reason, "credential-leak") == 0)
			report_bump(rows[3], "leaks", 1);
	}
	if (e->is_allowed)
		learn(r, e, "requests");
	else
		refuse(r, e, "requests");
	timeline_add(&r->timeline, e->at_ms, &slot);
}

/*
 * The dialler writes one when a connection is made, the gate one when a tunnel
 * ends, which alone has bytes.
 */
static void
take_connect(struct report *r, const struct report_record *e)
{
	const struct timeline_slot slot = { 0, 0, e->up, e->down };
	const bool is_tunnel = e->up != 0 || e->down != 0;
	json_t *rows[] = { r->totals, NULL, NULL };

	if (!e->is_allowed) {
		report_bump(r->totals, "refused_connections", 1);
		refuse(r, e, "connections");
		return;
	}
	rows[1] = host_row(r, e);
	rows[2] = rule_row(r, e);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i] == NULL)
			continue;
		report_bump(rows[i], is_tunnel ? "tunnels" : "connections", 1);
		add_traffic(rows[i], e);
	}
	if (rows[1] != NULL)
		set_one_of(rows[1], "rules", e->rule);
	if (rows[2] != NULL)
		set_one_of(rows[2], "hosts", e->host);
	if (!is_tunnel)
		return;
	learn(r, e, "connections");
	timeline_add(&r->timeline, e->at_ms, &slot);
}

static void
take_name(struct report *r, const struct report_record *e)
{
	char key[REPORT_KEY_SIZE];
	json_t *row;

	if (e->is_allowed)
		return;
	(void)snprintf(key, sizeof(key), "%s\n%s", e->host, e->reason);
	row = row_of(r, REPORT_NAMES, key);
	if (row == NULL)
		return;
	set_once(row, "host", e->host);
	set_once(row, "reason", e->reason);
	set_one_of(row, "types", e->detail);
	report_bump(row, "questions", 1);
}

static void
append(struct report *r, enum report_list l, json_t *one)
{
	if (json_array_size(r->lists[l]) < LIST_MAX) {
		(void)json_array_append_new(r->lists[l], one);
		return;
	}
	r->list_left_out[l]++;
	json_decref(one);
}

static void
take_packet(struct report *r, const struct report_record *e)
{
	json_t *row = row_of(r, REPORT_PACKETS, e->reason);
	char to[128];

	if (row == NULL)
		return;
	if (e->port != 0)
		(void)snprintf(to, sizeof(to), "%.100s:%llu", e->address,
		    (unsigned long long)e->port);
	else
		(void)snprintf(to, sizeof(to), "%.100s", e->address);
	set_once(row, "reason", e->reason);
	set_one_of(row, "to", to);
	report_bump(row, "packets", report_packets_of(e->detail));
}

/* The word behind key in a detail such as "mint fp=0a1b2c3d scope=99887766". */
static void
set_word(json_t *row, const char *key, const char *detail, const char *mark)
{
	const char *at = strstr(detail, mark);
	size_t len;

	if (at == NULL)
		return;
	at += strlen(mark);
	len = strcspn(at, " ");
	(void)json_object_set_new(row, key, json_stringn(at, len));
}

static void
take_lease(struct report *r, const struct report_record *e)
{
	json_t *row = *e->credential == '\0'
	    ? NULL
	    : row_of(r, REPORT_CREDENTIALS, e->credential);
	json_t *minted, *all;

	if (row == NULL)
		return;
	set_once(row, "credential", e->credential);
	if (*e->host != '\0')
		set_one_of(row, "hosts", e->host);
	if (!e->is_allowed && *e->reason != '\0')
		report_bump(row, "withheld", 1);
	if (e->is_allowed && strcmp(e->detail, "grant") == 0)
		report_bump(row, "leases", 1);
	if (strstr(e->detail, "fp=") == NULL)
		return;
	all = json_object_get(row, "values");
	if (all == NULL) {
		all = json_array();
		(void)json_object_set_new(row, "values", all);
	}
	if (json_array_size(all) >= 32) {
		report_bump(row, "values_left_out", 1);
		return;
	}
	minted = json_pack("{s:s, s:o}", "time", e->time, "what",
	    json_stringn(e->detail, strcspn(e->detail, " ")));
	set_word(minted, "fingerprint", e->detail, "fp=");
	set_word(minted, "scope", e->detail, "scope=");
	(void)json_array_append_new(all, minted);
}

static void
take_life(struct report *r, const struct report_record *e)
{
	r->has_created |= strcmp(e->detail, "created") == 0;
	r->has_ended |= report_is_end(e->detail);
	append(r, REPORT_LIFE,
	    json_pack("{s:s, s:s, s:s}", "time", e->time, "what", e->detail,
		"reason", e->reason));
}

static void
take_run(struct report *r, const struct report_record *e)
{
	report_bump(r->totals, "commands", 1);
	append(r, REPORT_COMMANDS,
	    json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "time", e->time,
		"kind", e->method, "command", e->path, "detail", e->detail,
		"ms", (json_int_t)e->ms, "up", (json_int_t)e->up, "down",
		(json_int_t)e->down));
}

static void
take_ask(struct report *r, const struct report_record *e)
{
	const char *says;
	json_t *id = report_ask_id(e, &says);
	json_t *row = report_ask_find(r->lists[REPORT_ASKS], id);

	if (row == NULL) {
		row = report_ask_row(e, id);
		append(r, REPORT_ASKS, json_incref(row));
		report_bump(r->totals, "asks", 1);
	} else {
		json_incref(row);
	}
	json_decref(id);
	if (strcmp(says, "asked") != 0)
		(void)json_object_update_new(row,
		    json_pack("{s:s, s:s}", "answer", says, "answered",
			e->time));
	json_decref(row);
}

static const struct {
	const char *event;
	void (*take)(struct report *r, const struct report_record *e);
} events[] = {
	{ "request", take_request },
	{ "connect", take_connect },
	{ "dns", take_name },
	{ "packet", take_packet },
	{ "lease", take_lease },
	{ "lifecycle", take_life },
	{ "run", take_run },
	{ "ask", take_ask },
};

/* --- records -------------------------------------------------------------- */

/* A later generation begins anew; false for one that is not wanted. */
static bool
is_wanted(struct report *r, const struct report_record *e)
{
	if (strcmp(e->sandbox, r->name) != 0)
		return false;
	if (r->wanted != 0 && e->generation != r->wanted) {
		r->others += e->generation != r->last_other ? 1 : 0;
		r->last_other = e->generation;
		return false;
	}
	if (e->generation < r->generation)
		return false;
	if (e->generation > r->generation) {
		r->others += r->generation != 0 ? 1 : 0;
		r->generation = e->generation;
		begin_tables(r);
	}
	return true;
}

static void
note_policy(struct report *r, const struct report_record *e)
{
	json_t *row =
	    *e->policy == '\0' ? NULL : row_of(r, REPORT_POLICIES, e->policy);

	if (row == NULL)
		return;
	set_once(row, "digest", e->policy);
	set_once(row, "first", e->time);
	set_last(row, "last", e->time);
	report_bump(row, "records", 1);
}

static void
take(struct report *r, const struct report_record *e)
{
	if (report_is_loss(e) &&
	    (*e->sandbox == '\0' || strcmp(e->sandbox, r->name) == 0))
		append(r, REPORT_LOSSES,
		    json_pack("{s:s, s:I, s:s}", "time", e->time, "seq",
			(json_int_t)e->seq, "what", e->detail));
	if (!is_wanted(r, e))
		return;
	if (r->records++ == 0) {
		r->first_ms = e->at_ms;
		r->last_ms = e->at_ms;
	}
	r->last_ms = e->at_ms > r->last_ms ? e->at_ms : r->last_ms;
	note_policy(r, e);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (strcmp(e->event, events[i].event) == 0)
			events[i].take(r, e);
}

void
report_take(struct report *r, struct span line)
{
	/* A guest can have put a NUL into a path. */
	json_t *json =
	    json_loadb((const char *)line.ptr, line.len, JSON_ALLOW_NUL, NULL);
	struct report_record e;

	if (report_record_read(json, &e))
		take(r, &e);
	json_decref(json);
}

const char *
report_list_name(enum report_list l)
{
	return list_names[l];
}
