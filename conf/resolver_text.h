/*
 * A resolver as it is written in the host's configuration.
 */
#ifndef TAPWARD_CONF_RESOLVER_TEXT_H
#define TAPWARD_CONF_RESOLVER_TEXT_H

#include "base/message_dialler.h"

/* With its port always. Returns buf. */
const char *resolver_text(const struct message_resolver *r,
    char buf[RESOLVER_NAME_SIZE]);

#endif
