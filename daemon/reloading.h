/*
 * Reading the host's configuration again: SIGHUP, or `tapward reload --host`,
 * which waits for what came of it. Whatever file has an error changes nothing:
 * configuration, ceiling, CA bundle and credentials each stay as they are.
 */
#ifndef TAPWARD_DAEMON_RELOADING_H
#define TAPWARD_DAEMON_RELOADING_H

#include <stdbool.h>

#include "base/err.h"
#include "daemon/sandbox.h"

struct supervisor;

/* What is still being looked at. */
enum reloading_part {
	RELOADING_CREDENTIALS = 1,
	RELOADING_ROOTS = 2,
	RELOADING_CEILING = 4,
};

struct reloading {
	unsigned int open;              /* of enum reloading_part */
	struct sandbox_request request; /* who waits; id 0: nobody */
	char text[ERR_TEXT_MAX];        /* the first fault, or "" */
};

/*
 * Begins. What is wrong is logged, and, once all is known, said to whoever
 * waits. One at a time: a second is refused, or, for a signal, passed over.
 */
void reloading_start(struct supervisor *sv, const struct sandbox_request *to);
/* A part is done: text is what was wrong, or "". Not waited for: ignored. */
void reloading_part_done(struct supervisor *sv, enum reloading_part part,
    const char *text);

#endif
