/*
 * The order of the steps is the safety of it: namespace, settings, routes,
 * device (down), ruleset, all read back, and only then the device up. What
 * mends a sandbox later (sandbox_mend.c) comes the same way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "netfilter/route.h"
#include "netfilter/sandbox_parts.h"
#include "netfilter/sysctl.h"

const char *
sandbox_device_name(const struct sandbox_net *n)
{
	return n->kind == NET_DEVICE_TAP ? n->plan.tap_name : n->plan.veth_name;
}

struct sandbox_net *
sandbox_new(const struct net_host *host, const struct net_plan *plan)
{
	struct sandbox_net *n = calloc(1, sizeof(*n));

	if (n == NULL)
		return NULL;
	n->host = host;
	n->plan = *plan;
	n->ns_fd = -1;
	n->sockets = NET_SOCKETS_NONE;
	n->device_fd = -1;
	n->ruleset_fd = -1;
	n->state = DEVICE_GONE;
	return n;
}

void
sandbox_net_forget(struct sandbox_net *n)
{
	if (n == NULL)
		return;
	net_sockets_close(&n->sockets);
	fd_close(&n->device_fd);
	fd_close(&n->ruleset_fd);
	fd_close(&n->ns_fd);
	net_opening_done(&n->open);
	free(n);
}

static int
device_create_tap(struct sandbox_net *n, struct err *err)
{
	int rc = device_tap_create(&n->plan);

	if (rc != 0)
		return err_os(err, rc,
		    "making tap %s (wants /dev/net/tun, module tun)",
		    n->plan.tap_name);
	n->has_device = true;
	return 0;
}

/* The rules and addresses of a device that is there and down. */
int
sandbox_enclose(struct sandbox_net *n, struct err *err)
{
	const char *name = sandbox_device_name(n);
	int rc = ruleset_install(&n->plan, name, &n->open, err);

	if (rc != 0)
		return rc;
	rc = route_address_setup(&n->plan, name);
	return rc == 0 ? 0 : err_os(err, rc, "address of %s", name);
}

int
sandbox_read_back(struct sandbox_net *n, struct err *err)
{
	const char *name = sandbox_device_name(n);
	uint32_t generation;
	int rc = ruleset_generation(&generation);

	/* Before the reading: what changes during it shows later. */
	if (rc != 0)
		return err_os(err, rc, "nftables: generation");
	rc = ruleset_verify(&n->plan, name, &n->open, err);
	if (rc == 0)
		rc = route_verify(&n->plan, name, err);
	if (rc == 0)
		n->generation = generation;
	return rc;
}

int
sandbox_open_device(struct sandbox_net *n, struct err *err)
{
	const char *name = sandbox_device_name(n);
	int rc = device_set_up(name, true);

	if (rc == 0)
		rc = device_state(name, &n->state);
	return rc == 0 ? 0 : err_os(err, rc, "opening %s", name);
}

/* What prepare() does inside the namespace. */
static int
furnish(struct sandbox_net *n, struct err *err)
{
	int rc = sysctl_apply(err);

	if (rc != 0)
		return rc;
	rc = route_base_setup();
	if (rc != 0)
		return err_os(err, rc, "lo and the routes for TPROXY");
	rc = net_sockets_open(&n->plan, &n->sockets);
	if (rc != 0)
		return err_os(err, rc, "the gate's sockets");
	if (n->kind != NET_DEVICE_TAP)
		return 0;
	rc = device_create_tap(n, err);
	return rc != 0 ? rc : sandbox_enclose(n, err);
}

int
sandbox_net_prepare(const struct net_host *host, const struct net_plan *plan,
    enum net_device device, struct sandbox_net **ret, struct err *err)
{
	struct sandbox_net *n;
	int rc = net_plan_check(plan, err);

	if (rc != 0)
		return rc;
	n = sandbox_new(host, plan);
	if (n == NULL)
		return err_os(err, -ENOMEM, "a sandbox's network");
	n->kind = device;
	rc = netns_create(host->home_fd, &n->ns_fd);
	if (rc == 0)
		rc = netns_inode(n->ns_fd, &n->inode);
	if (rc == 0)
		rc = netns_enter(n->ns_fd);
	if (rc != 0) {
		rc = err_os(err, rc, "making a network namespace (wants root)");
	} else {
		rc = furnish(n, err);
		netns_leave(host->home_fd);
	}
	if (rc != 0) {
		(void)sandbox_net_remove(n);
		return rc;
	}
	*ret = n;
	return 0;
}

/* The device that was asked for, down, with its owner and its ruleset. */
static int
finish_tap(struct sandbox_net *n, const struct net_request *req,
    struct err *err)
{
	const struct net_opening nothing = NET_OPENING_NONE;
	int rc;

