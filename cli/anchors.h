/*
 * Heads of the audit log that were written down elsewhere, by the journal or
 * `[audit] anchor`: lines with "seq=NUMBER head=HASH" in them, whatever stands
 * before. Pure but for anchors_load().
 */
#ifndef TAPWARD_CLI_ANCHORS_H
#define TAPWARD_CLI_ANCHORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/audit_verify.h"

struct anchor {
	uint64_t seq;
	char head[DIGEST_HEX_SIZE];
};

struct anchors {
	struct anchor
	    *all; /* by rising number, once anchors_sort() was called */
	size_t count, room;
	size_t at;   /* the first that the log has not come to */
	size_t held; /* that the log has kept */
};

void anchors_done(struct anchors *a);
/* Takes the line if it has one. False: no memory. */
bool anchors_take_line(struct anchors *a, struct span line);
/* All lines of f. 0 or -errno. */
int anchors_load(struct anchors *a, FILE *f);
void anchors_sort(struct anchors *a);
/*
 * The log has come to this line, numbers rising. False: an anchor says another
 * hash for it.
 */
bool anchors_hold(struct anchors *a, uint64_t seq,
    const char head[DIGEST_HEX_SIZE]);
/* The log ends here: how many say that it once went further. */
size_t anchors_left(const struct anchors *a);

#endif
