/*
 * How resolvers in the clear are: what is taken for down, what for up again,
 * and that a guest makes neither.
 */
#include "tests/unit/dialler_support.h"

#include "proxy/dialler_health.h"
#include "tests/unit/dialler_zone.h"

#define WAIT_MS 60
#define PAUSE_MS 20
#define SILENT "127.0.0.5"

enum { FIRST, SECOND, COUNT };

struct health_world {
	struct event_base *base;
	struct dialler_health *health;
	struct nameserver *ns; /* the first */
	struct message_resolver at[COUNT];
	unsigned int changes;
};

/* What the first says of the root. */
static struct nameserver_row rows[] = {
	ODD(".", NAMESERVER_PLAIN),
	{ NULL, NULL, NULL, 0, 0, NAMESERVER_PLAIN },
};

static void
on_changed(void *arg)
{
	struct health_world *w = arg;

	w->changes++;
}

static struct health_world *
begin(enum nameserver_quirk quirk)
{
	static const struct dialler_health_how how = { WAIT_MS, PAUSE_MS };
	struct health_world *w = calloc(1, sizeof(*w));

	log_init("test", LOG_LEVEL_ERR);
	assert_non_null(w);
	rows[0].quirk = quirk;
	w->base = event_base_new();
	w->ns = nameserver_new(w->base, NAMESERVER, rows);
	w->at[FIRST].address = range(NAMESERVER).address;
	w->at[FIRST].port = nameserver_port(w->ns);
	/* Nobody is there. */
	w->at[SECOND].address = range(SILENT).address;
	w->at[SECOND].port = nameserver_port(w->ns);
	assert_int_equal(dialler_health_new(w->base, &how, &w->health), 0);
	dialler_health_watch(w->health, on_changed, w);
	dialler_health_set(w->health, w->at, COUNT);
	return w;
}

static void
end(struct health_world *w)
{
	dialler_health_free(w->health);
	nameserver_free(w->ns);
	event_base_free(w->base);
	free(w);
}

static struct message_resolver_state
state_of(const struct health_world *w, unsigned int i)
{
	struct message_resolver_state s;

	dialler_health_state(w->health, i, &s);
	return s;
}

static void
wait_for(struct health_world *w, unsigned int i, uint8_t want)
{
	const struct timeval deadline = { DEADLINE_S, 0 };

	assert_int_equal(event_base_loopexit(w->base, &deadline), 0);
	while (state_of(w, i).state != want) {
		assert_int_equal(event_base_loop(w->base, EVLOOP_ONCE), 0);
		assert_false(event_base_got_exit(w->base));
	}
}

/* Until the look is over, and so many questions for the root have come. */
static void
wait_for_questions(struct health_world *w, size_t want)
{
	while (nameserver_count_of(w->ns, ".") < want)
		assert_int_equal(event_base_loop(w->base, EVLOOP_ONCE), 0);
}

static void
each_is_asked_when_they_are_told(void **state)
{
	struct health_world *w = begin(NAMESERVER_PLAIN);

	(void)state;
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UNKNOWN);
	dialler_health_look(w->health);
	wait_for(w, FIRST, RESOLVER_UP);
	wait_for(w, SECOND, RESOLVER_DOWN);
	assert_string_equal(state_of(w, SECOND).text,
	    "resolver-refused: nobody takes questions there");
	assert_int_equal(w->changes, 2);
	/* It was no guest who asked. */
	assert_int_equal(state_of(w, FIRST).answers, 0);
	end(w);
}

static void
one_that_is_silent_is_down_until_it_answers(void **state)
{
	struct health_world *w = begin(NAMESERVER_SILENT);

	(void)state;
	dialler_health_look(w->health);
	wait_for(w, FIRST, RESOLVER_DOWN);
	assert_string_equal(state_of(w, FIRST).text,
	    "resolver-timeout: no answer in 60 ms");
	/* It is looked at on and on, and nothing is told twice. */
	wait_for_questions(w, 4);
	assert_int_equal(w->changes, 2);
	rows[0].quirk = NAMESERVER_PLAIN;
	wait_for(w, FIRST, RESOLVER_UP);
	assert_int_equal(w->changes, 3);
	end(w);
}

static void
an_answer_for_another_question_is_none(void **state)
{
	/* The datagram of a liar comes first, the answer after it. */
	struct health_world *w = begin(NAMESERVER_OTHER_FIRST);

	(void)state;
	dialler_health_look(w->health);
	wait_for(w, FIRST, RESOLVER_UP);
	end(w);
}

static void
an_answer_to_a_guest_says_that_it_is_up(void **state)
{
	struct health_world *w = begin(NAMESERVER_SILENT);

	(void)state;
	dialler_health_look(w->health);
	wait_for(w, FIRST, RESOLVER_DOWN);
	dialler_health_answered(w->health, FIRST, true);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UP);
	assert_int_equal(state_of(w, FIRST).answers, 1);
	/* One that is nobody's is nobody's. */
	dialler_health_answered(w->health, COUNT, true);
	dialler_health_answered(w->health, COUNT, false);
	end(w);
}

static void
an_error_for_the_root_alone_is_no_fault(void **state)
{
	struct health_world *w = begin(NAMESERVER_SERVFAIL);

	(void)state;
	/* A company's own, which knows nothing of the root. */
	dialler_health_look(w->health);
	wait_for(w, SECOND, RESOLVER_DOWN);
	wait_for_questions(w, 3);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UNKNOWN);
	end(w);
}

