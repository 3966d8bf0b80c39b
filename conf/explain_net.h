/*
 * What becomes of a question for a name and of a packet. Private to explain.c.
 */
#ifndef TAPWARD_CONF_EXPLAIN_NET_H
#define TAPWARD_CONF_EXPLAIN_NET_H

#include "conf/explain.h"

/* The target is none of these. */
#define EXPLAIN_NET_OTHER 1

/*
 * dns://NAME, udp://HOST-OR-ADDRESS:PORT, tcp://ADDRESS:PORT. 0 and ret,
 * -EINVAL and err, or EXPLAIN_NET_OTHER.
 */
int explain_net(const struct policy_pair *pair, const char *target,
    struct explanation *ret, struct err *err);
/* The line of notes of such an answer; nothing of another. */
void explain_net_write(struct wr *w, const struct explanation *e);

#endif
