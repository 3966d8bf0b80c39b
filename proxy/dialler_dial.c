/*
 * A dial from question to answer, see dialler_dial.h. The order of the steps
 * is the promise: no name leaves before the policy has allowed it, no packet
 * goes to an address before all of the answer was classified.
 */
#include "proxy/dialler_dial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "conf/record.h"
#include "conf/verdict.h"
#include "proxy/dialler_proxy.h"
#include "wire/host.h"

#define AREA "dialler"

/* How a dial ended. */
struct ending {
	enum reason reason; /* REASON_NONE: fd is connected */
	int fd;
	const struct address *address; /* connected or refused; NULL: none */
	const char *detail;            /* one word, "" without one */
	bool wants_answer;
};

static void
print_address(const struct address *a, uint16_t port,
    char ret[ADDRESS_TEXT_SIZE])
{
	char text[ADDRESS_TEXT_SIZE];
	struct wr w = wr_init(ret, ADDRESS_TEXT_SIZE - 1);

	ret[0] = '\0';
	if (a == NULL)
		return;
	wr_fmt(&w, a->family == ADDRESS_IPV6 ? "[%s]:%u" : "%s:%u",
	    address_format(a, text), port);
	ret[wr_ok(&w) ? w.len : 0] = '\0';
}

/*
 * The policy's verdict; scheme as asked must be the one it gives, or a gate
 * could speak raw TCP to a host that is to be inspected.
 */
static struct verdict
judge(const struct dialler_dial *dial)
{
	const struct policy_pair pair = dialler_sandbox_pair(dial->sandbox);
	const struct message_dial *m = &dial->asked;
	struct verdict v = m->is_redirect
	    ? policy_judge_redirect(&pair, m->host, m->port, NULL)
	    : policy_judge_dial(&pair, m->host, m->port);

	v = asked_dial(&dial->sandbox->asked, v, m->host, m->port);
	if (v.action == ACTION_ALLOW &&
	    v.scheme == (enum scheme)dial->asked.scheme)
		return v;
	if (v.reason == REASON_NONE)
		v.reason = v.action == ACTION_ASK ? REASON_ASK_TIMEOUT
						  : REASON_NO_RULE;
	v.action = ACTION_DENY;
	return v;
}

static uint32_t
us_between(uint64_t from, uint64_t to)
{
	return to - from > UINT32_MAX ? UINT32_MAX : (uint32_t)(to - from);
}

static void
write_down(const struct dialler_dial *dial, const struct verdict *v,
    const struct ending *e, const char *address, uint64_t now_us)
{
	struct audit_record r = audit_record_of(AUDIT_CONNECT, v);

	r.verdict = e->reason == REASON_NONE ? ACTION_ALLOW : ACTION_DENY;
	r.reason = e->reason;
	r.host = span_of(dial->asked.host);
	r.port = dial->asked.port;
	r.ms = us_between(dial->begun_us, now_us) / 1000;
	r.address = address;
	r.detail = span_of(e->detail);
	dialler_sandbox_audit(dial->sandbox, &r);
}

static void
answer(const struct dialler_dial *dial, const struct verdict *v,
    const struct ending *e, const char *address, uint64_t now_us)
{
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	const uint64_t resolved_us =
	    dial->resolved_us != 0 ? dial->resolved_us : now_us;
	struct message_dialed m = { .reason = e->reason,
		.by_ceiling = v->by_ceiling,
		.resolve_us = us_between(dial->begun_us, resolved_us),
		.connect_us = us_between(resolved_us, now_us) };

	/* No gate learns that there is a proxy, or where. */
	if (!dial->goes_by_proxy)
		(void)snprintf(m.address, sizeof(m.address), "%s", address);
	message_dialed_encode(&w, &m);
	/* A gate that is gone, or does not read, loses its channel. */
	(void)chan_send(dial->sandbox->gate, MSG_DIALED, dial->id, &w, &e->fd,
	    e->reason == REASON_NONE ? 1 : 0);
}

