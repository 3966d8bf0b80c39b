/*
 * Tables of texts and what a compile says of them. Include after cmocka.h.
 */
#ifndef TAPWARD_TESTS_COMPILE_ROWS_H
#define TAPWARD_TESTS_COMPILE_ROWS_H

#include <errno.h>

#include "conf/presets.h"
#include "tests/unit/make_policy.h"

#define ALLOW POLICY_HEAD "[allow a]\nhost = a.example.org\n"
#define HOST(h) POLICY_HEAD "[allow a]\nhost = " h "\n"

/* Compiles; the result is the caller's to free. */
static inline struct compile_result *
compile_text(const char *text, size_t len, bool is_ceiling)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = "t.ini",
		.text = { (const uint8_t *)text, len },
		.is_ceiling = is_ceiling,
		.preset = presets_find };
	int rc = compile_policy(&in, r);

	assert_int_equal(rc == 0, r->error_count == 0);
	assert_int_equal(rc == 0, r->image != NULL);
	assert_true(rc == 0 || rc == -EINVAL);
	return r;
}

static inline void
drop(struct compile_result *r)
{
	compile_result_done(r);
	free(r);
}

static inline bool
has_finding(const struct compile_result *r, const char *start)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		if (strncmp(r->findings[i].text, start, strlen(start)) == 0)
			return true;
	}
	return false;
}

struct row {
	const char *claim, *text;
	const char *want; /* how a finding starts; NULL: it compiles */
};

static inline void
try_rows(const struct row *rows, size_t n, bool is_ceiling)
{
	for (size_t i = 0; i < n; i++) {
		struct compile_result *r = compile_text(rows[i].text,
		    strlen(rows[i].text), is_ceiling);

		if (rows[i].want == NULL
			? r->image == NULL
			: r->image != NULL || !has_finding(r, rows[i].want))
			fail_msg("%s: %zu errors, \"%s\"", rows[i].claim,
			    r->error_count,
			    r->finding_count > 0 ? r->findings[0].text : "");
		drop(r);
	}
}
#define TRY(rows) try_rows(rows, sizeof(rows) / sizeof(rows[0]), false)

#endif
