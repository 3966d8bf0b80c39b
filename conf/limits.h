/*
 * Every limit of [limits] in the host's configuration: one table with name,
 * unit, default, bounds and the reason for the default (limits.c).
 */
#ifndef TAPWARD_CONF_LIMITS_H
#define TAPWARD_CONF_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum limit {
	/* of one sandbox's gate */
	LIMIT_CONNECTIONS,
	LIMIT_HEAD_BYTES,
	LIMIT_HEAD_TIMEOUT,
	LIMIT_IDLE_TIMEOUT,
	LIMIT_RELAY_IDLE_TIMEOUT,
	LIMIT_CONNECT_TIMEOUT,
	LIMIT_TLS_TIMEOUT,
	LIMIT_MINT_RATE,
	LIMIT_LEAF_CACHE,
	LIMIT_DNS_RATE,
	LIMIT_SYNTHETIC_ADDRESSES,
	LIMIT_STREAMS,
	LIMIT_WAIT_BYTES,
	LIMIT_LARGE_BYTES,
	LIMIT_IDLE_ORIGINS,
	LIMIT_DECODE_MEMORY,
	LIMIT_DECODE_RATIO,
	LIMIT_SIGN_MEMORY,
	LIMIT_PUSH_COMMANDS,
	LIMIT_PUSH_LOOK,
	LIMIT_PUSH_REFUSED,
	LIMIT_LFS_BATCH,
	LIMIT_LFS_OBJECTS,
	LIMIT_LFS_GRANT,
	LIMIT_ASKS,
	LIMIT_ASK_MEMORY,
	LIMIT_ASK_TIMEOUT,
	/* of the dialler */
	LIMIT_DIALS,
	LIMIT_DIAL_TIMEOUT,
	LIMIT_RESOLVE_TIMEOUT,
	LIMIT_RESOLVE_CACHE,
	LIMIT_RESOLVE_CACHE_MIN,
	LIMIT_RESOLVE_CACHE_MAX,
	LIMIT_RESOLVE_CACHE_NEGATIVE,
	/* of the broker */
	LIMIT_LEASE,
	/* of processes (setrlimit) */
	LIMIT_GATE_FILES,
	LIMIT_GATE_MEMORY,
	LIMIT_GATE_LOCKED_MEMORY,
	LIMIT_GATE_PROCESSES,
	LIMIT_SERVICE_FILES,
	LIMIT_SERVICE_MEMORY,
	LIMIT_SERVICE_LOCKED_MEMORY,
	LIMIT_SERVICE_PROCESSES,
	/* of the host */
	LIMIT_SANDBOXES,
	LIMIT_SANDBOXES_PER_OWNER,
	/* of one virtual machine */
	LIMIT_VM_CPUS,
	LIMIT_VM_MEMORY,
	LIMIT_VM_DISK,
	LIMIT_VM_IO_RATE,
	LIMIT_VM_IO_OPERATIONS,
	LIMIT_VM_PROCESSES,
	LIMIT_VM_CONSOLE,
	LIMIT_COUNT
};

enum limit_unit {
	UNIT_COUNT, /* 512 */
	UNIT_BYTES, /* 65536, 64KiB, 1MiB, 2GiB; KB, MB, GB are powers of ten */
	UNIT_MS,    /* 500ms, 10s, 5m, 1h; never a bare number */
	UNIT_S,     /* as UNIT_MS, whole seconds */
};

struct limit_row {
	const char *name;
	enum limit_unit unit;
	uint64_t standard; /* the default, in the unit */
	uint64_t min;
	uint64_t max;
	const char *reason; /* for the default */
};

extern const struct limit_row limit_rows[LIMIT_COUNT];

/* A value in its unit; false when it is not one. Bounds are not checked. */
bool limit_parse(enum limit_unit unit, struct span in, uint64_t *ret);
/* How values of the unit are written, for a message. */
const char *limit_unit_text(enum limit_unit unit);

#endif
