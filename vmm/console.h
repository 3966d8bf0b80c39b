/*
 * The serial console of a guest: bytes that it writes as many as it likes, of
 * which the last ones are kept.
 */
#ifndef TAPWARD_VMM_CONSOLE_H
#define TAPWARD_VMM_CONSOLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct console {
	uint8_t *ring;
	size_t size;
	uint64_t total; /* ever written */
};

/* 0 or -ENOMEM. */
int console_init(struct console *c, size_t size);
void console_done(struct console *c);
void console_add(struct console *c, struct span bytes);
/*
 * The last lines, at most size - 1 bytes of them, whole but for the first if
 * it alone is longer: printable ASCII and '\n', all else as '.', without the
 * control sequences of terminals (ECMA-48) and empty lines.
 */
void console_tail(const struct console *c, char *buf, size_t size);

#endif
