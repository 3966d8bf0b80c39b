/*
 * Text of addresses and prefixes. What an address is for is in
 * address_class.c.
 */
#include "wire/address.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>

#include "wire/token.h"

struct address
address_from_ipv4(uint32_t host_order)
{
	struct address a = { .family = ADDRESS_IPV4 };
	struct wr w = wr_init(a.bytes, sizeof(a.bytes));

	wr_u32(&w, host_order);
	return a;
}

uint32_t
address_to_ipv4(const struct address *a)
{
	struct rd r = rd_init(a->bytes, sizeof(a->bytes));

	return a->family == ADDRESS_IPV4 ? rd_u32(&r) : 0;
}

/* RFC 3986 3.2.2 dec-octet, four times. */
static bool
parse_ipv4(struct span in, struct address *ret)
{
	uint32_t address = 0;
	struct span rest = in;

	for (int i = 0; i < 4; i++) {
		uint64_t octet;

		if (!token_decimal(token_cut(&rest, '.'), 255, &octet))
			return false;
		if ((rest.ptr == NULL) != (i == 3))
			return false;
		address = address << 8 | (uint32_t)octet;
	}
	*ret = address_from_ipv4(address);
	return true;
}

/* inet_pton() takes no zone, bracket, port or blank; only the NUL is ours. */
static bool
parse_ipv6(struct span in, struct address *ret)
{
	struct address a = { .family = ADDRESS_IPV6 };
	char text[ADDRESS_TEXT_SIZE];

	if (in.len == 0 || in.len >= sizeof(text) ||
	    memchr(in.ptr, '\0', in.len) != NULL)
		return false;
	memcpy(text, in.ptr, in.len);
	text[in.len] = '\0';
	if (inet_pton(AF_INET6, text, a.bytes) != 1)
		return false;
	*ret = a;
	return true;
}

bool
address_parse(struct span in, struct address *ret)
{
	return parse_ipv4(in, ret) || parse_ipv6(in, ret);
}

const char *
address_format(const struct address *a, char buf[ADDRESS_TEXT_SIZE])
{
	const char *text = NULL;

	switch (a->family) {
	case ADDRESS_IPV4:
		text = inet_ntop(AF_INET, a->bytes, buf, ADDRESS_TEXT_SIZE);
		break;
	case ADDRESS_IPV6:
		text = inet_ntop(AF_INET6, a->bytes, buf, ADDRESS_TEXT_SIZE);
		break;
	case ADDRESS_NONE:
		break;
	}
	if (text == NULL)
		memcpy(buf, "-", 2);
	return buf;
}

bool
address_equals(const struct address *a, const struct address *b)
{
	return a->family == b->family &&
	    memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

static unsigned int
family_bits(enum address_family family)
{
	switch (family) {
	case ADDRESS_IPV4:
		return 32;
	case ADDRESS_IPV6:
		return 128;
	case ADDRESS_NONE:
		break;
	}
	return 0;
}

/* a with all bits past length cleared. */
static struct address
masked(const struct address *a, unsigned int length)
{
	struct address out = *a;

	for (unsigned int i = 0; i < sizeof(out.bytes); i++) {
		unsigned int keep = length > i * 8 ? length - i * 8 : 0;

		if (keep < 8)
			out.bytes[i] &= (uint8_t)(0xff00u >> keep & 0xffu);
	}
	return out;
}

bool
prefix_parse(struct span in, struct prefix *ret)
{
	struct prefix p = { .length = 0 };
	struct span rest = in, text = token_cut(&rest, '/');
	struct address bare;
	uint64_t length;

	if (!address_parse(text, &p.address))
		return false;
	length = family_bits(p.address.family);
	if (rest.ptr != NULL && !token_decimal(rest, length, &length))
		return false;
	bare = masked(&p.address, (unsigned int)length);
	if (!address_equals(&bare, &p.address))
		return false;
	p.length = (uint8_t)length;
	*ret = p;
	return true;
}

bool
prefix_contains(const struct prefix *p, const struct address *a)
{
	struct address front = masked(a, p->length);

	return p->address.family != ADDRESS_NONE &&
	    address_equals(&front, &p->address);
}
