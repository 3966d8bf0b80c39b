/*
 * Supervisor and broker: the credentials of the host's configuration, and
 * which sandbox, owned by whom, is at the end of which channel.
 *
 * A set of credentials is a transaction: any number of MSG_BROKER_CREDENTIAL,
 * then MSG_BROKER_CONFIGURED, which is answered by a struct message_done of
 * its id (MSG_BROKER_DONE). Not ok: the whole new set is dropped and the one
 * before stays in force. ATTACH and POLICY are answered the same way, DETACH
 * and UPSTREAM are not. MSG_BROKER_UPSTREAM comes before the first set: its
 * body is a struct message_dialler_config, of which the resolvers, the proxy
 * and the limits of resolving count; its descriptors are those of that struct.
 * MSG_BROKER_ROOTS has the index of roots (proxy/roots.h) and may come at any
 * time.
 * MSG_BROKER_JOURNAL comes before it, and has an empty body.
 */
#ifndef TAPWARD_BASE_MESSAGE_BROKER_H
#define TAPWARD_BASE_MESSAGE_BROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/message_lease.h"
#include "base/names.h"

#define BROKER_CREDENTIALS_MAX 256
#define BROKER_HOSTS_MAX 32
#define BROKER_METHODS_MAX 16
#define BROKER_PATHS_MAX 32
#define BROKER_PATH_SIZE 512
#define BROKER_GRANTS_MAX 32
#define BROKER_SOURCE_SIZE 256
/* A user's or a group's name: 32 and a NUL in shadow, some room beyond. */
#define BROKER_PRINCIPAL_SIZE 65
#define BROKER_GROUPS_MAX 64
#define BROKER_SETTINGS_MAX 32
#define BROKER_SETTING_NAME_SIZE 24
#define BROKER_SETTING_SIZE 192 /* no line is longer */
/* Secrets of one credential beside `value`: a key, a client's secret. */
#define BROKER_SOURCES_MAX 4

enum broker_kind {
	BROKER_KIND_STATIC, /* the value as its source holds it; one fd */
	BROKER_KIND_OAUTH2,
	BROKER_KIND_AWS,
	BROKER_KIND_OCI,
	BROKER_KIND_GITHUB_APP,
	BROKER_KIND_EXEC,
	BROKER_KIND_VAULT,
	BROKER_KIND_GCP,
	BROKER_KIND_AZURE,
	BROKER_KIND_CERTIFICATE,
	BROKER_KIND_COUNT
};

/*
 * A key that only some kinds take, as written; one that is a list comes once
 * for each item. What each kind takes is in conf/hostconf_setting.c.
 */
struct message_broker_setting {
	char name[BROKER_SETTING_NAME_SIZE];
	char text[BROKER_SETTING_SIZE];
	bool is_source; /* text says where a secret lies */
	bool is_open;   /* and a descriptor of it comes with the message */
};

enum broker_owner {
	BROKER_OWNER_ROOT, /* the grant names none: sandboxes of uid 0 */
	BROKER_OWNER_USER,
	BROKER_OWNER_GROUP,
	BROKER_OWNER_COUNT
};

/* `grant = ci-* user:ci-runner`; name and owner must both fit. */
struct message_broker_grant {
	char name[SANDBOX_NAME_SIZE]; /* '*' stands for any run of bytes */
	uint8_t owner;                /* enum broker_owner */
	char principal[BROKER_PRINCIPAL_SIZE]; /* "" for OWNER_ROOT */
};

