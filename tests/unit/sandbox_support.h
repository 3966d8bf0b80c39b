/*
 * A sandbox's network for the tests: one host, one plan, one request.
 * Include after cmocka.h.
 */
#ifndef TAPWARD_TESTS_UNIT_SANDBOX_SUPPORT_H
#define TAPWARD_TESTS_UNIT_SANDBOX_SUPPORT_H

#include <stdio.h>

#include "netfilter/sandbox_net.h"

#define ROWS(a) (sizeof(a) / sizeof((a)[0]))
#define NAME "netfilter-test"

static struct net_host host = { -1, 0 };
static struct net_plan plan;

static const uint16_t ports[] = { 8443, 9000 };
static const struct net_reserved reserved[] = { { 0xc6120005, 5432 } };

static inline struct net_request
tap_request(void)
{
	return (struct net_request){
		.name = NAME,
		.device = NET_DEVICE_TAP,
		.open = { ports, ROWS(ports), reserved, ROWS(reserved) },
	};
}

static inline struct sandbox_net *
create(const struct net_request *req)
{
	struct sandbox_net *n = NULL;
	struct err err = { "" };

	if (sandbox_net_prepare(&host, &plan, req->device, &n, &err) != 0 ||
	    sandbox_net_finish(n, req, &err) != 0)
		fail_msg("%s", err.text);
	return n;
}

static inline void
expect_verified(struct sandbox_net *n)
{
	struct err err = { "" };

	if (sandbox_net_verify(n, &err) != 0)
		fail_msg("%s", err.text);
}

static inline struct net_event
check_now(struct sandbox_net *n)
{
	struct net_event ev;
	struct err err = { "" };

	if (sandbox_net_check(n, &ev, &err) != 0)
		fail_msg("%s", err.text);
	return ev;
}

static inline int
start(void **state)
{
	struct err err = { "" };
	int rc;

	(void)state;
	plan = net_plan_default();
	rc = net_host_init(&host, &err);
	if (rc != 0)
		(void)fprintf(stderr, "%s\n", err.text);
	else /* what an earlier run left when it failed */
		(void)sandbox_net_sweep(&host, &plan, NETNS_PREFIX NAME);
	return rc;
}

static inline int
stop(void **state)
{
	(void)state;
	net_host_done(&host);
	return 0;
}

#endif
