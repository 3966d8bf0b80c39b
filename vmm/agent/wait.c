/*
 * See wait.h.
 */
#include "vmm/agent/wait.h"

#include <poll.h>
#include <stddef.h>

#include "base/clock.h"

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
