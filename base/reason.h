/*
 * Why something was refused. One stable code each, the same in the audit log,
 * `tapward explain`, metrics and the answer to a guest.
 */
#ifndef TAPWARD_BASE_REASON_H
#define TAPWARD_BASE_REASON_H

#include <stdbool.h>

enum reason {
	REASON_NONE, /* nothing was refused */
	REASON_NO_RULE,
	REASON_DENIED_BY_RULE,
	REASON_PORT,
	REASON_METHOD,
	REASON_PATH,
	REASON_QUERY,
	REASON_HOST_MISMATCH,
	REASON_BAD_REQUEST,
	REASON_BAD_RESPONSE,
	REASON_NO_SNI,
	REASON_ECH,
	REASON_NOT_HTTP,
	REASON_WEBSOCKET,
	REASON_GIT_REF,
	REASON_GUEST_TLS,
	REASON_PRIVATE_ADDRESS,
	REASON_RESOLVE_FAILED,
	REASON_ORIGIN_UNREACHABLE,
	REASON_ORIGIN_TLS,
	REASON_TIMEOUT,
	REASON_LIMIT_CONNECTIONS,
	REASON_LIMIT_REQUESTS,
	REASON_LIMIT_RATE,
	REASON_LIMIT_UPLOAD,
	REASON_LIMIT_DOWNLOAD,
	REASON_LIMIT_HEAD,
	REASON_LIMIT_MINT,
	REASON_LIMIT_DNS,
	REASON_UNTIL,
	REASON_CREDENTIAL_UNAVAILABLE,
	REASON_CREDENTIAL_MISUSE,
	REASON_CREDENTIAL_LEAK,
	REASON_ASK_TIMEOUT,
	REASON_ASK_DENIED,
	REASON_NO_POLICY,
	REASON_POLICY_RELOADED,
	REASON_GATE_RESTART,
	REASON_AUDIT_UNAVAILABLE,
	/* A packet that the ruleset dropped or refused. */
	REASON_PACKET_ETHERTYPE,
	REASON_PACKET_SOURCE, /* MAC or address that is not the guest's */
	REASON_PACKET_ARP,
	REASON_PACKET_FRAGMENT,
	REASON_PACKET_OPTIONS,
	REASON_PACKET_ICMP,
	REASON_PACKET_TCP,
	REASON_PACKET_UDP,
	REASON_PACKET_PROTOCOL,
	REASON_PACKET_OTHER,
	REASON_COUNT
};

/* Those of packets come last; counters of them are indexed from here. */
#define REASON_PACKET_FIRST REASON_PACKET_ETHERTYPE
#define REASON_PACKET_COUNT (REASON_COUNT - REASON_PACKET_FIRST)

/* "no-rule"; "" for REASON_NONE. */
const char *reason_code(enum reason r);
/* One clause for a person: "no rule names this host". */
const char *reason_text(enum reason r);
/* The inverse of reason_code(). */
bool reason_find(const char *code, enum reason *ret);
/*
 * The status of an answer to an HTTP request: 403 for a refusal that stays,
 * 4xx for a request that is wrong in itself, 502, 503, 504 only for what a
 * retry can mend (npm retries those for over a minute).
 */
unsigned int reason_http_status(enum reason r);

#endif
