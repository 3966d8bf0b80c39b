/*
 * Signals come by a descriptor, so that none of them finds the terminal half
 * changed. ECMA-48 and what xterm and all after it understand; ncurses would
 * be a library and a database for six sequences.
 */
#include "cli/top_terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"

/* The other screen, no cursor, no wrapping; and back. */
#define ENTER "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
#define LEAVE "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP,
	SIGCONT, SIGWINCH };

bool
top_terminal_is_fit(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 &&
	    term != NULL && *term != '\0' && strcmp(term, "dumb") != 0;
}

bool
top_terminal_write(struct span bytes)
{
	return fd_write_all(STDOUT_FILENO, bytes.ptr, bytes.len) == 0;
}

/* Signals stay: ^C and ^Z are told to us as such. */
static int
enter(struct top_terminal *t)
{
	struct termios raw = t->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == -1)
		return -errno;
	t->is_ours = true;
	(void)top_terminal_write(span_of(ENTER));
	return 0;
}

static void
leave(struct top_terminal *t)
{
	if (!t->is_ours)
		return;
	t->is_ours = false;
	(void)top_terminal_write(span_of(LEAVE));
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
}

static sigset_t
watched_set(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		(void)sigaddset(&set, watched[i]);
	return set;
}

int
top_terminal_open(struct top_terminal *t)
{
	sigset_t set = watched_set();
	int rc;

	*t = (struct top_terminal){ .signals = -1 };
	if (tcgetattr(STDIN_FILENO, &t->before) == -1 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) == -1)
		return -errno;
	t->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	rc = t->signals == -1 ? -errno : enter(t);
	if (rc != 0)
		top_terminal_close(t);
	return rc;
}

void
top_terminal_close(struct top_terminal *t)
{
	sigset_t set = watched_set();

	leave(t);
	fd_close(&t->signals);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void
top_terminal_size(unsigned int *ret_width, unsigned int *ret_height)
{
	struct winsize size = { 0 };

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	*ret_width = size.ws_col == 0 ? 80 : size.ws_col;
	*ret_height = size.ws_row == 0 ? 24 : size.ws_row;
}

/* Stops here, with the terminal as it was, until somebody goes on with us. */
static void
stop(struct top_terminal *t)
{
	leave(t);
	(void)raise(SIGSTOP);
}

static enum top_event
take_signal(struct top_terminal *t, int *ret_signal)
{
	struct signalfd_siginfo info;

	if (read(t->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return TOP_EVENT_REDRAW;
	switch ((int)info.ssi_signo) {
	case SIGTSTP:
		stop(t);
		return TOP_EVENT_REDRAW;
	case SIGCONT:
		*ret_signal = 0;
		return enter(t) == 0 ? TOP_EVENT_REDRAW : TOP_EVENT_END;
	case SIGWINCH:
		return TOP_EVENT_REDRAW;
	default:
		*ret_signal = (int)info.ssi_signo;
		return TOP_EVENT_END;
	}
}

static enum top_event
take_input(uint8_t *buf, size_t size, size_t *ret_len)
{
	ssize_t n = read(STDIN_FILENO, buf, size);

	if (n == -1 && (errno == EINTR || errno == EAGAIN))
		return TOP_EVENT_REDRAW;
	if (n <= 0)
		return TOP_EVENT_END;
	*ret_len = (size_t)n;
	return TOP_EVENT_INPUT;
}

enum top_event
top_terminal_wait(struct top_terminal *t, int ms, uint8_t *buf, size_t size,
    size_t *ret_len, int *ret_signal)
{
	struct pollfd fds[] = {
		{ .fd = t->signals, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};
	int n = poll(fds, 2, ms);

	*ret_signal = 0;
	if (n == 0)
		return TOP_EVENT_TIME;
	if (n == -1)
		return errno == EINTR ? TOP_EVENT_REDRAW : TOP_EVENT_END;
	if (fds[0].revents != 0)
		return take_signal(t, ret_signal);
	return take_input(buf, size, ret_len);
}
