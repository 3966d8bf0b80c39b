/*
 * Any bytes as a log: the page holds the markup that we write and no other,
 * and sums are those of the rows where no row was left out.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/page.h"
#include "cli/report.h"
#include "tests/unit/page_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool claim)
{
	if (!claim)
		abort();
}

static uint64_t
number(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void
sums_agree(const json_t *report)
{
	const json_t *totals = json_object_get(report, "totals"), *row;
	uint64_t requests = 0;
	size_t i;

	json_array_foreach(json_object_get(report, "hosts"), i, row) requests +=
	    number(row, "requests");
	must(requests == number(totals, "requests") ||
	    number(json_object_get(report, "left_out"), "hosts") > 0);
	must(number(totals, "allowed") + number(totals, "refused") ==
	    number(totals, "requests"));
}

static void
page_is_ours(const json_t *report)
{
	char *page = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&page, &len);

	must(f != NULL && page_write(f, report) == 0 && fclose(f) == 0);
	must(page_scan_fault(page, len) == NULL);
	for (size_t i = 0; i < len; i++)
		must(page[i] == '\n' || (page[i] >= ' ' && page[i] <= '~'));
	free(page);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report *r = report_new("s", 0);
	const uint8_t *end;
	json_t *report;

	must(r != NULL);
	while (size > 0 && (end = memchr(data, '\n', size)) != NULL) {
		size_t len = (size_t)(end - data);

		report_take(r, (struct span){ data, len });
		data += len + 1;
		size -= len + 1;
	}
	report_take(r, (struct span){ data, size });
	report = report_finish(r);
	report_free(r);
	if (report != NULL) {
		sums_agree(report);
		page_is_ours(report);
	}
	json_decref(report);
	return 0;
}
