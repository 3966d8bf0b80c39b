/*
 * Keys of the kinds, see hostconf_setting.h.
 */
#include "conf/hostconf_setting.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "conf/words.h"
#include "wire/authority.h"

/* Of one value: NULL, or what is wrong with it. */
typedef const char *check_fn(struct span v);

#define KIND_BIT(kind) (1u << BROKER_KIND_##kind)

struct setting_row {
	const char *name;
	uint32_t kinds;  /* that take it, a bit each */
	uint32_t needed; /* by these */
	bool is_list;
	bool is_source;
	check_fn *check;
	const char *what; /* for whoever left it out */
};

static const char *const kind_names[BROKER_KIND_COUNT] = {
	[BROKER_KIND_STATIC] = "static",
	[BROKER_KIND_OAUTH2] = "oauth2",
	[BROKER_KIND_AWS] = "aws",
	[BROKER_KIND_OCI] = "oci",
	[BROKER_KIND_GITHUB_APP] = "github-app",
	[BROKER_KIND_EXEC] = "exec",
	[BROKER_KIND_VAULT] = "vault",
	[BROKER_KIND_GCP] = "gcp",
	[BROKER_KIND_AZURE] = "azure",
	[BROKER_KIND_CERTIFICATE] = "client-certificate",
};
static_assert(BROKER_KIND_COUNT <= 32, "a bit for each kind");

static const char *
check_text(struct span v)
{
	return span_printable(v) == v.len ? NULL : "printable ASCII only";
}

static const char *
check_word(struct span v)
{
	return check_text(v) == NULL && memchr(v.ptr, ' ', v.len) == NULL
	    ? NULL
	    : "printable ASCII without blanks; a comma parts two";
}

/* scheme://authority[/path], nothing that could be read in two ways. */
static const char *
check_url(struct span v)
{
	static const char https[] = "https://", http[] = "http://";
	const char *fault = check_word(v);
	const size_t scheme =
	    v.len > strlen(https) && memcmp(v.ptr, https, strlen(https)) == 0
	    ? strlen(https)
	    : strlen(http);

	if (fault != NULL)
		return "a URL without blanks";
	if (v.len <= scheme ||
	    (scheme == strlen(http) && memcmp(v.ptr, http, scheme) != 0) ||
	    v.ptr[scheme] == '/')
		return "a URL begins with https://HOST";
	for (size_t i = 0; i < v.len; i++)
		if (v.ptr[i] == '#' || v.ptr[i] == '@' || v.ptr[i] == '\\')
			return "a URL without '#', '@' and '\\'";
	return NULL;
}

static const char *
check_seconds(struct span v)
{
	uint64_t n;

	if (!limit_parse(UNIT_S, v, &n) || n < 1 || n > 604800)
		return "a time from 1s to 7d";
	return NULL;
}

static const char *
check_yes(struct span v)
{
	bool is_yes;

	return words_parse_yes(v, &is_yes) ? NULL : "`yes` or `no`";
}

static const char *
check_source(struct span v)
{
	enum hostconf_source source;
	size_t used;

	return hostconf_parse_source(v, &source, &used);
}

/* v is one of the words, which a blank parts. */
static bool
is_one_of(struct span v, const char *words)
{
	size_t len;

	for (; *words != '\0'; words += len + (words[len] == ' ' ? 1 : 0)) {
		len = strcspn(words, " ");
		if (span_eq(v, (struct span){ (const uint8_t *)words, len }))
			return true;
	}
	return false;
}

static const char *
check_grant_type(struct span v)
{
	return is_one_of(v,
		   "client_credentials refresh_token jwt-bearer token-exchange")
	    ? NULL
	    : "`client_credentials`, `refresh_token`, `jwt-bearer` or "
	      "`token-exchange`";
}

static const char *
check_client_auth(struct span v)
{
	return is_one_of(v, "basic post none private_key_jwt")
	    ? NULL
	    : "`basic`, `post`, `none` or `private_key_jwt`";
}

