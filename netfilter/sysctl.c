/*
 * One row per setting, with its reason. /proc/sys/net shows the namespace of
 * whoever opens it, so the caller only has to be in the right one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "netfilter/sysctl.h"

#define IPV4_CONF(key, value)                                                  \
	{ "ipv4/conf/all/" key, value, true },                                 \
	{                                                                      \
		"ipv4/conf/default/" key, value, true                          \
	}

static const struct {
	const char *key; /* below /proc/sys/net */
	const char *value;
	bool is_required; /* else a kernel without it is as good */
} settings[] = {
	/* A kernel without IPv6 has no such file. */
	{ "ipv6/conf/all/disable_ipv6", "1", false },
	{ "ipv6/conf/default/disable_ipv6", "1", false },
	/* There is nowhere to forward to; this also switches redirects off. */
	{ "ipv4/ip_forward", "0", true },
	IPV4_CONF("rp_filter", "1"),
	IPV4_CONF("accept_redirects", "0"),
	IPV4_CONF("secure_redirects", "0"),
	IPV4_CONF("send_redirects", "0"),
	IPV4_CONF("accept_source_route", "0"),
	IPV4_CONF("accept_local", "0"),
	IPV4_CONF("route_localnet", "0"),
	/* Answer ARP only for the device's own address, from it only. */
	IPV4_CONF("arp_ignore", "1"),
	IPV4_CONF("arp_announce", "2"),
	IPV4_CONF("arp_accept", "0"),
	IPV4_CONF("proxy_arp", "0"),
	IPV4_CONF("drop_gratuitous_arp", "1"),
	IPV4_CONF("drop_unicast_in_l2_multicast", "1"),
	{ "ipv4/icmp_echo_ignore_all", "1", true },
	/*
	 * Six ICMP errors, then one a second, would leave QUIC waiting. The
	 * ruleset has the limit instead.
	 */
	{ "ipv4/icmp_ratelimit", "0", true },
	/* Before 6.12 the budget behind it is one for the whole host. */
	{ "ipv4/icmp_ratemask", "0", true },
	/* A mark in an answer would send it to lo instead of to the guest. */
	{ "ipv4/fwmark_reflect", "0", true },
	{ "ipv4/tcp_fwmark_accept", "0", true },
	/* A SYN flood costs its guest's own backlog, not its connections. */
	{ "ipv4/tcp_syncookies", "1", true },
	{ "ipv4/tcp_max_syn_backlog", "1024", true },
	{ "core/somaxconn", "1024", true },
	/* The guest is one hop away: do not hold what it abandoned. */
	{ "ipv4/tcp_synack_retries", "2", true },
	{ "ipv4/tcp_fin_timeout", "10", true },
	/* One guest's connections may not take the host's memory. */
	{ "ipv4/tcp_rmem", "4096\t131072\t2097152", true },
	{ "ipv4/tcp_wmem", "4096\t65536\t2097152", true },
};

static int
setting_open(const char *key, int flags, int *ret_fd)
{
	char path[96];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/sys/net/%s", key);
	fd = open(path, flags | O_CLOEXEC);
	if (fd == -1)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int
setting_check(int fd, const char *value)
{
	char buf[64];
	ssize_t len = pread(fd, buf, sizeof(buf) - 1, 0);

	if (len < 0)
		return -errno;
	while (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return strcmp(buf, value) == 0 ? 0 : -EBADMSG;
}

/* Reads first: most are as the kernel made them, and a read costs less. */
static int
setting_apply(const char *key, const char *value, bool may_write)
{
	AUTO_CLOSE int fd = -1;
	int rc = setting_open(key, may_write ? O_RDWR : O_RDONLY, &fd);

	if (rc != 0)
		return rc;
	rc = setting_check(fd, value);
	if (rc != -EBADMSG || !may_write)
		return rc;
	if (pwrite(fd, value, strlen(value), 0) == -1)
		return -errno;
	return setting_check(fd, value);
}

static int
each_setting(bool may_write, struct err *err)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		int rc = setting_apply(settings[i].key, settings[i].value,
		    may_write);

		if (rc == -ENOENT && !settings[i].is_required)
			continue;
		if (rc != 0)
			return err_os(err, rc, "/proc/sys/net/%s = %s",
			    settings[i].key, settings[i].value);
	}
	return 0;
}

int
sysctl_apply(struct err *err)
{
	return each_setting(true, err);
}

int
sysctl_verify(struct err *err)
{
	return each_setting(false, err);
}
