/*
 * Resolvers that are asked by TLS: what is sent, what is believed, and what
 * becomes of names when one of them is down, slow, or not who it should be.
 */
#include "tests/unit/dialler_support.h"

#include "base/clock.h"
#include "proxy/dialler_tls.h"
#include "tests/unit/dialler_zone.h"
#include "tests/unit/dot_support.h"

/* When a name is given up; the next one is asked after three tenths of it. */
#define ALONE_MS 100
#define QUICK_MS 600

/* A world whose resolvers are these, the first count of peers. */
static struct world *
world_with(struct dot_peer *peers, unsigned int count)
{
	struct world *w = world_new(zone);

	dot_put(w, peers, count);
	world_configure(w);
	return w;
}

static void
end(struct world *w, struct dot_peer *peers, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		dot_peer_done(&peers[i]);
	/* Nothing ever went in the clear. */
	assert_int_equal(nameserver_count(w->ns), nameserver_count_tcp(w->ns));
	world_free(w);
}

static const struct message_resolver_state *
state_of(struct world *w, unsigned int i)
{
	static struct message_dialler_status s;

	dialler_resolver_status(w->dialler->resolver, &s);
	assert_int_equal(s.resolver_count, w->config->resolver_count);
	return &s.resolvers[i];
}

static void
wait_for_state(struct world *w, unsigned int i, uint8_t want)
{
	while (state_of(w, i)->state != want)
		turn(w);
}

static void
asks_many_questions_on_one_connection(void **state)
{
	struct dot_peer p = { .way = DOT_PLAIN };
	struct world *w = world_with(&p, 1);

	(void)state;
	/* It is looked at before a name is wanted. */
	wait_for_state(w, 0, RESOLVER_UP);
	assert_string_equal(state_of(w, 0)->text, "TLSv1.3");
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	assert_origin_reached(w, dial_and_wait(w, "other.origin.example"));
	assert_origin_reached(w, dial_and_wait(w, "chain.origin.example"));
	assert_int_equal(p.accepted, 1);
	assert_int_equal(p.questions, 6);
	assert_int_equal(p.unpadded, 0);
	assert_int_equal(state_of(w, 0)->answers, 6);
	assert_int_equal(state_of(w, 0)->handshakes, 1);
	end(w, &p, 1);
}

