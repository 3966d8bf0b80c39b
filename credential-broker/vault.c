/*
 * Questions to Vault and its answers, see vault.h.
 */
#include "credential-broker/vault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "credential-broker/answer.h"
#include "credential-broker/fetch.h"

#define DURATION_S 900

static const struct vault_login logins[] = {
	{ "token", NULL, NULL, NULL, "auth-token" },
	{ "approle", "role_id", "role-id", "secret_id", "secret-id" },
	{ "jwt", "role", "auth-role", "jwt", "jwt" },
	{ "kubernetes", "role", "auth-role", "jwt", "jwt" },
};

static const char *const engines[] = {
	[VAULT_KV2] = "kv2",
	[VAULT_KV1] = "kv1",
	[VAULT_DYNAMIC] = "dynamic",
};

void
vault_lease_done(struct vault_lease *l)
{
	secret_done(&l->id);
	l->end_boot_ms = 0;
}

/* --- what the definition says --------------------------------------------- */

/* Goes into a field of requests, or onto a line of what we keep. */
static bool
is_token(struct span s)
{
	return s.len > 0 && s.len <= VAULT_TOKEN_MAX_BYTES &&
	    span_printable(s) == s.len && memchr(s.ptr, ' ', s.len) == NULL;
}

static int
read_login(const struct credential *c, struct vault *v, struct err *err)
{
	const char *name = credential_setting(c, "auth");
	const struct secret *secret;

	for (size_t i = 0; i < sizeof(logins) / sizeof(logins[0]); i++)
		if (name != NULL && strcmp(name, logins[i].name) == 0)
			v->login = &logins[i];
	if (v->login == NULL)
		return err_at(err, NULL, 0,
		    "auth is `token`, `approle`, `jwt` or `kubernetes`");
	if (v->login->id_key != NULL &&
	    credential_setting(c, v->login->id_key) == NULL)
		return err_at(err, NULL, 0, "auth = %s needs `%s = NAME`", name,
		    v->login->id_key);
	secret = credential_secret(c, v->login->secret_key);
	if (secret == NULL)
		return err_at(err, NULL, 0, "auth = %s needs `%s = file:/PATH`",
		    name, v->login->secret_key);
	if (v->login->id_key == NULL && !is_token(secret_span(secret)))
		return err_at(err, NULL, 0,
		    "%s does not hold a token of Vault: one line without "
		    "blanks",
		    v->login->secret_key);
	return 0;
}

/* A key that would not be used is one that somebody relies on. */
static int
refuse_unused(const struct credential *c, const struct vault *v,
    struct err *err)
{
	static const char *const keys[] = { "auth-mount", "auth-role",
		"auth-token", "role-id", "secret-id", "jwt" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const bool is_used =
		    strcmp(keys[i], v->login->secret_key) == 0 ||
		    (v->login->id_key != NULL &&
			(strcmp(keys[i], v->login->id_key) == 0 ||
			    strcmp(keys[i], "auth-mount") == 0));

		if (!is_used && credential_setting(c, keys[i]) != NULL)
			return err_at(err, NULL, 0,
			    "%s is of no use with auth = %s: take it out",
			    keys[i], v->login->name);
	}
	return 0;
}

int
vault_read_definition(const struct credential *c, struct vault *ret,
    struct err *err)
{
	static const char *const needed[] = { "vault-url", "vault-policy",
		"mount", "secret", "field" };
	const char *engine = credential_setting(c, "engine"), *fault;
	int rc;

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (credential_setting(c, needed[i]) == NULL)
			return err_at(err, NULL, 0, "it needs `%s`", needed[i]);
	ret->may_be_clear = credential_says_yes(c, "cleartext");
	ret->duration_s = credential_seconds(c, "duration", DURATION_S);
	for (unsigned int i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
		if (engine != NULL && strcmp(engine, engines[i]) == 0)
			ret->engine = (enum vault_engine)i;
	fault = fetch_url_fault(credential_setting(c, "vault-url"),
	    ret->may_be_clear);
	if (fault == NULL &&
	    strchr(credential_setting(c, "vault-url"), '?') != NULL)
		fault = "a URL without '?': paths are put behind it";
	if (fault != NULL)
		return err_at(err, NULL, 0, "vault-url: %s", fault);
	rc = read_login(c, ret, err);
	return rc == 0 ? refuse_unused(c, ret, err) : rc;
}

/* --- questions ------------------------------------------------------------ */

static void
put_string(struct form *f, struct span s)
{
	form_text(f, "\"");
	form_json(f, s);
	form_text(f, "\"");
}

static void
put_member(struct form *f, const char *name, struct span value)
{
	put_string(f, span_of(name));
	form_text(f, ":");
	put_string(f, value);
}

void
vault_put_login(const struct credential *c, char path[VAULT_PATH_SIZE],
    struct form *body)
{
	const struct vault *v = c->state;
	const struct vault_login *l = v->login;
	const char *mount = credential_setting(c, "auth-mount");

