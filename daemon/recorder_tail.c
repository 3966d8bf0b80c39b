/*
 * Reads the end of an audit log. What stands there may have been cut by a
 * crash or a full disk, or be somebody else's text.
 */
#include "daemon/recorder_tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/recorder_line.h"

/* Holds a cut line and the whole one before it. */
#define TAIL_BYTES ((size_t)4 * RECORDER_LINE_MAX)

/* The line that ends before end: from after the newline before it. */
static struct span
line_before(struct span text, size_t end)
{
	const uint8_t *newline = memrchr(text.ptr, '\n', end);
	size_t start = newline == NULL ? 0 : (size_t)(newline - text.ptr) + 1;

	return (struct span){ text.ptr + start, end - start };
}

/* The number of the last whole line up to end; 0 if there is none. */
static uint64_t
find_seq(struct span text, size_t end)
{
	struct audit_line_head head;

	for (;;) {
		struct span line = line_before(text, end);

		if (audit_line_read(line, &head))
			return head.seq;
		if (line.ptr == text.ptr)
			return 0;
		end = (size_t)(line.ptr - text.ptr) - 1;
	}
}

int
recorder_tail_parse(struct span tail, bool is_start, struct recorder_tail *ret)
{
	struct recorder_tail t = { .prev = AUDIT_GENESIS };
	struct audit_line_head head;
	struct span last;
	size_t end = tail.len;

	if (tail.len == 0) {
		*ret = t;
		return 0;
	}
	t.needs_newline = tail.ptr[tail.len - 1] != '\n';
	if (!t.needs_newline)
		end--;
	last = line_before(tail, end);
	/* A line longer than any of ours: its start is out of sight. */
	if (last.ptr == tail.ptr && !is_start)
		return -EFBIG;
	t.is_torn = !audit_line_read(last, &head);
	if (!t.is_torn)
		t.seq = head.seq;
	else if (last.ptr != tail.ptr)
		t.seq = find_seq(tail, (size_t)(last.ptr - tail.ptr) - 1);
	if (audit_line_hash(last, t.prev) != 0)
		return -EIO;
	*ret = t;
	return 0;
}

int
recorder_tail_read(int fd, struct recorder_tail *ret)
{
	AUTO_FREE uint8_t *buf = malloc(TAIL_BYTES);
	struct stat st;
	off_t from;
	ssize_t n;

	if (buf == NULL)
		return -ENOMEM;
	if (fstat(fd, &st) == -1)
		return -errno;
	from =
	    st.st_size > (off_t)TAIL_BYTES ? st.st_size - (off_t)TAIL_BYTES : 0;
	n = pread(fd, buf, TAIL_BYTES, from);
	if (n == -1)
		return -errno;
	return recorder_tail_parse((struct span){ buf, (size_t)n }, from == 0,
	    ret);
}
