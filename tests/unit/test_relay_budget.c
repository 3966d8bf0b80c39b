/*
 * Tunnels and their budgets: exact to the byte, counted together, kept over a
 * reload and over another gate.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client_hello.h"
#include "proxy/conn.h"
#include "proxy/meter.h"
#include "proxy/relay.h"

#define UP_MAX 100000
#define DOWN_MAX 3000000
#define RULE                                                                   \
	"[policy]\nversion = 1\n"                                              \
	"[allow through]\nhost = through.example.org\nport = PORT\n"           \
	"tls = passthrough\n"
#define POLICY                                                                 \
	RULE "max-upload = 100000\nmax-download = 3000000\n"                   \
	     "max-requests = 4\nmax-connections = 2\n"
#define NAME "through.example.org"

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

struct joined {
	int guest, origin;
	size_t hello_len;
};

static struct joined
join(struct fixture *f)
{
	struct joined j = { .guest = fixture_guest_here(f) };
	uint8_t hello[512], got[512];

	j.hello_len = client_hello(NAME, false, hello);
	fixture_write(j.guest, hello, j.hello_len);
	j.origin = fixture_accept(f);
	assert_int_equal(fixture_read(f, j.origin, got, j.hello_len),
	    (ssize_t)j.hello_len);
	return j;
}

static void
part(struct fixture *f, struct joined *j)
{
	fd_close(&j->guest);
	fd_close(&j->origin);
	fixture_wait_closed(f);
}

static struct budget_slot
slot(const struct fixture *f)
{
	static struct budget_table t;

	assert_int_equal(pread(f->counts, &t, sizeof(t), 0), sizeof(t));
	assert_string_equal(t.slots[0].rule, "through");
	return t.slots[0];
}

/* Sends from one end till it is reset; what the other end got. */
static size_t
pour(struct fixture *f, int from, int to, size_t piece)
{
	static uint8_t buf[1 << 20];
	size_t got = 0;

	for (;;) {
		ssize_t n = send(from, buf, piece, MSG_DONTWAIT | MSG_NOSIGNAL);

		fixture_turn(f);
		n = recv(to, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0)
			got += (size_t)n;
		else if (n == 0 || errno != EAGAIN)
			return got;
	}
}

static void
not_a_byte_more_goes_up(void **state)
{
	static const size_t pieces[] = { 1, 777, 65536, 1 << 20 };

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct fixture *f = *state;
		struct joined j = join(f);
		const struct fixture_record *r;

		(void)pour(f, j.guest, j.origin, pieces[i]);
		r = fixture_wait_record(f, 1);
		assert_int_equal(r->r.reason, REASON_LIMIT_UPLOAD);
		assert_true(r->r.up <= UP_MAX);
		assert_int_equal(slot(f).up, UP_MAX);
		assert_string_equal(r->text.rule, "through");
		part(f, &j);
		fixture_free(f);
		*state = fixture_new(POLICY, NULL);
	}
}

static void
not_a_byte_more_comes_down(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f);
	size_t got = pour(f, j.origin, j.guest, 1 << 20);

	assert_true(got <= DOWN_MAX);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason,
	    REASON_LIMIT_DOWNLOAD);
	assert_true(fixture_wait_record(f, 1)->r.down <= DOWN_MAX);
	assert_int_equal(slot(f).down, DOWN_MAX);
	part(f, &j);
}

