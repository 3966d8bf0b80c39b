/*
 * Messages between our processes: one SOCK_SEQPACKET packet each, written and
 * read field by field (base/bytes.h), never a struct.
 *
 * A packet: u8 version, u8 count of descriptors, u16 type, u32 id, body.
 * The id joins an answer to its question; 0 where there is none. The receiver
 * distrusts the sender: a type that is not in its table, a body over the
 * type's limit, other descriptors than the row says, or a handler that
 * returns an error ends that channel, not us.
 */
#ifndef TAPWARD_BASE_CHANNEL_H
#define TAPWARD_BASE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct event_base;
struct chan;

#define CHAN_VERSION 1
#define CHAN_HEADER_BYTES 8
/* Largest packet: below wmem_default (212,992) with room for the kernel. */
#define CHAN_PACKET_MAX 131072
#define CHAN_FDS_MAX 16
/* Packets, and their bytes, that wait for a slow receiver at most. */
#define CHAN_QUEUE_MAX 1024
#define CHAN_QUEUE_MAX_BYTES 8388608

/* What a handler gets. Borrowed until it returns. */
struct chan_msg {
	uint16_t type;
	uint32_t id;
	struct rd body;
	int fds[CHAN_FDS_MAX]; /* taken by setting the entry to -1 */
	unsigned int fd_count;
};

/*
 * 0, or a -errno that ends the channel: the sender broke the protocol. Left
 * over bytes in msg->body are such a break and are found by the channel.
 * Descriptors that the handler leaves in msg->fds are closed.
 */
typedef int chan_handler(struct chan *c, struct chan_msg *msg, void *arg);

struct chan_rule {
	uint16_t type;
	size_t body_max;      /* bytes */
	unsigned int fds_min; /* descriptors that must come with it ... */
	unsigned int fds_max; /* ... and may */
	chan_handler *handler;
};

/*
 * The other end is gone or was ended. Called once, from the event loop, never
 * from inside chan_send() or a handler. The channel is freed by the callee.
 */
typedef void chan_closed(struct chan *c, void *arg);

/*
 * Takes fd (non-blocking from here on). rules are borrowed for the life of
 * the channel. Reading starts at once. NULL when memory is short; fd is then
 * closed.
 */
struct chan *chan_new(struct event_base *base, int fd,
    const struct chan_rule *rules, size_t rule_count, chan_closed *on_closed,
    void *arg);
/*
 * Puts c, which it takes, into *at instead of the one that is there, which is
 * freed; it stays if c is NULL. 0 or -ENOMEM.
 */
int chan_replace(struct chan **at, struct chan *c);
/*
 * From now on nothing is read while something of ours waits to be sent. For
 * whoever answers a peer that may have been taken over: one that asks and does
 * not read would else have up to CHAN_QUEUE_MAX answers, and the descriptors
 * in them, kept for it. Never at both ends.
 */
void chan_answer_first(struct chan *c);
/*
 * The receiver lets packets gather before it looks (recorder_main.c), so that
 * how soon it was woken again says nothing: it takes many each time, by few
 * calls. None of its rules takes descriptors.
 */
void chan_take_many(struct chan *c);
/* Closes it; not from inside its own handlers, which return an error. */
void chan_free(struct chan *c);

/*
 * Sends a message; body is copied, fds are duplicated by the kernel and stay
 * the caller's. -ENOBUFS when the queue is full, -EPIPE when it is closed,
 * -EMSGSIZE (also if body is a writer that failed), or another -errno; the
 * channel is then on its way to on_closed. What the other end sent before it
 * went is still read, up to a limit.
 */
int chan_send(struct chan *c, uint16_t type, uint32_t id, const struct wr *body,
    const int *fds, unsigned int fd_count);
/* As chan_send(), without queueing: -EAGAIN when it would have to wait. */
int chan_try_send(struct chan *c, uint16_t type, uint32_t id,
    const struct wr *body);
/* A number for the next question of this channel; never 0. */
uint32_t chan_next_id(struct chan *c);
bool chan_is_open(const struct chan *c);
/*
 * uid and pid of the process at the other end (SO_PEERCRED), as they were when
 * it connected; for chan_pair(), of whoever made the pair. 0 or -errno.
 */
int chan_peer(const struct chan *c, uint32_t *ret_uid, int32_t *ret_pid);

/* A connected pair, both close-on-exec. 0 or -errno. */
int chan_pair(int ret_fds[2]);
/*
 * A listening socket bound to path (mode 0600), and a connection to it, for
 * processes that outlive the one that made their channels. Both do not block.
 * A socket that lies at path is replaced; -EEXIST for another file. 0 or
 * -errno; -EAGAIN from chan_connect() when too many wait to be accepted.
 */
int chan_listen(const char *path, int *ret_fd);
int chan_connect(const char *path, int *ret_fd);

#endif
