/*
 * What a push begins with: its commands, before the pack (gitprotocol-pack(5),
 * "Reference Update Request"). Read as it comes, from all that has come so
 * far; no I/O, no memory.
 *
 *	*shallow commands flush [options flush] [pack]
 *
 * Stricter than git where a second reading is possible: only the first command
 * carries capabilities, and only known ones, for an unknown one may change
 * what follows; object names are of one length and in lower case; nothing
 * follows where nothing is due. A signed push is told apart and not read.
 */
#ifndef TAPWARD_WIRE_GIT_PUSH_H
#define TAPWARD_WIRE_GIT_PUSH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

enum git_push_status {
	GIT_PUSH_MORE, /* it is not known yet what is asked for */
	GIT_PUSH_READ, /* it is, and the pack has begun, if one is due */
	GIT_PUSH_PKTLINE,
	GIT_PUSH_COMMAND, /* not "OLD NEW NAME" */
	GIT_PUSH_CAPABILITY,
	GIT_PUSH_CERTIFICATE,
	GIT_PUSH_SHALLOW,
	GIT_PUSH_PACK,     /* something else where the pack should begin */
	GIT_PUSH_TRAILING, /* something where nothing is due */
	GIT_PUSH_SHORT,    /* it ended early */
	GIT_PUSH_STATUS_COUNT
};

enum git_push_phase {
	GIT_PUSH_FIRST, /* zeroed: shallow lines, or the first command */
	GIT_PUSH_COMMANDS,
	GIT_PUSH_OPTIONS,
	GIT_PUSH_BODY, /* the pack, or nothing */
};

/* Zeroed: before the first byte. */
struct git_push {
	enum git_push_phase phase;
	enum git_push_status fault; /* a refusal, which is repeated */
	size_t at;                  /* how far it was read */
	size_t commands_at;         /* where the first command is */
	size_t body_at;             /* in GIT_PUSH_BODY: where that begins */
	size_t commands;
	size_t oid_len;
	bool is_shallow;
	bool has_pack; /* one is due */
	/* what the other side asked for */
	bool wants_report;
	bool takes_sideband;
	bool has_options; /* its list comes behind the commands */
	size_t options;   /* how many there are */
};

/* all: every byte since the first one. Refusals are final. */
enum git_push_status git_push_read(struct git_push *p, struct span all);
/* The same, where no byte follows: GIT_PUSH_READ, or a refusal. */
enum git_push_status git_push_end(struct git_push *p, struct span all);
/* One clause. */
const char *git_push_status_text(enum git_push_status s);

enum git_push_deed {
	GIT_PUSH_CREATE,
	GIT_PUSH_UPDATE,
	GIT_PUSH_DELETE,
};

/* Borrows from all. ref is any bytes but NUL, at least one. */
struct git_push_command {
	enum git_push_deed deed;
	struct span old_oid, new_oid, ref;
};

/*
 * The next command; *at is 0 before the first. False: there is none. For what
 * was read so far, a refusal too.
 */
bool git_push_next(const struct git_push *p, struct span all, size_t *at,
    struct git_push_command *ret);

#endif
