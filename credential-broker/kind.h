/*
 * How a credential comes to its value. Each kind is one file with one of
 * these; broker.c knows none of them by name.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_KIND_H
#define TAPWARD_CREDENTIAL_BROKER_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/secret.h"

struct credential;

/* Longest value handed out: JWTs reach 16 KiB. */
#define KIND_VALUE_MAX_BYTES 16384
/*
 * Shortest: an answer that repeats less could not be told from one that does
 * not, so the gate would refuse each lease of it (proxy/scan.h).
 */
#define KIND_VALUE_MIN_BYTES 8

/* One value, for one lease. */
struct minted {
	const struct secret *value; /* borrows from the credential */
	uint64_t not_after_boot_ms; /* its own end; UINT64_MAX: none */
};

struct kind {
	const char *name;  /* as in `kind = static` */
	bool needs_source; /* a descriptor comes with the definition */
	/*
	 * Takes what the definition's source holds into c; source_fd is
	 * borrowed, -1 without one. 0, or -errno and a text that names the
	 * source and never holds a byte of it.
	 */
	int (*load)(struct credential *c, int source_fd, struct err *err);
	/* 0, or -errno: no lease now. */
	int (*mint)(struct credential *c, struct minted *ret);
	/* Wipes what load() left. */
	void (*done)(struct credential *c);
};

/* By enum broker_kind (base/message_broker.h); never NULL. */
const struct kind *kind_of(uint8_t kind);

extern const struct kind kind_static;

/*
 * What may stand in a header is all that a value may hold: no control byte, no
 * blank at either end, not nothing, not too much. NULL, or what is wrong.
 */
const char *kind_value_fault(struct span value);

#endif
