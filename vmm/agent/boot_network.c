/*
 * The guest's one network device: an address and a way out, by ioctl(2), which
 * needs no more than a socket. IPv6 is off: the host drops it (facts of the
 * sandbox), and each try would cost a program its time-out.
 */
#include "vmm/agent/boot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "vmm/agent/wait.h"

struct search {
	int fd; /* any socket */
	const struct agent_config *config;
	char name[IFNAMSIZ];
};

static struct ifreq
request(const char *name)
{
	struct ifreq ifr = { .ifr_flags = 0 };

	memcpy(ifr.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
	return ifr;
}

static bool
is_wanted(const struct search *s, const char *name)
{
	struct ifreq ifr = request(name);

	if (ioctl(s->fd, SIOCGIFHWADDR, &ifr) == -1 ||
	    ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return false;
	return !s->config->has_mac ||
	    memcmp(ifr.ifr_hwaddr.sa_data, s->config->mac,
		sizeof(s->config->mac)) == 0;
}

static bool
find_device(void *arg)
{
	struct search *s = arg;
	struct if_nameindex *all = if_nameindex();
	bool found = false;

	for (size_t i = 0; all != NULL && !found && all[i].if_name != NULL;
	     i++) {
		if (!is_wanted(s, all[i].if_name))
			continue;
		memcpy(s->name, request(all[i].if_name).ifr_name, IFNAMSIZ);
		found = true;
	}
	if (all != NULL)
		if_freenameindex(all);
	return found;
}

static struct sockaddr
address(uint32_t ip)
{
	const struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr = { htonl(ip) } };
	struct sockaddr sa;

	memcpy(&sa, &sin, sizeof(sa));
	return sa;
}

static int
set_up(int fd, const char *name)
{
	struct ifreq ifr = request(name);

	if (ioctl(fd, SIOCGIFFLAGS, &ifr) == -1)
		return -errno;
	ifr.ifr_flags = (short)(ifr.ifr_flags | IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &ifr) == -1 ? -errno : 0;
}

static int
set_address(int fd, const char *name, const struct agent_config *c)
{
	const uint32_t mask =
	    c->prefix_len == 0 ? 0 : ~0u << (32 - c->prefix_len);
	struct ifreq ifr = request(name);

	ifr.ifr_addr = address(c->address);
	if (ioctl(fd, SIOCSIFADDR, &ifr) == -1)
		return -errno;
	ifr.ifr_netmask = address(mask);
	if (ioctl(fd, SIOCSIFNETMASK, &ifr) == -1)
		return -errno;
	return 0;
}

static int
set_gateway(int fd, const struct agent_config *c)
{
	struct rtentry rt = { .rt_flags = RTF_UP | RTF_GATEWAY };

	if (c->gateway == 0)
		return 0;
	rt.rt_dst = address(0);
	rt.rt_genmask = address(0);
	rt.rt_gateway = address(c->gateway);
	return ioctl(fd, SIOCADDRT, &rt) == -1 ? -errno : 0;
}

static void
ipv6_off(void)
{
	static const char *const files[] = {
		"/proc/sys/net/ipv6/conf/all/disable_ipv6",
		"/proc/sys/net/ipv6/conf/default/disable_ipv6",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		AUTO_CLOSE int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		if (fd != -1) /* a kernel without IPv6 has no such file */
			(void)fd_write_all(fd, "1", 1);
	}
}

int
boot_network(struct boot *b, struct err *err)
{
	AUTO_CLOSE int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct search s = { .fd = fd, .config = &b->config };
	int rc;

	if (fd == -1)
		return err_os(err, -errno, "no sockets");
	ipv6_off();
	rc = set_up(fd, "lo");
	if (rc != 0)
		return err_os(err, rc, "lo");
	if (b->config.address == 0)
		return 0;
	if (!wait_for(find_device, &s)) {
		(void)err_at(err, NULL, 0, "no network device%s",
		    b->config.has_mac ? " of this MAC address" : "");
		return -ENODEV;
	}
	rc = set_address(fd, s.name, &b->config);
	if (rc == 0)
		rc = set_up(fd, s.name);
	if (rc == 0)
		rc = set_gateway(fd, &b->config);
	return rc == 0 ? 0 : err_os(err, rc, "%s", s.name);
}
