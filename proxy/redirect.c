/*
 * Grants of redirects, see redirect.h.
 */
#include "proxy/redirect.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "wire/path.h"

#define PORT_HTTPS 443
#define DIGEST_BYTES REDIRECT_DIGEST_BYTES
/* Of a grant that is for reading, whoever follows. */
#define WHAT_REDIRECT ""

struct grant {
	uint8_t digest[DIGEST_BYTES]; /* of host, path and query */
	uint64_t until_boot_ms;       /* 0: none */
	uint32_t generation;
};

struct redirects {
	struct grant grants[REDIRECT_GRANTS];
	size_t next;
};

static bool
take_text(struct span *s, const char *text)
{
	size_t len = strlen(text);

	if (s->len < len || !span_is_case((struct span){ s->ptr, len }, text))
		return false;
	*s = (struct span){ s->ptr + len, s->len - len };
	return true;
}

/* What is before the first of two bytes, which stays; all without one. */
static struct span
take_until(struct span *s, char a, char b)
{
	size_t i = 0;
	struct span head;

	while (i < s->len && s->ptr[i] != (uint8_t)a && s->ptr[i] != (uint8_t)b)
		i++;
	head = (struct span){ s->ptr, i };
	*s = (struct span){ s->ptr + i, s->len - i };
	return head;
}

uint16_t
redirect_port(const struct redirect_target *t)
{
	return t->authority.has_port ? t->authority.port : PORT_HTTPS;
}

bool
redirect_read(struct span location, struct redirect_target *ret)
{
	struct redirect_target t;

	if (!redirect_read_url(location, &t) || redirect_port(&t) != PORT_HTTPS)
		return false;
	*ret = t;
	return true;
}

bool
redirect_read_url(struct span url, struct redirect_target *ret)
{
	struct redirect_target t = { .has_query = false };
	struct span left = url, authority;

	if (url.len == 0 || url.len > REDIRECT_LOCATION_MAX)
		return false;
	for (size_t i = 0; i < url.len; i++) {
		uint8_t c = url.ptr[i];

		if (c <= ' ' || c >= 0x7f || c == '#' || c == '\\' || c == '"')
			return false;
	}
	if (!take_text(&left, "https://"))
		return false;
	authority = take_until(&left, '/', '?');
	if (authority_parse(authority, &t.authority) != AUTHORITY_OK)
		return false;
	t.path = take_until(&left, '?', '?');
	/* A client would write the '/' itself, or not: it is not one URL. */
	if (t.path.len == 0 || path_read(t.path).is_ambiguous)
		return false;
	t.has_query = left.len > 0;
	if (t.has_query)
		t.query = (struct span){ left.ptr + 1, left.len - 1 };
	*ret = t;
	return true;
}

/* The texts hold no NUL, so one between them keeps them apart. */
bool
redirect_digest(const struct redirect_url *url, uint8_t ret[DIGEST_BYTES])
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	const uint8_t marks[] = { (uint8_t)(url->port >> 8),
		(uint8_t)(url->port & 0xff), url->has_query ? '?' : '-' };
	unsigned int len = 0;
	bool is_ok = md != NULL &&
	    EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 &&
	    EVP_DigestUpdate(md, url->what, strlen(url->what) + 1) == 1 &&
	    EVP_DigestUpdate(md, url->host, strlen(url->host) + 1) == 1 &&
	    EVP_DigestUpdate(md, url->path.ptr, url->path.len) == 1 &&
	    EVP_DigestUpdate(md, "", 1) == 1 &&
	    EVP_DigestUpdate(md, marks, sizeof(marks)) == 1 &&
	    EVP_DigestUpdate(md, url->query.ptr, url->query.len) == 1 &&
	    EVP_DigestFinal_ex(md, ret, &len) == 1 && len == DIGEST_BYTES;

	EVP_MD_CTX_free(md);
	return is_ok;
}

static bool
is_live(const struct gate *g, const struct grant *grant)
{
	return grant->until_boot_ms > clock_boot_ms() &&
	    grant->generation == g->policy_generation;
}

/* The same URL's, else one that is over, else the oldest. */
static struct grant *
place_for(struct gate *g, const uint8_t digest[DIGEST_BYTES])
{
	struct redirects *all = g->redirects;
	struct grant *over = NULL;

	for (size_t i = 0; i < REDIRECT_GRANTS; i++) {
		struct grant *at = &all->grants[i];

		if (memcmp(at->digest, digest, DIGEST_BYTES) == 0)
			return at;
		if (over == NULL && !is_live(g, at))
			over = at;
	}
	if (over == NULL) {
		over = &all->grants[all->next];
		all->next = (all->next + 1) % REDIRECT_GRANTS;
	}
	return over;
}

void
redirect_grant(struct gate *g, const struct redirect_target *t,
    uint32_t seconds)
{
	const struct redirect_url url = { WHAT_REDIRECT, t->authority.host,
		PORT_HTTPS, t->path, t->query, t->has_query };
	uint8_t digest[DIGEST_BYTES];
	struct grant *at;

	if (g->redirects == NULL || !redirect_digest(&url, digest))
		return;
	at = place_for(g, digest);
	memcpy(at->digest, digest, DIGEST_BYTES);
	at->until_boot_ms = clock_boot_ms() + (uint64_t)seconds * 1000;
	at->generation = g->policy_generation;
}

bool
redirect_is_granted(const struct gate *g, const char *host, struct span path,
    struct span query, bool has_query)
{
	const struct redirect_url url = { WHAT_REDIRECT, host, PORT_HTTPS, path,
		query, has_query };
	uint8_t digest[DIGEST_BYTES];

	if (g->redirects == NULL || !redirect_digest(&url, digest))
		return false;
	for (size_t i = 0; i < REDIRECT_GRANTS; i++) {
		const struct grant *at = &g->redirects->grants[i];

		if (is_live(g, at) &&
		    memcmp(at->digest, digest, DIGEST_BYTES) == 0)
			return true;
	}
	return false;
}

int
redirects_new(struct gate *g)
{
	g->redirects = calloc(1, sizeof(*g->redirects));
	return g->redirects == NULL ? -ENOMEM : 0;
}

void
redirects_free(struct gate *g)
{
	free(g->redirects);
	g->redirects = NULL;
}
