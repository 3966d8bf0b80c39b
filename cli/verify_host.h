/*
 * Rows of verify that this host answers: the sandbox's network and its monitor
 * as the kernel shows them to anybody in /proc, and what the daemon wrote down.
 * A guest cannot see these by itself until they are its way out.
 */
#ifndef TAPWARD_CLI_VERIFY_HOST_H
#define TAPWARD_CLI_VERIFY_HOST_H

#include "cli/verify.h"

/* Nothing but lo and the device of the guest is in its network. */
bool verify_host_devices(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* Table main leads to the guest and nowhere else. */
bool verify_host_routes(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* No socket there waits for anybody but those of the gate. */
bool verify_host_sockets(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* tapward-vm and the monitor have a user of their own and no rights. */
bool verify_host_monitor(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* Neither the log nor the counters of the neighbour know of this guest. */
bool verify_host_neighbour(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* What the guest asks now is in the log. */
bool verify_host_log(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* The sandbox is removed, and its log is still there. Last of all. */
bool verify_host_log_after(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/*
 * A policy that names a credential which this host does not have is refused,
 * or, if it is not granted, its request is, not sent without; row->want is in
 * the answer then.
 */
bool verify_host_revoked(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* No sandbox is made whose guest would be in the network of this host. */
bool verify_host_isolation(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);
/* No sandbox is made of a policy with an error. */
bool verify_host_closed(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE]);

#endif
