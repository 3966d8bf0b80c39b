/*
 * The messages of the supervisor with gates, recorder, compiler and api:
 * read back as written, cut nowhere, and hostile ones refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/message_api.h"
#include "base/message_compile.h"
#include "base/message_gate.h"
#include "base/message_recorder.h"

#define DIGEST                                                                 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static uint8_t buf[131072];

static struct rd
written(const struct wr *w)
{
	assert_true(wr_ok(w));
	return rd_init(w->buf, w->len);
}

/* Every shorter message is refused; decode reads from `cut`. */
#define ASSERT_NO_CUT(w, decode)                                               \
	do {                                                                   \
		for (size_t len_ = 0; len_ < (w)->len; len_++) {               \
			struct rd cut = rd_init((w)->buf, len_);               \
                                                                               \
			assert_int_equal(decode, -EBADMSG);                    \
		}                                                              \
	} while (0)

static void
reads_back_a_gates_start(void **state)
{
	struct message_gate_start in = { .sandbox = "one",
		.generation = UINT64_MAX,
		.has_ceiling = true,
		.limits = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
		    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27 } };
	struct message_gate_start out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_gate_start_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_gate_start_decode(&r, &out), 0);
	assert_true(rd_done(&r));
	assert_string_equal(out.sandbox, "one");
	assert_true(out.generation == UINT64_MAX && out.has_ceiling);
	assert_memory_equal(&out.limits, &in.limits, sizeof(in.limits));
	ASSERT_NO_CUT(&w, message_gate_start_decode(&cut, &out));
	in.limits.tls_timeout_ms = 0;
	w = wr_init(buf, sizeof(buf));
	message_gate_start_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_gate_start_decode(&r, &out), -EBADMSG);
}

static void
reads_back_a_hello(void **state)
{
	const struct message_hello in = { .protocol = 3,
		.role = "gate",
		.sandbox = "one",
		.generation = 9,
		.policy = DIGEST };
	struct message_hello out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_hello_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_hello_decode(&r, &out), 0);
	assert_int_equal(out.protocol, 3);
	assert_string_equal(out.role, "gate");
	assert_string_equal(out.policy, DIGEST);
	ASSERT_NO_CUT(&w, message_hello_decode(&cut, &out));
}

static const struct {
	const char *claim, *role, *sandbox, *policy;
} bad_hellos[] = {
	{ "a role that cannot be printed", "ga\nte", "", "" },
	{ "a role that is too long", "a-role-of-20-bytes..", "", "" },
	{ "a sandbox that is a path", "gate", "../x", "" },
	{ "a digest that is too short", "gate", "one", "0123" },
	{ "a digest in upper case", "gate", "one",
	    "0123456789ABCDEF0123456789abcdef"
	    "0123456789abcdef0123456789abcdef" },
};

static void
refuses_hellos_that_no_child_sends(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_hellos) / sizeof(bad_hellos[0]);
	     i++) {
		struct wr w = wr_init(buf, sizeof(buf));
		struct message_hello out;
		struct rd r;

		wr_u16(&w, 1);
		wr_str16(&w, bad_hellos[i].role);
		wr_str16(&w, bad_hellos[i].sandbox);
		wr_u64(&w, 1);
		wr_str16(&w, bad_hellos[i].policy);
		r = written(&w);
		if (message_hello_decode(&r, &out) != -EBADMSG)
			fail_msg("%s", bad_hellos[i].claim);
	}
}

static void
reads_back_the_rest_of_a_gate(void **state)
{
	const struct message_gate_net net = { 0x64400002, 0x64400001,
		0xc6120000, 15 };
	const struct message_gate_peer peer = { GATE_START_RECORDER };
	const struct message_gate_status status = { 1, 2, 3, 4, 5, 6, DIGEST };
	struct message_gate_net net_out;
	struct message_gate_peer peer_out;
	struct message_gate_status status_out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_gate_net_encode(&w, &net);
	message_gate_peer_encode(&w, &peer);
	message_gate_status_encode(&w, &status);
	r = written(&w);
	assert_int_equal(message_gate_net_decode(&r, &net_out), 0);
	assert_int_equal(message_gate_peer_decode(&r, &peer_out), 0);
	assert_int_equal(message_gate_status_decode(&r, &status_out), 0);
	assert_true(rd_done(&r));
	assert_int_equal(net_out.synthetic_prefix, 15);
	assert_int_equal(peer_out.which, GATE_START_RECORDER);
	assert_int_equal(status_out.down, 6);
	/* A peer that is no channel. */
	w = wr_init(buf, sizeof(buf));
	wr_u8(&w, GATE_START_CA);
	r = written(&w);
	assert_int_equal(message_gate_peer_decode(&r, &peer_out), -EBADMSG);
}