	n->kind = NET_DEVICE_TAP;
	if (!n->has_device) {
		rc = device_create_tap(n, err);
		if (rc == 0)
			rc = sandbox_enclose(n, err);
	} else {
		rc = ruleset_update(&nothing, &n->open, err);
	}
	if (rc != 0 || req->owner == DEVICE_NO_OWNER)
		return rc;
	rc = device_tap_set_owner(n->plan.tap_name, req->owner);
	return rc == 0 ? 0 : err_os(err, rc, "owner of %s", n->plan.tap_name);
}

static int
finish_veth(struct sandbox_net *n, const struct net_request *req,
    struct err *err)
{
	int rc = 0;

	if (n->has_device) {
		rc = device_delete(n->plan.tap_name);
		n->has_device = rc != 0;
	}
	if (rc == 0)
		rc = device_veth_create(&n->plan, &req->guest, n->ns_fd);
	if (rc != 0)
		return err_os(err, rc, "veth pair with %s", req->guest.name);
	n->kind = NET_DEVICE_VETH;
	n->has_device = true;
	return sandbox_enclose(n, err);
}

int
sandbox_open_watches(struct sandbox_net *n, struct err *err)
{
	int rc = device_watch_open(&n->device_fd);

	if (rc == 0)
		rc = ruleset_watch_open(&n->ruleset_fd);
	return rc == 0 ? 0 : err_os(err, rc, "watching the namespace");
}

int
sandbox_set_name(struct sandbox_net *n, const char *name, struct err *err)
{
	int len =
	    snprintf(n->name, sizeof(n->name), "%s%s", NETNS_PREFIX, name);

	if (len > 0 && (size_t)len < sizeof(n->name) && name[0] != '\0')
		return 0;
	n->name[0] = '\0';
	return err_os(err, -EINVAL, "sandbox name");
}

/* What finish() does inside the namespace. */
static int
complete(struct sandbox_net *n, const struct net_request *req, struct err *err)
{
	int rc = sandbox_open_watches(n, err);

	if (rc == 0)
		rc = req->device == NET_DEVICE_TAP ? finish_tap(n, req, err)
						   : finish_veth(n, req, err);
	if (rc == 0)
		rc = sandbox_read_back(n, err);
	return rc != 0 ? rc : sandbox_open_device(n, err);
}

static int
check_guest(const struct sandbox_net *n, const struct net_request *req,
    struct err *err)
{
	uint64_t inode;
	int rc;

	if (req->device != NET_DEVICE_VETH)
		return 0;
	rc = netns_inode(req->guest.ns_fd, &inode);
	if (rc == 0 && sandbox_net_is_own(n->host, n, inode))
		rc = -EPERM;
	return rc == 0 ? 0 : err_os(err, rc, "the guest's namespace");
}

int
sandbox_net_finish(struct sandbox_net *n, const struct net_request *req,
    struct err *err)
{
	int rc = check_guest(n, req, err);

	if (rc != 0)
		return rc;
	rc = net_opening_copy(&req->open, &n->open);
	if (rc != 0)
		return err_os(err, rc, "openings of the policy");
	rc = sandbox_set_name(n, req->name, err);
	if (rc != 0)
		return rc;
	rc = netns_name_add(n->ns_fd, n->name);
	if (rc != 0) {
		(void)err_os(err, rc, "%s/%s", NETNS_DIR, n->name);
		/* Not ours to take away. */
		n->name[0] = '\0';
		return rc;
	}
	rc = netns_enter(n->ns_fd);
	if (rc != 0)
		return err_os(err, rc, "entering %s", n->name);
	rc = complete(n, req, err);
	netns_leave(n->host->home_fd);
	return rc;
}

/*
 * A tap that nobody holds goes with its namespace, in the background. One
 * that a VMM holds would live on with it; and a veth's other end is in a
 * namespace that lives on anyway, where its name is wanted again.
 */
static int
device_close(struct sandbox_net *n)
{
	const char *name = sandbox_device_name(n);
	enum device_state state = DEVICE_GONE;
	int rc = device_state(name, &state);

	if (rc != 0 || state == DEVICE_GONE)
		return rc;
	if (n->kind == NET_DEVICE_VETH || state == DEVICE_READY)
		return device_delete(name);
	return state == DEVICE_DOWN ? 0 : device_set_up(name, false);
}

