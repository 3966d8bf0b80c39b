/*
 * Channels, see channel.h.
 *
 * The one thing to know before changing this: a channel is never freed, and
 * on_closed never called, from inside a call that its user made. Whatever goes
 * wrong makes it leave CHAN_OPEN and activates closed_event, and the event
 * loop does the rest.
 */
#include "base/channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/packet.h"
#include "base/packet_socket.h"
#include "base/secret.h"

#define AREA "channel"
/* Packets taken in one turn of the loop, so that others have theirs. */
#define READ_BUDGET 32
/*
 * ... or as many as take so long: a sender may know which of its packets are
 * costly to answer.
 */
#define TURN_US 2000
/*
 * Calls for those that gathered. Each takes up to PACKET_MANY_MAX, together
 * about what the sender's buffer holds.
 */
#define GATHERED_BUDGET 8
/*
 * A channel that is woken again this soon is busy, and then read until there
 * is no more. On a quiet one the read that would only say so is left out: it
 * is a third of what a lone packet costs.
 */
#define BUSY_US 200
/* And of an end that has gone: what its send buffer could hold. */
#define DRAIN_BUDGET 512

/* A packet that waits until the receiver has room. */
struct packet {
	STAILQ_ENTRY(packet) link;
	int fds[CHAN_FDS_MAX]; /* our duplicates */
	unsigned int fd_count;
	size_t len;
	uint8_t bytes[];
};

enum chan_state {
	CHAN_OPEN,
	/* Nobody reads us any more; what was sent before is still read. */
	CHAN_DRAINING,
	/* The descriptor is closed; on_closed is to come, or has been. */
	CHAN_ENDED,
};

struct chan {
	enum chan_state state;
	int fd;
	bool is_in_handler;
	bool answers_first; /* chan_answer_first() */
	size_t many_slot;   /* chan_take_many(): bytes for each; else 0 */
	uint64_t woken_us;  /* clock_mono_us() of the last wake-up */
	uint32_t last_id;
	const struct chan_rule *rules; /* borrowed */
	size_t rule_count;
	chan_closed *on_closed;
	void *arg;
	struct event *read_event;
	struct event *write_event;
	struct event *closed_event;
	STAILQ_HEAD(packet_queue, packet) queue;
	size_t queue_len;
	size_t queue_bytes;
};

/*
 * Packets arrive here, one at a time, whichever channel they come from; there
 * are no threads. Wiped after each: leases go this way.
 */
static uint8_t receive_buffer[CHAN_PACKET_MAX];
static bool receive_buffer_is_used;

static void
packet_free(struct packet *p)
{
	for (unsigned int i = 0; i < p->fd_count; i++)
		fd_close(&p->fds[i]);
	secret_wipe(p->bytes, p->len);
	free(p);
}

static void
queue_pop(struct chan *c)
{
	struct packet *p = STAILQ_FIRST(&c->queue);

	STAILQ_REMOVE_HEAD(&c->queue, link);
	c->queue_len--;
	c->queue_bytes -= p->len;
	packet_free(p);
}

static void
queue_drop(struct chan *c)
{
	while (!STAILQ_EMPTY(&c->queue))
		queue_pop(c);
}

/* Closes the descriptor, so that the other end sees it at once. */
static void
chan_shut(struct chan *c)
{
	c->state = CHAN_ENDED;
	(void)event_del(c->read_event);
	(void)event_del(c->write_event);
	queue_drop(c);
	fd_close(&c->fd);
}

static void
chan_end(struct chan *c)
{
	if (c->state == CHAN_ENDED)
		return;
	chan_shut(c);
	event_active(c->closed_event, EV_TIMEOUT, 0);
}

/* The other end does not read; it may have said why before it left. */
static void
chan_drain(struct chan *c)
{
	if (c->state != CHAN_OPEN)
		return;
	c->state = CHAN_DRAINING;
	(void)event_del(c->write_event);
	queue_drop(c);
	event_active(c->closed_event, EV_TIMEOUT, 0);
}