/* As it stands between slashes in what is signed (wire/sigv4.h). */
static const char *
check_scope_word(struct span v)
{
	if (v.len == 0 || v.len >= LEASE_WORD_SIZE)
		return "a name of 1 to 63 bytes, as eu-west-1 or s3";
	for (size_t i = 0; i < v.len; i++)
		if (!ascii_is_alnum(v.ptr[i]) && (i == 0 || v.ptr[i] != '-'))
			return "a name of letters, digits and '-', as "
			       "eu-west-1 or s3";
	return NULL;
}

static const char *
check_role(struct span v)
{
	if (check_word(v) != NULL || v.len < 20 ||
	    memcmp(v.ptr, "arn:", 4) != 0)
		return "the ARN of a role: arn:aws:iam::123456789012:role/NAME";
	return NULL;
}

static const char *
check_access(struct span v)
{
	return is_one_of(v, "pull push delete") ? NULL
						: "`pull`, `push` or `delete`";
}

static const char *
check_protocol(struct span v)
{
	if (span_is(v, "aws"))
		return "what says a key of AWS is `command` of `kind = aws`";
	return is_one_of(v, "raw json git docker cargo")
	    ? NULL
	    : "`raw`, `json`, `git`, `docker` or `cargo`";
}

static const char *
check_command(struct span v)
{
	return check_text(v) == NULL && v.ptr[0] == '/'
	    ? NULL
	    : "an absolute path, and arguments that blanks part; there is no "
	      "shell";
}

static const char *
check_user(struct span v)
{
	return words_is_name(v) && !span_is(v, "root")
	    ? NULL
	    : "the name of a user that is not root";
}

static const char *
check_login(struct span v)
{
	return is_one_of(v, "token approle jwt kubernetes")
	    ? NULL
	    : "`token`, `approle`, `jwt` or `kubernetes`";
}

static const char *
check_engine(struct span v)
{
	return is_one_of(v, "kv1 kv2 dynamic") ? NULL
					       : "`kv1`, `kv2` or `dynamic`";
}

/* Goes into a URL as it is, so it must mean there what it says here. */
static const char *
check_api_path(struct span v)
{
	static const char others[] = { '-', '_', '.', '~', '@', '+', '=', ':' };
	size_t dots = 0, start = 0;

	for (size_t i = 0; i <= v.len; i++) {
		if (i == v.len || v.ptr[i] == '/') {
			if (i == start || (dots == i - start && dots <= 2))
				return "a path without a slash at either end, "
				       "'.' and '..'";
			start = i + 1;
			dots = 0;
		} else if (!ascii_is_alnum(v.ptr[i]) &&
		    memchr(others, v.ptr[i], sizeof(others)) == NULL) {
			return "a path of letters, digits and -_.~@+=:";
		} else if (v.ptr[i] == '.') {
			dots++;
		}
	}
	return NULL;
}

/* All that there is: whoever asked for it has asked for nothing narrower. */
static const char *
check_vault_policy(struct span v)
{
	if (span_is(v, "root"))
		return "root may do everything: name a policy that reads the "
		       "secret";
	return check_api_path(v);
}

#define OAUTH2 KIND_BIT(OAUTH2)
#define AWS KIND_BIT(AWS)
#define OCI KIND_BIT(OCI)
#define GITHUB KIND_BIT(GITHUB_APP)
#define EXEC KIND_BIT(EXEC)
#define VAULT KIND_BIT(VAULT)
#define GCP KIND_BIT(GCP)
#define AZURE KIND_BIT(AZURE)
#define CERT KIND_BIT(CERTIFICATE)

