/*
 * What credentials are bound to, see credential.h. All of this was checked
 * where the configuration was read; it is checked again because here is where
 * a slip would hand a secret out.
 */
#include "credential-broker/credential.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/source.h"
#include "wire/host.h"
#include "wire/path.h"

/* What an origin answers to these may hold the request, secret and all. */
static const char *const refused_methods[] = { "TRACE", "TRACK", "OPTIONS",
	"CONNECT" };

static bool
method_is_refused(const char *method)
{
	for (size_t i = 0;
	     i < sizeof(refused_methods) / sizeof(refused_methods[0]); i++)
		if (span_is_case(span_of(method), refused_methods[i]))
			return true;
	return false;
}

static bool
field_name_is_sound(const char *name)
{
	if (*name == '\0')
		return false;
	for (; *name != '\0'; name++) {
		const uint8_t c = (uint8_t)*name;

		if (!ascii_is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' &&
		    c != '_')
			return false;
	}
	return true;
}

static bool
parameter_is_sound(const char *name)
{
	if (*name == '\0')
		return false;
	for (; *name != '\0'; name++)
		if (!ascii_is_alnum((uint8_t)*name) && *name != '-' &&
		    *name != '_')
			return false;
	return true;
}

/* What it sets has a name where apply is of that sort, and only there. */
static bool
target_is_sound(const struct message_broker_credential *d)
{
	switch ((enum lease_apply)d->apply) {
	case LEASE_APPLY_HEADER:
		return field_name_is_sound(d->field);
	case LEASE_APPLY_QUERY:
		return parameter_is_sound(d->field);
	case LEASE_APPLY_BEARER:
	case LEASE_APPLY_BASIC:
	case LEASE_APPLY_RAW:
	case LEASE_APPLY_SIGV4:
	case LEASE_APPLY_CERTIFICATE:
		return d->field[0] == '\0';
	case LEASE_APPLY_COUNT:
		break;
	}
	return false;
}

static int
check_fields(const struct message_broker_credential *d, struct err *err)
{
	if (!target_is_sound(d))
		return err_at(err, NULL, 0,
		    "the header or parameter it sets is no name");
	/* RFC 7617 2: the first colon ends the user's name. */
	if ((d->apply == LEASE_APPLY_BASIC) != (d->user[0] != '\0') ||
	    strchr(d->user, ':') != NULL)
		return err_at(err, NULL, 0, "the user of basic is no name");
	for (unsigned int i = 0; i < d->strip_count; i++)
		if (!field_name_is_sound(d->strip[i]))
			return err_at(err, NULL, 0,
			    "a header it strips is no name");
	for (unsigned int i = 0; i < d->strip_response_count; i++)
		if (!field_name_is_sound(d->strip_response[i]))
			return err_at(err, NULL, 0,
			    "a header it strips from answers is no name");
	return 0;
}

static int
check_hosts(const struct message_broker_credential *d, struct err *err)
{
	char host[HOST_SIZE];

	if (d->host_count == 0 || d->port == 0)
		return err_at(err, NULL, 0, "it is bound to no host");
	for (unsigned int i = 0; i < d->host_count; i++)
		if (host_parse(span_of(d->hosts[i]), host) != HOST_NAME ||
		    strcmp(host, d->hosts[i]) != 0)
			return err_at(err, NULL, 0,
			    "host %u is not an exact canonical name", i + 1);
	return 0;
}

static int
check_methods(const struct message_broker_credential *d, struct err *err)
{
	for (unsigned int i = 0; i < d->method_count; i++)
		if (method_is_refused(d->methods[i]))
			return err_at(err, NULL, 0,
			    "%s requests never carry a credential",
			    d->methods[i]);
	return 0;
}

static int
check_paths(const char (*paths)[BROKER_PATH_SIZE], unsigned int count,
    struct err *err)
{
	for (unsigned int i = 0; i < count; i++) {
		const char *fault = path_pattern_fault(span_of(paths[i]));

		if (fault != NULL)
			return err_at(err, NULL, 0, "path %u: %s", i + 1,
			    fault);
	}
	return 0;
}

static int
check_definition(const struct message_broker_credential *d, struct err *err)
{
	int rc = check_fields(d, err);

	if (rc == 0)
		rc = check_hosts(d, err);
	if (rc == 0)
		rc = check_methods(d, err);
	if (rc == 0)
		rc = check_paths(d->paths, d->path_count, err);
	if (rc == 0)
		rc = check_paths(d->deny_paths, d->deny_path_count, err);
	return rc;
}

