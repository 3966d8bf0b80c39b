/*
 * One of our programs, started as tapwardd starts it: own uid, a root that
 * holds /dev/urandom and nothing else, sealed.
 */
#ifndef TAPWARD_TESTS_UNIT_PROGRAM_SUPPORT_H
#define TAPWARD_TESTS_UNIT_PROGRAM_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/process.h"

#define PROGRAM_UID "2130000001"

struct program {
	char root[64];
	pid_t pid;
	int pidfd;
};

/* Takes supervisor_fd, its end of the channel. */
static inline struct program
program_start(const char *path, int supervisor_fd)
{
	const char *const argv[] = { path, PROGRAM_UID, PROGRAM_UID, NULL };
	/* Which looks for leaks by calls that no list of ours has. */
	static const char *const env[] = { "ASAN_OPTIONS=detect_leaks=0",
		NULL };
	struct program p = { .root = "/tmp/tapward-test.XXXXXX" };
	char inside[128];
	int fds[CHILD_FD_COUNT] = { supervisor_fd, -1, -1 };
	const struct process_spec spec = { .path = path,
		.argv = argv,
		.env = env,
		.fds = fds,
		.fd_count = CHILD_FD_COUNT,
		.netns_fd = -1,
		.stderr_fd = -1 };

	assert_non_null(mkdtemp(p.root));
	assert_int_equal(chmod(p.root, 0755), 0);
	(void)snprintf(inside, sizeof(inside), "%s/dev", p.root);
	assert_int_equal(mkdir(inside, 0755), 0);
	(void)snprintf(inside, sizeof(inside), "%s/dev/urandom", p.root);
	/* As daemon/dirs.c: a node would be dead where /tmp is nodev. */
	fds[1] = open(inside, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	assert_true(fds[1] != -1);
	(void)close(fds[1]);
	assert_int_equal(mount("/dev/urandom", inside, NULL, MS_BIND, NULL), 0);
	fds[1] = open(p.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fds[1] != -1);
	assert_int_equal(process_spawn(&spec, &p.pid, &p.pidfd), 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
	return p;
}

/* Fails the test if it had ended by itself: a call that its filter lacks. */
static inline void
program_end(struct program *p)
{
	char inside[128];

	assert_int_equal(process_signal(p->pidfd, 0), 0);
	assert_int_equal(process_end(p->pidfd, 5000), 0);
	fd_close(&p->pidfd);
	(void)snprintf(inside, sizeof(inside), "%s/dev/urandom", p->root);
	assert_int_equal(umount2(inside, MNT_DETACH), 0);
	assert_int_equal(unlink(inside), 0);
	(void)snprintf(inside, sizeof(inside), "%s/dev", p->root);
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(p->root), 0);
}

#endif
