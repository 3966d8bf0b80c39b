/*
 * DNS by UDP. The socket is transparent and bound to port 53 of no address: a
 * question sent to any server reaches it, and its answer leaves from the
 * address that was asked, or a resolver would not take it.
 */
#include "proxy/dns.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <event2/event.h>

#include "wire/dns.h"

/* Packets in one turn of the loop. */
#define PER_TURN 16
/* A question with EDNS options is far below it; a longer one is cut, and
 * then malformed. */
#define QUESTION_MAX_BYTES 2048

struct dns_udp {
	struct gate *gate;
	struct event *event;
};

union pktinfo_space {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct in_pktinfo))];
};

/* The address that was asked; false if the kernel did not say. */
static bool
asked_address(struct msghdr *m, struct in_addr *ret)
{
	struct in_pktinfo info;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c != NULL;
	     c = CMSG_NXTHDR(m, c)) {
		if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_PKTINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		*ret = info.ipi_addr;
		return true;
	}
	return false;
}

static void
send_from(int fd, struct in_addr source, struct sockaddr_in *to,
    const struct wr *answer)
{
	struct in_pktinfo info = { .ipi_spec_dst = source };
	union pktinfo_space space;
	struct iovec iov = { answer->buf, answer->len };
	struct msghdr m = { .msg_name = to,
		.msg_namelen = sizeof(*to),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space.bytes,
		.msg_controllen = sizeof(space.bytes) };
	struct cmsghdr *c;

	memset(&space, 0, sizeof(space));
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	/* Lost like any packet if the socket is full. */
	(void)sendmsg(fd, &m, MSG_DONTWAIT);
}

/* False when the socket is empty. */
static bool
answer_one(struct dns_udp *u, int fd)
{
	uint8_t in[QUESTION_MAX_BYTES], out[DNS_ANSWER_MAX_BYTES];
	union pktinfo_space space;
	struct sockaddr_in from;
	struct iovec iov = { in, sizeof(in) };
	struct msghdr m = { .msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = space.bytes,
		.msg_controllen = sizeof(space.bytes) };
	struct wr w = wr_init(out, sizeof(out));
	struct in_addr asked;
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT);

	if (n == -1)
		return false;
	if (m.msg_namelen != sizeof(from) || !asked_address(&m, &asked))
		return true;
	if (dns_answer(u->gate, (struct span){ in, (size_t)n }, true, &w))
		send_from(fd, asked, &from, &w);
	return true;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct dns_udp *u = arg;

	(void)what;
	for (int i = 0; i < PER_TURN; i++)
		if (!answer_one(u, fd))
			return;
}

struct dns_udp *
dns_udp_start(struct gate *g, int fd)
{
	struct dns_udp *u = calloc(1, sizeof(*u));
	int on = 1;

	if (u == NULL)
		return NULL;
	u->gate = g;
	u->event = event_new(g->base, fd, EV_READ | EV_PERSIST, on_readable, u);
	if (u->event == NULL ||
	    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on)) == -1 ||
	    event_add(u->event, NULL) == -1) {
		dns_udp_stop(u);
		return NULL;
	}
	return u;
}

void
dns_udp_stop(struct dns_udp *u)
{
	if (u == NULL)
		return;
	if (u->event != NULL)
		event_free(u->event);
	free(u);
}
