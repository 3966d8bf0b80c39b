/*
 * Folders that a script makes, and what git_view sees of them. Every program
 * that a repository could name leaves a mark if it runs.
 */
#ifndef TAPWARD_TESTS_UNIT_GIT_SUPPORT_H
#define TAPWARD_TESTS_UNIT_GIT_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/git_run.h"
#include "cli/git_view.h"
#include "vmm/archive_write.h"

static char folder[64];

static inline void
sh(const char *script)
{
	char file[128], command[256];
	FILE *f;

	(void)snprintf(file, sizeof(file), "%s/script", folder);
	f = fopen(file, "w");
	assert_non_null(f);
	(void)fprintf(f,
	    "set -e\nexport HOME=%s/home GIT_CONFIG_NOSYSTEM=1\n"
	    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com\n"
	    "export GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com\n"
	    "T=%s\ncd \"$T\"\n%s",
	    folder, folder, script);
	assert_int_equal(fclose(f), 0);
	(void)snprintf(command, sizeof(command), "sh %s >%s/said 2>&1", file,
	    folder);
	if (system(command) != 0) {
		(void)snprintf(command, sizeof(command), "cat %s/said", folder);
		if (system(command) == 0)
			fail_msg("the script failed:\n%s", script);
		fail();
	}
}

static inline int
make_folder(void **state)
{
	char home[96];

	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/tapward-test-XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(home, sizeof(home), "%s/home", folder);
	if (mkdir(home, 0700) == -1)
		return -1;
	(void)setenv("HOME", home, 1);
	(void)unsetenv("XDG_CONFIG_HOME");
	return 0;
}

static inline int
remove_folder(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static inline const char *
in_folder(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* Nothing that a repository named has run, and no scratch is left. */
static inline void
assert_clean(void)
{
	if (access(in_folder("ran"), F_OK) == 0)
		fail_msg("something of the repository was run");
}

static inline struct git_view *
view_of(const char *name)
{
	struct err err = { "" };
	struct git_view *v = NULL;

	if (git_view_new(in_folder(name), &v, &err) != 0)
		fail_msg("%s: %s", name, err.text);
	assert_clean();
	return v;
}

/* What goes up, as a stream; the caller's. */
static inline int
archive(const char *name, struct git_view *v)
{
	uint8_t buf[8192];
	struct archive_writer *w;
	struct err err = { "" };
	size_t len;
	int out, fd = open(in_folder(name), O_RDONLY | O_DIRECTORY);

	assert_int_not_equal(fd, -1);
	assert_int_equal(git_file_new(&out, &err), 0);
	assert_int_equal(archive_writer_new(fd,
			     v == NULL ? NULL : git_view_filter, v, &w),
	    0);
	do {
		if (archive_writer_fill(w, buf, sizeof(buf), &len, &err) != 0)
			fail_msg("%s", err.text);
		assert_int_equal(fd_write_all(out, buf, len), 0);
	} while (len > 0);
	archive_writer_free(w);
	return out;
}

#endif
