/*
 * One end of a hop (frame.h): a descriptor with the bytes that came and are no
 * whole frame yet, and those that wait to go. Memory is fixed when it is made.
 * The descriptor does not block; who waits for it, and how, is the owner's.
 */
#ifndef TAPWARD_VMM_FRAME_LINK_H
#define TAPWARD_VMM_FRAME_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmm/frame.h"

/* Bytes either way: two frames, so that one can come while one is used. */
#define FRAME_LINK_BYTES ((size_t)(2 * FRAME_BYTES_MAX))

struct frame_link {
	int fd; /* -1: closed */
	/* private */
	uint8_t *in, *out;
	size_t in_at, in_len;   /* first byte, bytes from there on */
	size_t out_at, out_len; /* the same */
};

/*
 * Takes fd and makes it non-blocking. 0 or -errno; on an error fd is closed
 * and l may be given to frame_link_done().
 */
int frame_link_init(struct frame_link *l, int fd);
void frame_link_done(struct frame_link *l);

/*
 * Reads once, as much as there is room for. 0: something came; -EAGAIN: there
 * is nothing; -ENOBUFS: no room, take frames first; -EPIPE: the other end is
 * closed; or another -errno.
 */
int frame_link_read(struct frame_link *l);
/* There is room for more: frame_link_read() would not say -ENOBUFS. */
bool frame_link_can_read(const struct frame_link *l);
/*
 * The first whole frame, which is taken; it borrows until the next
 * frame_link_read(). *ret_has is false when there is none. A fault is final.
 */
enum frame_fault frame_link_next(struct frame_link *l, struct frame *ret,
    bool *ret_has);
/* As frame_link_next(), but it stays: the next call gives it again. */
enum frame_fault frame_link_peek(const struct frame_link *l, struct frame *ret,
    bool *ret_has);

/* Bytes that can be put now, in frames. */
size_t frame_link_room(const struct frame_link *l);
/* Bytes that wait to go. */
size_t frame_link_waiting(const struct frame_link *l);
/*
 * A writer into that room: encode frames, then frame_link_put(). One that
 * failed leaves the link as it was.
 */
struct wr frame_link_writer(struct frame_link *l);
void frame_link_put(struct frame_link *l, const struct wr *w);
/* Writes once. 0: nothing waits any more; -EAGAIN: some does; or -errno. */
int frame_link_write(struct frame_link *l);

#endif
