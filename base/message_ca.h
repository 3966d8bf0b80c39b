/*
 * Supervisor and tapward-ca: the process that makes each sandbox's CA and the
 * index of roots for origins (proxy/roots.h), so that the supervisor never
 * links a TLS library or reads a key.
 */
#ifndef TAPWARD_BASE_MESSAGE_CA_H
#define TAPWARD_BASE_MESSAGE_CA_H

#include "base/bytes.h"
#include "base/names.h"

#define CA_COMMON_NAME_SIZE 64
/* Private CAs of a host's configuration: sections, and patterns of one. */
#define CA_SETS_MAX 64
#define CA_SET_HOSTS_MAX 32
#define CA_SET_PATTERN_SIZE (HOST_NAME_SIZE + 3) /* "**." and a name */
#define CA_SET_AT_SIZE 224                       /* a path, ":" and a line */

struct message_ca_make {
	char common_name[CA_COMMON_NAME_SIZE]; /* "tapward sandbox CA ..." */
	uint32_t lifetime_s;
};

/*
 * One [ca NAME]: by which roots these hosts are verified. An index is a
 * transaction: any number of MSG_ROOTS_SET, each with a descriptor of its file,
 * then MSG_ROOTS_MAKE, which is answered.
 */
struct message_ca_set {
	char name[CREDENTIAL_NAME_SIZE];
	char at[CA_SET_AT_SIZE]; /* "FILE:LINE", for error texts */
	char file[CA_SET_AT_SIZE];
	bool is_only; /* the public ones do not count there */
	unsigned int host_count;
	char hosts[CA_SET_HOSTS_MAX][CA_SET_PATTERN_SIZE];
};

/* MSG_ROOTS_MAKE */
struct message_ca_roots {
	uint32_t set_count; /* sent since the last one */
};

/* ok false: no descriptor comes along, text says why. */
struct message_ca_result {
	bool ok;
	uint32_t count; /* public roots indexed; 0 for a CA */
	char text[768];
};

void message_ca_make_encode(struct wr *w, const struct message_ca_make *m);
int message_ca_make_decode(struct rd *r, struct message_ca_make *ret);
void message_ca_set_encode(struct wr *w, const struct message_ca_set *m);
int message_ca_set_decode(struct rd *r, struct message_ca_set *ret);
void message_ca_roots_encode(struct wr *w, const struct message_ca_roots *m);
int message_ca_roots_decode(struct rd *r, struct message_ca_roots *ret);
void message_ca_result_encode(struct wr *w, const struct message_ca_result *m);
int message_ca_result_decode(struct rd *r, struct message_ca_result *ret);

#endif
