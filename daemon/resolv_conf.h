/*
 * The nameservers of a resolv.conf(5). Pure.
 */
#ifndef TAPWARD_DAEMON_RESOLV_CONF_H
#define TAPWARD_DAEMON_RESOLV_CONF_H

#include "base/bytes.h"
#include "base/message_dialler.h"

/*
 * "nameserver ADDRESS" lines, the first max of them; the count. Addresses with
 * a zone (fe80::1%eth0) and whatever else is no address are left out.
 */
unsigned int resolv_conf_parse(struct span text, struct message_resolver *ret,
    unsigned int max);

#endif
