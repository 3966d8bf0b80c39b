/*
 * Placeholders, see placeholder.h.
 */
#include "conf/placeholder.h"

#include <stdio.h>
#include <string.h>

#include "conf/siphash.h"

static const char alnum[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
			    "wxyz0123456789";
static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/* A host is named by itself, or by what its name ends with. */
static const struct shape {
	const char *host;
	const char *prefix;
	size_t more; /* bytes behind it */
} shapes[] = {
	{ "github.com", "ghp_", 36 },
	{ "githubcopilot.com", "ghp_", 36 },
	{ "gitlab.com", "glpat-", 20 },
	{ "anthropic.com", "sk-ant-api03-", 95 },
	{ "openai.com", "sk-proj-", 48 },
	{ "generativelanguage.googleapis.com", "AIza", 35 },
	{ "npmjs.org", "npm_", 36 },
	{ "pypi.org", "pypi-AgEIcHlwaS5vcmc", 40 },
	{ "huggingface.co", "hf_", 34 },
	{ "slack.com", "xoxb-", 40 },
	{ "api.stripe.com", "sk_test_", 24 },
	{ "crates.io", "cio", 32 },
	{ "rubygems.org", "rubygems_", 48 },
	{ "sentry.io", "sntrys_", 48 },
	{ "openrouter.ai", "sk-or-v1-", 48 },
	{ "x.ai", "xai-", 48 },
	{ "groq.com", "gsk_", 52 },
};

static bool
is_below(const char *host, const char *domain)
{
	size_t n = strlen(host), m = strlen(domain);

	return n >= m && strcmp(host + n - m, domain) == 0 &&
	    (n == m || host[n - m - 1] == '.');
}

static const struct shape *
find(const struct message_broker_credential *d)
{
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
		for (unsigned int k = 0; k < d->host_count; k++)
			if (is_below(d->hosts[k], shapes[i].host))
				return &shapes[i];
	return NULL;
}

/* Bytes that look drawn, and hang on the name alone. */
static void
fill(char *at, size_t count, const char *alphabet, const char *name)
{
	struct siphash_key key = { 0x7461707761726421, 0 };
	size_t size = strlen(alphabet);

	for (size_t i = 0; i < count; i++) {
		key.k1 = i;
		at[i] = alphabet[siphash(&key, span_of(name)) % size];
	}
	at[count] = '\0';
}

void
placeholder_make(const struct message_broker_credential *d,
    char ret[LEASE_USER_SIZE])
{
	const struct shape *shape = find(d);
	size_t len;

	/* An access key id: what is signed names it (wire/sigv4.h). */
	if (d->apply == LEASE_APPLY_SIGV4) {
		(void)snprintf(ret, LEASE_USER_SIZE, "AKIA");
		fill(ret + 4, 16, base32, d->name);
		return;
	}
	if (shape == NULL)
		(void)snprintf(ret, LEASE_USER_SIZE, "tapward-%s-", d->name);
	else
		(void)snprintf(ret, LEASE_USER_SIZE, "%s", shape->prefix);
	len = strlen(ret);
	fill(ret + len, shape == NULL ? 24 : shape->more, alnum, d->name);
}