/* All was sent. */
static void
read_again(struct chan *c)
{
	(void)event_del(c->write_event);
	if (event_add(c->read_event, NULL) == -1)
		chan_end(c);
}

/* Sends what waits, as far as the receiver has room. */
static void
flush_queue(struct chan *c)
{
	struct packet *p;
	int rc = 0;

	while (rc == 0 && (p = STAILQ_FIRST(&c->queue)) != NULL) {
		struct iovec iov = { p->bytes, p->len };

		rc = packet_send(c->fd, &iov, 1, p->fds, p->fd_count);
		if (rc == 0)
			queue_pop(c);
	}
	if (rc == -EAGAIN)
		return;
	if (rc == -EPIPE || rc == -ECONNRESET)
		chan_drain(c);
	else if (rc != 0)
		chan_end(c);
	else
		read_again(c);
}

static void
on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;

	(void)fd;
	(void)what;
	flush_queue(c);
}

/* Hands it to its handler. 1 if there may be more, or -errno. */
static int
take(struct chan *c, const struct packet_in *packet)
{
	int rc;

	receive_buffer_is_used = true;
	c->is_in_handler = true;
	rc = packet_dispatch(c, c->rules, c->rule_count, packet, c->arg);
	c->is_in_handler = false;
	receive_buffer_is_used = false;
	secret_wipe(receive_buffer + (packet->bytes.ptr - receive_buffer),
	    packet->bytes.len);
	return rc == 0 ? 1 : rc;
}

/* What a receiving that brought nothing means: 1, 0 or -errno. */
static int
after_nothing(int rc)
{
	/*
	 * ECONNRESET: the other end closed with our packets unread; its own
	 * are there to be read yet.
	 */
	if (rc == -EINTR || rc == -ECONNRESET)
		return 1;
	if (rc == -EAGAIN)
		return 0;
	return rc == 0 ? -EPIPE : rc;
}

/* Takes one packet. 1 if there may be more, 0 if not now, or -errno. */
static int
read_packet(struct chan *c)
{
	int fds[PACKET_FDS_MAX];
	struct packet_in packet = { { receive_buffer, 0 }, fds, 0 };
	int rc = packet_receive(c->fd, receive_buffer, sizeof(receive_buffer),
	    &packet.bytes.len, fds, &packet.fd_count);

	return rc == 1 ? take(c, &packet) : after_nothing(rc);
}

/* As read_packet(), of all that one call brings. */
static int
read_packets(struct chan *c)
{
	struct span all[PACKET_MANY_MAX];
	int n = packet_receive_many(c->fd, receive_buffer,
	    sizeof(receive_buffer), c->many_slot, all);
	int rc = 1;

	if (n <= 0)
		return after_nothing(n);
	for (int i = 0; i < n && rc == 1 && c->state != CHAN_ENDED; i++) {
		const struct packet_in packet = { all[i], NULL, 0 };

		if (all[i].ptr == NULL)
			rc = -EMSGSIZE;
		else if (all[i].len == 0)
			rc = -EPIPE;
		else
			rc = take(c, &packet);
	}
	/* Fewer than could have come: that was all. */
	if (rc == 1 &&
	    (size_t)n < packet_many_slots(sizeof(receive_buffer), c->many_slot))
		return 0;
	return rc;
}

static bool
must_answer(const struct chan *c)
{
	return c->answers_first && !STAILQ_EMPTY(&c->queue);
}

/* Since then; of an end that has gone all is read at once. */
static bool
has_had_its_turn(const struct chan *c)
{
	return c->state == CHAN_OPEN &&
	    clock_mono_us() >= c->woken_us + TURN_US;
}

