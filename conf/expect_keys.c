/*
 * See expect_keys.h.
 */
#include "conf/expect_keys.h"

#include <stddef.h>
#include <string.h>

static const char *const names[EXPECT_KEYS] = { [EXPECT_URL] = "url",
	[EXPECT_METHOD] = "method",
	[EXPECT_PUSH] = "push",
	[EXPECT_OPERATION] = "operation",
	[EXPECT_VERDICT] = "verdict",
	[EXPECT_REASON] = "reason",
	[EXPECT_RULE] = "rule" };

enum expect_key
expect_key_of(const char *name)
{
	int i = 0;

	while (i < EXPECT_KEYS && strcmp(names[i], name) != 0)
		i++;
	return (enum expect_key)i;
}

const char *
expect_key_fault(const char *name)
{
	if (expect_key_of(name) != EXPECT_KEYS)
		return NULL;
	return "not a key of [expect NAME]: there are url, method, push, "
	       "operation, verdict, reason and rule";
}
