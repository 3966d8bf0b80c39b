/*
 * Senders: whose record it is, how many, and what only the supervisor says.
 */
#include "tests/unit/recorder_support.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/message.h"
#include "daemon/recorder_sender.h"

struct fixture {
	struct event_base *base;
	struct recorder_senders *senders;
	struct chan *chan; /* the sender's end */
	unsigned int records, closed;
	char sandbox[SANDBOX_NAME_SIZE];
	char policy[DIGEST_TEXT_SIZE];
	char detail[AUDIT_DETAIL_MAX];
	unsigned int states;
	bool can_write;
};

static void
on_record(const struct message_recorder_sandbox *about,
    const struct audit_record *record, void *arg)
{
	struct fixture *f = arg;
	size_t len = record->detail.len < sizeof(f->detail) - 1
	    ? record->detail.len
	    : sizeof(f->detail) - 1;

	f->records++;
	memcpy(f->sandbox, about->sandbox, sizeof(f->sandbox));
	memcpy(f->policy, about->policy, sizeof(f->policy));
	if (len > 0)
		memcpy(f->detail, record->detail.ptr, len);
	f->detail[len] = '\0';
}

static int
on_state(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct fixture *f = arg;

	(void)c;
	f->states++;
	return message_audit_state_decode(&msg->body, &f->can_write);
}

static void
on_closed(struct chan *c, void *arg)
{
	struct fixture *f = arg;

	f->closed++;
	chan_free(c);
	f->chan = NULL;
}

static const struct chan_rule rules[] = {
	{ MSG_AUDIT_STATE, 8, 0, 0, on_state },
};

static void
turn(struct fixture *f)
{
	for (int i = 0; i < 20; i++)
		(void)event_base_loop(f->base, EVLOOP_NONBLOCK);
}

static void
setup(struct fixture *f)
{
	const struct recorder_senders_callbacks cb = { on_record, f };
	const struct message_recorder_sandbox about = sandbox_named("one");
	int pair[2];

	*f = (struct fixture){ .base = event_base_new() };
	f->senders = recorder_senders_new(f->base, &cb);
	assert_non_null(f->senders);
	assert_int_equal(chan_pair(pair), 0);
	assert_int_equal(recorder_senders_attach(f->senders, &about, pair[0],
			     true),
	    0);
	f->chan = chan_new(f->base, pair[1], rules, 1, on_closed, f);
	assert_non_null(f->chan);
	turn(f);
}

static void
teardown(struct fixture *f)
{
	chan_free(f->chan);
	recorder_senders_free(f->senders);
	event_base_free(f->base);
}

