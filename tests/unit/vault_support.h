/*
 * A Vault that follows a script of answers as its HTTP API says them, and looks
 * at what it is asked.
 */
#ifndef TAPWARD_TESTS_UNIT_VAULT_SUPPORT_H
#define TAPWARD_TESTS_UNIT_VAULT_SUPPORT_H

#include "tests/unit/mint_support.h"

#include <cmocka.h>

#include "credential-broker/revoker.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

#define NO_CONTENT "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"
#define DENIED                                                                 \
	"HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\n"         \
	"Connection: close\r\n\r\n{\"errors\":[\"permission denied\"]}"
#define ENVELOPE(lease, life, renewable)                                       \
	"{\"request_id\":\"d2d1\",\"lease_id\":\"" lease                       \
	"\",\"renewable\":" renewable ",\"lease_duration\":" life              \
	",\"wrap_info\":null,"                                                 \
	"\"warnings\":null,"
#define AUTH(token, policies, life, type)                                      \
	JSON ENVELOPE("", "0",                                                 \
	    "false") "\"data\":null,\"auth\":{"                                \
		     "\"client_token\":\"" token                               \
		     "\",\"accessor\":\"acc-" token                            \
		     "\",\"policies\":" policies                               \
		     ",\"token_policies\":" policies                           \
		     ",\"metadata\":null,\"lease_duration\":" life             \
		     ",\"renewable\":true,\"entity_id\":\"\",\"token_type\":"  \
		     "\"" type "\",\"orphan\":false,\"num_uses\":0}}"
#define LOGIN AUTH("hvs.login", "[\"default\",\"broker\"]", "3600", "service")
#define CHILD AUTH("hvs.child", "[\"ci\",\"default\"]", "900", "service")
#define KV2(fields, metadata)                                                  \
	JSON ENVELOPE("", "0",                                                 \
	    "false") "\"data\":{\"data\":" fields                              \
		     ",\"metadata\":{\"created_time\":\"2026-01-01T00:00:"     \
		     "00Z\","                                                  \
		     "\"custom_metadata\":null,\"version\":3" metadata "}},"   \
		     "\"auth\":null}"
#define LIVE ",\"deletion_time\":\"\",\"destroyed\":false"
#define VALUE KV2("{\"token\":\"of-the-vault\\n\",\"login\":\"ci-bot\"}", LIVE)
#define LEASED(lease, life, renewable, value)                                  \
	JSON ENVELOPE(lease, life,                                             \
	    renewable) "\"data\":{\"token\":\"" value                          \
		       "\",\"login\":\"v-ci\"},\"auth\":null}"
#define RENEWED(life)                                                          \
	JSON ENVELOPE("database/creds/ci/abc", life, "true") "\"data\":null,"  \
							     "\"auth\":null}"

/* What a definition says beyond what all do. */
struct keys {
	struct setting at[9];
};

static const struct keys approle = { { { "auth", "approle", NULL },
    { "role-id", "r-1", NULL }, { "secret-id", "file:/s", SECRET } } };

static inline struct message_broker_credential *
definition(const struct issuer *i, const struct keys *keys)
{
	static struct message_broker_credential m;

	(void)free_of(&m, BROKER_KIND_VAULT);
	set_url(&m, "vault-url", i, "");
	set(&m, "vault-policy", "ci", false);
	set(&m, "mount", "secret", false);
	set(&m, "secret", "ci/npm", false);
	set(&m, "field", "token", false);
	set_all(&m, keys->at);
	return &m;
}

static inline struct world *
world_of(struct issuer *i, const char *const *script, const struct keys *keys)
{
	struct world *w = world_at(i, script);

	begin_with(w, definition(i, keys), SECRET "\n");
	return w;
}

static inline struct token *
token_of(const struct world *w)
{
	return LIST_FIRST(&LIST_FIRST(&w->broker->sandboxes)->tokens);
}

/* The nth request begins so, holds (NULL: has no) token, and has this body. */
static inline void
was_asked(const struct issuer *i, unsigned int n, const char *line,
    const char *token, const char *body)
{
	const char *text = i->kept[n], *end;
	char field[128];

	assert_true(n < i->count);
	if (strncmp(text, line, strlen(line)) != 0)
		fail_msg("request %u is no %s:\n%s", n, line, text);
	(void)snprintf(field, sizeof(field), "\r\nX-Vault-Token: %s\r\n",
	    token == NULL ? "" : token);
	if (token == NULL)
		assert_null(strstr(text, "X-Vault-Token"));
	else if (strstr(text, field) == NULL)
		fail_msg("request %u is not by %s:\n%s", n, token, text);
	assert_non_null(strstr(text, "\r\nX-Vault-Request: true\r\n"));
	assert_null(strstr(text, "Wrap"));
	end = strstr(text, "\r\n\r\n") + 4;
	if (strcmp(end, body) != 0)
		fail_msg("request %u asks for %s", n, end);
	if (*body != '\0')
		assert_non_null(
		    strstr(text, "\r\nContent-Type: application/json\r\n"));
}

#define CREATE_BODY                                                            \
	"{\"policies\":[\"ci\"],\"type\":\"service\",\"renewable\":true,"      \
	"\"ttl\":\"900s\",\"display_name\":\"tapward-ci-one\","                \
	"\"meta\":{\"tapward_sandbox\":\"ci-one\","                            \
	"\"tapward_credential\":\"free\"}}"

static inline void
end_sandbox(struct world *w, struct issuer *i, unsigned int want)
{
	token_end(LIST_FIRST(&w->broker->sandboxes), NULL);
	wait_for_count(w, &i->count, want);
	while (revoker_count(w->broker->revoker) > 0)
		turn(w);
}

#endif
