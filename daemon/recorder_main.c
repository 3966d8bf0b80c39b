/*
 * tapward-recorder: the one writer of the audit log. Unprivileged, in an empty
 * root; every descriptor comes from the supervisor. When the supervisor goes
 * it writes on, and the next one finds it by its peer socket.
 */
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "base/message.h"
#include "daemon/recorder_log.h"
#include "daemon/recorder_metrics.h"
#include "daemon/recorder_reader.h"
#include "daemon/recorder_sender.h"

/* How often the head of the chain goes to the journal, if it moved. */
#define ANCHOR_S 10
/* A turn that follows the last this soon is load; so long it then waits. */
#define PACE_BUSY_US 8000
#define PACE_US 4000L

struct recorder {
	struct child child;
	struct recorder_log *log;
	struct recorder_senders *senders;
	struct recorder_readers *readers;
	struct recorder_metrics metrics;
	struct event *anchor_event;
	int anchor_fd; /* `[audit] anchor`; -1 without one */
	bool is_anchor_broken;
	uint64_t anchored_seq;
	uint64_t written_us;
};

static void
fill_status(const struct recorder *rec, struct message_recorder_status *ret)
{
	recorder_log_status(rec->log, ret);
	ret->senders = recorder_senders_count(rec->senders);
	ret->readers = recorder_readers_count(rec->readers);
}

static void
on_record(const struct message_recorder_sandbox *about,
    const struct audit_record *record, void *arg)
{
	struct recorder *rec = arg;

	recorder_metrics_count(&rec->metrics, record);
	recorder_log_add(rec->log, about, record);
}

static void
on_log_state(bool can_write, void *arg)
{
	struct recorder *rec = arg;
	uint8_t buf[8];
	struct wr w = wr_init(buf, sizeof(buf));

	recorder_senders_state(rec->senders, can_write);
	if (rec->child.supervisor == NULL)
		return;
	message_audit_state_encode(&w, can_write);
	(void)chan_send(rec->child.supervisor, MSG_AUDIT_STATE, 0, &w, NULL, 0);
}

/*
 * Nobody waits for the recorder, so under load it lets records gather for a
 * moment and takes them at once: a wake-up for each would cost more than the
 * record. Senders have room for some hundred meanwhile.
 */
static void
pace(struct recorder *rec)
{
	const struct timespec pause = { .tv_nsec = PACE_US * 1000 };
	uint64_t now_us = clock_mono_us();
	bool is_busy = now_us - rec->written_us < PACE_BUSY_US;

	rec->written_us = now_us;
	if (is_busy)
		(void)nanosleep(&pause, NULL);
}

static void
on_log_written(void *arg)
{
	struct recorder *rec = arg;

	recorder_readers_wake(rec->readers);
	pace(rec);
}

static void
write_anchor(struct recorder *rec, const struct message_recorder_status *s)
{
	char line[DIGEST_TEXT_SIZE + 80], time[CLOCK_TEXT_SIZE];
	struct wr w = wr_init(line, sizeof(line));
	int rc;

	if (rec->anchor_fd == -1)
		return;
	wr_fmt(&w, "%s seq=%" PRIu64 " head=%s\n",
	    clock_text(clock_wall_ms(), time), s->seq, s->head);
	rc = fd_write_all(rec->anchor_fd, w.buf, w.len);
	if (rc != 0 && !rec->is_anchor_broken)
		log_event(LOG_EVENT_AUDIT_ANCHOR, NULL, "anchor",
		    "[audit] anchor: %s", strerror(-rc));
	rec->is_anchor_broken = rc != 0;
}

/* Whoever rewrites the file cannot rewrite the journal, or another disk. */
static void
anchor(struct recorder *rec)
{
	struct message_recorder_status status = { 0 };

	/* What is not in the file may never be: no anchor is ahead of it. */
	recorder_log_flush(rec->log);
	fill_status(rec, &status);
	if (!status.can_write || status.seq == rec->anchored_seq)
		return;
	log_event(LOG_EVENT_AUDIT_HEAD, NULL, "anchor",
	    "seq=%" PRIu64 " head=%s", status.seq, status.head);
	write_anchor(rec, &status);
	rec->anchored_seq = status.seq;
}

static void
on_anchor(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	anchor(arg);
}

static int
take_fd(struct chan_msg *msg)
{
	return steal_fd(&msg->fds[0]);
}

/* A file we cannot go on with: nothing is written, so nothing is allowed. */
static int
on_log(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	int rc;

	(void)c;
	anchor(rec);
	rc = recorder_log_open(rec->log, take_fd(msg),
	    msg->fd_count > 1 ? msg->fds[1] : -1);
	if (rc != 0)
		log_err("log",
		    "audit=unusable error=\"%s\" next=\"move the "
		    "log away and reload\"",
		    strerror(-rc));
	return 0;
}

static int
on_anchor_file(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;

	(void)c;
	fd_close(&rec->anchor_fd);
	if (msg->fd_count > 0)
		rec->anchor_fd = take_fd(msg);
	rec->is_anchor_broken = false;
	return 0;
}

