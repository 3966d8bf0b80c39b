/*
 * See lfs_grants.h.
 */
#include "proxy/lfs_grants.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

struct slot {
	uint8_t digest[REDIRECT_DIGEST_BYTES];
	struct lfs_grant grant; /* until_boot_ms 0: none */
};

struct lfs_grants {
	struct slot slots[LFS_GRANTS];
	size_t next;
};

static bool
is_live(const struct slot *s, uint64_t now)
{
	return s->grant.until_boot_ms > now;
}

/* The same URL's, else one that is over, else the oldest. */
static struct slot *
place_for(struct lfs_grants *all, const uint8_t digest[REDIRECT_DIGEST_BYTES])
{
	struct slot *over = NULL;
	uint64_t now = clock_boot_ms();

	for (size_t i = 0; i < LFS_GRANTS; i++) {
		struct slot *at = &all->slots[i];

		if (memcmp(at->digest, digest, sizeof(at->digest)) == 0)
			return at;
		if (over == NULL && !is_live(at, now))
			over = at;
	}
	if (over == NULL) {
		over = &all->slots[all->next];
		all->next = (all->next + 1) % LFS_GRANTS;
	}
	return over;
}

void
lfs_grant(struct gate *g, const struct redirect_target *t,
    const struct lfs_grant *grant)
{
	const struct redirect_url url = { lfs_action_method(grant->kind),
		t->authority.host, redirect_port(t), t->path, t->query,
		t->has_query };
	uint8_t digest[REDIRECT_DIGEST_BYTES];
	struct slot *at;

	if (g->lfs_grants == NULL)
		g->lfs_grants = calloc(1, sizeof(*g->lfs_grants));
	if (g->lfs_grants == NULL || !redirect_digest(&url, digest))
		return;
	at = place_for(g->lfs_grants, digest);
	memcpy(at->digest, digest, sizeof(at->digest));
	at->grant = *grant;
}

bool
lfs_grant_find(const struct gate *g, const char *method,
    const struct redirect_url *url, struct lfs_grant *ret)
{
	struct redirect_url asked = *url;
	uint8_t digest[REDIRECT_DIGEST_BYTES];
	uint64_t now = clock_boot_ms();

	asked.what = method;
	if (g->lfs_grants == NULL || !redirect_digest(&asked, digest))
		return false;
	for (size_t i = 0; i < LFS_GRANTS; i++) {
		const struct slot *at = &g->lfs_grants->slots[i];

		if (!is_live(at, now) ||
		    memcmp(at->digest, digest, sizeof(digest)) != 0)
			continue;
		*ret = at->grant;
		return true;
	}
	return false;
}

bool
lfs_authorization_digest(struct span value, uint8_t ret[REDIRECT_DIGEST_BYTES])
{
	unsigned int len = 0;

	return EVP_Digest(value.ptr, value.len, ret, &len, EVP_sha256(),
		   NULL) == 1 &&
	    len == REDIRECT_DIGEST_BYTES;
}

void
lfs_grants_free(struct gate *g)
{
	free(g->lfs_grants);
	g->lfs_grants = NULL;
}
