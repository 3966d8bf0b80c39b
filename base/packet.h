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

void packet_write_head(uint8_t ret[CHAN_HEADER_BYTES],
    const struct packet_head *head);

/* A received packet, borrowed, and the descriptors that came with it. */
struct packet_in {
	struct span bytes;
	const int *fds;
	unsigned int fd_count;
};

/*
 * Hands the packet to the handler of its row. Takes its descriptors: those
 * that the handler leaves are closed, and all of them if it is refused.
 *
 * 0, the handler's error, or -EBADMSG: shorter than its head, or bytes left
 * over or missing in the body; -EPROTONOSUPPORT: another version; -ENOMSG: a
 * type without a row; -EMSGSIZE: a body over the row's limit; -EBADF: other
 * descriptors than the head or the row says.
 */
int packet_dispatch(struct chan *c, const struct chan_rule *rules,
    size_t rule_count, const struct packet_in *packet, void *arg);

#endif
