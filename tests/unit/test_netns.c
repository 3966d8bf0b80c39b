#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "netfilter/netns.h"
#include "tests/unit/count_fds.h"

#define NAME "tapward-netns-test"
/* One character more than fits. */
#define LONG_NAME                                                              \
	"a-name-of-64-characters-which-is-one-more-than-fits-0123456789ab"

static int home = -1;

static uint64_t
inode_of(int fd)
{
	uint64_t inode = 0;

	assert_int_equal(netns_inode(fd, &inode), 0);
	return inode;
}

static uint64_t
inode_here(void)
{
	AUTO_CLOSE int fd = -1;

	assert_int_equal(netns_current(&fd), 0);
	return inode_of(fd);
}

static void
makes_a_namespace_and_comes_back(void **state)
{
	AUTO_CLOSE int fd = -1;
	uint64_t before = inode_here();

	(void)state;
	assert_int_equal(netns_create(home, &fd), 0);
	assert_true(inode_here() == before);
	assert_true(inode_of(fd) != before);
}

static void
enters_and_leaves(void **state)
{
	AUTO_CLOSE int fd = -1;
	uint64_t before = inode_here();

	(void)state;
	assert_int_equal(netns_create(home, &fd), 0);
	assert_int_equal(netns_enter(fd), 0);
	assert_true(inode_here() == inode_of(fd));
	netns_leave(home);
	assert_true(inode_here() == before);
}

static void
a_descriptor_of_something_else_is_refused(void **state)
{
	static const char *const paths[] = { "/dev/null", "/proc/self/ns/mnt",
		"/proc/self/ns/user", "/proc/self/status" };
	uint64_t inode;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		AUTO_CLOSE int fd = open(paths[i], O_RDONLY | O_CLOEXEC);

		assert_int_not_equal(fd, -1);
		if (netns_inode(fd, &inode) != -EINVAL)
			fail_msg("takes %s for a network", paths[i]);
	}
	assert_int_equal(netns_inode(-1, &inode), -EINVAL);
}

static void
a_name_leads_back_to_its_namespace(void **state)
{
	AUTO_CLOSE int fd = -1;
	AUTO_CLOSE int again = -1;

	(void)state;
	assert_int_equal(netns_create(home, &fd), 0);
	assert_int_equal(netns_name_add(fd, NAME), 0);
	assert_int_equal(netns_name_open(NAME, &again), 0);
	assert_true(inode_of(again) == inode_of(fd));
	assert_int_equal(netns_name_add(fd, NAME), -EEXIST);
	assert_int_equal(netns_name_remove(NAME), 0);
	assert_int_equal(netns_name_remove(NAME), 0);
	fd_close(&again);
	assert_int_equal(netns_name_open(NAME, &again), -ENOENT);
}

static void
a_name_cannot_leave_the_directory(void **state)
{
	static const char *const bad[] = { "", ".", "..", "../x", "a/b",
		".hidden", LONG_NAME };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = -1;

		if (netns_name_add(home, bad[i]) != -EINVAL ||
		    netns_name_remove(bad[i]) != -EINVAL ||
		    netns_name_open(bad[i], &fd) != -EINVAL)
			fail_msg("takes \"%s\"", bad[i]);
	}
}

/* A file that was left by a process that died between two steps. */
static void
a_name_that_is_only_a_file_goes_too(void **state)
{
	AUTO_CLOSE int ns = -1;
	AUTO_CLOSE int file = -1;
	int opened = -1;

	(void)state;
	assert_int_equal(netns_create(home, &ns), 0);
	/* For the directory. */
	assert_int_equal(netns_name_add(ns, NAME), 0);
	assert_int_equal(netns_name_remove(NAME), 0);
	file = open(NETNS_DIR "/" NAME, O_CREAT | O_RDONLY | O_CLOEXEC, 0);
	assert_int_not_equal(file, -1);
	assert_int_equal(netns_name_open(NAME, &opened), -EINVAL);
	assert_int_equal(netns_name_remove(NAME), 0);
	assert_int_equal(access(NETNS_DIR "/" NAME, F_OK), -1);
}

static void
count_ours(const char *name, void *arg)
{
	unsigned int *found = arg;

	if (strncmp(name, NAME, strlen(NAME)) == 0) {
		(*found)++;
		assert_int_equal(netns_name_remove(name), 0);
	}
}

static void
a_sweep_finds_every_name(void **state)
{
	AUTO_CLOSE int fd = -1;
	unsigned int found = 0;

	(void)state;
	assert_int_equal(netns_create(home, &fd), 0);
	for (int i = 0; i < 5; i++) {
		char name[NETNS_NAME_SIZE];

		(void)snprintf(name, sizeof(name), NAME "%d", i);
		assert_int_equal(netns_name_add(fd, name), 0);
	}
	assert_int_equal(netns_name_each(count_ours, &found), 0);
	assert_int_equal(found, 5);
	found = 0;
	assert_int_equal(netns_name_each(count_ours, &found), 0);
	assert_int_equal(found, 0);
}

static void
keeps_no_descriptor(void **state)
{
	int before = count_fds();

	(void)state;
	for (int i = 0; i < 20; i++) {
		AUTO_CLOSE int fd = -1;
		AUTO_CLOSE int again = -1;

		assert_int_equal(netns_create(home, &fd), 0);
		assert_int_equal(netns_name_add(fd, NAME), 0);
		assert_int_equal(netns_name_add(fd, NAME), -EEXIST);
		assert_int_equal(netns_name_open(NAME, &again), 0);
		assert_int_equal(netns_name_remove(NAME), 0);
	}
	assert_int_equal(count_fds(), before);
}

static int
open_home(void **state)
{
	(void)state;
	return netns_current(&home);
}

static int
close_home(void **state)
{
	(void)state;
	fd_close(&home);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_a_namespace_and_comes_back),
		cmocka_unit_test(enters_and_leaves),
		cmocka_unit_test(a_descriptor_of_something_else_is_refused),
		cmocka_unit_test(a_name_leads_back_to_its_namespace),
		cmocka_unit_test(a_name_cannot_leave_the_directory),
		cmocka_unit_test(a_name_that_is_only_a_file_goes_too),
		cmocka_unit_test(a_sweep_finds_every_name),
		cmocka_unit_test(keeps_no_descriptor),
	};

	return cmocka_run_group_tests(tests, open_home, close_home);
}