int
sandbox_net_remove(struct sandbox_net *n)
{
	int rc = 0, name_rc = 0;

	if (n == NULL)
		return 0;
	if (n->ns_fd != -1 && n->has_device) {
		rc = netns_enter(n->ns_fd);
		if (rc == 0) {
			rc = device_close(n);
			netns_leave(n->host->home_fd);
		}
	}
	if (n->name[0] != '\0')
		name_rc = netns_name_remove(n->name);
	sandbox_net_forget(n);
	return rc != 0 ? rc : name_rc;
}

int
sandbox_net_sweep(const struct net_host *host, const struct net_plan *plan,
    const char *name)
{
	struct sandbox_net *n = sandbox_new(host, plan);
	int rc, name_rc;

	if (n == NULL)
		return -ENOMEM;
	rc = netns_name_open(name, &n->ns_fd);
	if (rc == 0)
		rc = netns_inode(n->ns_fd, &n->inode);
	/* Somebody gave the host's namespace a name of ours: only the name. */
	if (rc == 0 && n->inode != host->home_inode)
		rc = netns_enter(n->ns_fd);
	if (rc == 0 && n->inode != host->home_inode) {
		rc = device_close(n);
		n->kind = NET_DEVICE_VETH;
		if (rc == 0)
			rc = device_close(n);
		netns_leave(host->home_fd);
	}
	sandbox_net_forget(n);
	name_rc = netns_name_remove(name);
	return rc != 0 ? rc : name_rc;
}

int
sandbox_net_verify(struct sandbox_net *n, struct err *err)
{
	int rc = netns_enter(n->ns_fd);

	if (rc != 0)
		return err_os(err, rc, "entering %s", n->name);
	rc = sysctl_verify(err);
	if (rc == 0)
		rc = sandbox_read_back(n, err);
	netns_leave(n->host->home_fd);
	return rc;
}

int
sandbox_net_fd(const struct sandbox_net *n)
{
	return n->ns_fd;
}

uint64_t
sandbox_net_inode(const struct sandbox_net *n)
{
	return n->inode;
}

const char *
sandbox_net_name(const struct sandbox_net *n)
{
	return n->name;
}

const char *
sandbox_net_device(const struct sandbox_net *n)
{
	return sandbox_device_name(n);
}

const struct net_sockets *
sandbox_net_sockets(const struct sandbox_net *n)
{
	return &n->sockets;
}

bool
sandbox_net_is_own(const struct net_host *host, const struct sandbox_net *n,
    uint64_t inode)
{
	return inode == host->home_inode || inode == n->inode;
}

int
sandbox_net_update(struct sandbox_net *n, const struct net_opening *open,
    struct err *err)
{
	struct net_opening copy;
	int rc = net_opening_copy(open, &copy);

	if (rc != 0)
		return err_os(err, rc, "openings of the policy");
	rc = netns_enter(n->ns_fd);
	if (rc != 0) {
		(void)err_os(err, rc, "entering %s", n->name);
	} else {
		rc = ruleset_update(&n->open, &copy, err);
		netns_leave(n->host->home_fd);
	}
	if (rc != 0) {
		net_opening_done(&copy);
		return rc;
	}
	net_opening_done(&n->open);
	n->open = copy;
	return 0;
}

int
sandbox_net_counters(const struct sandbox_net *n, struct net_counters *ret)
{
	struct net_counters c;
	int rc = netns_enter(n->ns_fd);

	if (rc != 0)
		return rc;
	rc = ruleset_counters(&c);
	netns_leave(n->host->home_fd);
	if (rc != 0)
		return rc;
	for (unsigned int r = 0; r < REASON_COUNT; r++) {
		c.packets[r] += n->base.packets[r];
		c.bytes[r] += n->base.bytes[r];
	}
	*ret = c;
	return 0;
}

int
sandbox_net_open_tap(const struct sandbox_net *n, int flags, int *ret_fd)
{
	int rc;

	if (n->kind != NET_DEVICE_TAP)
		return -EINVAL;
	rc = netns_enter(n->ns_fd);
	if (rc != 0)
		return rc;
	rc = device_tap_open(n->plan.tap_name, flags, ret_fd);
	netns_leave(n->host->home_fd);
	return rc;
}

int
sandbox_net_set_tap_owner(const struct sandbox_net *n, uint32_t owner)
{
	int rc;

	if (n->kind != NET_DEVICE_TAP)
		return -EINVAL;
	rc = netns_enter(n->ns_fd);
	if (rc != 0)
		return rc;
	rc = device_tap_set_owner(n->plan.tap_name, owner);
	netns_leave(n->host->home_fd);
	return rc;
}

int
sandbox_net_device_fd(const struct sandbox_net *n)
{
	return n->device_fd;
}

int
sandbox_net_ruleset_fd(const struct sandbox_net *n)
{
	return n->ruleset_fd;
}
