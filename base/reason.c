/*
 * The reasons, one row each. A code is for ever: logs and scripts hold it.
 */
#include "base/reason.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

struct reason_row {
	const char *code;
	const char *text;
	unsigned int status; /* RFC 9110 15, RFC 6585 */
};

static const struct reason_row rows[] = {
	[REASON_NONE] = { "", "nothing was refused", 403 },
	[REASON_NO_RULE] = { "no-rule", "no rule names this host", 403 },
	[REASON_DENIED_BY_RULE] = { "denied-by-rule", "a rule denies this",
	    403 },
	[REASON_PORT] = { "port", "no rule for this host names this port",
	    403 },
	[REASON_METHOD] = { "method",
	    "no rule for this host allows this method", 403 },
	[REASON_PATH] = { "path", "no rule for this host allows this path",
	    403 },
	[REASON_QUERY] = { "query", "no rule for this path allows this query",
	    403 },
	[REASON_HOST_MISMATCH] = { "host-mismatch",
	    "the request names another host than its connection", 421 },
	[REASON_BAD_REQUEST] = { "bad-request",
	    "the request is malformed or can be read in two ways", 400 },
	[REASON_BAD_RESPONSE] = { "bad-response",
	    "the origin's answer is malformed or can be read in two ways",
	    502 },
	[REASON_NO_SNI] = { "no-sni",
	    "the TLS handshake names no valid host (SNI)", 403 },
	[REASON_ECH] = { "ech",
	    "the TLS handshake hides the name of its host (ECH)", 403 },
	[REASON_NOT_HTTP] = { "not-http", "the bytes on this port are not HTTP",
	    400 },
	[REASON_WEBSOCKET] = { "websocket", "WebSocket is not allowed here",
	    403 },
	[REASON_GIT_REF] = { "git-ref", "no rule allows a push to this ref",
	    403 },
	[REASON_GUEST_TLS] = { "guest-tls",
	    "the guest broke off the TLS handshake", 403 },
	[REASON_PRIVATE_ADDRESS] = { "private-address",
	    "the name leads to an address that is not public", 403 },
	[REASON_RESOLVE_FAILED] = { "resolve-failed",
	    "the name of the origin could not be resolved", 502 },
	[REASON_ORIGIN_UNREACHABLE] = { "origin-unreachable",
	    "no connection to the origin could be made", 502 },
	[REASON_ORIGIN_TLS] = { "origin-tls",
	    "the origin's TLS or its certificate did not verify", 403 },
	[REASON_TIMEOUT] = { "timeout", "the origin took too long", 504 },
	[REASON_LIMIT_CONNECTIONS] = { "limit-connections",
	    "the sandbox has as many connections as it may", 503 },
	[REASON_LIMIT_REQUESTS] = { "limit-requests",
	    "the rule's number of requests is used up", 403 },
	[REASON_LIMIT_RATE] = { "limit-rate",
	    "the rule's rate of requests is exceeded", 429 },
	[REASON_LIMIT_UPLOAD] = { "limit-upload",
	    "the rule's upload budget is used up", 403 },
	[REASON_LIMIT_DOWNLOAD] = { "limit-download",
	    "the rule's download budget is used up", 403 },
	[REASON_LIMIT_HEAD] = { "limit-head", "the request's head is too large",
	    431 },
	[REASON_LIMIT_MINT] = { "limit-mint",
	    "the sandbox asks for too many new host names a second", 429 },
	[REASON_LIMIT_DNS] = { "limit-dns",
	    "the sandbox sends too many DNS queries a second", 429 },
	[REASON_UNTIL] = { "until", "the rule has ended", 403 },
	[REASON_CREDENTIAL_UNAVAILABLE] = { "credential-unavailable",
	    "the credential that the rule names cannot be had now", 503 },
	[REASON_CREDENTIAL_MISUSE] = { "credential-misuse",
	    "the credential is not for this request", 403 },
	[REASON_CREDENTIAL_LEAK] = { "credential-leak",
	    "the origin's answer repeats the credential", 403 },
	[REASON_ASK_TIMEOUT] = { "ask-timeout",
	    "nobody answered the question in time", 403 },
	[REASON_ASK_DENIED] = { "ask-denied", "who was asked said no", 403 },
	[REASON_NO_POLICY] = { "no-policy", "the sandbox has no valid policy",
	    403 },
	[REASON_POLICY_RELOADED] = { "policy-reloaded",
	    "a new policy has ended this connection", 503 },
	[REASON_GATE_RESTART] = { "gate-restart",
	    "the sandbox's gate has ended", 503 },
	[REASON_AUDIT_UNAVAILABLE] = { "audit-unavailable",
	    "the audit log cannot be written", 503 },
	[REASON_PACKET_ETHERTYPE] = { "packet-ethertype",
	    "the frame is neither IPv4 nor ARP", 403 },
	[REASON_PACKET_SOURCE] = { "packet-source",
	    "the packet's source is not the guest's", 403 },
	[REASON_PACKET_ARP] = { "packet-arp",
	    "the ARP packet does not ask for the gateway", 403 },
	[REASON_PACKET_FRAGMENT] = { "packet-fragment",
	    "the packet is a fragment", 403 },
	[REASON_PACKET_OPTIONS] = { "packet-options",
	    "the packet carries IP options", 403 },
	[REASON_PACKET_ICMP] = { "packet-icmp", "ICMP is not let through",
	    403 },
	[REASON_PACKET_TCP] = { "packet-tcp",
	    "TCP to this address and port is not let through", 403 },
	[REASON_PACKET_UDP] = { "packet-udp",
	    "UDP to this address and port is not let through", 403 },
	[REASON_PACKET_PROTOCOL] = { "packet-protocol",
	    "this IP protocol is not let through", 403 },
	[REASON_PACKET_OTHER] = { "packet-other",
	    "no rule lets this packet through", 403 },
};

static_assert(sizeof(rows) / sizeof(rows[0]) == REASON_COUNT,
    "each reason has a row");

static const struct reason_row *
row_of(enum reason r)
{
	assert((unsigned int)r < REASON_COUNT);
	return &rows[r];
}

const char *
reason_code(enum reason r)
{
	return row_of(r)->code;
}

const char *
reason_text(enum reason r)
{
	return row_of(r)->text;
}

bool
reason_find(const char *code, enum reason *ret)
{
	for (int i = 0; i < REASON_COUNT; i++) {
		if (strcmp(rows[i].code, code) == 0) {
			*ret = (enum reason)i;
			return true;
		}
	}
	return false;
}

unsigned int
reason_http_status(enum reason r)
{
	return row_of(r)->status;
}
