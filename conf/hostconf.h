/*
 * The host's configuration (/etc/tapward/tapward.ini), parsed and checked,
 * with every default filled in. Pure: text comes in as bytes, nothing is
 * opened or looked up here, and no secret is in it, only where one lies.
 *
 * Where a child of the supervisor needs a part of it, that part has the shape
 * of the message that carries it there.
 */
#ifndef TAPWARD_CONF_HOSTCONF_H
#define TAPWARD_CONF_HOSTCONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/message_broker.h"
#include "base/message_ca.h"
#include "base/message_dialler.h"
#include "base/message_gate.h"
#include "base/process.h"
#include "conf/limits.h"

#define HOSTCONF_TEXT_MAX_BYTES (1u << 20)
#define HOSTCONF_PATH_SIZE 192   /* no line is longer */
#define HOSTCONF_RUN_DIR_SIZE 57 /* sockets below it must fit sun_path */
#define HOSTCONF_GROUP_SIZE 33
#define HOSTCONF_POOL_MAX 1024
#define HOSTCONF_ROTATE_MIN_BYTES 1000000u

enum hostconf_source {
	HOSTCONF_SOURCE_FILE,       /* an absolute path */
	HOSTCONF_SOURCE_ENV,        /* a variable of the supervisor */
	HOSTCONF_SOURCE_CREDENTIAL, /* $CREDENTIALS_DIRECTORY/NAME (systemd) */
};

/* One [credential NAME]. */
struct hostconf_credential {
	struct message_broker_credential *def; /* owned */
	enum hostconf_source source;
	const char *place; /* what follows "file:"; borrows from def->source */
	unsigned int line;
	unsigned int setting_lines[BROKER_SETTINGS_MAX];
};

/* One [address NAME]. */
struct hostconf_address {
	char name[CREDENTIAL_NAME_SIZE];
	unsigned int line;
	struct message_exception exception;
};

/* One [ca NAME]. */
struct hostconf_ca {
	struct message_ca_set set;
	unsigned int line, file_line;
};

struct hostconf {
	/* [daemon] */
	char run_dir[HOSTCONF_RUN_DIR_SIZE];
	char state_dir[HOSTCONF_PATH_SIZE];
	char log_dir[HOSTCONF_PATH_SIZE];
	char group[HOSTCONF_GROUP_SIZE];
	uint32_t uid_first, uid_last;
	bool has_metrics;
	struct message_address metrics_address;
	uint16_t metrics_port;
	/* [network]; IPv4 in host byte order */
	unsigned int pool;
	uint32_t guest_ip;
	uint32_t gateway_ip;
	uint8_t prefix_len; /* of both */
	uint32_t synthetic_net;
	uint8_t synthetic_prefix_len;
	/* [upstream]; no resolver: those of the host's resolv.conf */
	unsigned int resolver_count;
	struct message_resolver resolvers[DIALLER_RESOLVERS_MAX];
	char ca_file[HOSTCONF_PATH_SIZE];
	bool passthrough_ech;
	/* host "": none; has_password is the supervisor's to fill in */
	struct message_proxy proxy;
	char proxy_password[HOSTCONF_PATH_SIZE]; /* "file:/PATH"; "": none */
	/* [address NAME] */
	struct hostconf_address *addresses;
	size_t address_count;
	/* [ca NAME] */
	struct hostconf_ca *cas;
	size_t ca_count;
	/* [ceiling]: false when `policy = none` was written out */
	bool has_ceiling;
	char ceiling_file[HOSTCONF_PATH_SIZE];
	/* whose sandboxes may learn; none: nobody's */
	unsigned int learn_count;
	struct message_broker_grant learn[BROKER_GRANTS_MAX];
	/* [credential NAME] */
	struct hostconf_credential *credentials;
	size_t credential_count;
	/* [ask]: who is asked before a person; "" nobody */
	char ask_hook[HOSTCONF_PATH_SIZE];
	char ask_run_as[HOSTCONF_GROUP_SIZE]; /* "": a uid of its own */
	uint32_t ask_hook_timeout_ms;
	/* [vm]: `accelerator = tcg`, for a host whose KVM does not work */
	bool has_no_kvm;
	/* [audit]: the log is moved aside above this, or this old; 0: never */
	uint64_t rotate_bytes;
	uint64_t rotate_age_ms;
	/* of what was moved aside; 0: all */
	uint32_t keep_files;
	uint64_t keep_age_ms;
	char anchor[HOSTCONF_PATH_SIZE]; /* "": none */
	/* [limits], by enum limit */
	uint64_t limits[LIMIT_COUNT];
};

/*
 * file is the display name. On success *ret is the caller's; else -EINVAL and
 * err set to "file:line: what, and how to mend it", or -ENOMEM.
 */
int hostconf_parse(const char *file, struct span text, struct hostconf **ret,
    struct err *err);
void hostconf_free(struct hostconf *c); /* NULL is fine */
/*
 * The section that says by which roots host (canonical) is verified, as
 * proxy/roots.h chooses it; NULL: the public ones. Looks at all, for people.
 */
const struct hostconf_ca *hostconf_ca_for(const struct hostconf *c,
    const char *host);

/* The limits in the shapes of those who hold them. */
struct message_gate_limits hostconf_gate_limits(const struct hostconf *c);
struct message_dialler_limits hostconf_dialler_limits(const struct hostconf *c);
struct process_limits hostconf_gate_process(const struct hostconf *c);
struct process_limits hostconf_service_process(const struct hostconf *c);
uint32_t hostconf_lease_max_s(const struct hostconf *c);

#endif
