/*
 * AWS Signature Version 4 of a request: reading it, and making one.
 *
 * Read are the forms of the AWS SDKs, strictly: the Authorization field, and
 * the X-Amz- parameters of a presigned URL (docs.aws.amazon.com, "Signature
 * Version 4 signing process" and "Authenticating requests: using query
 * parameters"). What is older (version 2), newer (4A), has two signatures, or
 * leaves out what must be signed, has an outcome of its own.
 *
 * A path is taken to be canonical (wire/path.h), so that nobody has to remove
 * dots from it.
 */
#ifndef TAPWARD_WIRE_SIGV4_H
#define TAPWARD_WIRE_SIGV4_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "wire/http.h"

#define SIGV4_KEY_ID_SIZE 129 /* AWS: 16 to 128 bytes */
#define SIGV4_DATE_SIZE 9     /* 20261130 */
#define SIGV4_TIME_SIZE 17    /* 20261130T011502Z */
#define SIGV4_WORD_SIZE 64    /* a region, a service */
#define SIGV4_NAMES_MAX 64
#define SIGV4_NAMES_SIZE 2048
#define SIGV4_PARAMETERS_MAX 256
#define SIGV4_EXPIRES_MAX_S 604800

enum sigv4_status {
	SIGV4_OK,
	SIGV4_NONE,       /* there is no signature */
	SIGV4_VERSION_2,  /* of 2012 and before */
	SIGV4_VERSION_4A, /* asymmetric: it cannot be made anew */
	SIGV4_TWO,        /* more than one signature */
	SIGV4_FORM,       /* not the parts that it must have, in their shape */
	SIGV4_SCOPE,      /* not KEY/DATE/REGION/SERVICE/aws4_request */
	SIGV4_NAMES,      /* SignedHeaders: not sorted, not names, or no host */
	SIGV4_TIME,       /* no X-Amz-Date, or of another day than its scope */
	SIGV4_PAYLOAD,    /* a form of payload that is not known */
	SIGV4_EVENTS,     /* signed events: each one hangs on the one before */
	SIGV4_PARAMETERS, /* a query of too many parts, or with an empty one */
	SIGV4_STATUS_COUNT
};

/* One clause for a person. */
const char *sigv4_status_text(enum sigv4_status s);

enum sigv4_form {
	SIGV4_HEADER,
	SIGV4_QUERY, /* a presigned URL */
};

/* What stands at the end of a canonical request. */
enum sigv4_payload {
	SIGV4_PAYLOAD_BODY,   /* the digest of the whole body, told nowhere */
	SIGV4_PAYLOAD_TOLD,   /* what the request says it is, word for word */
	SIGV4_PAYLOAD_CHUNKS, /* and each chunk of the body has a signature */
};
#define SIGV4_CHUNKS_TEXT "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
#define SIGV4_UNSIGNED_TEXT "UNSIGNED-PAYLOAD"

struct sigv4_scope {
	char date[SIGV4_DATE_SIZE];
	char region[SIGV4_WORD_SIZE];
	char service[SIGV4_WORD_SIZE];
};

/* A signature as it was read: copies, in the spelling they are signed in. */
struct sigv4 {
	enum sigv4_form form;
	char key_id[SIGV4_KEY_ID_SIZE];
	struct sigv4_scope scope;
	char time[SIGV4_TIME_SIZE];
	char names[SIGV4_NAMES_SIZE]; /* "host;x-amz-date" */
	char signature[DIGEST_HEX_SIZE];
	enum sigv4_payload payload;
	char payload_text[DIGEST_HEX_SIZE]; /* not of PAYLOAD_BODY */
};

/* ret is written for SIGV4_OK only. */
enum sigv4_status sigv4_parse(const struct http_request *req,
    struct sigv4 *ret);

/* A letter or a digit, then those and '-': a region, a service. */
bool sigv4_is_word(struct span s);
/* 16 to 128 letters, digits and '_'. */
bool sigv4_is_key_id(struct span s);

/* What is to be signed. All borrowed. */
struct sigv4_subject {
	const char *service; /* S3 signs a path as it is, others escape it */
	struct span method;
	struct span path;
	struct span query; /* X-Amz-Signature in it is left out */
	const struct http_fields *fields;
	/* the value of Host where fields have none (HTTP/2), or "" */
	const char *host;
	const char *names;   /* sorted, as struct sigv4 has them */
	struct span payload; /* the last line */
};

/* Room that sigv4_canonical() needs at most. */
size_t sigv4_canonical_room(const struct sigv4_subject *s);
/*
 * The canonical request. SIGV4_OK; SIGV4_PARAMETERS; SIGV4_NAMES for a name of
 * which there is no field. w may also have failed for want of room.
 */
enum sigv4_status sigv4_canonical(struct wr *w, const struct sigv4_subject *s);

/*
 * The key of a day, a region and a service: nobody comes back to the secret
 * from it. 0 or -EIO.
 */
int sigv4_derive(struct span secret, const struct sigv4_scope *scope,
    uint8_t ret_key[DIGEST_BYTES]);
/*
 * The secret that goes with the key id of a placeholder. It is none: whoever
 * knows the one knows the other, so that a guest's signature can be checked
 * where only its key id is known. 0 or -EIO.
 */
#define SIGV4_PLACEHOLDER_SIZE 41 /* 40 characters, as those of AWS */
int sigv4_placeholder_secret(const char *key_id,
    char ret[SIGV4_PLACEHOLDER_SIZE]);
/* The signature of a canonical request. 0 or -EIO. */
int sigv4_sign(const uint8_t key[DIGEST_BYTES], const struct sigv4_scope *scope,
    const char *time, struct span canonical, char ret[DIGEST_HEX_SIZE]);
/* Of one chunk, behind the signature before it. 0 or -EIO. */
int sigv4_sign_chunk(const uint8_t key[DIGEST_BYTES],
    const struct sigv4_scope *scope, const char *time, const char *before,
    struct span data, char ret[DIGEST_HEX_SIZE]);

/* A chunk's first line: "10000;chunk-signature=" and 64 digits. */
#define SIGV4_CHUNK_LINE_MAX 96
struct sigv4_chunk {
	size_t line_len; /* with its CRLF */
	size_t size;     /* of the data; 0: it is the last */
	char signature[DIGEST_HEX_SIZE];
};
/*
 * HTTP_OK, HTTP_MORE, or HTTP_CODING for what is no such line, or for a chunk
 * of more than max bytes.
 */
enum http_status sigv4_chunk_parse(struct span so_far, size_t max,
    struct sigv4_chunk *ret);

#endif
