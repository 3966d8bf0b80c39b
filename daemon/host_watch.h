/*
 * What of the host our children need and cannot see: its addresses, its
 * resolvers, its CA bundle; read when asked, watched for changes.
 */
#ifndef TAPWARD_DAEMON_HOST_WATCH_H
#define TAPWARD_DAEMON_HOST_WATCH_H

#include "base/message_dialler.h"

struct supervisor;
struct host_watch;

/* Files are looked at this often; addresses come by netlink. */
#define HOST_WATCH_FILES_MS 2000
/* A burst of address events is one change. */
#define HOST_WATCH_SETTLE_MS 100

/* 0 or -errno. */
int host_watch_start(struct supervisor *sv);
void host_watch_stop(struct supervisor *sv);

/* All addresses of this host. 0 or -errno. */
int host_watch_addresses(struct message_dialler_addresses *ret);
/* The nameservers of /etc/resolv.conf; the count. */
unsigned int host_watch_resolvers(struct message_resolver *ret,
    unsigned int max);

#endif
