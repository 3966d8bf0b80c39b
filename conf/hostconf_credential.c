/*
 * [credential NAME]: what a secret is for and who may use it. Only where the
 * secret lies is read here, never the secret.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "conf/host_pattern.h"
#include "conf/hostconf_parse.h"
#include "conf/hostconf_setting.h"
#include "conf/placeholder.h"
#include "conf/words.h"
#include "wire/authority.h"
#include "wire/path.h"

#define PORT_HTTPS 443

/* Fields that frame a message or name its target: none is a credential. */
static const char *const reserved_fields[] = { "connection", "content-length",
	"expect", "host", "keep-alive", "proxy-connection",
	"sec-websocket-accept", "sec-websocket-extensions", "sec-websocket-key",
	"sec-websocket-version", "te", "trailer", "transfer-encoding",
	"upgrade", "via" };

/* What an origin answers to these may hold the request, secret and all. */
static const char *const bare_methods[] = { "TRACE", "TRACK", "OPTIONS",
	"CONNECT" };

static struct hostconf_credential *
present(const struct hostconf_parse *p)
{
	return vec_at(&p->credentials, p->credentials.count - 1);
}

static struct message_broker_credential *
def_of(const struct hostconf_parse *p)
{
	return present(p)->def;
}

static bool
starts_with(struct span s, const char *prefix)
{
	size_t n = strlen(prefix);

	return s.len >= n && memcmp(s.ptr, prefix, n) == 0;
}

static struct span
skip(struct span s, size_t n)
{
	return (struct span){ s.ptr + n, s.len - n };
}

int
hostconf_open_credential(struct hostconf_parse *p, const char *name)
{
	struct hostconf_credential *cr;

	if (p->credentials.count >= BROKER_CREDENTIALS_MAX)
		return err_at(p->err, p->file, p->line,
		    "more than %d credentials", BROKER_CREDENTIALS_MAX);
	for (size_t i = 0; i < p->credentials.count; i++) {
		const struct hostconf_credential *other =
		    vec_at(&p->credentials, i);

		if (strcmp(other->def->name, name) == 0)
			return err_at(p->err, p->file, p->line,
			    "a second [credential %s] (first on line %u): "
			    "rename one",
			    name, other->line);
	}
	cr = vec_add(&p->credentials, 1);
	if (cr == NULL)
		return -ENOMEM;
	cr->line = p->line;
	cr->def = calloc(1, sizeof(*cr->def));
	if (cr->def == NULL)
		return -ENOMEM;
	(void)hostconf_copy(cr->def->name, sizeof(cr->def->name),
	    span_of(name));
	cr->def->port = PORT_HTTPS;
	cr->def->apply = LEASE_APPLY_COUNT; /* not said yet */
	return 0;
}

const char *
hostconf_take_kind(struct hostconf_parse *p, struct span v)
{
	const enum broker_kind kind = hostconf_kind_of(v);

	if (kind == BROKER_KIND_COUNT)
		return "no kind of this version: see tapward.ini(5)";
	def_of(p)->kind = (uint8_t)kind;
	return NULL;
}

const char *
hostconf_take_value(struct hostconf_parse *p, struct span v)
{
	struct hostconf_credential *cr = present(p);
	size_t used;
	const char *fault;

	if (starts_with(v, "exec:"))
		return "a helper program has a kind of its own: write "
		       "`kind = exec` and `command = /PROGRAM`";
	fault = hostconf_parse_source(v, &cr->source, &used);
	if (fault != NULL)
		return fault;
	if (!hostconf_copy(cr->def->source, sizeof(cr->def->source), v))
		return "too long";
	cr->place = cr->def->source + used;
	return NULL;
}

