/*
 * A guest with a real network stack, on a veth sandbox, against the sockets
 * that a gate gets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "netfilter/nflog.h"
#include "netfilter/sandbox_net.h"

#define SYNTHETIC 0xc6120304 /* 198.18.3.4 */
#define RESERVED 0xc6120005  /* 198.18.0.5 */
#define RESOLVER 0x09090909
#define WAIT_MS 2000

static struct net_host host = { -1, 0 };
static struct net_plan plan;
static struct sandbox_net *net;
static int guest_ns = -1;

static int
start(void **state)
{
	static const struct net_reserved reserved[] = { { RESERVED, 5432 } };
	struct net_request req = {
		.name = "guest-test",
		.device = NET_DEVICE_VETH,
		.open = { NULL, 0, reserved, 1 },
	};
	struct err err = { "" };
	int rc;

	(void)state;
	plan = net_plan_default();
	rc = net_host_init(&host, &err);
	if (rc == 0)
		rc = netns_create(host.home_fd, &guest_ns);
	req.guest = (struct device_guest){ guest_ns, "eth0", true };
	if (rc == 0)
		rc = sandbox_net_prepare(&host, &plan, NET_DEVICE_VETH, &net,
		    &err);
	if (rc == 0)
		rc = sandbox_net_finish(net, &req, &err);
	if (rc != 0)
		(void)fprintf(stderr, "%s\n", err.text);
	return rc;
}

static int
stop(void **state)
{
	int rc;

	(void)state;
	rc = sandbox_net_remove(net);
	fd_close(&guest_ns);
	net_host_done(&host);
	return rc;
}

static int
gate_fd(enum net_socket which)
{
	return sandbox_net_sockets(net)->fd[which];
}

static struct sockaddr_in
address(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(ip) },
	};
}

/* A connection or an association of the guest: an fd, or -errno. */
static int
guest_connect(int type, uint32_t ip, uint16_t port)
{
	struct sockaddr_in to = address(ip, port);
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int error = 0;

	assert_int_equal(netns_enter(guest_ns), 0);
	p.fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	netns_leave(host.home_fd);
	assert_int_not_equal(p.fd, -1);
	if (connect(p.fd, (struct sockaddr *)&to, sizeof(to)) == -1 &&
	    errno != EINPROGRESS)
		error = errno;
	else if (poll(&p, 1, WAIT_MS) != 1)
		error = ETIMEDOUT;
	else
		assert_int_equal(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &error,
				     &len),
		    0);
	if (error == 0)
		return p.fd;
	fd_close(&p.fd);
	return -error;
}

static bool
is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, WAIT_MS) == 1;
}

/* What the gate learns of a connection: where the guest meant to go. */
static void
expect_accept(enum net_socket which, uint32_t ip, uint16_t port)
{
	AUTO_CLOSE int guest = guest_connect(SOCK_STREAM, ip, port);
	AUTO_CLOSE int gate = -1;
	struct sockaddr_in self = { 0 }, peer = { 0 };
	socklen_t len = sizeof(self);
	char buf[8] = { 0 };

	assert_true(guest >= 0);
	assert_true(is_readable(gate_fd(which)));
	gate = accept4(gate_fd(which), (struct sockaddr *)&peer, &len,
	    SOCK_CLOEXEC);
	assert_int_not_equal(gate, -1);
	len = sizeof(self);
	assert_int_equal(getsockname(gate, (struct sockaddr *)&self, &len), 0);
	assert_int_equal(ntohl(self.sin_addr.s_addr), ip);
	assert_int_equal(ntohs(self.sin_port), port);
	assert_int_equal(ntohl(peer.sin_addr.s_addr), plan.guest_ip);
	assert_int_equal(send(guest, "hello", 5, 0), 5);
	assert_true(is_readable(gate));
	assert_int_equal(recv(gate, buf, sizeof(buf), 0), 5);
	assert_int_equal(send(gate, "world", 5, 0), 5);
	assert_true(is_readable(guest));
	assert_int_equal(recv(guest, buf, sizeof(buf), 0), 5);
	assert_memory_equal(buf, "world", 5);
}

