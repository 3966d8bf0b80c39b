/* What the recorder is told, and what it says. */
#include "daemon/link_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/log_event.h"
#include "base/message.h"
#include "conf/verdict.h"
#include "daemon/jobs.h"
#include "daemon/rotate.h"
#include "daemon/supervisor.h"

static struct service *
recorder_of(struct supervisor *sv)
{
	return &sv->services[SERVICE_RECORDER];
}

int
link_recorder_open_log(struct supervisor *sv)
{
	AUTO_CLOSE int fd = -1;
	char path[SUPERVISOR_PATH_SIZE];
	unsigned int count = 1;
	struct stat st;
	int fds[2], rc;

	(void)snprintf(path, sizeof(path), "%s/audit.jsonl",
	    sv->config->host->log_dir);
	fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
	    0640);
	if (fd == -1 || fstat(fd, &st) == -1)
		return -errno;
	fds[1] = st.st_size == 0 ? rotate_open_newest(sv) : -1;
	count += fds[1] != -1 ? 1 : 0;
	fds[0] = fd;
	rc = service_tell(recorder_of(sv), MSG_RECORDER_LOG, NULL, fds, count);
	if (count > 1)
		(void)close(fds[1]);
	return rc;
}

/* A file, or a device: a pipe without a reader would make us wait. */
static int
open_anchor(const char *path, int *ret_fd)
{
	AUTO_CLOSE int fd = open(path,
	    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
		O_CLOEXEC,
	    0640);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return -ENOTSUP;
	*ret_fd = steal_fd(&fd);
	return 0;
}

void
link_recorder_anchor(struct supervisor *sv)
{
	const char *path = sv->config->host->anchor;
	AUTO_CLOSE int fd = -1;
	int rc = *path == '\0' ? 0 : open_anchor(path, &fd);

	if (rc != 0)
		log_event(LOG_EVENT_AUDIT_ANCHOR, NULL, "audit",
		    "[audit] anchor: %s: %s; heads go to the journal alone",
		    path, strerror(-rc));
	(void)service_tell(recorder_of(sv), MSG_RECORDER_ANCHOR, NULL, &fd,
	    fd == -1 ? 0 : 1);
}

/* It lives in an empty root: ours is the only other way there. */
static void
give_journal(struct service *s)
{
	AUTO_CLOSE int fd = -1;

	if (log_event_is_journal() &&
	    log_event_connect(LOG_EVENT_JOURNAL, &fd) == 0)
		(void)service_tell(s, MSG_RECORDER_JOURNAL, NULL, &fd, 1);
}

static struct message_recorder_sandbox
about(const struct sandbox *s)
{
	struct message_recorder_sandbox m = {
		.generation = s->state.generation,
	};

	memcpy(m.sandbox, s->state.name, sizeof(m.sandbox));
	memcpy(m.policy, s->state.policy_digest, sizeof(m.policy));
	return m;
}

static int
tell_about(const struct sandbox *s, uint16_t type, const int *fd)
{
	const struct message_recorder_sandbox m = about(s);
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	message_recorder_sandbox_encode(&w, &m);
	return service_tell(recorder_of(s->sv), type, &w, fd,
	    fd == NULL ? 0 : 1);
}

int
link_recorder_attach(const struct sandbox *s, int fd)
{
	return tell_about(s, MSG_RECORDER_ATTACH, &fd);
}

int
link_recorder_nflog(const struct sandbox *s)
{
	int fd = sandbox_net_sockets(s->net)->fd[NET_SOCKET_LOG];

	return tell_about(s, MSG_RECORDER_NFLOG, &fd);
}

int
link_recorder_nflog_back(const struct sandbox *s, ask_done *done, void *arg)
{
	const struct message_recorder_sandbox m = about(s);
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	message_recorder_sandbox_encode(&w, &m);
	return service_ask(recorder_of(s->sv), MSG_RECORDER_NFLOG_BACK, &w,
	    NULL, 0, (struct asker){ done, arg });
}

void
link_recorder_policy(const struct sandbox *s, const char *digest)
{
	struct message_recorder_sandbox m = about(s);
	uint8_t buf[256];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)snprintf(m.policy, sizeof(m.policy), "%s", digest);
	message_recorder_sandbox_encode(&w, &m);
	/* One that is down is told when it comes up. */
	(void)service_tell(recorder_of(s->sv), MSG_RECORDER_POLICY, &w, NULL,
	    0);
}

void
link_recorder_detach(const struct sandbox *s)
{
	(void)tell_about(s, MSG_RECORDER_DETACH, NULL);
}

int
link_recorder_counters(const struct sandbox *s, enum recorder_counters kind,
    const uint64_t packets[REASON_PACKET_COUNT])
{
	struct message_recorder_counters m = {
		.about = about(s),
		.kind = (uint8_t)kind,
	};
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));

	memcpy(m.packets, packets, sizeof(m.packets));
	message_recorder_counters_encode(&w, &m);
	return service_tell(recorder_of(s->sv), MSG_RECORDER_COUNTERS, &w, NULL,
	    0);
}

