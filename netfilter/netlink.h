/*
 * Requests to the kernel over netlink. The kernel answers within sendmsg(), so
 * nothing here waits: an answer that is not there is an error.
 */
#ifndef TAPWARD_NETFILTER_NETLINK_H
#define TAPWARD_NETFILTER_NETLINK_H

#include <libmnl/libmnl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of one answer; the kernel fills 8 or 32 KiB of a dump at a time. */
#define NETLINK_ANSWER_MAX 65536
/* Bytes of one request: an attribute holds 64 KiB, with some around it. */
#define NETLINK_REQUEST_MAX 66560

/*
 * Requests that go out in one sendmsg(). Only the first failure is kept: then
 * the later calls change nothing and netlink_batch_send() returns it.
 */
struct netlink_batch {
	char *buf; /* owned */
	size_t size, len;
	unsigned int acks; /* requests that asked for one */
	uint32_t seq;
	int rc;
};

/* A socket of bus (NETLINK_ROUTE, ...), close-on-exec. 0 or -errno. */
int netlink_open(int bus, int *ret_fd);
/* As netlink_open(), bound to a multicast group and non-blocking. */
int netlink_watch(int bus, unsigned int group, int *ret_fd);

void netlink_batch_init(struct netlink_batch *b);
void netlink_batch_done(struct netlink_batch *b);
/*
 * A header for the next request, with room for NETLINK_REQUEST_MAX bytes in
 * all; NULL after a failure. flags as in struct nlmsghdr. Filled with mnl_
 * calls, it is taken into the batch by netlink_batch_push().
 */
struct nlmsghdr *netlink_batch_next(struct netlink_batch *b, uint16_t type,
    uint16_t flags);
void netlink_batch_push(struct netlink_batch *b, struct nlmsghdr *nlh);

/*
 * Sends the batch and reads the answers: 0 when each request that asked for
 * an acknowledgement got it, else the first -errno, with the sequence number
 * it is about in *ret_seq (which may be NULL).
 */
int netlink_batch_send(int fd, const struct netlink_batch *b,
    uint32_t *ret_seq);

/*
 * Sends one request and calls fn for each message of the answer. how is
 * NLM_F_DUMP, or NLM_F_ACK for a question about one thing. -EINTR when a dump
 * is torn by a change: ask again. 0 or -errno.
 */
int netlink_ask(int fd, struct nlmsghdr *request, uint16_t how, mnl_cb_t fn,
    void *arg);

/*
 * The first attribute of that type in a message, whose own header is of
 * header_bytes; NULL without one. As a number, 0 if it is absent or of
 * another length.
 */
const struct nlattr *netlink_attr(const struct nlmsghdr *nlh,
    size_t header_bytes, uint16_t type);
uint32_t netlink_attr_u32(const struct nlmsghdr *nlh, size_t header_bytes,
    uint16_t type);

/*
 * Calls fn for all that waits on a watching socket. *ret_lost: the kernel had
 * to drop events, so anything may have happened. 0 or -errno.
 */
int netlink_drain(int fd, mnl_cb_t fn, void *arg, bool *ret_lost);

#endif
