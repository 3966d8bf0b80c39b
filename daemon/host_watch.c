/*
 * Watching the host. Files are compared by what stat() says of them rather
 * than by inotify: both are often links into folders that come and go.
 */
#include "daemon/host_watch.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/link_broker.h"
#include "daemon/link_ca.h"
#include "daemon/link_dialler.h"
#include "daemon/resolv_conf.h"
#include "daemon/supervisor.h"

#define RESOLV_CONF "/etc/resolv.conf"
#define RESOLV_CONF_MAX 65536

struct host_watch {
	struct supervisor *sv;
	int fd; /* rtnetlink: addresses */
	struct event *netlink_event;
	struct event *settle_event;
	struct event *files_event;
	struct stat resolv, bundle;
	struct stat cas[CA_SETS_MAX];
	/* Of client certificates: two files each, and whether they move. */
	struct stat pairs[2 * BROKER_CREDENTIALS_MAX];
	bool is_pair_moving;
};

unsigned int
host_watch_resolvers(struct message_resolver *ret, unsigned int max)
{
	AUTO_CLOSE int fd = open(RESOLV_CONF, O_RDONLY | O_CLOEXEC);
	AUTO_FREE char *text = NULL;
	size_t len;

	if (fd == -1 || fd_read_all(fd, RESOLV_CONF_MAX, &text, &len) != 0)
		return 0;
	return resolv_conf_parse((struct span){ (const uint8_t *)text, len },
	    ret, max);
}

static bool
take_address(const struct ifaddrs *ifa, struct message_address *ret)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (ifa->ifa_addr == NULL)
		return false;
	*ret = (struct message_address){ 0 };
	if (ifa->ifa_addr->sa_family == AF_INET) {
		memcpy(&in, ifa->ifa_addr, sizeof(in));
		ret->family = 4;
		memcpy(ret->bytes, &in.sin_addr, 4);
		return true;
	}
	if (ifa->ifa_addr->sa_family != AF_INET6)
		return false;
	memcpy(&in6, ifa->ifa_addr, sizeof(in6));
	ret->family = 6;
	memcpy(ret->bytes, &in6.sin6_addr, 16);
	return true;
}

int
host_watch_addresses(struct message_dialler_addresses *ret)
{
	struct ifaddrs *all;
	int rc = 0;

	if (getifaddrs(&all) == -1)
		return -errno;
	ret->count = 0;
	for (const struct ifaddrs *ifa = all; ifa != NULL;
	     ifa = ifa->ifa_next) {
		/* One too many is one that a guest could reach. */
		if (ret->count == DIALLER_ADDRESSES_MAX) {
			rc = -E2BIG;
			break;
		}
		if (take_address(ifa, &ret->addresses[ret->count]))
			ret->count++;
	}
	freeifaddrs(all);
	return rc;
}

static void
on_settled(evutil_socket_t fd, short what, void *arg)
{
	struct host_watch *h = arg;

	(void)fd;
	(void)what;
	link_dialler_addresses(h->sv);
}

static void
on_netlink(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval tv = { .tv_usec = HOST_WATCH_SETTLE_MS * 1000L };
	struct host_watch *h = arg;
	uint8_t ignored[8192];

	(void)what;
	/* Whatever it says, or ENOBUFS: all addresses are read again. */
	while (recv(fd, ignored, sizeof(ignored), MSG_DONTWAIT) > 0)
		;
	if (!evtimer_pending(h->settle_event, NULL) &&
	    event_add(h->settle_event, &tv) == -1)
		log_err("host", "no memory for a timer");
}

/* False if it is what it was. */
static bool
has_changed(const char *path, struct stat *seen)
{
	struct stat st = { 0 };
	bool changed;

	if (stat(path, &st) == -1)
		st = (struct stat){ 0 };
	changed = st.st_ino != seen->st_ino || st.st_dev != seen->st_dev ||
	    st.st_size != seen->st_size ||
	    st.st_mtim.tv_sec != seen->st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != seen->st_mtim.tv_nsec;
	*seen = st;
	return changed;
}

/* All are looked at, so that each change is seen once. */
static bool
have_roots_changed(struct host_watch *h)
{
	const struct hostconf *host = h->sv->config->host;
	bool changed = has_changed(host->ca_file, &h->bundle);

	for (size_t i = 0; i < host->ca_count; i++)
		changed |= has_changed(host->cas[i].set.file, &h->cas[i]);
	return changed;
}