static int
on_journal(struct chan *c, struct chan_msg *msg, void *arg)
{
	(void)c;
	(void)arg;
	log_event_use(take_fd(msg));
	return 0;
}

static int
on_attach(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_sandbox m;
	int rc = message_recorder_sandbox_decode(&msg->body, false, &m);

	(void)c;
	if (rc != 0)
		return rc;
	rc = recorder_senders_attach(rec->senders, &m, take_fd(msg),
	    recorder_log_can_write(rec->log));
	if (rc != 0)
		log_err("sender", "sandbox=%s attach: %s", m.sandbox,
		    strerror(-rc));
	return 0;
}

static int
on_nflog(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_sandbox m;
	int rc = message_recorder_sandbox_decode(&msg->body, false, &m);

	(void)c;
	if (rc != 0)
		return rc;
	rc = recorder_senders_nflog(rec->senders, &m, take_fd(msg));
	if (rc != 0)
		log_err("sender", "sandbox=%s nflog: %s", m.sandbox,
		    strerror(-rc));
	return 0;
}

static int
on_policy(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_sandbox m;
	int rc = message_recorder_sandbox_decode(&msg->body, false, &m);

	(void)c;
	if (rc == 0)
		recorder_senders_policy(rec->senders, &m);
	return rc;
}

static int
on_detach(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_sandbox m;
	int rc = message_recorder_sandbox_decode(&msg->body, false, &m);

	(void)c;
	if (rc == 0)
		recorder_senders_detach(rec->senders, &m);
	return rc;
}

static int
on_counters(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_counters m;
	uint64_t growth[REASON_PACKET_COUNT];
	int rc = message_recorder_counters_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	recorder_senders_counters(rec->senders, &m, growth);
	for (size_t i = 0; i < REASON_PACKET_COUNT; i++)
		rec->metrics.dropped[i] += growth[i];
	return 0;
}

static int
on_nflog_back(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_sandbox m;
	uint8_t none[1];
	struct wr w = wr_init(none, 0);
	int rc = message_recorder_sandbox_decode(&msg->body, false, &m);
	int fd;

	if (rc != 0)
		return rc;
	fd = recorder_senders_nflog_fd(rec->senders, &m);
	(void)chan_send(c, MSG_RECORDER_NFLOG_HERE, msg->id, &w, &fd,
	    fd == -1 ? 0 : 1);
	return 0;
}

static int
on_event(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_recorder_event m;
	struct audit_text text;
	int rc = message_recorder_event_decode(&msg->body, &text, &m);

	(void)c;
	if (rc == 0)
		on_record(&m.about, &m.record, arg);
	return rc;
}

static int
on_read(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_read m;
	int rc = message_recorder_read_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	/* What was said up to here is in the answer. */
	recorder_log_flush(rec->log);
	rc = recorder_readers_add(rec->readers, &m, take_fd(msg), &msg->fds[1],
	    msg->fd_count - 1);
	if (rc != 0)
		log_warn("reader", "refused: %s", strerror(-rc));
	return 0;
}

static int
on_older(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct recorder *rec = arg;
	struct message_recorder_older m;
	int rc = message_recorder_older_decode(&msg->body, &m);

	(void)c;
	if (rc == 0)
		recorder_readers_more(rec->readers, &m, msg->fds,
		    (unsigned int)msg->fd_count);
	return rc;
}

/* The supervisor alone sees the folder. */
static bool
ask_older(const struct message_recorder_older *m, void *arg)
{
	const struct recorder *rec = arg;
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));

	if (rec->child.supervisor == NULL)
		return false;
	message_recorder_older_encode(&w, m);
	return chan_send(rec->child.supervisor, MSG_RECORDER_OLDER, 0, &w, NULL,
		   0) == 0;
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_recorder_status status = { 0 };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	fill_status(arg, &status);
	message_recorder_status_encode(&w, &status);
	/* A supervisor that is gone is seen by its own callback. */
	(void)chan_send(c, MSG_RECORDER_STATUS_ANSWER, msg->id, &w, NULL, 0);
	return 0;
}

/*
 * Shorter than a pipe's buffer, so one write does; whoever gave us something
 * smaller gets less.
 */
static int
on_metrics(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct recorder *rec = arg;
	struct message_recorder_status status = { 0 };
	AUTO_FREE uint8_t *buf = malloc(RECORDER_METRICS_MAX);
	struct wr w = wr_init(buf, buf == NULL ? 0 : RECORDER_METRICS_MAX);

	(void)c;
	if (buf == NULL || fd_set_nonblock(msg->fds[0], true) != 0)
		return 0;
	fill_status(rec, &status);
	recorder_metrics_write(&w, &rec->metrics, &status);
	if (!wr_ok(&w) || fd_write_all(msg->fds[0], w.buf, w.len) != 0)
		log_warn("metrics", "not all was written");
	return 0;
}

