#include "wire/sntp.h"

#include <assert.h>

/* Seconds from 1900 to 1970. */
#define NTP_EPOCH_S UINT64_C(2208988800)

enum {
	MODE_CLIENT = 3,
	MODE_SERVER = 4,
	/*
	 * Ours is a clock that somebody else sets and that we know nothing
	 * about: what chrony says of a local clock.
	 */
	STRATUM = 10,
	REFERENCE_ID = 0x7f7f0101, /* 127.127.1.1 */
	PRECISION = 0xf6,          /* 2^-10 s, signed */
	DISPERSION = 0x42,         /* 1 ms in 16.16 fixed point */
};

/* RFC 5905 6: 32.32 fixed point; wraps in 2036, as all of NTP does. */
static uint64_t
ntp_time(uint64_t wall_ms)
{
	uint64_t seconds = wall_ms / 1000 + NTP_EPOCH_S;

	return (seconds & 0xffffffff) << 32 | (wall_ms % 1000 << 32) / 1000;
}

enum sntp_status
sntp_query_parse(struct span packet, struct sntp_query *ret)
{
	struct sntp_query q;
	struct rd r = rd_span(packet);
	uint8_t first = rd_u8(&r);

	if (packet.len != SNTP_PACKET_BYTES)
		return SNTP_SIZE;
	q.version = first >> 3 & 7;
	if ((first & 7) != MODE_CLIENT)
		return SNTP_MODE;
	if (q.version != 3 && q.version != 4)
		return SNTP_VERSION;
	rd_skip(&r, 1);
	q.poll = rd_u8(&r);
	rd_skip(&r, 37);
	q.transmit = rd_u64(&r);
	*ret = q;
	return SNTP_OK;
}

const char *
sntp_status_text(enum sntp_status s)
{
	static const char *const texts[] = {
		[SNTP_OK] = "a question for the time",
		[SNTP_SIZE] = "the packet is not of 48 bytes",
		[SNTP_MODE] = "the packet is not a client's",
		[SNTP_VERSION] = "the version is not 3 or 4",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == SNTP_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}

void
sntp_answer_write(const struct sntp_query *q, uint64_t received_ms,
    uint64_t now_ms, uint8_t ret[SNTP_PACKET_BYTES])
{
	struct wr w = wr_init(ret, SNTP_PACKET_BYTES);

	wr_u8(&w, (uint8_t)(q->version << 3 | MODE_SERVER));
	wr_u8(&w, STRATUM);
	wr_u8(&w, q->poll);
	wr_u8(&w, PRECISION);
	wr_u32(&w, 0); /* root delay */
	wr_u32(&w, DISPERSION);
	wr_u32(&w, REFERENCE_ID);
	wr_u64(&w, ntp_time(received_ms)); /* when it was last set */
	wr_u64(&w, q->transmit);
	wr_u64(&w, ntp_time(received_ms));
	wr_u64(&w, ntp_time(now_ms));
	assert(wr_ok(&w) && w.len == SNTP_PACKET_BYTES);
}
