/*
 * The stream of frames to tapward-vm: poll(2), one stream at a time. See
 * session.h.
 */
#include "cli/session_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/call.h"

#define IN_SIZE ((size_t)2 * FRAME_BYTES_MAX)
/* One fill: no longer than a pipe holds. */
#define FILL_BYTES 65536

struct wr
session_room(struct session *s)
{
	if (s->out_at > 0) {
		memmove(s->out, s->out + s->out_at, s->out_len - s->out_at);
		s->out_len -= s->out_at;
		s->out_at = 0;
	}
	return wr_init(s->out + s->out_len, SESSION_OUT_MAX - s->out_len);
}

int
session_send(struct session *s, struct wr *w, struct err *err)
{
	struct frame f;
	size_t used = 0;
	enum frame_fault fault;

	if (!wr_ok(w))
		return err_os(err, -EMSGSIZE, "the request to the guest");
	fault = frame_decode((struct span){ w->buf, w->len }, &f, &used);
	if (fault == FRAME_OK && f.head.stream != 0)
		fault = f.head.type < FRAME_SIGNAL
		    ? frame_stream_open(&s->stream, &f)
		    : frame_stream_pass(&s->stream, FRAME_HOST, &f);
	if (fault != FRAME_OK)
		return err_at(err, NULL, 0, "the request to the guest: %s",
		    frame_fault_text(fault));
	s->out_len += w->len;
	return 0;
}

static int
give_back(struct session *s, uint8_t channel, size_t len, struct err *err)
{
	struct wr w = session_room(s);

	frame_window_encode(&w, s->stream_id, channel, (uint32_t)len);
	return session_send(s, &w, err);
}

static int
take_data(struct session *s, const struct frame *f, struct err *err)
{
	int rc = s->flow->take(s->flow->arg, f->head.channel, f->body, err);

	return rc != 0 ? rc : give_back(s, f->head.channel, f->head.len, err);
}

static void
copy_text(struct span from, char to[FRAME_TEXT_MAX + 1])
{
	size_t len = from.len > FRAME_TEXT_MAX ? FRAME_TEXT_MAX : from.len;

	if (len > 0)
		memcpy(to, from.ptr, len);
	to[len] = '\0';
}

static int
take_exit(struct session *s, const struct frame *f)
{
	struct frame_exit m;

	if (frame_exit_decode(f->body, &m) != FRAME_OK)
		return -EBADMSG;
	s->end = (struct session_end){ m.end, m.value, m.limit, "" };
	copy_text(m.text, s->end.text);
	s->is_over = true;
	return 0;
}

static int
take_state(struct session *s, const struct frame *f)
{
	struct frame_state m;

	if (frame_state_decode(f->body, &m) != FRAME_OK)
		return -EBADMSG;
	s->state = m.state;
	copy_text(m.text, s->state_text);
	if (s->on_state != NULL)
		s->on_state(&m, s->on_state_arg);
	return 0;
}

static int
take_hello(struct session *s, const struct frame *f, struct err *err)
{
	struct frame_hello m;

	if (frame_hello_decode(f->body, &m) != FRAME_OK || s->has_hello)
		return -EBADMSG;
	if (m.version != FRAME_VERSION)
		return err_at(err, NULL, 0,
		    "tapward-vm speaks version %u and this tapward %d: use "
		    "those of one installation",
		    m.version, FRAME_VERSION);
	s->has_hello = true;
	return 0;
}

/* On the stream that runs; one that is gone may still be spoken of. */
static int
take_stream(struct session *s, const struct frame *f, struct err *err)
{
	if (f->head.stream != s->stream_id || s->is_over || s->flow == NULL)
		return f->head.stream <= s->stream_id ? 0 : -EBADMSG;
	if (frame_stream_pass(&s->stream, FRAME_GUEST, f) != FRAME_OK)
		return -EBADMSG;
	if (f->head.type == FRAME_DATA)
		return take_data(s, f, err);
	return f->head.type == FRAME_EXIT ? take_exit(s, f) : 0;
}

static int
take_frame(struct session *s, const struct frame *f, struct err *err)
{
	int rc;

	if (f->head.stream != 0)
		rc = take_stream(s, f, err);
	else if (f->head.type == FRAME_HELLO)
		rc = take_hello(s, f, err);
	else
		rc = f->head.type == FRAME_STATE ? take_state(s, f) : -EBADMSG;
	/* A flow that refuses what came has said why. */
	if (rc == -EBADMSG && err->text[0] == '\0')
		(void)err_at(err, NULL, 0,
		    "tapward-vm sent what cannot be understood");
	return rc;
}

