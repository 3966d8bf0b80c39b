/*
 * Finds out at start, not at the first create, whether this host can have
 * sandboxes at all.
 */
#include <errno.h>

#include "base/fd.h"
#include "netfilter/net_host.h"
#include "netfilter/sandbox_net.h"

/* Everything a sandbox needs, in a namespace that is gone a moment later. */
static int
try_sandbox(const struct net_host *host, struct err *err)
{
	const struct net_plan plan = net_plan_default();
	struct sandbox_net *n = NULL;
	int rc = sandbox_net_prepare(host, &plan, NET_DEVICE_TAP, &n, err);

	if (rc == 0)
		rc = sandbox_net_verify(n, err);
	(void)sandbox_net_remove(n);
	return rc;
}

int
net_host_init(struct net_host *host, struct err *err)
{
	struct net_host h = { -1, 0 };
	int rc = netns_current(&h.home_fd);

	if (rc == 0)
		rc = netns_inode(h.home_fd, &h.home_inode);
	if (rc != 0)
		(void)err_os(err, rc, "our own network namespace");
	else
		rc = try_sandbox(&h, err);
	if (rc != 0) {
		fd_close(&h.home_fd);
		return rc;
	}
	*host = h;
	return 0;
}

void
net_host_done(struct net_host *host)
{
	fd_close(&host->home_fd);
}
