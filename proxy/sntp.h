/*
 * The time of the host, for a guest that wakes from a snapshot.
 */
#ifndef TAPWARD_PROXY_SNTP_H
#define TAPWARD_PROXY_SNTP_H

#include "proxy/gate.h"

struct sntp;

/* Answers on the UDP socket fd, which is borrowed. NULL: no memory. */
struct sntp *sntp_start(struct gate *g, int fd);
void sntp_stop(struct sntp *s); /* NULL is fine */

#endif
