/*
 * See wait.h.
 */
#include "vmm/agent/wait.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

bool
wait_file_is(const char *path, const char *want)
{
	char text[256];
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text));

	if (n > 0 && text[n - 1] == '\n')
		n--;
	return n == (ssize_t)strlen(want) &&
	    memcmp(text, want, strlen(want)) == 0;
}

bool
wait_for(bool (*is_there)(void *arg), void *arg)
{
	const uint64_t end_ms = clock_mono_ms() + WAIT_MS;

	while (!is_there(arg)) {
		if (clock_mono_ms() > end_ms)
			return false;
		(void)poll(NULL, 0, WAIT_STEP_MS);
	}
	return true;
}
