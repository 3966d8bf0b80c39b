/*
 * The way to tapward-dialler.
 */
#ifndef TAPWARD_DAEMON_LINK_DIALLER_H
#define TAPWARD_DAEMON_LINK_DIALLER_H

#include "base/message_dialler.h"
#include "daemon/resolver_watch.h"
#include "daemon/service.h"

struct policy_set;
struct sandbox;

extern const struct service_spec link_dialler_spec;

/* Both ends are borrowed. 0, -EAGAIN while it is down, or -errno. */
int link_dialler_attach(const struct sandbox *s, int gate_fd, int recorder_fd,
    ask_done *done, void *arg);
int link_dialler_policy(const struct sandbox *s,
    const struct policy_set *policy, ask_done *done, void *arg);
void link_dialler_detach(const struct sandbox *s);
/* What the host's configuration and resolv.conf say, and its addresses. */
void link_dialler_configure(struct supervisor *sv);
void link_dialler_addresses(struct supervisor *sv);
/* The resolvers that are in force, those of resolv.conf included. */
void link_dialler_resolvers(const struct supervisor *sv,
    struct message_dialler_config *ret);
/*
 * What link_dialler_configure() sends, for the broker, who resolves names too,
 * and goes by the same proxy. Returns how many descriptors come with it, which
 * are the caller's to close.
 */
unsigned int link_dialler_message(const struct supervisor *sv,
    struct message_dialler_config *ret, int ret_fds[DIALLER_CONFIG_FDS_MAX]);
/* There is a new index of roots: whoever verifies resolvers by it is told. */
void link_dialler_roots(struct supervisor *sv);
/* msg says how the resolvers of s are. 0, or what is wrong with it. */
int link_dialler_heard(const struct service *s, enum resolver_role role,
    struct chan_msg *msg);
/*
 * Asks how the resolvers are; when done hears 0, sv->resolvers knows.
 * 0, -EAGAIN while it is down, or -errno.
 */
int link_dialler_status(struct supervisor *sv, ask_done *done, void *arg);

#endif
