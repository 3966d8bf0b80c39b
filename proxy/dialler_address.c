/*
 * Addresses that may be dialled, see dialler_address.h. Everything is refused
 * unless a line here says why not; a new class of address is refused too.
 */
#include "proxy/dialler_address.h"

#include <string.h>

#include "wire/host.h"

/* Classes that a section may except; the others are never dialled. */
static const bool may_be_excepted[ADDRESS_CLASS_COUNT] = {
	[ADDRESS_GLOBAL] = true, /* one of the host's own */
	[ADDRESS_LOOPBACK] = true,
	[ADDRESS_PRIVATE] = true,
	[ADDRESS_SHARED] = true,
	[ADDRESS_LINK_LOCAL] = true,
	[ADDRESS_UNIQUE_LOCAL] = true,
	[ADDRESS_SITE_LOCAL] = true,
	[ADDRESS_PROTOCOL] = true,
	[ADDRESS_DOCUMENTATION] = true,
	[ADDRESS_BENCHMARK] = true,
};

/*
 * IPv6 addresses that stand for themselves. One that carries an IPv4 address
 * has that one's class, but the kernel or a gateway takes it elsewhere than
 * the range of a section says.
 */
static const struct {
	uint8_t bytes[16];
	uint8_t bits;
} plain_ipv6[] = {
	{ { [15] = 1 }, 128 },                 /* ::1 */
	{ { 0xfc }, 7 },                       /* RFC 4193 */
	{ { 0xfe, 0x80 }, 10 },                /* link-local */
	{ { 0xfe, 0xc0 }, 10 },                /* site-local */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 },    /* RFC 3849 */
	{ { 0x20, 0x01, 0, 0x02, 0, 0 }, 48 }, /* RFC 5180 */
};

struct address
address_of_message(const struct message_address *m)
{
	struct address a = { .family =
				 m->family == 4 ? ADDRESS_IPV4 : ADDRESS_IPV6 };

	memcpy(a.bytes, m->bytes, sizeof(a.bytes));
	return a;
}

static bool
range_contains(const struct message_range *r, const struct address *a)
{
	const struct prefix p = { .address = address_of_message(&r->address),
		.length = r->bits };

	return prefix_contains(&p, a);
}

static bool
range_is_single(const struct message_range *r)
{
	return r->bits == (r->address.family == 4 ? 32 : 128);
}

static bool
is_plain(const struct address *a)
{
	if (a->family == ADDRESS_IPV4 || address_classify(a) == ADDRESS_GLOBAL)
		return true;
	for (size_t i = 0; i < sizeof(plain_ipv6) / sizeof(plain_ipv6[0]);
	     i++) {
		struct prefix p = { .address.family = ADDRESS_IPV6,
			.length = plain_ipv6[i].bits };

		memcpy(p.address.bytes, plain_ipv6[i].bytes, 16);
		if (prefix_contains(&p, a))
			return true;
	}
	return false;
}

static bool
is_resolver(const struct message_dialler_config *c, const struct address *a)
{
	for (unsigned int i = 0; i < c->resolver_count; i++) {
		const struct address r =
		    address_of_message(&c->resolvers[i].address);

		if (address_equals(&r, a))
			return true;
	}
	return false;
}

/* One that is written as a name is known when it is looked up, by its name. */
static bool
is_proxy(const struct message_dialler_config *c, const struct address *a)
{
	struct address proxy;

	return c->proxy.host[0] != '\0' &&
	    address_parse(span_of(c->proxy.host), &proxy) &&
	    address_equals(&proxy, a);
}

static bool
is_guest_range(const struct message_dialler_config *c, const struct address *a)
{
	for (unsigned int i = 0; i < c->own_range_count; i++)
		if (range_contains(&c->own_ranges[i], a))
			return true;
	return false;
}

static bool
is_own(const struct message_dialler_addresses *m, const struct address *a)
{
	for (unsigned int i = 0; i < m->count; i++) {
		const struct address own = address_of_message(&m->addresses[i]);

		if (address_equals(&own, a))
			return true;
	}
	return false;
}

bool
dialler_pattern_matches(const char *pattern, const char *host)
{
	if (strncmp(pattern, "**.", 3) == 0)
		return host_depth_under(host, pattern + 3) >= 1;
	if (strncmp(pattern, "*.", 2) == 0)
		return host_depth_under(host, pattern + 2) == 1;
	return strcmp(pattern, host) == 0;
}

static bool
names_host(const struct message_exception *e, const char *host)
{
	for (unsigned int i = 0; i < e->host_count; i++)
		if (dialler_pattern_matches(e->hosts[i], host))
			return true;
	return false;
}

bool
dialler_address_names(const struct message_dialler_config *c, const char *host)
{
	for (unsigned int i = 0; i < c->exception_count; i++)
		if (names_host(&c->exceptions[i], host))
			return true;
	return false;
}

static bool
excepts(const struct message_exception *e, const struct address *a,
    bool wants_single)
{
	for (unsigned int i = 0; i < e->range_count; i++)
		if (range_contains(&e->ranges[i], a) &&
		    (!wants_single || range_is_single(&e->ranges[i])))
			return true;
	return false;
}

static bool
is_excepted(const struct message_dialler_config *c, const char *host,
    const struct address *a, bool wants_single)
{
	for (unsigned int i = 0; i < c->exception_count; i++)
		if (names_host(&c->exceptions[i], host) &&
		    excepts(&c->exceptions[i], a, wants_single))
			return true;
	return false;
}

const char *
dialler_address_refusal(const struct dialler_host *h, const char *host,
    const struct address *a)
{
	const enum address_class class = address_classify(a);
	const bool own = is_own(h->addresses, a);
	const bool wants_single = own || class == ADDRESS_LOOPBACK;

	if (is_resolver(h->config, a))
		return "resolver";
	if (is_proxy(h->config, a))
		return "proxy";
	if (is_guest_range(h->config, a))
		return "guest-range";
	if (class == ADDRESS_GLOBAL && !own)
		return NULL;
	if (!may_be_excepted[class] || !is_plain(a))
		return address_class_name(class);
	if (is_excepted(h->config, host, a, wants_single))
		return NULL;
	return own ? "own" : address_class_name(class);
}

bool
dialler_host_has_ipv6(const struct message_dialler_addresses *m)
{
	for (unsigned int i = 0; i < m->count; i++) {
		const struct address a = address_of_message(&m->addresses[i]);
		const enum address_class class = address_classify(&a);

		if (a.family == ADDRESS_IPV6 &&
		    (class == ADDRESS_GLOBAL || class == ADDRESS_UNIQUE_LOCAL))
			return true;
	}
	return false;
}
