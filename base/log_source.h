/*
 * A file of the audit log, read from its start piece by piece: as it was
 * written, or compressed by gzip since. What a piece may hold is the caller's
 * buffer, whatever a compressed one would become.
 */
#ifndef TAPWARD_BASE_LOG_SOURCE_H
#define TAPWARD_BASE_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct log_unpack;

struct log_source {
	int fd; /* -1: none */
	off_t offset;
	bool is_stream; /* a pipe, which is never taken for compressed */
	struct log_unpack *unpack; /* NULL: it is as it was written */
};

/*
 * Takes fd, and moves no offset of a file, which others may share. 0, or
 * -ENOMEM; s is fit for log_source_done() in either case.
 */
int log_source_init(struct log_source *s, int fd);
void log_source_done(struct log_source *s);
/*
 * At most size bytes: how many, 0 at the end (of a file that grows: for now),
 * -EBADMSG for a compressed one that is damaged or cut, or another -errno.
 */
ssize_t log_source_read(struct log_source *s, void *buf, size_t size);

#endif
