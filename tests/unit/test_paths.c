#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/paths.h"

static void
finds_the_tree_of_a_program(void **state)
{
	static const struct {
		const char *exe, *want;
		int rc;
	} rows[] = {
		{ "/usr/sbin/tapwardd", "/usr", 0 },
		{ "/usr/bin/tapward", "/usr", 0 },
		{ "/usr/libexec/tapward/tapward-gate", "/usr", 0 },
		{ "/opt/a b/tree/bin/tapward", "/opt/a b/tree", 0 },
		{ "/bin/tapward", "", 0 },
		{ "/usr/libexec/tapward-gate", "", -ENOENT },
		{ "/usr/xbin/tapward", "", -ENOENT },
		{ "/usr/bin/more/tapward", "", -ENOENT },
		{ "/tapward", "", -ENOENT },
		{ "bin/tapward", "", -ENOENT },
		{ "tapward", "", -ENOENT },
		{ "", "", -ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buf[64] = "";

		print_message("%s\n", rows[i].exe);
		assert_int_equal(paths_tree(rows[i].exe, buf, sizeof(buf)),
		    rows[i].rc);
		assert_string_equal(buf, rows[i].want);
	}
}

static void
a_tree_that_does_not_fit_is_not_cut(void **state)
{
	char buf[5] = "keep";

	(void)state;
	assert_int_equal(paths_tree("/usr/bin/x", buf, 4), -ENAMETOOLONG);
	assert_string_equal(buf, "keep");
	assert_int_equal(paths_tree("/usr/bin/x", buf, 5), 0);
}

static void
a_program_outside_a_tree_finds_nothing(void **state)
{
	char buf[PATH_MAX];

	(void)state;
	assert_int_equal(paths_data("presets", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(paths_libexec("x", buf, sizeof(buf)), -ENOENT);
}

/* A copy of this program at path. */
static void
copy_self(const char *path)
{
	AUTO_CLOSE int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int to = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	AUTO_FREE char *buf = NULL;
	size_t len;

	assert_int_equal(fd_read_all(from, 1 << 28, &buf, &len), 0);
	assert_int_equal(fd_write_all(to, buf, len), 0);
}

/* Runs the copy as `path print`; what it printed, or what it exits with. */
static int
run_copy(const char *path, char *buf, size_t size)
{
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		(void)execl(path, path, "print", (char *)NULL);
		_exit(126);
	}
	(void)close(ends[1]);
	while ((n = read(ends[0], buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	(void)close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void
a_program_in_a_tree_finds_its_siblings(void **state)
{
	char dir[] = "/tmp/tapward-paths-XXXXXX";
	char sub[64], exe[128], want[256], got[256];

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(sub, sizeof(sub), "%s/sbin", dir);
	(void)snprintf(exe, sizeof(exe), "%s/copy", sub);
	assert_int_equal(mkdir(sub, 0700), 0);
	copy_self(exe);
	(void)snprintf(want, sizeof(want),
	    "%s/libexec/tapward/tapward-gate\n"
	    "%s/share/tapward/presets/npm-read.ini\n",
	    dir, dir);
	assert_int_equal(run_copy(exe, got, sizeof(got)), 0);
	assert_string_equal(got, want);
	assert_int_equal(unlink(exe), 0);
	assert_int_equal(rmdir(sub), 0);
	assert_int_equal(rmdir(dir), 0);
}

/* What the copy does. */
static int
print_paths(void)
{
	char gate[PATH_MAX], preset[PATH_MAX];

	if (paths_libexec("tapward-gate", gate, sizeof(gate)) != 0 ||
	    paths_data("presets/npm-read.ini", preset, sizeof(preset)) != 0)
		return 1;
	return printf("%s\n%s\n", gate, preset) < 0;
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_tree_of_a_program),
		cmocka_unit_test(a_tree_that_does_not_fit_is_not_cut),
		cmocka_unit_test(a_program_outside_a_tree_finds_nothing),
		cmocka_unit_test(a_program_in_a_tree_finds_its_siblings),
	};

	if (argc == 2 && strcmp(argv[1], "print") == 0)
		return print_paths();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
