/*
 * Supervisor and dialler, see message_dialler.h. Both sides are ours, yet what
 * is read is checked as if it were not: an address or a range that means
 * something else than its sender meant widens what is dialled.
 */
#include "base/message_dialler.h"

#include <string.h>

#include "base/message_field.h"

static unsigned int
family_bits(uint8_t family)
{
	return family == 4 ? 32 : 128;
}

static void
put_address(struct wr *w, const struct message_address *a)
{
	wr_u8(w, a->family);
	wr_bytes(w, a->bytes, family_bits(a->family) / 8);
}

static void
take_address(struct rd *r, struct message_address *ret)
{
	const uint8_t family = rd_u8(r);
	struct span bytes;

	*ret = (struct message_address){ .family = family };
	if (family != 4 && family != 6) {
		rd_fail(r);
		return;
	}
	bytes = rd_take(r, family_bits(family) / 8);
	if (rd_ok(r))
		memcpy(ret->bytes, bytes.ptr, bytes.len);
}

/* A bit past the length is a slip in a prefix, which must not widen it. */
static bool
has_bits_past(const struct message_range *m)
{
	for (unsigned int i = m->bits; i < 128; i++)
		if (m->address.bytes[i / 8] & (0x80u >> (i % 8)))
			return true;
	return false;
}

static void
put_range(struct wr *w, const struct message_range *m)
{
	put_address(w, &m->address);
	wr_u8(w, m->bits);
}

static void
take_range(struct rd *r, struct message_range *ret)
{
	take_address(r, &ret->address);
	ret->bits = rd_u8(r);
	if (ret->bits > family_bits(ret->address.family) || has_bits_past(ret))
		rd_fail(r);
}

static void
put_limits(struct wr *w, const struct message_dialler_limits *m)
{
	wr_u32(w, m->resolve_timeout_ms);
	wr_u32(w, m->connect_timeout_ms);
	wr_u32(w, m->in_flight);
	wr_u32(w, m->cache_names);
	wr_u32(w, m->cache_min_s);
	wr_u32(w, m->cache_max_s);
	wr_u32(w, m->cache_negative_s);
}

static void
take_limits(struct rd *r, struct message_dialler_limits *ret)
{
	ret->resolve_timeout_ms = rd_u32(r);
	ret->connect_timeout_ms = rd_u32(r);
	ret->in_flight = rd_u32(r);
	ret->cache_names = rd_u32(r);
	ret->cache_min_s = rd_u32(r);
	ret->cache_max_s = rd_u32(r);
	ret->cache_negative_s = rd_u32(r);
	if (ret->resolve_timeout_ms == 0 || ret->connect_timeout_ms == 0 ||
	    ret->in_flight == 0 || ret->cache_names == 0 ||
	    ret->cache_min_s == 0 || ret->cache_max_s == 0 ||
	    ret->cache_negative_s == 0)
		rd_fail(r);
}

static void
put_exception(struct wr *w, const struct message_exception *m)
{
	wr_u16(w, (uint16_t)m->host_count);
	for (unsigned int i = 0; i < m->host_count; i++)
		wr_str16(w, m->hosts[i]);
	wr_u16(w, (uint16_t)m->range_count);
	for (unsigned int i = 0; i < m->range_count; i++)
		put_range(w, &m->ranges[i]);
}

static void
take_exception(struct rd *r, struct message_exception *ret)
{
	ret->host_count = field_count(r, DIALLER_EXCEPTION_HOSTS_MAX);
	for (unsigned int i = 0; i < ret->host_count; i++)
		if (rd_cstr16(r, ret->hosts[i], sizeof(ret->hosts[i])) == 0)
			rd_fail(r);
	ret->range_count = field_count(r, DIALLER_EXCEPTION_RANGES_MAX);
	for (unsigned int i = 0; i < ret->range_count; i++)
		take_range(r, &ret->ranges[i]);
}

static void
put_proxy(struct wr *w, const struct message_proxy *m)
{
	wr_str16(w, m->host);
	wr_u16(w, m->port);
	wr_str16(w, m->user);
	field_bool_write(w, m->has_password);
	wr_u16(w, (uint16_t)m->direct_count);
	for (unsigned int i = 0; i < m->direct_count; i++)
		wr_str16(w, m->direct[i]);
}

static void
take_proxy(struct rd *r, struct message_proxy *ret)
{
	const bool has_host = rd_cstr16(r, ret->host, sizeof(ret->host)) > 0;
	bool has_user;

	ret->port = rd_u16(r);
	has_user = rd_cstr16(r, ret->user, sizeof(ret->user)) > 0;
	ret->has_password = field_bool(r);
	ret->direct_count = field_count(r, DIALLER_DIRECT_MAX);
	for (unsigned int i = 0; i < ret->direct_count; i++)
		if (rd_cstr16(r, ret->direct[i], sizeof(ret->direct[i])) == 0)
			rd_fail(r);
	if (has_host != (ret->port != 0) || (has_user && !has_host) ||
	    (ret->has_password && !has_user))
		rd_fail(r);
}

static void
put_resolvers(struct wr *w, const struct message_dialler_config *m)
{
	wr_u16(w, (uint16_t)m->resolver_count);
	for (unsigned int i = 0; i < m->resolver_count; i++) {
		put_address(w, &m->resolvers[i].address);
		wr_u16(w, m->resolvers[i].port);
		wr_str16(w, m->resolvers[i].tls_name);
	}
	field_bool_write(w, m->has_roots);
}

