/*
 * Packets of a channel on their socket (SOCK_SEQPACKET). Nothing here waits.
 */
#ifndef TAPWARD_BASE_PACKET_SOCKET_H
#define TAPWARD_BASE_PACKET_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/bytes.h"

/* Most descriptors that one packet may bring: unix(7), SCM_MAX_FD. */
#define PACKET_FDS_MAX 253
/* Packets that one call takes. */
#define PACKET_MANY_MAX 32

/* Sends one; fds are duplicated by the kernel. 0 or -errno. */
int packet_send(int fd, struct iovec *iov, size_t iov_len, const int *fds,
    unsigned int fd_count);

/*
 * Takes one of at most size bytes. 1; 0 at the end, like which an empty packet
 * reads; -EMSGSIZE for one that is larger, or brought more than CHAN_FDS_MAX
 * descriptors; or another -errno. Descriptors are the caller's after 1 only.
 */
int packet_receive(int fd, uint8_t *buf, size_t size, size_t *ret_len,
    int ret_fds[PACKET_FDS_MAX], unsigned int *ret_fd_count);

/*
 * Takes as many as are there, each into a slot of slot bytes, as far as buf
 * (size bytes) and PACKET_MANY_MAX go. Returns how many, or -errno. A span with
 * a NULL pointer is one that was larger, or brought descriptors, which are
 * closed; one of no bytes is the end.
 */
int packet_receive_many(int fd, uint8_t *buf, size_t size, size_t slot,
    struct span ret[PACKET_MANY_MAX]);
/* How many that can be at once. */
size_t packet_many_slots(size_t size, size_t slot);

#endif