void
link_recorder_event(struct supervisor *sv, const struct sandbox *s,
    const char *what, enum reason reason)
{
	struct message_recorder_event m = {
		.record = audit_record_init(AUDIT_LIFECYCLE),
	};
	uint8_t buf[2 * MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s != NULL)
		m.about = about(s);
	m.record.verdict = reason == REASON_NONE ? ACTION_ALLOW : ACTION_DENY;
	m.record.reason = reason;
	m.record.detail = span_of(what);
	message_recorder_event_encode(&w, &m);
	if (service_tell(recorder_of(sv), MSG_RECORDER_EVENT, &w, NULL, 0) != 0)
		log_warn("recorder",
		    "down: event=\"%s\" is not in the audit "
		    "log",
		    what);
}

void
link_recorder_record(const struct sandbox *s, const struct audit_record *r)
{
	const struct message_recorder_event m = { .about = about(s),
		.record = *r };
	uint8_t buf[2 * MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	message_recorder_event_encode(&w, &m);
	if (service_tell(recorder_of(s->sv), MSG_RECORDER_EVENT, &w, NULL, 0) !=
	    0)
		log_warn("recorder", "down: event=%s is not in the audit log",
		    audit_event_name(r->event));
}

/* argv with blanks between; what would be read as one is quoted. */
static void
write_command(struct wr *w, const struct message_vm_record *r)
{
	for (size_t i = 0; i < r->command.len; i++) {
		uint8_t c = r->command.ptr[i];
		bool is_last = i + 1 == r->command.len;

		if (c == '\0' && !is_last)
			wr_u8(w, ' ');
		else if (c == ' ' || c == '\\')
			wr_fmt(w, "\\%c", c);
		else if (c < 0x20 && c != '\0')
			wr_fmt(w, "\\x%02x", c);
		else if (c != '\0')
			wr_u8(w, c);
	}
}

void
link_recorder_run(const struct sandbox *s, const struct message_vm_spec *spec,
    const struct message_vm_record *r)
{
	static const char *const verbs[VM_RECORD_KINDS] = {
		[VM_RECORD_EXEC] = "exec",
		[VM_RECORD_PUT] = "put",
		[VM_RECORD_GET] = "get",
	};
	struct message_recorder_event m = {
		.about = about(s),
		.record = audit_record_init(AUDIT_RUN),
	};
	uint8_t command[2 * VM_RECORD_COMMAND_MAX], detail[AUDIT_DETAIL_MAX];
	struct wr c = wr_init(command, sizeof(command));
	struct wr d = wr_init(detail, sizeof(detail));
	uint8_t buf[2 * MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	write_command(&c, r);
	wr_fmt(&d, "%s", r->how);
	if (spec->image[0] != '\0')
		wr_fmt(&d, "; image %s", spec->image);
	if (spec->commit[0] != '\0')
		wr_fmt(&d, "; commit %s", spec->commit);
	m.record.verdict = ACTION_ALLOW;
	m.record.method = span_of(verbs[r->kind]);
	m.record.path = (struct span){ command, c.len };
	m.record.ms = r->ms;
	m.record.up = r->up;
	m.record.down = r->down;
	m.record.detail = (struct span){ detail, d.len };
	message_recorder_event_encode(&w, &m);
	if (service_tell(recorder_of(s->sv), MSG_RECORDER_EVENT, &w, NULL, 0) !=
	    0)
		log_warn("recorder", "down: a command is not in the audit log");
}

int
link_recorder_read(struct supervisor *sv,
    const struct message_recorder_read *wanted, int sink)
{
	struct message_recorder_read m = *wanted;
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));
	int fds[1 + RECORDER_OLDER_MAX] = { sink };
	unsigned int count = 1 +
	    rotate_open_older(sv, "", &fds[1], RECORDER_OLDER_MAX, m.last,
		&m.has_more);
	int rc;

	message_recorder_read_encode(&w, &m);
	rc = service_tell(recorder_of(sv), MSG_RECORDER_READ, &w, fds, count);
	while (count > 1)
		(void)close(fds[--count]);
	return rc;
}

/* A reader has come to the end of those that it was given. */
static int
on_older(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct service *s = proc_arg(arg);
	struct message_recorder_older m;
	int fds[RECORDER_OLDER_MAX];
	char after[RECORDER_FILE_SIZE];
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));
	unsigned int count;
	int rc = message_recorder_older_decode(&msg->body, &m);

	if (rc != 0)
		return rc;
	memcpy(after, m.last, sizeof(after));
	count = rotate_open_older(s->sv, after, fds, RECORDER_OLDER_MAX, m.last,
	    &m.has_more);
	message_recorder_older_encode(&w, &m);
	/* A channel that is gone tells so itself. */
	(void)chan_send(c, MSG_RECORDER_OLDER_HERE, 0, &w, fds, count);
	while (count > 0)
		(void)close(fds[--count]);
	return 0;
}

