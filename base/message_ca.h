/*
 * Supervisor and tapward-ca: the process that makes each sandbox's CA and the
 * index of roots for origins (proxy/roots.h), so that the supervisor never
 * links a TLS library or reads a key.
 */
#ifndef TAPWARD_BASE_MESSAGE_CA_H
#define TAPWARD_BASE_MESSAGE_CA_H

#include "base/bytes.h"

#define CA_COMMON_NAME_SIZE 64

struct message_ca_make {
	char common_name[CA_COMMON_NAME_SIZE]; /* "tapward sandbox CA ..." */
	uint32_t lifetime_s;
};

/* ok false: no descriptor comes along, text says why. */
struct message_ca_result {
	bool ok;
	uint32_t count; /* roots indexed; 0 for a CA */
	char text[256];
};

void message_ca_make_encode(struct wr *w, const struct message_ca_make *m);
int message_ca_make_decode(struct rd *r, struct message_ca_make *ret);
void message_ca_result_encode(struct wr *w, const struct message_ca_result *m);
int message_ca_result_decode(struct rd *r, struct message_ca_result *ret);

#endif