static const struct setting_row rows[] = {
	{ "token-url", OAUTH2 | GCP, OAUTH2, false, false, check_url,
	    "token-url = https://...: where tokens are issued" },
	{ "grant-type", OAUTH2, 0, false, false, check_grant_type, NULL },
	{ "client-id", OAUTH2 | AZURE, AZURE, false, false, check_text,
	    "client-id = ID: which application it is" },
	{ "client-auth", OAUTH2, 0, false, false, check_client_auth, NULL },
	{ "client-secret", OAUTH2 | AZURE, 0, false, true, check_source, NULL },
	{ "key", OAUTH2 | GITHUB | GCP | AZURE | CERT, GITHUB | GCP | CERT,
	    false, true, check_source,
	    "key = file:/PATH: the private key that it signs with" },
	{ "key-id", OAUTH2, 0, false, false, check_text, NULL },
	{ "refresh-token", OAUTH2, 0, false, true, check_source, NULL },
	{ "subject-token", OAUTH2, 0, false, true, check_source, NULL },
	{ "subject-token-type", OAUTH2, 0, false, false, check_word, NULL },
	{ "issuer", OAUTH2, 0, false, false, check_text, NULL },
	{ "subject", OAUTH2 | GCP, 0, false, false, check_text, NULL },
	{ "audience", OAUTH2 | GCP, 0, false, false, check_text, NULL },
	{ "resource", OAUTH2 | AZURE, 0, true, false, check_word, NULL },
	{ "scope", OAUTH2 | GCP | AZURE, 0, true, false, check_word, NULL },
	{ "revoke-url", OAUTH2, 0, false, false, check_url, NULL },
	{ "region", AWS, AWS, true, false, check_scope_word,
	    "region = eu-west-1: where requests may be signed for" },
	{ "service", AWS, AWS, true, false, check_scope_word,
	    "service = s3: what requests may be signed for" },
	{ "role", AWS, 0, false, false, check_role, NULL },
	{ "session-policy", AWS, 0, false, true, check_source, NULL },
	{ "duration", AWS | GCP | VAULT, 0, false, false, check_seconds, NULL },
	{ "external-id", AWS, 0, false, false, check_word, NULL },
	{ "sts-url", AWS | GCP, 0, false, false, check_url, NULL },
	{ "realm", OCI, OCI, false, false, check_url,
	    "realm = https://...: the registry's token server" },
	{ "registry", OCI, OCI, false, false, check_text,
	    "registry = NAME: what the token server calls the registry" },
	{ "login", OCI, 0, false, false, check_text, NULL },
	{ "password", OCI, 0, false, true, check_source, NULL },
	{ "access", OCI, 0, false, false, check_access, NULL },
	{ "cleartext", OAUTH2 | AWS | OCI | GITHUB | VAULT | GCP | AZURE, 0,
	    false, false, check_yes, NULL },
	{ "default-ttl", OAUTH2 | EXEC | AWS, 0, false, false, check_seconds,
	    NULL },
	{ "command", EXEC | AWS, EXEC, false, false, check_command,
	    "command = /PROGRAM ARGUMENT ...: what says the secret" },
	{ "protocol", EXEC, 0, false, false, check_protocol, NULL },
	{ "run-as", EXEC | AWS, 0, false, false, check_user, NULL },
	{ "json-key", EXEC, 0, false, false, check_text, NULL },
	{ "expires-key", EXEC, 0, false, false, check_text, NULL },
	{ "index-url", EXEC, 0, false, false, check_word, NULL },
	{ "app-id", GITHUB, GITHUB, false, false, check_word,
	    "app-id = NUMBER: which GitHub App it is" },
	{ "installation", GITHUB, 0, false, false, check_word, NULL },
	{ "api-url", GITHUB, 0, false, false, check_url, NULL },
	{ "repository", GITHUB, GITHUB, true, false, check_word,
	    "repository = OWNER/NAME: what the token is for" },
	{ "permission", GITHUB, GITHUB, true, false, check_word,
	    "permission = contents=read: what the token may do" },
	{ "vault-url", VAULT, VAULT, false, false, check_url,
	    "vault-url = https://HOST:8200: where Vault or OpenBao is" },
	{ "namespace", VAULT, 0, false, false, check_api_path, NULL },
	{ "auth", VAULT, VAULT, false, false, check_login,
	    "auth = approle: how to log in" },
	{ "auth-mount", VAULT, 0, false, false, check_api_path, NULL },
	{ "auth-role", VAULT, 0, false, false, check_word, NULL },
	{ "auth-token", VAULT, 0, false, true, check_source, NULL },
	{ "role-id", VAULT, 0, false, false, check_word, NULL },
	{ "secret-id", VAULT, 0, false, true, check_source, NULL },
	{ "jwt", VAULT, 0, false, true, check_source, NULL },
	{ "vault-policy", VAULT, VAULT, true, false, check_vault_policy,
	    "vault-policy = NAME: all that the token which reads it may do" },
	{ "token-role", VAULT, 0, false, false, check_api_path, NULL },
	{ "engine", VAULT, 0, false, false, check_engine, NULL },
	{ "mount", VAULT, VAULT, false, false, check_api_path,
	    "mount = secret: where its engine is mounted" },
	{ "secret", VAULT, VAULT, false, false, check_api_path,
	    "secret = PATH: the secret's path within the mount" },
	{ "field", VAULT, VAULT, false, false, check_text,
	    "field = NAME: which field of the secret is the value" },
	{ "user-field", VAULT, 0, false, false, check_text, NULL },
	{ "metadata", AWS | GCP | AZURE, 0, false, false, check_yes, NULL },
	{ "project", GCP, 0, false, false, check_word, NULL },
	{ "self-signed", GCP, 0, false, false, check_yes, NULL },
	{ "impersonate", GCP, 0, false, false, check_word, NULL },
	{ "delegate", GCP, 0, true, false, check_word, NULL },
	{ "bucket", GCP, 0, true, false, check_word, NULL },
	{ "bucket-role", GCP, 0, true, false, check_word, NULL },
	{ "iam-url", GCP, 0, false, false, check_url, NULL },
	{ "tenant", AZURE, AZURE, false, false, check_word,
	    "tenant = ID: the directory that the application is in" },
	{ "certificate", AZURE | CERT, CERT, false, true, check_source,
	    "certificate = file:/PATH: the certificate, and those between it "
	    "and its root" },
	{ "authority-url", AZURE, 0, false, false, check_url, NULL },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

enum broker_kind
hostconf_kind_of(struct span name)
{
	for (unsigned int i = 0; i < BROKER_KIND_COUNT; i++)
		if (span_is(name, kind_names[i]))
			return (enum broker_kind)i;
	return BROKER_KIND_COUNT;
}

static const struct setting_row *
find_row(const char *key)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(rows[i].name, key) == 0)
			return &rows[i];
	return NULL;
}

