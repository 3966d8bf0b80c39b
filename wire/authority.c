#include "wire/authority.h"

#include <assert.h>
#include <string.h>

#include "wire/address.h"
#include "wire/token.h"

bool
authority_parse_port(struct span in, uint16_t *ret_port)
{
	uint64_t v;

	if (!token_decimal(in, UINT16_MAX, &v) || v == 0)
		return false;
	*ret_port = (uint16_t)v;
	return true;
}

static bool
has_byte(struct span s, int c)
{
	return s.len > 0 && memchr(s.ptr, c, s.len) != NULL;
}

/* "[IPv6]" and perhaps ":port"; RFC 3986 3.2.2 knows no other bracket. */
static enum authority_status
parse_bracketed(struct span in)
{
	struct span rest = in, inside;
	struct address a;
	uint16_t port;

	(void)token_cut(&rest, '[');
	inside = token_cut(&rest, ']');
	if (in.ptr[0] != '[' || rest.ptr == NULL ||
	    !address_parse(inside, &a) || a.family != ADDRESS_IPV6)
		return AUTHORITY_BRACKET;
	if (rest.len == 0)
		return AUTHORITY_ADDRESS;
	if (token_cut(&rest, ':').len != 0)
		return AUTHORITY_BRACKET;
	return authority_parse_port(rest, &port) ? AUTHORITY_ADDRESS
						 : AUTHORITY_PORT;
}

static enum authority_status
parse_named(struct span in, struct authority *ret)
{
	struct authority a = { .has_port = false };
	struct span rest = in, host = token_cut(&rest, ':');

	/* An IPv6 literal without brackets, or a second port. */
	if (has_byte(rest, ':'))
		return AUTHORITY_HOST;
	if (host.len == 0)
		return AUTHORITY_EMPTY;
	a.has_port = rest.ptr != NULL;
	if (a.has_port && !authority_parse_port(rest, &a.port))
		return AUTHORITY_PORT;
	a.host_status = host_parse(host, a.host);
	if (a.host_status == HOST_ADDRESS)
		return AUTHORITY_ADDRESS;
	if (!host_is_written(a.host_status))
		return AUTHORITY_HOST;
	*ret = a;
	return AUTHORITY_OK;
}

enum authority_status
authority_parse(struct span in, struct authority *ret)
{
	if (in.len == 0)
		return AUTHORITY_EMPTY;
	if (has_byte(in, '@'))
		return AUTHORITY_USERINFO;
	if (has_byte(in, '[') || has_byte(in, ']'))
		return parse_bracketed(in);
	return parse_named(in, ret);
}

bool
authority_is_address(struct span in, const char *address, struct authority *ret)
{
	struct authority a = { .host_status = HOST_ADDRESS };
	struct span rest = in, host = token_cut(&rest, ':');

	if (!span_is(host, address) || strlen(address) >= sizeof(a.host))
		return false;
	a.has_port = rest.ptr != NULL;
	if (a.has_port && !authority_parse_port(rest, &a.port))
		return false;
	memcpy(a.host, address, strlen(address) + 1);
	*ret = a;
	return true;
}

/* Called with what authority_parse() took, so that any colon past a bracket
 * begins a port. */
static bool
ends_in_port(struct span in)
{
	struct span rest = in;

	if (has_byte(in, ']'))
		(void)token_cut(&rest, ']');
	return has_byte(rest, ':');
}

enum authority_status
authority_parse_connect(struct span in, struct authority *ret)
{
	struct authority a;
	enum authority_status s = authority_parse(in, &a);

	if (s != AUTHORITY_OK && s != AUTHORITY_ADDRESS)
		return s;
	if (!ends_in_port(in))
		return AUTHORITY_NO_PORT;
	if (s == AUTHORITY_OK)
		*ret = a;
	return s;
}

const char *
authority_status_text(enum authority_status s)
{
	static const char *const texts[] = {
		[AUTHORITY_OK] = "a host",
		[AUTHORITY_ADDRESS] = "the host is an IP address, not a name",
		[AUTHORITY_EMPTY] = "the host is empty",
		[AUTHORITY_USERINFO] = "the host has a user name before it",
		[AUTHORITY_BRACKET] = "brackets may only hold an IPv6 address",
		[AUTHORITY_HOST] = "the host is not a valid name",
		[AUTHORITY_PORT] = "the port is not a number from 1 to 65535",
		[AUTHORITY_NO_PORT] = "the port is missing",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) ==
		AUTHORITY_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}

bool
authority_same(const struct authority *a, const struct authority *b,
    uint16_t default_port)
{
	uint16_t port_a = a->has_port ? a->port : default_port;
	uint16_t port_b = b->has_port ? b->port : default_port;

	return port_a == port_b && strcmp(a->host, b->host) == 0;
}
