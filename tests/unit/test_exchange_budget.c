/*
 * Requests and their budgets, between each version of HTTP and each.
 */
#include "side_peer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proxy/meter.h"

#define HEAD                                                                   \
	"[policy]\nversion = 1\n[allow api]\nhost = api.example.org\n"         \
	"path = /**\nmethod = GET, HEAD, POST\n"

struct pair {
	struct fix *f;
	struct side g, o;
};

static struct budget_slot
slot(const struct fix *f)
{
	static struct budget_table t;

	assert_int_equal(pread(f->counts, &t, sizeof(t), 0), sizeof(t));
	assert_string_equal(t.slots[0].rule, "api");
	return t.slots[0];
}

static void
open_pair(struct pair *p, const char *policy, unsigned int versions)
{
	p->f = fix_new(policy);
	p->f->origin_is_h2 = (versions & 2) != 0;
	side_guest(&p->g, p->f, (versions & 1) != 0);
}

static void
reach(struct pair *p, const struct side_message *ask)
{
	side_send(&p->g, ask);
	side_origin(&p->o, p->f, p->f->origin_is_h2, 0);
	fix_until(p->f, side_look(&p->o)->has_head);
}

static void
close_pair(struct pair *p, bool has_origin)
{
	side_done(&p->g);
	if (has_origin)
		side_done(&p->o);
	clock_test_release();
	fix_free(p->f);
}

static const struct side_message get = { .method = "GET" };
static const struct side_message ok = { .status = 200,
	.body = SIDE_LENGTH,
	.size = 5 };

/* Waits for a refusal with this code and status. */
static void
wait_refusal(struct pair *p, const char *code, unsigned int status)
{
	char line[80];

	fix_until(p->f, side_look(&p->g)->has_head);
	(void)snprintf(line, sizeof(line), "tapward-reason: %s", code);
	if (strstr(p->g.head, line) == NULL)
		fail_msg("not %s: %s", line, p->g.head);
	(void)snprintf(line, sizeof(line), "%u", status);
	assert_non_null(strstr(p->g.head, line));
}

static void
the_request_behind_the_last_is_refused(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		open_pair(&p, HEAD "max-requests = 1\n", v);
		reach(&p, &get);
		side_send(&p.o, &ok);
		fix_until(p.f, side_look(&p.g)->is_whole);
		side_next(&p.g);
		side_send(&p.g, &get);
		wait_refusal(&p, "limit-requests", 403);
		fix_until(p.f, p.f->record_count == 2);
		assert_int_equal(fix_last(p.f)->r.reason,
		    REASON_LIMIT_REQUESTS);
		assert_int_equal(slot(p.f).requests, 1);
		assert_int_equal(slot(p.f).open, 0);
		close_pair(&p, true);
	}
}

static void
a_rate_is_429_and_says_when(void **state)
{
	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		open_pair(&p, HEAD "rate = 1/minute\n", v);
		reach(&p, &get);
		side_send(&p.o, &ok);
		fix_until(p.f, side_look(&p.g)->is_whole);
		side_next(&p.g);
		side_send(&p.g, &get);
		wait_refusal(&p, "limit-rate", 429);
		assert_true(strstr(p.g.head, "retry-after: 60") != NULL ||
		    strstr(p.g.head, "retry-after: 61") != NULL ||
		    strstr(p.g.head, "retry-after: 62") != NULL);
		close_pair(&p, true);
	}
}

/* Told beforehand: nothing is dialled for it. */
static void
an_upload_that_says_it_is_too_large_goes_nowhere(void **state)
{
	const struct side_message post = { .method = "POST",
		.body = SIDE_LENGTH,
		.size = 1001 };

	(void)state;
	for (unsigned int v = 0; v < 2; v++) {
		struct pair p;

		open_pair(&p, HEAD "max-upload = 1000\n", v);
		side_send(&p.g, &post);
		wait_refusal(&p, "limit-upload", 403);
		fix_until(p.f, p.f->record_count == 1);
		assert_int_equal(p.f->origin_count, 0);
		assert_int_equal(slot(p.f).up, 0);
		assert_int_equal(slot(p.f).requests, 0);
		close_pair(&p, false);
	}
}

/* Without a length: cut at the budget, whatever the origin has by then. */
static void
an_upload_without_a_length_stops_at_its_budget(void **state)
{
	const struct side_message post = { .method = "POST",
		.body = SIDE_STREAM,
		.size = 400000 };

	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		open_pair(&p, HEAD "max-upload = 100000\n", v);
		reach(&p, &post);
		fix_until(p.f,
		    side_look(&p.o) != NULL && p.f->record_count == 1);
		assert_int_equal(fix_last(p.f)->r.reason, REASON_LIMIT_UPLOAD);
		assert_true(slot(p.f).up <= 100000);
		assert_true(side_look(&p.o)->body_len <= 100000);
		assert_false(p.o.is_whole);
		close_pair(&p, true);
	}
}

static void
an_upload_of_just_its_budget_passes(void **state)
{
	struct side_message post = { .method = "POST",
		.body = SIDE_STREAM,
		.size = 50000 };

	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;
		uint64_t head;
		char policy[512];

		/* How long is the head? Then: that and the body, not more. */
		open_pair(&p, HEAD "max-upload = 1GB\n", v);
		reach(&p, &post);
		fix_until(p.f, side_look(&p.o)->is_whole);
		head = slot(p.f).up - 50000;
		assert_true(head > 20 && head < 1000);
		close_pair(&p, true);
		for (unsigned int less = 0; less < 2; less++) {
			(void)snprintf(policy, sizeof(policy),
			    HEAD "max-upload = %llu\n",
			    (unsigned long long)(head + 50000 - less));
			open_pair(&p, policy, v);
			reach(&p, &post);
			fix_until(p.f,
			    side_look(&p.o)->is_whole ||
				p.f->record_count == 1);
			assert_int_equal(p.o.is_whole, less == 0);
			assert_true(side_look(&p.o)->body_len <= 50000 - less);
			close_pair(&p, true);
		}
	}
}

