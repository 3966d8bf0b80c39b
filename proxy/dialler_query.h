/*
 * One question to the resolvers, whichever way they are asked (dialler_ares.h,
 * dialler_tls.h), and what can come of it.
 */
#ifndef TAPWARD_PROXY_DIALLER_QUERY_H
#define TAPWARD_PROXY_DIALLER_QUERY_H

#include <stdint.h>
#include <sys/queue.h>

#include "base/bytes.h"

/* Why a name has no address, or a resolver is of no use. */
enum dialler_fault {
	DIALLER_FAULT_NONE,
	DIALLER_FAULT_NO_NAME,     /* answered: there is none */
	DIALLER_FAULT_FAILED,      /* SERVFAIL, REFUSED; in the clear: dead */
	DIALLER_FAULT_BAD_ANSWER,  /* none, or one that is read two ways */
	DIALLER_FAULT_TIMEOUT,     /* no answer, no connection */
	DIALLER_FAULT_REFUSED,     /* nobody listens there */
	DIALLER_FAULT_UNREACHABLE, /* the network says no in another way */
	DIALLER_FAULT_CLOSED,      /* it ends connections before answers */
	DIALLER_FAULT_CERTIFICATE, /* not the one that was to be */
	DIALLER_FAULT_TLS,         /* no TLS that we speak */
	DIALLER_FAULT_NO_ROOTS,    /* we have nothing to verify it by, yet */
	DIALLER_FAULT_NO_RESOLVER, /* there is nobody to ask */
	DIALLER_FAULT_TOO_MANY,    /* questions at once, or memory is short */
	DIALLER_FAULT_CANCELLED,   /* the resolvers changed, or the end came */
	DIALLER_FAULT_COUNT
};

/* As the audit log has it: "resolver-certificate"; "" for NONE. */
const char *dialler_fault_word(enum dialler_fault f);

/*
 * packet is the whole answer, borrowed, with the question that was asked; or
 * empty, and fault says why.
 */
typedef void dialler_query_done(struct span packet, enum dialler_fault fault,
    void *arg);

/* One question; the caller keeps it until done was called. */
struct dialler_query {
	dialler_query_done *done;
	void *arg;
	/* dialler_ares.c's: who it was asked by, and which resolver answered */
	struct dialler_lane *lane;
	unsigned int sender;
	/* dialler_tls.c's */
	TAILQ_ENTRY(dialler_query) link;
	const char *host;
	uint16_t type;
	uint16_t id;
	unsigned int tried;       /* a bit for each that it was put to */
	unsigned int waits;       /* and for each that it waits for */
	unsigned int resends;     /* since a connection ended */
	uint64_t moved_tick;      /* when it was put to the last one */
	uint64_t due_mono_ms;     /* when something is to be done about it */
	uint64_t end_mono_ms;     /* when it is given up */
	enum dialler_fault fault; /* of the last one that was of no use */
};

#endif
