/*
 * The sink. A line gets its number and its place in the chain when it enters
 * the buffer, so the order of the buffer is the order of the file; a line that
 * was written in part is finished before any other. A record that finds no
 * room gets no number: it is counted, and the count is itself a record.
 */
#include "daemon/recorder_log.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "conf/verdict.h"
#include "daemon/recorder_tail.h"

struct recorder_log {
	struct recorder_log_callbacks cb;
	struct event *flush_event; /* at the end of this turn, or the retry */
	int fd;
	uint32_t serial;
	bool can_write;
	uint64_t seq;
	char prev[DIGEST_HEX_SIZE];
	uint64_t lost;          /* in all */
	uint64_t lost_reported; /* of them in gap records */
	bool has_failed;        /* since the last gap record */
	size_t len;             /* bytes of buf that wait */
	uint8_t buf[RECORDER_BUFFER_BYTES];
};

static const struct message_recorder_sandbox about_daemon;

static void
on_flush(evutil_socket_t fd, short what, void *arg)
{
	struct recorder_log *l = arg;

	(void)fd;
	(void)what;
	recorder_log_flush(l);
}

struct recorder_log *
recorder_log_new(struct event_base *base,
    const struct recorder_log_callbacks *cb)
{
	struct recorder_log *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->cb = *cb;
	l->fd = -1;
	memcpy(l->prev, AUDIT_GENESIS, sizeof(l->prev));
	l->flush_event = evtimer_new(base, on_flush, l);
	if (l->flush_event == NULL) {
		free(l);
		return NULL;
	}
	return l;
}

void
recorder_log_free(struct recorder_log *l)
{
	if (l == NULL)
		return;
	event_free(l->flush_event);
	fd_close(&l->fd);
	free(l);
}

static void
flush_after_ms(struct recorder_log *l, unsigned int ms)
{
	const struct timeval tv = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000,
	};

	if (event_add(l->flush_event, &tv) == -1)
		die("log", "no memory for a timer");
}

static void
set_state(struct recorder_log *l, bool can_write)
{
	if (l->can_write == can_write)
		return;
	l->can_write = can_write;
	l->cb.on_state(can_write, l->cb.arg);
}

/* Puts the line into the buffer; false if it has no room. */
static bool
append(struct recorder_log *l, const struct message_recorder_sandbox *about,
    const struct audit_record *record)
{
	const struct recorder_line line = {
		.head.seq = l->seq + 1,
		.wall_ms = clock_wall_ms(),
		.about = about,
	};
	struct recorder_line full = line;
	struct wr w = wr_init(l->buf + l->len, sizeof(l->buf) - l->len);

	memcpy(full.head.prev, l->prev, sizeof(full.head.prev));
	recorder_line_write(&w, &full, record);
	if (!wr_ok(&w) || w.len + 1 > w.size)
		return false;
	if (audit_line_hash((struct span){ w.buf, w.len }, l->prev) != 0)
		die("log", "SHA-256 failed");
	wr_u8(&w, '\n');
	l->seq++;
	l->len += w.len;
	return true;
}

/* A record by the recorder itself, about what it could not keep. */
static bool
append_gap(struct recorder_log *l, const char *detail)
{
	struct audit_record gap = audit_record_init(AUDIT_LIFECYCLE);

	gap.verdict = ACTION_DENY;
	gap.reason = REASON_AUDIT_UNAVAILABLE;
	gap.detail = span_of(detail);
	return append(l, &about_daemon, &gap);
}

/* That the log could not be written for a while is itself a record. */
static void
report_gap(struct recorder_log *l)
{
	char detail[80];

	if (l->lost == l->lost_reported && !l->has_failed)
		return;
	(void)snprintf(detail, sizeof(detail),
	    "gap: the log could not be written, %" PRIu64 " records lost",
	    l->lost - l->lost_reported);
	if (!append_gap(l, detail))
		return;
	l->lost_reported = l->lost;
	l->has_failed = false;
}

