/*
 * What git's smart HTTP protocol names: the services of a repository, and
 * references (gitprotocol-http(5), git-check-ref-format(1); git-lfs's api
 * documents). What is said inside is in wire/pktline.h and wire/git_push.h.
 */
#ifndef TAPWARD_WIRE_GIT_H
#define TAPWARD_WIRE_GIT_H

#include <stdbool.h>

#include "base/bytes.h"

/* What follows the repository in a path. */
enum git_service {
	GIT_SERVICE_NONE,   /* nothing of these, dumb protocol too */
	GIT_SERVICE_REFS,   /* /info/refs: by its query one of the next two */
	GIT_SERVICE_FETCH,  /* /git-upload-pack */
	GIT_SERVICE_PUSH,   /* /git-receive-pack */
	GIT_SERVICE_LFS,    /* /info/lfs/objects/batch */
	GIT_SERVICE_LOCKS,  /* /info/lfs/locks */
	GIT_SERVICE_OTHERS, /* /info/lfs/locks/verify: locks, whose they are */
	GIT_SERVICE_UNLOCK, /* /info/lfs/locks/ID/unlock */
	GIT_SERVICE_VERIFY, /* /info/lfs/verify */
	GIT_SERVICE_OBJECT, /* .../objects/OID, of LFS, at the same host */
	GIT_SERVICES
};

/*
 * The service that the end of path names, and what is before it, without
 * ".git". path is canonical (wire/path.h).
 */
enum git_service git_service_of(struct span path, struct span *ret_repo);

/* One of LFS with a document that is read (wire/lfs.h): it may write. */
bool git_service_is_read(enum git_service s);

/*
 * May whoever gets this request take it for a push, however it reads it? Any
 * case, any place: for what is to be denied.
 */
bool git_may_be_push(struct span path, struct span query);

/* Longest name of a reference, as long as a pattern for one. */
#define GIT_REF_MAX_BYTES 255

/*
 * NULL for a reference that has one reading, else one clause that says what is
 * wrong with it. Stricter than git: it begins with refs/ and has two parts at
 * least, and it is printable ASCII.
 */
const char *git_ref_fault(struct span name);
/* The same of a pattern, which may hold '*' and "**". */
const char *git_ref_pattern_fault(struct span pattern);

#endif