static void
an_answer_that_says_it_is_too_large_is_refused(void **state)
{
	const struct side_message large = { .status = 200,
		.body = SIDE_LENGTH,
		.size = 2001 };

	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		open_pair(&p, HEAD "max-download = 2000\n", v);
		reach(&p, &get);
		side_send(&p.o, &large);
		wait_refusal(&p, "limit-download", 403);
		assert_int_equal(slot(p.f).down, 0);
		close_pair(&p, true);
	}
}

static void
an_answer_without_a_length_stops_at_its_budget(void **state)
{
	const struct side_message large = { .status = 200,
		.body = SIDE_STREAM,
		.size = 400000 };

	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;

		open_pair(&p, HEAD "max-download = 100000\n", v);
		reach(&p, &get);
		side_send(&p.o, &large);
		fix_until(p.f, side_look(&p.g)->is_cut);
		assert_true(p.g.body_len <= 100000);
		assert_false(p.g.is_whole);
		assert_true(slot(p.f).down <= 100000);
		fix_until(p.f, p.f->record_count == 1);
		assert_int_equal(fix_last(p.f)->r.reason,
		    REASON_LIMIT_DOWNLOAD);
		/* What is used up is not to be had by the next one. */
		close_pair(&p, true);
	}
}

static size_t
count_refused(struct h2p_stream *const *s, size_t n)
{
	size_t refused = 0;

	for (size_t i = 0; i < n; i++)
		if (h2p_has(s[i]->head, ":status: 429") &&
		    h2p_has(s[i]->head, "tapward-reason: limit-connections") &&
		    h2p_has(s[i]->head, "retry-after: 1"))
			refused++;
	return refused;
}

/* Streams of one connection of HTTP/2: all asked for at once. */
static void
so_many_streams_at_once(void **state)
{
	struct pair p;
	struct h2p_stream *s[10];

	(void)state;
	open_pair(&p, HEAD "max-connections = 3\nmax-requests = 7\n", 3);
	for (size_t i = 0; i < 10; i++)
		s[i] = h2p_ask(p.g.h2,
		    ":method: GET\n:scheme: https\n"
		    ":authority: api.example.org\n:path: /\n",
		    NULL);
	fix_until(p.f, count_refused(s, 10) == 7);
	assert_int_equal(slot(p.f).open, 3);
	assert_int_equal(slot(p.f).requests, 3);
	/* A reset gives its place back, and not its request. */
	h2p_reset(p.g.h2, s[0], NGHTTP2_CANCEL);
	fix_until(p.f, p.f->record_count == 8);
	assert_int_equal(slot(p.f).open, 2);
	assert_int_equal(slot(p.f).requests, 3);
	close_pair(&p, false);
}

static void
a_reload_takes_running_requests_along(void **state)
{
	struct pair p;

	(void)state;
	open_pair(&p, HEAD "max-connections = 3\n", 0);
	reach(&p, &get);
	fix_set_policy(p.f, HEAD "max-connections = 1\nmax-requests = 9\n");
	assert_int_equal(slot(p.f).open, 1);
	assert_int_equal(slot(p.f).requests, 1);
	side_send(&p.o, &ok);
	fix_until(p.f, side_look(&p.g)->is_whole);
	assert_int_equal(slot(p.f).open, 0);
	assert_true(slot(p.f).down > 5);
	close_pair(&p, true);
}

static void
an_end_cuts_an_answer_that_runs(void **state)
{
	const struct side_message slow = { .status = 200,
		.body = SIDE_STREAM,
		.size = 100,
		.is_open = true };

	(void)state;
	for (unsigned int v = 0; v < 4; v++) {
		struct pair p;
		char policy[512], end[CLOCK_TEXT_SIZE];

		(void)clock_text(clock_wall_ms() + 30000, end);
		(void)snprintf(policy, sizeof(policy), HEAD "until = %.19sZ\n",
		    end);
		open_pair(&p, policy, v);
		reach(&p, &get);
		side_send(&p.o, &slow);
		fix_until(p.f, side_look(&p.g)->body_len == 100);
		clock_test_set(clock_mono_ms(), clock_boot_ms(),
		    clock_wall_ms() + 30000);
		fix_until(p.f, side_look(&p.g)->is_cut);
		assert_int_equal(fix_last(p.f)->r.reason, REASON_UNTIL);
		close_pair(&p, true);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_request_behind_the_last_is_refused),
		cmocka_unit_test(a_rate_is_429_and_says_when),
		cmocka_unit_test(
		    an_upload_that_says_it_is_too_large_goes_nowhere),
		cmocka_unit_test(
		    an_upload_without_a_length_stops_at_its_budget),
		cmocka_unit_test(an_upload_of_just_its_budget_passes),
		cmocka_unit_test(
		    an_answer_that_says_it_is_too_large_is_refused),
		cmocka_unit_test(
		    an_answer_without_a_length_stops_at_its_budget),
		cmocka_unit_test(so_many_streams_at_once),
		cmocka_unit_test(a_reload_takes_running_requests_along),
		cmocka_unit_test(an_end_cuts_an_answer_that_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