/* One in the clear among others would be asked when those fail. */
static void
take_resolvers(struct rd *r, struct message_dialler_config *ret)
{
	bool is_tls = false;

	ret->resolver_count = field_count(r, DIALLER_RESOLVERS_MAX);
	for (unsigned int i = 0; i < ret->resolver_count; i++) {
		struct message_resolver *m = &ret->resolvers[i];
		bool has_name;

		take_address(r, &m->address);
		m->port = rd_u16(r);
		has_name = rd_cstr16(r, m->tls_name, sizeof(m->tls_name)) > 0;
		if (i == 0)
			is_tls = has_name;
		if (m->port == 0 || has_name != is_tls)
			rd_fail(r);
	}
	ret->has_roots = field_bool(r);
	if (ret->has_roots && !is_tls)
		rd_fail(r);
}

void
message_dialler_config_encode(struct wr *w,
    const struct message_dialler_config *m)
{
	put_limits(w, &m->limits);
	put_resolvers(w, m);
	wr_u16(w, (uint16_t)m->own_range_count);
	for (unsigned int i = 0; i < m->own_range_count; i++)
		put_range(w, &m->own_ranges[i]);
	wr_u16(w, (uint16_t)m->exception_count);
	for (unsigned int i = 0; i < m->exception_count; i++)
		put_exception(w, &m->exceptions[i]);
	put_proxy(w, &m->proxy);
}

int
message_dialler_config_decode(struct rd *r, struct message_dialler_config *ret)
{
	take_limits(r, &ret->limits);
	take_resolvers(r, ret);
	ret->own_range_count = field_count(r, DIALLER_OWN_RANGES_MAX);
	for (unsigned int i = 0; i < ret->own_range_count; i++)
		take_range(r, &ret->own_ranges[i]);
	ret->exception_count = field_count(r, DIALLER_EXCEPTIONS_MAX);
	for (unsigned int i = 0; i < ret->exception_count; i++)
		take_exception(r, &ret->exceptions[i]);
	take_proxy(r, &ret->proxy);
	return field_result(r);
}

bool
message_dialler_config_fds(const struct message_dialler_config *m,
    const int *fds, size_t count, struct message_dialler_fds *ret)
{
	const size_t passwords = m->proxy.has_password ? 1 : 0;

	if (count != passwords + (m->has_roots ? 1 : 0))
		return false;
	ret->password = passwords == 1 ? fds[0] : -1;
	ret->roots = m->has_roots ? fds[passwords] : -1;
	return true;
}

void
message_dialler_addresses_encode(struct wr *w,
    const struct message_dialler_addresses *m)
{
	wr_u16(w, (uint16_t)m->count);
	for (unsigned int i = 0; i < m->count; i++)
		put_address(w, &m->addresses[i]);
}

int
message_dialler_addresses_decode(struct rd *r,
    struct message_dialler_addresses *ret)
{
	ret->count = field_count(r, DIALLER_ADDRESSES_MAX);
	for (unsigned int i = 0; i < ret->count; i++)
		take_address(r, &ret->addresses[i]);
	return field_result(r);
}

void
message_dialler_sandbox_encode(struct wr *w,
    const struct message_dialler_sandbox *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	field_bool_write(w, m->has_ceiling);
}

int
message_dialler_sandbox_decode(struct rd *r,
    struct message_dialler_sandbox *ret)
{
	struct message_dialler_sandbox m = { 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	m.has_ceiling = field_bool(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_dialler_detach_encode(struct wr *w,
    const struct message_dialler_detach *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
}

int
message_dialler_detach_decode(struct rd *r, struct message_dialler_detach *ret)
{
	struct message_dialler_detach m = { 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

const char *
resolver_state_name(uint8_t state)
{
	static const char *const names[RESOLVER_STATE_COUNT] = {
		[RESOLVER_UNKNOWN] = "unknown",
		[RESOLVER_CONNECTING] = "connecting",
		[RESOLVER_UP] = "up",
		[RESOLVER_DOWN] = "down",
	};

	return names[state];
}

void
message_resolver_state_encode(struct wr *w,
    const struct message_resolver_state *m)
{
	wr_u8(w, m->state);
	wr_str16(w, m->text);
	wr_u32(w, m->handshakes);
	wr_u32(w, m->answers);
}

void
message_resolver_state_decode(struct rd *r, struct message_resolver_state *ret)
{
	ret->state = field_enum(r, RESOLVER_STATE_COUNT);
	field_printable(r, ret->text, sizeof(ret->text));
	ret->handshakes = rd_u32(r);
	ret->answers = rd_u32(r);
}

void
message_dialler_status_encode(struct wr *w,
    const struct message_dialler_status *m)
{
	wr_u16(w, (uint16_t)m->resolver_count);
	for (unsigned int i = 0; i < m->resolver_count; i++) {
		wr_str16(w, m->names[i]);
		message_resolver_state_encode(w, &m->resolvers[i]);
	}
}

int
message_dialler_status_decode(struct rd *r, struct message_dialler_status *ret)
{
	ret->resolver_count = field_count(r, DIALLER_RESOLVERS_MAX);
	for (unsigned int i = 0; i < ret->resolver_count; i++) {
		field_printable(r, ret->names[i], sizeof(ret->names[i]));
		message_resolver_state_decode(r, &ret->resolvers[i]);
	}
	return field_result(r);
}
