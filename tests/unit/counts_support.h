/*
 * The file of counts that a gate is started with.
 */
#ifndef TAPWARD_TESTS_COUNTS_SUPPORT_H
#define TAPWARD_TESTS_COUNTS_SUPPORT_H

#include <sys/mman.h>
#include <unistd.h>

#include "conf/budget.h"

static inline int
counts_memfd(void)
{
	int fd = memfd_create("counts", MFD_CLOEXEC);

	assert_int_not_equal(fd, -1);
	assert_int_equal(ftruncate(fd, (off_t)sizeof(struct budget_table)), 0);
	return fd;
}

#endif
