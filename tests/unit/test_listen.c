/*
 * Accepting: one a turn, and what happens when descriptors run out.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "proxy/bucket.h"
#include "proxy/pipes.h"

#define POLICY "[policy]\nversion = 1\n[allow a]\nhost = a.example.org\n"

static int
setup(void **state)
{
	*state = fixture_new(POLICY, NULL);
	return 0;
}

static int
teardown(void **state)
{
	clock_test_release();
	fixture_free(*state);
	return 0;
}

static bool
is_reset(int fd)
{
	uint8_t got[1];
	ssize_t n = recv(fd, got, 1, MSG_DONTWAIT);

	return n == -1 && errno == ECONNRESET;
}

static bool
has_connections(struct fixture *f, void *arg)
{
	return f->gate.conn_count >= *(uint32_t *)arg;
}

/* Row 163: without a pause this would be thousands of turns. */
static void
resets_and_rests_when_descriptors_run_out(void **state)
{
	struct fixture *f = *state;
	static const struct timeval a_while = { 0, 220000 };
	struct rlimit all, few;
	int guests[10], turns = 0, resets = 0, highest;

	for (size_t i = 0; i < 10; i++)
		guests[i] = fixture_guest_here(f);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	highest = fcntl(guests[9], F_DUPFD_CLOEXEC, 0);
	few = all;
	few.rlim_cur = (rlim_t)highest;
	(void)close(highest);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(event_base_loopexit(f->base, &a_while), 0);
	while (!event_base_got_exit(f->base) && turns < 10000) {
		(void)event_base_loop(f->base, EVLOOP_ONCE);
		turns++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_true(turns < 40);
	for (size_t i = 0; i < 10; i++)
		resets += is_reset(guests[i]) ? 1 : 0;
	assert_in_range(resets, 3, 6);
	/* With descriptors again it goes on. */
	fixture_until(f, has_connections, &(uint32_t){ 10 - (uint32_t)resets });
	for (size_t i = 0; i < 10; i++)
		(void)close(guests[i]);
}

static void
fills_a_bucket_by_time_and_no_higher(void **state)
{
	struct bucket b = bucket_init(10, 5000);
	int taken = 0;

	(void)state;
	while (bucket_take(&b, 5000))
		taken++;
	assert_int_equal(taken, 10);
	assert_false(bucket_take(&b, 5099));
	assert_true(bucket_take(&b, 5100));
	/* A clock that stands still or goes back gives nothing. */
	assert_false(bucket_take(&b, 4000));
	for (taken = 0; bucket_take(&b, UINT64_MAX); taken++)
		;
	assert_int_equal(taken, 10);
}

static void
lends_a_bounded_number_of_pipes(void **state)
{
	struct pipes *p = pipes_new();
	struct pipe_pair pairs[PIPES_MAX], again;
	int inside;

	(void)state;
	for (size_t i = 0; i < PIPES_MAX; i++)
		assert_int_equal(pipes_take(p, &pairs[i]), 0);
	assert_int_equal(pipes_take(p, &again), -EAGAIN);
	inside = pairs[0].in;
	pipes_put(p, &pairs[0], 0);
	assert_int_equal(pairs[0].in, -1);
	assert_int_equal(pipes_take(p, &again), 0);
	assert_int_equal(again.in, inside);
	/* One with bytes in it is not lent again. */
	pipes_put(p, &again, 1);
	assert_int_equal(fcntl(inside, F_GETFD), -1);
	for (size_t i = 1; i < PIPES_MAX; i++)
		pipes_put(p, &pairs[i], 0);
	assert_int_equal(pipes_lent(p), 0);
	pipes_free(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(resets_and_rests_when_descriptors_run_out),
		cmocka_unit_test(fills_a_bucket_by_time_and_no_higher),
		cmocka_unit_test(lends_a_bounded_number_of_pipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