static void
reads_back_what_the_recorder_is_told(void **state)
{
	struct message_recorder_event in = {
		.about = { "one", 5, DIGEST },
		.record = audit_record_init(AUDIT_LIFECYCLE),
	};
	const struct message_recorder_read read_in = { "one", 7, true, false,
		true, "audit-2026.jsonl" };
	const struct message_recorder_older older_in = { 9, true, "audit-1" };
	struct message_recorder_older older_out;
	const struct message_recorder_status status_in = { true, 1, DIGEST, 2,
		3, 4 };
	const struct message_recorder_counters counters_in = {
		.about = { "one", 5, DIGEST },
		.kind = RECORDER_COUNTERS_LAST,
		.packets = { 1, [REASON_PACKET_COUNT - 1] = UINT64_MAX },
	};
	struct message_recorder_counters counters_out;
	struct message_recorder_event out;
	struct message_recorder_read read_out;
	struct message_recorder_status status_out;
	struct audit_text text;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	in.record.detail = span_of("created");
	message_recorder_event_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_recorder_event_decode(&r, &text, &out), 0);
	assert_true(rd_done(&r));
	assert_string_equal(out.about.sandbox, "one");
	assert_true(span_is(out.record.detail, "created"));
	ASSERT_NO_CUT(&w, message_recorder_event_decode(&cut, &text, &out));
	w = wr_init(buf, sizeof(buf));
	message_recorder_read_encode(&w, &read_in);
	message_recorder_status_encode(&w, &status_in);
	message_recorder_older_encode(&w, &older_in);
	r = written(&w);
	assert_int_equal(message_recorder_read_decode(&r, &read_out), 0);
	assert_int_equal(message_recorder_status_decode(&r, &status_out), 0);
	assert_int_equal(message_recorder_older_decode(&r, &older_out), 0);
	assert_true(older_out.reader == 9 && older_out.has_more);
	assert_string_equal(older_out.last, older_in.last);
	assert_true(read_out.has_more);
	assert_string_equal(read_out.last, read_in.last);
	assert_true(read_out.denied_only && !read_out.follow);
	assert_true(read_out.generation == read_in.generation);
	assert_int_equal(status_out.readers, 4);
	w = wr_init(buf, sizeof(buf));
	message_recorder_counters_encode(&w, &counters_in);
	r = written(&w);
	assert_int_equal(message_recorder_counters_decode(&r, &counters_out),
	    0);
	assert_int_equal(counters_out.kind, RECORDER_COUNTERS_LAST);
	assert_memory_equal(counters_out.packets, counters_in.packets,
	    sizeof(counters_in.packets));
	ASSERT_NO_CUT(&w,
	    message_recorder_counters_decode(&cut, &counters_out));
}

static void
only_the_daemon_has_no_name(void **state)
{
	const struct message_recorder_sandbox in = { "", 0, "" };
	struct message_recorder_sandbox out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_recorder_sandbox_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_recorder_sandbox_decode(&r, true, &out), 0);
	r = written(&w);
	assert_int_equal(message_recorder_sandbox_decode(&r, false, &out),
	    -EBADMSG);
}

static void
reads_back_a_compile(void **state)
{
	const struct message_compile ask = { "tapward.ini", true, true };
	struct message_compiled in = { .ok = true,
		.digest = DIGEST,
		.text = { (const uint8_t *)"x:1: warning", 12 } };
	struct message_compile ask_out;
	struct message_compiled out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_compile_encode(&w, &ask);
	message_compiled_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_compile_decode(&r, &ask_out), 0);
	assert_int_equal(message_compiled_decode(&r, &out), 0);
	assert_true(rd_done(&r) && ask_out.is_ceiling && out.ok);
	assert_true(span_is(out.text, "x:1: warning"));
	/* Well without a digest, and a digest of what is not well. */
	for (int ok = 0; ok < 2; ok++) {
		in.ok = ok == 1;
		(void)memcpy(in.digest, ok == 1 ? "" : DIGEST,
		    ok == 1 ? 1 : sizeof(DIGEST));
		w = wr_init(buf, sizeof(buf));
		message_compiled_encode(&w, &in);
		r = written(&w);
		assert_int_equal(message_compiled_decode(&r, &out), -EBADMSG);
	}
}

