/*
 * A reader goes through the files in pieces, one a turn, and keeps
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
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_source.h"

/* Holds several of the longest lines. */
#define READER_BUFFER_BYTES ((size_t)8 * RECORDER_LINE_MAX)

struct reader {
	LIST_ENTRY(reader) entry;
	struct recorder_readers *all;
	struct message_recorder_read wanted;
	int sink;
	struct event *can_write; /* also used to take the next turn */
	struct event *is_closed;
	uint32_t number;
	/* Files moved aside, the oldest first; those before at are done. */
	int older[RECORDER_OLDER_MAX];
	unsigned int older_count, older_at;
	bool has_more;   /* behind the file wanted.last */
	bool is_waiting; /* for them */
	int live_fd;     /* the log when those ended; -1: its turn has come */
	struct log_source source; /* may be rotated away while it is read */
	uint32_t log_serial;
	size_t have;       /* in in: of a line that has not ended */
	size_t start, end; /* of what waits in out */
	uint8_t in[READER_BUFFER_BYTES];
	uint8_t out[READER_BUFFER_BYTES];
};

struct recorder_readers {
	struct event_base *base;
	const struct recorder_log *log;
	recorder_readers_ask *ask;
	void *arg;
	LIST_HEAD(, reader) list;
	uint32_t count;
	uint32_t last_number;
};

struct recorder_readers *
recorder_readers_new(struct event_base *base, const struct recorder_log *log,
    recorder_readers_ask *ask, void *arg)
{
	struct recorder_readers *all = calloc(1, sizeof(*all));

	if (all == NULL)
		return NULL;
	all->base = base;
	all->log = log;
	all->ask = ask;
	all->arg = arg;
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
	log_source_done(&r->source);
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

/* False: nobody can be asked, and the reader must not seem to be at its end. */
static bool
reader_ask(struct reader *r)
{
	struct message_recorder_older m = { .reader = r->number };

	memcpy(m.last, r->wanted.last, sizeof(m.last));
	r->is_waiting = r->all->ask(&m, r->all->arg);
	return r->is_waiting;
}

/* Logrotate may have moved it aside, and nobody has told us yet. */
static bool
is_live(const struct reader *r, int fd)
{
	struct stat a, b;

	return r->live_fd != -1 && fstat(fd, &a) == 0 &&
	    fstat(r->live_fd, &b) == 0 && a.st_dev == b.st_dev &&
	    a.st_ino == b.st_ino;
}

/* The next of those moved aside; -1 when there is none here. */
static int
reader_next_older(struct reader *r)
{
	while (r->older_at < r->older_count) {
		AUTO_CLOSE int fd = steal_fd(&r->older[r->older_at++]);

		if (!is_live(r, fd))
			return steal_fd(&fd);
	}
	return -1;
}

/*
 * The next file, from its start: those moved aside, the one that was the log
 * when they ended (moved aside meanwhile or not), the log. True too while more
 * of them are waited for; false without any.
 */
static bool
reader_open(struct reader *r)
{
	int fd = reader_next_older(r);

	log_source_done(&r->source);
	r->have = 0;
	if (fd == -1 && r->has_more)
		return reader_ask(r);
	if (fd == -1 && r->live_fd != -1)
		fd = steal_fd(&r->live_fd);
	else if (fd == -1)
		fd = reader_dup_log(r);
	return fd != -1 && log_source_init(&r->source, fd) == 0;
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

static bool
is_at_end(const struct reader *r)
{
	return r->older_at == r->older_count && !r->has_more &&
	    r->live_fd == -1 &&
	    r->log_serial == recorder_log_serial(r->all->log);
}

/* Fills out. False at the end of the log. */
static bool
reader_fill(struct reader *r)
{
	ssize_t n = r->source.fd == -1
	    ? 0
	    : log_source_read(&r->source, r->in + r->have,
		  sizeof(r->in) - r->have);

	if (n > 0) {
		size_t len = r->have + (size_t)n;
		size_t done = reader_filter(r, len);

		r->have = len - done;
		memmove(r->in, r->in + done, r->have);
		return true;
	}
	/* What it lacks is a hole in the chain, which whoever reads can see. */
	if (n < 0)
		log_warn("reader", "a file of the log: %s",
		    n == -EBADMSG ? "compressed, and damaged or cut"
				  : strerror((int)-n));
	return !is_at_end(r) && reader_open(r);
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

	if (rc == 0 && r->is_waiting)
		return;
	if (rc == 0 && !reader_fill(r)) {
		if (!r->wanted.follow || !is_at_end(r))
			reader_free(r);
		return;
	}
	if (r->is_waiting)
		return;
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
	if (r->live_fd == -1)
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
	r->number = ++all->last_number;
	r->has_more = wanted->has_more;
	r->source.fd = -1;
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

/* The log when the files before it ended is the one that goes on from them. */
static int
reader_take_more(struct reader *r, const struct message_recorder_older *m,
    int *older, unsigned int older_count)
{
	r->older_at = r->older_count = 0;
	for (unsigned int i = 0; i < older_count && i < RECORDER_OLDER_MAX; i++)
		r->older[r->older_count++] = steal_fd(&older[i]);
	r->has_more = m->has_more;
	r->is_waiting = false;
	memcpy(r->wanted.last, m->last, sizeof(r->wanted.last));
	fd_close(&r->live_fd);
	r->live_fd = reader_dup_log(r);
	return r->live_fd == -1 ? -EBADF : event_add(r->can_write, NULL);
}

void
recorder_readers_more(struct recorder_readers *all,
    const struct message_recorder_older *m, int *older,
    unsigned int older_count)
{
	struct reader *r;

	LIST_FOREACH(r, &all->list, entry)
	if (r->number == m->reader && r->is_waiting) {
		if (reader_take_more(r, m, older, older_count) != 0)
			reader_free(r);
		return;
	}
}

void
recorder_readers_lost(struct recorder_readers *all)
{
	struct reader *r, *next;

	for (r = LIST_FIRST(&all->list); r != NULL; r = next) {
		next = LIST_NEXT(r, entry);
		if (r->is_waiting)
			reader_free(r);
	}
}

void
recorder_readers_wake(struct recorder_readers *all)
{
	struct reader *r;

	LIST_FOREACH(r, &all->list, entry)
	if (!r->is_waiting && event_add(r->can_write, NULL) == -1)
		log_err("reader", "no memory for an event");
}

uint32_t
recorder_readers_count(const struct recorder_readers *all)
{
	return all->count;
}
