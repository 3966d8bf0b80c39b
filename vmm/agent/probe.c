/* See probe.h. */
#include "vmm/agent/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "vmm/agent/lines.h"
#include "vmm/agent/probe_guest.h"

/* Longer than any answer takes on an emulated guest. */
#define WAIT_MS 3000
/* What nobody answers is over soon. */
#define WAIT_ICMP_MS 1000
#define DEVICE "eth0"
#define GATEWAY_FILE "/proc/net/route"
#define FRAME_SIZE 128

static int
say(const char *word)
{
	(void)puts(word);
	return 0;
}

/* A port, or a type of DNS; 0 for what is none, which answers nothing. */
static uint16_t
number(const char *text)
{
	uint32_t value = 0;

	return lines_number(span_of(text), UINT16_MAX, &value) ? (uint16_t)value
							       : 0;
}

/* An address in any form that a program would take. */
static bool
parse_address(const char *text, uint16_t port, struct sockaddr_storage *ret,
    socklen_t *ret_len)
{
	struct sockaddr_in *four = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		*ret_len = sizeof(*four);
		return true;
	}
	if (inet_pton(AF_INET6, text, &six->sin6_addr) != 1)
		return false;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	*ret_len = sizeof(*six);
	return true;
}

static const char *
word_of(int error)
{
	switch (error) {
	case 0:
		return "open";
	case ECONNREFUSED:
	case ECONNRESET:
		return "refused";
	case ETIMEDOUT:
		return "silent";
	default: /* no route, no such family, administratively prohibited */
		return "unreachable";
	}
}

/* 0 or an errno; *ret_fd is open with 0. */
static int
dial(const struct sockaddr_storage *to, socklen_t len, int *ret_fd)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int error = 0;
	socklen_t size = sizeof(error);

	if (fd == -1)
		return errno;
	if (connect(fd, (const struct sockaddr *)to, len) == -1 &&
	    errno != EINPROGRESS)
		error = errno;
	else if (poll(&p, 1, WAIT_MS) == 0)
		error = ETIMEDOUT;
	else
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error != 0) {
		(void)close(fd);
		return error;
	}
	*ret_fd = fd;
	return 0;
}

static int
probe_tcp(char **argv)
{
	struct sockaddr_storage to;
	socklen_t len;
	int fd = -1, error;

	if (!parse_address(argv[1], number(argv[2]), &to, &len))
		return 2;
	error = dial(&to, len, &fd);
	if (fd != -1)
		(void)close(fd);
	return say(word_of(error));
}

/* Sends and waits for an answer of any kind; its length, or -errno. */
static ssize_t
ask(int fd, const void *data, size_t size, void *buf, size_t room, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	ssize_t n;

	if (send(fd, data, size, MSG_NOSIGNAL) == -1)
		return -errno;
	if (poll(&p, 1, wait_ms) <= 0)
		return -ETIMEDOUT;
	n = recv(fd, buf, room, 0);
	return n == -1 ? -errno : n;
}

static int
say_asked(ssize_t n)
{
	if (n >= 0)
		return say("answered");
	return say(n == -ETIMEDOUT ? "silent" : "refused");
}

static int
probe_udp(char **argv)
{
	/* RFC 9000 17.2.2: the first bytes of an Initial, padded (14.1) */
	uint8_t data[1200] = { 0xc3, 0, 0, 0, 1, 8 };
	bool is_quic = argv[3] != NULL && strcmp(argv[3], "quic") == 0;
	struct sockaddr_storage to;
	uint8_t buf[64];
	socklen_t len;
	ssize_t n;
	int fd;

	if (!parse_address(argv[1], number(argv[2]), &to, &len))
		return 2;
	fd = socket(to.ss_family, SOCK_DGRAM, 0);
	if (fd == -1 || connect(fd, (const struct sockaddr *)&to, len) == -1)
		return say("refused");
	n = ask(fd, data, is_quic ? sizeof(data) : 16, buf, sizeof(buf),
	    WAIT_MS);
	(void)close(fd);
	return say_asked(n);
}

