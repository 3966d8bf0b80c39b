/*
 * A gate as the supervisor sees it: what each of its messages does. No
 * channel in here: gate_main.c reads messages, a test calls these.
 */
#ifndef TAPWARD_PROXY_GATE_RUN_H
#define TAPWARD_PROXY_GATE_RUN_H

#include "proxy/gate.h"

struct dns_tcp;
struct dns_udp;
struct listener;
struct sntp;

struct gate_run {
	struct gate gate;
	int sockets[GATE_SOCKET_COUNT]; /* -1 before MSG_GATE_NET */
	bool is_started;
	struct listener *tcp;
	struct listener *explicit_proxy;
	struct dns_udp *dns_udp;
	struct dns_tcp *dns_tcp;
	struct sntp *sntp;
};

/* base is borrowed. */
void gate_run_init(struct gate_run *r, struct event_base *base);
/* Ends all connections, closes all. */
void gate_run_done(struct gate_run *r);

/* MSG_GATE_NET: takes the sockets (leaves -1). 0 or -errno. */
int gate_run_set_net(struct gate_run *r, const struct message_gate_net *net,
    int sockets[GATE_SOCKET_COUNT]);

/* Entries that are taken are left as -1. */
struct gate_start_fds {
	int dialler;
	int broker;
	int recorder;
	int ca;      /* borrowed */
	int roots;   /* borrowed */
	int counts;  /* borrowed */
	int policy;  /* borrowed */
	int ceiling; /* borrowed; -1 for none */
};

/*
 * MSG_GATE_START: from here on it serves. 0, or a -errno after which this
 * gate is of no use.
 */
int gate_run_start(struct gate_run *r, const struct message_gate_start *m,
    struct gate_start_fds *fds);

/*
 * MSG_GATE_POLICY: takes another policy over, for connections that are open
 * too. Descriptors are borrowed; ceiling -1 for none. 0, or -errno and the
 * policy before stays.
 */
int gate_run_set_policy(struct gate_run *r, int policy, int ceiling);

/* MSG_GATE_PEER: takes fd. 0 or -errno. */
int gate_run_set_peer(struct gate_run *r, uint8_t which, int fd);

/*
 * MSG_GATE_STOP: serves nobody any more, and leaves a record of whatever was
 * open; see audit_is_told().
 */
void gate_run_stop(struct gate_run *r);

/* Digest of the policy in force, "" without one. */
const char *gate_run_policy(const struct gate_run *r);

#endif
