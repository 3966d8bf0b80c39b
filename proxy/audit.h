/*
 * The gate's side of the recorder.
 */
#ifndef TAPWARD_PROXY_AUDIT_H
#define TAPWARD_PROXY_AUDIT_H

#include "base/message_audit.h"
#include "conf/record.h"
#include "proxy/gate.h"

/*
 * Whether a decision could be written down now. False: nothing new is begun,
 * the answer is REASON_AUDIT_UNAVAILABLE.
 */
bool audit_is_ready(const struct gate *g);
/*
 * The recorder takes records, but not as fast as they come: who can hold what
 * would make more of them does so for a moment, so that nobody is refused.
 */
bool audit_is_behind(const struct gate *g);
/* Sends one record, or has it wait for room in the channel. */
void audit_send(struct gate *g, const struct audit_record *r);

/* No record waits: the recorder has what was sent, or can read it. */
bool audit_is_told(const struct gate *g);

int audit_port_set(struct gate *g, int fd);
void audit_port_free(struct gate *g);

#endif
