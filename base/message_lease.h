/*
 * Gate and broker: a credential for one request. The broker checks grant,
 * host, port, method and path itself, by the policy and the host config it
 * holds, whatever the gate says.
 *
 * And what a guest may bring of its own: the broker tells each gate what its
 * sandbox is granted, unasked, when they meet and whenever the credentials
 * were replaced. A set is a transaction: any number of MSG_GRANT, then
 * MSG_GRANTS_WHOLE.
 */
#ifndef TAPWARD_BASE_MESSAGE_LEASE_H
#define TAPWARD_BASE_MESSAGE_LEASE_H

#include "base/bytes.h"
#include "base/names.h"
#include "base/reason.h"
#include "base/secret.h"

/* How the value is put into a request. */
enum lease_apply {
	LEASE_APPLY_BEARER, /* Authorization: Bearer VALUE */
	LEASE_APPLY_BASIC,  /* Authorization: Basic base64(USER:VALUE) */
	LEASE_APPLY_RAW,    /* Authorization: VALUE */
	LEASE_APPLY_HEADER, /* NAME: VALUE */
	LEASE_APPLY_QUERY,  /* a parameter of the query: NAME=VALUE */
	/*
	 * VALUE is a key of one day, region and service, by which the request
	 * is signed anew: "KEYID DATE REGION SERVICE HEX", perhaps " TOKEN".
	 */
	LEASE_APPLY_SIGV4,
	/*
	 * VALUE is no secret, but certificates in DER, one behind the other:
	 * the gate shows them to an origin in TLS, and has the broker sign
	 * with their key (message_sign.h).
	 */
	LEASE_APPLY_CERTIFICATE,
	LEASE_APPLY_COUNT
};

#define LEASE_FIELD_NAME_SIZE 64
#define LEASE_USER_SIZE 128
#define LEASE_STRIP_MAX 16
#define LEASE_WORD_SIZE 64
#define LEASE_DETAIL_SIZE 32

struct message_lease_request {
	char credential[CREDENTIAL_NAME_SIZE];
	char host[HOST_NAME_SIZE];
	uint16_t port;
	uint8_t scheme; /* enum scheme */
	char method[METHOD_NAME_SIZE];
	struct span path; /* borrows from the message, as does query */
	bool has_query;
	struct span query; /* what a rule's `query` is judged by */
	bool is_websocket; /* it opens one */
	/* what the guest has signed it for; "": it has no AWS signature */
	char region[LEASE_WORD_SIZE];
	char service[LEASE_WORD_SIZE];
};
#define LEASE_PATH_MAX_BYTES 8192
#define LEASE_QUERY_MAX_BYTES 4096
#define LEASE_REQUEST_BODY_MAX_BYTES 13312
/* Of MSG_LEASE: the longest secret and all the rest. */
#define LEASE_BODY_MAX_BYTES (SECRET_MAX_BYTES + 8192)

struct message_lease {
	enum reason reason; /* REASON_NONE: the rest is set but detail */
	/* of a refusal: what the guest may read of it; "": nothing */
	char detail[LEASE_DETAIL_SIZE];
	uint64_t lease_id;
	/* CLOCK_BOOTTIME, ms: not used after it */
	uint64_t expires_boot_ms;
	/*
	 * of the same clock: from then on another value is minted in place of
	 * one that an origin answers 401; 0: never
	 */
	uint64_t renew_boot_ms;
	/* the definition binds no path or method, so the lease serves any */
	bool any_request;
	bool serves_websocket; /* may go into a request that opens one */
	enum lease_apply apply;
	/* for APPLY_HEADER in lower case; for APPLY_QUERY the parameter */
	char field[LEASE_FIELD_NAME_SIZE];
	char user[LEASE_USER_SIZE];        /* for APPLY_BASIC */
	char placeholder[LEASE_USER_SIZE]; /* "" or what the guest may send */
	/* field names to remove from every request, lower case */
	char strip[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE];
	unsigned int strip_count;
	/* the same of answers; Set-Cookie goes, too, unless it is kept */
	char strip_response[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE];
	unsigned int strip_response_count;
	bool keeps_set_cookie;
	struct secret value; /* owned by whoever decoded it */
};

#define GRANTS_MAX 256
#define GRANT_HOSTS_MAX 32
/* What `strip` lists, and the field that `apply` sets. */
#define GRANT_NAMES_MAX (LEASE_STRIP_MAX + 1)

/* The cloud whose metadata service hands a placeholder out. */
enum grant_cloud {
	GRANT_CLOUD_NONE,
	GRANT_CLOUD_AWS,
	GRANT_CLOUD_GCP,
	GRANT_CLOUD_AZURE,
	GRANT_CLOUD_COUNT
};
#define GRANT_TEXT_SIZE 192
/* What that service says beside it; printable, "" where nobody knows. */
struct grant_metadata {
	uint8_t cloud; /* enum grant_cloud */
	/* a role; an account's e-mail address; an application's id */
	char identity[GRANT_TEXT_SIZE];
	char place[GRANT_TEXT_SIZE]; /* a region; a project; a resource */
};

/*
 * MSG_GRANT: one credential that the sandbox may use, whether or not its
 * policy names it. Field names only, never a value.
 */
struct message_grant {
	uint16_t port;
	unsigned int host_count; /* at least one; canonical names */
	char hosts[GRANT_HOSTS_MAX][HOST_NAME_SIZE];
	/* fields that a guest may not send to hosts:port; lower case */
	unsigned int name_count;
	char names[GRANT_NAMES_MAX][LEASE_FIELD_NAME_SIZE];
	/* a parameter that no query of a guest's may hold there; or "" */
	char parameter[LEASE_FIELD_NAME_SIZE];
	char placeholder[LEASE_USER_SIZE]; /* goes to no other host; or "" */
	struct grant_metadata metadata;
};
#define GRANT_BODY_MAX_BYTES 10752

/* MSG_GRANTS_WHOLE: what was sent since the last one is all there is. */
struct message_grants_whole {
	uint32_t count;
};

/*
 * MSG_LEASE_REJECTED: an origin answered 401 to a request with this lease. The
 * broker may drop the value; the gate is then told so as of any other.
 */
struct message_lease_rejected {
	uint64_t lease_id;
};

void message_lease_rejected_encode(struct wr *w,
    const struct message_lease_rejected *m);
int message_lease_rejected_decode(struct rd *r,
    struct message_lease_rejected *ret);
void message_lease_request_encode(struct wr *w,
    const struct message_lease_request *m);
int message_lease_request_decode(struct rd *r,
    struct message_lease_request *ret);
/* The writer's buffer holds the secret: wipe it after sending. */
void message_lease_encode(struct wr *w, const struct message_lease *m);
/* On success ret->value is the caller's to secret_done(). */
int message_lease_decode(struct rd *r, struct message_lease *ret);
void message_grant_encode(struct wr *w, const struct message_grant *m);
/* What ret holds after -EBADMSG is of no use. */
int message_grant_decode(struct rd *r, struct message_grant *ret);
void message_grants_whole_encode(struct wr *w,
    const struct message_grants_whole *m);
int message_grants_whole_decode(struct rd *r, struct message_grants_whole *ret);

#endif
