/*
 * What is remembered of sandboxes: the last of their own, whatever others do.
 */
#include "tests/unit/recorder_support.h"

#include <stdio.h>

#include "base/message.h"
#include "daemon/recorder_tally.h"

static struct message_recent told;

static struct recorder_tally *
tally_of(struct recorder_tallies *all, const char *name, uint64_t generation)
{
	struct message_recorder_sandbox about = sandbox_named(name);

	about.generation = generation;
	return recorder_tally_ref(all, &about);
}

static void
deny(struct recorder_tally *t, uint64_t wall_ms, const char *host)
{
	const struct audit_record r = denial_of(host);

	recorder_tally_count(t, wall_ms, &r);
}

static void
tell(const struct recorder_tallies *all, bool everything,
    const uint64_t *generations, uint16_t count)
{
	const struct message_recent_wanted wanted = { everything, count,
		generations };

	recorder_tallies_tell(all, &wanted, &told);
}

static void
keeps_the_newest_refusals_in_order(void **state)
{
	struct recorder_tallies *all = recorder_tallies_new();
	struct recorder_tally *a = tally_of(all, "a", 1);
	struct recorder_tally *b = tally_of(all, "b", 2);
	const uint64_t only_b = 2;
	char host[32];

	(void)state;
	deny(b, 5, "quiet.example");
	for (unsigned int i = 0; i < 100; i++) {
		(void)snprintf(host, sizeof(host), "h%u.example", i);
		deny(a, 10 + i, host);
	}
	deny(b, 200, "last.example");
	tell(all, true, NULL, 0);
	assert_int_equal(told.refusal_count, RECENT_REFUSALS_MAX);
	assert_string_equal(told.refusals[0].host, "last.example");
	assert_string_equal(told.refusals[0].sandbox, "b");
	assert_string_equal(told.refusals[1].host, "h99.example");
	assert_string_equal(told.refusals[15].host, "h85.example");
	/* One guest does not push out what another did. */
	tell(all, false, &only_b, 1);
	assert_int_equal(told.refusal_count, 2);
	assert_string_equal(told.refusals[1].host, "quiet.example");
	recorder_tally_unref(a);
	recorder_tally_unref(b);
	recorder_tallies_free(all);
}

static void
the_same_again_is_counted_and_takes_no_place(void **state)
{
	struct recorder_tallies *all = recorder_tallies_new();
	struct recorder_tally *a = tally_of(all, "a", 1);
	struct audit_record packet = audit_record_init(AUDIT_PACKET);
	char address[32];

	(void)state;
	deny(a, 1, "once.example");
	packet.verdict = ACTION_DENY;
	packet.reason = REASON_PACKET_ETHERTYPE;
	packet.address = address;
	for (unsigned int i = 0; i < 100; i++) {
		(void)snprintf(address, sizeof(address), "ff02::%u", i);
		recorder_tally_count(a, 10 + i, &packet);
		deny(a, 10 + i, "often.example");
	}
	tell(all, true, NULL, 0);
	assert_int_equal(told.refusal_count, 3);
	assert_int_equal(told.refusals[0].count, 100);
	assert_int_equal(told.refusals[1].count, 100);
	assert_string_equal(told.refusals[2].host, "once.example");
	recorder_tally_unref(a);
	recorder_tallies_free(all);
}

static void
tells_of_no_sandbox_that_is_not_named(void **state)
{
	struct recorder_tallies *all = recorder_tallies_new();
	struct recorder_tally *a = tally_of(all, "a", 1);
	const uint64_t others[] = { 2, 3, 9 };

	(void)state;
	deny(a, 5, "secret.example");
	tell(all, false, others, 3);
	assert_int_equal(told.refusal_count, 0);
	assert_int_equal(told.host_count, 0);
	tell(all, false, NULL, 0);
	assert_int_equal(told.refusal_count, 0);
	recorder_tally_unref(a);
	recorder_tallies_free(all);
}

static void
counts_hosts_and_forgets_the_one_not_used_for_longest(void **state)
{
	struct recorder_tallies *all = recorder_tallies_new();
	struct recorder_tally *a = tally_of(all, "a", 1);
	const uint64_t one = 1;
	struct audit_record r = denial_of("busy.example");
	char host[32];

	(void)state;
	for (unsigned int i = 0; i < 3 * RECENT_HOSTS_MAX; i++) {
		(void)snprintf(host, sizeof(host), "h%u.example", i);
		deny(a, 10 + 2 * i, host);
		deny(a, 11 + 2 * i, "busy.example");
	}
	r.verdict = ACTION_ALLOW;
	r.reason = REASON_NONE;
	r.up = UINT64_MAX;
	r.down = 7;
	recorder_tally_count(a, 1000, &r);
	recorder_tally_count(a, 1000, &r);
	tell(all, false, &one, 1);
	assert_int_equal(told.host_count, RECENT_HOSTS_MAX);
	assert_string_equal(told.hosts[0].host, "busy.example");
	assert_int_equal(told.hosts[0].denied, 3 * RECENT_HOSTS_MAX);
	assert_int_equal(told.hosts[0].allowed, 2);
	assert_int_equal(told.hosts[0].down, 14);
	/* What a gate makes up does not wrap, and can be told. */
	assert_true(told.hosts[0].up == RECENT_NUMBER_MAX);
	recorder_tally_unref(a);
	recorder_tallies_free(all);
}

static void
what_a_guest_wrote_is_printable_and_cut(void **state)
{
	struct recorder_tallies *all = recorder_tallies_new();
	struct recorder_tally *a = tally_of(all, "a", 1);
	struct audit_record r = denial_of("\x1b[2J\xff.example");
	char path[400];

	(void)state;
	memset(path, 'p', sizeof(path));
	path[0] = '\n';
	r.path = (struct span){ (const uint8_t *)path, sizeof(path) };
	recorder_tally_count(a, 1, &r);
	tell(all, true, NULL, 0);
	assert_string_equal(told.refusals[0].host, "?[2J?.example");
	assert_int_equal(strlen(told.refusals[0].path), RECENT_PATH_SIZE - 1);
	assert_memory_equal(told.refusals[0].path, "?ppp", 4);
	assert_string_equal(told.refusals[0].path + RECENT_PATH_SIZE - 4,
	    "...");
	recorder_tally_unref(a);
	recorder_tallies_free(all);
}

static void
is_shared_by_its_senders_and_ends_with_the_last(void **state)
{
	struct recorder_tallies *all = recorder_tallies_new();
	struct recorder_tally *a = tally_of(all, "a", 1);
	struct recorder_tally *other;

	(void)state;
	assert_ptr_equal(tally_of(all, "a", 1), a);
	other = tally_of(all, "a", 2);
	assert_ptr_not_equal(other, a);
	recorder_tally_unref(other);
	deny(a, 1, "x.example");
	recorder_tally_unref(a);
	tell(all, true, NULL, 0);
	assert_int_equal(told.refusal_count, 1);
	recorder_tally_unref(a);
	tell(all, true, NULL, 0);
	assert_int_equal(told.refusal_count, 0);
	recorder_tallies_free(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_newest_refusals_in_order),
		cmocka_unit_test(the_same_again_is_counted_and_takes_no_place),
		cmocka_unit_test(tells_of_no_sandbox_that_is_not_named),
		cmocka_unit_test(
		    counts_hosts_and_forgets_the_one_not_used_for_longest),
		cmocka_unit_test(what_a_guest_wrote_is_printable_and_cut),
		cmocka_unit_test(
		    is_shared_by_its_senders_and_ends_with_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
