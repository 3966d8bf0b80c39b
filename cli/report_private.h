/*
 * What the files of report.h share: a record as it is counted, and the tables
 * while they grow.
 */
#ifndef TAPWARD_CLI_REPORT_PRIVATE_H
#define TAPWARD_CLI_REPORT_PRIVATE_H

#include <stdbool.h>

#include "cli/report.h"
#include "cli/timeline.h"

/* A host, a port and a reason; or a method and a path as long as is kept. */
#define REPORT_KEY_SIZE 1280

enum report_table {
	REPORT_HOSTS,
	REPORT_RULES,
	REPORT_REFUSED,
	REPORT_LEARNED,
	REPORT_CREDENTIALS,
	REPORT_NAMES,
	REPORT_PACKETS,
	REPORT_POLICIES,
	REPORT_TABLES
};

/* Losses are the daemon's, and outlive a change of generation. */
enum report_list {
	REPORT_ASKS,
	REPORT_COMMANDS,
	REPORT_LIFE,
	REPORT_LOSSES,
	REPORT_LISTS
};

struct report {
	char *name;          /* NULL when memory is short: nothing fits it */
	uint64_t wanted;     /* generation; 0: the last */
	uint64_t generation; /* of what is in the tables; 0: none yet */
	uint64_t others;     /* of the same name, that are not in here */
	uint64_t last_other;
	json_t *tables[REPORT_TABLES];
	uint64_t left_out[REPORT_TABLES]; /* records without a row */
	json_t *lists[REPORT_LISTS];
	uint64_t list_left_out[REPORT_LISTS];
	json_t *totals;
	struct timeline timeline;
	uint64_t records;
	uint64_t first_ms, last_ms;
	bool has_created; /* the record of its creation is in the log */
	bool has_ended;
};

/* Strings are never NULL; they borrow from the JSON. */
struct report_record {
	const char *event, *sandbox, *policy, *reason, *rule, *at, *host,
	    *method, *path, *credential, *detail, *address, *time;
	/* what the policy said of what the ceiling alone let through; or "" */
	const char *learned, *learned_rule, *learned_at;
	uint64_t seq, generation, port, status, up, down, ms;
	uint64_t at_ms; /* of time */
	bool is_allowed;
};

/* False for what is no record; json may be NULL. */
bool report_record_read(const json_t *json, struct report_record *ret);
/* It says that records are missing. */
bool report_is_loss(const struct report_record *e);
/* How many a record of packets is about: 1, or more than the recorder took. */
uint64_t report_packets_of(const char *detail);
/*
 * A question's id, owned, of its detail: "id ID: asked", and then "id ID: " and
 * the answer, which says borrows.
 */
json_t *report_ask_id(const struct report_record *e, const char **ret_says);
/* The row of that question, borrowed; NULL without one. */
json_t *report_ask_find(const json_t *list, const json_t *id);
/* A new one, owned. */
json_t *report_ask_row(const struct report_record *e, json_t *id);
/* The word of a life cycle that is its last. */
bool report_is_end(const char *what);

const char *report_table_name(enum report_table t);
const char *report_list_name(enum report_list l);
void report_bump(json_t *row, const char *key, uint64_t n);

#endif
