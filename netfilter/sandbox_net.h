/*
 * The network of one sandbox as a whole: what the supervisor uses.
 *
 * prepare() does all that does not depend on who the sandbox is for and can
 * wait in a pool; finish() does the rest and opens the device last, after
 * everything was read back. Whatever stage fails, sandbox_net_remove() leaves
 * nothing. A guest can send nothing before finish() returned 0.
 *
 * All of it works on behalf of a single-threaded process in its own
 * namespace; none of it waits for anybody but the kernel.
 */
#ifndef TAPWARD_NETFILTER_SANDBOX_NET_H
#define TAPWARD_NETFILTER_SANDBOX_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "netfilter/device.h"
#include "netfilter/net_host.h"
#include "netfilter/netns.h"
#include "netfilter/plan.h"
#include "netfilter/ruleset.h"
#include "netfilter/sockets.h"

enum net_device {
	NET_DEVICE_TAP,
	NET_DEVICE_VETH,
};

struct net_request {
	const char *name; /* of the sandbox; the prefix is added here */
	enum net_device device;
	uint32_t owner;            /* of a tap; DEVICE_NO_OWNER */
	struct device_guest guest; /* of a veth */
	struct net_opening open;
};

/* What an earlier supervisor left of a sandbox. */
struct net_kept {
	uint64_t inode; /* of its namespace */
	struct net_sockets sockets;
};

struct sandbox_net;

/*
 * A namespace with sysctls, lo, routes, sockets, and for NET_DEVICE_TAP the
 * tap and its ruleset; no name. host is borrowed for its life, plan copied.
 * A prepared one can be finished with either device, at its best with the one
 * it was prepared for. 0 or -errno with a text.
 */
int sandbox_net_prepare(const struct net_host *host,
    const struct net_plan *plan, enum net_device device,
    struct sandbox_net **ret, struct err *err);
/*
 * Makes it the sandbox's and opens the device. On failure the object is fit
 * only for sandbox_net_remove(). -EEXIST: the name, or the guest's device
 * name, is taken. -EBADMSG: what was read back differs. Else 0 or -errno.
 */
int sandbox_net_finish(struct sandbox_net *n, const struct net_request *req,
    struct err *err);

/*
 * Takes up a sandbox that an earlier supervisor finished, by its name, after
 * checking that its inode is kept->inode (-ESTALE if not). Its ruleset is read
 * back and put in place again where it differs, device closed meanwhile; a
 * device that is gone is no failure. kept->sockets are taken, in failure too;
 * missing ones (-1) are made anew. req->guest is not used. 0 or -errno.
 */
int sandbox_net_adopt(const struct net_host *host, const struct net_plan *plan,
    const struct net_request *req, struct net_kept *kept,
    struct sandbox_net **ret, struct err *err);

/*
 * Ends it: device closed and deleted, name and sockets gone; the kernel frees
 * the rest once the last process in it ends. NULL and half-built ones are
 * fine. Frees n whatever the result. 0, or the first -errno for the log.
 */
int sandbox_net_remove(struct sandbox_net *n);
/* Frees n and closes our descriptors, but leaves the sandbox running. */
void sandbox_net_forget(struct sandbox_net *n);

/*
 * Takes away what is left of a sandbox that nobody has a record of, found by
 * netns_name_each(): name with its prefix. Devices that a VMM still holds are
 * deleted. 0 or the first -errno; the name goes whatever happens.
 */
int sandbox_net_sweep(const struct net_host *host, const struct net_plan *plan,
    const char *name);

/* Each borrows from n. */
int sandbox_net_fd(const struct sandbox_net *n); /* the namespace */
uint64_t sandbox_net_inode(const struct sandbox_net *n);
const char *sandbox_net_name(const struct sandbox_net *n); /* "tapward-x" */
const char *sandbox_net_device(const struct sandbox_net *n);
const struct net_sockets *sandbox_net_sockets(const struct sandbox_net *n);

/* May a caller's namespace be given a device: not ours, not this sandbox's. */
bool sandbox_net_is_own(const struct net_host *host,
    const struct sandbox_net *n, uint64_t inode);

/* The policy changed. The old openings stay on failure. 0 or -errno. */
int sandbox_net_update(struct sandbox_net *n, const struct net_opening *open,
    struct err *err);
/*
 * Reads everything back now: settings, devices, addresses, routes, ruleset.
 * -EBADMSG if anything differs, err then says what; 0 or -errno.
 */
int sandbox_net_verify(struct sandbox_net *n, struct err *err);
int sandbox_net_counters(const struct sandbox_net *n, struct net_counters *ret);
/* As device_tap_open(), for `attach --fd`. */
int sandbox_net_open_tap(const struct sandbox_net *n, int flags, int *ret_fd);
/* As device_tap_set_owner(), for a monitor that opens it by its name. */
int sandbox_net_set_tap_owner(const struct sandbox_net *n, uint32_t owner);

/*
 * Two descriptors to poll for reading; call sandbox_net_check() when either
 * is. Borrowed; -1 before finish().
 */
int sandbox_net_device_fd(const struct sandbox_net *n);
int sandbox_net_ruleset_fd(const struct sandbox_net *n);

struct net_event {
	enum device_state state; /* now */
	bool state_changed;
	bool reinstalled; /* the ruleset had been changed, and was mended */
};
/*
 * Reads the events and puts right what a stranger changed: a device that came
 * back gets its ruleset and its addresses while it is down, then is opened; a
 * ruleset that differs is installed again, device closed meanwhile. 0 or
 * -errno; the device is closed after a failure.
 */
int sandbox_net_check(struct sandbox_net *n, struct net_event *ret,
    struct err *err);

#endif