static const struct message_api_request request = {
	.op = API_CREATE,
	.peer_uid = 1000,
	.peer_gid = 100,
	.name = "one",
	.display_name = "tapward.ini",
	.device = API_DEVICE_VETH,
	.owner_uid = API_OWNER_PEER,
	.ca = "shared",
	.ttl_s = 60,
	.in_netns = true,
	.denied_only = true,
	.follow = true,
};

static void
reads_back_a_request(void **state)
{
	struct message_api_request out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_api_request_encode(&w, &request);
	r = written(&w);
	assert_int_equal(message_api_request_decode(&r, &out), 0);
	assert_true(rd_done(&r));
	assert_int_equal(out.op, API_CREATE);
	assert_int_equal(out.peer_uid, 1000);
	assert_string_equal(out.ca, "shared");
	assert_true(out.owner_uid == API_OWNER_PEER && out.follow);
	ASSERT_NO_CUT(&w, message_api_request_decode(&cut, &out));
}

static void
refuses_requests_that_no_api_sends(void **state)
{
	struct message_api_request bad[5] = { request, request, request,
		request, request };
	struct message_api_request out;

	(void)state;
	bad[0].op = API_OP_COUNT;
	bad[1].device = API_DEVICE_COUNT;
	memcpy(bad[2].name, "a/b", 4);
	memcpy(bad[3].ca, "../", 4);
	memcpy(bad[4].display_name, "a\nb", 4);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct wr w = wr_init(buf, sizeof(buf));
		struct rd r;

		message_api_request_encode(&w, &bad[i]);
		r = written(&w);
		if (message_api_request_decode(&r, &out) != -EBADMSG)
			fail_msg("row %zu", i);
	}
}

static void
reads_back_a_sandbox(void **state)
{
	struct message_api_sandbox in = { .name = "one",
		.state = API_STATE_DETACHED,
		.device = API_DEVICE_TAP,
		.owner_uid = 1000,
		.netns = "/run/netns/tapward-one",
		.device_name = "tap0",
		.guest_ip = 1,
		.gateway_ip = 2,
		.prefix = 30,
		.guest_mac = { 2, 3, 4, 5, 6, 7 },
		.proxy_port = 3128,
		.ca = "/run/tapward/sandboxes/one/ca.pem",
		.ca_id = "one",
		.policy_file = "tapward.ini",
		.policy_digest = DIGEST,
		.gate_pid = 77,
		.dropped = { 3, [REASON_PACKET_COUNT - 1] = 4 },
		.credential_count = 1,
		.credentials = { { "npm", "npm_placeholder", "eu-west-1" } } };
	const struct message_api_answer answer = { .result = API_OK,
		.payload = API_PAYLOAD_SANDBOX,
		.text = "",
		.findings = { (const uint8_t *)"a\nb\n", 4 },
		.sandbox = &in };
	static struct message_api_sandbox sandbox;
	struct message_api_page page = { .count = 0 };
	struct message_api_answer out = { .sandbox = &sandbox, .page = &page };
	char text[API_TEXT_SIZE];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_api_answer_encode(&w, &answer);
	r = written(&w);
	assert_int_equal(message_api_answer_decode(&r, text, &out), 0);
	assert_true(rd_done(&r));
	assert_true(span_is(out.findings, "a\nb\n"));
	assert_memory_equal(sandbox.guest_mac, in.guest_mac, 6);
	assert_string_equal(sandbox.credentials[0].placeholder,
	    "npm_placeholder");
	assert_int_equal(sandbox.gate_pid, 77);
	assert_memory_equal(sandbox.dropped, in.dropped, sizeof(in.dropped));
	ASSERT_NO_CUT(&w, message_api_answer_decode(&cut, text, &out));
	w = wr_init(buf, sizeof(buf));
	wr_u8(&w, API_OK);
	wr_u8(&w, API_PAYLOAD_LIST);
	wr_str16(&w, "");
	wr_str16(&w, "");
	wr_u32(&w, API_PAGE_MAX + 1);
	r = written(&w);
	assert_int_equal(message_api_answer_decode(&r, text, &out), -EBADMSG);
}

