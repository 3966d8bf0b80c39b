/*
 * Requests that an [ask] rule holds, by each version of HTTP; the test plays
 * the supervisor.
 */
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#include "base/channel.h"
#include "base/message.h"
#include "proxy/hold.h"

#define HEAD "[policy]\nversion = 1\n"
#define RULE " api]\nhost = api.example.org\nmethod = GET, POST\n"

struct asking {
	struct fix *f;
	struct side g, o;
	struct chan *gate_end, *end;
	uint32_t id;
	struct message_ask asked;
	unsigned int asks, cancels;
};

static int
on_ask(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct asking *a = arg;

	(void)c;
	a->id = msg->id;
	a->asks++;
	return message_ask_decode(&msg->body, &a->asked);
}

static int
on_cancel(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct asking *a = arg;

	(void)c;
	assert_int_equal(msg->id, a->id);
	a->cancels++;
	return 0;
}

static int
on_asked(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct asking *a = arg;
	struct message_asked m;
	int rc = message_asked_decode(&msg->body, &m);

	(void)c;
	assert_int_equal(rc, 0);
	holds_answer(&a->f->gate, msg->id, &m);
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_ASK, MESSAGE_SMALL_BYTES, 0, 0, on_ask },
	{ MSG_ASK_CANCEL, 0, 0, 0, on_cancel },
};
static const struct chan_rule gate_rules[] = {
	{ MSG_ASKED, MESSAGE_SMALL_BYTES, 0, 0, on_asked },
};

static void
on_closed(struct chan *c, void *arg)
{
	(void)c;
	(void)arg;
}

/* As gate_main.c does it. */
static void
on_supervisor_gone(struct chan *c, void *arg)
{
	struct asking *a = arg;

	chan_free(c);
	a->gate_end = NULL;
	a->f->gate.supervisor = NULL;
	holds_unheard(&a->f->gate);
}

static void
begin(struct asking *a, unsigned int version)
{
	int fds[2];

	*a = (struct asking){ .f = fix_new(HEAD "[ask" RULE) };
	assert_int_equal(chan_pair(fds), 0);
	a->gate_end = chan_new(a->f->gate.base, fds[0], gate_rules, 1,
	    on_supervisor_gone, a);
	a->end = chan_new(a->f->gate.base, fds[1], rules, 2, on_closed, a);
	assert_non_null(a->gate_end);
	assert_non_null(a->end);
	a->f->gate.supervisor = a->gate_end;
	side_guest(&a->g, a->f, version == 1);
}

static void
end(struct asking *a, bool has_origin)
{
	side_done(&a->g);
	if (has_origin)
		side_done(&a->o);
	fix_close(a->f);
	a->f->gate.supervisor = NULL;
	if (a->gate_end != NULL)
		chan_free(a->gate_end);
	if (a->end != NULL)
		chan_free(a->end);
	fix_free(a->f);
}

static void
ask(struct asking *a)
{
	const struct side_message post = { .method = "POST",
		.path = "/v1/x?a=1",
		.body = SIDE_LENGTH,
		.size = 5000 };

	side_send(&a->g, &post);
	fix_until(a->f, a->asks == 1);
	assert_string_equal(a->asked.subject.method, "POST");
	assert_string_equal(a->asked.subject.host, "api.example.org");
	assert_string_equal(a->asked.subject.target, "/v1/x?a=1");
	assert_int_equal(a->asked.subject.port, 443);
	assert_int_equal(a->asked.body_bytes, 5000);
	assert_string_equal(a->asked.rule, "api");
	assert_int_equal(a->f->dial_count, 0);
}

static void
answer(struct asking *a, enum ask_outcome outcome)
{
	const struct message_asked m = { (uint8_t)outcome, "tester" };
	uint8_t buf[128];
	struct wr w = wr_init(buf, sizeof(buf));

	message_asked_encode(&w, &m);
	assert_int_equal(chan_send(a->end, MSG_ASKED, a->id, &w, NULL, 0), 0);
}

static void
wait_refusal(struct asking *a, const char *code, enum reason reason)
{
	char line[80];

	fix_until(a->f, side_look(&a->g)->has_head);
	(void)snprintf(line, sizeof(line), "tapward-reason: %s", code);
	if (strstr(a->g.head, line) == NULL)
		fail_msg("not %s: %s", line, a->g.head);
	fix_until(a->f, a->f->record_count == 1);
	assert_int_equal(fix_last(a->f)->r.reason, reason);
	assert_int_equal(a->f->dial_count, 0);
}

