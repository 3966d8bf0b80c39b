/*
 * What certificates a text in PEM holds, and until when, for whoever looks a
 * configuration over.
 */
#ifndef TAPWARD_BASE_CERTIFICATE_H
#define TAPWARD_BASE_CERTIFICATE_H

#include <stdint.h>

#include "base/bytes.h"

struct certificate_look {
	unsigned int count;
	int64_t first_end_s; /* of the one that ends first, seconds of UTC */
};

/* 0 with at least one; -ENOENT without, -EINVAL: a block that is none. */
int certificate_look(struct span pem, struct certificate_look *ret);

#endif
