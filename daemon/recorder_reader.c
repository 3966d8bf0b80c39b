/*
 * A reader goes through the file by pread in pieces, one a turn, and keeps
 * what matched until its sink takes it. It reads on only when that is gone:
 * a slow reader costs one buffer.
 */
#include "daemon/recorder_reader.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

/* Holds several of the longest lines. */
#define READER_BUFFER_BYTES ((size_t)8 * RECORDER_LINE_MAX)

struct reader {
	LIST_ENTRY(reader) entry;
	struct recorder_readers *all;
	struct message_recorder_read wanted;
	int sink;
	struct event *can_write; /* also used to take the next turn */
	struct event *is_closed;
	/* Files moved aside, the oldest first; those before at are done. */
	int older[RECORDER_OLDER_MAX];
	unsigned int older_count, older_at;
	int live_fd; /* the log when we began; -1: its turn has come */
	int log_fd;  /* a file may be rotated away while it is read */
	uint32_t log_serial;
	off_t offset;      /* of the first line not looked at */
	size_t start, end; /* of what waits in out */
	uint8_t in[READER_BUFFER_BYTES];
	uint8_t out[READER_BUFFER_BYTES];
};

struct recorder_readers {
	struct event_base *base;
	const struct recorder_log *log;
	LIST_HEAD(, reader) list;
	uint32_t count;
};

struct recorder_readers *
recorder_readers_new(struct event_base *base, const struct recorder_log *log)
{
	struct recorder_readers *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->base = base;
	all->log = log;
	LIST_INIT(&all->list);
	return all;
}

static void
reader_free(struct reader *r)
{
	LIST_REMOVE(r, entry);
	r->all->count--;
	if (r->can_write != NULL)
		event_free(r->can_write);
	if (r->is_closed != NULL)
		event_free(r->is_closed);
	fd_close(&r->sink);
	fd_close(&r->log_fd);
	fd_close(&r->live_fd);
	for (unsigned int i = 0; i < r->older_count; i++)
		fd_close(&r->older[i]);
	free(r);
}

void
recorder_readers_free(struct recorder_readers *all)
{
	if (all == NULL)
		return;
	while (!LIST_EMPTY(&all->list))
		reader_free(LIST_FIRST(&all->list));
	free(all);
}

/* The file that the log is in now. */
static int
reader_dup_log(struct reader *r)
{
	r->log_serial = recorder_log_serial(r->all->log);
	return fcntl(recorder_log_fd(r->all->log), F_DUPFD_CLOEXEC, 0);
}

/*
 * The next file, from its start: those moved aside, the one that was the log
 * when we began (moved aside meanwhile or not), the log. False without one.
 */
static bool
reader_open(struct reader *r)
{
	fd_close(&r->log_fd);
	r->offset = 0;
	if (r->older_at < r->older_count)
		r->log_fd = steal_fd(&r->older[r->older_at++]);
	else if (r->live_fd != -1)
		r->log_fd = steal_fd(&r->live_fd);
	else
		r->log_fd = reader_dup_log(r);
	return r->log_fd != -1;
}

/* Keeps matching lines of the whole ones in in; returns the bytes done. */
static size_t
reader_filter(struct reader *r, size_t len)
{
	struct span rest = { r->in, len };
	const uint8_t *newline;

	r->start = 0;
	r->end = 0;
	while ((newline = memchr(rest.ptr, '\n', rest.len)) != NULL) {
		size_t size = (size_t)(newline - rest.ptr) + 1;
		struct span line = { rest.ptr, size - 1 };

		if (recorder_line_matches(line, &r->wanted)) {
			memcpy(r->out + r->end, rest.ptr, size);
			r->end += size;
		}
		rest.ptr += size;
		rest.len -= size;
	}
	/* A run without a newline that fills the buffer is no line of ours. */
	return rest.len == sizeof(r->in) ? rest.len : len - rest.len;
}

