/*
 * The inside of one packet of a channel: its head, and the judgement of a
 * received one against the receiver's table. No socket, no event loop.
 */
#ifndef TAPWARD_BASE_PACKET_H
#define TAPWARD_BASE_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/channel.h"

struct packet_head {
	uint8_t version;
	uint8_t fd_count;
	uint16_t type;
	uint32_t id;
};

void packet_write_head(
    uint8_t ret[CHAN_HEADER_BYTES], const struct packet_head *head);

/*
 * Hands the packet to the handler of its row. fds are fd_count descriptors
 * that came with it; all are taken: those that the handler leaves are closed,
 * and all of them if the packet is refused.
 *
 * 0, the handler's error, or -EBADMSG: shorter than its head, or bytes left
 * over or missing in the body; -EPROTONOSUPPORT: another version; -ENOMSG: a
 * type without a row; -EMSGSIZE: a body over the row's limit; -EBADF: other
 * descriptors than the head or the row says.
 */
int packet_dispatch(struct chan *c, const struct chan_rule *rules,
    size_t rule_count, struct span packet, const int *fds,
    unsigned int fd_count, void *arg);

#endif
