/*
 * See command.h.
 */
#include "vmm/agent/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

/* Both ends of what the child gets and what stays here; -1: none. */
struct ends {
	int theirs[3]; /* 0, 1, 2 */
	int report[2]; /* ours, theirs */
};

static void
end(struct command *c, enum frame_end kind, uint32_t value, struct span text)
{
	if (c->is_over)
		return;
	if (text.len > FRAME_TEXT_MAX)
		text.len = FRAME_TEXT_MAX;
	if (text.len > 0)
		memcpy(c->end_text, text.ptr, text.len);
	c->end = (struct frame_exit){ .end = kind,
		.value = value,
		.limit = c->is_short ? FRAME_LIMIT_MEMORY : FRAME_LIMIT_NONE,
		.text = { (const uint8_t *)c->end_text, text.len } };
	c->is_over = true;
}

static void
end_failed(struct command *c, const char *text)
{
	end(c, FRAME_END_FAILED, 0, span_of(text));
}

enum frame_fault
command_new(const struct frame *f, struct command **ret)
{
	struct frame_stream rules;
	const enum frame_fault fault = frame_stream_open(&rules, f);
	struct command *c;
	struct span body;

	*ret = NULL;
	if (fault != FRAME_OK)
		return fault;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return FRAME_OK;
	c->id = f->head.stream;
	c->rules = rules;
	c->in_fd = -1;
	c->report_fd = -1;
	c->out_fds[COMMAND_STDOUT] = -1;
	c->out_fds[COMMAND_STDERR] = -1;
	c->opening = malloc(f->body.len);
	c->args = malloc(rules.args_left + 1u);
	if (c->opening == NULL || c->args == NULL) {
		command_free(c);
		return FRAME_OK;
	}
	memcpy(c->opening, f->body.ptr, f->body.len);
	body = (struct span){ c->opening, f->body.len };
	*ret = c;
	return rules.kind == FRAME_EXEC
	    ? frame_exec_decode(body, &c->request.exec)
	    : frame_copy_decode(body, &c->request.copy);
}

void
command_free(struct command *c)
{
	if (c == NULL)
		return;
	fd_close(&c->in_fd);
	fd_close(&c->report_fd);
	for (size_t i = 0; i < COMMAND_OUTPUTS; i++)
		fd_close(&c->out_fds[i]);
	frame_queue_done(&c->input);
	free(c->opening);
	free(c->args);
	free(c);
}

bool
command_is_whole(const struct command *c)
{
	return c->pid == 0 && !c->is_over && c->rules.args_left == 0;
}

/* A pipe of which our end, 0 or 1, does not block. 0 or -errno. */
static int
make_pipe(unsigned int ours, int *ret_ours, int *ret_theirs)
{
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -errno;
	rc = fd_set_nonblock(fds[ours], true);
	*ret_ours = fds[ours];
	*ret_theirs = fds[1 - ours];
	return rc;
}

/* A terminal: input and output of ours are one, and all three of theirs. */
static int
make_terminal(struct command *c, struct ends *e)
{
	const struct winsize size = { .ws_row = c->request.exec.rows,
		.ws_col = c->request.exec.cols };
	int unlocked = 0, rc;

	c->in_fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->in_fd == -1 || ioctl(c->in_fd, TIOCSPTLCK, &unlocked) == -1)
		return -errno;
	e->theirs[0] =
	    ioctl(c->in_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	c->out_fds[COMMAND_STDOUT] = fcntl(c->in_fd, F_DUPFD_CLOEXEC, 3);
	if (e->theirs[0] == -1 || c->out_fds[COMMAND_STDOUT] == -1 ||
	    (size.ws_row != 0 && ioctl(c->in_fd, TIOCSWINSZ, &size) == -1))
		return -errno;
	e->theirs[1] = e->theirs[0];
	e->theirs[2] = e->theirs[0];
	rc = fd_set_nonblock(c->in_fd, true);
	return rc;
}

static int
make_ends(struct command *c, struct ends *e)
{
	int rc = make_pipe(0, &c->report_fd, &e->report[1]);

	if (rc == 0 && c->rules.tty)
		return make_terminal(c, e);
	if (rc == 0 && frame_stream_has(&c->rules, FRAME_HOST, FRAME_INPUT))
		rc = make_pipe(1, &c->in_fd, &e->theirs[0]);
	if (rc == 0 && frame_stream_has(&c->rules, FRAME_GUEST, FRAME_OUTPUT))
		rc = make_pipe(0, &c->out_fds[COMMAND_STDOUT], &e->theirs[1]);
	if (rc == 0 && frame_stream_has(&c->rules, FRAME_GUEST, FRAME_ERROR))
		rc = make_pipe(0, &c->out_fds[COMMAND_STDERR], &e->theirs[2]);
	return rc;
}