static void
dial_free(struct dialler_dial *dial)
{
	dialler_lookup_cancel(dial->lookup);
	dialler_connect_cancel(dial->connect);
	dialler_tunnel_cancel(dial->tunnel);
	LIST_REMOVE(dial, link);
	dial->sandbox->dial_count--;
	free(dial);
}

/* The only way a dial ends. Takes e->fd; frees the dial. */
static void
finish(struct dialler_dial *dial, const struct ending *e)
{
	AUTO_CLOSE int fd = e->fd;
	const uint64_t now_us = clock_mono_us();
	const struct verdict v = judge(dial);
	struct ending ending = *e;
	char address[ADDRESS_TEXT_SIZE];

	/* Refused by now, whatever came of it on the way. */
	if (v.action != ACTION_ALLOW)
		ending.reason = v.reason;
	print_address(e->address,
	    dial->goes_by_proxy ? dial->proxy_port : dial->asked.port, address);
	write_down(dial, &v, &ending, address, now_us);
	if (e->wants_answer)
		answer(dial, &v, &ending, address, now_us);
	(void)fd;
	dial_free(dial);
}

static void
refuse(struct dialler_dial *dial, enum reason reason,
    const struct address *address, const char *detail)
{
	const struct ending e = { .reason = reason,
		.fd = -1,
		.address = address,
		.detail = detail,
		.wants_answer = true };

	finish(dial, &e);
}

static enum reason
reason_of(int err)
{
	if (err == ETIMEDOUT)
		return REASON_TIMEOUT;
	return REASON_ORIGIN_UNREACHABLE;
}

/* Statuses of a gateway whose origin does not answer in time. */
static bool
is_late(enum dialler_tunnel_end end, unsigned int status)
{
	return end == DIALLER_TUNNEL_LATE ||
	    (end == DIALLER_TUNNEL_REFUSED && status == 504);
}

/* Once for each login: it is for the host to mend, and guests could repeat it.
 */
static void
note_login_refused(struct dialler *d)
{
	if (d->told_serial == d->config_serial)
		return;
	d->told_serial = d->config_serial;
	log_err(AREA,
	    "the proxy refuses us (407): proxy-user or proxy-password is "
	    "wrong");
}

static void
on_tunneled(int fd, enum dialler_tunnel_end end, unsigned int status, void *arg)
{
	struct dialler_dial *dial = arg;
	struct dialler *d = dial->sandbox->dialler;
	char word[DIALLER_PROXY_WORD_SIZE];
	struct ending e = { .fd = fd,
		.address = &dial->proxy,
		.detail = word,
		.wants_answer = true };

	dial->tunnel = NULL;
	dialler_proxy_word(end, status, word);
	if (end != DIALLER_TUNNEL_OPEN)
		e.reason = is_late(end, status) ? REASON_TIMEOUT
						: REASON_ORIGIN_UNREACHABLE;
	if (end == DIALLER_TUNNEL_REFUSED && status == 407)
		note_login_refused(d);
	finish(dial, &e);
}

/* Takes fd. */
static void
tunnel_through(struct dialler_dial *dial, int fd)
{
	const struct dialler *d = dial->sandbox->dialler;
	const uint64_t now_ms = clock_mono_ms();
	const struct dialler_tunnel_ask ask = {
		.fd = fd,
		.host = dial->asked.host,
		.port = dial->asked.port,
		.login = secret_span(&d->proxy_login),
		.may_speak_first = dial->asked.scheme == SCHEME_TCP,
		.timeout_ms = dial->until_mono_ms > now_ms
		    ? (uint32_t)(dial->until_mono_ms - now_ms)
		    : 1,
		.done = on_tunneled,
		.arg = dial,
	};

	dial->tunnel = dialler_tunnel_start(d->base, &ask);
	if (dial->tunnel == NULL)
		refuse(dial, REASON_ORIGIN_UNREACHABLE, &dial->proxy,
		    "proxy-ENOMEM");
}