/* What one resolver of this kind does to names; the second is a good one. */
static const struct {
	const char *claim;
	enum dot_way way;
	enum fix_cert cert;
	bool is_stranger; /* no root of ours signed it */
	bool is_absent;
	const char *alone; /* the record's detail; NULL: the name resolves */
	const char *text;  /* what status says of it soon, or NULL */
	bool is_slow;      /* only time shows it */
} rows[] = {
	{ .claim = "answers in any order", .way = DOT_BACKWARDS },
	{ .claim = "answers a byte at a time", .way = DOT_BYTES },
	{ .claim = "closes after each answer", .way = DOT_CLOSES_EACH },
	{ .claim = "another name",
	    .cert = FIX_CERT_OTHER_NAME,
	    .alone = "resolver-certificate",
	    .text = "resolver-certificate: hostname mismatch" },
	{ .claim = "a name in the subject only",
	    .cert = FIX_CERT_COMMON_NAME,
	    .alone = "resolver-certificate",
	    .text = "resolver-certificate: hostname mismatch" },
	{ .claim = "expired",
	    .cert = FIX_CERT_EXPIRED,
	    .alone = "resolver-certificate",
	    .text = "resolver-certificate: certificate has expired" },
	{ .claim = "signed by itself",
	    .cert = FIX_CERT_SELF_SIGNED,
	    .alone = "resolver-certificate",
	    .text = "resolver-certificate: self-signed certificate" },
	{ .claim = "signed by a stranger",
	    .is_stranger = true,
	    .alone = "resolver-certificate",
	    .text = "resolver-certificate: unable to get local issuer "
		    "certificate" },
	{ .claim = "speaks no TLS",
	    .way = DOT_NO_TLS,
	    .alone = "resolver-tls",
	    .text = "resolver-tls: wrong version number" },
	{ .claim = "speaks TLS 1.1",
	    .way = DOT_OLD_TLS,
	    .alone = "resolver-tls",
	    .text = "resolver-tls: " },
	{ .claim = "nobody is there",
	    .is_absent = true,
	    .alone = "resolver-refused",
	    .text = "resolver-refused: Connection refused" },
	{ .claim = "closes before an answer",
	    .way = DOT_CLOSES_FIRST,
	    .alone = "resolver-closed",
	    .text = "resolver-closed: closed" },
	{ .claim = "a huge length",
	    .way = DOT_HUGE,
	    .alone = "resolver-bad-answer",
	    .text = "resolver-bad-answer: a length that no answer has" },
	{ .claim = "a short length",
	    .way = DOT_SHORT,
	    .alone = "resolver-bad-answer",
	    .text = "resolver-bad-answer: a length that no answer has" },
	{ .claim = "answers to nothing",
	    .way = DOT_STRAYS,
	    .alone = "resolver-bad-answer",
	    .text = "resolver-bad-answer: answers to what was not asked" },
	{ .claim = "says nothing",
	    .way = DOT_SILENT,
	    .alone = "resolver-timeout",
	    .text = "resolver-timeout: no answer",
	    .is_slow = true },
	{ .claim = "answers in another's id",
	    .way = DOT_OTHER_ID,
	    .alone = "resolver-timeout",
	    .text = "resolver-timeout: no answer",
	    .is_slow = true },
	{ .claim = "answers another's question",
	    .way = DOT_OTHER_NAME,
	    .alone = "resolver-timeout",
	    .text = "resolver-timeout: no answer",
	    .is_slow = true },
	{ .claim = "half of an answer",
	    .way = DOT_HALF,
	    .alone = "resolver-timeout",
	    .text = "resolver-timeout: no answer",
	    .is_slow = true },
	{ .claim = "no handshake comes of it",
	    .way = DOT_DEAF,
	    .alone = "resolver-timeout",
	    .is_slow = true },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static struct dot_peer
peer_of(size_t row)
{
	return (struct dot_peer){ .way = rows[row].way,
		.cert = rows[row].cert,
		.ca = rows[row].is_stranger ? &dot_other_ca : NULL };
}

static void
make_absent(struct world *w)
{
	w->config->resolvers[0].port = 1;
	send_config(w);
}

static void
assert_starts(const char *claim, const char *text, const char *want)
{
	if (strncmp(text, want, strlen(want)) != 0)
		fail_msg("%s: %s", claim, text);
}

/* Those that only time shows are shown within ms, once they are connected. */
static void
be_quick(struct world *w, size_t row, unsigned int count, uint32_t ms)
{
	if (!rows[row].is_slow)
		return;
	w->config->limits.resolve_timeout_ms = ms;
	send_config(w);
	for (unsigned int i = 0; i < count; i++)
		if (i > 0 || rows[row].way != DOT_DEAF)
			wait_for_state(w, i, RESOLVER_UP);
}

/* Alone: the name fails, and the record says why. */
static void
says_what_is_wrong_with_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct dot_peer p = peer_of(i);
		struct world *w = world_with(&p, 1);
		const struct answer *a;

		be_quick(w, i, 1, ALONE_MS);
		if (rows[i].is_absent)
			make_absent(w);
		a = dial_and_wait(w, "good.origin.example");
		if (rows[i].alone == NULL) {
			assert_origin_reached(w, a);
		} else {
			assert_int_equal(a->m.reason, REASON_RESOLVE_FAILED);
			assert_starts(rows[i].claim,
			    w->records[w->record_count - 1].detail,
			    rows[i].alone);
			if (rows[i].text != NULL)
				wait_for_state(w, 0, RESOLVER_DOWN);
			assert_starts(rows[i].claim, state_of(w, 0)->text,
			    rows[i].text == NULL ? "" : rows[i].text);
		}
		end(w, &p, 1);
	}
}