static void
close_theirs(struct ends *e)
{
	if (e->theirs[1] == e->theirs[0])
		e->theirs[1] = -1;
	if (e->theirs[2] == e->theirs[0])
		e->theirs[2] = -1;
	for (size_t i = 0; i < 3; i++)
		fd_close(&e->theirs[i]);
	fd_close(&e->report[1]);
}

/*
 * Strings of args into list, which has room for count and a NULL. False if
 * there are not exactly so many.
 */
static bool
split_args(const struct command *c, char **list, size_t count)
{
	const char *end_of_all = c->args + c->args_len;
	char *at = c->args;

	for (size_t i = 0; i < count; i++) {
		if (at == end_of_all)
			return false;
		list[i] = at;
		at = memchr(at, '\0', (size_t)(end_of_all - at));
		if (at == NULL)
			return false;
		at++;
	}
	return at == end_of_all;
}

/* The child; argv and variables are taken apart already. */
__attribute__((noreturn)) static void
become_child(const struct command *c, struct run *r)
{
	switch (c->rules.kind) {
	case FRAME_PUT:
		run_put(r);
	case FRAME_GET:
		run_get(r);
	default:
		run_command(r);
	}
}

static void
start_process(struct command *c, struct run *r, const struct groups *groups)
{
	struct ends e = { { -1, -1, -1 }, { -1, -1 } };
	AUTO_CLOSE int group_fd = -1;
	const int rc = make_ends(c, &e);

	if (rc != 0) {
		close_theirs(&e);
		end_failed(c, "the agent has no descriptors left");
		return;
	}
	group_fd = group_make(groups, c->id);
	r->in_fd = e.theirs[0];
	r->out_fd = e.theirs[1];
	r->err_fd = e.theirs[2];
	r->report_fd = e.report[1];
	r->group_fd = group_fd;
	c->pid = fork();
	if (c->pid == 0)
		become_child(c, r);
	close_theirs(&e);
	if (c->pid != -1)
		return;
	c->pid = 0;
	end_failed(c, "the guest has no room for another process");
}

void
command_start(struct command *c, const struct run_defaults *defaults,
    const struct groups *groups)
{
	const struct frame_exec *exec = &c->request.exec;
	const bool is_copy = c->rules.kind != FRAME_EXEC;
	const size_t count = is_copy ? 0 : (size_t)exec->argc + exec->envc;
	/* argv, a NULL, variables, a NULL */
	AUTO_FREE char **list = calloc(count + 2, sizeof(*list));
	struct run r = { .defaults = defaults, .tty = c->rules.tty };

	if (list == NULL) {
		end_failed(c, "the guest has no memory left");
		return;
	}
	if (is_copy) {
		r.user = c->request.copy.user;
		r.path = c->request.copy.path;
		r.merge = (c->request.copy.flags & FRAME_COPY_MERGE) != 0;
	} else if (!split_args(c, list, count)) {
		end_failed(c, "not as many arguments as were said");
		return;
	} else {
		memmove(list + exec->argc + 1, list + exec->argc,
		    exec->envc * sizeof(*list));
		list[exec->argc] = NULL;
		r.user = exec->user;
		r.cwd = exec->cwd;
		r.argv = list;
		r.vars = list + exec->argc + 1;
		r.var_count = exec->envc;
	}
	start_process(c, &r, groups);
}

static void
reset(struct command *c, const struct groups *groups)
{
	if (c->pid == 0) {
		end_failed(c, "it was reset");
		return;
	}
	/* a copy to here ends by itself, and removes what is not complete */
	if (c->rules.kind != FRAME_PUT || c->in_fd == -1)
		group_kill(groups, c->id, c->is_reaped ? 0 : c->pid);
	command_drop_input(c);
	for (size_t i = 0; i < COMMAND_OUTPUTS; i++)
		fd_close(&c->out_fds[i]);
}

static void
take_data(struct command *c, const struct frame *f, const struct groups *groups)
{
	if (f->head.channel == FRAME_ARGS) {
		memcpy(c->args + c->args_len, f->body.ptr, f->body.len);
		c->args_len += f->body.len;
		return;
	}
	/* not given back: the host stops when its window is used up */
	if (c->pid != 0 && c->in_fd == -1)
		return;
	if (frame_queue_append(&c->input, f->body) == 0)
		return;
	end_failed(c, "the guest has no memory left");
	reset(c, groups);
}

