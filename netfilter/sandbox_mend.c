/*
 * What happens to a sandbox after it was opened: events, changes by
 * strangers, and a supervisor that starts again.
 */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "netfilter/route.h"
#include "netfilter/sandbox_parts.h"

/* Takes the device down, puts everything in place again and opens it. */
static int
mend(struct sandbox_net *n, struct err *err)
{
	const char *name = sandbox_device_name(n);
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
	rc = sandbox_enclose(n, err);
	if (rc == 0)
		rc = sandbox_read_back(n, err);
	return rc != 0 ? rc : sandbox_open_device(n, err);
}

/*
 * Its neighbour entry went if it was closed, even if it is open again. Opens
 * it if it is not.
 */
static int
reopen(struct sandbox_net *n, struct err *err)
{
	const char *name = sandbox_device_name(n);
	int rc = route_address_setup(&n->plan, name);

	if (rc != 0)
		return err_os(err, rc, "address of %s", name);
	return n->state == DEVICE_DOWN ? sandbox_open_device(n, err) : 0;
}

/* Reads back if anything may have changed, and puts it right if it has. */
static int
check_inside(struct sandbox_net *n, bool is_touched, struct net_event *ev,
    struct err *err)
{
	const char *name = sandbox_device_name(n);
	enum device_state before = n->state;
	uint32_t generation = 0;
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
		rc = sandbox_read_back(n, NULL);
	if (rc == -EBADMSG) {
		rc = mend(n, err);
		ev->reinstalled = rc == 0;
	} else if (rc != 0) {
		(void)err_os(err, rc, "looking at %s", name);
	} else if (is_touched || ev->state_changed) {
		rc = reopen(n, err);
	}
	ev->state = n->state;
	ev->state_changed = n->state != before;
	return rc;
}

static int
drain_watches(struct sandbox_net *n, bool *ret_touched)
{
	int rc = device_watch_drain(n->device_fd, sandbox_device_name(n),
	    ret_touched);

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
		(void)device_set_up(sandbox_device_name(n), false);
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
	rc = sandbox_open_watches(n, err);
	return rc != 0 ? rc : check_inside(n, true, &ev, err);
}

int
sandbox_net_adopt(const struct net_host *host, const struct net_plan *plan,
    const struct net_request *req, struct net_kept *kept,
    struct sandbox_net **ret, struct err *err)
{
	struct sandbox_net *n = sandbox_new(host, plan);
	int rc;

	if (n == NULL) {
		net_sockets_close(&kept->sockets);
		return err_os(err, -ENOMEM, "a sandbox's network");
	}
	n->sockets = kept->sockets;
	kept->sockets = NET_SOCKETS_NONE;
	n->kind = req->device;
	n->has_device = true;
	rc = net_opening_copy(&req->open, &n->open);
	if (rc == 0)
		rc = sandbox_set_name(n, req->name, err);
	if (rc == 0)
		rc = netns_name_open(n->name, &n->ns_fd);
	if (rc == 0)
		rc = netns_inode(n->ns_fd, &n->inode);
	if (rc == 0 && n->inode != kept->inode)
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
