/*
 * `host = x`, `host = *.x`, `host = **.x`: one reading for policies and for
 * [address] sections of the host's configuration.
 */
#ifndef TAPWARD_CONF_HOST_PATTERN_H
#define TAPWARD_CONF_HOST_PATTERN_H

#include "conf/image.h"
#include "wire/host.h"

struct host_pattern {
	enum pattern_kind kind;
	char name[HOST_SIZE]; /* canonical, without the stars */
};

/* NULL and ret filled, or what is wrong and how to mend it. */
const char *host_pattern_parse(struct span in, struct host_pattern *ret);

#endif
