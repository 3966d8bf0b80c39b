/*
 * The log, see log.h. Every line is one write(2), so that the lines of several
 * processes on one descriptor do not mix, and log_at() makes no other system
 * call: it works after confine_seal().
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longest line; a pipe takes up to PIPE_BUF (4096) in one piece. */
#define LINE_MAX_BYTES 4096
#define EXIT_SOFTWARE 70

static const struct {
	const char *name;
	int syslog; /* sd-daemon(3) */
} levels[] = {
	[LOG_LEVEL_ERR] = { "err", 3 },
	[LOG_LEVEL_WARN] = { "warn", 4 },
	[LOG_LEVEL_INFO] = { "info", 6 },
	[LOG_LEVEL_DEBUG] = { "debug", 7 },
};

static const char *log_program = "tapward";
static enum log_level log_max = LOG_LEVEL_INFO;
static bool log_has_journal;
static log_watch_fn *log_watcher;

void
log_init(const char *program, enum log_level max)
{
	struct stat st;

	log_program = program;
	log_max = max;
	/*
	 * The journal is a stream socket. $JOURNAL_STREAM would tell for sure,
	 * but our children get an empty environment.
	 */
	log_has_journal =
	    fstat(STDERR_FILENO, &st) == 0 && S_ISSOCK(st.st_mode);
}

void
log_watch(log_watch_fn *fn)
{
	log_watcher = fn;
}

enum log_level
log_level_from_env(void)
{
	const char *name = getenv("TAPWARD_LOG");

	for (int i = LOG_LEVEL_ERR; name != NULL && i <= LOG_LEVEL_DEBUG; i++)
		if (strcmp(name, levels[i].name) == 0)
			return (enum log_level)i;
	return LOG_LEVEL_INFO;
}

const char *
log_program_name(void)
{
	return log_program;
}

int
log_level_syslog(enum log_level level)
{
	return levels[level].syslog;
}

bool
log_is_wanted(enum log_level level)
{
	return level <= log_max;
}

/* One line whatever the message held, and printable ASCII. */
static void
make_printable(char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (s[i] < 0x20 || s[i] > 0x7e)
			s[i] = '?';
}

static void
write_line(char *line, size_t len)
{
	ssize_t n;

	make_printable(line, len);
	line[len] = '\n';
	do
		n = write(STDERR_FILENO, line, len + 1);
	while (n == -1 && errno == EINTR);
	/* There is nobody to tell when the log itself cannot be written. */
}

__attribute__((format(printf, 3, 0))) static void
log_v(enum log_level level, const char *area, const char *fmt, va_list ap)
{
	char line[LINE_MAX_BYTES + 1];
	struct wr w = wr_init(line, LINE_MAX_BYTES);
	size_t left, start;
	int n;

	if (log_has_journal)
		wr_fmt(&w, "<%d>", levels[level].syslog);
	wr_fmt(&w, "%s: ", log_program);
	start = w.len;
	wr_fmt(&w, "%s %s ", levels[level].name, area);
	left = w.size - w.len;
	n = vsnprintf(line + w.len, left, fmt, ap);
	if (n < 0)
		return;
	if ((size_t)n >= left) { /* cut, and it shows */
		w.len = w.size;
		memset(line + w.len - 3, '.', 3);
	} else {
		w.len += (size_t)n;
	}
	write_line(line, w.len);
	if (log_watcher != NULL && level <= LOG_LEVEL_WARN)
		log_watcher(line + start, w.len - start);
}

void
log_show(enum log_level level, const char *text)
{
	char line[LINE_MAX_BYTES + 1];
	struct wr w = wr_init(line, sizeof(line));

	if (log_watcher == NULL || level > LOG_LEVEL_WARN)
		return;
	wr_fmt(&w, "%s %s", levels[level].name, text);
	make_printable(line, w.len);
	log_watcher(line, w.len);
}

void
log_at(enum log_level level, const char *area, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (level > log_max)
		return;
	va_start(ap, fmt);
	log_v(level, area, fmt, ap);
	va_end(ap);
	errno = saved;
}

void
die(const char *area, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_v(LOG_LEVEL_ERR, area, fmt, ap);
	va_end(ap);
	/* Not exit(): a handler would run in the state that we die of. */
	_exit(EXIT_SOFTWARE);
}

/* One byte of a quoted text; returns its length, 1 or 4. */
static size_t
quote_byte(uint8_t c, char ret[4])
{
	static const char digits[] = "0123456789abcdef";

	if (c >= 0x20 && c <= 0x7e && c != '"' && c != '\\') {
		ret[0] = (char)c;
		return 1;
	}
	ret[0] = '\\';
	ret[1] = 'x';
	ret[2] = digits[c >> 4];
	ret[3] = digits[c & 15];
	return 4;
}

/* How many bytes of s fit into room bytes once they are quoted. */
static size_t
quote_fit(struct span s, size_t room)
{
	char one[4];
	size_t n = 0, used = 0;

	for (; n < s.len; n++) {
		used += quote_byte(s.ptr[n], one);
		if (used > room)
			break;
	}
	return n;
}

const char *
log_quote(char *buf, size_t size, struct span s)
{
	static const char cut[] = "...";
	struct wr w = wr_init(buf, size);
	char one[4];
	size_t n;

	if (size < sizeof("\"...\"")) {
		if (size > 0)
			buf[0] = '\0';
		return buf;
	}
	n = quote_fit(s, size - sizeof("\"\""));
	if (n < s.len)
		n = quote_fit(s, size - sizeof("\"...\""));
	wr_u8(&w, '"');
	for (size_t i = 0; i < n; i++)
		wr_bytes(&w, one, quote_byte(s.ptr[i], one));
	wr_text(&w, n < s.len ? cut : "");
	wr_text(&w, "\"");
	wr_u8(&w, '\0');
	return buf;
}
