/*
 * The way to tapward-broker.
 */
#ifndef TAPWARD_DAEMON_LINK_BROKER_H
#define TAPWARD_DAEMON_LINK_BROKER_H

#include <sys/types.h>

#include "base/message_broker.h"
#include "daemon/service.h"

struct policy_set;
struct sandbox;

extern const struct service_spec link_broker_spec;

/* Both ends are borrowed. 0, -EAGAIN while it is down, or -errno. */
int link_broker_attach(const struct sandbox *s, int gate_fd, int recorder_fd,
    ask_done *done, void *arg);
int link_broker_policy(const struct sandbox *s, const struct policy_set *policy,
    ask_done *done, void *arg);
/* A credential that says `metadata = yes` is granted to it. */
bool link_broker_grants_metadata(const struct sandbox *s);
/* Names of the owner and of its groups, for `NAME user:X` in grants. */
void link_broker_fill_owner(struct message_broker_attach *m, uid_t uid);
void link_broker_detach(const struct sandbox *s);
/*
 * Hands over every [credential] with its source opened; one that cannot be
 * opened is left out and told. The broker takes them over whole or not at all.
 */
void link_broker_configure(struct supervisor *sv);
/* By which nameservers and proxy it finds its issuers. */
void link_broker_upstream(struct supervisor *sv);
/* By which roots it knows them, once there are some. */
void link_broker_roots(struct supervisor *sv);

#endif
