/*
 * The limits in the shapes of those who hold them. Rows bound each value
 * (limits.c), so that it fits.
 */
#include "conf/hostconf.h"

static uint32_t
u32(const struct hostconf *c, enum limit l)
{
	return (uint32_t)c->limits[l];
}

struct message_gate_limits
hostconf_gate_limits(const struct hostconf *c)
{
	return (struct message_gate_limits){
		.connections = u32(c, LIMIT_CONNECTIONS),
		.head_max_bytes = u32(c, LIMIT_HEAD_BYTES),
		.head_timeout_ms = u32(c, LIMIT_HEAD_TIMEOUT),
		.idle_timeout_ms = u32(c, LIMIT_IDLE_TIMEOUT),
		.relay_idle_timeout_ms = u32(c, LIMIT_RELAY_IDLE_TIMEOUT),
		.connect_timeout_ms = u32(c, LIMIT_CONNECT_TIMEOUT),
		.tls_timeout_ms = u32(c, LIMIT_TLS_TIMEOUT),
		.mint_per_second = u32(c, LIMIT_MINT_RATE),
		.leaf_cache = u32(c, LIMIT_LEAF_CACHE),
		.dns_per_second = u32(c, LIMIT_DNS_RATE),
		.synthetic_addresses = u32(c, LIMIT_SYNTHETIC_ADDRESSES),
		.streams = u32(c, LIMIT_STREAMS),
		.wait_bytes = u32(c, LIMIT_WAIT_BYTES),
		.large_bytes = u32(c, LIMIT_LARGE_BYTES),
		.idle_origins = u32(c, LIMIT_IDLE_ORIGINS),
		.decode_memory_bytes = u32(c, LIMIT_DECODE_MEMORY),
		.decode_ratio = u32(c, LIMIT_DECODE_RATIO),
		.sign_memory_bytes = u32(c, LIMIT_SIGN_MEMORY),
		.push_commands_bytes = u32(c, LIMIT_PUSH_COMMANDS),
		.push_look_bytes = u32(c, LIMIT_PUSH_LOOK),
		.push_refused_bytes = u32(c, LIMIT_PUSH_REFUSED),
		.lfs_batch_bytes = u32(c, LIMIT_LFS_BATCH),
		.lfs_objects = u32(c, LIMIT_LFS_OBJECTS),
		.lfs_grant_s = u32(c, LIMIT_LFS_GRANT),
		.asks = u32(c, LIMIT_ASKS),
		.ask_memory_bytes = u32(c, LIMIT_ASK_MEMORY),
		.ask_timeout_ms = u32(c, LIMIT_ASK_TIMEOUT),
	};
}

struct message_dialler_limits
hostconf_dialler_limits(const struct hostconf *c)
{
	return (struct message_dialler_limits){
		.resolve_timeout_ms = u32(c, LIMIT_RESOLVE_TIMEOUT),
		.connect_timeout_ms = u32(c, LIMIT_DIAL_TIMEOUT),
		.in_flight = u32(c, LIMIT_DIALS),
		.cache_names = u32(c, LIMIT_RESOLVE_CACHE),
		.cache_min_s = u32(c, LIMIT_RESOLVE_CACHE_MIN),
		.cache_max_s = u32(c, LIMIT_RESOLVE_CACHE_MAX),
		.cache_negative_s = u32(c, LIMIT_RESOLVE_CACHE_NEGATIVE),
	};
}

struct process_limits
hostconf_gate_process(const struct hostconf *c)
{
	return (struct process_limits){
		.nofile = c->limits[LIMIT_GATE_FILES],
		.memlock_bytes = c->limits[LIMIT_GATE_LOCKED_MEMORY],
		.as_bytes = c->limits[LIMIT_GATE_MEMORY],
		.nproc = c->limits[LIMIT_GATE_PROCESSES],
	};
}

struct process_limits
hostconf_service_process(const struct hostconf *c)
{
	return (struct process_limits){
		.nofile = c->limits[LIMIT_SERVICE_FILES],
		.memlock_bytes = c->limits[LIMIT_SERVICE_LOCKED_MEMORY],
		.as_bytes = c->limits[LIMIT_SERVICE_MEMORY],
		.nproc = c->limits[LIMIT_SERVICE_PROCESSES],
	};
}

uint32_t
hostconf_lease_max_s(const struct hostconf *c)
{
	return u32(c, LIMIT_LEASE);
}
