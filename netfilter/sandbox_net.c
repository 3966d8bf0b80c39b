/*
 * The order of the steps is the safety of it: namespace, settings, routes,
 * device (down), ruleset, all read back, and only then the device up. What
 * mends a sandbox later takes the device down first and comes the same way.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "netfilter/route.h"
#include "netfilter/sandbox_net.h"
#include "netfilter/sysctl.h"

struct sandbox_net {
	const struct net_host *host;
	struct net_plan plan;
	enum net_device kind;
	int ns_fd;
	uint64_t inode;
	char name[NETNS_NAME_SIZE]; /* "" until it is bound */
	struct net_sockets sockets;
	int device_fd, ruleset_fd; /* watches */
	struct net_opening open;   /* owned copies */
	bool has_device;           /* made by us and not deleted */
	enum device_state state;
	uint32_t generation;      /* of the ruleset that was read back */
	struct net_counters base; /* of rulesets before this one */
};

static const char *
device_name(const struct net_plan *plan, enum net_device kind)
{
	return kind == NET_DEVICE_TAP ? plan->tap_name : plan->veth_name;
}

static struct sandbox_net *
sandbox_net_new(const struct net_host *host, const struct net_plan *plan)
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
		return err_os(err, rc, "making tap %s", n->plan.tap_name);
	n->has_device = true;
	return 0;
}

/* The rules and addresses of a device that is there and down. */
static int
device_enclose(struct sandbox_net *n, struct err *err)
{
	const char *name = device_name(&n->plan, n->kind);
	int rc = ruleset_install(&n->plan, name, &n->open, err);

	if (rc != 0)
		return rc;
	rc = route_address_setup(&n->plan, name);
	return rc == 0 ? 0 : err_os(err, rc, "address of %s", name);
}

