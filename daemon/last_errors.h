/*
 * The last lines that the supervisor logged as a warning or an error, for
 * `tapward status`: a ring of a fixed size.
 */
#ifndef TAPWARD_DAEMON_LAST_ERRORS_H
#define TAPWARD_DAEMON_LAST_ERRORS_H

#include "base/message_api.h"

/* Begins to keep them; one ring for this process. */
void last_errors_keep(void);
/* Copies them, the oldest first, and returns how many there are. */
uint32_t last_errors_copy(struct message_api_error ret[API_ERRORS_MAX]);

#endif