static void
a_full_page_fits_a_message(void **state)
{
	AUTO_FREE struct message_api_entry *in =
	    calloc(API_PAGE_MAX, sizeof(*in));
	AUTO_FREE struct message_api_entry *entries =
	    calloc(API_PAGE_MAX, sizeof(*entries));
	struct message_api_page page = { API_PAGE_MAX, true, in };
	struct message_api_page page_out = { .entries = entries };
	const struct message_api_answer answer = { .result = API_OK,
		.payload = API_PAYLOAD_LIST,
		.text = "",
		.page = &page };
	struct message_api_answer out = { .page = &page_out };
	char text[API_TEXT_SIZE];
	struct wr w = wr_init(buf, MESSAGE_LARGE_BYTES);
	struct rd r;

	(void)state;
	for (size_t i = 0; i < API_PAGE_MAX; i++)
		memset(in[i].name, 'a', sizeof(in[i].name) - 1);
	message_api_answer_encode(&w, &answer);
	r = written(&w);
	assert_int_equal(message_api_answer_decode(&r, text, &out), 0);
	assert_true(rd_done(&r) && page_out.has_more);
	assert_int_equal(page_out.count, API_PAGE_MAX);
}

static void
fill_top(struct message_top *ret)
{
	ret->count = TOP_PAGE_MAX;
	ret->has_more = true;
	ret->has_recent = true;
	ret->recent.refusal_count = RECENT_REFUSALS_MAX;
	ret->recent.host_count = RECENT_HOSTS_MAX;
	for (size_t i = 0; i < TOP_PAGE_MAX; i++) {
		struct message_top_entry *e = &ret->entries[i];

		memset(e->name, 'a', sizeof(e->name) - 1);
		e->learns = i % 2 == 0;
		e->is_shown = true;
		e->down = RECENT_NUMBER_MAX;
	}
	for (size_t i = 0; i < RECENT_REFUSALS_MAX; i++) {
		struct message_refusal *r = &ret->recent.refusals[i];

		memset(r->sandbox, 'a', sizeof(r->sandbox) - 1);
		memset(r->rule, 'r', sizeof(r->rule) - 1);
		memset(r->host, 'h', sizeof(r->host) - 1);
		memset(r->method, 'M', sizeof(r->method) - 1);
		memset(r->path, '/', sizeof(r->path) - 1);
		r->reason = REASON_PACKET_OTHER;
	}
	for (size_t i = 0; i < RECENT_HOSTS_MAX; i++)
		memset(ret->recent.hosts[i].host, 'h', HOST_NAME_SIZE - 1);
}

static void
a_full_top_fits_a_message_and_is_read_back(void **state)
{
	static struct message_top in, top;
	static struct message_api_status status_in, status;
	const struct message_api_answer answer = { .result = API_OK,
		.payload = API_PAYLOAD_TOP,
		.text = "",
		.status = &status_in,
		.top = &in };
	struct message_api_answer out = { .status = &status, .top = &top };
	char text[API_TEXT_SIZE];
	struct wr w = wr_init(buf, MESSAGE_LARGE_BYTES);
	struct rd r;

	(void)state;
	fill_top(&in);
	status_in.error_count = API_ERRORS_MAX;
	for (size_t i = 0; i < API_ERRORS_MAX; i++)
		memset(status_in.errors[i].text, 'e', API_ERROR_SIZE - 1);
	message_api_answer_encode(&w, &answer);
	r = written(&w);
	assert_int_equal(message_api_answer_decode(&r, text, &out), 0);
	assert_true(rd_done(&r));
	assert_memory_equal(top.entries, in.entries, sizeof(in.entries));
	assert_string_equal(top.recent.refusals[15].host,
	    in.recent.refusals[15].host);
	/* What a gate that was taken over counts is not told further. */
	in.entries[0].up = RECENT_NUMBER_MAX + 1;
	w = wr_init(buf, MESSAGE_LARGE_BYTES);
	message_api_answer_encode(&w, &answer);
	r = written(&w);
	assert_int_equal(message_api_answer_decode(&r, text, &out), -EBADMSG);
}