static int
on_recent(struct chan *c, struct chan_msg *msg, void *arg)
{
	static struct message_recent recent;
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct recorder *rec = arg;
	uint64_t generations[RECENT_NAMED_MAX];
	struct message_recent_wanted wanted;
	struct wr w = wr_init(buf, sizeof(buf));
	int rc = message_recent_wanted_decode(&msg->body, generations, &wanted);

	if (rc != 0)
		return rc;
	fill_status(rec, &recent.status);
	recorder_senders_recent(rec->senders, &wanted, &recent);
	message_recent_encode(&w, &recent);
	(void)chan_send(c, MSG_RECORDER_RECENT_ANSWER, msg->id, &w, NULL, 0);
	return 0;
}

static const struct chan_rule rules[] = {
	{ MSG_RECORDER_LOG, 0, 1, 2, on_log },
	{ MSG_RECORDER_ANCHOR, 0, 0, 1, on_anchor_file },
	{ MSG_RECORDER_JOURNAL, 0, 1, 1, on_journal },
	{ MSG_RECORDER_ATTACH, MESSAGE_SMALL_BYTES, 1, 1, on_attach },
	{ MSG_RECORDER_NFLOG, MESSAGE_SMALL_BYTES, 1, 1, on_nflog },
	{ MSG_RECORDER_POLICY, MESSAGE_SMALL_BYTES, 0, 0, on_policy },
	{ MSG_RECORDER_DETACH, MESSAGE_SMALL_BYTES, 0, 0, on_detach },
	{ MSG_RECORDER_NFLOG_BACK, MESSAGE_SMALL_BYTES, 0, 0, on_nflog_back },
	{ MSG_RECORDER_COUNTERS, MESSAGE_SMALL_BYTES, 0, 0, on_counters },
	{ MSG_RECORDER_EVENT, (size_t)2 * MESSAGE_SMALL_BYTES, 0, 0, on_event },
	{ MSG_RECORDER_READ, MESSAGE_SMALL_BYTES, 1, 1 + RECORDER_OLDER_MAX,
	    on_read },
	{ MSG_RECORDER_OLDER_HERE, MESSAGE_SMALL_BYTES, 0, RECORDER_OLDER_MAX,
	    on_older },
	{ MSG_RECORDER_STATUS, 0, 0, 0, on_status },
	{ MSG_RECORDER_METRICS, 0, 1, 1, on_metrics },
	{ MSG_RECORDER_RECENT, MESSAGE_LARGE_BYTES, 0, 0, on_recent },
};

static void
fill_hello(struct message_hello *ret, void *arg)
{
	(void)arg;
	memcpy(ret->role, "recorder", sizeof("recorder"));
}

static void
on_supervisor(struct child *c, bool adopted, void *arg)
{
	struct recorder *rec = arg;

	(void)c;
	(void)adopted;
	on_log_state(recorder_log_can_write(rec->log), rec);
}

static void
on_supervisor_gone(struct child *c, void *arg)
{
	const struct recorder *rec = arg;

	(void)c;
	recorder_readers_lost(rec->readers);
}

/* #syscalls beside those of every program. */
static const struct confine_call calls[] = {
	{ "pread64", "the end of the log at start; readers" },
	{ "accept4", "a later supervisor at the peer socket" },
	{ "clock_nanosleep", "lets records gather under load" },
	{ "recvmmsg", "and takes them" },
};

static const struct confine_profile profile = {
	.program = "tapward-recorder",
	.calls = calls,
	.call_count = sizeof(calls) / sizeof(calls[0]),
};

static const struct child_spec spec = {
	.profile = &profile,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.hello = fill_hello,
	.on_supervisor = on_supervisor,
	.on_supervisor_gone = on_supervisor_gone,
};

static void
recorder_init(struct recorder *rec)
{
	const struct recorder_log_callbacks log_cb = { on_log_state,
		on_log_written, rec };
	const struct recorder_senders_callbacks sender_cb = { on_record, rec };
	const struct timeval every = { .tv_sec = ANCHOR_S };
	struct event_base *base = rec->child.base;

	rec->anchor_fd = -1;
	rec->log = recorder_log_new(base, &log_cb);
	rec->senders = recorder_senders_new(base, &sender_cb);
	if (rec->log != NULL)
		rec->readers =
		    recorder_readers_new(base, rec->log, ask_older, rec);
	rec->anchor_event = event_new(base, -1, EV_PERSIST, on_anchor, rec);
	if (rec->log == NULL || rec->senders == NULL || rec->readers == NULL ||
	    rec->anchor_event == NULL ||
	    event_add(rec->anchor_event, &every) == -1)
		die("recorder", "no memory");
}

/* libcrypto reads what it needs now: later there is no openat(). */
static void
load_digest(void)
{
	uint8_t digest[DIGEST_BYTES];

	if (digest_sha256("", 0, digest) != 0)
		die("recorder", "SHA-256 is not to be had");
}

int
main(int argc, char **argv)
{
	static struct recorder rec;
	int status;

	child_init(&rec.child, argc, argv);
	load_digest();
	recorder_init(&rec);
	status = child_serve(&rec.child, &spec, &rec);
	recorder_log_flush(rec.log);
	anchor(&rec);
	return status;
}