/* Of one that was taken, which is in the table. */
static const struct setting_row *
row_of(const char *key)
{
	const struct setting_row *row = find_row(key);

	assert(row != NULL);
	return row;
}

bool
hostconf_is_setting(const char *key)
{
	return find_row(key) != NULL;
}

static struct hostconf_credential *
present(const struct hostconf_parse *p)
{
	return vec_at(&p->credentials, p->credentials.count - 1);
}

const struct message_broker_setting *
hostconf_find_setting(const struct message_broker_credential *d,
    const char *name)
{
	for (unsigned int i = 0; i < d->setting_count; i++)
		if (strcmp(d->settings[i].name, name) == 0)
			return &d->settings[i];
	return NULL;
}

/* NULL, or what is wrong with it. */
static const char *
add(struct hostconf_parse *p, const struct setting_row *row, struct span v)
{
	struct hostconf_credential *cr = present(p);
	struct message_broker_credential *d = cr->def;
	struct message_broker_setting *s = &d->settings[d->setting_count];
	const char *fault = v.len == 0 ? "it is empty" : row->check(v);
	unsigned int sources = 0;
	uint64_t seconds;

	if (fault != NULL)
		return fault;
	for (unsigned int i = 0; i < d->setting_count; i++)
		sources += d->settings[i].is_source ? 1 : 0;
	if (d->setting_count == BROKER_SETTINGS_MAX ||
	    (row->is_source && sources == BROKER_SOURCES_MAX))
		return "too many keys for one credential";
	/* A time goes out in plain seconds. */
	if (row->check == check_seconds && limit_parse(UNIT_S, v, &seconds))
		(void)snprintf(s->text, sizeof(s->text), "%llu",
		    (unsigned long long)seconds);
	else if (!hostconf_copy(s->text, sizeof(s->text), v))
		return "too long";
	(void)snprintf(s->name, sizeof(s->name), "%s", row->name);
	s->is_source = row->is_source;
	cr->setting_lines[d->setting_count++] = p->key;
	return NULL;
}