void
recorder_log_add(struct recorder_log *l,
    const struct message_recorder_sandbox *about,
    const struct audit_record *record)
{
	bool is_first = l->len == 0;

	if (l->fd == -1 || !append(l, about, record)) {
		l->lost++;
		return;
	}
	/* Behind all that is ready in this turn of the loop. */
	if (l->can_write && is_first)
		event_active(l->flush_event, EV_TIMEOUT, 0);
}

/* One write. 0 when the buffer is empty, or -errno. */
static int
write_some(struct recorder_log *l)
{
	ssize_t n;

	if (l->len == 0)
		return 0;
	n = write(l->fd, l->buf, l->len);
	if (n == -1)
		return errno == EINTR ? -EAGAIN : -errno;
	l->len -= (size_t)n;
	memmove(l->buf, l->buf + n, l->len);
	return l->len == 0 ? 0 : -EAGAIN;
}

static void
on_sink_failed(struct recorder_log *l, int rc)
{
	if (l->can_write)
		log_err("log",
		    "audit=failed error=\"%s\" next=\"new exchanges "
		    "are refused until the log can be written\"",
		    strerror(-rc));
	l->has_failed = true;
	set_state(l, false);
	flush_after_ms(l, RECORDER_RETRY_MS);
}

/*
 * After a failure one write that succeeds is no proof that the next will, but
 * the senders wait for a word, and the next failure takes it back.
 */
void
recorder_log_flush(struct recorder_log *l)
{
	int rc;

	if (l->fd == -1)
		return;
	do
		rc = write_some(l);
	while (rc == -EAGAIN);
	if (rc != 0) {
		on_sink_failed(l, rc);
		return;
	}
	report_gap(l);
	if (l->len != 0)
		rc = write_some(l);
	if (rc != 0) {
		on_sink_failed(l, rc == -EAGAIN ? -ENOSPC : rc);
		return;
	}
	if (!l->can_write)
		log_info("log", "audit=writes seq=%" PRIu64, l->seq);
	set_state(l, true);
	l->cb.on_written(l->cb.arg);
}

/*
 * Goes on from where the file ends, or the one before it if this one is empty;
 * says so if the last line was cut.
 */
static int
take_up(struct recorder_log *l, int fd, int before)
{
	struct recorder_tail tail;
	struct stat st;
	bool is_empty = fstat(fd, &st) == 0 && st.st_size == 0;
	int rc =
	    recorder_tail_read(is_empty && before != -1 ? before : fd, &tail);

	if (rc != 0)
		return rc;
	l->seq = tail.seq;
	memcpy(l->prev, tail.prev, sizeof(l->prev));
	if (tail.needs_newline && !is_empty)
		l->buf[l->len++] = '\n';
	if (tail.is_torn && !append_gap(l, AUDIT_DETAIL_TORN))
		return -ENOBUFS;
	return 0;
}

int
recorder_log_open(struct recorder_log *l, int fd, int before)
{
	AUTO_CLOSE int owned = fd;
	int rc = 0;

	/* The lines that wait belong to the file before. */
	if (l->fd != -1)
		recorder_log_flush(l);
	else
		rc = take_up(l, fd, before);
	if (rc != 0)
		return rc;
	fd_close(&l->fd);
	l->fd = steal_fd(&owned);
	l->serial++;
	recorder_log_flush(l);
	return 0;
}

bool
recorder_log_can_write(const struct recorder_log *l)
{
	return l->can_write;
}

void
recorder_log_status(const struct recorder_log *l,
    struct message_recorder_status *ret)
{
	ret->can_write = l->can_write;
	ret->seq = l->seq;
	memcpy(ret->head, l->prev, sizeof(ret->head));
	ret->lost = l->lost;
}

int
recorder_log_fd(const struct recorder_log *l)
{
	return l->fd;
}

uint32_t
recorder_log_serial(const struct recorder_log *l)
{
	return l->serial;
}
