/*
 * Supervisor and dialler: what the host says about resolvers, addresses and
 * limits, and which sandbox is at the end of which channel.
 *
 * CONFIG, ADDRESSES, ATTACH and POLICY are each answered by a struct
 * message_done of the same id (MSG_DIALLER_DONE); DETACH is not answered.
 */
#ifndef TAPWARD_BASE_MESSAGE_DIALLER_H
#define TAPWARD_BASE_MESSAGE_DIALLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/names.h"

#define DIALLER_RESOLVERS_MAX 8
#define DIALLER_OWN_RANGES_MAX 16
#define DIALLER_EXCEPTIONS_MAX 64
#define DIALLER_EXCEPTION_HOSTS_MAX 32
#define DIALLER_EXCEPTION_RANGES_MAX 32
#define DIALLER_ADDRESSES_MAX 1024
#define DIALLER_DIRECT_MAX 64
/* What the user of a proxy may be called, and its password be, in bytes. */
#define DIALLER_PROXY_USER_SIZE 129
#define DIALLER_PROXY_PASSWORD_MAX 512
/* A pattern is at most a host name with "**." before it. */
#define DIALLER_PATTERN_SIZE (HOST_NAME_SIZE + 3)

/* family is 4 (the first 4 bytes count, the rest is 0) or 6. */
struct message_address {
	uint8_t family;
	uint8_t bytes[16];
};

/* bits: at most 32 or 128; the bits after it are 0. */
struct message_range {
	struct message_address address;
	uint8_t bits;
};

struct message_resolver {
	struct message_address address;
	uint16_t port; /* 53, or 853 by TLS, unless the host says so */
	/*
	 * The name that its certificate must have, canonical: it is asked by
	 * TLS and not otherwise. "": by UDP and TCP, in the clear.
	 */
	char tls_name[HOST_NAME_SIZE];
};

/* One [address NAME] section. */
struct message_exception {
	unsigned int host_count;
	char hosts[DIALLER_EXCEPTION_HOSTS_MAX][DIALLER_PATTERN_SIZE];
	unsigned int range_count;
	struct message_range ranges[DIALLER_EXCEPTION_RANGES_MAX];
};

/*
 * The forward proxy by which origins are reached: plain HTTP/1.1, CONNECT. Its
 * password is what a descriptor beside the message holds.
 */
struct message_proxy {
	char
	    host[HOST_NAME_SIZE]; /* a canonical name or an address; "": none */
	uint16_t port;
	char user[DIALLER_PROXY_USER_SIZE]; /* "": it wants none */
	bool has_password; /* false beside a user: it could not be opened */
	/* Patterns of names that are dialled without it. */
	unsigned int direct_count;
	char direct[DIALLER_DIRECT_MAX][DIALLER_PATTERN_SIZE];
};

/* Limits and times; 0 is not a value: the supervisor fills each in. */
struct message_dialler_limits {
	uint32_t resolve_timeout_ms; /* one name, all tries */
	uint32_t connect_timeout_ms; /* all candidate addresses */
	uint32_t in_flight;          /* dials at once, per sandbox */
	uint32_t cache_names;        /* in the whole cache */
	uint32_t cache_min_s;        /* a shorter TTL is kept this long */
	uint32_t cache_max_s;        /* and a longer one only this long */
	uint32_t cache_negative_s;   /* a name that does not resolve */
};

/*
 * MSG_DIALLER_CONFIG, about 600 KiB in memory: keep it on the heap. Its
 * encoded form must fit MESSAGE_LARGE_BYTES; the writer fails otherwise.
 * Descriptors come along, in this order: if proxy.has_password, what holds it;
 * if has_roots, the index of roots by which resolvers are verified.
 */
#define DIALLER_CONFIG_FDS_MAX 2
struct message_dialler_config {
	struct message_dialler_limits limits;
	unsigned int resolver_count; /* 0: no name can be resolved */
	/* all by TLS, or none: else those in the clear would be asked next */
	struct message_resolver resolvers[DIALLER_RESOLVERS_MAX];
	bool has_roots; /* may be so only with resolvers by TLS */
	/* guests' network, synthetic addresses: never dialled, no exception */
	unsigned int own_range_count;
	struct message_range own_ranges[DIALLER_OWN_RANGES_MAX];
	unsigned int exception_count;
	struct message_exception exceptions[DIALLER_EXCEPTIONS_MAX];
	struct message_proxy proxy;
};

