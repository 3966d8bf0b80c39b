/*
 * Supervisor and gate. A gate is started into a prepared namespace and waits
 * in the pool (MSG_GATE_NET); MSG_GATE_START makes it the gate of one sandbox.
 * MSG_GATE_READY answers that one, without a body. MSG_GATE_SOCKETS has the
 * body of MSG_GATE_NET.
 */
#ifndef TAPWARD_BASE_MESSAGE_GATE_H
#define TAPWARD_BASE_MESSAGE_GATE_H

#include "base/bytes.h"
#include "base/names.h"

/* The sockets of MSG_GATE_NET and MSG_GATE_SOCKETS, in this order. */
enum gate_socket {
	GATE_SOCKET_TCP,      /* transparent listener: TPROXY */
	GATE_SOCKET_EXPLICIT, /* listener on gateway:3128 */
	GATE_SOCKET_DNS_UDP,  /* transparent, port 53 */
	GATE_SOCKET_DNS_TCP,  /* transparent listener, port 53 */
	GATE_SOCKET_SNTP,     /* gateway:123 */
	GATE_SOCKET_COUNT
};

struct message_gate_net {
	uint32_t guest_ip; /* host byte order */
	uint32_t gateway_ip;
	uint32_t synthetic_base;  /* 198.18.0.0 */
	uint8_t synthetic_prefix; /* 15 */
};

/* The descriptors of MSG_GATE_START, in this order. */
enum gate_start_fd {
	GATE_START_DIALLER, /* channels */
	GATE_START_BROKER,
	GATE_START_RECORDER,
	GATE_START_CA,     /* file: the CA's key and certificate, PEM */
	GATE_START_ROOTS,  /* sealed memfd: roots for origins (proxy/roots.h) */
	GATE_START_COUNTS, /* file: struct budget_table (conf/budget.h) */
	GATE_START_POLICY, /* sealed memfd */
	GATE_START_CEILING, /* sealed memfd; only if has_ceiling */
};

/* Per-sandbox caps; 0 is not a value: the supervisor fills each in. */
struct message_gate_limits {
	uint32_t connections;           /* guest connections at once */
	uint32_t head_max_bytes;        /* of one request or response head */
	uint32_t head_timeout_ms;       /* from its first byte to its end */
	uint32_t idle_timeout_ms;       /* kept HTTP connection, no exchange */
	uint32_t relay_idle_timeout_ms; /* tunnel without a byte */
	uint32_t connect_timeout_ms;    /* dialler's answer */
	uint32_t tls_timeout_ms;        /* either handshake */
	uint32_t mint_per_second;       /* names never seen */
	uint32_t leaf_cache;            /* entries */
	uint32_t dns_per_second;
	uint32_t synthetic_addresses; /* names with an address at once */
	uint32_t streams;             /* of one connection of HTTP/2 */
	uint32_t wait_bytes;  /* of an exchange, each way at either end */
	uint32_t large_bytes; /* beside them, one of each connection */
	uint32_t idle_origins;
	uint32_t decode_memory_bytes; /* of all answers that are decoded */
	uint32_t decode_ratio;        /* bytes that a coded one may make */
	uint32_t sign_memory_bytes;   /* bodies held until they are signed */
	uint32_t push_commands_bytes; /* of one push, held until whole */
	uint32_t push_look_bytes;     /* of its pack, held to be looked at */
	uint32_t push_refused_bytes;  /* of a refused one, dropped */
	uint32_t lfs_batch_bytes;  /* of one question of LFS, and its answer */
	uint32_t lfs_objects;      /* of one */
	uint32_t lfs_grant_s;      /* of what an answer grants, at most */
	uint32_t asks;             /* requests held at once for an answer */
	uint32_t ask_memory_bytes; /* of all that is held of them */
	uint32_t ask_timeout_ms;   /* of one */
};

struct message_gate_start {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	bool has_ceiling;
	/* host setting passthrough-ech: ECH, and GREASE, which looks the same,
	 * may go through to passthrough hosts */
	bool passthrough_ech;
	struct message_gate_limits limits;
};

struct message_gate_policy {
	bool has_ceiling;
};

/*
 * MSG_GATE_POLICY_ACK: the policy that is in force now. Another digest than
 * that of the policy which was sent: the new one was refused.
 */
struct message_gate_policy_ack {
	char policy[DIGEST_TEXT_SIZE];
};

/* MSG_GATE_PEER names which channel is replaced by one of these. */
struct message_gate_peer {
	uint8_t which; /* GATE_START_DIALLER, _BROKER or _RECORDER */
};

/* Totals since the start of the gate. */
struct message_gate_status {
	uint32_t connections; /* open now */
	uint64_t accepted;
	uint64_t requests;
	uint64_t denied;
	uint64_t up;
	uint64_t down;
	char policy[DIGEST_TEXT_SIZE]; /* in force */
};

/* MSG_HELLO, of every child. */
struct message_hello {
	uint16_t protocol;               /* MESSAGE_PROTOCOL */
	char role[16];                   /* "gate", "dialler", ... */
	char sandbox[SANDBOX_NAME_SIZE]; /* gates only */
	uint64_t generation;
	char policy[DIGEST_TEXT_SIZE]; /* in force, "" before a start */
};

void message_gate_net_encode(struct wr *w, const struct message_gate_net *m);
int message_gate_net_decode(struct rd *r, struct message_gate_net *ret);
void message_gate_start_encode(struct wr *w,
    const struct message_gate_start *m);
int message_gate_start_decode(struct rd *r, struct message_gate_start *ret);
void message_gate_policy_encode(struct wr *w,
    const struct message_gate_policy *m);
int message_gate_policy_decode(struct rd *r, struct message_gate_policy *ret);
void message_gate_policy_ack_encode(struct wr *w,
    const struct message_gate_policy_ack *m);
int message_gate_policy_ack_decode(struct rd *r,
    struct message_gate_policy_ack *ret);
void message_gate_peer_encode(struct wr *w, const struct message_gate_peer *m);
int message_gate_peer_decode(struct rd *r, struct message_gate_peer *ret);
void message_gate_status_encode(struct wr *w,
    const struct message_gate_status *m);
int message_gate_status_decode(struct rd *r, struct message_gate_status *ret);
void message_hello_encode(struct wr *w, const struct message_hello *m);
int message_hello_decode(struct rd *r, struct message_hello *ret);

#endif
