/*
 * How many descriptors this process has open: a test counts before and after.
 */
#ifndef TAPWARD_TESTS_COUNT_FDS_H
#define TAPWARD_TESTS_COUNT_FDS_H

#include <dirent.h>
#include <stddef.h>

static inline int
count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

#endif