static int
verify(struct sandbox_net *n, struct err *err)
{
	const char *name = device_name(&n->plan, n->kind);
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

static int
device_open(struct sandbox_net *n, struct err *err)
{
	const char *name = device_name(&n->plan, n->kind);
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
	return rc != 0 ? rc : device_enclose(n, err);
}

int
sandbox_net_prepare(const struct net_host *host, const struct net_plan *plan,
    enum net_device device, struct sandbox_net **ret, struct err *err)
{
	struct sandbox_net *n;
	int rc = net_plan_check(plan, err);

	if (rc != 0)
		return rc;
	n = sandbox_net_new(host, plan);
	if (n == NULL)
		return err_os(err, -ENOMEM, "a sandbox's network");
	n->kind = device;
	rc = netns_create(host->home_fd, &n->ns_fd);
	if (rc == 0)
		rc = netns_inode(n->ns_fd, &n->inode);
	if (rc == 0)
		rc = netns_enter(n->ns_fd);
	if (rc != 0) {
		rc = err_os(err, rc, "making a network namespace");
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

	if (!n->has_device) {
		rc = device_create_tap(n, err);
		if (rc == 0)
			rc = device_enclose(n, err);
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
	return device_enclose(n, err);
}

static int
open_watches(struct sandbox_net *n, struct err *err)
{
	int rc = device_watch_open(&n->device_fd);

	if (rc == 0)
		rc = ruleset_watch_open(&n->ruleset_fd);
	return rc == 0 ? 0 : err_os(err, rc, "watching the namespace");
}

/* What finish() does inside the namespace. */
static int
complete(struct sandbox_net *n, const struct net_request *req, struct err *err)
{
	int rc = open_watches(n, err);

	if (rc == 0)
		rc = req->device == NET_DEVICE_TAP ? finish_tap(n, req, err)
						   : finish_veth(n, req, err);
	if (rc == 0) {
		n->kind = req->device;
		rc = verify(n, err);
	}
	return rc != 0 ? rc : device_open(n, err);
}

static int
set_name(struct sandbox_net *n, const char *name, struct err *err)
{
	int len =
	    snprintf(n->name, sizeof(n->name), "%s%s", NETNS_PREFIX, name);

	if (len > 0 && (size_t)len < sizeof(n->name) && name[0] != '\0')
		return 0;
	n->name[0] = '\0';
	return err_os(err, -EINVAL, "sandbox name");
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
	rc = set_name(n, req->name, err);
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
	const char *name = device_name(&n->plan, n->kind);
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

/* Takes the device down, puts everything in place again and opens it. */
static int
mend(struct sandbox_net *n, struct err *err)
{
	const char *name = device_name(&n->plan, n->kind);
	struct net_counters c;
	int rc = device_set_up(name, false);

	if (rc == 0) {
		n->state = DEVICE_DOWN;
		rc = device_set_identity(&n->plan, name);
	}
	if (rc != 0)
		return err_os(err, rc, "closing %s", name);
	if (ruleset_counters(&c) == 0)
		for (unsigned int r = 0; r < REASON_COUNT; r++) {
			n->base.packets[r] += c.packets[r];
			n->base.bytes[r] += c.bytes[r];
		}
	rc = device_enclose(n, err);
	if (rc == 0)
		rc = verify(n, err);
	return rc != 0 ? rc : device_open(n, err);
}

/* Has anything that verify() looks at changed since? */
static int
check_inside(struct sandbox_net *n, bool is_touched, struct net_event *ev,
    struct err *err)
{
	const char *name = device_name(&n->plan, n->kind);
	enum device_state before = n->state;
	uint32_t generation;
	int rc = device_state(name, &n->state);

	if (rc == 0)
		rc = ruleset_generation(&generation);
	if (rc != 0)
		return err_os(err, rc, "looking at %s", name);
	ev->state = n->state;
	ev->state_changed = n->state != before;
	if (n->state == DEVICE_GONE)
		return 0;
	if (is_touched || ev->state_changed || generation != n->generation)
		rc = verify(n, NULL);
	if (rc == -EBADMSG) {
		rc = mend(n, err);
		ev->reinstalled = rc == 0;
	} else if (rc != 0) {
		(void)err_os(err, rc, "looking at %s", name);
	} else if (n->state == DEVICE_DOWN) {
		/* Its neighbour entry went when it was closed. */
		rc = route_address_setup(&n->plan, name);
		if (rc == 0)
			rc = device_open(n, err);
	}
	ev->state = n->state;
	ev->state_changed = n->state != before;
	return rc;
}

static int
drain_watches(struct sandbox_net *n, bool *ret_touched)
{
	int rc = device_watch_drain(n->device_fd,
	    device_name(&n->plan, n->kind), ret_touched);

	return rc != 0 ? rc : ruleset_watch_drain(n->ruleset_fd);
}

int
sandbox_net_check(struct sandbox_net *n, struct net_event *ret, struct err *err)
{
	struct net_event ev = { .state = n->state };
	bool is_touched = false;
	int rc = drain_watches(n, &is_touched);

	if (rc == 0)
		rc = netns_enter(n->ns_fd);
	if (rc != 0)
		return err_os(err, rc, "watching %s", n->name);
	rc = check_inside(n, is_touched, &ev, err);
	if (rc != 0 && n->state != DEVICE_GONE) {
		/* Closed, not open, while it cannot be vouched for. */
		(void)device_set_up(device_name(&n->plan, n->kind), false);
		n->state = DEVICE_DOWN;
	}
	netns_leave(n->host->home_fd);
	*ret = ev;
	return rc;
}

/* What adopt() does inside the namespace. */
static int
take_up(struct sandbox_net *n, struct err *err)
{
	struct net_event ev = { 0 };
	int rc = net_sockets_open(&n->plan, &n->sockets);

	if (rc != 0)
		return err_os(err, rc, "the gate's sockets");
	rc = open_watches(n, err);
	return rc != 0 ? rc : check_inside(n, true, &ev, err);
}

int
sandbox_net_adopt(const struct net_host *host, const struct net_plan *plan,
    const struct net_request *req, uint64_t inode, struct net_sockets *sockets,
    struct sandbox_net **ret, struct err *err)
{
	struct sandbox_net *n = sandbox_net_new(host, plan);
	int rc;

	if (n == NULL) {
		net_sockets_close(sockets);
		return err_os(err, -ENOMEM, "a sandbox's network");
	}
	n->sockets = *sockets;
	*sockets = NET_SOCKETS_NONE;
	n->kind = req->device;
	n->has_device = true;
	rc = net_opening_copy(&req->open, &n->open);
	if (rc == 0)
		rc = set_name(n, req->name, err);
	if (rc == 0)
		rc = netns_name_open(n->name, &n->ns_fd);
	if (rc == 0)
		rc = netns_inode(n->ns_fd, &n->inode);
	if (rc == 0 && n->inode != inode)
		rc = -ESTALE;
	if (rc == 0)
		rc = netns_enter(n->ns_fd);
	if (rc != 0) {
		(void)err_os(err, rc, "taking up %s", req->name);
	} else {
		rc = take_up(n, err);
		netns_leave(host->home_fd);
	}
	if (rc != 0) {
		sandbox_net_forget(n);
		return rc;
	}
	*ret = n;
	return 0;
}

int
sandbox_net_verify(struct sandbox_net *n, struct err *err)
{
	int rc = netns_enter(n->ns_fd);

	if (rc != 0)
		return err_os(err, rc, "entering %s", n->name);
	rc = sysctl_verify(err);
	if (rc == 0)
		rc = verify(n, err);
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
	return device_name(&n->plan, n->kind);
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
sandbox_net_device_fd(const struct sandbox_net *n)
{
	return n->device_fd;
}

int
sandbox_net_ruleset_fd(const struct sandbox_net *n)
{
	return n->ruleset_fd;
}
