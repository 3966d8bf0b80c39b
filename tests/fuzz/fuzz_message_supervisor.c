/*
 * Bodies of the messages that the supervisor sends and takes: the first byte
 * chooses one. What is decoded and encoded again is what was read, byte by
 * byte: there is one spelling of each message.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/message_api.h"
#include "base/message_compile.h"
#include "base/message_gate.h"
#include "base/message_recorder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t again[1 << 20];

static void
check(const struct rd *r, const uint8_t *body, const struct wr *w)
{
	const size_t used = (size_t)(r->at - body);

	if (!wr_ok(w) || w->len != used || memcmp(again, body, used) != 0)
		abort();
}

#define ROUND_TRIP(kind)                                                       \
	static void kind##_again(struct rd *r, const uint8_t *body)            \
	{                                                                      \
		static struct message_##kind m;                                \
		struct wr w = wr_init(again, sizeof(again));                   \
                                                                               \
		memset(&m, 0, sizeof(m));                                      \
		if (message_##kind##_decode(r, &m) != 0)                       \
			return;                                                \
		message_##kind##_encode(&w, &m);                               \
		check(r, body, &w);                                            \
	}

ROUND_TRIP(gate_net)
ROUND_TRIP(gate_start)
ROUND_TRIP(gate_policy)
ROUND_TRIP(gate_policy_ack)
ROUND_TRIP(gate_peer)
ROUND_TRIP(gate_status)
ROUND_TRIP(hello)
ROUND_TRIP(compile)
ROUND_TRIP(compiled)
ROUND_TRIP(recorder_counters)
ROUND_TRIP(recorder_read)
ROUND_TRIP(recorder_status)
ROUND_TRIP(api_request)
ROUND_TRIP(api_event)

static void
sandbox_again(struct rd *r, const uint8_t *body)
{
	struct message_recorder_sandbox m;
	struct wr w = wr_init(again, sizeof(again));

	if (message_recorder_sandbox_decode(r, true, &m) != 0)
		return;
	message_recorder_sandbox_encode(&w, &m);
	check(r, body, &w);
}

static void
answer_again(struct rd *r, const uint8_t *body)
{
	static struct message_api_entry entries[API_PAGE_MAX];
	static struct message_api_sandbox sandbox;
	static struct message_api_status status;
	struct message_api_page page = { .entries = entries };
	struct message_api_answer m = {
		.sandbox = &sandbox,
		.page = &page,
		.status = &status,
	};
	struct wr w = wr_init(again, sizeof(again));
	char text[API_TEXT_SIZE];

	if (message_api_answer_decode(r, text, &m) != 0)
		return;
	message_api_answer_encode(&w, &m);
	check(r, body, &w);
}

static void (*const kinds[])(struct rd *r, const uint8_t *body) = {
	gate_net_again,
	gate_start_again,
	gate_policy_again,
	gate_policy_ack_again,
	gate_peer_again,
	gate_status_again,
	hello_again,
	compile_again,
	compiled_again,
	recorder_read_again,
	recorder_status_again,
	api_request_again,
	api_event_again,
	sandbox_again,
	answer_again,
	recorder_counters_again,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd r;

	if (size == 0 || size > MESSAGE_LARGE_BYTES)
		return 0;
	r = rd_init(data + 1, size - 1);
	kinds[data[0] % (sizeof(kinds) / sizeof(kinds[0]))](&r, data + 1);
	return 0;
}
