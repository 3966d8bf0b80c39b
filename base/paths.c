/*
 * Our programs and data, see paths.h.
 */
#include "base/paths.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The folders of programs, from the top of a tree. */
static const char *const program_dirs[] = {
	"/libexec/tapward",
	"/sbin",
	"/bin",
};

#define LIBEXEC "libexec/tapward"
#define DATA "share/tapward"

/* len bytes of s end in the folder's path; *ret_len is what is before it. */
static bool
strip_dir(const char *s, size_t len, const char *dir, size_t *ret_len)
{
	size_t dir_len = strlen(dir);

	if (len < dir_len || memcmp(s + len - dir_len, dir, dir_len) != 0)
		return false;
	*ret_len = len - dir_len;
	return true;
}

int
paths_tree(const char *exe, char *buf, size_t size)
{
	const char *slash = strrchr(exe, '/');
	size_t len;

	if (exe[0] != '/')
		return -ENOENT;
	for (size_t i = 0; i < sizeof(program_dirs) / sizeof(*program_dirs);
	     i++) {
		if (!strip_dir(exe, (size_t)(slash - exe), program_dirs[i],
			&len))
			continue;
		if (len >= size)
			return -ENAMETOOLONG;
		memcpy(buf, exe, len);
		buf[len] = '\0';
		return 0;
	}
	return -ENOENT;
}

static int
self_tree(char *buf, size_t size)
{
	static const char deleted[] = " (deleted)";
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe));
	size_t len;

	if (n == -1)
		return -errno;
	if ((size_t)n == sizeof(exe))
		return -ENAMETOOLONG;
	exe[n] = '\0';
	/* After an upgrade the old path may hold another version. */
	if (strip_dir(exe, (size_t)n, deleted, &len))
		return -ENOENT;
	return paths_tree(exe, buf, size);
}

static int
in_tree(const char *dir, const char *name, char *buf, size_t size)
{
	char tree[PATH_MAX];
	int rc = self_tree(tree, sizeof(tree));
	int n;

	if (rc != 0)
		return rc;
	n = snprintf(buf, size, "%s/%s/%s", tree, dir, name);
	return n >= 0 && (size_t)n < size ? 0 : -ENAMETOOLONG;
}

int
paths_libexec(const char *name, char *buf, size_t size)
{
	return in_tree(LIBEXEC, name, buf, size);
}

int
paths_data(const char *name, char *buf, size_t size)
{
	return in_tree(DATA, name, buf, size);
}
