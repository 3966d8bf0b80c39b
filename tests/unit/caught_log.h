/*
 * All that a test's process logs, in which CANARY must not stand.
 */
#ifndef TAPWARD_TESTS_UNIT_CAUGHT_LOG_H
#define TAPWARD_TESTS_UNIT_CAUGHT_LOG_H

#include "tests/unit/broker_support.h"

/* Everything that is logged from now on, until look_through_log(). */
struct caught {
	int log;
	int stderr_before;
};

static inline int
catch_log(void **state)
{
	static struct caught c;

	c.log = memfd_create("log", MFD_CLOEXEC);
	c.stderr_before = dup(STDERR_FILENO);
	*state = &c;
	log_init("test", LOG_LEVEL_DEBUG);
	if (c.log == -1 || c.stderr_before == -1 ||
	    dup2(c.log, STDERR_FILENO) == -1)
		return -1;
	/* So that an empty log is no proof. */
	log_info("test", "begin");
	return 0;
}

static inline int
look_through_log(void **state)
{
	const struct caught *c = *state;
	char *text;
	size_t len;
	bool is_clean;

	if (dup2(c->stderr_before, STDERR_FILENO) == -1 ||
	    lseek(c->log, 0, SEEK_SET) != 0 ||
	    fd_read_all(c->log, 1 << 20, &text, &len) != 0)
		return -1;
	is_clean = strstr(text, "begin") != NULL &&
	    memmem(text, len, CANARY, strlen(CANARY)) == NULL;
	/* What failed was said there too. */
	(void)fd_write_all(STDERR_FILENO, text, len);
	free(text);
	(void)close(c->log);
	(void)close(c->stderr_before);
	return is_clean ? 0 : -1;
}

#endif
