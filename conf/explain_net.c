/*
 * A name is judged by what the gate's DNS asks, a packet by what the policy
 * puts into the sets of the ruleset. What is not the policy's to say (DNS and
 * time reach the gate, all else that is no TCP is refused) is said here.
 */
#include "conf/explain_net.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf/image.h"
#include "wire/address.h"
#include "wire/authority.h"

/* Where addresses of names come from (netfilter/plan.h), by default. */
#define SYNTHETIC_NET 0xc6120000u /* 198.18.0.0/15 */
#define SYNTHETIC_MASK 0xfffe0000u
#define PORTS_MAX 256
#define PORT_DNS 53
#define PORT_TIME 123
#define PORT_HTTP 80
#define PORT_HTTPS 443

static bool
takes_scheme(const char *target, const char *scheme, const char **ret_rest)
{
	size_t len = strlen(scheme);
	struct span head = { (const uint8_t *)target, strnlen(target, len) };

	if (!span_is_case(head, scheme))
		return false;
	*ret_rest = target + len;
	return true;
}

/* Denied before a name is read: no rule, the line of [policy]. */
static void
refuse_packet(const struct policy_pair *pair, enum reason reason, uint16_t port,
    struct explanation *e)
{
	e->is_packet = true;
	e->port = port;
	e->verdict = (struct verdict){ .action = ACTION_DENY,
		.reason = reason,
		.rule = "-",
		.file = pair->policy != NULL ? pair->policy->file : "-",
		.line = pair->policy != NULL ? pair->policy->line : 0,
		.say = "",
		.credential = "" };
	(void)verdict_code(&e->verdict, e->code);
}

static int
explain_name(const struct policy_pair *pair, const char *name,
    struct explanation *ret, struct err *err)
{
	struct explanation e = { .is_name = true };
	enum host_status status = host_parse(span_of(name), e.host);

	if (status != HOST_NAME)
		return err_at(err, NULL, 0,
		    "%s: the gate answers that there is no such name: %s", name,
		    host_status_text(status));
	e.verdict = policy_judge_name(pair, e.host);
	e.address = policy_tcp_address(pair, e.host);
	(void)verdict_code(&e.verdict, e.code);
	if (e.verdict.reason == REASON_NO_RULE)
		(void)snprintf(e.hint, sizeof(e.hint),
		    "%sadd to %s: [allow NAME] with `host = %s`",
		    e.verdict.by_ceiling ? "the host's administrator can " : "",
		    e.verdict.file, e.host);
	*ret = e;
	return 0;
}

/* "ADDRESS:PORT" of IPv4; false when it is not that. */
static bool
parse_packet(const char *rest, uint32_t *ret_address, uint16_t *ret_port)
{
	const char *colon = strrchr(rest, ':');
	struct address a;
	struct span host;

	if (colon == NULL ||
	    !authority_parse_port(span_of(colon + 1), ret_port))
		return false;
	host = (struct span){ (const uint8_t *)rest, (size_t)(colon - rest) };
	if (!address_parse(host, &a) || memchr(host.ptr, ':', host.len) != NULL)
		return false;
	*ret_address = address_to_ipv4(&a);
	return true;
}

static bool
reaches_gate(const struct policy_pair *pair, uint32_t address, uint16_t port)
{
	uint16_t ports[PORTS_MAX];
	size_t count = policy_ports(pair, ports, PORTS_MAX);
	bool is_open = port == PORT_HTTP || port == PORT_HTTPS;

	if ((address & SYNTHETIC_MASK) != SYNTHETIC_NET)
		return false;
	for (size_t i = 0; i < count && i < PORTS_MAX; i++)
		is_open = is_open || ports[i] == port;
	return is_open;
}

static int
explain_tcp(const struct policy_pair *pair, const char *rest, uint32_t address,
    uint16_t port, struct explanation *ret, struct err *err)
{
	struct explanation e = { .scheme = SCHEME_TCP, .port = port };
	struct policy_tcp tcp;

	if (policy_tcp_find(pair, address, port, &tcp)) {
		(void)snprintf(e.host, sizeof(e.host), "%s", tcp.host);
		e.address = address;
		e.verdict = policy_judge_connect(pair, tcp.host, port);
		e.is_connection_denied = e.verdict.action == ACTION_DENY;
		(void)verdict_code(&e.verdict, e.code);
	} else if (reaches_gate(pair, address, port)) {
		return err_at(err, NULL, 0,
		    "%s leads to the gate, which judges the name in the "
		    "connection: ask for https://NAME:%u/",
		    rest, port);
	} else {
		refuse_packet(pair, REASON_PACKET_TCP, port, &e);
		(void)snprintf(e.hint, sizeof(e.hint),
		    "name the host in a rule, with `port = %u`, and let the "
		    "guest ask for its name: no address is let through",
		    port);
	}
	*ret = e;
	return 0;
}

static int
explain_udp(const struct policy_pair *pair, const char *rest,
    struct explanation *ret, struct err *err)
{
	struct explanation e = { .scheme = SCHEME_TCP };
	const char *colon = strrchr(rest, ':');
	uint16_t port;
	size_t len;

	if (colon == NULL || !authority_parse_port(span_of(colon + 1), &port))
		return err_at(err, NULL, 0, "udp:// needs a host and a port");
	if (port == PORT_DNS)
		return err_at(err, NULL, 0,
		    "questions for names go to the gate, whoever they are "
		    "sent to: ask for dns://NAME");
	if (port == PORT_TIME)
		return err_at(err, NULL, 0,
		    "the gateway answers what time it is (SNTP), without a "
		    "rule; another host is not reached");
	len = (size_t)(colon - rest);
	if (len >= sizeof(e.host))
		return err_at(err, NULL, 0, "that is too long for a host");
	memcpy(e.host, rest, len);
	refuse_packet(pair, REASON_PACKET_UDP, port, &e);
	(void)snprintf(e.hint, sizeof(e.hint),
	    "nothing in a policy opens UDP: HTTP/3 falls back to TCP by "
	    "itself, other protocols have to be carried over it");
	*ret = e;
	return 0;
}

int
explain_net(const struct policy_pair *pair, const char *target,
    struct explanation *ret, struct err *err)
{
	const char *rest;
	uint32_t address;
	uint16_t port;

	if (takes_scheme(target, "dns://", &rest))
		return explain_name(pair, rest, ret, err);
	if (takes_scheme(target, "udp://", &rest))
		return explain_udp(pair, rest, ret, err);
	if (takes_scheme(target, "tcp://", &rest) &&
	    parse_packet(rest, &address, &port))
		return explain_tcp(pair, rest, address, port, ret, err);
	return EXPLAIN_NET_OTHER;
}

void
explain_net_write(struct wr *w, const struct explanation *e)
{
	if (e->is_packet)
		wr_fmt(w, "note:    the guest is told at once: %s\n",
		    e->verdict.reason == REASON_PACKET_UDP
			? "ICMP, administratively prohibited"
			: "a reset");
	else if (e->is_name && e->address != 0)
		wr_fmt(w,
		    "note:    the name is answered with an address of its "
		    "own, %u.%u.%u.%u in the default range\n",
		    e->address >> 24, e->address >> 16 & 0xff,
		    e->address >> 8 & 0xff, e->address & 0xff);
	else if (e->is_name)
		wr_text(w,
		    "note:    the name is answered with an address for the "
		    "moment, allowed or not: a refusal is read where the "
		    "connection is judged\n");
}