/* The descriptors of a configuration, borrowed; -1: there is none. */
struct message_dialler_fds {
	int password;
	int roots;
};
/* False: count is not how many of fds there are to be. */
bool message_dialler_config_fds(const struct message_dialler_config *m,
    const int *fds, size_t count, struct message_dialler_fds *ret);

/* MSG_DIALLER_ADDRESSES: every address of the host, replaced whole. */
struct message_dialler_addresses {
	unsigned int count;
	struct message_address addresses[DIALLER_ADDRESSES_MAX];
};

/* The descriptors of MSG_DIALLER_ATTACH, in this order. */
enum dialler_attach_fd {
	DIALLER_ATTACH_GATE, /* channels */
	DIALLER_ATTACH_RECORDER,
	DIALLER_ATTACH_POLICY,  /* sealed memfd */
	DIALLER_ATTACH_CEILING, /* sealed memfd; only if has_ceiling */
};

/*
 * MSG_DIALLER_ATTACH, and MSG_DIALLER_POLICY (descriptors: policy and, if
 * has_ceiling, ceiling). Attaching a name that is attached replaces it.
 */
struct message_dialler_sandbox {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	bool has_ceiling;
};

/* How a resolver is. */
enum resolver_state {
	RESOLVER_UNKNOWN,    /* nothing was tried, or nothing told by it */
	RESOLVER_CONNECTING, /* by TLS, for the first time */
	RESOLVER_UP,         /* it answers; by TLS: it has proved its name */
	RESOLVER_DOWN,       /* text says why */
	RESOLVER_STATE_COUNT
};
#define RESOLVER_TEXT_SIZE 128

struct message_resolver_state {
	uint8_t state;                 /* enum resolver_state */
	char text[RESOLVER_TEXT_SIZE]; /* UP: "TLSv1.3", ""; printable */
	uint32_t handshakes;
	uint32_t answers; /* to what was asked for a guest or an issuer */
};

/* "[ffff:...:ffff]:65535#dns.example", NUL included. */
#define RESOLVER_NAME_SIZE (ADDRESS_TEXT_SIZE + HOST_NAME_SIZE)

/*
 * MSG_DIALLER_STATUS_ANSWER, and MSG_RESOLVERS when one of them changed: of
 * the resolvers of the configuration that was in force then.
 */
struct message_dialler_status {
	unsigned int resolver_count;
	char names[DIALLER_RESOLVERS_MAX][RESOLVER_NAME_SIZE];
	struct message_resolver_state resolvers[DIALLER_RESOLVERS_MAX];
};

/* MSG_DIALLER_DETACH: a generation that is not attached is ignored. */
struct message_dialler_detach {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
};

void message_dialler_config_encode(struct wr *w,
    const struct message_dialler_config *m);
/*
 * All: 0, or -EBADMSG for fields that no honest sender writes; what ret holds
 * then is of no use.
 */
int message_dialler_config_decode(struct rd *r,
    struct message_dialler_config *ret);
void message_dialler_addresses_encode(struct wr *w,
    const struct message_dialler_addresses *m);
int message_dialler_addresses_decode(struct rd *r,
    struct message_dialler_addresses *ret);
void message_dialler_sandbox_encode(struct wr *w,
    const struct message_dialler_sandbox *m);
int message_dialler_sandbox_decode(struct rd *r,
    struct message_dialler_sandbox *ret);
void message_dialler_detach_encode(struct wr *w,
    const struct message_dialler_detach *m);
int message_dialler_detach_decode(struct rd *r,
    struct message_dialler_detach *ret);
/* "unknown", "connecting", "up", "down". */
const char *resolver_state_name(uint8_t state);
void message_resolver_state_encode(struct wr *w,
    const struct message_resolver_state *m);
void message_resolver_state_decode(struct rd *r,
    struct message_resolver_state *ret); /* fails r for what none writes */
void message_dialler_status_encode(struct wr *w,
    const struct message_dialler_status *m);
int message_dialler_status_decode(struct rd *r,
    struct message_dialler_status *ret);

#endif