/* 0, or the -errno that ends the channel. */
static int
read_some(struct chan *c, unsigned int budget)
{
	int rc = 1;

	/* A handler of ours would change the packet under another's feet. */
	assert(!receive_buffer_is_used);
	for (; budget > 0 && rc == 1; budget--) {
		rc = c->many_slot > 0 ? read_packets(c) : read_packet(c);
		if (c->state == CHAN_ENDED ||
		    (rc == 1 && (must_answer(c) || has_had_its_turn(c))))
			return 0;
	}
	if (rc < 0 && rc != -EPIPE)
		log_warn(AREA, "ended by us: the sender broke the protocol: %s",
		    strerrorname_np(-rc));
	return rc < 0 ? rc : 0;
}

/* How many packets to ask for now. */
static unsigned int
read_budget(struct chan *c)
{
	/* Not the loop's own time, which has steps of 4 ms. */
	uint64_t now_us, last_us;

	now_us = clock_mono_us();
	last_us = c->woken_us;
	c->woken_us = now_us;
	if (c->many_slot > 0)
		return GATHERED_BUDGET;
	return now_us < last_us + BUSY_US ? READ_BUDGET : 1;
}

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;

	(void)fd;
	(void)what;
	if (read_some(c, read_budget(c)) != 0)
		chan_end(c);
}

static void
on_ended(evutil_socket_t fd, short what, void *arg)
{
	struct chan *c = arg;

	(void)fd;
	(void)what;
	if (c->state == CHAN_DRAINING) {
		(void)read_some(c, DRAIN_BUDGET);
		chan_shut(c);
	}
	c->on_closed(c, c->arg);
}

static struct event *
new_event(struct event_base *base, struct chan *c, short what,
    event_callback_fn callback)
{
	return event_new(base, what == 0 ? -1 : c->fd, what, callback, c);
}

static void
free_event(struct event *ev)
{
	if (ev != NULL)
		event_free(ev);
}

struct chan *
chan_new(struct event_base *base, int fd, const struct chan_rule *rules,
    size_t rule_count, chan_closed *on_closed, void *arg)
{
	struct chan *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		fd_close(&fd);
		return NULL;
	}
	c->fd = fd;
	c->rules = rules;
	c->rule_count = rule_count;
	c->on_closed = on_closed;
	c->arg = arg;
	STAILQ_INIT(&c->queue);
	c->read_event = new_event(base, c, EV_READ | EV_PERSIST, on_readable);
	c->write_event = new_event(base, c, EV_WRITE | EV_PERSIST, on_writable);
	c->closed_event = new_event(base, c, 0, on_ended);
	if (c->read_event == NULL || c->write_event == NULL ||
	    c->closed_event == NULL || fd_set_nonblock(fd, true) != 0 ||
	    event_add(c->read_event, NULL) == -1) {
		chan_free(c);
		return NULL;
	}
	return c;
}

int
chan_replace(struct chan **at, struct chan *c)
{
	if (c == NULL)
		return -ENOMEM;
	chan_free(*at);
	*at = c;
	return 0;
}

void
chan_answer_first(struct chan *c)
{
	c->answers_first = true;
}

void
chan_take_many(struct chan *c)
{
	for (size_t i = 0; i < c->rule_count; i++) {
		size_t most = CHAN_HEADER_BYTES + c->rules[i].body_max;

		assert(c->rules[i].fds_max == 0);
		if (most > c->many_slot)
			c->many_slot = most;
	}
	assert(c->many_slot > 0 && c->many_slot <= sizeof(receive_buffer));
}

void
chan_free(struct chan *c)
{
	if (c == NULL)
		return;
	assert(!c->is_in_handler);
	free_event(c->read_event);
	free_event(c->write_event);
	free_event(c->closed_event);
	queue_drop(c);
	fd_close(&c->fd);
	free(c);
}