	(void)snprintf(path, VAULT_PATH_SIZE, "/v1/auth/%s/login",
	    mount == NULL ? l->name : mount);
	form_text(body, "{");
	put_member(body, l->id_field,
	    span_of(credential_setting(c, l->id_key)));
	form_text(body, ",");
	put_member(body, l->secret_field,
	    secret_span(credential_secret(c, l->secret_key)));
	form_text(body, "}");
}

void
vault_put_create(const struct credential *c, const char *sandbox,
    char path[VAULT_PATH_SIZE], struct form *body)
{
	const struct vault *v = c->state;
	const char *role = credential_setting(c, "token-role"), *policy;
	char text[160];

	(void)snprintf(path, VAULT_PATH_SIZE, "/v1/auth/token/create%s%s",
	    role == NULL ? "" : "/", role == NULL ? "" : role);
	form_text(body, "{\"policies\":[");
	for (unsigned int i = 0;
	     (policy = credential_item(c, "vault-policy", i)) != NULL; i++) {
		form_text(body, i == 0 ? "" : ",");
		put_string(body, span_of(policy));
	}
	/* Names of sandboxes and credentials need no escape. */
	(void)snprintf(text, sizeof(text),
	    "],\"type\":\"service\",\"renewable\":true,\"ttl\":\"%" PRIu64
	    "s\",\"display_name\":\"tapward-%s\"",
	    v->duration_s, sandbox);
	form_text(body, text);
	form_text(body, ",\"meta\":{");
	put_member(body, "tapward_sandbox", span_of(sandbox));
	form_text(body, ",");
	put_member(body, "tapward_credential", span_of(c->definition.name));
	form_text(body, "}}");
}

void
vault_put_renew(const struct vault *v, char path[VAULT_PATH_SIZE],
    struct form *body)
{
	char text[64];

