/*
 * Bodies of the messages to and from the broker: the first byte chooses one.
 * What is decoded and encoded again is what was read, byte by byte: there is
 * one spelling of each message.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/message_broker.h"

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

ROUND_TRIP(broker_credential)
ROUND_TRIP(broker_configured)
ROUND_TRIP(broker_attach)
ROUND_TRIP(broker_policy)
ROUND_TRIP(broker_detach)
ROUND_TRIP(lease_revoked)

static void (*const kinds[])(struct rd *r, const uint8_t *body) = {
	broker_credential_again,
	broker_configured_again,
	broker_attach_again,
	broker_policy_again,
	broker_detach_again,
	lease_revoked_again,
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