/* With a good one behind it: every name resolves, the next ones at once. */
static void
goes_on_to_the_next_one(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct dot_peer p[2] = { peer_of(i), { .way = DOT_PLAIN } };
		struct world *w;
		uint64_t begin, took;
		unsigned int asked;

		/* Of those that only time shows two will do. */
		if (rows[i].is_slow && rows[i].way != DOT_SILENT &&
		    rows[i].way != DOT_DEAF)
			continue;
		w = world_with(p, 2);
		be_quick(w, i, 2, QUICK_MS);
		if (rows[i].is_absent)
			make_absent(w);
		begin = clock_mono_ms();
		assert_origin_reached(w,
		    dial_and_wait(w, "good.origin.example"));
		took = clock_mono_ms() - begin;
		if (rows[i].is_slow ? took < QUICK_MS * 3 / 10
				    : took >= DIALLER_TLS_TRY_MS)
			fail_msg("%s: %u ms", rows[i].claim,
			    (unsigned int)took);
		asked = p[0].questions;
		assert_origin_reached(w,
		    dial_and_wait(w, "other.origin.example"));
		/* It rests, or it is a good one. */
		if ((p[0].questions == asked) != (rows[i].alone != NULL))
			fail_msg("%s: asked again", rows[i].claim);
		end(w, p, 2);
	}
}

static void
loses_no_question_when_it_is_started_anew(void **state)
{
	struct dot_peer p = { .way = DOT_PLAIN };
	struct world *w = world_with(&p, 1);

	(void)state;
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	p.way = DOT_SILENT;
	dial(w, 77, "other.origin.example");
	while (p.questions < 4)
		turn(w);
	dot_peer_hang_up(&p);
	p.way = DOT_PLAIN;
	wait_for_count(w, &w->answer_count, 2);
	wait_for_count(w, &w->record_count, 2);
	assert_origin_reached(w, &w->answers[1]);
	assert_int_equal(p.accepted, 2);
	/* An end while nothing is owed is no fault of it. */
	dot_peer_hang_up(&p);
	while (p.open > 0)
		turn(w);
	assert_origin_reached(w, dial_and_wait(w, "chain.origin.example"));
	assert_int_equal(state_of(w, 0)->state, RESOLVER_UP);
	assert_int_equal(p.accepted, 3);
	end(w, &p, 1);
}

/* A kept connection of which nobody told us that it is dead. */
static void
makes_a_new_one_when_the_kept_one_is_silent(void **state)
{
	struct dot_peer p = { .way = DOT_PLAIN };
	struct world *w = world_with(&p, 1);

	(void)state;
	w->config->limits.resolve_timeout_ms = QUICK_MS;
	send_config(w);
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	p.accepted = 0;
	p.way = DOT_SILENT;
	dial(w, 77, "other.origin.example");
	while (p.questions < 4)
		turn(w);
	p.way = DOT_PLAIN;
	wait_for_count(w, &w->answer_count, 2);
	wait_for_count(w, &w->record_count, 2);
	assert_origin_reached(w, &w->answers[1]);
	assert_int_equal(p.accepted, 1);
	end(w, &p, 1);
}

/*
 * Whose nameservers never answer is a guest's to choose: its resolver is none
 * the worse, and the next name, which may be another guest's, is asked for.
 */