static int
take_frames(struct session *s, struct err *err)
{
	size_t at = 0, used = 1;
	int rc = 0;

	while (rc == 0 && at < s->in_len) {
		struct frame f;

		if (frame_decode((struct span){ s->in + at, s->in_len - at },
			&f, &used) != FRAME_OK) {
			(void)err_at(err, NULL, 0,
			    "tapward-vm sent what cannot be understood");
			return -EBADMSG;
		}
		if (used == 0)
			break;
		rc = take_frame(s, &f, err);
		at += used;
	}
	memmove(s->in, s->in + at, s->in_len - at);
	s->in_len -= at;
	return rc;
}

/* The other side has closed: the machine is gone, and said why before. */
static int
is_ended(const struct session *s, struct err *err)
{
	const char *why =
	    s->state_text[0] != '\0' ? s->state_text : "the connection broke";

	(void)err_at(err, NULL, 0, "the virtual machine ended: %s", why);
	return -EPIPE;
}

static int
read_some(struct session *s, struct err *err)
{
	ssize_t n =
	    recv(s->fd, s->in + s->in_len, IN_SIZE - s->in_len, MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return is_ended(s, err);
	s->in_len += (size_t)n;
	return take_frames(s, err);
}

static ssize_t
send_out(const struct session *s)
{
	return send(s->fd, s->out + s->out_at, s->out_len - s->out_at,
	    MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int
write_some(struct session *s, struct err *err)
{
	ssize_t n = send_out(s);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == -1) /* what it said before it went is still to be read */
		return errno == EPIPE ? read_some(s, err)
				      : err_os(err, -errno, "tapward-vm");
	s->out_at += (size_t)n;
	return 0;
}

static int
take_signal(struct session *s, struct err *err)
{
	struct signalfd_siginfo info;

	if (read(s->signal_fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo != SIGWINCH)
		s->interrupts++;
	if (s->flow != NULL && s->flow->on_signal != NULL)
		return s->flow->on_signal(s, (int)info.ssi_signo, s->flow->arg);
	if (info.ssi_signo == SIGWINCH)
		return 0;
	(void)err_at(err, NULL, 0, "interrupted");
	return -EINTR;
}

int
session_await_room(struct session *s, int fd, struct err *err)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = POLLOUT },
		{ .fd = s->signal_fd, .events = POLLIN },
	};
	int rc = 0;

	while (rc == 0 && p[0].revents == 0) {
		ssize_t n;

		if (poll(p, 2, -1) == -1) {
			rc = errno == EINTR ? 0 : err_os(err, -errno, "poll");
			p[0].revents = 0;
			continue;
		}
		if (p[1].revents == 0)
			continue;
		rc = take_signal(s, err);
		/* Nothing is read now: an error is seen when it is again. */
		n = send_out(s);
		s->out_at += n > 0 ? (size_t)n : 0;
	}
	return rc;
}

int
session_turn(struct session *s, int in_fd, int timeout_ms, bool *ret_in_ready,
    struct err *err)
{
	bool has_out = s->out_len > s->out_at;
	struct pollfd p[] = {
		{ .fd = s->fd,
		    .events = (short)(POLLIN | (has_out ? POLLOUT : 0)) },
		{ .fd = s->signal_fd, .events = POLLIN },
		{ .fd = in_fd, .events = POLLIN },
	};
	int rc = 0;

	if (poll(p, 3, timeout_ms) == -1)
		return errno == EINTR ? 0 : err_os(err, -errno, "poll");
	*ret_in_ready = p[2].revents != 0;
	if (p[0].revents & POLLOUT)
		rc = write_some(s, err);
	if (rc == 0 && (p[0].revents & (POLLIN | POLLHUP | POLLERR)))
		rc = read_some(s, err);
	if (rc == 0 && p[1].revents != 0)
		rc = take_signal(s, err);
	return rc;
}

/* Reads input while the guest has room for it. */
static int
fill(struct session *s, struct err *err)
{
	static uint8_t buf[FILL_BYTES];
	size_t most = s->stream.credit[FRAME_INPUT], len = 0;
	struct wr w;
	int rc;

	if (most > sizeof(buf))
		most = sizeof(buf);
	rc = s->flow->fill(s->flow->arg, buf, most, &len, err);
	if (rc == -EAGAIN)
		return 0;
	if (rc != 0)
		return rc;
	w = session_room(s);
	if (len > 0)
		frame_data_encode(&w, s->stream_id, FRAME_INPUT,
		    (struct span){ buf, len });
	else
		frame_bare_encode(&w, FRAME_EOF, s->stream_id, FRAME_INPUT);
	return session_send(s, &w, err);
}

