/*
 * Values that kinds have minted, one for each sandbox, credential and scope:
 * when they are made, how long they are used, what follows when an issuer does
 * not answer. Never is a value used after its end, and never one that another
 * sandbox could see.
 *
 * Before its soft end a value is simply there. After it, whoever asks still
 * gets it and one flight fetches the next. After its hard end whoever asks
 * waits for that flight, of which there is one however many wait. A failure is
 * kept for a while, so that a guest in a loop does not become one of ours.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_TOKEN_H
#define TAPWARD_CREDENTIAL_BROKER_TOKEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/message_lease.h"
#include "credential-broker/kind.h"

struct sandbox;
struct token_wait;

/* Of one sandbox at once: credentials times scopes. */
#define TOKENS_MAX 64
/* Requests of one sandbox that wait for a value; each holds its path. */
#define TOKEN_WAITS_MAX 512
/* Mints of one sandbox: so many at once, then one every few seconds. */
#define TOKEN_BUDGET 30
#define TOKEN_BUDGET_EVERY_MS 5000
/* A rejected value is dropped at most so often. */
#define TOKEN_REJECT_MS 30000

struct token {
	LIST_ENTRY(token) link;
	struct sandbox *sandbox;
	struct credential *credential; /* a reference */
	char scope[KIND_SCOPE_SIZE];
	uint64_t number; /* another for each value; 0: there is none */
	struct minted minted;
	struct minted before; /* the one that it replaced, if it lives still */
	uint64_t soft_boot_ms, hard_boot_ms;
	uint64_t asked_boot_ms; /* for whom makes room */
	struct mint *mint;      /* NULL: no flight */
	bool is_begun;          /* it does not wait for another's */
	struct event *timer;    /* the end of its flight */
	uint64_t began_boot_ms;
	enum mint_fault fault; /* of the last flight */
	unsigned int failures; /* in a row */
	uint64_t quiet_until_boot_ms;
	uint64_t rejected_boot_ms; /* when one was last; 0: never */
	unsigned int wait_count;
	TAILQ_HEAD(token_waits, token_wait) waits;
};

enum token_state {
	TOKEN_HERE,  /* it has a value, which may be used until hard_boot_ms */
	TOKEN_WAITS, /* a flight is on its way: token_wait() */
	TOKEN_FAILED /* *ret_fault says why, and for now that is it */
};

/*
 * The token for this request, made if need be, and what it is good for now;
 * starts the flight that is due.
 */
enum token_state token_get(struct sandbox *s, struct credential *c,
    const struct message_lease_request *req, struct token **ret,
    enum mint_fault *ret_fault);
/*
 * Keeps a copy of the request, and asks lease_request() with it again once the
 * flight is over. -ENOSPC, -ENOMEM or 0.
 */
int token_wait(struct token *t, uint32_t id,
    const struct message_lease_request *req);
/* How long a gate may keep it: until its soft end, then until its hard one. */
uint64_t token_lease_end(const struct token *t);
/* From when on token_reject() drops it (CLOCK_BOOTTIME). */
uint64_t token_renew_from(const struct token *t);
/*
 * An origin refused the value of this number with 401: it is dropped, given
 * back, and the next one minted when somebody asks. True if it was dropped.
 */
bool token_reject(struct sandbox *s, uint64_t number);

/* Nobody is there any more who waits. */
void token_forget_waits(struct sandbox *s);
/* Values of this credential (NULL: of all) end, and are given back. */
void token_end(struct sandbox *s, const struct credential *c);

#endif
