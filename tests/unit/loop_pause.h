/*
 * An event loop that runs for a while, by libevent's clock.
 */
#ifndef TAPWARD_TESTS_LOOP_PAUSE_H
#define TAPWARD_TESTS_LOOP_PAUSE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>

static inline void
loop_pause_over(evutil_socket_t fd, short what, void *arg)
{
	bool *is_over = arg;

	(void)fd;
	(void)what;
	*is_over = true;
}

/* For less than a second. How often it woke, its end with it. */
static inline unsigned int
loop_pause(struct event_base *base, unsigned int ms)
{
	const struct timeval pause = { 0, (suseconds_t)ms * 1000 };
	unsigned int wakes = 0;
	bool is_over = false;

	assert_int_equal(event_base_once(base, -1, EV_TIMEOUT, loop_pause_over,
			     &is_over, &pause),
	    0);
	while (!is_over) {
		(void)event_base_loop(base, EVLOOP_ONCE);
		wakes++;
	}
	return wakes;
}

#endif
