/*
 * What learn.c, learn_preset.c and learn_rule.c share. For nobody else.
 */
#ifndef TAPWARD_CONF_LEARN_PRIVATE_H
#define TAPWARD_CONF_LEARN_PRIVATE_H

#include "base/names.h"
#include "conf/learn.h"
#include "conf/vec.h"
#include "conf/words.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443
/* As many as a word has bits: HTTP has some forty, WebDAV's with them. */
#define LEARN_METHODS_MAX 32

/* What rule it takes. */
enum learn_kind {
	LEARN_PLAIN,
	LEARN_FETCH,  /* git reads a repository: its path is the repository */
	LEARN_TUNNEL, /* name and port, and nothing else was seen */
};

struct learn_asked {
	char host[HOST_NAME_SIZE];
	uint16_t port;
	enum audit_scheme scheme; /* never AUDIT_SCHEME_NONE */
	enum learn_kind kind;
	char *target; /* owned */
	char credential[CREDENTIAL_NAME_SIZE];
	uint32_t method;  /* number */
	uint32_t methods; /* of all that ask for its path, as bits */
	uint64_t count;
	bool is_other;   /* its port speaks something else in another one */
	bool is_covered; /* by a preset that was taken */
	bool is_written; /* in a rule */
};

struct learn {
	struct vec all; /* struct learn_asked */
	char methods[LEARN_METHODS_MAX][METHOD_NAME_SIZE];
	size_t method_count;
};

struct learn_asked *learn_at(const struct learn *l, size_t i);
/* Its path without the query; of LEARN_FETCH the repository's. */
struct span learn_path(const struct learn_asked *a);
bool learn_is_same_place(const struct learn_asked *a,
    const struct learn_asked *b);
bool learn_is_websocket(const struct learn_asked *a);
/* b is still to be written, by a rule that is written for a. */
bool learn_is_same_rule(const struct learn_asked *a,
    const struct learn_asked *b);

/* Can it stand in a policy, and is it then this path and no other? */
bool learn_is_writable(struct span path);

/* Takes presets as long as one fits. 0 or -ENOMEM. */
int learn_write_presets(struct learn *l, struct wr *w);
/* [allow NAME] or [git NAME] for a and whatever the same rule is for. */
void learn_write_rule(struct learn *l, const struct learn_asked *a,
    const char *name, struct wr *w);

#endif
