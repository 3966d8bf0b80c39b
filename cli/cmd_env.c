/*
 * env: what a guest's shell wants to know. Most clients take one of these
 * files instead of the system's (facts: registries), Node adds to its own.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"

static const struct {
	const char *variable;
	const char *readers;
} env_ca_variables[] = {
	{ "SSL_CERT_FILE", "OpenSSL, Go, Ruby, Rust" },
	{ "CURL_CA_BUNDLE", "curl, Python requests" },
	{ "REQUESTS_CA_BUNDLE", "Python requests, pip" },
	{ "PIP_CERT", "pip" },
	{ "GIT_SSL_CAINFO", "git" },
	{ "CARGO_HTTP_CAINFO", "cargo" },
	{ "NODE_EXTRA_CA_CERTS", "node, npm, yarn, pnpm" },
	/* npm's own setting hides the one above where it is set */
	{ "NPM_CONFIG_CAFILE", "npm" },
	{ "DENO_CERT", "deno" },
	{ "AWS_CA_BUNDLE", "AWS clients" },
	{ "NIX_SSL_CERT_FILE", "nix" },
};

static const char *const env_proxy_variables[] = { "HTTP_PROXY", "HTTPS_PROXY",
	"http_proxy", "https_proxy" };

/* One export; the value between single quotes, as sh(1) reads it. */
static void
env_print(const char *variable, const char *value)
{
	(void)printf("export %s='", variable);
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '\'')
			(void)fputs("'\\''", stdout);
		else
			(void)putchar(*p);
	}
	(void)puts("'");
}

/* TAPWARD_CREDENTIAL_NAME, with what a variable may not hold as '_'. */
static void
env_print_placeholder(const char *name, const char *placeholder)
{
	char variable[32 + CREDENTIAL_NAME_SIZE] = "TAPWARD_CREDENTIAL_";
	size_t at = strlen(variable);

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
	env_print(variable, placeholder);
}

static const char *
env_text(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text == NULL ? "" : text;
}

static void
env_print_all(const json_t *s, const char *ca, bool proxy)
{
	const json_t *all = json_object_get(s, "credentials");
	size_t i;
	json_t *c;

	env_print("TAPWARD_SANDBOX", env_text(s, "name"));
	env_print("TAPWARD_PROXY", env_text(s, "proxy"));
	for (i = 0; i < sizeof(env_ca_variables) / sizeof(*env_ca_variables);
	     i++)
		env_print(env_ca_variables[i].variable, ca);
	for (i = 0; proxy &&
	     i < sizeof(env_proxy_variables) / sizeof(*env_proxy_variables);
	     i++)
		env_print(env_proxy_variables[i], env_text(s, "proxy"));
	json_array_foreach(all, i, c) env_print_placeholder(env_text(c, "name"),
	    env_text(c, "placeholder"));
}

int
cmd_env(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "proxy", no_argument, NULL, 'p' },
		{ "ca", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	char path[SANDBOX_NAME_SIZE + 32];
	const char *ca = NULL, *name;
	bool proxy = false;
	struct reply reply;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'p')
			proxy = true;
		else if (opt == 'c')
			ca = optarg;
		else
			return cli_usage("env", "see tapward(1)");
	}
	name = cli_only_name("env", argc, argv, optind);
	if (name == NULL)
		return CLI_USAGE;
	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", name);
	rc = call_or_complain(cli, "GET", path, NULL, -1, &reply);
	if (rc != 0)
		return rc;
	env_print_all(reply.json, ca != NULL ? ca : env_text(reply.json, "ca"),
	    proxy);
	reply_done(&reply);
	return 0;
}