static void
a_name_without_an_answer_takes_no_other_away(void **state)
{
	struct dot_peer p = { .way = DOT_SILENT };
	struct world *w = world_with(&p, 1);

	(void)state;
	w->config->limits.resolve_timeout_ms = QUICK_MS;
	send_config(w);
	assert_int_equal(dial_and_wait(w, "other.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	/* It was given up, and with it what had not answered anything yet. */
	while (p.open > 0)
		turn(w);
	p.way = DOT_PLAIN;
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	end(w, &p, 1);
}

/* A name that one resolver fails is asked of the next; an answer is not. */
static void
believes_the_first_that_answers(void **state)
{
	static const struct nameserver_row lies[] = {
		A("other.origin.example", "10.0.0.1"),
		ODD("good.origin.example", NAMESERVER_SERVFAIL),
		{ NULL, NULL, NULL, 0, 0, NAMESERVER_PLAIN },
	};
	struct dot_peer p[2] = { { .way = DOT_PLAIN }, { .way = DOT_PLAIN } };
	struct world *w = world_with(p, 2);
	struct nameserver *first = nameserver_new(w->base, DOT_FIRST, lies);

	(void)state;
	p[0].ns = first;
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	assert_int_equal(p[1].questions, 2);
	assert_int_equal(dial_and_wait(w, "other.origin.example")->m.reason,
	    REASON_PRIVATE_ADDRESS);
	assert_int_equal(dial_and_wait(w, "chain.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_string_equal(w->records[w->record_count - 1].detail,
	    "no-such-name");
	assert_int_equal(p[1].questions, 2);
	nameserver_free(first);
	end(w, p, 2);
}

/* Without anything to verify by nobody is connected to, nor asked in clear. */
static void
asks_nobody_without_roots(void **state)
{
	struct dot_peer p = { .way = DOT_PLAIN };
	struct world *w = world_with(&p, 1);

	(void)state;
	w->roots = (struct span){ NULL, 0 };
	send_config(w);
	dot_peer_hang_up(&p);
	assert_int_equal(dial_and_wait(w, "good.origin.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_string_equal(w->records[0].detail, "resolver-no-roots");
	assert_int_equal(p.questions, 0);
	w->roots = dot_roots;
	send_config(w);
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	end(w, &p, 1);
}

/* Each of a guest's names would make one, if failures were not remembered. */
static void
makes_few_connections_to_what_is_of_no_use(void **state)
{
	struct dot_peer p = { .cert = FIX_CERT_EXPIRED };
	struct world *w = world_with(&p, 1);
	const uint64_t begin = clock_mono_ms();
	unsigned int most;

	(void)state;
	for (int i = 0; i < 30; i++) {
		char host[64];

		(void)snprintf(host, sizeof(host), "n%d.origin.example", i);
		assert_int_equal(dial_and_wait(w, host)->m.reason,
		    REASON_RESOLVE_FAILED);
	}
	most =
	    2 + (unsigned int)((clock_mono_ms() - begin) / DIALLER_TLS_HOLD_MS);
	assert_true(p.accepted >= 1 && p.accepted <= most);
	end(w, &p, 1);
}

static void
takes_resolvers_of_one_kind(void **state)
{
	struct dot_peer p[2] = { { .way = DOT_PLAIN }, { .way = DOT_PLAIN } };
	struct world *w = world_with(p, 2);
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	struct message_dialler_config *m = calloc(1, sizeof(*m));
	struct rd r;

	(void)state;
	w->config->resolvers[1].tls_name[0] = '\0';
	message_dialler_config_encode(&body, w->config);
	r = rd_init(buf, body.len);
	assert_int_equal(message_dialler_config_decode(&r, m), -EBADMSG);
	free(m);
	end(w, p, 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_many_questions_on_one_connection),
		cmocka_unit_test(says_what_is_wrong_with_it),
		cmocka_unit_test(goes_on_to_the_next_one),
		cmocka_unit_test(loses_no_question_when_it_is_started_anew),
		cmocka_unit_test(makes_a_new_one_when_the_kept_one_is_silent),
		cmocka_unit_test(a_name_without_an_answer_takes_no_other_away),
		cmocka_unit_test(believes_the_first_that_answers),
		cmocka_unit_test(asks_nobody_without_roots),
		cmocka_unit_test(makes_few_connections_to_what_is_of_no_use),
		cmocka_unit_test(takes_resolvers_of_one_kind),
	};

	return cmocka_run_group_tests(tests, dot_setup, dot_teardown);
}