const char *
hostconf_take_chost(struct hostconf_parse *p, struct span v)
{
	struct message_broker_credential *d = def_of(p);
	struct host_pattern pattern;
	const char *fault = host_pattern_parse(v, &pattern);

	if (fault != NULL)
		return fault;
	if (pattern.kind != PATTERN_EXACT)
		return "a credential is for exact hosts: whoever gets a name "
		       "below a wildcard would get it too";
	if (d->host_count >= BROKER_HOSTS_MAX)
		return "too many hosts for one credential";
	(void)snprintf(d->hosts[d->host_count++], HOST_NAME_SIZE, "%s",
	    pattern.name);
	return NULL;
}

const char *
hostconf_take_cport(struct hostconf_parse *p, struct span v)
{
	if (!authority_parse_port(v, &def_of(p)->port))
		return "a port is a number from 1 to 65535";
	if (def_of(p)->port == 80)
		return "port 80 is not encrypted: a credential would cross "
		       "the network in the clear";
	return NULL;
}

/* The name of a header field, in lower case. */
static const char *
take_field(struct span v, char buf[LEASE_FIELD_NAME_SIZE])
{
	size_t n = sizeof(reserved_fields) / sizeof(reserved_fields[0]);

	if (v.len == 0 || v.len >= LEASE_FIELD_NAME_SIZE)
		return "a header name of 1 to 63 bytes";
	for (size_t i = 0; i < v.len; i++) {
		if (!ascii_is_alnum(v.ptr[i]) && v.ptr[i] != '-')
			return "a header name is letters, digits and '-'";
		buf[i] = (char)ascii_lower(v.ptr[i]);
	}
	buf[v.len] = '\0';
	for (size_t i = 0; i < n; i++) {
		if (strcmp(buf, reserved_fields[i]) == 0)
			return "this field frames the message or names its "
			       "target";
	}
	return NULL;
}

static const char *
take_user(struct message_broker_credential *d, struct span v)
{
	if (v.len == 0 || memchr(v.ptr, ':', v.len) != NULL)
		return "basic: is followed by a user name without ':' "
		       "(RFC 7617 2)";
	if (!hostconf_copy(d->user, sizeof(d->user), v))
		return "a user name of more than 127 bytes";
	d->apply = LEASE_APPLY_BASIC;
	return NULL;
}

/* The name of a parameter, as it is written: most origins tell case apart. */
static const char *
take_parameter(struct message_broker_credential *d, struct span v)
{
	if (v.len == 0 || v.len >= LEASE_FIELD_NAME_SIZE)
		return "query: is followed by a parameter's name of 1 to 63 "
		       "bytes";
	for (size_t i = 0; i < v.len; i++)
		if (!ascii_is_alnum(v.ptr[i]) && v.ptr[i] != '-' &&
		    v.ptr[i] != '_')
			return "a parameter's name is letters, digits, '-' "
			       "and '_'";
	(void)hostconf_copy(d->field, sizeof(d->field), v);
	d->apply = LEASE_APPLY_QUERY;
	return NULL;
}

const char *
hostconf_take_apply(struct hostconf_parse *p, struct span v)
{
	struct message_broker_credential *d = def_of(p);

	if (span_is(v, "bearer")) {
		d->apply = LEASE_APPLY_BEARER;
		return NULL;
	}
	if (span_is(v, "raw")) {
		d->apply = LEASE_APPLY_RAW;
		return NULL;
	}
	if (starts_with(v, "basic:"))
		return take_user(d, skip(v, strlen("basic:")));
	if (starts_with(v, "header:")) {
		d->apply = LEASE_APPLY_HEADER;
		return take_field(skip(v, strlen("header:")), d->field);
	}
	if (span_is(v, "sigv4")) {
		d->apply = LEASE_APPLY_SIGV4;
		return NULL;
	}
	if (starts_with(v, "query:"))
		return take_parameter(d, skip(v, strlen("query:")));
	return "apply is `bearer`, `basic:USER`, `raw`, `header:NAME`, "
	       "`query:NAME` or, of kind aws, `sigv4`";
}

