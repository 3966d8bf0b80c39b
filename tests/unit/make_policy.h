/*
 * From a text to a mapped policy, for tests that ask for verdicts.
 */
#ifndef TAPWARD_TESTS_MAKE_POLICY_H
#define TAPWARD_TESTS_MAKE_POLICY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/compile.h"
#include "conf/policy.h"

#define POLICY_HEAD "[policy]\nversion = 1\n"

/* NULL, and the findings on standard error, when it does not compile. */
static inline struct policy *
make_policy_with(const char *name, const char *text, bool is_ceiling,
    compile_preset *preset)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct compile_input in = { .display_name = name,
		.text = span_of(text),
		.is_ceiling = is_ceiling,
		.preset = preset };
	struct policy *p = NULL;
	AUTO_CLOSE int fd = -1;

	if (r == NULL)
		abort();
	if (compile_policy(&in, r) == 0 &&
	    fd_memfd_sealed("policy", r->image, r->image_len, &fd) == 0)
		(void)policy_map(fd, &p);
	for (size_t i = 0; p == NULL && i < r->finding_count; i++)
		fprintf(stderr, "%s\n", r->findings[i].text);
	compile_result_done(r);
	free(r);
	return p;
}

static inline struct policy *
make_policy(const char *text)
{
	return make_policy_with("tapward.ini", text, false, NULL);
}

static inline struct policy *
make_ceiling(const char *text)
{
	return make_policy_with("ceiling.ini", text, true, NULL);
}

#endif
