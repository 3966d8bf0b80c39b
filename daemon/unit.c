/* Units of the manager's own, see unit.h. */
#include "daemon/unit.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define SUFFIX ".service"
#define CGROUP_TEXT_MAX 4096

uid_t
unit_user(const char *unit, uid_t otherwise)
{
	const size_t len = strlen(unit), tail = strlen(SUFFIX);
	const struct passwd *pw;
	char name[64];

	if (len <= tail || len - tail >= sizeof(name) ||
	    strcmp(unit + len - tail, SUFFIX) != 0)
		return otherwise;
	memcpy(name, unit, len - tail);
	name[len - tail] = '\0';
	pw = getpwnam(name);
	return pw == NULL ? otherwise : pw->pw_uid;
}

/*
 * "0::/system.slice/UNIT", or with cgroups of version 1
 * "1:name=systemd:/system.slice/UNIT": those two are the manager's.
 */
static bool
line_names(char *line, const char *unit)
{
	char *rest = NULL;
	const char *number = strtok_r(line, ":", &rest), *slash;
	const bool is_v2 =
	    number != NULL && strcmp(number, "0") == 0 && *rest == ':';

	if (number == NULL ||
	    (!is_v2 && strncmp(rest, "name=systemd:", 13) != 0))
		return false;
	slash = strrchr(rest, '/');
	return slash != NULL && strcmp(slash + 1, unit) == 0;
}

bool
unit_is_named(char *cgroups, const char *unit)
{
	char *rest = NULL;

	for (char *line = strtok_r(cgroups, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		if (line_names(line, unit))
			return true;
	return false;
}

bool
unit_has(const char *unit, pid_t pid)
{
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int fd = -1;
	char path[64];
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd != -1 && fd_read_all(fd, CGROUP_TEXT_MAX, &text, &len) == 0 &&
	    unit_is_named(text, unit);
}
