/*
 * What is used of a sandbox's budgets, as JSON. The counts are in a file that
 * a gate writes, one that was taken over too: whatever is in it is only shown.
 */
#ifndef TAPWARD_DAEMON_API_BUDGETS_H
#define TAPWARD_DAEMON_API_BUDGETS_H

#include <jansson.h>

/*
 * An array, one object for each rule in force that has a budget. fd is
 * borrowed, a struct budget_table (conf/budget.h), read from its start. A new
 * reference; empty if the file is not one, NULL when memory is short.
 */
json_t *api_budgets_json(int fd);

#endif
