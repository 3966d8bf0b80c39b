/*
 * An answer repeats version, poll and what the guest called its time, and is
 * itself no question, so that two of us never answer each other.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/sntp.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size };
	struct sntp_query q;
	enum sntp_status s = sntp_query_parse(in, &q);
	uint8_t answer[SNTP_PACKET_BYTES];

	HOLDS(sntp_status_text(s) != NULL);
	if (s != SNTP_OK)
		return 0;
	HOLDS(size == SNTP_PACKET_BYTES);
	sntp_answer_write(&q, q.transmit >> 20, q.transmit >> 19, answer);
	HOLDS((answer[0] >> 3) == ((data[0] >> 3) & 7));
	HOLDS(answer[2] == data[2]);
	HOLDS(memcmp(answer + 24, data + 40, 8) == 0);
	HOLDS(sntp_query_parse((struct span){ answer, sizeof(answer) }, &q) ==
	    SNTP_MODE);
	return 0;
}
