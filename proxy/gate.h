/*
 * The gate: the proxy process of one sandbox. This header is what its modules
 * share; each module's own state is in its own file.
 *
 * Life of a guest connection: listen.c accepts it, conn.c peeks at its first
 * bytes and asks the policy, then either relay.c joins it to an origin
 * untouched (passthrough, tcp) or inspect.c takes it over (http, TLS that is
 * opened, the explicit proxy).
 */
#ifndef TAPWARD_PROXY_GATE_H
#define TAPWARD_PROXY_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/message_gate.h"
#include "conf/policy.h"
#include "proxy/decode.h"
#include "proxy/inject.h"

struct event_base;
struct chan;
struct conn;
struct dial_port;  /* proxy/dial.h: the way to the dialler */
struct lease_port; /* proxy/lease.h: the way to the broker */
struct audit_port; /* proxy/audit.h: the way to the recorder */
struct tls_state;  /* proxy/tls.h: CA, leaf cache, contexts, roots */
struct pool;       /* proxy/pool.h: idle origin connections */
struct synth;      /* proxy/synth.h: synthetic addresses */
struct dns;        /* proxy/dns.h: answers to questions */
struct relays;     /* proxy/relay.h: pipes, and who has been idle how long */
struct conns;      /* proxy/conn.h: the list of all connections */
struct lfs_grants; /* proxy/lfs_grants.h: the same of LFS; or NULL */
struct redirects;  /* proxy/redirect.h: URLs that answers pointed to */
struct holds;      /* proxy/hold.h: requests that wait for an answer */
struct meters;     /* proxy/meter.h: budgets and their counts */

/*
 * Bytes on their way through one callback: a peeked ClientHello, a small piece
 * of a relay. Nothing in it outlives the callback that filled it.
 */
#define GATE_SCRATCH_BYTES 65536

struct gate {
	struct event_base *base;
	uint8_t *scratch; /* GATE_SCRATCH_BYTES */
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	struct message_gate_net net;
	struct message_gate_limits limits;
	/* Host setting: ECH may go through unseen to passthrough hosts. */
	bool passthrough_ech;

	/*
	 * Both replaced whole by a reload; policy_generation then goes up. A
	 * connection keeps no pointer into them over a turn of the loop
	 * without a policy_ref() of its own.
	 */
	struct policy_pair pair;
	uint32_t policy_generation;
	uint32_t roots_generation; /* goes up with new roots */

	uint8_t metadata_key[32]; /* proxy/metadata.h; made on first use */
	bool has_metadata_key;

	struct injections leases;    /* kept, or in use by some exchange */
	struct decode_budget decode; /* of answers that are looked into */
	size_t sign_bytes; /* held to be signed; limits.sign_memory_bytes */

	struct dial_port *dialler;
	struct lease_port *broker;
	struct audit_port *audit;
	struct tls_state *tls;
	struct pool *pool;
	struct synth *synth;
	struct dns *dns;
	struct relays *relays;
	struct meters *meters;
	struct redirects *redirects;
	struct lfs_grants *lfs_grants;
	struct holds *holds;
	struct chan *supervisor; /* NULL while there is none; borrowed */

	struct conns *conns;
	uint32_t conn_count; /* that are not closed */
	bool is_stopping;    /* whatever ends now ends for that */
	uint64_t next_conn_id;
	struct message_gate_status status;
};

/* A connection to an origin serves only what asks under what it was made. */
static inline uint64_t
gate_origin_generation(const struct gate *g)
{
	return (uint64_t)g->policy_generation << 32 | g->roots_generation;
}

#endif