static bool
names_field(char names[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE],
    unsigned int count, const char *field)
{
	for (unsigned int i = 0; i < count; i++) {
		if (strcmp(names[i], field) == 0)
			return true;
	}
	return false;
}

static const char *
take_name(struct span v, char names[LEASE_STRIP_MAX][LEASE_FIELD_NAME_SIZE],
    unsigned int most, unsigned int *count)
{
	char field[LEASE_FIELD_NAME_SIZE];
	const char *fault = take_field(v, field);

	if (fault != NULL)
		return fault;
	if (names_field(names, *count, field))
		return "this field is named twice";
	if (*count >= most)
		return "too many fields";
	(void)snprintf(names[(*count)++], LEASE_FIELD_NAME_SIZE, "%s", field);
	return NULL;
}

const char *
hostconf_take_strip(struct hostconf_parse *p, struct span v)
{
	struct message_broker_credential *d = def_of(p);

	/* one place is kept for the field that apply sets */
	return take_name(v, d->strip, LEASE_STRIP_MAX - 1, &d->strip_count);
}

const char *
hostconf_take_strip_response(struct hostconf_parse *p, struct span v)
{
	struct message_broker_credential *d = def_of(p);

	if (span_is_case(v, "content-encoding") ||
	    span_is_case(v, "content-range"))
		return "without this field the body would be read as another";
	return take_name(v, d->strip_response, LEASE_STRIP_MAX,
	    &d->strip_response_count);
}

const char *
hostconf_take_set_cookie(struct hostconf_parse *p, struct span v)
{
	if (!span_is(v, "keep") && !span_is(v, "strip"))
		return "set-cookie is `strip` or `keep`";
	def_of(p)->keeps_set_cookie = span_is(v, "keep");
	return NULL;
}

const char *
hostconf_take_placeholder(struct hostconf_parse *p, struct span v)
{
	if (v.len < 8)
		return "a placeholder of less than 8 bytes is found by chance";
	if (!hostconf_copy(def_of(p)->placeholder,
		sizeof(def_of(p)->placeholder), v))
		return "a placeholder of more than 127 bytes";
	return NULL;
}

const char *
hostconf_take_method(struct hostconf_parse *p, struct span v)
{
	struct message_broker_credential *d = def_of(p);

	if (!words_is_method(v))
		return "a method is written in capitals: GET, HEAD, POST";
	for (size_t i = 0; i < sizeof(bare_methods) / sizeof(bare_methods[0]);
	     i++)
		if (span_is(v, bare_methods[i]))
			return "a credential never goes out with TRACE, TRACK, "
			       "OPTIONS or CONNECT: leave it out";
	if (d->method_count >= BROKER_METHODS_MAX)
		return "too many methods";
	(void)hostconf_copy(d->methods[d->method_count++], METHOD_NAME_SIZE, v);
	return NULL;
}

static const char *
take_path(struct span v, char paths[][BROKER_PATH_SIZE], unsigned int *count)
{
	const char *fault = path_pattern_fault(v);

	if (v.ptr[0] != '/')
		return "a path starts with '/'; a comma parts two paths";
	if (fault != NULL)
		return fault;
	if (*count >= BROKER_PATHS_MAX)
		return "too many paths";
	(void)hostconf_copy(paths[(*count)++], BROKER_PATH_SIZE, v);
	return NULL;
}

const char *
hostconf_take_path(struct hostconf_parse *p, struct span v)
{
	return take_path(v, def_of(p)->paths, &def_of(p)->path_count);
}

const char *
hostconf_take_deny_path(struct hostconf_parse *p, struct span v)
{
	return take_path(v, def_of(p)->deny_paths, &def_of(p)->deny_path_count);
}

const char *
hostconf_take_websocket(struct hostconf_parse *p, struct span v)
{
	if (!words_parse_yes(v, &def_of(p)->serves_websocket))
		return "websocket is `yes` or `no`";
	return NULL;
}

