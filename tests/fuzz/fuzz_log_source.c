/*
 * A file of the log, compressed or not: read in small pieces it is what it is
 * in large ones, and it ends or fails in the same way.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_MAX 65536

/* What comes until TEXT_MAX, the end or a fault, which *ret_end is. */
static size_t
read_in(int fd, size_t piece, uint8_t *buf, ssize_t *ret_end)
{
	struct log_source s;
	size_t len = 0;

	*ret_end = log_source_init(&s, dup(fd));
	while (*ret_end >= 0 && len < TEXT_MAX) {
		const size_t room = TEXT_MAX - len;

		*ret_end =
		    log_source_read(&s, buf + len, piece < room ? piece : room);
		if (*ret_end <= 0)
			break;
		if ((size_t)*ret_end > piece)
			abort();
		len += (size_t)*ret_end;
	}
	log_source_done(&s);
	return len;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t few[TEXT_MAX], many[TEXT_MAX];
	const int fd = memfd_create("log", MFD_CLOEXEC);
	size_t few_len, many_len;
	ssize_t few_end, many_end;

	if (fd == -1 || write(fd, data, size) != (ssize_t)size)
		abort();
	few_len = read_in(fd, 61, few, &few_end);
	many_len = read_in(fd, TEXT_MAX, many, &many_end);
	(void)close(fd);
	/* A fault behind what there is room for is seen by one of them alone.
	 */
	if (few_len == TEXT_MAX || many_len == TEXT_MAX)
		return 0;
	/* What came before a fault is not promised, only that it is told. */
	if ((few_end < 0) != (many_end < 0))
		abort();
	if (few_end == 0 &&
	    (few_len != many_len || memcmp(few, many, few_len) != 0))
		abort();
	return 0;
}
