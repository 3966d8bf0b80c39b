/*
 * What sandbox_net.c and sandbox_mend.c share; nobody else includes this.
 */
#ifndef TAPWARD_NETFILTER_SANDBOX_PARTS_H
#define TAPWARD_NETFILTER_SANDBOX_PARTS_H

#include "netfilter/sandbox_net.h"

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

/* NULL when memory is short. */
struct sandbox_net *sandbox_new(const struct net_host *host,
    const struct net_plan *plan);
const char *sandbox_device_name(const struct sandbox_net *n);
/* -EINVAL for a name that does not fit. */
int sandbox_set_name(struct sandbox_net *n, const char *name, struct err *err);

/*
 * The steps that both take, in this order, inside the namespace. Each 0 or
 * -errno with a text.
 */
int sandbox_open_watches(struct sandbox_net *n, struct err *err);
/* The rules and addresses of a device that is there and down. */
int sandbox_enclose(struct sandbox_net *n, struct err *err);
/* Ruleset and routes are as we put them, or -EBADMSG. */
int sandbox_read_back(struct sandbox_net *n, struct err *err);
int sandbox_open_device(struct sandbox_net *n, struct err *err);

#endif