int
hostconf_take_setting(struct hostconf_parse *p, const struct ini_entry *e)
{
	const struct setting_row *row = row_of(e->key);
	struct span list = span_of(e->value), v = list;

	if (!row->is_list &&
	    hostconf_find_setting(present(p)->def, e->key) != NULL)
		return err_at(p->err, p->file, p->key,
		    "%s is given twice: keep one", e->key);
	while (!row->is_list || words_next_item(&list, &v)) {
		const char *fault = add(p, row, v);

		if (fault != NULL)
			return err_at(p->err, p->file, p->key, "%s = %.*s: %s",
			    e->key, (int)v.len, (const char *)v.ptr, fault);
		if (!row->is_list)
			break;
	}
	return 0;
}

/* Whoever opens plain http must have written so. */
static int
check_cleartext(struct hostconf_parse *p, const struct hostconf_credential *cr)
{
	const struct message_broker_credential *d = cr->def;
	const struct message_broker_setting *open =
	    hostconf_find_setting(d, "cleartext");

	if (open != NULL && strcmp(open->text, "yes") == 0)
		return 0;
	for (unsigned int i = 0; i < d->setting_count; i++)
		if (row_of(d->settings[i].name)->check == check_url &&
		    strncmp(d->settings[i].text, "http://", 7) == 0)
			return err_at(p->err, p->file, cr->setting_lines[i],
			    "%s is plain http, which shows the secret to the "
			    "network: write https, or `cleartext = yes`",
			    d->settings[i].name);
	return 0;
}

int
hostconf_finish_settings(struct hostconf_parse *p)
{
	const struct hostconf_credential *cr = present(p);
	const struct message_broker_credential *d = cr->def;
	const uint32_t bit = 1u << d->kind;

	for (unsigned int i = 0; i < d->setting_count; i++)
		if ((row_of(d->settings[i].name)->kinds & bit) == 0)
			return err_at(p->err, p->file, cr->setting_lines[i],
			    "%s is no key of kind %s: see tapward.ini(5)",
			    d->settings[i].name, kind_names[d->kind]);
	for (size_t i = 0; i < ROWS; i++)
		if ((rows[i].needed & bit) != 0 &&
		    hostconf_find_setting(d, rows[i].name) == NULL)
			return err_at(p->err, p->file, cr->line,
			    "[credential %s] needs `%s`", d->name,
			    rows[i].what);
	return check_cleartext(p, cr);
}

static bool
is_variable(struct span v)
{
	if (v.len == 0 || ascii_is_digit(v.ptr[0]))
		return false;
	for (size_t i = 0; i < v.len; i++) {
		if (!ascii_is_alnum(v.ptr[i]) && v.ptr[i] != '_')
			return false;
	}
	return true;
}

struct source_row {
	const char *prefix;
	enum hostconf_source source;
};

static const struct source_row source_rows[] = {
	{ "file:", HOSTCONF_SOURCE_FILE },
	{ "env:", HOSTCONF_SOURCE_ENV },
	{ "credential:", HOSTCONF_SOURCE_CREDENTIAL },
};

static const char *
place_fault(enum hostconf_source source, struct span place)
{
	switch (source) {
	case HOSTCONF_SOURCE_FILE:
		return place.len > 0 && place.ptr[0] == '/'
		    ? NULL
		    : "file: is followed by an absolute path";
	case HOSTCONF_SOURCE_ENV:
		return is_variable(place)
		    ? NULL
		    : "env: is followed by the name of a variable";
	case HOSTCONF_SOURCE_CREDENTIAL:
		return words_is_name(place)
		    ? NULL
		    : "credential: is followed by the name of a systemd "
		      "credential";
	}
	return "no source";
}

const char *
hostconf_parse_source(struct span v, enum hostconf_source *ret,
    size_t *ret_used)
{
	for (size_t i = 0; i < sizeof(source_rows) / sizeof(source_rows[0]);
	     i++) {
		const size_t n = strlen(source_rows[i].prefix);

		if (v.len < n || memcmp(v.ptr, source_rows[i].prefix, n) != 0)
			continue;
		*ret = source_rows[i].source;
		*ret_used = n;
		return place_fault(source_rows[i].source,
		    (struct span){ v.ptr + n, v.len - n });
	}
	return "say where the secret lies, not what it is: file:/PATH, "
	       "env:NAME or credential:NAME";
}
