/*
 * A host configuration that must hold, and the least of what one says.
 */
#ifndef TAPWARD_HOSTCONF_SUPPORT_H
#define TAPWARD_HOSTCONF_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/hostconf.h"

#define NO_CEILING "[ceiling]\npolicy = none\n"

static inline struct hostconf *
parse(const char *text)
{
	struct hostconf *c = NULL;
	struct err err;

	if (hostconf_parse("h.ini", span_of(text), &c, &err) != 0)
		fail_msg("%s", err.text);
	return c;
}

#endif /* TAPWARD_HOSTCONF_SUPPORT_H */