/* The resolver: whoever the default route leads to. */
static struct in_addr
gateway(void)
{
	struct in_addr found = { 0 };
	FILE *f = fopen(GATEWAY_FILE, "re");
	char line[256], *rest;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		/* device, target, gateway: numbers in base 16 */
		const char *device = strtok_r(line, "\t", &rest);
		const char *target = strtok_r(NULL, "\t", &rest);
		const char *via = strtok_r(NULL, "\t", &rest);

		if (device != NULL && via != NULL &&
		    strcmp(target, "00000000") == 0)
			found.s_addr = (in_addr_t)strtoul(via, NULL, 16);
	}
	if (f != NULL)
		(void)fclose(f);
	return found;
}

/* RFC 1035 4.1: one question. Its length. */
static size_t
write_question(struct wr *w, const char *name, uint16_t type)
{
	wr_u16(w, 0x1234);
	wr_u16(w, 0x0100); /* recursion is desired */
	wr_u16(w, 1);
	wr_u16(w, 0);
	wr_u32(w, 0);
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		wr_u8(w, (uint8_t)len);
		wr_bytes(w, name, len);
		name += len + (name[len] == '.' ? 1 : 0);
	}
	wr_u8(w, 0);
	wr_u16(w, type);
	wr_u16(w, 1);
	return w->len;
}

static const char *
rcode_word(unsigned int rcode)
{
	static const char *const words[] = { "NOERROR", "FORMERR", "SERVFAIL",
		"NXDOMAIN", "NOTIMP", "REFUSED" };

	return rcode < sizeof(words) / sizeof(words[0]) ? words[rcode]
							: "strange";
}

/* The answer's code, and its first A record if it has one. -1: silent. */
static int
resolve(const char *name, uint16_t type, struct in_addr *ret)
{
	uint8_t buf[512], answer[512] = { 0 };
	struct wr w = wr_init(buf, sizeof(buf));
	const struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(53),
		.sin_addr = gateway() };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	size_t question = write_question(&w, name, type);
	ssize_t n = -1;

	ret->s_addr = 0;
	if (fd != -1 && wr_ok(&w) &&
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0)
		n = ask(fd, buf, question, answer, sizeof(answer), WAIT_MS);
	if (fd != -1)
		(void)close(fd);
	if (n < 12)
		return -1;
	/* Ours is a pointer, type, class, TTL, length 4, address. */
	if (type == 1 && answer[7] > 0 && (size_t)n >= question + 16)
		memcpy(ret, answer + question + 12, 4);
	return answer[3] & 15;
}

static int
probe_dns(char **argv)
{
	struct in_addr found;
	int rcode = resolve(argv[1], number(argv[2]), &found);

	if (rcode == -1)
		return say("silent");
	(void)printf("%s %s\n", rcode_word((unsigned int)rcode),
	    found.s_addr == 0 ? "-" : inet_ntoa(found));
	return 0;
}

/* The value of a field of a head, into buf; "-" without it. */
static void
field(const char *head, const char *name, char *buf, size_t size)
{
	const char *at = strcasestr(head, name);
	size_t len = 0;

	if (at != NULL) {
		at += strlen(name) + strspn(at + strlen(name), " ");
		while (len < size - 1 && at[len] > ' ')
			len++;
		memcpy(buf, at, len);
	} else {
		buf[len++] = '-';
	}
	buf[len] = '\0';
}

static int
probe_http(char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(number(argv[2])) };
	struct sockaddr_storage any = { 0 };
	char request[1024], answer[4096], reason[64];
	size_t len = 0;
	int fd = -1, error;
	ssize_t n;

	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 &&
	    (resolve(argv[1], 1, &to.sin_addr) != 0 || to.sin_addr.s_addr == 0))
		return say("unresolved");
	memcpy(&any, &to, sizeof(to));
	error = dial(&any, sizeof(to), &fd);
	if (error != 0)
		return say(word_of(error));
	n = snprintf(request, sizeof(request),
	    "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
	    argv[4] == NULL ? "GET" : argv[4], argv[3], argv[1]);
	if (n < 0 || (size_t)n >= sizeof(request))
		return 2;
	n = ask(fd, request, (size_t)n, answer, sizeof(answer) - 1, WAIT_MS);
	while (n > 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		len += (size_t)n;
		if (len == sizeof(answer) - 1 || poll(&p, 1, WAIT_MS) <= 0)
			break;
		n = recv(fd, answer + len, sizeof(answer) - 1 - len, 0);
	}
	(void)close(fd);
	answer[len] = '\0';
	if (len < 12)
		return say("silent");
	field(answer, "\r\nTapward-Reason:", reason, sizeof(reason));
	(void)printf("%.3s %s\n", answer + 9, reason);
	return 0;
}