static void
on_new_roots(void *arg, int rc, const struct answer *a)
{
	(void)arg;
	if (rc != 0)
		log_err("roots", "%s; the ones before stay", a->text);
}

/* All sources of client certificates. True: one is not what it was. */
static bool
have_pairs_changed(struct host_watch *h)
{
	const struct hostconf *host = h->sv->config->host;
	bool changed = false;
	size_t at = 0;

	for (size_t i = 0; i < host->credential_count; i++) {
		const struct message_broker_credential *d =
		    host->credentials[i].def;

		for (unsigned int k = 0; k < d->setting_count; k++) {
			char path[SUPERVISOR_PATH_SIZE];

			if (d->kind == BROKER_KIND_CERTIFICATE &&
			    d->settings[k].is_source &&
			    at < sizeof(h->pairs) / sizeof(h->pairs[0]) &&
			    config_source_path(d->settings[k].text, path,
				sizeof(path)) == 0)
				changed |= has_changed(path, &h->pairs[at++]);
		}
	}
	return changed;
}

/*
 * Short-lived certificates are written anew, one file after the other: a pair
 * is taken up once neither has changed for a turn.
 */
static void
look_at_pairs(struct host_watch *h)
{
	const bool changed = have_pairs_changed(h);

	if (!changed && h->is_pair_moving)
		link_broker_configure(h->sv);
	h->is_pair_moving = changed;
}

static void
on_files(evutil_socket_t fd, short what, void *arg)
{
	struct host_watch *h = arg;
	struct supervisor *sv = h->sv;
	int rc;

	(void)fd;
	(void)what;
	if (has_changed(RESOLV_CONF, &h->resolv) &&
	    sv->config->host->resolver_count == 0) {
		link_dialler_configure(sv);
		link_broker_upstream(sv);
	}
	look_at_pairs(h);
	if (!have_roots_changed(h))
		return;
	rc = link_ca_roots(sv, on_new_roots, sv);
	if (rc != 0) {
		log_warn("roots", "%s: %s; the ones before stay",
		    sv->config->host->ca_file, strerror(-rc));
		/* Looked at again: a file may be on its way. */
		h->bundle = (struct stat){ 0 };
	}
}

static int
open_netlink(int *ret_fd)
{
	const struct sockaddr_nl nl = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	AUTO_CLOSE int fd = socket(AF_NETLINK,
	    SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd == -1 ||
	    bind(fd, (const struct sockaddr *)&nl, sizeof(nl)) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int
host_watch_start(struct supervisor *sv)
{
	const struct timeval every = {
		.tv_sec = HOST_WATCH_FILES_MS / 1000,
	};
	struct host_watch *h = calloc(1, sizeof(*h));
	int rc;

	if (h == NULL)
		return -ENOMEM;
	sv->host_watch = h;
	h->sv = sv;
	h->fd = -1;
	(void)has_changed(RESOLV_CONF, &h->resolv);
	(void)have_roots_changed(h);
	(void)have_pairs_changed(h);
	rc = open_netlink(&h->fd);
	if (rc != 0)
		return rc;
	h->netlink_event =
	    event_new(sv->base, h->fd, EV_READ | EV_PERSIST, on_netlink, h);
	h->settle_event = evtimer_new(sv->base, on_settled, h);
	h->files_event = event_new(sv->base, -1, EV_PERSIST, on_files, h);
	if (h->netlink_event == NULL || h->settle_event == NULL ||
	    h->files_event == NULL || event_add(h->netlink_event, NULL) == -1 ||
	    event_add(h->files_event, &every) == -1)
		return -ENOMEM;
	return 0;
}

void
host_watch_stop(struct supervisor *sv)
{
	struct host_watch *h = sv->host_watch;

	if (h == NULL)
		return;
	if (h->netlink_event != NULL)
		event_free(h->netlink_event);
	if (h->settle_event != NULL)
		event_free(h->settle_event);
	if (h->files_event != NULL)
		event_free(h->files_event);
	fd_close(&h->fd);
	free(h);
	sv->host_watch = NULL;
}
