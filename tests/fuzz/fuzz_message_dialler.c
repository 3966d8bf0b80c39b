/*
 * Bodies of the messages to and from the dialler: the first byte chooses one.
 * What is decoded and encoded again is what was read, byte by byte: there is
 * one spelling of each message.
 */
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/message_dial.h"
#include "base/message_dialler.h"
#include "base/message_done.h"

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

ROUND_TRIP(dial)
ROUND_TRIP(dialed)
ROUND_TRIP(done)
ROUND_TRIP(dialler_config)
ROUND_TRIP(dialler_addresses)
ROUND_TRIP(dialler_sandbox)
ROUND_TRIP(dialler_detach)

static void (*const kinds[])(struct rd *r, const uint8_t *body) = {
	dial_again,
	dialed_again,
	done_again,
	dialler_config_again,
	dialler_addresses_again,
	dialler_sandbox_again,
	dialler_detach_again,
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