static void
wait_passed(struct asking *a)
{
	static const struct side_message ok = { .status = 200,
		.body = SIDE_LENGTH,
		.size = 5 };

	side_origin(&a->o, a->f, false, 0);
	fix_until(a->f, side_look(&a->o)->is_whole);
	assert_int_equal(a->o.body_len, 5000);
	side_send(&a->o, &ok);
	fix_until(a->f, side_look(&a->g)->is_whole);
	fix_until(a->f, a->f->record_count == 1);
	assert_int_equal(fix_last(a->f)->r.reason, REASON_NONE);
}

static void
it_waits_and_goes_whole_after_a_yes(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		struct asking a;

		begin(&a, v);
		ask(&a);
		fix_settle(a.f);
		/* nor does the loop spin on what is not read meanwhile */
		assert_true(fix_wakes(a.f) <= 2);
		assert_int_equal(a.f->dial_count, 0);
		assert_int_equal(a.f->record_count, 0);
		answer(&a, ASK_ALLOWED);
		wait_passed(&a);
		assert_non_null(
		    strstr(fix_last(a.f)->detail, "allowed by tester"));
		assert_int_equal(a.cancels, 0);
		end(&a, true);
	}
}

static void
a_no_and_no_answer_are_refusals(void **state)
{
	static const struct {
		enum ask_outcome outcome;
		const char *code;
		enum reason reason;
	} rows[] = {
		{ ASK_DENIED, "ask-denied", REASON_ASK_DENIED },
		{ ASK_UNHEARD, "ask-timeout", REASON_ASK_TIMEOUT },
	};

	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			struct asking a;

			begin(&a, v);
			ask(&a);
			answer(&a, rows[i].outcome);
			wait_refusal(&a, rows[i].code, rows[i].reason);
			end(&a, false);
		}
	}
}

static void
time_ends_it_and_takes_the_question_back(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		struct asking a;

		begin(&a, v);
		a.f->gate.limits.ask_timeout_ms = 30;
		ask(&a);
		wait_refusal(&a, "ask-timeout", REASON_ASK_TIMEOUT);
		fix_until(a.f, a.cancels == 1);
		/* an answer that comes late does no harm */
		answer(&a, ASK_ALLOWED);
		fix_settle(a.f);
		assert_int_equal(a.f->dial_count, 0);
		end(&a, false);
	}
}

static void
a_guest_that_leaves_takes_the_question_back(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		struct asking a;

		begin(&a, v);
		ask(&a);
		side_reset(&a.g);
		fix_until(a.f, a.cancels == 1);
		answer(&a, ASK_ALLOWED);
		fix_settle(a.f);
		assert_int_equal(a.f->dial_count, 0);
		end(&a, false);
	}
}

static void
a_supervisor_that_goes_is_a_no(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		struct asking a;

		begin(&a, v);
		ask(&a);
		chan_free(a.end);
		a.end = NULL;
		wait_refusal(&a, "ask-timeout", REASON_ASK_TIMEOUT);
		end(&a, false);
	}
}

static void
a_reload_lets_go_refuses_or_leaves_it(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		struct asking a;

		begin(&a, v);
		ask(&a);
		fix_set_policy(a.f, HEAD "[ask" RULE "say = another text\n");
		fix_settle(a.f);
		assert_int_equal(a.cancels, 0);
		fix_set_policy(a.f, HEAD "[allow" RULE);
		wait_passed(&a);
		assert_int_equal(a.cancels, 1);
		end(&a, true);
		begin(&a, v);
		ask(&a);
		fix_set_policy(a.f, HEAD "[deny" RULE);
		wait_refusal(&a, "policy-reloaded", REASON_POLICY_RELOADED);
		fix_until(a.f, a.cancels == 1);
		end(&a, false);
	}
}

static void
what_cannot_be_asked_is_refused_at_once(void **state)
{
	const struct {
		const char *claim, *path, *fields;
		uint32_t asks;
	} rows[] = {
		{ "two methods", "/x", "X-HTTP-Method-Override: GET\n", 2 },
		{ "too many", "/x", NULL, 0 },
	};

	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			const struct side_message get = { .method = "GET",
				.path = rows[i].path,
				.fields = rows[i].fields };
			struct asking a;

			begin(&a, v);
			a.f->gate.limits.asks = rows[i].asks;
			side_send(&a.g, &get);
			wait_refusal(&a, "ask-timeout", REASON_ASK_TIMEOUT);
			if (a.asks != 0)
				fail_msg("%s: asked", rows[i].claim);
			end(&a, false);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_and_goes_whole_after_a_yes),
		cmocka_unit_test(a_no_and_no_answer_are_refusals),
		cmocka_unit_test(time_ends_it_and_takes_the_question_back),
		cmocka_unit_test(a_guest_that_leaves_takes_the_question_back),
		cmocka_unit_test(a_supervisor_that_goes_is_a_no),
		cmocka_unit_test(a_reload_lets_go_refuses_or_leaves_it),
		cmocka_unit_test(what_cannot_be_asked_is_refused_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