/* RFC 1071 */
static uint16_t
checksum(const void *data, size_t len)
{
	struct rd r = rd_init(data, len);
	uint32_t sum = 0;

	while (rd_left(&r) >= 2)
		sum += rd_u16(&r);
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static int
probe_icmp(char **argv)
{
	struct icmphdr echo = { .type = ICMP_ECHO };
	struct sockaddr_storage to;
	uint8_t buf[256];
	socklen_t len;
	ssize_t n;
	int fd;

	if (!parse_address(argv[1], 0, &to, &len) || to.ss_family != AF_INET)
		return 2;
	echo.checksum = htons(checksum(&echo, sizeof(echo)));
	fd = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
	if (fd == -1 || connect(fd, (const struct sockaddr *)&to, len) == -1)
		return say("refused");
	n = ask(fd, &echo, sizeof(echo), buf, sizeof(buf), WAIT_ICMP_MS);
	(void)close(fd);
	return say_asked(n);
}

/*
 * What is wrong with a frame that is otherwise an empty question to the
 * gateway's DNS, which is let through: so one thing alone can have it dropped.
 */
struct fault {
	const char *name;
	uint16_t ether_type;
	uint32_t target;  /* 0: the gateway */
	uint8_t protocol; /* 0: UDP */
	bool strange_mac, strange_ip, is_arp, is_fragment, has_options;
};

static const struct fault faults[] = {
	{ .name = "mac", .ether_type = ETHERTYPE_IP, .strange_mac = true },
	{ .name = "ip", .ether_type = ETHERTYPE_IP, .strange_ip = true },
	{ .name = "arp", .ether_type = ETHERTYPE_ARP, .is_arp = true },
	/* 802.1Q, priority-tagged: IPv4 is behind it */
	{ .name = "vlan", .ether_type = ETHERTYPE_VLAN },
	{ .name = "ipv6", .ether_type = ETHERTYPE_IPV6 },
	{ .name = "ethertype", .ether_type = 0x88b5 },
	{ .name = "fragment", .ether_type = ETHERTYPE_IP, .is_fragment = true },
	{ .name = "options", .ether_type = ETHERTYPE_IP, .has_options = true },
	{ .name = "loopback",
	    .ether_type = ETHERTYPE_IP,
	    .target = INADDR_LOOPBACK },
	{ .name = "tunnel",
	    .ether_type = ETHERTYPE_IP,
	    .protocol = IPPROTO_GRE },
};

struct identity {
	int index;
	uint8_t mac[6], gateway_mac[6];
	struct in_addr ip;
};

/* From the kernel's table, which has it since the guest last spoke. */
static bool
gateway_mac(uint8_t ret[6])
{
	struct arpreq r = { .arp_dev = DEVICE };
	const struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(53),
		.sin_addr = gateway() };
	struct in_addr ignored;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool is_known;

	(void)resolve("probe.example", 1, &ignored);
	memcpy(&r.arp_pa, &to, sizeof(to));
	is_known = fd != -1 && ioctl(fd, SIOCGARP, &r) == 0 &&
	    (r.arp_flags & ATF_COM) != 0;
	if (fd != -1)
		(void)close(fd);
	memcpy(ret, r.arp_ha.sa_data, 6);
	return is_known;
}

static bool
who_are_we(int fd, struct identity *ret)
{
	struct ifreq r = { .ifr_name = DEVICE };
	struct sockaddr_in address;

	if (ioctl(fd, SIOCGIFINDEX, &r) == -1)
		return false;
	ret->index = r.ifr_ifindex;
	if (ioctl(fd, SIOCGIFHWADDR, &r) == -1)
		return false;
	memcpy(ret->mac, r.ifr_hwaddr.sa_data, 6);
	if (ioctl(fd, SIOCGIFADDR, &r) == -1)
		return false;
	memcpy(&address, &r.ifr_addr, sizeof(address));
	ret->ip = address.sin_addr;
	return gateway_mac(ret->gateway_mac);
}