static void
on_proxy_connected(int fd, int err, const struct address *a, void *arg)
{
	struct dialler_dial *dial = arg;
	AUTO_CLOSE int proxy = fd;

	dial->connect = NULL;
	dial->proxy = *a;
	if (fd == -1) {
		char word[DIALLER_PROXY_WORD_SIZE];

		(void)snprintf(word, sizeof(word), "proxy-%s",
		    strerrorname_np(err));
		refuse(dial, reason_of(err), &dial->proxy, word);
	} else if (dial->config_serial != dial->sandbox->dialler->config_serial)
		/* The login that we have now may be for another one. */
		refuse(dial, REASON_ORIGIN_UNREACHABLE, &dial->proxy,
		    "proxy-changed");
	else
		tunnel_through(dial, steal_fd(&proxy));
}

static void
on_connected(int fd, int err, const struct address *a, void *arg)
{
	struct dialler_dial *dial = arg;
	const struct ending e = { .reason =
				      fd == -1 ? reason_of(err) : REASON_NONE,
		.fd = fd,
		.address = a,
		.detail = fd == -1 ? strerrorname_np(err) : "",
		.wants_answer = true };

	dial->connect = NULL;
	if (err == EMFILE || err == ENFILE)
		log_err(AREA, "sandbox=%s: out of descriptors",
		    dial->sandbox->name);
	finish(dial, &e);
}

/* The first address that may not be dialled refuses all of them. */
static bool
refuse_addresses(struct dialler_dial *dial, const struct address *addresses,
    unsigned int count)
{
	const struct dialler *d = dial->sandbox->dialler;
	const struct dialler_host host = { .config = d->config,
		.addresses = d->addresses };

	for (unsigned int i = 0; i < count; i++) {
		const char *why = dialler_address_refusal(&host,
		    dial->asked.host, &addresses[i]);

		if (why == NULL)
			continue;
		refuse(dial, REASON_PRIVATE_ADDRESS, &addresses[i], why);
		return true;
	}
	return false;
}

/* To what was classified, or to the proxy, which the host names. */
static void
connect_to(struct dialler_dial *dial, const struct address *addresses,
    unsigned int count)
{
	const struct dialler *d = dial->sandbox->dialler;
	struct address tries[DIALLER_CONNECT_TRIES_MAX];
	struct dialler_connect_ask ask = { .addresses = tries,
		.port = dial->asked.port,
		.done = on_connected,
		.arg = dial };

	dial->resolved_us = clock_mono_us();
	if (dial->goes_by_proxy) {
		ask.port = dial->proxy_port;
		ask.done = on_proxy_connected;
	}
	ask.count = dialler_connect_order(addresses, count, d->has_ipv6, tries);
	ask.timeout_ms = d->config->limits.connect_timeout_ms;
	dial->until_mono_ms = clock_mono_ms() + ask.timeout_ms;
	dial->connect = dialler_connect_start(d->base, &ask);
	if (dial->connect == NULL)
		refuse(dial, REASON_ORIGIN_UNREACHABLE, NULL, "ENOMEM");
}

static void
go_on(struct dialler_dial *dial, const struct address *addresses,
    unsigned int count, enum dialler_fault why)
{
	if (count > 0 &&
	    (dial->goes_by_proxy || !refuse_addresses(dial, addresses, count)))
		connect_to(dial, addresses, count);
	else if (count == 0 && dial->goes_by_proxy)
		refuse(dial, REASON_ORIGIN_UNREACHABLE, NULL,
		    "proxy-unresolved");
	else if (count == 0)
		refuse(dial, REASON_RESOLVE_FAILED, NULL,
		    dialler_fault_word(why));
}

static void
on_resolved(const struct address *addresses, unsigned int count,
    enum dialler_fault why, void *arg)
{
	struct dialler_dial *dial = arg;

	dial->lookup = NULL;
	go_on(dial, addresses, count, why);
}

static void
resolve(struct dialler_dial *dial, const char *host)
{
	struct dialler_resolver *r = dial->sandbox->dialler->resolver;
	struct dialler_cached known;

	if (dialler_resolver_known(r, host, &known)) {
		go_on(dial, known.addresses, known.count,
		    DIALLER_FAULT_NO_NAME);
		return;
	}
	dial->lookup = dialler_resolver_ask(r, host, dial->sandbox->generation,
	    on_resolved, dial);
	if (dial->lookup == NULL)
		refuse(dial,
		    dial->goes_by_proxy ? REASON_ORIGIN_UNREACHABLE
					: REASON_RESOLVE_FAILED,
		    NULL, dialler_fault_word(DIALLER_FAULT_TOO_MANY));
}

