/*
 * The API that Firecracker and Cloud Hypervisor serve on a Unix socket:
 * HTTP/1.1 with JSON. One request for each connection, before the guest runs:
 * what answers has read nothing of a guest yet. Blocks, with deadlines.
 */
#ifndef TAPWARD_VMM_MONITOR_API_H
#define TAPWARD_VMM_MONITOR_API_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "vmm/driver.h"

/* How long a monitor may take to listen, and to answer one request. */
#define MONITOR_API_LISTEN_MS 3000
#define MONITOR_API_ANSWER_MS 3000

/*
 * Starts a monitor that needs KVM and is called name, and waits for its API at
 * socket: argv[0] is its program or NULL if there is none; it finds VM_FD_ROOT
 * at 3, and the guest's serial port is its output. *ret is filled as far as it
 * came. 0 or -errno.
 */
int monitor_api_start(const char *const *argv, const char *name,
    const char *socket, struct monitor *ret, struct err *err);
/*
 * Sends body (taken; NULL: none) and reads the answer. fd goes with it unless
 * it is -1. 0 for an answer of 2xx; -EREMOTEIO with what the monitor says.
 */
struct monitor_call {
	const char *socket;
	const char *method, *path;
	json_t *body;
	int fd;
};
int monitor_api_call(const struct monitor_call *c, struct err *err);

/*
 * What a device may do in a second, as both write it: buckets that are full
 * again after one. firecracker.yaml, RateLimiter; cloud-hypervisor.yaml,
 * RateLimiterConfig. NULL when there is no memory.
 */
json_t *monitor_api_rate(uint64_t bytes, uint32_t operations);

#endif
