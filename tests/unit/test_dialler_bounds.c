/*
 * What one gate can have of the dialler, whatever it has become.
 */
#include "tests/unit/dialler_support.h"

#include "base/packet.h"
#include "tests/unit/dialler_zone.h"

static void
bounds_the_dials_of_one_sandbox(void **state)
{
	struct world *w = world_ready(zone);

	(void)state;
	w->config->limits.in_flight = 2;
	send_config(w);
	dial(w, 1, "silent.origin.example");
	dial(w, 2, "silent.origin.example");
	dial(w, 3, "good.origin.example");
	wait_for_count(w, &w->answer_count, 1);
	assert_int_equal(w->answers[0].id, 3);
	assert_int_equal(w->answers[0].m.reason, REASON_LIMIT_CONNECTIONS);
	world_free(w);
}

static void
dial_unread(const struct world *w, int fd, uint32_t id)
{
	struct message_dial m = { .host = "good.origin.example",
		.port = w->port,
		.scheme = SCHEME_HTTPS };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr body =
	    wr_init(buf + CHAN_HEADER_BYTES, sizeof(buf) - CHAN_HEADER_BYTES);
	const ssize_t len = (ssize_t)CHAN_HEADER_BYTES;

	packet_write_head(buf,
	    &(struct packet_head){ .version = CHAN_VERSION,
		.type = MSG_DIAL,
		.id = id });
	message_dial_encode(&body, &m);
	assert_int_equal(send(fd, buf, CHAN_HEADER_BYTES + body.len, 0),
	    len + (ssize_t)body.len);
}

/* Turns until nothing comes of them any more. */
static void
settle(struct world *w)
{
	unsigned int seen = w->record_count;

	for (unsigned int idle = 0; idle < 50; idle++) {
		assert_int_equal(event_base_loop(w->base, EVLOOP_NONBLOCK), 0);
		if (w->record_count != seen)
			idle = 0;
		seen = w->record_count;
	}
}

/*
 * A gate that was taken over asks, and reads no answer. What the kernel keeps
 * for it is no descriptor of ours any more; the rest waits in here.
 */
static void
bounds_the_answers_that_a_gate_does_not_read(void **state)
{
	enum { LIMIT = 4, ASKED = 40 };
	struct world *w = world_ready(zone);
	int fd, before;

	(void)state;
	w->config->limits.in_flight = LIMIT;
	send_config(w);
	w->gate_room = 1;
	chan_free(w->gate);
	chan_free(w->recorder);
	fd = attach_fd(w, "two", POLICY, NULL);
	before = count_fds();
	dial_unread(w, fd, 1);
	wait_for_count(w, &w->record_count, 1);
	for (uint32_t id = 2; id <= ASKED; id++) {
		dial_unread(w, fd, id);
		settle(w);
	}
	assert_int_equal(w->records[0].reason, REASON_NONE);
	assert_true(w->record_count < ASKED);
	assert_in_range(count_fds(), before + 1, before + LIMIT);
	/* Once it reads, it is heard again. */
	w->gate = chan_new(w->base, fd, gate_rules, 1, on_end, w);
	wait_for_count(w, &w->answer_count, ASKED);
	assert_int_equal(w->record_count, ASKED);
	world_free(w);
}

#define NAMES 1100

/* Every name of it is one that nobody ever answers for, but the last. */
static const struct nameserver_row *
silent_zone(void)
{
	static struct nameserver_row rows[NAMES + 2];
	static char names[NAMES][32];

	for (unsigned int i = 0; i < NAMES; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "s%u.origin.example",
		    i);
		rows[i].owner = names[i];
		rows[i].quirk = NAMESERVER_SILENT;
	}
	rows[NAMES] = (struct nameserver_row){ .owner = "good.origin.example",
		.type = "A",
		.value = ORIGIN,
		.ttl_s = 60 };
	return rows;
}

/*
 * A guest asks for names that are its own, and goes away before there is an
 * answer, again and again: the questions are still being asked.
 */
static void
names_that_nobody_waits_for_are_their_sandboxes_own(void **state)
{
	struct world *w = world_ready(silent_zone());
	struct chan *hostile = w->gate, *its_recorder = w->recorder;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < NAMES; i++) {
		(void)snprintf(name, sizeof(name), "s%u.origin.example",
		    (unsigned int)i);
		dial(w, i + 1, name);
		assert_int_equal(chan_send(hostile, MSG_DIAL_CANCEL, i + 1,
				     NULL, NULL, 0),
		    0);
		settle(w);
		w->record_count = w->answer_count = 0;
	}
	w->generation = 2;
	attach(w, "two", POLICY, NULL);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_NONE);
	assert_origin_reached(w, &w->answers[0]);
	chan_free(hostile);
	chan_free(its_recorder);
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds_the_dials_of_one_sandbox),
		cmocka_unit_test(bounds_the_answers_that_a_gate_does_not_read),
		cmocka_unit_test(
		    names_that_nobody_waits_for_are_their_sandboxes_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