/* How many of its descriptors should be there. */
static unsigned int
count_open(const struct message_broker_credential *d)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < d->setting_count; i++)
		count += d->settings[i].is_open ? 1 : 0;
	return count;
}

static bool
needs_value(const struct credential *c)
{
	const char *instead = c->kind->instead_of_value;

	return c->kind->needs_value &&
	    (instead == NULL || credential_setting(c, instead) == NULL);
}

/* Every source of it came. */
static bool
is_whole(const struct credential *c, bool has_value)
{
	const struct message_broker_credential *d = &c->definition;

	for (unsigned int i = 0; i < d->setting_count; i++)
		if (d->settings[i].is_source && !d->settings[i].is_open)
			return false;
	return has_value == needs_value(c);
}

static int
load_sources(struct credential *c, const int *fds, bool has_value,
    struct err *err)
{
	const struct message_broker_credential *d = &c->definition;
	int rc = 0;

	if (has_value)
		rc = source_load(*fds++, d->source, &c->value, err);
	for (unsigned int i = 0; i < d->setting_count && rc == 0; i++)
		if (d->settings[i].is_open)
			rc = source_load(*fds++, d->settings[i].text,
			    &c->secrets[i], err);
	return rc;
}

static int
load(struct credential *c, const int *fds, bool has_value, struct err *err)
{
	int rc;

	if (!is_whole(c, has_value))
		return 0;
	c->is_serial = c->kind->is_serial;
	rc = load_sources(c, fds, has_value, err);
	if (rc == 0)
		rc = c->kind->load(c, err);
	c->is_loaded = rc == 0;
	return rc == 0
	    ? 0
	    : err_wrap(err, -ENOKEY, "credential %s", c->definition.name);
}

int
credential_new(const struct message_broker_credential *definition,
    const int *fds, unsigned int fd_count, struct credential **ret,
    struct err *err)
{
	struct credential *c = calloc(1, sizeof(*c));
	const unsigned int open = count_open(definition);
	int rc;

	if (c == NULL)
		return err_os(err, -ENOMEM, "%s", definition->name);
	c->refs = 1;
	c->definition = *definition;
	c->kind = kind_of(definition->kind);
	rc = check_definition(definition, err);
	if (rc == 0 &&
	    (fd_count < open || fd_count > open + 1 ||
		(fd_count > open && !needs_value(c))))
		rc = err_at(err, NULL, 0, "its kind takes no source");
	if (rc != 0) {
		credential_unref(c);
		return err_wrap(err, rc, "credential %s", definition->name);
	}
	*ret = c;
	return load(c, fds, fd_count > open, err);
}

struct credential *
credential_ref(struct credential *c)
{
	c->refs++;
	return c;
}

void
credential_unref(struct credential *c)
{
	if (c == NULL || --c->refs > 0)
		return;
	if (c->kind->unload != NULL)
		c->kind->unload(c);
	secret_done(&c->value);
	for (unsigned int i = 0; i < BROKER_SETTINGS_MAX; i++)
		secret_done(&c->secrets[i]);
	free(c);
}

/* By how they are written: there is one spelling of each. */
static bool
definition_equals(const struct message_broker_credential *a,
    const struct message_broker_credential *b)
{
	AUTO_FREE uint8_t *buf = malloc((size_t)2 * MESSAGE_LARGE_BYTES);
	struct wr wa = wr_init(buf, MESSAGE_LARGE_BYTES);
	struct wr wb;

	/* Not known to be equal: its leases end. */
	if (buf == NULL)
		return false;
	wb = wr_init(buf + MESSAGE_LARGE_BYTES, MESSAGE_LARGE_BYTES);
	message_broker_credential_encode(&wa, a);
	message_broker_credential_encode(&wb, b);
	return wr_ok(&wa) && wr_ok(&wb) && wa.len == wb.len &&
	    memcmp(wa.buf, wb.buf, wa.len) == 0;
}

bool
credential_equals(const struct credential *a, const struct credential *b)
{
	if (!definition_equals(&a->definition, &b->definition) ||
	    !secret_equals(&a->value, secret_span(&b->value)))
		return false;
	for (unsigned int i = 0; i < a->definition.setting_count; i++)
		if (!secret_equals(&a->secrets[i], secret_span(&b->secrets[i])))
			return false;
	return true;
}

static unsigned int
find_setting(const struct credential *c, const char *name, unsigned int n)
{
	const struct message_broker_credential *d = &c->definition;
	unsigned int i;

	for (i = 0; i < d->setting_count; i++) {
		if (strcmp(d->settings[i].name, name) != 0)
			continue;
		if (n == 0)
			break;
		n--;
	}
	return i;
}

