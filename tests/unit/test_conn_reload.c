/*
 * What a reload of the policy does to connections that are open: the policy
 * has one host that is passed through and one that is inspected.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <unistd.h>

#include "client_hello.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow through]\nhost = through.example.org\nport = PORT\n"           \
	"tls = passthrough\n"                                                  \
	"[allow look]\nhost = look.example.org\nport = PORT\n"

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

static bool
was_inspected(struct fixture *f, void *arg)
{
	(void)arg;
	return f->inspect_count > 0;
}

static bool
was_dialled(struct fixture *f, void *arg)
{
	(void)arg;
	return f->dial_count > 0;
}

struct joined {
	int guest, origin;
};

static struct joined
join(struct fixture *f, const char *name)
{
	struct joined j = { .guest = fixture_guest_here(f) };
	uint8_t hello[512], got[512];
	size_t len = client_hello(name, false, hello);

	fixture_write(j.guest, hello, len);
	j.origin = fixture_accept(f);
	assert_int_equal(fixture_read(f, j.origin, got, len), (ssize_t)len);
	return j;
}

static void
ends_relays_that_a_reload_no_longer_allows(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f, "through.example.org");
	const struct fixture_record *rec;
	uint8_t got[16];

	fixture_reload(f,
	    "[policy]\nversion = 1\n"
	    "[allow other]\nhost = other.example.org\n");
	assert_int_equal(f->gate.conn_count, 0);
	assert_int_equal(fixture_read(f, j.guest, got, 16), -ECONNRESET);
	rec = fixture_wait_record(f, 1);
	assert_int_equal(rec->r.reason, REASON_POLICY_RELOADED);
	(void)close(j.guest);
	(void)close(j.origin);
}

static void
ends_relays_that_a_reload_wants_inspected(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f, "through.example.org");

	fixture_reload(f,
	    "[policy]\nversion = 1\n"
	    "[allow through]\nhost = through.example.org\nport = PORT\n");
	assert_int_equal(f->gate.conn_count, 0);
	(void)close(j.guest);
	(void)close(j.origin);
}

static void
keeps_relays_that_a_reload_still_allows(void **state)
{
	struct fixture *f = *state;
	struct joined j = join(f, "through.example.org");
	uint8_t got[4];

	fixture_reload(f,
	    "[policy]\nversion = 1\n"
	    "[allow renamed]\nhost = **.example.org\nport = PORT\n"
	    "tls = passthrough\n");
	fixture_write(j.guest, "more", 4);
	assert_int_equal(fixture_read(f, j.origin, got, 4), 4);
	(void)close(j.guest);
	(void)close(j.origin);
	/* It stands under the rule that allows it now. */
	assert_string_equal(fixture_wait_record(f, 1)->r.rule, "renamed");
}

static void
cancels_dials_that_a_reload_no_longer_allows(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512], got[16];
	size_t len = client_hello("through.example.org", false, hello);
	int guest = fixture_guest_here(f);

	f->dialling = FIXTURE_DIAL_HOLD;
	fixture_write(guest, hello, len);
	fixture_until(f, was_dialled, NULL);
	fixture_reload(f, "[policy]\nversion = 1\n");
	assert_int_equal(fixture_read(f, guest, got, 16), -ECONNRESET);
	while (f->cancel_count == 0)
		fixture_turn(f);
	(void)close(guest);
}

static void
tells_the_inspected_path_of_a_reload(void **state)
{
	struct fixture *f = *state;
	uint8_t hello[512];
	size_t len = client_hello("look.example.org", false, hello);
	int guest = fixture_guest_here(f);

	fixture_write(guest, hello, len);
	fixture_until(f, was_inspected, NULL);
	fixture_reload(f, "[policy]\nversion = 1\n");
	assert_int_equal(f->inspect_changes, 1);
	(void)close(guest);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ends_relays_that_a_reload_no_longer_allows),
		TEST(ends_relays_that_a_reload_wants_inspected),
		TEST(keeps_relays_that_a_reload_still_allows),
		TEST(cancels_dials_that_a_reload_no_longer_allows),
		TEST(tells_the_inspected_path_of_a_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
