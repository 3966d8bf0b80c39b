/*
 * Text: what parses is formatted and parses to the same; an address is in the
 * prefix of itself. Bytes: no wrapping in IPv6 makes an IPv4 address wider,
 * and only 2000::/3 is global.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/address.h"

static void
text_comes_back(struct span in)
{
	char text[ADDRESS_TEXT_SIZE];
	struct address a, again;
	struct prefix p;

	if (prefix_parse(in, &p))
		HOLDS(prefix_contains(&p, &p.address));
	if (!address_parse(in, &a))
		return;
	HOLDS(address_parse(span_of(address_format(&a, text)), &again));
	HOLDS(address_equals(&a, &again));
	HOLDS(prefix_parse(span_of(text), &p));
	HOLDS(prefix_contains(&p, &a));
}

static const struct {
	uint8_t front[12];
	size_t front_len; /* where the IPv4 address goes */
	uint8_t mask;     /* it is inverted there */
} wrappings[] = {
	{ { 0 }, 12, 0 },
	{ { [10] = 0xff, 0xff }, 12, 0 },
	{ { [8] = 0xff, 0xff }, 12, 0 },
	{ { 0, 0x64, 0xff, 0x9b }, 12, 0 },
	{ { 0x20, 0x02 }, 2, 0 },
	{ { 0x20, 0x01 }, 12, 0xff },
	{ { 0x26, 0x06, [10] = 0x5e, 0xfe }, 12, 0 },
};

/* Wrapped, it is of the same class, or of the wrapping's if global. */
static void
wrapping_hides_nothing(const struct address *four, size_t i)
{
	enum address_class c = address_classify(four);
	struct address six = { .family = ADDRESS_IPV6 };
	enum address_class wrapped;

	memcpy(six.bytes, wrappings[i].front, sizeof(wrappings[i].front));
	for (size_t k = 0; k < 4; k++)
		six.bytes[wrappings[i].front_len + k] =
		    four->bytes[k] ^ wrappings[i].mask;
	wrapped = address_classify(&six);
	HOLDS(wrapped != ADDRESS_GLOBAL);
	/* :: and ::1 are rows of their own. */
	HOLDS(c == ADDRESS_GLOBAL || wrapped == c || i == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct address four = { .family = ADDRESS_IPV4 };
	struct address six = { .family = ADDRESS_IPV6 };
	struct rd r = rd_init(data, size);
	struct span s;

	text_comes_back((struct span){ data, size });
	s = rd_take(&r, 16);
	if (s.len != 16)
		return 0;
	memcpy(four.bytes, s.ptr, 4);
	memcpy(six.bytes, s.ptr, 16);
	for (size_t i = 0; i < sizeof(wrappings) / sizeof(wrappings[0]); i++)
		wrapping_hides_nothing(&four, i);
	if (address_classify(&six) == ADDRESS_GLOBAL)
		HOLDS(six.bytes[0] >> 5 == 1);
	return 0;
}