static void
names_what_it_wants_to_know_in_order(void **state)
{
	const uint64_t good[] = { 1, 2, 9 }, bad[] = { 2, 2 };
	const struct message_recent_wanted in = { false, 3, good };
	const struct message_recent_wanted twice = { false, 2, bad };
	uint64_t room[RECENT_NAMED_MAX];
	struct message_recent_wanted out;
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_recent_wanted_encode(&w, &in);
	r = written(&w);
	assert_int_equal(message_recent_wanted_decode(&r, room, &out), 0);
	assert_true(!out.all && out.count == 3 && out.generations[2] == 9);
	ASSERT_NO_CUT(&w, message_recent_wanted_decode(&cut, room, &out));
	w = wr_init(buf, sizeof(buf));
	message_recent_wanted_encode(&w, &twice);
	r = written(&w);
	assert_int_equal(message_recent_wanted_decode(&r, room, &out),
	    -EBADMSG);
}

static void
reads_back_a_status_and_an_event(void **state)
{
	static struct message_api_status status;
	static const struct message_api_status in = { .version = "0.1.0",
		.pid = 5,
		.resolver_count = 1,
		.resolvers = { "192.0.2.53:53" },
		.resolver_states = { { .state = RESOLVER_UP, .answers = 3 } },
		.broker_states = { { .state = RESOLVER_DOWN,
		    .text = "resolver-timeout: no answer" } },
		.has_ceiling = true,
		.ceiling_file = "/etc/tapward/ceiling.ini",
		.ceiling_digest = DIGEST,
		.credential_fault = "credential npm: chmod 600 it",
		.child_count = 1,
		.children = { { "recorder", 6, 7 } } };
	const struct message_api_answer answer = { .result = API_OK,
		.payload = API_PAYLOAD_STATUS,
		.text = "",
		/* An answer is written from what it points at. */
		.status = (struct message_api_status *)(uintptr_t)&in };
	const struct message_api_event event = { 1, "one", 2, 1000, "created" };
	struct message_api_answer out = { .status = &status };
	struct message_api_event event_out;
	char text[API_TEXT_SIZE];
	struct wr w = wr_init(buf, sizeof(buf));
	struct rd r;

	(void)state;
	message_api_answer_encode(&w, &answer);
	message_api_event_encode(&w, &event);
	r = written(&w);
	assert_int_equal(message_api_answer_decode(&r, text, &out), 0);
	assert_int_equal(message_api_event_decode(&r, &event_out), 0);
	assert_true(rd_done(&r));
	assert_string_equal(status.credential_fault, in.credential_fault);
	assert_string_equal(status.resolvers[0], in.resolvers[0]);
	assert_int_equal(status.resolver_states[0].answers, 3);
	assert_int_equal(status.broker_states[0].state, RESOLVER_DOWN);
	assert_string_equal(status.broker_states[0].text,
	    in.broker_states[0].text);
	assert_string_equal(status.children[0].role, "recorder");
	assert_int_equal(status.children[0].restarts, 7);
	assert_string_equal(event_out.what, "created");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back_a_gates_start),
		cmocka_unit_test(reads_back_a_hello),
		cmocka_unit_test(refuses_hellos_that_no_child_sends),
		cmocka_unit_test(reads_back_the_rest_of_a_gate),
		cmocka_unit_test(reads_back_what_the_recorder_is_told),
		cmocka_unit_test(only_the_daemon_has_no_name),
		cmocka_unit_test(reads_back_a_compile),
		cmocka_unit_test(reads_back_a_request),
		cmocka_unit_test(refuses_requests_that_no_api_sends),
		cmocka_unit_test(reads_back_a_sandbox),
		cmocka_unit_test(a_full_page_fits_a_message),
		cmocka_unit_test(a_full_top_fits_a_message_and_is_read_back),
		cmocka_unit_test(names_what_it_wants_to_know_in_order),
		cmocka_unit_test(reads_back_a_status_and_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