static void
resize(const struct command *c, const struct frame *f)
{
	uint16_t rows, cols;
	struct winsize size;

	if (frame_resize_decode(f->body, &rows, &cols) != FRAME_OK)
		return;
	size = (struct winsize){ .ws_row = rows, .ws_col = cols };
	/* before it has started, or after: of no use, and no harm */
	(void)ioctl(c->out_fds[COMMAND_STDOUT], TIOCSWINSZ, &size);
}

static void
take_eof(struct command *c)
{
	static const uint8_t end_of_file = 4; /* VEOF of a new terminal */

	if (c->rules.tty)
		(void)frame_queue_append(&c->input,
		    (struct span){ &end_of_file, 1 });
	else
		c->input_ends = true;
	if (c->input_ends && c->input.len == 0)
		fd_close(&c->in_fd);
}

void
command_take(struct command *c, const struct frame *f,
    const struct groups *groups)
{
	uint8_t number;

	switch (f->head.type) {
	case FRAME_DATA:
		take_data(c, f, groups);
		break;
	case FRAME_EOF:
		take_eof(c);
		break;
	case FRAME_SIGNAL:
		if (c->pid != 0 && !c->is_reaped &&
		    frame_signal_decode(f->body, &number) == FRAME_OK)
			(void)kill(-c->pid, number);
		break;
	case FRAME_RESIZE:
		resize(c, f);
		break;
	case FRAME_RESET:
		reset(c, groups);
		break;
	default: /* WINDOW_ADD: the rules have it */
		break;
	}
}

void
command_drop_input(struct command *c)
{
	frame_queue_done(&c->input);
	fd_close(&c->in_fd);
}

void
command_write_input(struct command *c)
{
	const uint32_t sent = FRAME_WINDOW - c->rules.credit[FRAME_INPUT];
	const struct span s = frame_queue_span(&c->input);
	ssize_t n;

	if (s.len == 0)
		return;
	n = write(c->in_fd, s.ptr, s.len);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == -1) {
		command_drop_input(c);
		return;
	}
	frame_queue_consume(&c->input, (size_t)n);
	c->give_back += (uint32_t)n;
	/* the end of file of a terminal is a byte that the host never sent */
	if (c->give_back > sent)
		c->give_back = sent;
	if (c->input.len == 0 && c->input_ends)
		fd_close(&c->in_fd);
}

void
command_read_report(struct command *c)
{
	const ssize_t n = read(c->report_fd, c->report + c->report_len,
	    sizeof(c->report) - c->report_len);

	if (n > 0) {
		c->report_len += (size_t)n;
		return;
	}
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	fd_close(&c->report_fd);
	if (c->rules.kind == FRAME_EXEC && c->report_len == 0) {
		c->is_running = true;
		c->start_due = true;
	}
}

ssize_t
command_read_output(struct command *c, enum command_output i, uint8_t *buf,
    size_t size)
{
	struct pollfd pfd = { .fd = c->out_fds[i], .events = POLLIN };
	ssize_t n;

	/* poll() moves on what a terminal still has in its own buffers */
	if (poll(&pfd, 1, 0) != 1)
		return -EAGAIN;
	n = read(c->out_fds[i], buf, size);
	if (n > 0)
		return n;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	/* the end of a pipe, and EIO of a terminal that nobody has open */
	fd_close(&c->out_fds[i]);
	c->eof_due[i] = true;
	return 0;
}

bool
command_has_outputs(const struct command *c)
{
	return c->out_fds[COMMAND_STDOUT] != -1 ||
	    c->out_fds[COMMAND_STDERR] != -1;
}

void
command_reap(struct command *c, int status, const struct groups *groups)
{
	c->is_reaped = true;
	c->status = status;
	c->is_short = group_is_short(groups, c->id);
}

static void
settle_report(struct command *c)
{
	enum frame_end kind = (enum frame_end)c->report[0];

	if (kind < FRAME_END_CODE || kind > FRAME_END_FAILED)
		kind = FRAME_END_FAILED;
	end(c, kind, 0, (struct span){ c->report + 1, c->report_len - 1 });
}

void
command_settle(struct command *c)
{
	const int status = c->status;

	if (c->report_len > 0)
		settle_report(c);
	else if (c->rules.kind == FRAME_EXEC && WIFSIGNALED(status))
		end(c, FRAME_END_SIGNAL, (uint32_t)WTERMSIG(status),
		    (struct span){ NULL, 0 });
	else if (c->rules.kind == FRAME_EXEC || status == 0)
		end(c, FRAME_END_CODE, (uint32_t)WEXITSTATUS(status),
		    (struct span){ NULL, 0 });
	else
		end_failed(c,
		    c->is_short ? "the guest's memory is used up"
				: "the copy was ended");
}
