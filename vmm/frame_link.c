/*
 * See frame_link.h.
 */
#include "vmm/frame_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int
frame_link_init(struct frame_link *l, int fd)
{
	int rc = fd_set_nonblock(fd, true);

	*l = (struct frame_link){ .fd = fd };
	if (rc == 0) {
		l->in = malloc(FRAME_LINK_BYTES);
		l->out = malloc(FRAME_LINK_BYTES);
		if (l->in == NULL || l->out == NULL)
			rc = -ENOMEM;
	}
	if (rc != 0)
		frame_link_done(l);
	return rc;
}

void
frame_link_done(struct frame_link *l)
{
	fd_close(&l->fd);
	free(l->in);
	free(l->out);
	*l = (struct frame_link){ .fd = -1 };
}

/* What is there moves to the front, so that the room is behind it. */
static void
to_front(uint8_t *buf, size_t *at, size_t len)
{
	if (*at > 0 && len > 0)
		memmove(buf, buf + *at, len);
	*at = 0;
}

int
frame_link_read(struct frame_link *l)
{
	ssize_t n;

	to_front(l->in, &l->in_at, l->in_len);
	if (!frame_link_can_read(l))
		return -ENOBUFS;
	do
		n = read(l->fd, l->in + l->in_len,
		    FRAME_LINK_BYTES - l->in_len);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return -errno;
	if (n == 0)
		return -EPIPE;
	l->in_len += (size_t)n;
	return 0;
}

bool
frame_link_can_read(const struct frame_link *l)
{
	return l->in_len < FRAME_LINK_BYTES;
}

static enum frame_fault
first(const struct frame_link *l, struct frame *ret, size_t *ret_used)
{
	if (l->in_len == 0) {
		*ret_used = 0;
		return FRAME_OK;
	}
	return frame_decode((struct span){ l->in + l->in_at, l->in_len }, ret,
	    ret_used);
}

enum frame_fault
frame_link_peek(const struct frame_link *l, struct frame *ret, bool *ret_has)
{
	size_t used;
	const enum frame_fault fault = first(l, ret, &used);

	*ret_has = fault == FRAME_OK && used > 0;
	return fault;
}

enum frame_fault
frame_link_next(struct frame_link *l, struct frame *ret, bool *ret_has)
{
	size_t used;
	const enum frame_fault fault = first(l, ret, &used);

	*ret_has = fault == FRAME_OK && used > 0;
	if (*ret_has) {
		l->in_at += used;
		l->in_len -= used;
	}
	return fault;
}

size_t
frame_link_room(const struct frame_link *l)
{
	return FRAME_LINK_BYTES - l->out_len;
}

size_t
frame_link_waiting(const struct frame_link *l)
{
	return l->out_len;
}

struct wr
frame_link_writer(struct frame_link *l)
{
	to_front(l->out, &l->out_at, l->out_len);
	return wr_init(l->out + l->out_len, FRAME_LINK_BYTES - l->out_len);
}

void
frame_link_put(struct frame_link *l, const struct wr *w)
{
	if (wr_ok(w))
		l->out_len += w->len;
}

int
frame_link_write(struct frame_link *l)
{
	ssize_t n;

	if (l->out_len == 0)
		return 0;
	do
		n = write(l->fd, l->out + l->out_at, l->out_len);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		return -errno;
	l->out_at += (size_t)n;
	l->out_len -= (size_t)n;
	return l->out_len == 0 ? 0 : -EAGAIN;
}
