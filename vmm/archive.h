/*
 * The archive stream of PUT and GET: a file or a directory with all in it, as
 * bytes. Pure; archive_write.h walks a tree into one, archive_read.h makes a
 * tree of one. Both are used by `tapward` and by the guest's agent, and
 * `tapward` believes nothing of what a guest sends.
 *
 * Every name is one component, and a directory is entered and left: there is
 * no path in it that could say "..", start with "/", or go through a link.
 * Files, directories and symbolic links only; permissions without set-user-id,
 * set-group-id and sticky; no owner.
 *
 * u32 magic; then records: u8 type and
 *   DIR   u16 mode, i64 seconds, u32 nanoseconds, str16 name; it is entered
 *   FILE  the same, then u64 size; then size bytes
 *   LINK  i64 seconds, u32 nanoseconds, str16 name, str16 target
 *   UP    the directory that was entered last is left
 *   END   and nothing after it
 * The first is DIR or FILE with an empty name: the root, named by whoever asked
 * for the archive. END follows the root's UP, or the root's data.
 */
#ifndef TAPWARD_VMM_ARCHIVE_H
#define TAPWARD_VMM_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define ARCHIVE_MAGIC 0x54574131u /* "TWA1" */
/* NAME_MAX and PATH_MAX of Linux, without the NUL. */
#define ARCHIVE_NAME_MAX 255
#define ARCHIVE_TARGET_MAX 4095
/*
 * Directories within each other: each costs the reader a descriptor. The
 * deepest node_modules seen had 30.
 */
#define ARCHIVE_DEPTH_MAX 128
/* Of a path in a message: quoted, cut, with room for what is wrong with it. */
#define ARCHIVE_PATH_TEXT_SIZE 400
/* Longest record without a file's data. */
#define ARCHIVE_RECORD_MAX                                                     \
	(1 + 8 + 4 + 2 + ARCHIVE_NAME_MAX + 2 + ARCHIVE_TARGET_MAX)

enum archive_type {
	ARCHIVE_DIR = 1,
	ARCHIVE_FILE,
	ARCHIVE_LINK,
	ARCHIVE_UP,
	ARCHIVE_END,
};

struct archive_entry {
	enum archive_type type;
	uint16_t mode;      /* of DIR and FILE, at most 0777 */
	int64_t mtime_s;    /* of DIR, FILE and LINK */
	uint32_t mtime_ns;  /* below 10^9 */
	uint64_t size;      /* of FILE, bytes; at most INT64_MAX */
	struct span name;   /* of DIR, FILE and LINK; empty: the root */
	struct span target; /* of LINK; not empty, no NUL */
};

/* Writes one record, without a file's data. */
void archive_magic_encode(struct wr *w);
void archive_entry_encode(struct wr *w, const struct archive_entry *e);

/* What archive_parse() found. */
enum archive_event {
	ARCHIVE_MORE,  /* all of the bytes are taken; it goes on */
	ARCHIVE_ENTRY, /* any record but END */
	ARCHIVE_DATA,  /* bytes of the last FILE */
	ARCHIVE_DONE,  /* END; bytes after it are not taken */
	ARCHIVE_BAD,   /* see fault; nothing more can be read */
};

enum archive_fault {
	ARCHIVE_OK,
	ARCHIVE_BAD_MAGIC,
	ARCHIVE_BAD_TYPE,   /* a type that there is not */
	ARCHIVE_BAD_NAME,   /* empty, ".", "..", with "/" or NUL, too long */
	ARCHIVE_BAD_MODE,   /* more than permissions */
	ARCHIVE_BAD_TIME,   /* nanoseconds of a second and more */
	ARCHIVE_BAD_SIZE,   /* above INT64_MAX */
	ARCHIVE_BAD_TARGET, /* empty, with NUL, too long */
	ARCHIVE_BAD_ORDER,  /* no root, two, UP without DIR, END too soon */
	ARCHIVE_BAD_DEPTH,  /* deeper than ARCHIVE_DEPTH_MAX */
	ARCHIVE_BAD_END,    /* bytes after END */
	ARCHIVE_CUT,        /* the stream ended before END: archive_end() */
};

/* Zeroed: at the start. */
struct archive_parser {
	enum archive_fault fault;
	/* private */
	bool has_magic, has_root, is_done;
	unsigned int depth;
	uint64_t data_left;
	size_t held; /* bytes of a record that came in parts */
	uint8_t record[ARCHIVE_RECORD_MAX];
};

/*
 * Takes bytes off the front of *in and says what they were. Spans of *ret and
 * *ret_data borrow until the next call. Call it until ARCHIVE_MORE, then bring
 * more bytes.
 */
enum archive_event archive_parse(struct archive_parser *p, struct span *in,
    struct archive_entry *ret, struct span *ret_data);
/* The stream has ended: ARCHIVE_OK if that was after END. */
enum archive_fault archive_end(const struct archive_parser *p);
const char *archive_fault_text(enum archive_fault fault);

/*
 * A link with this target, that lies depth directories below the root (0: in
 * the root itself), leads out of the root or may do so: it is absolute, climbs
 * higher than the root, or has ".." after another name, which a second link
 * could make climb. A target for which this is false stays inside as long as
 * it is true of no other link of the tree.
 */
bool archive_target_leaves(struct span target, unsigned int depth);

#endif