/* A sandbox's name with stars. */
static bool
is_name_pattern(struct span v)
{
	if (v.len == 0 || v.len >= SANDBOX_NAME_SIZE)
		return false;
	for (size_t i = 0; i < v.len; i++) {
		uint8_t c = v.ptr[i];

		if (!ascii_is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' &&
		    c != '*')
			return false;
	}
	return true;
}

static const char *
take_owner(struct message_broker_grant *g, struct span v)
{
	if (starts_with(v, "user:")) {
		g->owner = BROKER_OWNER_USER;
		v = skip(v, strlen("user:"));
	} else if (starts_with(v, "group:")) {
		g->owner = BROKER_OWNER_GROUP;
		v = skip(v, strlen("group:"));
	} else {
		return "a grant is NAME, NAME user:X or NAME group:X; NAME may "
		       "hold stars";
	}
	if (!words_is_name(v) ||
	    !hostconf_copy(g->principal, sizeof(g->principal), v))
		return "not a name of a user or a group";
	return NULL;
}

static const char *
add_grant(struct message_broker_grant *all, unsigned int *count, struct span v)
{
	struct message_broker_grant g = { .owner = BROKER_OWNER_ROOT };
	const uint8_t *blank = memchr(v.ptr, ' ', v.len);
	struct span name = v;
	const char *fault = NULL;

	if (*count >= BROKER_GRANTS_MAX)
		return "too many grants";
	if (blank != NULL) {
		struct span owner = skip(v, (size_t)(blank - v.ptr) + 1);

		name.len = (size_t)(blank - v.ptr);
		while (owner.len > 0 && owner.ptr[0] == ' ')
			owner = skip(owner, 1);
		fault = take_owner(&g, owner);
	}
	if (fault != NULL)
		return fault;
	if (!is_name_pattern(name) ||
	    !hostconf_copy(g.name, sizeof(g.name), name))
		return "the name of a sandbox is a-z, 0-9 and '-', with '*' "
		       "for any run";
	all[(*count)++] = g;
	return NULL;
}

const char *
hostconf_take_grant(struct hostconf_parse *p, struct span v)
{
	struct message_broker_credential *d = def_of(p);

	return add_grant(d->grants, &d->grant_count, v);
}

/* [ceiling]: granted as a credential is. */
const char *
hostconf_take_learn(struct hostconf_parse *p, struct span v)
{
	/* A sandbox can be called so, but that is not what is meant. */
	if (span_is(v, "yes") || span_is(v, "no"))
		return "name whose sandboxes may: `learn = * group:NAME` for "
		       "a group's; without `learn` nobody's may";
	return add_grant(p->c->learn, &p->c->learn_count, v);
}

/* Whatever apply sets is taken out of what the guest sends. */
static void
strip_own_field(struct message_broker_credential *d)
{
	const char *field =
	    d->apply == LEASE_APPLY_HEADER ? d->field : "authorization";

	if (!names_field(d->strip, d->strip_count, field))
		(void)snprintf(d->strip[d->strip_count++],
		    LEASE_FIELD_NAME_SIZE, "%s", field);
}

static bool
takes_get(const struct message_broker_credential *d)
{
	for (unsigned int i = 0; i < d->method_count; i++) {
		if (strcmp(d->methods[i], "GET") == 0)
			return true;
	}
	return d->method_count == 0;
}

static bool
takes_value(const struct message_broker_credential *d)
{
	return d->kind == BROKER_KIND_STATIC || d->kind == BROKER_KIND_AWS;
}

/* A key of AWS is in a file, or a program says it. */
static bool
says_key_by_program(const struct message_broker_credential *d)
{
	return d->kind == BROKER_KIND_AWS &&
	    hostconf_find_setting(d, "command") != NULL;
}

