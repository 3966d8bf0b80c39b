/*
 * Redirects that a guest may follow: an answer to a request that a rule with
 * `redirect` allowed grants its Location, that URL and no other, for so long.
 * Grants are of one policy; a reload ends them. They are kept as digests, a
 * fixed number: another one takes the place of the oldest.
 */
#ifndef TAPWARD_PROXY_REDIRECT_H
#define TAPWARD_PROXY_REDIRECT_H

#include <stdbool.h>

#include "base/bytes.h"
#include "proxy/gate.h"
#include "wire/authority.h"

/* Of one gate at once. */
#define REDIRECT_GRANTS 64
/* Longest Location that is read. */
#define REDIRECT_LOCATION_MAX 8192

struct redirects;

/* A URL as a Location has it. */
struct redirect_target {
	struct authority authority;
	struct span path;
	struct span query; /* behind the '?' */
	bool has_query;
};

/*
 * Reads a URL: https, a host name, a path that is read in one way, printable
 * ASCII; no user, no fragment, nothing relative. False for everything else.
 * Borrows.
 */
bool redirect_read_url(struct span url, struct redirect_target *ret);
uint16_t redirect_port(const struct redirect_target *t);
/*
 * Reads a Location: the same, on port 443. False for everything else, which
 * grants nothing. Borrows.
 */
bool redirect_read(struct span location, struct redirect_target *ret);

/* What a grant is known by: who asks and how (what), and the URL. */
#define REDIRECT_DIGEST_BYTES 32
struct redirect_url {
	const char *what;
	const char *host;
	uint16_t port;
	struct span path, query;
	bool has_query;
};
/* False: memory is short. */
bool redirect_digest(const struct redirect_url *url,
    uint8_t ret[REDIRECT_DIGEST_BYTES]);

/* 0 or -ENOMEM. */
int redirects_new(struct gate *g);
void redirects_free(struct gate *g);
/* Grants the target for so many seconds. */
void redirect_grant(struct gate *g, const struct redirect_target *t,
    uint32_t seconds);
/* Is it granted now, under the policy in force? */
bool redirect_is_granted(const struct gate *g, const char *host,
    struct span path, struct span query, bool has_query);

#endif
