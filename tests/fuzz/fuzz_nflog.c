/*
 * One datagram of a NFLOG socket, with a guest's bytes inside.
 *
 * Holds: reading ends; what it points at lies inside the datagram; the reason
 * is one that packets have; ports come only with addresses.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "netfilter/nflog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
hold(bool claim)
{
	if (!claim)
		abort();
}

static void
hold_inside(struct span s, const uint8_t *data, size_t size)
{
	if (s.len == 0)
		return;
	hold(s.ptr >= data && s.ptr <= data + size);
	hold(s.len <= size - (size_t)(s.ptr - data));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rd r = rd_init(data, size);
	struct nflog_packet p;
	enum nflog_result result;

	do {
		size_t left = rd_left(&r);

		result = nflog_next(&r, &p);
		if (result == NFLOG_OK || result == NFLOG_SKIPPED)
			hold(rd_left(&r) < left);
		if (result != NFLOG_OK)
			continue;
		hold_inside(p.frame, data, size);
		hold_inside(p.payload, data, size);
		hold(p.reason >= REASON_PACKET_ETHERTYPE &&
		    p.reason < REASON_COUNT);
		hold(p.has_ip || !p.has_ports);
		hold(p.has_ip || (p.source == 0 && p.destination == 0));
	} while (result == NFLOG_OK || result == NFLOG_SKIPPED);
	return 0;
}
