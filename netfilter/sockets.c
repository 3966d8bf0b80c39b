/*
 * One row per socket. The listeners pass TCP_NODELAY on to what they accept,
 * which saves the gate a system call for each connection.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "netfilter/netlink.h"
#include "netfilter/nflog.h"
#include "netfilter/sockets.h"

/* As much as somaxconn in this namespace (sysctl.c). */
#define LISTEN_BACKLOG 1024
/* Questions that wait for the gate; the rest is dropped, and asked again. */
#define DNS_BUFFER_BYTES 262144
#define SNTP_BUFFER_BYTES 16384
/* Logged packets that wait for the recorder: a few thousand. */
#define LOG_BUFFER_BYTES 1048576

struct option {
	int level, name, value;
};

static int
set_options(int fd, const struct option *options, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (setsockopt(fd, options[i].level, options[i].name,
			&options[i].value, sizeof(options[i].value)) == -1)
			return -errno;
	return 0;
}

static int
bind_to(int fd, uint32_t address, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(address) },
	};

	return bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == -1 ? -errno
								    : 0;
}

/* IP_TRANSPARENT also lets it bind to an address that is not there yet. */
static int
open_listener(uint32_t address, uint16_t port, int *ret_fd)
{
	static const struct option options[] = {
		{ SOL_IP, IP_TRANSPARENT, 1 },
		{ SOL_SOCKET, SO_REUSEADDR, 1 },
		{ SOL_TCP, TCP_NODELAY, 1 },
	};
	AUTO_CLOSE int fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd == -1)
		return -errno;
	rc = set_options(fd, options, sizeof(options) / sizeof(options[0]));
	if (rc == 0)
		rc = bind_to(fd, address, port);
	if (rc != 0)
		return rc;
	if (listen(fd, LISTEN_BACKLOG) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

static int
open_datagram(uint32_t address, uint16_t port, int buffer_bytes, int *ret_fd)
{
	const struct option options[] = {
		{ SOL_IP, IP_TRANSPARENT, 1 },
		{ SOL_IP, IP_PKTINFO, 1 },
		{ SOL_SOCKET, SO_RCVBUF, buffer_bytes },
		{ SOL_SOCKET, SO_SNDBUF, buffer_bytes },
	};
	AUTO_CLOSE int fd =
	    socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd == -1)
		return -errno;
	rc = set_options(fd, options, sizeof(options) / sizeof(options[0]));
	if (rc == 0)
		rc = bind_to(fd, address, port);
	if (rc == 0)
		*ret_fd = steal_fd(&fd);
	return rc;
}

static struct nlmsghdr *
log_config(struct netlink_batch *b, uint16_t group)
{
	struct nlmsghdr *nlh = netlink_batch_next(b,
	    (NFNL_SUBSYS_ULOG << 8) | NFULNL_MSG_CONFIG, NLM_F_ACK);
	struct nfgenmsg *nfg;

	if (nlh == NULL)
		return NULL;
	nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));
	nfg->nfgen_family = AF_UNSPEC;
	nfg->version = NFNETLINK_V0;
	nfg->res_id = htons(group);
	return nlh;
}

static int
configure_log(int fd, uint16_t group)
{
	struct nfulnl_msg_config_cmd bind_cmd = { NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { htonl(NFLOG_COPY_BYTES),
		NFULNL_COPY_PACKET, 0 };
	struct netlink_batch b;
	struct nlmsghdr *nlh;
	int rc;

	netlink_batch_init(&b);
	nlh = log_config(&b, group);
	if (nlh != NULL)
		mnl_attr_put(nlh, NFULA_CFG_CMD, sizeof(bind_cmd), &bind_cmd);
	netlink_batch_push(&b, nlh);
	nlh = log_config(&b, group);
	if (nlh != NULL) {
		mnl_attr_put(nlh, NFULA_CFG_MODE, sizeof(mode), &mode);
		/* Each packet at once: they are few, the limit sees to it. */
		mnl_attr_put_u32(nlh, NFULA_CFG_QTHRESH, htonl(1));
	}
	netlink_batch_push(&b, nlh);
	rc = netlink_batch_send(fd, &b, NULL);
	netlink_batch_done(&b);
	return rc;
}

static int
open_log(uint16_t group, int *ret_fd)
{
	static const struct option buffer = { SOL_SOCKET, SO_RCVBUFFORCE,
		LOG_BUFFER_BYTES };
	AUTO_CLOSE int fd = -1;
	int rc = netlink_open(NETLINK_NETFILTER, &fd);

	if (rc == 0)
		rc = set_options(fd, &buffer, 1);
	if (rc == 0)
		rc = configure_log(fd, group);
	if (rc == 0)
		rc = fd_set_nonblock(fd, true);
	if (rc == 0)
		*ret_fd = steal_fd(&fd);
	return rc;
}

static int
open_one(const struct net_plan *p, enum net_socket which, int *ret_fd)
{
	switch (which) {
	case NET_SOCKET_TRANSPARENT:
		return open_listener(INADDR_ANY, p->transparent_port, ret_fd);
	case NET_SOCKET_PROXY:
		return open_listener(p->gateway_ip, p->proxy_port, ret_fd);
	case NET_SOCKET_DNS_UDP:
		return open_datagram(INADDR_ANY, NET_DNS_PORT, DNS_BUFFER_BYTES,
		    ret_fd);
	case NET_SOCKET_DNS_TCP:
		return open_listener(INADDR_ANY, NET_DNS_PORT, ret_fd);
	case NET_SOCKET_SNTP:
		return open_datagram(p->gateway_ip, NET_SNTP_PORT,
		    SNTP_BUFFER_BYTES, ret_fd);
	case NET_SOCKET_LOG:
		return open_log(p->log_group, ret_fd);
	case NET_SOCKET_COUNT:
		break;
	}
	return -EINVAL;
}

int
net_sockets_open(const struct net_plan *plan, struct net_sockets *s)
{
	int rc = 0;

	for (unsigned int i = 0; i < NET_SOCKET_COUNT && rc == 0; i++)
		if (s->fd[i] == -1)
			rc = open_one(plan, (enum net_socket)i, &s->fd[i]);
	return rc;
}

void
net_sockets_close(struct net_sockets *s)
{
	for (unsigned int i = 0; i < NET_SOCKET_COUNT; i++)
		fd_close(&s->fd[i]);
}
