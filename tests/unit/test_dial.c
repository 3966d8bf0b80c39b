/*
 * The gate's port to the dialler.
 */
#include "gate_fixture.h"

#include "base/channel.h"
#include "base/fd.h"
#include "base/message.h"
#include "count_fds.h"
#include "proxy/dial.h"

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

struct outcome {
	unsigned int count;
	enum reason reason;
	int fd;
};

static void
on_dialed(const struct message_dialed *d, int fd, void *arg)
{
	struct outcome *o = arg;

	o->count++;
	o->reason = d->reason;
	o->fd = fd;
}

static bool
has_outcome(struct fixture *f, void *arg)
{
	(void)f;
	return ((struct outcome *)arg)->count > 0;
}

static struct dial *
dial(struct fixture *f, struct outcome *o)
{
	static const struct dial_to to = { "a.example.org", 443, SCHEME_HTTPS,
		false };

	*o = (struct outcome){ .fd = -1 };
	return dial_start(&f->gate, &to, on_dialed, o);
}

static void
hands_over_the_connection(void **state)
{
	struct fixture *f = *state;
	struct outcome o;

	assert_non_null(dial(f, &o));
	assert_int_equal(o.count, 0);
	fixture_until(f, has_outcome, &o);
	assert_int_equal(o.reason, REASON_NONE);
	assert_true(o.fd != -1);
	assert_string_equal(f->dials[0].host, "a.example.org");
	fd_close(&o.fd);
}

static void
says_that_the_dialler_is_away_from_the_loop(void **state)
{
	struct fixture *f = *state;
	struct outcome open, late;

	f->dialling = FIXTURE_DIAL_HOLD;
	assert_non_null(dial(f, &open));
	fixture_turn(f);
	chan_free(f->dialler);
	f->dialler = NULL;
	fixture_until(f, has_outcome, &open);
	assert_int_equal(open.reason, REASON_ORIGIN_UNREACHABLE);
	assert_non_null(dial(f, &late));
	assert_int_equal(late.count, 0);
	fixture_until(f, has_outcome, &late);
	assert_int_equal(late.reason, REASON_ORIGIN_UNREACHABLE);
}

static void
gives_up_after_the_time_out(void **state)
{
	struct fixture *f = *state;
	struct outcome o;

	f->dialling = FIXTURE_DIAL_HOLD;
	f->gate.limits.connect_timeout_ms = 20;
	assert_non_null(dial(f, &o));
	fixture_until(f, has_outcome, &o);
	assert_int_equal(o.reason, REASON_TIMEOUT);
	while (f->cancel_count == 0)
		fixture_turn(f);
}

static void
closes_what_comes_after_a_cancel(void **state)
{
	struct fixture *f = *state;
	struct outcome o;
	struct dial *d = dial(f, &o);
	int before = count_fds();

	dial_cancel(d);
	while (f->cancel_count == 0)
		fixture_turn(f);
	fixture_turn(f);
	assert_int_equal(o.count, 0);
	assert_int_equal(count_fds(), before);
	/* One that was never sent, too. */
	chan_free(f->dialler);
	f->dialler = NULL;
	fixture_turn(f);
	dial_cancel(dial(f, &o));
	fixture_turn(f);
	assert_int_equal(o.count, 0);
}

static bool
dialler_is_gone(struct fixture *f, void *arg)
{
	(void)arg;
	return f->dialler == NULL;
}

/* An answer without its descriptor, and one with a descriptor too many. */
static void
drops_a_dialler_that_breaks_the_protocol(void **state)
{
	static const struct {
		enum reason reason;
		unsigned int fd_count;
	} rows[] = { { REASON_NONE, 0 }, { REASON_RESOLVE_FAILED, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = fixture_new(POLICY, NULL);
		struct message_dialed m = { .reason = rows[i].reason };
		uint8_t buf[256];
		struct wr w = wr_init(buf, sizeof(buf));
		int fd = 0;

		message_dialed_encode(&w, &m);
		assert_int_equal(chan_send(f->dialler, MSG_DIALED, 1, &w, &fd,
				     rows[i].fd_count),
		    0);
		fixture_until(f, dialler_is_gone, NULL);
		fixture_free(f);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(hands_over_the_connection),
		TEST(says_that_the_dialler_is_away_from_the_loop),
		TEST(gives_up_after_the_time_out),
		TEST(closes_what_comes_after_a_cancel),
		cmocka_unit_test(drops_a_dialler_that_breaks_the_protocol),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