static void
two_tunnels_share_what_there_is(void **state)
{
	struct fixture *f = *state;
	struct joined a = join(f), b = join(f);
	static uint8_t buf[60000];
	size_t room = UP_MAX - a.hello_len - b.hello_len, got = 0;

	fixture_write(a.guest, buf, 60000);
	assert_int_equal(fixture_read(f, a.origin, buf, 60000), 60000);
	fixture_write(b.guest, buf, 60000);
	while (f->record_count < 2) {
		ssize_t n = recv(b.origin, buf, sizeof(buf), MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		fixture_turn(f);
	}
	assert_true(got <= room - 60000);
	/* The other has not a byte left either, and ends by itself. */
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(f->records[i].r.reason, REASON_LIMIT_UPLOAD);
	assert_int_equal(slot(f).up, UP_MAX);
	assert_int_equal(slot(f).open, 0);
	part(f, &a);
	part(f, &b);
}

static ssize_t
knock(struct fixture *f, uint8_t alert[7])
{
	uint8_t hello[512];
	size_t len = client_hello(NAME, false, hello);
	int guest = fixture_guest_here(f);
	ssize_t n;

	fixture_write(guest, hello, len);
	n = fixture_read(f, guest, alert, 7);
	(void)close(guest);
	return n;
}

static void
so_many_at_once_and_so_many_in_all(void **state)
{
	struct fixture *f = *state;
	struct joined a = join(f), b = join(f);
	uint8_t alert[7];

	assert_int_equal(slot(f).open, 2);
	assert_int_equal(knock(f, alert), 7);
	assert_int_equal(alert[6], 49); /* access_denied */
	assert_int_equal(fixture_wait_record(f, 1)->r.reason,
	    REASON_LIMIT_CONNECTIONS);
	fd_close(&b.guest);
	fd_close(&b.origin);
	part(f, &a);
	assert_int_equal(slot(f).open, 0);
	for (int i = 0; i < 2; i++) {
		a = join(f);
		part(f, &a);
	}
	assert_int_equal(knock(f, alert), 7);
	assert_int_equal(fixture_wait_record(f, 6)->r.reason,
	    REASON_LIMIT_REQUESTS);
	assert_int_equal(slot(f).requests, 4);
	/* Nobody was dialled for those that were refused. */
	assert_int_equal(f->dial_count, 4);
}

static void
a_reload_keeps_the_counts_of_a_name(void **state)
{
	struct fixture *f = *state;
	struct joined a = join(f);
	static uint8_t buf[50000];

	fixture_write(a.guest, buf, 50000);
	assert_int_equal(fixture_read(f, a.origin, buf, 50000), 50000);
	fixture_reload(f, POLICY "\n[allow other]\nhost = o.example.org\n");
	assert_int_equal(slot(f).up, 50000 + a.hello_len);
	assert_int_equal(slot(f).open, 1);
	assert_int_equal(slot(f).requests, 1);
	/* A tighter one ends what runs, once it has nothing left. */
	fixture_reload(f, RULE "max-upload = 50000\n");
	assert_int_equal(fixture_wait_record(f, 1)->r.reason,
	    REASON_LIMIT_UPLOAD);
	assert_int_equal(slot(f).open, 0);
	/* Taken away and back: the counts are there still. */
	fixture_reload(f, RULE);
	assert_int_equal(slot(f).is_in_force, 0);
	fixture_reload(f, POLICY);
	assert_int_equal(slot(f).up, 50000 + a.hello_len);
	part(f, &a);
}

static void
another_gate_goes_on_where_the_last_one_was(void **state)
{
	struct fixture *f = *state;
	struct joined a = join(f);
	static uint8_t buf[50000];
	static struct budget_table t;

	fixture_write(a.guest, buf, 50000);
	assert_int_equal(fixture_read(f, a.origin, buf, 50000), 50000);
	part(f, &a);
	/* As one that was killed leaves it: what was open is open for ever. */
	assert_int_equal(pread(f->counts, &t, sizeof(t), 0), sizeof(t));
	t.slots[0].open = 2;
	assert_int_equal(pwrite(f->counts, &t, sizeof(t), 0), sizeof(t));
	meters_free(&f->gate);
	assert_int_equal(meters_new(&f->gate, f->counts), 0);
	assert_int_equal(slot(f).up, 50000 + a.hello_len);
	assert_int_equal(slot(f).requests, 1);
	assert_int_equal(slot(f).open, 0);
	a = join(f);
	assert_int_equal(slot(f).requests, 2);
	part(f, &a);
}

#define NAMES 63

/* Rules with a budget, none of which was there before. */
static void
reload_with_other_names(struct fixture *f, unsigned int turn)
{
	static char text[sizeof(RULE) + (size_t)NAMES * 80];
	int len = snprintf(text, sizeof(text), RULE);

	for (unsigned int i = 0; i < NAMES; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
		    "[allow t%u-%u]\nhost = h%u.example.org\n"
		    "max-requests = 1\n",
		    turn, i, i);
	fixture_reload(f, text);
}

static struct budget_slot
slot_of_ceiling(const struct fixture *f)
{
	static struct budget_table t;
	struct budget_slot found = { .rule = "" };

	assert_int_equal(pread(f->counts, &t, sizeof(t), 0), sizeof(t));
	for (size_t i = 0; i < BUDGET_SLOTS; i++)
		if (t.slots[i].is_in_force == 1 && t.slots[i].is_ceiling == 1)
			found = t.slots[i];
	return found;
}

/* Whoever may reload a policy is not who wrote the ceiling. */
static void
no_number_of_names_makes_the_ceiling_forget(void **state)
{
	struct fixture *f = fixture_new(RULE, POLICY);
	static struct budget_table t;
	static uint8_t buf[50000];
	struct joined a;

	(void)state;
	/* A full table: what the ceiling names new takes the place of an old.
	 */
	t.magic = BUDGET_MAGIC;
	for (size_t i = 0; i < BUDGET_SLOTS; i++)
		(void)snprintf(t.slots[i].rule, sizeof(t.slots[i].rule),
		    "old-%zu", i);
	assert_int_equal(pwrite(f->counts, &t, sizeof(t), 0), sizeof(t));
	meters_free(&f->gate);
	assert_int_equal(meters_new(&f->gate, f->counts), 0);
	a = join(f);
	fixture_write(a.guest, buf, sizeof(buf));
	assert_int_equal(fixture_read(f, a.origin, buf, sizeof(buf)),
	    (ssize_t)sizeof(buf));
	for (unsigned int turn = 0; turn < 6; turn++)
		reload_with_other_names(f, turn);
	assert_string_equal(slot_of_ceiling(f).rule, "through");
	assert_int_equal(slot_of_ceiling(f).requests, 1);
	assert_int_equal(slot_of_ceiling(f).up, sizeof(buf) + a.hello_len);
	part(f, &a);
	fixture_free(f);
}

/* Whatever one that was taken over has left there. */
static void
any_bytes_in_the_table_are_only_numbers(void **state)
{
	struct fixture *f = *state;
	static struct budget_table t;

	for (int fill = 0; fill < 256; fill += 85) {
		struct budget_slot s;

		memset(&t, fill, sizeof(t));
		t.magic = BUDGET_MAGIC;
		assert_int_equal(pwrite(f->counts, &t, sizeof(t), 0),
		    sizeof(t));
		meters_free(&f->gate);
		assert_int_equal(meters_new(&f->gate, f->counts), 0);
		assert_int_equal(pread(f->counts, &t, sizeof(t), 0), sizeof(t));
		s = t.slots[fill == 0 ? 0 : BUDGET_SLOTS - 1];
		assert_string_equal(s.rule, "through");
		assert_int_equal(s.up, 0);
		assert_int_equal(s.is_in_force, 1);
	}
}

static void
an_end_ends_what_runs_within_a_second(void **state)
{
	struct fixture *f = *state;
	struct joined a;
	uint64_t begun_ms;

	clock_test_release();
	fixture_reload(f, RULE "until = 2030-01-01T00:00:00Z\n");
	clock_test_set(clock_mono_ms(), clock_boot_ms(), 1893455999000);
	a = join(f);
	fixture_turn(f);
	assert_int_equal(f->record_count, 0);
	clock_test_advance(1000);
	begun_ms = 0;
	while (f->record_count == 0 && begun_ms++ < 100)
		assert_int_equal(event_base_loop(f->base, EVLOOP_ONCE), 0);
	assert_int_equal(fixture_wait_record(f, 1)->r.reason, REASON_UNTIL);
	part(f, &a);
}

static void
a_table_that_is_not_whole_is_not_used(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("short", MFD_CLOEXEC);

	meters_free(&f->gate);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(meters_new(&f->gate, fd), -EBADMSG);
	assert_null(f->gate.meters);
	(void)close(fd);
	/* Without one nothing that counts goes through. */
	{
		uint8_t alert[7];

		assert_int_equal(knock(f, alert), 7);
		assert_int_equal(fixture_wait_record(f, 1)->r.reason,
		    REASON_LIMIT_REQUESTS);
	}
	assert_int_equal(meters_new(&f->gate, f->counts), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(not_a_byte_more_goes_up),
		TEST(not_a_byte_more_comes_down),
		TEST(two_tunnels_share_what_there_is),
		TEST(so_many_at_once_and_so_many_in_all),
		TEST(a_reload_keeps_the_counts_of_a_name),
		TEST(another_gate_goes_on_where_the_last_one_was),
		cmocka_unit_test(no_number_of_names_makes_the_ceiling_forget),
		TEST(any_bytes_in_the_table_are_only_numbers),
		TEST(an_end_ends_what_runs_within_a_second),
		TEST(a_table_that_is_not_whole_is_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
