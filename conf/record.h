/*
 * A verdict as it is written down.
 */
#ifndef TAPWARD_CONF_RECORD_H
#define TAPWARD_CONF_RECORD_H

#include "base/message_audit.h"
#include "conf/verdict.h"

/* A record with verdict, reason, rule, file and line from v. */
struct audit_record audit_record_of(enum audit_event event,
    const struct verdict *v);

#endif
