/*
 * See guest_env.h. Most clients take one of these files instead of the
 * system's (facts: registries), Node adds to its own.
 */
#include "cli/guest_env.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/names.h"
#include "wire/sigv4.h"

static const struct {
	const char *variable;
	const char *readers;
	bool is_added; /* to what it trusts already; else instead of it */
} env_ca_variables[] = {
	{ "SSL_CERT_FILE", "OpenSSL, Go, Ruby, Rust", false },
	{ "CURL_CA_BUNDLE", "curl, Python requests", false },
	{ "REQUESTS_CA_BUNDLE", "Python requests, pip", false },
	{ "PIP_CERT", "pip", false },
	{ "GIT_SSL_CAINFO", "git", false },
	{ "CARGO_HTTP_CAINFO", "cargo", false },
	{ "NODE_EXTRA_CA_CERTS", "node, npm, yarn, pnpm", true },
	/* npm's own setting hides the one above where it is set */
	{ "NPM_CONFIG_CAFILE", "npm", false },
	{ "YARN_HTTPS_CA_FILE_PATH", "yarn 2 and later", false },
	{ "DENO_CERT", "deno", false },
	{ "BUNDLE_SSL_CA_CERT", "bundler", false },
	{ "COMPOSER_CAFILE", "composer", false },
	{ "PERL_LWP_SSL_CA_FILE", "LWP, cpanm", false },
	{ "AWS_CA_BUNDLE", "AWS clients", false },
	{ "NIX_SSL_CERT_FILE", "nix", false },
};

static const char *const env_proxy_variables[] = { "HTTP_PROXY", "HTTPS_PROXY",
	"http_proxy", "https_proxy" };

/*
 * What is the guest's own goes past the proxy. Clients differ in whether they
 * read small or capital letters, and whether a name covers those below it.
 */
#define ENV_NO_PROXY "localhost,.localhost,127.0.0.1,::1"

static const struct {
	const char *variable, *value;
} env_beside_proxy[] = {
	{ "NO_PROXY", ENV_NO_PROXY }, { "no_proxy", ENV_NO_PROXY },
	{ "NODE_USE_ENV_PROXY", "1" }, /* node 22.21 and later */
};

/*
 * What AWS's SDKs look for: a key that they can sign with. Of more than one
 * the first is theirs.
 */
static void
take_aws_key(const char *key_id, const char *region, guest_env_take *take,
    void *arg)
{
	char secret[SIGV4_PLACEHOLDER_SIZE];

	if (sigv4_placeholder_secret(key_id, secret) != 0)
		return;
	take("AWS_ACCESS_KEY_ID", key_id, arg);
	take("AWS_SECRET_ACCESS_KEY", secret, arg);
	take("AWS_REGION", region, arg);
	take("AWS_DEFAULT_REGION", region, arg);
}

/* TAPWARD_CREDENTIAL_NAME, with what a variable may not hold as '_'. */
static void
take_placeholder(const char *name, const char *placeholder,
    guest_env_take *take, void *arg)
{
	char variable[32 + CREDENTIAL_NAME_SIZE] = "TAPWARD_CREDENTIAL_";
	size_t at = strlen(variable);

	/* A client certificate has none: a guest sends nothing for it. */
	if (*placeholder == '\0')
		return;

	for (const char *p = name; *p != '\0' && at < sizeof(variable) - 1;
	     p++) {
		uint8_t c = (uint8_t)*p;

		if (!ascii_is_alnum(c))
			c = '_';
		else if (ascii_lower(c) == c && !ascii_is_digit(c))
			c = (uint8_t)(c - ('a' - 'A'));
		variable[at++] = (char)c;
	}
	variable[at] = '\0';
	take(variable, placeholder, arg);
}

static const char *
env_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "" : text;
}

void
guest_env_each(const json_t *s, const char *bundle, const char *ca, bool proxy,
    guest_env_take *take, void *arg)
{
	const json_t *all = json_object_get(s, "credentials");
	const char *url = env_text(s, "proxy");
	size_t i;
	json_t *c;

	take("TAPWARD_SANDBOX", env_text(s, "name"), arg);
	take("TAPWARD_PROXY", url, arg);
	for (i = 0; bundle != NULL &&
	     i < sizeof(env_ca_variables) / sizeof(*env_ca_variables);
	     i++)
		take(env_ca_variables[i].variable,
		    env_ca_variables[i].is_added ? ca : bundle, arg);
	for (i = 0; proxy &&
	     i < sizeof(env_proxy_variables) / sizeof(*env_proxy_variables);
	     i++)
		take(env_proxy_variables[i], url, arg);
	for (i = 0;
	     proxy && i < sizeof(env_beside_proxy) / sizeof(*env_beside_proxy);
	     i++)
		take(env_beside_proxy[i].variable, env_beside_proxy[i].value,
		    arg);
	json_array_foreach(all, i, c) take_placeholder(env_text(c, "name"),
	    env_text(c, "placeholder"), take, arg);
	json_array_foreach(all, i, c)
	{
		if (env_text(c, "region")[0] == '\0')
			continue;
		take_aws_key(env_text(c, "placeholder"), env_text(c, "region"),
		    take, arg);
		break;
	}
}