static void
send_record(struct fixture *f, const struct audit_record *record)
{
	uint8_t buf[AUDIT_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	message_audit_encode(&w, record);
	(void)chan_send(f->chan, MSG_AUDIT, 0, &w, NULL, 0);
}

static void
the_channel_says_whose_record_it_is(void **state)
{
	const struct audit_record record = denial_of("example.org");
	struct message_recorder_sandbox about = sandbox_named("one");
	struct fixture f;

	(void)state;
	setup(&f);
	send_record(&f, &record);
	turn(&f);
	assert_int_equal(f.records, 1);
	assert_string_equal(f.sandbox, "one");
	assert_string_equal(f.policy, about.policy);
	about.policy[0] = 'b';
	recorder_senders_policy(f.senders, &about);
	send_record(&f, &record);
	turn(&f);
	assert_string_equal(f.policy, about.policy);
	teardown(&f);
}

static void
hears_whether_the_log_can_be_written(void **state)
{
	struct fixture f;

	(void)state;
	setup(&f);
	assert_int_equal(f.states, 1);
	assert_true(f.can_write);
	recorder_senders_state(f.senders, false);
	turn(&f);
	assert_int_equal(f.states, 2);
	assert_false(f.can_write);
	teardown(&f);
}

static void
life_cycles_are_the_supervisors(void **state)
{
	struct audit_record record = audit_record_init(AUDIT_LIFECYCLE);
	struct fixture f;

	(void)state;
	setup(&f);
	record.reason = REASON_AUDIT_UNAVAILABLE;
	record.detail = span_of("gate lost 3 records");
	send_record(&f, &record);
	turn(&f);
	assert_int_equal(f.records, 1);
	record.reason = REASON_NONE;
	record.detail = span_of("created");
	send_record(&f, &record);
	turn(&f);
	assert_int_equal(f.records, 1);
	assert_int_equal(f.closed, 1);
	assert_int_equal(recorder_senders_count(f.senders), 0);
	teardown(&f);
}

static void
what_is_above_the_rate_is_counted_and_told(void **state)
{
	const struct audit_record record = denial_of("example.org");
	struct fixture f;

	(void)state;
	clock_test_set(1000, 1000, 1000);
	setup(&f);
	for (unsigned int i = 0; i < RECORDER_BURST_DECISIONS + 50; i++) {
		send_record(&f, &record);
		if (i % 100 == 99)
			turn(&f);
	}
	turn(&f);
	assert_int_equal(f.records, RECORDER_BURST_DECISIONS);
	/* Its end brings the count. */
	chan_free(f.chan);
	f.chan = NULL;
	turn(&f);
	assert_int_equal(f.records, RECORDER_BURST_DECISIONS + 1);
	assert_string_equal(f.detail, "overflow: 50 records above the rate");
	teardown(&f);
	clock_test_release();
}

/* Or a flood would hide how much of it was lost. */
static void
a_gap_is_told_above_the_rate(void **state)
{
	const struct audit_record record = denial_of("example.org");
	struct audit_record gap = audit_record_init(AUDIT_LIFECYCLE);
	struct fixture f;

	(void)state;
	clock_test_set(1000, 1000, 1000);
	setup(&f);
	for (unsigned int i = 0; i < RECORDER_BURST_DECISIONS + 50; i++) {
		send_record(&f, &record);
		if (i % 100 == 99)
			turn(&f);
	}
	gap.reason = REASON_AUDIT_UNAVAILABLE;
	gap.detail = span_of("gate lost 3 records");
	for (unsigned int i = 0; i < RECORDER_BURST_GAPS + 5; i++)
		send_record(&f, &gap);
	turn(&f);
	assert_int_equal(f.records,
	    RECORDER_BURST_DECISIONS + RECORDER_BURST_GAPS);
	assert_string_equal(f.detail, "gate lost 3 records");
	chan_free(f.chan);
	f.chan = NULL;
	turn(&f);
	assert_string_equal(f.detail, "overflow: 55 records above the rate");
	teardown(&f);
	clock_test_release();
}

static void
what_was_sent_before_the_end_is_kept(void **state)
{
	const struct audit_record record = denial_of("example.org");
	const struct message_recorder_sandbox about = sandbox_named("one");
	struct fixture f;

	(void)state;
	setup(&f);
	for (int i = 0; i < 50; i++)
		send_record(&f, &record);
	chan_free(f.chan);
	f.chan = NULL;
	recorder_senders_detach(f.senders, &about);
	turn(&f);
	assert_int_equal(f.records, 50);
	assert_int_equal(recorder_senders_count(f.senders), 0);
	teardown(&f);
}

static void
hands_its_packet_log_back(void **state)
{
	const struct message_recorder_sandbox about = sandbox_named("one");
	struct message_recorder_sandbox other = about;
	struct fixture f;
	int pair[2];

	(void)state;
	setup(&f);
	assert_int_equal(chan_pair(pair), 0);
	assert_int_equal(recorder_senders_nflog_fd(f.senders, &about), -1);
	assert_int_equal(recorder_senders_nflog(f.senders, &about, pair[0]), 0);
	assert_int_equal(recorder_senders_nflog_fd(f.senders, &about), pair[0]);
	other.generation++;
	assert_int_equal(recorder_senders_nflog_fd(f.senders, &other), -1);
	recorder_senders_detach(f.senders, &about);
	assert_int_equal(recorder_senders_nflog_fd(f.senders, &about), -1);
	(void)close(pair[1]);
	teardown(&f);
}

/* As the kernel logs it: a message without a packet but with its reason. */
static void
log_packets(int fd, const char *reason, int count)
{
	struct {
		struct nlmsghdr head;
		struct nfgenmsg family;
		struct nlattr prefix;
		char reason[24];
	} m = { .head = { .nlmsg_len = sizeof(m),
		    .nlmsg_type = (NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_PACKET },
		.prefix = { sizeof(m.prefix) + sizeof(m.reason),
		    NFULA_PREFIX } };

	(void)snprintf(m.reason, sizeof(m.reason), "%s", reason);
	while (count-- > 0)
		assert_int_equal(send(fd, &m, sizeof(m), 0), sizeof(m));
}

/* What a ruleset has counted of UDP; returns by how much it grew. */
static uint64_t
count_udp(struct fixture *f, enum recorder_counters kind, uint64_t packets)
{
	const size_t udp = REASON_PACKET_UDP - REASON_PACKET_FIRST;
	struct message_recorder_counters m = { .about = sandbox_named("one"),
		.kind = (uint8_t)kind };
	uint64_t growth[REASON_PACKET_COUNT];

	f->detail[0] = '\0';
	m.packets[udp] = packets;
	recorder_senders_counters(f->senders, &m, growth);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		assert_true(i == udp || growth[i] == 0);
	return growth[udp];
}

static void
packets_without_a_record_are_counted_in_one(void **state)
{
	const struct message_recorder_sandbox about = sandbox_named("one");
	struct fixture f;
	int pair[2];

	(void)state;
	setup(&f);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 5), 0);
	assert_int_equal(chan_pair(pair), 0);
	assert_int_equal(recorder_senders_nflog(f.senders, &about, pair[0]), 0);
	log_packets(pair[1], "packet-udp", 3);
	/* The records of the rest may be on their way. */
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 100), 100);
	assert_int_equal(f.records, 3);
	log_packets(pair[1], "packet-udp", 2);
	log_packets(pair[1], "packet-tcp", 1);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 100), 0);
	assert_string_equal(f.detail,
	    "overflow: 95 packets without a record, 100 in all");
	assert_int_equal(f.records, 7);
	/* Told once. */
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 104), 4);
	assert_int_equal(f.records, 7);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_LAST, 107), 3);
	assert_string_equal(f.detail,
	    "overflow: 7 packets without a record, 107 in all");
	(void)close(pair[1]);
	teardown(&f);
}

