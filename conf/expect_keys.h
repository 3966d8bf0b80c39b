/*
 * The keys of [expect NAME], known to the compiler so that a slip in one is
 * told wherever the policy goes; what they mean is in conf/expect.h.
 */
#ifndef TAPWARD_CONF_EXPECT_KEYS_H
#define TAPWARD_CONF_EXPECT_KEYS_H

enum expect_key {
	EXPECT_URL,
	EXPECT_METHOD,
	EXPECT_PUSH,
	EXPECT_OPERATION,
	EXPECT_VERDICT,
	EXPECT_REASON,
	EXPECT_RULE,
	EXPECT_KEYS /* none of them */
};

enum expect_key expect_key_of(const char *name);
/* NULL, or what is wrong with the key, and how to mend it. */
const char *expect_key_fault(const char *name);

#endif
