/*
 * Netlink transport shared by rtnetlink, nftables and NFLOG requests.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "netfilter/netlink.h"

#define SOCKET_BUFFER_BYTES (1 << 20)
/* Whoever makes more events than this at once does not get us all day. */
#define DRAIN_MAX 256

int
netlink_open(int bus, int *ret_fd)
{
	AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, bus);
	struct sockaddr_nl self = { .nl_family = AF_NETLINK };
	int size = SOCKET_BUFFER_BYTES;

	if (fd == -1)
		return -errno;
	if (bind(fd, (struct sockaddr *)&self, sizeof(self)) == -1)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) ==
	    -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int
netlink_watch(int bus, unsigned int group, int *ret_fd)
{
	AUTO_CLOSE int fd = -1;
	int rc = netlink_open(bus, &fd);

	if (rc != 0)
		return rc;
	if (setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
		sizeof(group)) == -1)
		return -errno;
	rc = fd_set_nonblock(fd, true);
	if (rc == 0)
		*ret_fd = steal_fd(&fd);
	return rc;
}

void
netlink_batch_init(struct netlink_batch *b)
{
	*b = (struct netlink_batch){ .seq = 1 };
}

void
netlink_batch_done(struct netlink_batch *b)
{
	free(b->buf);
	*b = (struct netlink_batch){ 0 };
}

/* Room for the largest request after what is there already. */
static bool
batch_grow(struct netlink_batch *b)
{
	size_t size = 2 * (b->len + NETLINK_REQUEST_MAX);
	char *buf;

	if (b->size >= b->len + NETLINK_REQUEST_MAX)
		return true;
	buf = realloc(b->buf, size);
	if (buf == NULL) {
		b->rc = -ENOMEM;
		return false;
	}
	b->buf = buf;
	b->size = size;
	return true;
}

struct nlmsghdr *
netlink_batch_next(struct netlink_batch *b, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh;

	if (b->rc != 0 || !batch_grow(b))
		return NULL;
	nlh = mnl_nlmsg_put_header(b->buf + b->len);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	nlh->nlmsg_seq = b->seq;
	return nlh;
}

void
netlink_batch_push(struct netlink_batch *b, struct nlmsghdr *nlh)
{
	if (nlh == NULL)
		return;
	if ((nlh->nlmsg_flags & NLM_F_ACK) != 0)
		b->acks++;
	b->seq++;
	b->len += (nlh->nlmsg_len + 3U) & ~3U;
}

static int
send_all(int fd, const void *buf, size_t len)
{
	ssize_t sent = send(fd, buf, len, 0);

	if (sent < 0)
		return -errno;
	return (size_t)sent == len ? 0 : -EMSGSIZE;
}

struct answers {
	unsigned int acks;
	uint32_t failed_seq;
	int rc;
};

/* Every message of one answer; only acknowledgements and errors come. */
static void
answers_read(struct answers *a, const void *buf, int len)
{
	const struct nlmsghdr *nlh = buf;

	for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
		const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);

		if (nlh->nlmsg_type != NLMSG_ERROR ||
		    mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
			continue;
		if (e->error == 0)
			a->acks++;
		else if (a->rc == 0) {
			a->rc = e->error;
			a->failed_seq = e->msg.nlmsg_seq;
		}
	}
}

int
netlink_batch_send(int fd, const struct netlink_batch *b, uint32_t *ret_seq)
{
	AUTO_FREE char *buf = NULL;
	struct answers a = { 0 };
	ssize_t len;
	int rc = b->rc;

	if (rc == 0)
		rc = send_all(fd, b->buf, b->len);
	if (rc != 0)
		return rc;
	buf = malloc(NETLINK_ANSWER_MAX);
	if (buf == NULL)
		return -ENOMEM;
	while ((len = recv(fd, buf, NETLINK_ANSWER_MAX, MSG_DONTWAIT)) > 0)
		answers_read(&a, buf, (int)len);
	if (a.rc != 0 && ret_seq != NULL)
		*ret_seq = a.failed_seq;
	if (a.rc == 0 && a.acks != b->acks)
		return -EPROTO;
	return a.rc;
}

int
netlink_ask(int fd, struct nlmsghdr *request, uint16_t how, mnl_cb_t fn,
    void *arg)
{
	AUTO_FREE char *buf = malloc(NETLINK_ANSWER_MAX);
	int more = MNL_CB_OK;
	int rc;

	if (buf == NULL)
		return -ENOMEM;
	request->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | how);
	rc = send_all(fd, request, request->nlmsg_len);
	while (rc == 0 && more == MNL_CB_OK) {
		ssize_t len = recv(fd, buf, NETLINK_ANSWER_MAX, 0);

		if (len < 0)
			return -errno;
		more = mnl_cb_run(buf, (size_t)len, request->nlmsg_seq, 0, fn,
		    arg);
		if (more == MNL_CB_ERROR)
			rc = -errno;
	}
	return rc;
}

const struct nlattr *
netlink_attr(const struct nlmsghdr *nlh, size_t header_bytes, uint16_t type)
{
	const struct nlattr *attr =
	    mnl_nlmsg_get_payload_offset(nlh, header_bytes);
	const char *end = mnl_nlmsg_get_payload_tail(nlh);

	while (mnl_attr_ok(attr, (int)(end - (const char *)attr))) {
		if (mnl_attr_get_type(attr) == type)
			return attr;
		attr = mnl_attr_next(attr);
	}
	return NULL;
}

uint32_t
netlink_attr_u32(const struct nlmsghdr *nlh, size_t header_bytes, uint16_t type)
{
	const struct nlattr *attr = netlink_attr(nlh, header_bytes, type);

	if (attr == NULL || mnl_attr_get_payload_len(attr) != sizeof(uint32_t))
		return 0;
	return mnl_attr_get_u32(attr);
}

int
netlink_drain(int fd, mnl_cb_t fn, void *arg, bool *ret_lost)
{
	AUTO_FREE char *buf = malloc(NETLINK_ANSWER_MAX);

	if (buf == NULL)
		return -ENOMEM;
	*ret_lost = false;
	for (unsigned int i = 0; i < DRAIN_MAX; i++) {
		ssize_t len = recv(fd, buf, NETLINK_ANSWER_MAX, MSG_DONTWAIT);

		if (len < 0 && errno != ENOBUFS)
			return errno == EAGAIN ? 0 : -errno;
		if (len < 0)
			*ret_lost = true;
		else
			(void)mnl_cb_run(buf, (size_t)len, 0, 0, fn, arg);
	}
	*ret_lost = true;
	return 0;
}
