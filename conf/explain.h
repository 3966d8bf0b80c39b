/*
 * Why would this be allowed or denied: the same functions that the gate asks,
 * put to a URL that a person writes.
 */
#ifndef TAPWARD_CONF_EXPLAIN_H
#define TAPWARD_CONF_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "conf/policy.h"
#include "wire/host.h"

#define EXPLAIN_HINT_SIZE 384
/* Room for explain_write(). */
#define EXPLAIN_TEXT_MAX_BYTES 2048

struct explanation {
	/* what was asked, as the gate would see it */
	char host[HOST_SIZE];
	uint16_t port;
	enum scheme scheme;
	bool is_request;   /* else the connection only: no path was given */
	bool is_websocket; /* wss:// or ws:// */
	bool is_name;      /* a question for a name: dns:// */
	bool
	    is_packet; /* refused before any name is read: udp://, an address */
	uint32_t address; /* that the name always gets, host order; 0: none */
	/* the answer; strings borrow from the policies */
	struct verdict verdict;
	char code[48];             /* "" when allowed */
	bool is_connection_denied; /* before any request */
	bool is_inside_seen;       /* inspected: method and path were judged */
	/*
	 * what would change it, "" if nothing; of what is learned, what would
	 * have the policy say it
	 */
	char hint[EXPLAIN_HINT_SIZE];
};

/*
 * target is a URL (https, http, wss, ws, tcp://HOST:PORT) or
 * HOST[:PORT][/PATH], which means https. dns://NAME asks what becomes of a
 * question for a name, tcp://ADDRESS:PORT and udp://HOST-OR-ADDRESS:PORT of a
 * packet. Without a path the connection is
 * judged, with one, or for a WebSocket, a request; method NULL means GET.
 * -EINVAL and err set when it is neither.
 */
int explain(const struct policy_pair *pair, const char *target,
    const char *method, struct explanation *ret, struct err *err);

/*
 * One command of a push: repo is a URL or HOST[:PORT]/PATH of a repository,
 * with or without .git; operation none means an update. -EINVAL and err set
 * when ref is no reference, or repo no repository.
 */
int explain_push(const struct policy_pair *pair, const char *repo,
    const char *ref, enum git_operation operation, struct explanation *ret,
    struct err *err);

/* Lines of "key: value" for a person. */
void explain_write(struct wr *w, const struct explanation *e);

/* The exit status of `tapward explain`: 0 allow, 1 deny, 2 ask. */
int explain_status(const struct explanation *e);

#endif
