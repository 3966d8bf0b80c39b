/*
 * The rules of one stream (frame.h): what may be sent when, and how much. Pure.
 */
#ifndef TAPWARD_VMM_FRAME_STREAM_H
#define TAPWARD_VMM_FRAME_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "vmm/frame.h"

/*
 * What one end knows of one stream: held by the agent, by tapward-vm (whose
 * two hops see the same frames) and by `tapward`. All in it is read-only for
 * whoever holds it.
 */
struct frame_stream {
	uint8_t kind; /* FRAME_EXEC, FRAME_PUT or FRAME_GET */
	bool tty;
	bool started;
	bool reset;  /* the host has sent its last */
	bool exited; /* the guest has */
	bool eof[FRAME_CHANNELS];
	uint32_t credit[FRAME_CHANNELS]; /* bytes its sender may send now */
	uint32_t args_left;              /* bytes still to come on FRAME_ARGS */
};

/*
 * Opens s by f, one of EXEC, PUT and GET, and checks its body. On a fault s is
 * not usable.
 */
enum frame_fault frame_stream_open(struct frame_stream *s,
    const struct frame *f);
/*
 * f was sent by side on s: checks type, channel, order, body and window, and
 * notes it in s. Sender and receiver both call it, so that an end of ours
 * cannot break what it demands. Nothing is changed on a fault.
 */
enum frame_fault frame_stream_pass(struct frame_stream *s, enum frame_side side,
    const struct frame *f);
/* side may send DATA on this channel of this kind of stream at all. */
bool frame_stream_has(const struct frame_stream *s, enum frame_side side,
    uint8_t channel);

#endif
