/*
 * A request that a guest has signed for AWS with its placeholder, and that is
 * signed anew with a key of the broker's for one day, one region and one
 * service (wire/sigv4.h). The secret key itself is never here.
 *
 * Before that the guest's own signature is held against its placeholder: if
 * it fits, we read the request as whoever signed it does, and what we sign is
 * what was meant.
 */
#ifndef TAPWARD_PROXY_RESIGN_H
#define TAPWARD_PROXY_RESIGN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "proxy/buf.h"
#include "wire/http.h"
#include "wire/sigv4.h"
#include "wire/sigv4_query.h"

/* A presigned URL that we make is used at once, and may be repeated to us. */
#define RESIGN_EXPIRES_MAX_S 300
/* Fields that a signed request has beside those of its guest. */
#define RESIGN_FIELDS_MORE 8
/* Of one chunk: SDKs make them of 64 to 128 KiB. */
#define RESIGN_CHUNK_MAX_BYTES (1u << 20)

/* The value of a lease, parsed. Wipe it. */
struct resign_key {
	char key_id[SIGV4_KEY_ID_SIZE];
	struct sigv4_scope scope;
	uint8_t key[DIGEST_BYTES];
	struct span token; /* of the session; borrowed; empty: none */
};

/*
 * "KEYID DATE REGION SERVICE HEX" and perhaps " TOKEN": what the broker makes
 * of a key. False for anything else.
 */
bool resign_key_parse(struct span value, struct resign_key *ret);
void resign_key_wipe(struct resign_key *k);

struct resign {
	enum sigv4_status status; /* what stands against it; the rest if OK */
	struct sigv4 guest;
	struct buf canonical; /* of the guest's, but for its last line */
	/* a body that waits for its digest, or a chunk */
	struct buf held;
	size_t sent; /* bytes of it that are with the origin */
	/* of signed chunks */
	char guest_before[DIGEST_HEX_SIZE]; /* the signature before this one */
	char before[DIGEST_HEX_SIZE];       /* ours */
	char time[SIGV4_TIME_SIZE];         /* ours */
	size_t chunk_len;                   /* whole; 0: not known yet */
	bool is_chunk_last;
	bool is_chunk_signed; /* it may be sent */
	bool is_whole;        /* the last one was seen */
};

/*
 * Reads the signature of req; *ret is NULL when it has none. A faulty one is
 * told by status. 0 or -ENOMEM.
 */
int resign_new(const struct http_request *req, struct resign **ret);
void resign_free(struct resign *r); /* NULL is fine */

/* The last line of the canonical request is the digest of the whole body. */
bool resign_wants_body(const struct resign *r);
/*
 * Does the guest's signature fit the secret that goes with its placeholder
 * (sigv4_placeholder_secret())? Of a body that is held, if it hangs on it.
 */
bool resign_is_sound(const struct resign *r);

/* What is sent instead. All borrowed. */
struct resign_request {
	struct span method;
	struct span path;
	struct span query; /* the guest's */
	/* as they go out, Content-Length among them; room for more of ours */
	struct http_fields *fields;
	uint64_t wall_ms;
};
/*
 * Signs it: *ret_lines are the fields that go beside fields, with CRLF; query,
 * which is emptied first, becomes what is sent of a presigned one. 0, -EMSGSIZE
 * for what cannot be signed, -EIO, or -ENOMEM.
 */
int resign_sign(struct resign *r, const struct resign_key *k,
    const struct resign_request *req, struct secret *ret_lines,
    struct buf *query);

/*
 * Signed chunks. Takes bytes of the guest's body, up to the end of a chunk;
 * none while one waits to be sent. *ret_fault: the body is not what it says.
 */
size_t resign_take(struct resign *r, const struct resign_key *k,
    struct span data, const char **ret_fault);

#endif
