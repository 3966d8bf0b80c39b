/*
 * Bodies of the messages between supervisor and gate, and of the first
 * message of every child.
 */
#include "base/message_gate.h"

#include "base/message_field.h"

void
message_gate_net_encode(struct wr *w, const struct message_gate_net *m)
{
	wr_u32(w, m->guest_ip);
	wr_u32(w, m->gateway_ip);
	wr_u32(w, m->synthetic_base);
	wr_u8(w, m->synthetic_prefix);
}

int
message_gate_net_decode(struct rd *r, struct message_gate_net *ret)
{
	struct message_gate_net m = { 0 };

	m.guest_ip = rd_u32(r);
	m.gateway_ip = rd_u32(r);
	m.synthetic_base = rd_u32(r);
	m.synthetic_prefix = rd_u8(r);
	if (m.synthetic_prefix < 8 || m.synthetic_prefix > 30)
		rd_fail(r);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

static void
gate_limits_encode(struct wr *w, const struct message_gate_limits *m)
{
	wr_u32(w, m->connections);
	wr_u32(w, m->head_max_bytes);
	wr_u32(w, m->head_timeout_ms);
	wr_u32(w, m->idle_timeout_ms);
	wr_u32(w, m->relay_idle_timeout_ms);
	wr_u32(w, m->connect_timeout_ms);
	wr_u32(w, m->tls_timeout_ms);
	wr_u32(w, m->mint_per_second);
	wr_u32(w, m->leaf_cache);
	wr_u32(w, m->dns_per_second);
	wr_u32(w, m->synthetic_addresses);
	wr_u32(w, m->streams);
	wr_u32(w, m->wait_bytes);
	wr_u32(w, m->large_bytes);
	wr_u32(w, m->idle_origins);
	wr_u32(w, m->decode_memory_bytes);
	wr_u32(w, m->decode_ratio);
	wr_u32(w, m->sign_memory_bytes);
	wr_u32(w, m->push_commands_bytes);
	wr_u32(w, m->push_look_bytes);
	wr_u32(w, m->push_refused_bytes);
	wr_u32(w, m->lfs_batch_bytes);
	wr_u32(w, m->lfs_objects);
	wr_u32(w, m->lfs_grant_s);
	wr_u32(w, m->asks);
	wr_u32(w, m->ask_memory_bytes);
	wr_u32(w, m->ask_timeout_ms);
}

static uint32_t
gate_limit(struct rd *r)
{
	uint32_t v = rd_u32(r);

	if (v == 0)
		rd_fail(r);
	return v;
}

static void
gate_limits_decode(struct rd *r, struct message_gate_limits *ret)
{
	ret->connections = gate_limit(r);
	ret->head_max_bytes = gate_limit(r);
	ret->head_timeout_ms = gate_limit(r);
	ret->idle_timeout_ms = gate_limit(r);
	ret->relay_idle_timeout_ms = gate_limit(r);
	ret->connect_timeout_ms = gate_limit(r);
	ret->tls_timeout_ms = gate_limit(r);
	ret->mint_per_second = gate_limit(r);
	ret->leaf_cache = gate_limit(r);
	ret->dns_per_second = gate_limit(r);
	ret->synthetic_addresses = gate_limit(r);
	ret->streams = gate_limit(r);
	ret->wait_bytes = gate_limit(r);
	ret->large_bytes = gate_limit(r);
	ret->idle_origins = gate_limit(r);
	ret->decode_memory_bytes = gate_limit(r);
	ret->decode_ratio = gate_limit(r);
	ret->sign_memory_bytes = gate_limit(r);
	ret->push_commands_bytes = gate_limit(r);
	ret->push_look_bytes = gate_limit(r);
	ret->push_refused_bytes = gate_limit(r);
	ret->lfs_batch_bytes = gate_limit(r);
	ret->lfs_objects = gate_limit(r);
	ret->lfs_grant_s = gate_limit(r);
	ret->asks = gate_limit(r);
	ret->ask_memory_bytes = gate_limit(r);
	ret->ask_timeout_ms = gate_limit(r);
}

void
message_gate_start_encode(struct wr *w, const struct message_gate_start *m)
{
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	field_bool_write(w, m->has_ceiling);
	field_bool_write(w, m->passthrough_ech);
	gate_limits_encode(w, &m->limits);
}

int
message_gate_start_decode(struct rd *r, struct message_gate_start *ret)
{
	struct message_gate_start m = { 0 };

	field_sandbox(r, m.sandbox, false);
	m.generation = rd_u64(r);
	m.has_ceiling = field_bool(r);
	m.passthrough_ech = field_bool(r);
	gate_limits_decode(r, &m.limits);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_gate_policy_encode(struct wr *w, const struct message_gate_policy *m)
{
	field_bool_write(w, m->has_ceiling);
}

int
message_gate_policy_decode(struct rd *r, struct message_gate_policy *ret)
{
	struct message_gate_policy m = { .has_ceiling = field_bool(r) };

	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_gate_policy_ack_encode(struct wr *w,
    const struct message_gate_policy_ack *m)
{
	wr_str16(w, m->policy);
}

int
message_gate_policy_ack_decode(struct rd *r,
    struct message_gate_policy_ack *ret)
{
	struct message_gate_policy_ack m = { { 0 } };

	field_digest(r, m.policy);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_gate_peer_encode(struct wr *w, const struct message_gate_peer *m)
{
	wr_u8(w, m->which);
}

int
message_gate_peer_decode(struct rd *r, struct message_gate_peer *ret)
{
	/* The three channels are the first of the descriptors. */
	struct message_gate_peer m = {
		.which = field_enum(r, GATE_START_RECORDER + 1),
	};

	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_gate_status_encode(struct wr *w, const struct message_gate_status *m)
{
	wr_u32(w, m->connections);
	wr_u64(w, m->accepted);
	wr_u64(w, m->requests);
	wr_u64(w, m->denied);
	wr_u64(w, m->up);
	wr_u64(w, m->down);
	wr_str16(w, m->policy);
}

int
message_gate_status_decode(struct rd *r, struct message_gate_status *ret)
{
	struct message_gate_status m = { 0 };

	m.connections = rd_u32(r);
	m.accepted = field_number(r);
	m.requests = field_number(r);
	m.denied = field_number(r);
	m.up = field_number(r);
	m.down = field_number(r);
	field_digest(r, m.policy);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}

void
message_hello_encode(struct wr *w, const struct message_hello *m)
{
	wr_u16(w, m->protocol);
	wr_str16(w, m->role);
	wr_str16(w, m->sandbox);
	wr_u64(w, m->generation);
	wr_str16(w, m->policy);
}

int
message_hello_decode(struct rd *r, struct message_hello *ret)
{
	struct message_hello m = { 0 };

	m.protocol = rd_u16(r);
	field_printable(r, m.role, sizeof(m.role));
	field_sandbox(r, m.sandbox, true);
	m.generation = rd_u64(r);
	field_digest(r, m.policy);
	if (rd_ok(r))
		*ret = m;
	return field_result(r);
}
