/*
 * The dialler: the one process of ours that connects to origins, for all
 * sandboxes. It is asked (sandbox, host, port) by gates, which it does not
 * trust: it judges them again by the sandbox's policy, only then resolves,
 * classifies every address, connects to exactly those, and hands back the
 * descriptor. It never sees a byte of a guest or of an origin: of a forward
 * proxy it reads the answer to CONNECT, and no further.
 *
 * Nothing is dialled before the supervisor has sent both MSG_DIALLER_CONFIG
 * and MSG_DIALLER_ADDRESSES.
 */
#ifndef TAPWARD_PROXY_DIALLER_H
#define TAPWARD_PROXY_DIALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/channel.h"
#include "base/message_dialler.h"
#include "base/secret.h"
#include "proxy/dialler_address.h"
#include "proxy/dialler_resolve.h"

struct event_base;
struct dialler_sandbox;

struct dialler {
	struct event_base *base;
	struct chan *supervisor; /* borrowed; NULL while there is none */
	struct dialler_resolver *resolver;
	struct message_dialler_config *config;       /* NULL until it came */
	unsigned int config_serial;                  /* another one each time */
	struct message_dialler_addresses *addresses; /* NULL until they came */
	bool has_ipv6;
	struct secret proxy_login; /* value of Proxy-Authorization */
	bool is_proxy_usable;      /* false: its login is missing */
	unsigned int told_serial;  /* config_serial at the last 407 */
	LIST_HEAD(dialler_sandboxes, dialler_sandbox) sandboxes;
};

/* Before the process is sealed (dialler_ares.h). 0 or -errno. */
int dialler_new(struct event_base *base, struct dialler **ret);
void dialler_free(struct dialler *d); /* NULL is fine */
/* A supervisor is there (again), or gone (NULL). */
void dialler_meet(struct dialler *d, struct chan *supervisor);

/* What the supervisor may send; the handlers' argument is the dialler. */
#define DIALLER_RULE_COUNT 7
extern const struct chan_rule dialler_rules[DIALLER_RULE_COUNT];

#endif