static void
the_gate_sees_where_a_connection_was_meant_to_go(void **state)
{
	(void)state;
	expect_accept(NET_SOCKET_TRANSPARENT, SYNTHETIC, 443);
	expect_accept(NET_SOCKET_TRANSPARENT, SYNTHETIC + 9, 80);
	expect_accept(NET_SOCKET_TRANSPARENT, RESERVED, 5432);
	expect_accept(NET_SOCKET_PROXY, plan.gateway_ip, plan.proxy_port);
	expect_accept(NET_SOCKET_DNS_TCP, RESOLVER, 53);
	expect_accept(NET_SOCKET_DNS_TCP, plan.gateway_ip, 53);
}

static void
everything_else_is_refused_at_once(void **state)
{
	static const struct {
		uint32_t ip;
		uint16_t port;
	} rows[] = { { SYNTHETIC, 22 }, { SYNTHETIC, 5432 }, { RESERVED, 5433 },
		{ RESOLVER, 443 }, { 0x64400001, 80 }, { 0x64400001, 3129 },
		{ 0xa9fea9fe, 80 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = guest_connect(SOCK_STREAM, rows[i].ip, rows[i].port);

		if (rc != -ECONNREFUSED)
			fail_msg("%x:%u gives %d", rows[i].ip, rows[i].port,
			    rc);
	}
}

static void
quic_fails_at_once(void **state)
{
	AUTO_CLOSE int guest = guest_connect(SOCK_DGRAM, SYNTHETIC, 443);
	char buf[8];

	(void)state;
	assert_true(guest >= 0);
	assert_int_equal(send(guest, "initial", 7, 0), 7);
	assert_true(is_readable(guest));
	assert_int_equal(recv(guest, buf, sizeof(buf), 0), -1);
	assert_int_equal(errno, EHOSTUNREACH);
}

/* Answers a datagram from the address that it was sent to. */
static void
gate_answer(int fd, uint32_t *ret_asked)
{
	struct sockaddr_in peer = { 0 };
	char buf[64], control[CMSG_SPACE(sizeof(struct in_pktinfo))];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr msg = { .msg_name = &peer,
		.msg_namelen = sizeof(peer),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct in_pktinfo info;
	struct cmsghdr *c;
	ssize_t len = recvmsg(fd, &msg, 0);

	assert_true(len > 0);
	c = CMSG_FIRSTHDR(&msg);
	assert_non_null(c);
	assert_int_equal(c->cmsg_type, IP_PKTINFO);
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	*ret_asked = ntohl(info.ipi_addr.s_addr);
	info.ipi_spec_dst = info.ipi_addr;
	info.ipi_ifindex = 0;
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	iov.iov_len = (size_t)len;
	assert_int_equal(sendmsg(fd, &msg, 0), len);
}

static void
expect_answer(enum net_socket which, uint32_t ip, uint16_t port)
{
	/* Connected: an answer from anywhere else would not be taken. */
	AUTO_CLOSE int guest = guest_connect(SOCK_DGRAM, ip, port);
	uint32_t asked = 0;
	char buf[64];

	assert_true(guest >= 0);
	assert_int_equal(send(guest, "question", 8, 0), 8);
	assert_true(is_readable(gate_fd(which)));
	gate_answer(gate_fd(which), &asked);
	assert_int_equal(asked, ip);
	assert_true(is_readable(guest));
	assert_int_equal(recv(guest, buf, sizeof(buf), 0), 8);
}

static void
a_datagram_is_answered_from_where_it_was_sent(void **state)
{
	(void)state;
	expect_answer(NET_SOCKET_DNS_UDP, plan.gateway_ip, 53);
	expect_answer(NET_SOCKET_DNS_UDP, RESOLVER, 53);
	expect_answer(NET_SOCKET_DNS_UDP, SYNTHETIC, 53);
	expect_answer(NET_SOCKET_SNTP, plan.gateway_ip, 123);
}

static int
socket_in(int ns_fd, int type)
{
	int fd;

	assert_int_equal(netns_enter(ns_fd), 0);
	fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	netns_leave(host.home_fd);
	assert_int_not_equal(fd, -1);
	return fd;
}

static void
the_gate_cannot_call_its_guest(void **state)
{
	struct sockaddr_in to = address(plan.guest_ip, 22);
	AUTO_CLOSE int listener = socket_in(guest_ns, SOCK_STREAM);
	AUTO_CLOSE int tcp = socket_in(sandbox_net_fd(net), SOCK_STREAM);
	AUTO_CLOSE int udp = socket_in(sandbox_net_fd(net), SOCK_DGRAM);
	struct pollfd p = { .fd = listener, .events = POLLIN };

	(void)state;
	assert_int_equal(bind(listener, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(tcp, (struct sockaddr *)&to, sizeof(to)), -1);
	assert_int_equal(errno, EINPROGRESS);
	assert_int_equal(poll(&p, 1, 50), 0);
	assert_int_equal(sendto(udp, "x", 1, 0, (struct sockaddr *)&to,
			     sizeof(to)),
	    -1);
	assert_int_equal(errno, EPERM);
}

/* Not even root inside the namespace has a way out. */
static void
the_namespace_leads_nowhere(void **state)
{
	struct sockaddr_in to = address(RESOLVER, 53);
	AUTO_CLOSE int udp = socket_in(sandbox_net_fd(net), SOCK_DGRAM);

	(void)state;
	assert_int_equal(sendto(udp, "x", 1, 0, (struct sockaddr *)&to,
			     sizeof(to)),
	    -1);
	assert_int_equal(errno, ENETUNREACH);
}

static void
discard_log(void)
{
	char buf[NFLOG_COPY_BYTES];

	while (recv(gate_fd(NET_SOCKET_LOG), buf, sizeof(buf), 0) > 0)
		continue;
}

static void
a_refused_packet_reaches_the_log(void **state)
{
	static uint8_t buf[NFLOG_DATAGRAM_MAX];
	AUTO_CLOSE int guest = guest_connect(SOCK_DGRAM, SYNTHETIC, 9999);
	struct nflog_packet p;
	struct rd r;
	ssize_t len;

	(void)state;
	discard_log();
	assert_int_equal(send(guest, "a secret", 8, 0), 8);
	assert_true(is_readable(gate_fd(NET_SOCKET_LOG)));
	len = recv(gate_fd(NET_SOCKET_LOG), buf, sizeof(buf), 0);
	assert_true(len > 0);
	r = rd_init(buf, (size_t)len);
	assert_int_equal(nflog_next(&r, &p), NFLOG_OK);
	assert_int_equal(p.reason, REASON_PACKET_UDP);
	assert_true(p.has_ports);
	assert_int_equal(p.source, plan.guest_ip);
	assert_int_equal(p.destination, SYNTHETIC);
	assert_int_equal(p.destination_port, 9999);
	assert_true(p.payload.len <= NFLOG_COPY_BYTES);
}

static uint64_t
refused_udp(void)
{
	struct net_counters c;

	assert_int_equal(sandbox_net_counters(net, &c), 0);
	return c.packets[REASON_PACKET_UDP];
}

static void
a_flood_of_refusals_is_logged_in_part(void **state)
{
	AUTO_CLOSE int guest = guest_connect(SOCK_DGRAM, SYNTHETIC, 9999);
	const uint64_t end_ms = clock_mono_ms() + 10000;
	const uint64_t before = refused_udp();
	unsigned int logged = 0;
	char buf[1024];

	(void)state;
	discard_log();
	/* Some say that the last was refused; a busy kernel loses others. */
	while (refused_udp() - before <= 900) {
		assert_true(clock_mono_ms() < end_ms);
		for (unsigned int i = 0; i < 200; i++)
			(void)send(guest, "x", 1, 0);
	}
	while (recv(gate_fd(NET_SOCKET_LOG), buf, sizeof(buf), 0) > 0)
		logged++;
	/* A second's worth, or a few more on a slow machine. */
	assert_true(logged >= 1 && logged <= 5 * plan.log_per_second);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    the_gate_sees_where_a_connection_was_meant_to_go),
		cmocka_unit_test(everything_else_is_refused_at_once),
		cmocka_unit_test(quic_fails_at_once),
		cmocka_unit_test(a_datagram_is_answered_from_where_it_was_sent),
		cmocka_unit_test(the_gate_cannot_call_its_guest),
		cmocka_unit_test(the_namespace_leads_nowhere),
		cmocka_unit_test(a_refused_packet_reaches_the_log),
		cmocka_unit_test(a_flood_of_refusals_is_logged_in_part),
	};

	return cmocka_run_group_tests(tests, start, stop);
}
