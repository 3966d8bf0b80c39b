/*
 * Walks a file or a directory and gives it as an archive stream (archive.h),
 * in pieces as large as there is room for. Blocks on the disk only.
 *
 * Never follows a link below the root, and stays on what it opened by
 * descriptors: a tree that changes meanwhile gives an older or a newer state of
 * each file, or an error, and nothing outside of it. What is no file, directory
 * or link is left out and counted; a file that shrinks while it is read is an
 * error, since its size has been said.
 */
#ifndef TAPWARD_VMM_ARCHIVE_WRITE_H
#define TAPWARD_VMM_ARCHIVE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct archive_writer;
struct stat;

/*
 * Whether the entry at path (relative to the root, "a/b"; no NUL inside) goes
 * into the archive; all below a directory that does not goes neither. Not asked
 * for the root. st is what fstatat() says without following a link.
 */
typedef bool archive_filter(const char *path, const struct stat *st, void *arg);

struct archive_totals {
	uint64_t entries; /* files, directories and links, the root included */
	uint64_t bytes;   /* of files' data */
	uint64_t skipped; /* sockets, devices, FIFOs; or links that leave */
};

/*
 * Takes fd, open for reading: a directory or a regular file; else -EINVAL.
 * filter may be NULL. 0 or -errno; on an error fd is closed too.
 */
int archive_writer_new(int fd, archive_filter *filter, void *arg,
    struct archive_writer **ret);
void archive_writer_free(struct archive_writer *w);

/*
 * Up to size bytes into buf, at least 1 unless all is done: *ret_len 0 says
 * that. size is at least 8192. 0, or a -errno with err set to the path and
 * what is wrong; it is then of no more use.
 */
int archive_writer_fill(struct archive_writer *w, uint8_t *buf, size_t size,
    size_t *ret_len, struct err *err);
/* So far; borrows. */
const struct archive_totals *archive_writer_totals(
    const struct archive_writer *w);

#endif
