/*
 * The gate's port to the recorder.
 */
#include "gate_fixture.h"

#include "base/channel.h"
#include "base/clock.h"
#include "proxy/audit.h"

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
	fixture_free(*state);
	return 0;
}

static void
send_records(struct fixture *f, unsigned int count, unsigned int first)
{
	for (unsigned int i = 0; i < count; i++) {
		struct audit_record r = audit_record_init(AUDIT_REQUEST);

		r.ms = first + i;
		audit_send(&f->gate, &r);
	}
}

static bool
has_ready_port(struct fixture *f, void *arg)
{
	(void)arg;
	return audit_is_ready(&f->gate);
}

/* In order, none lost, and nothing new begins while many wait. */
static void
keeps_records_for_a_recorder_that_is_slow(void **state)
{
	struct fixture *f = *state;
	unsigned int sent = 0;

	assert_true(audit_is_ready(&f->gate));
	while (audit_is_ready(&f->gate) && sent < 1000)
		send_records(f, 1, sent++);
	/* The channel holds some hundred, and the line as many as it may. */
	assert_in_range(sent, 512, 999);
	send_records(f, 20, sent);
	sent += 20;
	(void)fixture_wait_record(f, sent);
	for (unsigned int i = 0; i < sent; i++)
		assert_int_equal(f->records[i].r.ms, i);
	fixture_until(f, has_ready_port, NULL);
}

static void
takes_records_over_to_the_next_recorder(void **state)
{
	struct fixture *f = *state;

	chan_free(f->recorder);
	f->recorder = NULL;
	fixture_turn(f);
	assert_false(audit_is_ready(&f->gate));
	send_records(f, 3, 0);
	fixture_new_recorder(f);
	(void)fixture_wait_record(f, 3);
	fixture_until(f, has_ready_port, NULL);
}

static void
tells_how_many_records_were_lost(void **state)
{
	struct fixture *f = *state;
	const struct fixture_record *rec;
	uint64_t before;

	chan_free(f->recorder);
	f->recorder = NULL;
	fixture_turn(f);
	send_records(f, 1024 + 7, 0);
	fixture_new_recorder(f);
	rec = fixture_wait_record(f, 1025);
	assert_string_equal(rec->detail, "gate lost 7 records");
	assert_int_equal(rec->r.event, AUDIT_LIFECYCLE);
	/* Not again at once: the recorder takes only so many. */
	before = clock_mono_ms();
	chan_free(f->recorder);
	f->recorder = NULL;
	fixture_turn(f);
	f->record_count = 0;
	send_records(f, 1024 + 3, 0);
	fixture_new_recorder(f);
	rec = fixture_wait_record(f, 1025);
	assert_string_equal(rec->detail, "gate lost 3 records");
	assert_true(clock_mono_ms() - before >= AUDIT_GAP_MS - 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(keeps_records_for_a_recorder_that_is_slow),
		TEST(takes_records_over_to_the_next_recorder),
		TEST(tells_how_many_records_were_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