/* MSG_BROKER_CREDENTIAL: one definition, about 45 KiB in memory. */
struct message_broker_credential {
	char name[CREDENTIAL_NAME_SIZE];
	uint8_t kind; /* enum broker_kind */
	/* how the source is written in the configuration, for error texts */
	char source[BROKER_SOURCE_SIZE];
	uint8_t apply;                     /* enum lease_apply */
	char field[LEASE_FIELD_NAME_SIZE]; /* as in struct message_lease */
	char user[LEASE_USER_SIZE];        /* for APPLY_BASIC */
	char placeholder[LEASE_USER_SIZE];
	unsigned int strip_count;
	char strip[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE]; /* lower case */
	/* the same of answers */
	unsigned int strip_response_count;
	char strip_response[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE];
	bool keeps_set_cookie; /* which else goes, too */
	/* exact canonical names; at least one */
	unsigned int host_count;
	char hosts[BROKER_HOSTS_MAX][HOST_NAME_SIZE];
	uint16_t port;
	unsigned int method_count; /* 0: any */
	char methods[BROKER_METHODS_MAX][METHOD_NAME_SIZE];
	unsigned int path_count; /* 0: any */
	char paths[BROKER_PATHS_MAX][BROKER_PATH_SIZE];
	unsigned int deny_path_count;
	char deny_paths[BROKER_PATHS_MAX][BROKER_PATH_SIZE];
	bool serves_websocket;    /* may open one */
	unsigned int grant_count; /* 0: nobody */
	struct message_broker_grant grants[BROKER_GRANTS_MAX];
	unsigned int setting_count;
	struct message_broker_setting settings[BROKER_SETTINGS_MAX];
};
/*
 * The descriptors of MSG_BROKER_CREDENTIAL: that of `source`, if it could be
 * opened, then those of the settings that say is_open, in their order.
 */
#define BROKER_CREDENTIAL_FDS_MAX (1 + BROKER_SOURCES_MAX)

/* MSG_BROKER_CONFIGURED */
struct message_broker_configured {
	uint32_t credential_count; /* sent since the last CONFIGURED */
	uint32_t lease_max_s;      /* how long a gate may keep a lease */
};

/* The descriptors of MSG_BROKER_ATTACH, in this order. */
enum broker_attach_fd {
	BROKER_ATTACH_GATE, /* channels */
	BROKER_ATTACH_RECORDER,
	BROKER_ATTACH_POLICY,  /* sealed memfd */
	BROKER_ATTACH_CEILING, /* sealed memfd; only if has_ceiling */
};

/* Attaching a name that is attached replaces it and ends its leases. */
struct message_broker_attach {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	bool has_ceiling;
	uid_t owner_uid;
	char owner_user[BROKER_PRINCIPAL_SIZE]; /* "": the uid has no name */
	unsigned int group_count;
	char groups[BROKER_GROUPS_MAX][BROKER_PRINCIPAL_SIZE];
};

/* MSG_BROKER_POLICY (descriptors: policy and, if has_ceiling, ceiling). */
struct message_broker_policy {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
	bool has_ceiling;
};

/* MSG_BROKER_DETACH: a generation that is not attached is ignored. */
struct message_broker_detach {
	char sandbox[SANDBOX_NAME_SIZE];
	uint64_t generation;
};

/* MSG_LEASE_REVOKED: broker to gate; "" means every credential. */
struct message_lease_revoked {
	char credential[CREDENTIAL_NAME_SIZE];
};

void message_broker_credential_encode(struct wr *w,
    const struct message_broker_credential *m);
/*
 * All: 0, or -EBADMSG for fields that no honest sender writes; what ret holds
 * then is of no use.
 */
int message_broker_credential_decode(struct rd *r,
    struct message_broker_credential *ret);
void message_broker_configured_encode(struct wr *w,
    const struct message_broker_configured *m);
int message_broker_configured_decode(struct rd *r,
    struct message_broker_configured *ret);
void message_broker_attach_encode(struct wr *w,
    const struct message_broker_attach *m);
int message_broker_attach_decode(struct rd *r,
    struct message_broker_attach *ret);
void message_broker_policy_encode(struct wr *w,
    const struct message_broker_policy *m);
int message_broker_policy_decode(struct rd *r,
    struct message_broker_policy *ret);
void message_broker_detach_encode(struct wr *w,
    const struct message_broker_detach *m);
int message_broker_detach_decode(struct rd *r,
    struct message_broker_detach *ret);
void message_lease_revoked_encode(struct wr *w,
    const struct message_lease_revoked *m);
int message_lease_revoked_decode(struct rd *r,
    struct message_lease_revoked *ret);

#endif