/* The name of what is dialled goes to the proxy, and to no nameserver. */
static void
find_proxy(struct dialler_dial *dial)
{
	const struct dialler *d = dial->sandbox->dialler;
	const struct message_proxy *p = &d->config->proxy;
	struct address literal;

	dial->goes_by_proxy = true;
	dial->proxy_port = p->port;
	dial->config_serial = d->config_serial;
	if (!d->is_proxy_usable)
		refuse(dial, REASON_ORIGIN_UNREACHABLE, NULL, "proxy-password");
	else if (dialler_proxy_literal(p, &literal))
		connect_to(dial, &literal, 1);
	else
		resolve(dial, p->host);
}

static void
find_way(struct dialler_dial *dial)
{
	const struct message_dialler_config *c = dial->sandbox->dialler->config;

	/* By it a guest would get anywhere. */
	if (strcmp(dial->asked.host, c->proxy.host) == 0)
		refuse(dial, REASON_PRIVATE_ADDRESS, NULL, "proxy");
	else if (dialler_goes_by_proxy(c, dial->asked.host))
		find_proxy(dial);
	else
		resolve(dial, dial->asked.host);
}

/*
 * Names that no nameserver may be asked for, whatever a policy says: a single
 * label would be completed by a search list elsewhere, and localhost is not
 * a name of the DNS (RFC 6761 6.3).
 */
static enum reason
unresolvable(const char *host)
{
	char canonical[HOST_SIZE];
	const enum host_status status = host_parse(span_of(host), canonical);

	if (status == HOST_NAME)
		return REASON_NONE;
	return status == HOST_LOCALHOST ? REASON_PRIVATE_ADDRESS
					: REASON_RESOLVE_FAILED;
}

/* What stands against this dial before anything leaves the host. */
static enum reason
obstacle(const struct dialler_dial *dial)
{
	const struct dialler_sandbox *s = dial->sandbox;
	const struct verdict v = judge(dial);

	if (v.action != ACTION_ALLOW)
		return v.reason;
	if (!dialler_sandbox_can_audit(s))
		return REASON_AUDIT_UNAVAILABLE;
	if (s->dialler->config == NULL || s->dialler->addresses == NULL)
		return REASON_ORIGIN_UNREACHABLE;
	if (s->dial_count > s->dialler->config->limits.in_flight)
		return REASON_LIMIT_CONNECTIONS;
	return unresolvable(dial->asked.host);
}

int
dialler_dial_start(struct dialler_sandbox *s, uint32_t id,
    const struct message_dial *m)
{
	struct dialler_dial *dial = calloc(1, sizeof(*dial));
	enum reason reason;

	if (dial == NULL)
		return -ENOMEM;
	dial->sandbox = s;
	dial->id = id;
	dial->asked = *m;
	dial->begun_us = clock_mono_us();
	LIST_INSERT_HEAD(&s->dials, dial, link);
	s->dial_count++;
	reason = obstacle(dial);
	if (reason == REASON_NONE)
		find_way(dial);
	else
		refuse(dial, reason, NULL, "");
	return 0;
}

void
dialler_dial_rejudge(struct dialler_dial *dial)
{
	const struct verdict v = judge(dial);

	if (v.action != ACTION_ALLOW)
		refuse(dial, v.reason, NULL, "");
}

void
dialler_dial_cancel(struct dialler_dial *dial)
{
	const struct ending e = { .fd = -1, .detail = "cancelled" };

	if (dial == NULL)
		return;
	finish(dial, &e);
}

struct dialler_dial *
dialler_dial_find(struct dialler_sandbox *s, uint32_t id)
{
	struct dialler_dial *dial;

	LIST_FOREACH(dial, &s->dials, link)
	if (dial->id == id)
		return dial;
	return NULL;
}