	(void)snprintf(path, VAULT_PATH_SIZE, "/v1/auth/token/renew-self");
	(void)snprintf(text, sizeof(text), "{\"increment\":\"%" PRIu64 "s\"}",
	    v->duration_s);
	form_text(body, text);
}

void
vault_put_renew_lease(const struct vault *v, struct span lease,
    char path[VAULT_PATH_SIZE], struct form *body)
{
	char text[64];

	(void)snprintf(path, VAULT_PATH_SIZE, "/v1/sys/leases/renew");
	form_text(body, "{");
	put_member(body, "lease_id", lease);
	(void)snprintf(text, sizeof(text), ",\"increment\":%" PRIu64 "}",
	    v->duration_s);
	form_text(body, text);
}

void
vault_put_read(const struct credential *c, char path[VAULT_PATH_SIZE])
{
	const struct vault *v = c->state;

	(void)snprintf(path, VAULT_PATH_SIZE, "/v1/%s/%s%s",
	    credential_setting(c, "mount"),
	    v->engine == VAULT_KV2 ? "data/" : "",
	    credential_setting(c, "secret"));
}

/* --- answers -------------------------------------------------------------- */

/* A wrapped answer can be opened once, by whoever is quickest: none is taken.
 */
static bool
is_wrapped(const json_t *j)
{
	const json_t *info = json_object_get(j, "wrap_info");

	return info != NULL && !json_is_null(info);
}

static enum mint_fault
take_end(const json_t *part, uint64_t *ret_end_boot_ms)
{
	uint64_t life_s;

	if (!answer_seconds(part, "lease_duration", &life_s))
		return MINT_ANSWER;
	*ret_end_boot_ms = kind_not_after(life_s);
	/* To Vault it is one without an end, which none of ours may be. */
	return life_s == 0 ? MINT_EXPIRED : MINT_OK;
}

enum mint_fault
vault_take_token(const json_t *j, struct vault_lease *ret)
{
	const json_t *auth = json_object_get(j, "auth");
	const char *token = answer_text(auth, "client_token");
	const char *type = answer_text(auth, "token_type");

	if (is_wrapped(j) || token == NULL || !is_token(span_of(token)) ||
	    (type != NULL && strcmp(type, "service") != 0))
		return MINT_ANSWER;
	if (secret_set(&ret->id, token, strlen(token)) != 0)
		return MINT_LOCAL;
	return take_end(auth, &ret->end_boot_ms);
}

static bool
asked_for_policy(const struct credential *c, const char *name)
{
	const char *policy;

	for (unsigned int i = 0;
	     (policy = credential_item(c, "vault-policy", i)) != NULL; i++)
		if (strcasecmp(policy, name) == 0)
			return true;
	/* By which a token may renew and revoke itself. */
	return strcmp(name, "default") == 0;
}

bool
vault_is_within(const struct credential *c, const json_t *j)
{
	/* Those of the token and of the entity that it belongs to. */
	const json_t *all =
	    json_object_get(json_object_get(j, "auth"), "policies");
	const json_t *value;
	size_t i;

	if (!json_is_array(all))
		return false;
	json_array_foreach(all, i, value)
	{
		const char *name = json_string_value(value);

		if (name == NULL || !asked_for_policy(c, name))
			return false;
	}
	return true;
}

enum mint_fault
vault_take_renewal(const json_t *j, const char *part, struct vault_lease *l)
{
	const uint64_t now = clock_boot_ms();
	const json_t *from = part == NULL ? j : json_object_get(j, part);
	uint64_t end = 0;
	const enum mint_fault fault =
	    is_wrapped(j) ? MINT_ANSWER : take_end(from, &end);

	if (fault != MINT_OK)
		return fault;
	if (l->end_boot_ms > now && end - now < (l->end_boot_ms - now) / 2 * 3)
		return MINT_EXPIRED;
	l->end_boot_ms = end;
	return MINT_OK;
}

/* Of version 2 of the engine: the version that is there, unless it ends. */
static enum mint_fault
take_version(const json_t *data, struct minted *ret)
{
	const json_t *metadata = json_object_get(data, "metadata");
	uint64_t wall_s, end;

	if (!json_is_object(metadata) ||
	    json_is_true(json_object_get(metadata, "destroyed")))
		return MINT_ANSWER;
	if (answer_text(metadata, "deletion_time") == NULL)
		return MINT_OK;
	if (!answer_time(metadata, "deletion_time", &wall_s))
		return MINT_ANSWER;
	end = kind_not_after_wall(wall_s);
	if (end < ret->not_after_boot_ms)
		ret->not_after_boot_ms = end;
	return end == 0 ? MINT_EXPIRED : MINT_OK;
}

static enum mint_fault
take_lease(const json_t *j, struct minted *ret, struct vault_lease *ret_lease)
{
	const char *id = answer_text(j, "lease_id");
	uint64_t end;
	enum mint_fault fault;

	if (id == NULL || strlen(id) > VAULT_LEASE_MAX_BYTES ||
	    !is_token(span_of(id)))
		return MINT_ANSWER;
	fault = take_end(j, &end);
	if (fault != MINT_OK)
		return fault;
	if (end < ret->not_after_boot_ms)
		ret->not_after_boot_ms = end;
	/* One that cannot be renewed is replaced, and ends with its token. */
	if (!json_is_true(json_object_get(j, "renewable")))
		return MINT_OK;
	ret_lease->end_boot_ms = end;
	return secret_set(&ret_lease->id, id, strlen(id)) == 0 ? MINT_OK
							       : MINT_LOCAL;
}

static enum mint_fault
take_fields(const struct credential *c, const json_t *data, struct minted *ret)
{
	const char *user_key = credential_setting(c, "user-field");
	const char *value = answer_text(data, credential_setting(c, "field"));
	const char *user = user_key == NULL ? "" : answer_text(data, user_key);
	struct span text;

	if (value == NULL || user == NULL)
		return MINT_ANSWER;
	/* Of a file that somebody put there. */
	text = span_without_line_ends(span_of(value));
	if (secret_set(&ret->value, text.ptr, text.len) != 0)
		return MINT_LOCAL;
	return kind_take_user(ret, span_of(user));
}

enum mint_fault
vault_take_secret(const struct credential *c, const json_t *j,
    struct minted *ret, struct vault_lease *ret_lease)
{
	const struct vault *v = c->state;
	const json_t *data = json_object_get(j, "data");
	enum mint_fault fault = MINT_OK;

	if (is_wrapped(j))
		return MINT_ANSWER;
	switch (v->engine) {
	case VAULT_KV2:
		fault = take_version(data, ret);
		data = json_object_get(data, "data");
		break;
	case VAULT_KV1:
		if (answer_text(j, "lease_id") != NULL)
			return MINT_ANSWER;
		break;
	case VAULT_DYNAMIC:
		fault = take_lease(j, ret, ret_lease);
		break;
	}
	return fault == MINT_OK ? take_fields(c, data, ret) : fault;
}
