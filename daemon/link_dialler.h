/*
 * The way to tapward-dialler.
 */
#ifndef TAPWARD_DAEMON_LINK_DIALLER_H
#define TAPWARD_DAEMON_LINK_DIALLER_H

#include "base/message_dialler.h"
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
/*
 * What the first of these sends, for the broker, who resolves names too, and
 * goes by the same proxy. Returns what holds the proxy's password, which is
 * the caller's, or -1.
 */
int link_dialler_message(const struct supervisor *sv,
    struct message_dialler_config *ret);

#endif
