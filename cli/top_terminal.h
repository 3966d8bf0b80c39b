/*
 * The terminal that `tapward top` has to itself: another screen, no echo, and
 * all as it was when it ends, is stopped, or is told to end.
 */
#ifndef TAPWARD_CLI_TOP_TERMINAL_H
#define TAPWARD_CLI_TOP_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "base/bytes.h"

struct top_terminal {
	struct termios before;
	int signals; /* a signalfd */
	bool is_ours;
};

enum top_event {
	TOP_EVENT_TIME,   /* the time is over */
	TOP_EVENT_INPUT,  /* bytes were read */
	TOP_EVENT_REDRAW, /* another size, or we were stopped meanwhile */
	TOP_EVENT_END,    /* a signal, or the terminal is gone */
};

/* Standard input and output are one that understands ECMA-48. */
bool top_terminal_is_fit(void);
/* 0 or -errno; nothing has changed then. */
int top_terminal_open(struct top_terminal *t);
/* Everything as it was. */
void top_terminal_close(struct top_terminal *t);
/* Columns and lines, 80 and 24 if it does not say. */
void top_terminal_size(unsigned int *ret_width, unsigned int *ret_height);
/* False: it is gone. */
bool top_terminal_write(struct span bytes);
/*
 * Waits at most ms. *ret_len of the size bytes at buf were read with
 * TOP_EVENT_INPUT; *ret_signal is set with TOP_EVENT_END, 0 without one.
 */
enum top_event top_terminal_wait(struct top_terminal *t, int ms, uint8_t *buf,
    size_t size, size_t *ret_len, int *ret_signal);

#endif