/* A fill of an archive wants room for a record (archive_write.h). */
#define FILL_MIN_BYTES 8192

static bool
may_fill(const struct session *s)
{
	return !s->stream.eof[FRAME_INPUT] &&
	    frame_stream_has(&s->stream, FRAME_HOST, FRAME_INPUT) &&
	    s->stream.args_left == 0 &&
	    s->stream.credit[FRAME_INPUT] >= FILL_MIN_BYTES &&
	    s->out_len - s->out_at <
	    SESSION_OUT_MAX - FRAME_BYTES_MAX - FILL_MIN_BYTES;
}

static int
end_input(struct session *s, struct err *err)
{
	struct wr w = session_room(s);

	frame_bare_encode(&w, FRAME_EOF, s->stream_id, FRAME_INPUT);
	return session_send(s, &w, err);
}

int
session_flow(struct session *s, const struct session_flow *flow,
    struct err *err)
{
	bool has_fd = flow->in_fd != -1;
	int rc = 0;

	s->flow = flow;
	if (flow->fill == NULL &&
	    frame_stream_has(&s->stream, FRAME_HOST, FRAME_INPUT))
		rc = end_input(s, err);
	while (rc == 0 && !s->is_over) {
		bool wants = flow->fill != NULL && may_fill(s);
		bool is_ready = false;

		rc = session_turn(s, wants ? flow->in_fd : -1,
		    wants && !has_fd ? 0 : -1, &is_ready, err);
		if (rc == 0 && wants && (is_ready || !has_fd) && !s->is_over &&
		    may_fill(s))
			rc = fill(s, err);
	}
	s->flow = NULL;
	return rc;
}

static int
catch_signals(struct session *s)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
		SIGWINCH };
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		(void)sigaddset(&set, caught[i]);
	if (sigprocmask(SIG_BLOCK, &set, &s->signals_before) == -1)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd == -1) {
		int rc = -errno;

		(void)sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
		return rc;
	}
	s->signal_fd = fd;
	return 0;
}

static struct session *
session_new(int fd)
{
	struct session *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		(void)close(fd);
		return NULL;
	}
	s->fd = fd;
	s->signal_fd = -1;
	s->in = malloc(IN_SIZE);
	s->out = malloc(SESSION_OUT_MAX);
	if (s->in == NULL || s->out == NULL || catch_signals(s) != 0) {
		session_close(s);
		return NULL;
	}
	return s;
}

static int
begin(struct session *s, struct err *err)
{
	const struct frame_hello hello = { .version = FRAME_VERSION };
	struct wr w = session_room(s);

	frame_hello_encode(&w, &hello);
	return session_send(s, &w, err);
}

int
session_open(const struct cli *cli, const char *name, struct session **ret)
{
	char path[SANDBOX_NAME_SIZE + 32];
	struct err err = { "out of memory" };
	struct session *s = NULL;
	struct reply reply;
	int rc;

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/session", name);
	rc = call_simply(cli, "POST", path, &reply);
	if (rc != 0)
		return rc;
	if (reply.fd == -1)
		(void)err_at(&err, NULL, 0, "tapwardd sent no session");
	else
		s = session_new(steal_fd(&reply.fd));
	reply_done(&reply);
	if (s == NULL || begin(s, &err) != 0) {
		session_close(s);
		return cli_fail(&err, CLI_FAILED);
	}
	*ret = s;
	return 0;
}

void
session_close(struct session *s)
{
	if (s == NULL)
		return;
	fd_close(&s->fd);
	if (s->signal_fd != -1)
		(void)sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
	fd_close(&s->signal_fd);
	free(s->in);
	free(s->out);
	free(s);
}

int
session_await_ready(struct session *s, session_on_state *on_state, void *arg,
    struct err *err)
{
	bool ignored;
	int rc = 0;

	s->on_state = on_state;
	s->on_state_arg = arg;
	while (rc == 0 && s->state != FRAME_VM_READY) {
		if (s->state == FRAME_VM_ENDED)
			rc = is_ended(s, err);
		else
			rc = session_turn(s, -1, -1, &ignored, err);
	}
	s->on_state = NULL;
	return rc;
}