/* Copies a packet to the end of the queue. 0 or -errno. */
static int
queue_push(struct chan *c, const struct iovec iov[2], const int *fds,
    unsigned int fd_count)
{
	size_t len = iov[0].iov_len + iov[1].iov_len;
	struct packet *p;

	if (c->queue_len >= CHAN_QUEUE_MAX ||
	    len > CHAN_QUEUE_MAX_BYTES - c->queue_bytes)
		return -ENOBUFS;
	p = calloc(1, sizeof(*p) + len);
	if (p == NULL)
		return -ENOBUFS;
	memcpy(p->bytes, iov[0].iov_base, iov[0].iov_len);
	if (iov[1].iov_len > 0)
		memcpy(p->bytes + iov[0].iov_len, iov[1].iov_base,
		    iov[1].iov_len);
	p->len = len;
	for (; p->fd_count < fd_count; p->fd_count++) {
		int fd = fcntl(fds[p->fd_count], F_DUPFD_CLOEXEC, 0);

		if (fd == -1) {
			int rc = -errno;

			packet_free(p);
			return rc;
		}
		p->fds[p->fd_count] = fd;
	}
	STAILQ_INSERT_TAIL(&c->queue, p, link);
	c->queue_len++;
	c->queue_bytes += len;
	if (c->answers_first)
		(void)event_del(c->read_event);
	return event_add(c->write_event, NULL) == -1 ? -ENOBUFS : 0;
}

/* Sends, or says -EAGAIN; nothing else has happened to c then. */
static int
send_or_wait(struct chan *c, struct iovec iov[2], const int *fds,
    unsigned int fd_count)
{
	if (c->state != CHAN_OPEN)
		return -EPIPE;
	if (iov[0].iov_len + iov[1].iov_len > CHAN_PACKET_MAX)
		return -EMSGSIZE;
	if (!STAILQ_EMPTY(&c->queue))
		return -EAGAIN;
	return packet_send(c->fd, iov, 2, fds, fd_count);
}

/* What a failed send means for the channel. Returns rc. */
static int
after_send(struct chan *c, int rc)
{
	if (rc == -ECONNRESET)
		rc = -EPIPE;
	if (rc == -EPIPE)
		chan_drain(c);
	else if (rc != 0)
		chan_end(c);
	return rc;
}

static struct iovec
body_of(const struct wr *body)
{
	if (body == NULL)
		return (struct iovec){ NULL, 0 };
	/* One that did not fit is refused like one that is too large. */
	return (struct iovec){ body->buf,
		wr_ok(body) ? body->len : CHAN_PACKET_MAX };
}

static void
write_head(uint8_t head[CHAN_HEADER_BYTES], uint16_t type, uint32_t id,
    unsigned int fd_count)
{
	packet_write_head(head,
	    &(struct packet_head){ .version = CHAN_VERSION,
		.fd_count = (uint8_t)fd_count,
		.type = type,
		.id = id });
}

int
chan_send(struct chan *c, uint16_t type, uint32_t id, const struct wr *body,
    const int *fds, unsigned int fd_count)
{
	uint8_t head[CHAN_HEADER_BYTES];
	struct iovec iov[2] = { { head, sizeof(head) }, body_of(body) };
	int rc;

	assert(fd_count <= CHAN_FDS_MAX);
	write_head(head, type, id, fd_count);
	rc = send_or_wait(c, iov, fds, fd_count);
	if (rc == -EAGAIN)
		rc = queue_push(c, iov, fds, fd_count);
	return after_send(c, rc);
}

int
chan_try_send(struct chan *c, uint16_t type, uint32_t id, const struct wr *body)
{
	uint8_t head[CHAN_HEADER_BYTES];
	struct iovec iov[2] = { { head, sizeof(head) }, body_of(body) };
	int rc;

	write_head(head, type, id, 0);
	rc = send_or_wait(c, iov, NULL, 0);
	return rc == -EAGAIN ? rc : after_send(c, rc);
}

uint32_t
chan_next_id(struct chan *c)
{
	c->last_id = c->last_id == UINT32_MAX ? 1 : c->last_id + 1;
	return c->last_id;
}

bool
chan_is_open(const struct chan *c)
{
	return c->state == CHAN_OPEN;
}

int
chan_peer(const struct chan *c, uint32_t *ret_uid, int32_t *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1)
		return -errno;
	*ret_uid = cred.uid;
	*ret_pid = cred.pid;
	return 0;
}
