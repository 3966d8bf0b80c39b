/*
 * A channel under test, and what happened to it.
 */
#ifndef TAPWARD_TESTS_CHANNEL_SUPPORT_H
#define TAPWARD_TESTS_CHANNEL_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "tests/unit/count_fds.h"

#define DEADLINE_S 30

enum {
	TYPE_NUMBER = 2, /* a u32 */
	TYPE_FDS = 4,    /* one or two descriptors, no body */
	TYPE_REFUSED = 6,
	TYPE_BYTES = 8,
	TYPE_ANSWER = 10, /* answers with its number */
	TYPE_MANY = 12,   /* descriptors, as many as may be */
};

/* What happened to one channel under test. */
struct seen {
	struct event_base *base;
	struct chan *chan;
	unsigned int count;
	uint32_t numbers[1024];
	uint32_t last_id;
	int taken_fd;
	const uint8_t *body;
	size_t body_len;
	unsigned int closed;
	bool is_in_call;
	struct chan *victim; /* freed by the next message */
	unsigned int *others_count;
	unsigned int others_count_at_first;
	unsigned int takes_ms; /* each but the first, by the test's clock */
};

static inline int
on_number(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct seen *s = arg;

	assert_ptr_equal(c, s->chan);
	assert_int_equal(msg->type, TYPE_NUMBER);
	if (s->count == 0 && s->others_count != NULL)
		s->others_count_at_first = *s->others_count;
	s->last_id = msg->id;
	s->numbers[s->count++ % 1024] = rd_u32(&msg->body);
	chan_free(s->victim);
	s->victim = NULL;
	if (s->takes_ms > 0 && s->count > 1)
		clock_test_advance(s->takes_ms);
	return 0;
}

static inline int
on_fds(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct seen *s = arg;

	(void)c;
	s->count++;
	fd_close(&s->taken_fd);
	s->taken_fd = msg->fds[0];
	msg->fds[0] = -1;
	return 0;
}

static inline int
on_many(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct seen *s = arg;

	(void)c;
	s->count++;
	assert_int_equal(msg->fd_count, CHAN_FDS_MAX);
	return 0;
}

static inline int
on_refused(struct chan *c, struct chan_msg *msg, void *arg)
{
	(void)c;
	(void)msg;
	(void)arg;
	return -EPERM;
}

static inline int
on_bytes(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct seen *s = arg;

	(void)c;
	s->count++;
	s->body_len = rd_left(&msg->body);
	s->body = rd_take(&msg->body, s->body_len).ptr;
	assert_int_equal(s->body[0], 0x55);
	return 0;
}

static inline int
on_answer(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct seen *s = arg;
	uint8_t buf[4];
	struct wr w = wr_init(buf, sizeof(buf));

	s->count++;
	wr_u32(&w, rd_u32(&msg->body));
	/* Fails if the other end is gone; on_closed must wait all the same. */
	s->is_in_call = true;
	(void)chan_send(c, TYPE_NUMBER, msg->id, &w, NULL, 0);
	s->is_in_call = false;
	return 0;
}

static const struct chan_rule rules[] = {
	{ TYPE_NUMBER, 4, 0, 0, on_number },
	{ TYPE_FDS, 0, 1, 2, on_fds },
	{ TYPE_REFUSED, 100, 0, CHAN_FDS_MAX, on_refused },
	{ TYPE_BYTES, CHAN_PACKET_MAX, 0, 0, on_bytes },
	{ TYPE_ANSWER, 4, 0, 0, on_answer },
	{ TYPE_MANY, 0, CHAN_FDS_MAX, CHAN_FDS_MAX, on_many },
};

static inline void
on_closed(struct chan *c, void *arg)
{
	struct seen *s = arg;

	assert_ptr_equal(c, s->chan);
	assert_false(s->is_in_call);
	assert_false(chan_is_open(c));
	s->closed++;
	chan_free(c);
	s->chan = NULL;
}

static inline struct chan *
open_chan(struct seen *s, struct event_base *base, int fd)
{
	memset(s, 0, sizeof(*s));
	s->base = base;
	s->taken_fd = -1;
	s->chan = chan_new(base, fd, rules, sizeof(rules) / sizeof(rules[0]),
	    on_closed, s);
	assert_non_null(s->chan);
	return s->chan;
}

/* A receiver of many small packets without descriptors. */
static inline struct chan *
open_many(struct seen *s, struct event_base *base, int fd)
{
	static const struct chan_rule number[] = {
		{ TYPE_NUMBER, 4, 0, 0, on_number },
		{ TYPE_REFUSED, 50, 0, 0, on_refused },
	};

	memset(s, 0, sizeof(*s));
	s->base = base;
	s->taken_fd = -1;
	s->chan = chan_new(base, fd, number, sizeof(number) / sizeof(number[0]),
	    on_closed, s);
	assert_non_null(s->chan);
	chan_take_many(s->chan);
	return s->chan;
}

/* One turn of the loop, which must have something to do. */
static inline void
turn(struct event_base *base)
{
	const struct timeval deadline = { DEADLINE_S, 0 };

	assert_int_equal(event_base_loopexit(base, &deadline), 0);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 0);
	assert_false(event_base_got_exit(base));
}

/* All that can be done now. */
static inline void
settle(struct event_base *base)
{
	for (int i = 0; i < 200; i++)
		assert_int_not_equal(event_base_loop(base, EVLOOP_NONBLOCK),
		    -1);
}

static inline void
run_until_closed(struct seen *s)
{
	struct event_base *base = s->base;

	while (s->closed == 0)
		turn(base);
}

static inline int
send_number(struct chan *c, uint32_t number)
{
	uint8_t buf[4];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_u32(&w, number);
	return chan_send(c, TYPE_NUMBER, chan_next_id(c), &w, NULL, 0);
}

static inline int
some_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_not_equal(fd, -1);
	return fd;
}

/* Sends bytes as they are, with fd_count descriptors. */
static inline void
send_raw(int fd, const void *bytes, size_t len, unsigned int fd_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
	} control;
	struct iovec iov = { (void *)(uintptr_t)bytes, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fds[64];

	assert_true(fd_count <= 64);
	for (unsigned int i = 0; i < fd_count; i++)
		fds[i] = some_fd();
	if (fd_count > 0) {
		struct cmsghdr *cm;

		memset(&control, 0, sizeof(control));
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cm = CMSG_FIRSTHDR(&m);
		cm->cmsg_level = SOL_SOCKET;
		cm->cmsg_type = SCM_RIGHTS;
		cm->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cm), fds, sizeof(int) * fd_count);
	}
	assert_int_equal(sendmsg(fd, &m, MSG_NOSIGNAL), len);
	for (unsigned int i = 0; i < fd_count; i++)
		fd_close(&fds[i]);
}

/* The rest of a head, and of a packet that is fine but for its descriptors. */
#define NUMBER "\0\2\0\0\0\1"
#define FDS "\0\4\0\0\0\1"
#define REFUSED "\0\6\0\0\0\1"
#define ANSWER "\0\12\0\0\0\1"
#define MANY "\0\14\0\0\0\1"

#endif