int
link_recorder_metrics(struct supervisor *sv, int sink)
{
	return service_tell(recorder_of(sv), MSG_RECORDER_METRICS, NULL, &sink,
	    1);
}

static const struct log_about about_audit = { .reason = "audit-unavailable" };

static int
on_state(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	bool can_write;
	int rc = message_audit_state_decode(&msg->body, &can_write);

	(void)c;
	if (rc != 0)
		return rc;
	if (!s->sv->audit_can_write && can_write)
		log_event(LOG_EVENT_AUDIT_WRITES, NULL, "audit",
		    "the log can be written");
	if (s->sv->audit_can_write && !can_write)
		log_event(LOG_EVENT_AUDIT_FAILED, &about_audit, "audit",
		    "the log cannot be written: guests are "
		    "refused new exchanges; make room in %s",
		    s->sv->config->host->log_dir);
	s->sv->audit_can_write = can_write;
	startup_progress(s->sv);
	return 0;
}

int
link_recorder_status(struct supervisor *sv, ask_done *done, void *arg)
{
	return service_ask(recorder_of(sv), MSG_RECORDER_STATUS, NULL, NULL, 0,
	    (struct asker){ done, arg });
}

static int
on_status(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct answer a = { .text = "", .digest = "" };
	struct service *s = proc_arg(arg);
	int rc =
	    message_recorder_status_decode(&msg->body, &s->sv->recorder_status);

	(void)c;
	if (rc != 0)
		return rc;
	return asks_answer(&s->asks, msg->id, 0, &a) ? 0 : -EPROTO;
}

int
link_recorder_recent(struct supervisor *sv,
    const struct message_recent_wanted *wanted, ask_done *done, void *arg)
{
	uint8_t buf[8 * RECENT_NAMED_MAX + 16];
	struct wr w = wr_init(buf, sizeof(buf));

	message_recent_wanted_encode(&w, wanted);
	return service_ask(recorder_of(sv), MSG_RECORDER_RECENT, &w, NULL, 0,
	    (struct asker){ done, arg });
}

static int
on_recent(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct answer a = { .text = "", .digest = "" };
	struct service *s = proc_arg(arg);
	int rc = message_recent_decode(&msg->body, &s->sv->recent);

	(void)c;
	if (rc != 0)
		return rc;
	s->sv->recorder_status = s->sv->recent.status;
	return asks_answer(&s->asks, msg->id, 0, &a) ? 0 : -EPROTO;
}

static int
on_nflog_here(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct service *s = proc_arg(arg);
	const struct answer a = {
		.text = "",
		.digest = "",
		.fds = msg->fds,
		.fd_count = msg->fd_count,
	};

	(void)c;
	return asks_answer(&s->asks, msg->id, 0, &a) ? 0 : -EPROTO;
}

static const struct chan_rule rules[] = {
	PROC_HELLO_RULE,
	{ MSG_AUDIT_STATE, 8, 0, 0, on_state },
	{ MSG_RECORDER_NFLOG_HERE, 0, 0, 1, on_nflog_here },
	{ MSG_RECORDER_OLDER, MESSAGE_SMALL_BYTES, 0, 0, on_older },
	{ MSG_RECORDER_STATUS_ANSWER, MESSAGE_SMALL_BYTES, 0, 0, on_status },
	{ MSG_RECORDER_RECENT_ANSWER, MESSAGE_LARGE_BYTES, 0, 0, on_recent },
};

static void
on_up(struct service *s)
{
	struct supervisor *sv = s->sv;
	int rc = 0;

	/* One that was taken up has its log; a second would be a rotation. */
	if (!s->was_adopted)
		rc = link_recorder_open_log(sv);
	if (rc != 0)
		log_err("audit", "%s/audit.jsonl: %s",
		    sv->config->host->log_dir, strerror(-rc));
	give_journal(s);
	link_recorder_anchor(sv);
	if (s->restarts > 0)
		link_recorder_event(sv, NULL,
		    "gap: the recorder was started anew",
		    REASON_AUDIT_UNAVAILABLE);
	jobs_on_service_up(s, WIRES_RECORDER);
}

static void
on_down(struct service *s)
{
	s->sv->audit_can_write = false;
	jobs_on_service_down(s);
}

const struct service_spec link_recorder_spec = {
	.role = "recorder",
	.program = "tapward-recorder",
	.uid = UID_RECORDER,
	.outlives_us = true,
	.rules = rules,
	.rule_count = sizeof(rules) / sizeof(rules[0]),
	.on_up = on_up,
	.on_down = on_down,
};
