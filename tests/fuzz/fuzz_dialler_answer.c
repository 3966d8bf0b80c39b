/*
 * Answers of nameservers: the first byte chooses the type that was asked, the
 * rest is the answer for a.example. What is taken out of it is in it, of the
 * right family, and bounded; the same bytes for another name give nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "proxy/dialler_answer.h"
#include "wire/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_address(const struct address *a, uint16_t type, struct span packet)
{
	const size_t len = type == DNS_TYPE_A ? 4 : 16;

	if (a->family != (type == DNS_TYPE_A ? ADDRESS_IPV4 : ADDRESS_IPV6))
		abort();
	if (memmem(packet.ptr, packet.len, a->bytes, len) == NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dialler_answer answer;
	struct span packet;
	uint16_t type;

	if (size == 0)
		return 0;
	type = (data[0] & 1) != 0 ? DNS_TYPE_AAAA : DNS_TYPE_A;
	packet = (struct span){ data + 1, size - 1 };
	if (dialler_answer_parse(packet, "a.example", type, &answer) !=
	    DIALLER_ANSWER_ADDRESSES)
		return 0;
	if (answer.count == 0 || answer.count > DIALLER_ANSWER_ADDRESSES_MAX ||
	    answer.ttl_s > INT32_MAX)
		abort();
	for (unsigned int i = 0; i < answer.count; i++)
		check_address(&answer.addresses[i], type, packet);
	if (dialler_answer_parse(packet, "b.example", type, &answer) !=
	    DIALLER_ANSWER_BAD)
		abort();
	return 0;
}
