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

/*
 * NULL and ret filled, or what is wrong and how to mend it. A wildcard on a
 * public suffix (of the list built into libpsl, with its private part) or
 * above one is refused: it would name hosts of everybody.
 */
const char *host_pattern_parse(struct span in, struct host_pattern *ret);

/*
 * Below name others than its owner get names: a wildcard there, while not
 * refused, is worth a second look.
 */
bool host_pattern_is_shared(const struct host_pattern *p);

#endif
