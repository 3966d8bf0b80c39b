/*
 * One datagram of a NFLOG socket, with a guest's bytes inside.
 *
 * Holds: reading ends; what it points at lies inside the datagram; the reason
 * is one that packets have; ports come only with addresses; and what is
 * written of it is a sound line of the log.
 */
#include "fuzz_line.h"

#include "daemon/recorder_packet.h"
#include "netfilter/nflog.h"

static void
hold_inside(struct span s, const uint8_t *data, size_t size)
{
	if (s.len == 0)
		return;
	HOLDS(s.ptr >= data && s.ptr <= data + size);
	HOLDS(s.len <= size - (size_t)(s.ptr - data));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd r = rd_init(data, size);
	struct nflog_packet p;
	struct recorder_packet described;
	enum nflog_result result;

	do {
		size_t left = rd_left(&r);

		result = nflog_next(&r, &p);
		if (result == NFLOG_OK || result == NFLOG_SKIPPED)
			HOLDS(rd_left(&r) < left);
		if (result != NFLOG_OK)
			continue;
		hold_inside(p.frame, data, size);
		hold_inside(p.payload, data, size);
		HOLDS(p.reason >= REASON_PACKET_ETHERTYPE &&
		    p.reason < REASON_COUNT);
		HOLDS(p.has_ip || !p.has_ports);
		HOLDS(p.has_ip || (p.source == 0 && p.destination == 0));
		recorder_packet_describe(&p, &described);
		line_is_sound(&described.record);
	} while (result == NFLOG_OK || result == NFLOG_SKIPPED);
	return 0;
}
