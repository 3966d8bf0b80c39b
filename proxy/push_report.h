/*
 * What git is told when its push is refused, in its own protocol: so it prints
 * our sentence for each reference (gitprotocol-pack(5), "Report Status"). In
 * the sideband if it takes one; then what is said beside is shown as
 * "remote: ...".
 */
#ifndef TAPWARD_PROXY_PUSH_REPORT_H
#define TAPWARD_PROXY_PUSH_REPORT_H

#include <stdbool.h>

#include "proxy/buf.h"

#define PUSH_REPORT_TYPE "application/x-git-receive-pack-result"

/* Zeroed: empty. */
struct push_report {
	bool takes_sideband;
	bool failed;      /* memory is short */
	struct buf lines; /* the report itself */
	struct buf said;
};

/* A line beside it, of at most 1000 bytes; nothing without a sideband. */
void push_report_say(struct push_report *r, const char *text);
/* First of all: NULL, or why nothing could be read. */
void push_report_begin(struct push_report *r, const char *fault);
/*
 * This reference is refused. Bytes of ref that are not printable go as '?', so
 * that nothing in it ends a line.
 */
void push_report_refuse(struct push_report *r, struct span ref,
    const char *why);
/* The whole into out. 0 or -ENOMEM. */
int push_report_end(struct push_report *r, struct buf *out);
void push_report_done(struct push_report *r);

#endif
