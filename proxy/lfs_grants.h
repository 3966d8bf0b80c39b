/*
 * URLs of LFS objects that a guest may use: the answer to a question about
 * objects that a [git] rule let through grants each URL that it names, with
 * one method, until it says that this ends. They are kept as digests, a fixed
 * number; another one takes the place of the oldest. They outlive a reload,
 * since the policy in force is asked again about each use.
 */
#ifndef TAPWARD_PROXY_LFS_GRANTS_H
#define TAPWARD_PROXY_LFS_GRANTS_H

#include <stdbool.h>

#include "base/bytes.h"
#include "conf/policy.h"
#include "proxy/gate.h"
#include "proxy/redirect.h"
#include "wire/lfs.h"

/* Of one gate at once: two for each object of two questions, and more. */
#define LFS_GRANTS 1024

struct lfs_grant {
	enum lfs_action_kind kind;
	struct policy_lfs rules;
	uint64_t size; /* of the object */
	uint64_t until_boot_ms;
	/*
	 * Of the Authorization that the origin gave for this URL: what a guest
	 * may send along there, and nothing else of that name.
	 */
	bool has_authorization;
	uint8_t authorization[REDIRECT_DIGEST_BYTES];
};

struct lfs_grants;

/* NULL is what a gate begins with: nothing is held before the first grant. */
void lfs_grants_free(struct gate *g);
/* Without memory nothing is granted. */
void lfs_grant(struct gate *g, const struct redirect_target *t,
    const struct lfs_grant *grant);
/* What is granted now for this method and URL; false: nothing. */
bool lfs_grant_find(const struct gate *g, const char *method,
    const struct redirect_url *url, struct lfs_grant *ret);

/* False: memory is short. */
bool lfs_authorization_digest(struct span value,
    uint8_t ret[REDIRECT_DIGEST_BYTES]);

#endif
