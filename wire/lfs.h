/*
 * What git-lfs asks and is told in JSON (git-lfs's docs/api: batch.md,
 * basic-transfers.md, locking.md), read as it comes: what of it decides
 * anything. No I/O, no memory.
 *
 * Names that mean nothing to us pass; names that do have one spelling and one
 * type each, or may be null, which is as if they were not there.
 */
#ifndef TAPWARD_WIRE_LFS_H
#define TAPWARD_WIRE_LFS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "wire/git.h"
#include "wire/json_scan.h"

#define LFS_TYPE "application/vnd.git-lfs+json"

enum lfs_document {
	LFS_BATCH,  /* POST .../info/lfs/objects/batch */
	LFS_ANSWER, /* to it */
	LFS_LOCK,   /* what is posted to .../info/lfs/locks and below */
	LFS_DOCUMENTS
};

enum lfs_status {
	LFS_MORE,
	LFS_OBJECT, /* one is whole: lfs->object, until the next call */
	LFS_READ,   /* the document is whole; blanks may follow */
	/* refusals: they are final, and repeated */
	LFS_BROKEN,
	LFS_TWICE,
	LFS_LARGE,
	LFS_KIND,      /* of a value; or a name in another case */
	LFS_OPERATION, /* neither download nor upload */
	LFS_HASH,      /* another one than SHA-256 */
	LFS_OID,
	LFS_SIZE,
	LFS_TRANSFER, /* an answer for another way than "basic" */
	LFS_REF,      /* not printable ASCII, or too long */
	LFS_MANY,     /* objects */
	LFS_MISSING,  /* what a document must have */
	LFS_SHORT,
	LFS_STATUSES
};

enum lfs_operation { LFS_NO_OPERATION, LFS_DOWNLOAD, LFS_UPLOAD };

/* What a guest may do to an URL that an answer names. */
enum lfs_action_kind {
	LFS_ACTION_DOWNLOAD, /* GET */
	LFS_ACTION_UPLOAD,   /* PUT, the object's bytes */
	LFS_ACTION_VERIFY,   /* POST, that it is there */
	LFS_ACTIONS
};

/* "GET", "PUT", "POST". */
const char *lfs_action_method(enum lfs_action_kind k);

#define LFS_OID_LEN 64
/* All texts of one object's actions that are kept. */
#define LFS_TEXT_MAX 24576

struct lfs_text {
	bool is_there;
	size_t at, len;
};

struct lfs_action {
	struct lfs_text href, authorization, expires_at;
	bool expires; /* in expires_in seconds */
	uint64_t expires_in;
};

struct lfs_object {
	bool has_oid, has_size;
	uint64_t size;
	struct lfs_action actions[LFS_ACTIONS];
	size_t text_len;
	uint8_t text[LFS_TEXT_MAX];
};

/* Zeroed but for document and objects_max: before the first byte. */
struct lfs {
	enum lfs_document document;
	size_t objects_max;
	enum lfs_status fault;
	struct json_scan json;
	/* where it is: one place for each level, and the name within it */
	uint8_t places[JSON_SCAN_DEPTH_MAX];
	unsigned int depth;
	const void *row;
	enum lfs_action_kind action;
	/* what it says */
	enum lfs_operation operation;
	/* "" without one; a name or an object's, as the guest has it */
	char ref[GIT_REF_MAX_BYTES + 1];
	bool has_path;
	bool force;
	bool has_objects;
	size_t objects;
	uint64_t bytes; /* of all objects */
	bool is_large;  /* ... more than a number holds */
	struct lfs_object object;
};

/* Takes from *in what was read. After LFS_OBJECT: again, with the rest. */
enum lfs_status lfs_read(struct lfs *l, struct span *in);
/* No byte follows: LFS_READ, or a refusal. */
enum lfs_status lfs_end(struct lfs *l);
/* One clause. */
const char *lfs_status_text(enum lfs_status s);
/* Borrows from l; empty if it is not there. */
struct span lfs_text(const struct lfs *l, const struct lfs_text *t);

#endif
