/*
 * Makes the files of an archive stream (archive.h), whoever wrote it.
 *
 * Nothing is made or changed but `name` in the directory that was given, and
 * what lies below it: each name is one component, used with the descriptor of
 * the directory it belongs to, and no link is followed, those of the archive no
 * more than those that were there.
 */
#ifndef TAPWARD_VMM_ARCHIVE_READ_H
#define TAPWARD_VMM_ARCHIVE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/err.h"
#include "vmm/archive_write.h"

struct archive_reader;

/* What to do with a link that leads out of the root (archive_target_leaves). */
enum archive_links {
	ARCHIVE_LINKS_REFUSE, /* the archive is an error */
	ARCHIVE_LINKS_SKIP,   /* it is not made, but counted and told */
	ARCHIVE_LINKS_ANY,    /* it is made: for a reader that trusts */
};

/*
 * Zeroed denies: nothing may exist, no link may leave, and no entry and no
 * byte is allowed.
 */
struct archive_limits {
	uint64_t entries_max;
	uint64_t bytes_max; /* of files' data, by what the entries say */
	enum archive_links links;
	/*
	 * `name` may exist: directories are entered, files and links are
	 * replaced by new ones. Never a directory by a file, nor the reverse.
	 */
	bool merge;
	bool has_owner; /* what is made is given to uid and gid */
	uid_t uid;
	gid_t gid;
};

/* A link was left out (ARCHIVE_LINKS_SKIP); path is relative to the root. */
typedef void archive_skipped(const char *path, struct span target, void *arg);

/*
 * dir_fd is borrowed for the life of the reader; name is one component.
 * limits is copied. on_skipped may be NULL. 0, -EINVAL for a name that is
 * none, or -ENOMEM.
 */
int archive_reader_new(int dir_fd, const char *name,
    const struct archive_limits *limits, archive_skipped *on_skipped, void *arg,
    struct archive_reader **ret);
/*
 * An incomplete file, if there is one, is removed; what was complete stays.
 */
void archive_reader_free(struct archive_reader *r);

/*
 * Takes all of in. 0, or a -errno with err set to the path and what is wrong:
 * -EBADMSG for bytes that are no archive, -EEXIST, -EFBIG over a limit, ELOOP
 * and -ENOTDIR for what is there already, -ENOSPC, and so on. It is then of no
 * more use.
 */
int archive_reader_feed(struct archive_reader *r, struct span in,
    struct err *err);
/* No more will come. 0 if all was there; else as above. */
int archive_reader_end(struct archive_reader *r, struct err *err);
/* So far; borrows. */
const struct archive_totals *archive_reader_totals(
    const struct archive_reader *r);

#endif
