/*
 * How a credential comes to its value. Each kind is one file with one of
 * these; the engine (token.h) knows none of them by name. It decides when a
 * value is minted, for whom, how long it is used and when it is given back; a
 * kind only knows how to ask its issuer.
 *
 * A kind that is new: a number in enum broker_kind (base/message_broker.h),
 * its name and keys in conf/hostconf_setting.c, one file kind_NAME.c with a
 * struct kind, a row in kind.c. It asks by fetch.h, reads answers by answer.h,
 * and never blocks.
 */
#ifndef TAPWARD_CREDENTIAL_BROKER_KIND_H
#define TAPWARD_CREDENTIAL_BROKER_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/message_lease.h"
#include "base/names.h"
#include "base/secret.h"

struct broker;
struct credential;

/* Longest value handed out: JWTs reach 16 KiB. */
#define KIND_VALUE_MAX_BYTES 16384
/*
 * Shortest: an answer that repeats less could not be told from one that does
 * not, so the gate would refuse each lease of it (proxy/scan.h).
 */
#define KIND_VALUE_MIN_BYTES 8
/* What a request narrows a value to, e.g. "repository:acme/app:pull". */
#define KIND_SCOPE_SIZE 512

/*
 * Why there is no value now. The word of each is what the guest reads beside
 * the credential's name, and what the record says: of the issuer's own words
 * none goes further than here.
 */
enum mint_fault {
	MINT_OK,
	MINT_UNREACHABLE, /* no address, no connection, no TLS, cut off */
	MINT_TIMEOUT,     /* the issuer is slow */
	MINT_RATE,        /* 429: it has enough of us */
	MINT_ISSUER,      /* 5xx */
	MINT_REFUSED,     /* 4xx: it will not; somebody must mend something */
	MINT_ANSWER,  /* a redirect, 1 MiB, another type, not what it says */
	MINT_EXPIRED, /* had ended when it came */
	MINT_SCOPE,   /* more than was asked for */
	MINT_BUSY,    /* too many ask, or too often: a budget, a circuit */
	MINT_LOCAL,   /* memory, a helper program, a source that is missing */
	MINT_ENDED,   /* a certificate of the host's: another is to be put there
		       */
	MINT_FAULT_COUNT
};

struct mint_fault_row {
	const char *word;
	bool is_permanent; /* to ask again at once is of no use */
};
extern const struct mint_fault_row mint_faults[MINT_FAULT_COUNT];

/* One value. Zeroed is a good start. */
struct minted {
	struct secret value;        /* what `apply` puts into a request */
	char user[LEASE_USER_SIZE]; /* for apply = basic; "": as defined */
	uint64_t not_after_boot_ms; /* its own end; UINT64_MAX: none */
	/*
	 * What revoke() needs to give it back. Empty and not revokes_itself: it
	 * cannot be given back, and ends by itself.
	 */
	struct secret revocation;
	bool revokes_itself; /* revoke() gets the value itself */
	/*
	 * When what revoke() ends has ended by itself; 0: with the value. It
	 * may be later, as of the token that a value was read with.
	 */
	uint64_t root_end_boot_ms;
	/*
	 * mint.before goes on: this is given back as that would have been, in
	 * its place. Without a value of its own it has the value of that.
	 */
	bool is_renewal;
	/* its entry; the engine's, unless the kind wrote it down sooner */
	uint64_t journal;
};
void minted_done(struct minted *m); /* wipes */

/*
 * One flight to the issuer. The engine has one at most for each sandbox,
 * credential and scope (is_serial: for each credential), and gives up on it by
 * cancel() after MINT_TIMEOUT_MS.
 */
struct mint {
	/* what to mint; borrowed until mint_end() or cancel() */
	struct broker *broker;
	struct credential *credential;
	const char *sandbox; /* its name, for what the issuer writes down */
	const char *scope;   /* what kind.scope() wrote, or "" */
	/*
	 * What it is to replace, if that lives still; else NULL. Its end may
	 * come while the flight is under way: borrowed inside begin() only.
	 */
	const struct minted *before;
	void *state; /* the kind's own, NULL at first */
	/* the engine's */
	void (*done)(struct mint *m, enum mint_fault fault,
	    struct minted *result, uint32_t retry_after_s);
	void *arg;
};
#define MINT_TIMEOUT_MS 8000

