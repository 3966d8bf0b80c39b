/* Commands: see session.h. */
#include "cli/session_private.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

/* Local ends of a command, and our terminal as it was. */
struct running {
	struct session *s;
	const struct session_command *c;
	struct termios before;
	bool is_raw;
};

static int
fill(void *arg, uint8_t *buf, size_t size, size_t *ret_len, struct err *err)
{
	const struct running *r = arg;
	ssize_t n = read(r->c->in_fd, buf, size);

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return -EAGAIN;
	/* A terminal that hung up has nothing more to say. */
	if (n == -1 && errno != EIO)
		return err_os(err, -errno, "standard input");
	*ret_len = n > 0 ? (size_t)n : 0;
	return 0;
}

/*
 * All of it. Who reads it may never do so: signals are heard all the while, and
 * what poll(2) found room for does not block (pipe(7)).
 */
static int
take(void *arg, uint8_t channel, struct span data, struct err *err)
{
	const struct running *r = arg;
	bool is_out = channel == FRAME_OUTPUT;
	int fd = is_out ? r->c->out_fd : r->c->err_fd;

	while (data.len > 0) {
		int rc = session_await_room(r->s, fd, err);
		ssize_t n;

		if (rc != 0)
			return rc;
		n = write(fd, data.ptr,
		    data.len < PIPE_BUF ? data.len : PIPE_BUF);
		if (n == -1 && errno != EINTR && errno != EAGAIN)
			return err_os(err, -errno,
			    is_out ? "standard output" : "standard error");
		if (n > 0) {
			data.ptr += n;
			data.len -= (size_t)n;
		}
	}
	return 0;
}

static void
size_of_terminal(uint16_t *ret_rows, uint16_t *ret_cols)
{
	struct winsize size = { 0 };

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == -1)
		(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*ret_rows = size.ws_row;
	*ret_cols = size.ws_col;
}

static int
on_signal(struct session *s, int signo, void *arg)
{
	const struct running *r = arg;
	struct wr w = session_room(s);
	struct err err;
	uint16_t rows, cols;

	if (signo == SIGWINCH) {
		if (!r->c->has_tty)
			return 0;
		size_of_terminal(&rows, &cols);
		frame_resize_encode(&w, s->stream_id, rows, cols);
		return session_send(s, &w, &err);
	}
	if (r->c->ends_on_signal)
		return -EINTR;
	/* One that does not listen is not waited for. */
	if (s->interrupts > 1)
		return -EINTR;
	frame_signal_encode(&w, s->stream_id, (uint8_t)signo);
	return session_send(s, &w, &err);
}

static size_t
count(const char *const *list, size_t *ret_bytes)
{
	size_t n = 0;

	for (; list != NULL && list[n] != NULL; n++)
		*ret_bytes += strlen(list[n]) + 1;
	return n;
}

/* A frame at a time; what is full is written out before it goes on. */
struct args_writer {
	struct session *s;
	uint8_t buf[8192];
	size_t len;
};

static int
flush(struct args_writer *a, struct err *err)
{
	struct wr w;
	int rc = 0;
	bool ignored;

	while (rc == 0 &&
	    SESSION_OUT_MAX - (a->s->out_len - a->s->out_at) <
		FRAME_HEAD_BYTES + sizeof(a->buf))
		rc = session_turn(a->s, -1, -1, &ignored, err);
	if (rc != 0 || a->len == 0)
		return rc;
	w = session_room(a->s);
	frame_data_encode(&w, a->s->stream_id, FRAME_ARGS,
	    (struct span){ a->buf, a->len });
	a->len = 0;
	return session_send(a->s, &w, err);
}

static int
put_args(struct args_writer *a, const char *const *list, struct err *err)
{
	int rc = 0;

	for (; rc == 0 && list != NULL && *list != NULL; list++) {
		const char *from = *list;
		size_t left = strlen(from) + 1;

		while (rc == 0 && left > 0) {
			size_t n = sizeof(a->buf) - a->len;

			if (n > left)
				n = left;
			memcpy(a->buf + a->len, from, n);
			a->len += n;
			from += n;
			left -= n;
			if (a->len == sizeof(a->buf))
				rc = flush(a, err);
		}
	}
	return rc;
}

static int
ask(struct session *s, const struct session_command *c, struct err *err)
{
	struct args_writer a = { .s = s };
	struct frame_exec m = {
		.flags = c->has_tty ? FRAME_EXEC_TTY : 0,
		.timeout_ms = c->timeout_ms,
		.output_max = c->output_max,
		.cwd = span_of(c->cwd == NULL ? "" : c->cwd),
		.user = span_of(c->user == NULL ? "" : c->user),
	};
	size_t bytes = 0, argc = count(c->argv, &bytes);
	size_t envc = count(c->env, &bytes);
	struct wr w = session_room(s);
	int rc;

	if (bytes > FRAME_ARGS_MAX_BYTES ||
	    argc + envc > FRAME_ARGS_MAX_COUNT) {
		(void)err_at(err, NULL, 0,
		    "the command and its environment are longer than %d "
		    "bytes; bring long input in a file",
		    FRAME_ARGS_MAX_BYTES);
		return -E2BIG;
	}
	m.argc = (uint16_t)argc;
	m.envc = (uint16_t)envc;
	m.args_bytes = (uint32_t)bytes;
	if (c->has_tty)
		size_of_terminal(&m.rows, &m.cols);
	s->stream_id++;
	frame_exec_encode(&w, s->stream_id, &m);
	rc = session_send(s, &w, err);
	if (rc == 0)
		rc = put_args(&a, c->argv, err);
	if (rc == 0)
		rc = put_args(&a, c->env, err);
	return rc == 0 ? flush(&a, err) : rc;
}

static void
make_raw(struct running *r)
{
	struct termios raw;

	if (!r->c->has_tty || tcgetattr(STDIN_FILENO, &r->before) == -1)
		return;
	raw = r->before;
	cfmakeraw(&raw);
	r->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

int
session_run(struct session *s, const struct session_command *c,
    struct session_end *ret, struct err *err)
{
	struct running r = { .s = s, .c = c };
	const struct session_flow flow = {
		.in_fd = c->in_fd,
		.fill = c->in_fd == -1 ? NULL : fill,
		.take = take,
		.on_signal = on_signal,
		.arg = &r,
	};
	int rc;

	s->is_over = false;
	s->interrupts = 0;
	rc = ask(s, c, err);
	if (rc != 0)
		return rc;
	make_raw(&r);
	rc = session_flow(s, &flow, err);
	if (r.is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &r.before);
	if (rc == 0)
		*ret = s->end;
	return rc;
}

int
session_status(const struct session_end *end)
{
	switch (end->limit) {
	case FRAME_LIMIT_TIMEOUT:
		return 124;
	case FRAME_LIMIT_OUTPUT:
	case FRAME_LIMIT_DURATION:
		return 125;
	case FRAME_LIMIT_NONE:
	case FRAME_LIMIT_MEMORY:
		break;
	}
	switch (end->end) {
	case FRAME_END_CODE:
		return (int)end->value;
	case FRAME_END_SIGNAL:
		return 128 + (int)(end->value & 127);
	case FRAME_END_NOT_FOUND:
		return 127;
	case FRAME_END_NOT_RUN:
		return 126;
	case FRAME_END_FAILED:
		break;
	}
	return 125;
}