static int
check_value(struct hostconf_parse *p, const struct hostconf_credential *cr)
{
	const struct message_broker_credential *d = cr->def;
	const bool is_said = says_key_by_program(d);

	if (d->source[0] != '\0' && !takes_value(d))
		return err_at(p->err, p->file, cr->line,
		    "[credential %s] has a `value`, which only kinds static "
		    "and aws take: remove it",
		    d->name);
	if (d->source[0] != '\0' && is_said)
		return err_at(p->err, p->file, cr->line,
		    "[credential %s] has both `value` and `command`: keep the "
		    "one that says its key",
		    d->name);
	if (is_said && hostconf_find_setting(d, "role") != NULL)
		return err_at(p->err, p->file, cr->line,
		    "[credential %s] has both `command` and `role`: let the "
		    "program assume the role, or give the key as `value`",
		    d->name);
	return 0;
}

/* NULL, or what is wrong with it. */
static const char *
finish_placeholder(struct message_broker_credential *d)
{
	/* Nothing that a guest could send stands for a certificate. */
	if (d->apply == LEASE_APPLY_CERTIFICATE)
		return d->placeholder[0] == '\0'
		    ? NULL
		    : "of kind client-certificate there is none: remove it";
	if (d->placeholder[0] == '\0')
		placeholder_make(d, d->placeholder);
	if (d->apply == LEASE_APPLY_SIGV4 &&
	    (strlen(d->placeholder) != 20 ||
		strspn(d->placeholder,
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != 20))
		return "of kind aws it is an access key id of 20 capitals and "
		       "digits";
	return NULL;
}

int
hostconf_finish_credential(struct hostconf_parse *p)
{
	struct hostconf_credential *cr = present(p);
	struct message_broker_credential *d = cr->def;
	const char *missing = NULL, *fault;

	if (d->kind == BROKER_KIND_CERTIFICATE) {
		if (d->apply != LEASE_APPLY_COUNT)
			return err_at(p->err, p->file, cr->line,
			    "[credential %s]: a client certificate is shown in "
			    "TLS, so there is nothing to apply: remove `apply`",
			    d->name);
		d->apply = LEASE_APPLY_CERTIFICATE;
	}
	/* There is one way to use a key of AWS. */
	if (d->kind == BROKER_KIND_AWS && d->apply == LEASE_APPLY_COUNT)
		d->apply = LEASE_APPLY_SIGV4;
	if (d->source[0] == '\0' && takes_value(d) && !says_key_by_program(d))
		missing = "`value = file:/PATH`: where the secret lies";
	else if (d->host_count == 0)
		missing = "`host = NAME`: where it may be sent";
	else if (d->apply == LEASE_APPLY_COUNT)
		missing = "`apply = bearer` (or basic:USER, raw, header:NAME, "
			  "query:NAME)";
	else if (d->grant_count == 0)
		missing = "`grant = NAME user:X`: without one nobody could "
			  "use it";
	if (missing != NULL)
		return err_at(p->err, p->file, cr->line,
		    "[credential %s] needs %s", d->name, missing);
	if (check_value(p, cr) != 0)
		return -EINVAL;
	if ((d->kind == BROKER_KIND_AWS) != (d->apply == LEASE_APPLY_SIGV4))
		return err_at(p->err, p->file, cr->line,
		    "[credential %s]: `apply = sigv4` is for kind aws, and "
		    "kind aws for it: say both or neither",
		    d->name);
	fault = finish_placeholder(d);
	if (fault != NULL)
		return err_at(p->err, p->file, cr->line,
		    "[credential %s]: placeholder: %s", d->name, fault);
	if (d->serves_websocket && !takes_get(d))
		return err_at(p->err, p->file, cr->line,
		    "[credential %s] says websocket = yes, but a WebSocket "
		    "begins with GET: add `method = GET`",
		    d->name);
	if (d->keeps_set_cookie &&
	    names_field(d->strip_response, d->strip_response_count,
		"set-cookie"))
		return err_at(p->err, p->file, cr->line,
		    "[credential %s] keeps set-cookie and strips it: say one",
		    d->name);
	strip_own_field(d);
	return hostconf_finish_settings(p);
}
