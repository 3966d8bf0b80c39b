/*
 * Checks the chain of an audit log line by line: each names the hash of the
 * line before it and the next number. Pure; the bytes may be anybody's.
 *
 * A line that was cut by a crash is part of the chain: the recorder finds it
 * at its next start, and the line after it says so. Cut lines that no line
 * owns up to are a fault.
 */
#ifndef TAPWARD_BASE_AUDIT_VERIFY_H
#define TAPWARD_BASE_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"

/* What prev is on the first line there ever was. */
#define AUDIT_GENESIS                                                          \
	"0000000000000000000000000000000000000000000000000000000000000000"
/* The detail of a record that owns up to a cut line before it. */
#define AUDIT_DETAIL_TORN "gap: the line before was cut"

enum audit_verify_result {
	AUDIT_VERIFY_OK,
	AUDIT_VERIFY_SHAPE,   /* not one of our lines, and no gap says so */
	AUDIT_VERIFY_PREV,    /* the line before was edited, or one is gone */
	AUDIT_VERIFY_SEQ,     /* a number is missing or comes twice */
	AUDIT_VERIFY_GENESIS, /* number 1 does not start the chain */
	AUDIT_VERIFY_FAILED,  /* the hash could not be computed */
};

/* One clause for a person. */
const char *audit_verify_text(enum audit_verify_result r);

struct audit_verify {
	uint64_t lines;             /* taken so far */
	uint64_t seq;               /* of the last whole one */
	uint64_t torn;              /* cut lines that a gap record owns up to */
	char head[DIGEST_HEX_SIZE]; /* hash of the last line */
	bool is_after_torn;
};

void audit_verify_init(struct audit_verify *v);
/* Takes the next line, without its newline. After a fault v stays as it is. */
enum audit_verify_result audit_verify_line(struct audit_verify *v,
    struct span line);
/* The log ends here: a cut line at its end that nobody owns up to yet. */
enum audit_verify_result audit_verify_end(const struct audit_verify *v);

/* The head of one of our lines. */
struct audit_line_head {
	uint64_t seq;
	char prev[DIGEST_HEX_SIZE];
};
/* False if the line was not written, whole, by the recorder. */
bool audit_line_read(struct span line, struct audit_line_head *ret);
/* The hash that the next line names as prev. 0 or -EIO. */
int audit_line_hash(struct span line, char ret[DIGEST_HEX_SIZE]);

#endif