/* Fills out. False at the end of the log. */
static bool
reader_fill(struct reader *r)
{
	ssize_t n = pread(r->log_fd, r->in, sizeof(r->in), r->offset);

	if (n > 0) {
		size_t done = reader_filter(r, (size_t)n);

		r->offset += (off_t)done;
		if (done != 0)
			return true;
	}
	if (r->live_fd == -1 &&
	    r->log_serial == recorder_log_serial(r->all->log))
		return false;
	return reader_open(r);
}

/* Hands out what waits. 0, -EAGAIN when the sink is full, or -errno. */
static int
reader_drain(struct reader *r)
{
	while (r->start < r->end) {
		ssize_t n =
		    write(r->sink, r->out + r->start, r->end - r->start);

		if (n == -1)
			return errno == EINTR ? -EAGAIN : -errno;
		r->start += (size_t)n;
	}
	return 0;
}

/*
 * One turn: hand out, then look at one more piece. The event waits for the
 * sink when there is something to hand out, so the loop is not kept busy.
 */
static void
reader_turn(struct reader *r)
{
	int rc = reader_drain(r);

	if (rc == 0 && !reader_fill(r)) {
		if (!r->wanted.follow)
			reader_free(r);
		return;
	}
	if ((rc != 0 && rc != -EAGAIN) || event_add(r->can_write, NULL) == -1)
		reader_free(r);
}

static void
on_can_write(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	reader_turn(arg);
}

/*
 * The other end of a socket closed, or that of a pipe: from a pipe's write
 * end nothing can be read, which is an error in itself.
 */
static void
on_is_closed(evutil_socket_t fd, short what, void *arg)
{
	char unwanted[256];
	ssize_t n = read(fd, unwanted, sizeof(unwanted));

	(void)what;
	if (n > 0 || (n == -1 && (errno == EAGAIN || errno == EINTR)))
		return;
	reader_free(arg);
}

static int
reader_start(struct reader *r)
{
	int rc = fd_set_nonblock(r->sink, true);

	if (rc != 0)
		return rc;
	r->live_fd = reader_dup_log(r);
	if (r->live_fd == -1 || !reader_open(r))
		return -EBADF;
	r->can_write =
	    event_new(r->all->base, r->sink, EV_WRITE, on_can_write, r);
	r->is_closed = event_new(r->all->base, r->sink, EV_READ | EV_PERSIST,
	    on_is_closed, r);
	/* A regular file cannot be waited for: epoll refuses it. */
	if (r->can_write == NULL || r->is_closed == NULL ||
	    event_add(r->is_closed, NULL) == -1 ||
	    event_add(r->can_write, NULL) == -1)
		return -EINVAL;
	return 0;
}

int
recorder_readers_add(struct recorder_readers *all,
    const struct message_recorder_read *wanted, int sink, int *older,
    unsigned int older_count)
{
	AUTO_CLOSE int owned = sink;
	struct reader *r;
	int rc;

	if (all->count >= RECORDER_READERS_MAX)
		return -EUSERS;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -ENOMEM;
	r->all = all;
	r->wanted = *wanted;
	r->sink = steal_fd(&owned);
	r->log_fd = -1;
	r->live_fd = -1;
	for (unsigned int i = 0; i < older_count && i < RECORDER_OLDER_MAX; i++)
		r->older[r->older_count++] = steal_fd(&older[i]);
	LIST_INSERT_HEAD(&all->list, r, entry);
	all->count++;
	rc = reader_start(r);
	if (rc != 0)
		reader_free(r);
	return rc;
}

void
recorder_readers_wake(struct recorder_readers *all)
{
	struct reader *r;

	LIST_FOREACH(r, &all->list, entry)
	if (event_add(r->can_write, NULL) == -1)
		log_err("reader", "no memory for an event");
}

uint32_t
recorder_readers_count(const struct recorder_readers *all)
{
	return all->count;
}