/*
 * The flight is over, exactly once and possibly from inside begin(); m->state
 * must be freed before. result is taken (moved out of) if fault is MINT_OK,
 * else it may be NULL. retry_after_s: what the issuer asked for, 0 without.
 * m is gone when this returns.
 */
void mint_end(struct mint *m, enum mint_fault fault, struct minted *result,
    uint32_t retry_after_s);

/* One value that is given back; as struct mint. */
struct revoke {
	struct broker *broker;
	struct credential *credential;
	struct span what; /* minted.revocation, or the value */
	void *state;
	/* the engine's */
	void (*done)(struct revoke *r, enum mint_fault fault);
	void *arg;
};
/* As mint_end(). MINT_OK also if the issuer did not know it any more. */
void revoke_end(struct revoke *r, enum mint_fault fault);

struct kind {
	const char *name; /* as in `kind = static` */
	/* c->value comes of `value`, which must be there */
	bool needs_value;
	/* unless this key is: what it names says the value. NULL: none does */
	const char *instead_of_value;
	/*
	 * Paths of its hosts that mint or end tokens; no request there carries
	 * one. NULL-terminated; NULL: none are known.
	 */
	const char *const *deny_paths;
	/* what it needs for a flight changes by one: never two at once */
	bool is_serial;
	/*
	 * Checks what the definition says and what its secrets hold, which the
	 * engine has loaded: credential_setting(), credential_secret(). May
	 * leave c->state. 0, or -errno and a text that names the key and never
	 * holds a byte of a secret.
	 */
	int (*load)(struct credential *c, struct err *err);
	/* Frees c->state. NULL: there is none. */
	void (*unload)(struct credential *c);
	/*
	 * The value is there already, and without an end. NULL, or a result of
	 * NULL: it is minted.
	 */
	const struct secret *(*held)(const struct credential *c);
	/*
	 * Narrows the value to what this request needs; requests of one scope
	 * share a value. NULL: always "". MINT_OK or why not.
	 */
	enum mint_fault (*scope)(const struct credential *c,
	    const struct message_lease_request *req, char ret[KIND_SCOPE_SIZE]);
	/* Both NULL with a held that always has one. */
	void (*begin)(struct mint *m);
	void (*cancel)(struct mint *m); /* frees m->state; no mint_end() */
	/*
	 * What the metadata service of its cloud says in a guest, where the
	 * definition has `metadata = yes`. ret is zeroed before, and holds
	 * nothing secret. NULL: it is of no cloud.
	 */
	void (
	    *metadata)(const struct credential *c, struct grant_metadata *ret);
	/* Both NULL: nothing can be given back. */
	void (*revoke)(struct revoke *r);
	void (*revoke_cancel)(struct revoke *r);
};

/* By enum broker_kind (base/message_broker.h); never NULL. */
const struct kind *kind_of(uint8_t kind);

extern const struct kind kind_static;
extern const struct kind kind_oauth2;
extern const struct kind kind_aws;
extern const struct kind kind_oci;
extern const struct kind kind_github_app;
extern const struct kind kind_exec;
extern const struct kind kind_vault;
extern const struct kind kind_gcp;
extern const struct kind kind_azure;
extern const struct kind kind_certificate;

/*
 * What may stand in a header is all that a value may hold: no control byte, no
 * blank at either end, not nothing, not too much. NULL, or what is wrong.
 */
const char *kind_value_fault(struct span value);
/*
 * Who the value belongs to, for apply = basic. MINT_ANSWER for what cannot be
 * a user's name there (RFC 7617 2).
 */
enum mint_fault kind_take_user(struct minted *ret, struct span user);
/* The first len bytes of text; "" if they do not fit. */
void kind_put_text(char ret[GRANT_TEXT_SIZE], const char *text, size_t len);
/*
 * When a value that lives for life_s from now ends. A life beyond a year is
 * cut to one.
 */
uint64_t kind_not_after(uint64_t life_s);
/* The same of a wall-clock time, in seconds since 1970; 0 if it is past. */
uint64_t kind_not_after_wall(uint64_t wall_s);

#endif
