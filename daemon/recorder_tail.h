/*
 * Where an existing audit log ends, so that its chain goes on after a start.
 */
#ifndef TAPWARD_DAEMON_RECORDER_TAIL_H
#define TAPWARD_DAEMON_RECORDER_TAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/audit_verify.h"

struct recorder_tail {
	uint64_t seq;               /* of the last whole line; 0 without one */
	char prev[DIGEST_HEX_SIZE]; /* hash of the last line, cut or not */
	bool needs_newline; /* the last byte is none: to be written first */
	bool is_torn;       /* the last line was cut: a gap record is due */
};

/* Reads by pread, from the end. 0 or -errno. */
int recorder_tail_read(int fd, struct recorder_tail *ret);
/* The same over the last bytes of a log. is_start: that is all there is. */
int recorder_tail_parse(struct span tail, bool is_start,
    struct recorder_tail *ret);

#endif