static void
a_count_from_elsewhere_is_no_news(void **state)
{
	const struct message_recorder_sandbox about = sandbox_named("one");
	struct fixture f;
	int pair[2];

	(void)state;
	setup(&f);
	assert_int_equal(chan_pair(pair), 0);
	assert_int_equal(recorder_senders_nflog(f.senders, &about, pair[0]), 0);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_BASE, 1000), 0);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 1000), 0);
	/* Another supervisor, that has not the sums of the one before. */
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 10), 0);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_NOW, 10), 0);
	assert_int_equal(f.records, 0);
	assert_int_equal(count_udp(&f, RECORDER_COUNTERS_LAST, 12), 2);
	assert_string_equal(f.detail,
	    "overflow: 2 packets without a record, 12 in all");
	(void)close(pair[1]);
	teardown(&f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_channel_says_whose_record_it_is),
		cmocka_unit_test(hears_whether_the_log_can_be_written),
		cmocka_unit_test(life_cycles_are_the_supervisors),
		cmocka_unit_test(what_is_above_the_rate_is_counted_and_told),
		cmocka_unit_test(a_gap_is_told_above_the_rate),
		cmocka_unit_test(what_was_sent_before_the_end_is_kept),
		cmocka_unit_test(hands_its_packet_log_back),
		cmocka_unit_test(packets_without_a_record_are_counted_in_one),
		cmocka_unit_test(a_count_from_elsewhere_is_no_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
