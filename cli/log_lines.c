/* See log_lines.h. */
#include "cli/log_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log_source.h"
#include "cli/cli.h"

struct lines {
	struct log_source source;
	log_lines_take *take;
	void *arg;
	size_t have;                 /* of the line that has not ended */
	char buf[LOG_LINES_MAX + 1]; /* and a NUL */
};

/* Hands out whole lines; 0 or what take said. */
static int
take_whole(struct lines *l)
{
	char *at = l->buf, *newline;
	size_t left = l->have;
	int rc = 0;

	while (rc == 0 && (newline = memchr(at, '\n', left)) != NULL) {
		*newline = '\0';
		rc = l->take(at, (size_t)(newline - at), l->arg);
		left -= (size_t)(newline - at) + 1;
		at = newline + 1;
	}
	memmove(l->buf, at, left);
	l->have = left;
	return rc;
}

static const char *
fault_text(ssize_t rc)
{
	return rc == -EBADMSG ? "compressed, and damaged or cut"
			      : strerror((int)-rc);
}

static int
read_all(struct lines *l, const char *path)
{
	int rc = 0;

	while (rc == 0) {
		const ssize_t n = log_source_read(&l->source, l->buf + l->have,
		    LOG_LINES_MAX - l->have);

		if (n == 0)
			break;
		if (n < 0) {
			(void)fprintf(stderr, "tapward: %s: %s\n", path,
			    fault_text(n));
			return CLI_FAILED;
		}
		l->have += (size_t)n;
		rc = take_whole(l);
		if (rc == 0 && l->have == LOG_LINES_MAX) {
			(void)fprintf(stderr,
			    "tapward: %s: a line is longer than any of the "
			    "audit log\n",
			    path);
			return CLI_FAILED;
		}
	}
	if (rc != 0 || l->have == 0)
		return rc;
	l->buf[l->have] = '\0';
	return l->take(l->buf, l->have, l->arg);
}

int
log_lines_read(const char *path, log_lines_take *take, void *arg)
{
	const int fd = strcmp(path, "-") == 0
	    ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
	    : open(path, O_RDONLY | O_CLOEXEC);
	struct lines *l = fd == -1 ? NULL : calloc(1, sizeof(*l));
	int rc = CLI_FAILED;

	if (fd == -1 || l == NULL) {
		(void)fprintf(stderr, "tapward: %s: %s\n", path,
		    strerror(errno));
		if (fd != -1)
			(void)close(fd);
		return rc;
	}
	l->take = take;
	l->arg = arg;
	if (log_source_init(&l->source, fd) == 0)
		rc = read_all(l, path);
	else
		(void)fprintf(stderr, "tapward: %s: no memory\n", path);
	log_source_done(&l->source);
	free(l);
	return rc;
}