static void
an_error_is_a_fault_if_guests_are_served_no_answer(void **state)
{
	struct health_world *w = begin(NAMESERVER_SERVFAIL);

	(void)state;
	dialler_health_suspect(w->health);
	wait_for(w, FIRST, RESOLVER_DOWN);
	assert_string_equal(state_of(w, FIRST).text,
	    "resolver-failed: it answers, but with an error (rcode 2)");
	/* It stays so until an answer comes. */
	wait_for_questions(w, 3);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_DOWN);
	rows[0].quirk = NAMESERVER_PLAIN;
	wait_for(w, FIRST, RESOLVER_UP);
	end(w);
}

static void
names_that_fail_do_not_bring_one_down_that_serves(void **state)
{
	struct health_world *w = begin(NAMESERVER_SERVFAIL);

	(void)state;
	dialler_health_answered(w->health, FIRST, true);
	/* A guest asks for names whose nameservers are broken. */
	for (int i = 0; i < 50; i++)
		dialler_health_suspect(w->health);
	wait_for_questions(w, 1);
	wait_for(w, SECOND, RESOLVER_DOWN);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UP);
	/* And however often: a look for a pause. */
	assert_int_equal(nameserver_count_of(w->ns, "."), 1);
	end(w);
}

static void
answers_that_cannot_be_read_in_a_row_are_a_fault(void **state)
{
	struct health_world *w = begin(NAMESERVER_PLAIN);

	(void)state;
	for (int i = 1; i < DIALLER_HEALTH_BAD_MAX; i++)
		dialler_health_answered(w->health, FIRST, false);
	dialler_health_answered(w->health, FIRST, true);
	for (int i = 1; i < DIALLER_HEALTH_BAD_MAX; i++)
		dialler_health_answered(w->health, FIRST, false);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UP);
	dialler_health_answered(w->health, FIRST, false);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_DOWN);
	/* That it answers for the root does not mend it. */
	dialler_health_look(w->health);
	wait_for(w, SECOND, RESOLVER_DOWN);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_DOWN);
	dialler_health_answered(w->health, FIRST, true);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UP);
	end(w);
}

static void
others_begin_with_nothing_known(void **state)
{
	struct health_world *w = begin(NAMESERVER_SILENT);

	(void)state;
	dialler_health_look(w->health);
	wait_for(w, FIRST, RESOLVER_DOWN);
	dialler_health_set(w->health, w->at, 1);
	assert_int_equal(state_of(w, FIRST).state, RESOLVER_UNKNOWN);
	dialler_health_set(w->health, w->at, 0);
	dialler_health_look(w->health);
	dialler_health_suspect(w->health);
	/* There is nothing left to wait for. */
	assert_int_equal(event_base_loop(w->base, EVLOOP_NONBLOCK), 0);
	end(w);
}

/* --- by the dialler ------------------------------------------------------- */

static void
the_supervisor_is_told(void **state)
{
	struct world *w = world_new(zone);

	(void)state;
	dialler_meet(w->dialler, w->dialler_end);
	world_configure(w);
	while (w->news.resolvers[0].state != RESOLVER_UP)
		turn(w);
	assert_int_equal(w->news.resolver_count, 1);
	assert_memory_equal(w->news.names[0], NAMESERVER ":",
	    strlen(NAMESERVER ":"));
	/* A name of a guest is counted for whoever answered. */
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	send_config(w);
	assert_int_equal(w->news.resolvers[0].state, RESOLVER_UNKNOWN);
	while (w->news.resolvers[0].state != RESOLVER_UP)
		turn(w);
	dialler_meet(w->dialler, NULL);
	world_free(w);
}

static void
names_are_counted_for_whoever_answered(void **state)
{
	struct world *w = world_ready(zone);
	struct message_dialler_status s;

	(void)state;
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	assert_origin_reached(w, dial_and_wait(w, "other.origin.example"));
	dialler_resolver_status(w->dialler->resolver, &s);
	assert_int_equal(s.resolvers[0].state, RESOLVER_UP);
	assert_int_equal(s.resolvers[0].answers, 4);
	world_free(w);
}

/* A guest has names in a zone of its own, and asks for nothing else. */
static void
what_a_zone_says_is_no_fault_of_whoever_passes_it_on(void **state)
{
	struct world *w = world_ready(zone);
	struct message_dialler_status s;

	(void)state;
	for (int i = 0; i < DIALLER_HEALTH_BAD_MAX; i++)
		assert_int_equal(dial_and_wait(w, "long.origin.example")
				     ->m.reason,
		    REASON_RESOLVE_FAILED);
	dialler_resolver_status(w->dialler->resolver, &s);
	assert_int_equal(s.resolvers[0].state, RESOLVER_UP);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_asked_when_they_are_told),
		cmocka_unit_test(one_that_is_silent_is_down_until_it_answers),
		cmocka_unit_test(an_answer_for_another_question_is_none),
		cmocka_unit_test(an_answer_to_a_guest_says_that_it_is_up),
		cmocka_unit_test(an_error_for_the_root_alone_is_no_fault),
		cmocka_unit_test(
		    an_error_is_a_fault_if_guests_are_served_no_answer),
		cmocka_unit_test(
		    names_that_fail_do_not_bring_one_down_that_serves),
		cmocka_unit_test(
		    answers_that_cannot_be_read_in_a_row_are_a_fault),
		cmocka_unit_test(others_begin_with_nothing_known),
		cmocka_unit_test(the_supervisor_is_told),
		cmocka_unit_test(names_are_counted_for_whoever_answered),
		cmocka_unit_test(
		    what_a_zone_says_is_no_fault_of_whoever_passes_it_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
