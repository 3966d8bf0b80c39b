/*
 * Whatever a log ends with, the line that the recorder goes on with fits: the
 * checker takes the last line and then that one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/audit_verify.h"
#include "daemon/recorder_line.h"
#include "daemon/recorder_tail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t next[RECORDER_LINE_MAX];

static struct span
line_after(const struct recorder_tail *tail)
{
	static const struct message_recorder_sandbox about = { .sandbox = "" };
	struct audit_record record = audit_record_init(AUDIT_LIFECYCLE);
	struct recorder_line line = { .about = &about };
	struct wr w = wr_init(next, sizeof(next));

	line.head.seq = tail->seq + 1;
	memcpy(line.head.prev, tail->prev, sizeof(line.head.prev));
	record.detail = span_of(tail->is_torn ? AUDIT_DETAIL_TORN : "started");
	recorder_line_write(&w, &line, &record);
	if (!wr_ok(&w))
		abort();
	return (struct span){ next, w.len };
}

/* The last line, without the newline that may end it. */
static struct span
last_line(const uint8_t *data, size_t size)
{
	size_t end = data[size - 1] == '\n' ? size - 1 : size;
	size_t start = end;

	while (start > 0 && data[start - 1] != '\n')
		start--;
	return (struct span){ data + start, end - start };
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct recorder_tail tail;
	struct audit_verify v;
	struct span last;

	if (size == 0 ||
	    recorder_tail_parse((struct span){ data, size }, true, &tail) != 0)
		return 0;
	if (tail.seq == UINT64_MAX)
		return 0;
	last = last_line(data, size);
	audit_verify_init(&v);
	/* A whole line with number 1 that starts no chain is a fault. */
	if (audit_verify_line(&v, last) != AUDIT_VERIFY_OK)
		return 0;
	/* A cut one says nothing of its number; those before it do. */
	if (tail.is_torn)
		v.seq = tail.seq;
	if (audit_verify_line(&v, line_after(&tail)) != AUDIT_VERIFY_OK)
		abort();
	return 0;
}
