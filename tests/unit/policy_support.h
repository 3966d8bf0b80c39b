/*
 * A compiled policy for tests of what asks one.
 */
#ifndef TAPWARD_TESTS_UNIT_POLICY_SUPPORT_H
#define TAPWARD_TESTS_UNIT_POLICY_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fd.h"
#include "conf/compile.h"

/* The text as a sealed memfd; fails the test if it does not compile. */
static inline int
policy_memfd(const char *text, bool is_ceiling)
{
	const struct compile_input in = {
		.display_name = is_ceiling ? "ceiling.ini" : "tapward.ini",
		.text = span_of(text),
		.is_ceiling = is_ceiling,
	};
	static struct compile_result result;
	int fd = -1;

	if (compile_policy(&in, &result) != 0)
		fail_msg("%s", result.findings[0].text);
	assert_int_equal(fd_memfd_sealed("policy", result.image,
			     result.image_len, &fd),
	    0);
	compile_result_done(&result);
	return fd;
}

#endif
