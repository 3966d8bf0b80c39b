/*
 * Files that a credential's value comes from, and what is looked for in all
 * that is written of them.
 */
#ifndef TAPWARD_TESTS_UNIT_SOURCE_SUPPORT_H
#define TAPWARD_TESTS_UNIT_SOURCE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define CANARY "canary-5f1d9c0b7e"

/* A file that holds text, as the supervisor would open it. */
static inline int
source(const char *text, size_t len)
{
	int fd = -1;

	assert_int_equal(fd_memfd_sealed("source", text, len, &fd), 0);
	return fd;
}

/* A file of this mode that holds the canary. */
static inline int
file_with_mode(mode_t mode)
{
	char path[] = "/tmp/test_broker.XXXXXX";
	const int fd = mkstemp(path);

	assert_true(fd != -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(fd_write_all(fd, CANARY, strlen(CANARY)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	return fd;
}

#endif