/* RFC 826: somebody else's address is at our MAC. */
static void
write_arp(struct wr *w, const struct identity *us)
{
	static const uint8_t nobody[6] = { 0 };
	const struct in_addr via = gateway();

	wr_u16(w, 1);
	wr_u16(w, ETHERTYPE_IP);
	wr_u8(w, 6);
	wr_u8(w, 4);
	wr_u16(w, 2);
	wr_bytes(w, us->mac, 6);
	wr_bytes(w, &via, 4);
	wr_bytes(w, nobody, 6);
	wr_bytes(w, &us->ip, 4);
}

static void
write_packet(struct wr *w, const struct identity *us, const struct fault *f)
{
	struct in_addr from = us->ip, to = gateway();
	uint8_t ip[24];
	struct wr h = wr_init(ip, sizeof(ip));
	size_t head = f->has_options ? 24 : 20;

	if (f->strange_ip)
		from.s_addr = htonl(0xc0000207); /* 192.0.2.7, RFC 5737 */
	if (f->target != 0)
		to.s_addr = htonl(f->target);
	wr_u8(&h, (uint8_t)(0x40 | head / 4));
	wr_u8(&h, 0);
	wr_u16(&h, (uint16_t)(head + 8));
	wr_u16(&h, 1);
	wr_u16(&h, f->is_fragment ? 0x2000 : 0);
	wr_u8(&h, 64);
	wr_u8(&h, f->protocol == 0 ? IPPROTO_UDP : f->protocol);
	wr_u16(&h, 0);
	wr_bytes(&h, &from, 4);
	wr_bytes(&h, &to, 4);
	if (f->has_options)
		wr_u32(&h, 0x01010101); /* no operation, four times */
	wr_patch_u16(&h, 10, checksum(ip, head));
	wr_bytes(w, ip, head);
	wr_u16(w, 40000);
	wr_u16(w, 53);
	wr_u16(w, 8);
	wr_u16(w, 0);
}

static void
write_frame(struct wr *w, const struct identity *us, const struct fault *f)
{
	uint8_t from[6];

	memcpy(from, us->mac, 6);
	if (f->strange_mac)
		from[5] ^= 1;
	wr_bytes(w, us->gateway_mac, 6);
	wr_bytes(w, from, 6);
	wr_u16(w, f->ether_type);
	if (f->ether_type == ETHERTYPE_VLAN) {
		wr_u16(w, 0);
		wr_u16(w, ETHERTYPE_IP);
	}
	if (f->is_arp)
		write_arp(w, us);
	else
		write_packet(w, us, f);
}

static int
probe_frame(char **argv)
{
	uint8_t frame[FRAME_SIZE] = { 0 };
	struct wr w = wr_init(frame, sizeof(frame));
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_halen = 6 };
	struct identity us;
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	ssize_t n;

	if (fd == -1 || !who_are_we(fd, &us))
		return say("refused");
	to.sll_ifindex = us.index;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(faults[i].name, argv[1]) != 0)
			continue;
		write_frame(&w, &us, &faults[i]);
		/* 60 bytes at least, as Ethernet has them */
		n = sendto(fd, frame, w.len < 60 ? 60 : w.len, 0,
		    (const struct sockaddr *)&to, sizeof(to));
		(void)close(fd);
		return say(n == -1 ? "refused" : "sent");
	}
	(void)close(fd);
	return 2;
}

static const struct {
	const char *name;
	int arguments; /* at least */
	int (*run)(char **argv);
} probes[] = {
	{ "tcp", 2, probe_tcp },
	{ "udp", 2, probe_udp },
	{ "dns", 2, probe_dns },
	{ "http", 3, probe_http },
	{ "icmp", 1, probe_icmp },
	{ "frame", 1, probe_frame },
	{ "devices", 0, probe_devices },
	{ "spin", 1, probe_spin },
	{ "fork", 0, probe_fork },
	{ "path", 1, probe_path },
	{ "blocks", 0, probe_blocks },
	{ "fill", 1, probe_fill },
	{ "sleep", 1, probe_sleep },
};

int
probe_run(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]); i++)
		if (argc > probes[i].arguments &&
		    strcmp(probes[i].name, argv[0]) == 0)
			return probes[i].run(argv);
	(void)fputs("no such probe\n", stderr);
	return 2;
}