const char *
credential_item(const struct credential *c, const char *name, unsigned int n)
{
	const unsigned int i = find_setting(c, name, n);

	return i == c->definition.setting_count
	    ? NULL
	    : c->definition.settings[i].text;
}

const char *
credential_setting(const struct credential *c, const char *name)
{
	return credential_item(c, name, 0);
}

const struct secret *
credential_secret(const struct credential *c, const char *name)
{
	const unsigned int i = find_setting(c, name, 0);

	return i == c->definition.setting_count || c->secrets[i].len == 0
	    ? NULL
	    : &c->secrets[i];
}

bool
credential_says_yes(const struct credential *c, const char *name)
{
	const char *text = credential_setting(c, name);

	return text != NULL && strcmp(text, "yes") == 0;
}

uint64_t
credential_seconds(const struct credential *c, const char *name,
    uint64_t otherwise)
{
	const char *text = credential_setting(c, name);
	uint64_t n = 0;

	if (text == NULL)
		return otherwise;
	for (; ascii_is_digit((uint8_t)*text) && n < UINT32_MAX; text++)
		n = n * 10 + (uint64_t)(*text - '0');
	return n;
}

int
credential_join(const struct credential *c, const char *name, char *buf,
    size_t size, struct err *err)
{
	struct wr w = wr_init(buf, size);
	const char *item;

	for (unsigned int i = 0; (item = credential_item(c, name, i)) != NULL;
	     i++) {
		if (i > 0)
			wr_u8(&w, ' ');
		wr_text(&w, item);
	}
	wr_u8(&w, '\0');
	return wr_ok(&w) ? 0 : err_at(err, NULL, 0, "%s is too long", name);
}

struct credential_set *
credential_set_new(void)
{
	return calloc(1, sizeof(struct credential_set));
}

void
credential_set_free(struct credential_set *s)
{
	if (s == NULL)
		return;
	for (unsigned int i = 0; i < s->count; i++)
		credential_unref(s->credentials[i]);
	free(s);
}

int
credential_set_add(struct credential_set *s, struct credential *c)
{
	int rc = 0;

	if (credential_set_find(s, c->definition.name) != NULL)
		rc = -EEXIST;
	else if (s->count == BROKER_CREDENTIALS_MAX)
		rc = -ENOSPC;
	if (rc != 0) {
		credential_unref(c);
		return rc;
	}
	s->credentials[s->count++] = c;
	return 0;
}

struct credential *
credential_set_find(const struct credential_set *s, const char *name)
{
	for (unsigned int i = 0; i < s->count; i++)
		if (strcmp(s->credentials[i]->definition.name, name) == 0)
			return s->credentials[i];
	return NULL;
}

static bool
names_host(const struct message_broker_credential *d, const char *host)
{
	for (unsigned int i = 0; i < d->host_count; i++)
		if (strcmp(d->hosts[i], host) == 0)
			return true;
	return false;
}

static bool
names_method(const struct message_broker_credential *d, const char *method)
{
	if (d->method_count == 0)
		return true;
	for (unsigned int i = 0; i < d->method_count; i++)
		if (strcmp(d->methods[i], method) == 0)
			return true;
	return false;
}

typedef bool match_fn(struct span pattern, struct span path);

static bool
names_path(const char (*paths)[BROKER_PATH_SIZE], unsigned int count,
    match_fn *match, struct span path)
{
	for (unsigned int i = 0; i < count; i++)
		if (match(span_of(paths[i]), path))
			return true;
	return false;
}

const char *
credential_misuse(const struct credential *c,
    const struct message_lease_request *req)
{
	const struct message_broker_credential *d = &c->definition;

	if (!names_host(d, req->host))
		return "host";
	if (d->port != req->port)
		return "port";
	if (method_is_refused(req->method) || !names_method(d, req->method))
		return "method";
	if (d->path_count > 0 &&
	    !names_path(d->paths, d->path_count, path_match, req->path))
		return "path";
	if (names_path(d->deny_paths, d->deny_path_count, path_match_any_case,
		req->path))
		return "deny-path";
	for (const char *const *p = c->kind->deny_paths;
	     p != NULL && *p != NULL; p++)
		if (path_match_any_case(span_of(*p), req->path))
			return "deny-path";
	return NULL;
}

bool
credential_serves_any_request(const struct credential *c)
{
	const struct message_broker_credential *d = &c->definition;

	return d->method_count == 0 && d->path_count == 0 &&
	    d->deny_path_count == 0 && c->kind->deny_paths == NULL;
}
