/*
 * What people expect of a policy, kept beside it:
 *
 *	[expect no-publishing]
 *	url     = https://x.npmjs.org/left-pad
 *	method  = PUT
 *	verdict = deny
 *	reason  = method
 *
 * in the policy itself, where it decides nothing, or in a file of its own
 * (tapward.expect.ini beside tapward.ini). url repeats, method takes a list:
 * each url is asked with each method. With `push = REF` (and `operation =
 * create | update | delete | force`) each url is a repository. reason and
 * rule may be left out. Asked is what explain asks (conf/explain.h).
 */
#ifndef TAPWARD_CONF_EXPECT_H
#define TAPWARD_CONF_EXPECT_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "conf/policy.h"

/* Room for what one file's expectations write. */
#define EXPECT_TEXT_MAX_BYTES (4u << 20)

#define EXPECT_URLS_MAX 64
#define EXPECT_METHODS_MAX 16

struct expect_report {
	size_t asked;
	size_t failed;
};

/* Either may be NULL. */
struct expect_output {
	struct wr *lines;  /* a line for each that failed */
	struct json *json; /* an object for each, within an array */
};

/*
 * Asks what the [expect] sections of text expect, and adds to *report. Other
 * sections are passed over: the compiler reads those. 0, or -EINVAL and err
 * set to "file:line: what" for a section that cannot be asked.
 */
int expect_run(const char *file, struct span text,
    const struct policy_pair *pair, const struct expect_output *out,
    struct expect_report *report, struct err *err);

#endif
