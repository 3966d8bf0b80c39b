/*
 * Sections and keys of the host's configuration, a row each.
 */
#include "conf/hostconf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "conf/hostconf_parse.h"
#include "conf/hostconf_setting.h"
#include "conf/ini.h"
#include "conf/words.h"

struct section_row {
	const char *kind;
	int (*open)(struct hostconf_parse *p, const char *name);
	int (*finish)(struct hostconf_parse *p);
	bool is_named; /* [kind NAME], repeats */
	bool is_supported;
};

struct key_row {
	const char *name;
	enum hostconf_section section;
	bool is_list;        /* repeats, and takes commas */
	hostconf_take *take; /* NULL: not supported by this version */
};

bool
hostconf_copy(char *buf, size_t size, struct span v)
{
	if (v.len >= size)
		return false;
	memcpy(buf, v.ptr, v.len);
	buf[v.len] = '\0';
	return true;
}

/* --- values of [daemon], [network], [upstream], [ceiling] ----------------- */

const char *
hostconf_copy_path(char *buf, size_t size, struct span v)
{
	if (v.ptr[0] != '/')
		return "write an absolute path";
	for (size_t i = 0; i + 2 < v.len; i++) {
		if (memcmp(v.ptr + i, "/..", 3) == 0 &&
		    (i + 3 == v.len || v.ptr[i + 3] == '/'))
			return "a path without `..`";
	}
	if (!hostconf_copy(buf, size, v))
		return "the path is too long here";
	return NULL;
}

static const char *
take_run_dir(struct hostconf_parse *p, struct span v)
{
	return hostconf_copy_path(p->c->run_dir, sizeof(p->c->run_dir), v);
}

static const char *
take_state_dir(struct hostconf_parse *p, struct span v)
{
	return hostconf_copy_path(p->c->state_dir, sizeof(p->c->state_dir), v);
}

static const char *
take_log_dir(struct hostconf_parse *p, struct span v)
{
	return hostconf_copy_path(p->c->log_dir, sizeof(p->c->log_dir), v);
}

static const char *
take_ca_file(struct hostconf_parse *p, struct span v)
{
	return hostconf_copy_path(p->c->ca_file, sizeof(p->c->ca_file), v);
}

static const char *
take_passthrough_ech(struct hostconf_parse *p, struct span v)
{
	p->c->passthrough_ech = span_is(v, "allow");
	return p->c->passthrough_ech || span_is(v, "deny")
	    ? NULL
	    : "write allow or deny";
}

static const char *
take_group(struct hostconf_parse *p, struct span v)
{
	if (!words_is_name(v) ||
	    !hostconf_copy(p->c->group, sizeof(p->c->group), v))
		return "not a name of a group";
	return NULL;
}

static const char *
take_uid_range(struct hostconf_parse *p, struct span v)
{
	const uint8_t *dash = memchr(v.ptr, '-', v.len);
	struct span first = v;
	uint64_t from, to;

	if (dash == NULL)
		return "write FIRST-LAST";
	first.len = (size_t)(dash - v.ptr);
	if (!limit_parse(UNIT_COUNT, first, &from) ||
	    !limit_parse(UNIT_COUNT,
		(struct span){ dash + 1, v.len - first.len - 1 }, &to))
		return "write FIRST-LAST";
	/* 65534 is nobody, the last two are no uids (setreuid(2)) */
	if (from < 65536 || to > UINT32_MAX - 2 || to < from || to - from < 255)
		return "at least 256 uids, from 65536 to 4294967293, that "
		       "nobody else uses";
	p->c->uid_first = (uint32_t)from;
	p->c->uid_last = (uint32_t)to;
	return NULL;
}

static const char *
take_pool(struct hostconf_parse *p, struct span v)
{
	uint64_t n;

	if (!limit_parse(UNIT_COUNT, v, &n) || n > HOSTCONF_POOL_MAX)
		return "a number from 0 to 1024";
	p->c->pool = (unsigned int)n;
	return NULL;
}

static const char *
take_ceiling(struct hostconf_parse *p, struct span v)
{
	p->has_ceiling_policy = true;
	p->c->has_ceiling = !span_is(v, "none");
	if (!p->c->has_ceiling)
		return NULL;
	if (v.ptr[0] != '/')
		return "write an absolute path, or `none` to go without";
	return hostconf_copy_path(p->c->ceiling_file,
	    sizeof(p->c->ceiling_file), v);
}

static const char *
take_accelerator(struct hostconf_parse *p, struct span v)
{
	if (!span_is(v, "auto") && !span_is(v, "tcg"))
		return "auto (KVM where it works), or tcg (never KVM)";
	p->c->has_no_kvm = span_is(v, "tcg");
	return NULL;
}

static int
finish_ceiling(struct hostconf_parse *p)
{
	if (p->c->learn_count == 0 || p->c->has_ceiling)
		return 0;
	return err_at(p->err, p->file, p->line,
	    "[ceiling] learn needs a ceiling: what a sandbox that learns may "
	    "reach is what `policy = FILE` lets through; name one, or remove "
	    "`learn`");
}

/* --- tables ----------------------------------------------------------------
 */

static const struct section_row sections[HOSTCONF_SECTIONS] = {
	[HOSTCONF_NONE] = { "", NULL, NULL, false, false },
	[HOSTCONF_DAEMON] = { "daemon", NULL, NULL, false, true },
	[HOSTCONF_NETWORK] = { "network", NULL, NULL, false, true },
	[HOSTCONF_UPSTREAM] = { "upstream", NULL, hostconf_finish_upstream,
	    false, true },
	[HOSTCONF_ADDRESS] = { "address", hostconf_open_address,
	    hostconf_finish_address, true, true },
	[HOSTCONF_CA] = { "ca", hostconf_open_ca, hostconf_finish_ca, true,
	    true },
	[HOSTCONF_CEILING] = { "ceiling", NULL, finish_ceiling, false, true },
	[HOSTCONF_CREDENTIAL] = { "credential", hostconf_open_credential,
	    hostconf_finish_credential, true, true },
	[HOSTCONF_LIMITS] = { "limits", NULL, NULL, false, true },
	[HOSTCONF_ASK] = { "ask", NULL, hostconf_finish_ask, false, true },
	[HOSTCONF_VM] = { "vm", NULL, NULL, false, true },
	[HOSTCONF_AUDIT] = { "audit", NULL, NULL, false, true },
};

static const struct key_row keys[] = {
	{ "run-dir", HOSTCONF_DAEMON, false, take_run_dir },
	{ "state-dir", HOSTCONF_DAEMON, false, take_state_dir },
	{ "log-dir", HOSTCONF_DAEMON, false, take_log_dir },
	{ "group", HOSTCONF_DAEMON, false, take_group },
	{ "uid-range", HOSTCONF_DAEMON, false, take_uid_range },
	{ "metrics-listen", HOSTCONF_DAEMON, false, hostconf_take_metrics },
	{ "pool", HOSTCONF_NETWORK, false, take_pool },
	{ "guest", HOSTCONF_NETWORK, false, hostconf_take_guest },
	{ "gateway", HOSTCONF_NETWORK, false, hostconf_take_gateway },
	{ "synthetic", HOSTCONF_NETWORK, false, NULL },
	{ "resolver", HOSTCONF_UPSTREAM, true, hostconf_take_resolver },
	{ "ca-file", HOSTCONF_UPSTREAM, false, take_ca_file },
	{ "passthrough-ech", HOSTCONF_UPSTREAM, false, take_passthrough_ech },
	{ "proxy", HOSTCONF_UPSTREAM, false, hostconf_take_proxy },
	{ "proxy-user", HOSTCONF_UPSTREAM, false, hostconf_take_proxy_user },
	{ "proxy-password", HOSTCONF_UPSTREAM, false,
	    hostconf_take_proxy_password },
	{ "no-proxy", HOSTCONF_UPSTREAM, true, hostconf_take_no_proxy },
	{ "host", HOSTCONF_ADDRESS, true, hostconf_take_ahost },
	{ "range", HOSTCONF_ADDRESS, true, hostconf_take_range },
	{ "host", HOSTCONF_CA, true, hostconf_take_ca_host },
	{ "file", HOSTCONF_CA, false, hostconf_take_ca_set_file },
	{ "only", HOSTCONF_CA, false, hostconf_take_only },
	{ "policy", HOSTCONF_CEILING, false, take_ceiling },
	{ "learn", HOSTCONF_CEILING, true, hostconf_take_learn },
	{ "hook", HOSTCONF_ASK, false, hostconf_take_hook },
	{ "run-as", HOSTCONF_ASK, false, hostconf_take_hook_user },
	{ "timeout", HOSTCONF_ASK, false, hostconf_take_hook_timeout },
	{ "accelerator", HOSTCONF_VM, false, take_accelerator },
	{ "rotate-size", HOSTCONF_AUDIT, false, hostconf_take_rotate_size },
	{ "rotate-age", HOSTCONF_AUDIT, false, hostconf_take_rotate_age },
	{ "keep", HOSTCONF_AUDIT, false, hostconf_take_keep },
	{ "keep-age", HOSTCONF_AUDIT, false, hostconf_take_keep_age },
	{ "anchor", HOSTCONF_AUDIT, false, hostconf_take_anchor },
	{ "kind", HOSTCONF_CREDENTIAL, false, hostconf_take_kind },
	{ "value", HOSTCONF_CREDENTIAL, false, hostconf_take_value },
	{ "host", HOSTCONF_CREDENTIAL, true, hostconf_take_chost },
	{ "port", HOSTCONF_CREDENTIAL, false, hostconf_take_cport },
	{ "apply", HOSTCONF_CREDENTIAL, false, hostconf_take_apply },
	{ "strip", HOSTCONF_CREDENTIAL, true, hostconf_take_strip },
	{ "strip-response", HOSTCONF_CREDENTIAL, true,
	    hostconf_take_strip_response },
	{ "placeholder", HOSTCONF_CREDENTIAL, false,
	    hostconf_take_placeholder },
	{ "method", HOSTCONF_CREDENTIAL, true, hostconf_take_method },
	{ "path", HOSTCONF_CREDENTIAL, true, hostconf_take_path },
	{ "deny-path", HOSTCONF_CREDENTIAL, true, hostconf_take_deny_path },
	{ "grant", HOSTCONF_CREDENTIAL, true, hostconf_take_grant },
	{ "websocket", HOSTCONF_CREDENTIAL, false, hostconf_take_websocket },
	{ "set-cookie", HOSTCONF_CREDENTIAL, false, hostconf_take_set_cookie },
};
#define KEYS (sizeof(keys) / sizeof(keys[0]))
static_assert(KEYS <= 64 && LIMIT_COUNT <= 64, "a bit of seen for each");

/* --- reading ----------------------------------------------------------------
 */

__attribute__((format(printf, 2, 3))) static int
refuse(struct hostconf_parse *p, const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_at(p->err, p->file, p->key, "%s", text);
}

static int
finish_section(struct hostconf_parse *p)
{
	const struct section_row *row = &sections[p->section];

	return row->finish != NULL ? row->finish(p) : 0;
}

static int
refuse_section(struct hostconf_parse *p, const char *kind)
{
	const char *near = words_nearest(kind, &sections[1].kind,
	    HOSTCONF_SECTIONS - 1, sizeof(sections[0]));

	return near != NULL
	    ? refuse(p, "unknown section [%s]: did you mean [%s]?", kind, near)
	    : refuse(p, "unknown section [%s]: see tapward.ini(5)", kind);
}

static int
open_section(struct hostconf_parse *p, const struct ini_entry *e)
{
	enum hostconf_section s = HOSTCONF_NONE;

	for (unsigned int i = 1; i < HOSTCONF_SECTIONS; i++) {
		if (strcmp(sections[i].kind, e->kind) == 0)
			s = (enum hostconf_section)i;
	}
	if (s == HOSTCONF_NONE)
		return refuse_section(p, e->kind);
	if (!sections[s].is_supported)
		return refuse(p,
		    "[%s] is not supported by this version: remove it",
		    e->kind);
	if (sections[s].is_named && !words_is_name(span_of(e->name)))
		return refuse(p,
		    "[%s NAME] needs a name of letters, digits, '-', '_' and "
		    "'.'",
		    e->kind);
	if (!sections[s].is_named && e->name[0] != '\0')
		return refuse(p, "[%s] takes no name", e->kind);
	if (!sections[s].is_named && p->opened[s] != 0)
		return refuse(p, "a second [%s] (first on line %u): join them",
		    e->kind, p->opened[s]);
	p->opened[s] = e->line;
	p->section = s;
	p->line = e->line;
	p->seen = 0;
	return sections[s].open != NULL ? sections[s].open(p, e->name) : 0;
}

static int
take_limit(struct hostconf_parse *p, const struct ini_entry *e)
{
	const char *near;

	for (unsigned int i = 0; i < LIMIT_COUNT; i++) {
		const struct limit_row *row = &limit_rows[i];
		uint64_t n;

		if (strcmp(row->name, e->key) != 0)
			continue;
		if ((p->seen & 1ull << i) != 0)
			return refuse(p, "%s is given twice: keep one", e->key);
		p->seen |= 1ull << i;
		if (!limit_parse(row->unit, span_of(e->value), &n))
			return refuse(p, "%s = %s: write %s", e->key, e->value,
			    limit_unit_text(row->unit));
		if (n < row->min || n > row->max)
			return refuse(p,
			    "%s = %s: from %llu to %llu (the default is %llu: "
			    "%s)",
			    e->key, e->value, (unsigned long long)row->min,
			    (unsigned long long)row->max,
			    (unsigned long long)row->standard, row->reason);
		p->c->limits[i] = n;
		return 0;
	}
	near = words_nearest(e->key, &limit_rows[0].name, LIMIT_COUNT,
	    sizeof(limit_rows[0]));
	return near != NULL
	    ? refuse(p, "unknown limit %s: did you mean %s?", e->key, near)
	    : refuse(p, "unknown limit %s: see tapward.ini(5)", e->key);
}

static int
refuse_key(struct hostconf_parse *p, const struct ini_entry *e)
{
	const char *near =
	    words_nearest(e->key, &keys[0].name, KEYS, sizeof(keys[0]));

	for (size_t i = 0; i < KEYS; i++) {
		if (strcmp(keys[i].name, e->key) == 0)
			return refuse(p,
			    "%s does not belong into [%s], but "
			    "into [%s]",
			    e->key, e->kind, sections[keys[i].section].kind);
	}
	return near != NULL
	    ? refuse(p, "unknown key %s: did you mean %s?", e->key, near)
	    : refuse(p, "unknown key %s: see tapward.ini(5)", e->key);
}

static int
take_values(struct hostconf_parse *p, const struct key_row *row,
    const struct ini_entry *e)
{
	struct span list = span_of(e->value), v = list;

	while (!row->is_list || words_next_item(&list, &v)) {
		const char *fault = v.len > 0
		    ? row->take(p, v)
		    : "an empty item: remove the comma";

		if (fault != NULL)
			return refuse(p, "%s = %.*s: %s", e->key, (int)v.len,
			    (const char *)v.ptr, fault);
		if (!row->is_list)
			break;
	}
	return 0;
}

static int
take_key(struct hostconf_parse *p, const struct ini_entry *e)
{
	for (size_t i = 0; i < KEYS; i++) {
		if (keys[i].section != p->section ||
		    strcmp(keys[i].name, e->key) != 0)
			continue;
		if (keys[i].take == NULL)
			return refuse(p,
			    "%s is not supported by this "
			    "version: remove it",
			    e->key);
		if (!keys[i].is_list && (p->seen & 1ull << i) != 0)
			return refuse(p, "%s is given twice: keep one", e->key);
		p->seen |= 1ull << i;
		return take_values(p, &keys[i], e);
	}
	if (p->section == HOSTCONF_CREDENTIAL && hostconf_is_setting(e->key))
		return hostconf_take_setting(p, e);
	return refuse_key(p, e);
}

static int
on_entry(const struct ini_entry *e, void *arg)
{
	struct hostconf_parse *p = arg;
	int rc;

	p->key = e->line;
	if (e->key != NULL)
		return p->section == HOSTCONF_LIMITS ? take_limit(p, e)
						     : take_key(p, e);
	rc = finish_section(p);
	return rc != 0 ? rc : open_section(p, e);
}

static void
fill_defaults(struct hostconf *c)
{
	(void)snprintf(c->run_dir, sizeof(c->run_dir), "/run/tapward");
	(void)snprintf(c->state_dir, sizeof(c->state_dir), "/var/lib/tapward");
	(void)snprintf(c->log_dir, sizeof(c->log_dir), "/var/log/tapward");
	(void)snprintf(c->group, sizeof(c->group), "tapward");
	(void)snprintf(c->ca_file, sizeof(c->ca_file),
	    "/etc/ssl/certs/ca-certificates.crt");
	c->uid_first = 2130000000;
	c->uid_last = 2130065535;
	c->pool = 8;
	c->ask_hook_timeout_ms = 10000;
	c->guest_ip = 0x64400002;   /* 100.64.0.2 */
	c->gateway_ip = 0x64400001; /* 100.64.0.1 */
	c->prefix_len = 30;
	c->synthetic_net = 0xc6120000; /* 198.18.0.0 */
	c->synthetic_prefix_len = 15;
	for (unsigned int i = 0; i < LIMIT_COUNT; i++)
		c->limits[i] = limit_rows[i].standard;
}

static int
read_all(struct hostconf_parse *p, struct span text)
{
	int rc = ini_read(text, p->file, on_entry, p, p->err);

	if (rc == 0)
		rc = finish_section(p);
	if (rc == 0)
		rc = hostconf_finish_network(p);
	if (rc == 0 && !p->has_ceiling_policy)
		rc = err_at(p->err, p->file, 0,
		    "no [ceiling] policy: name the most that any sandbox may "
		    "reach, "
		    "`[ceiling]` and `policy = /etc/tapward/ceiling.ini`, or "
		    "write `policy = none` to go without");
	return rc;
}

int
hostconf_parse(const char *file, struct span text, struct hostconf **ret,
    struct err *err)
{
	struct hostconf *c = calloc(1, sizeof(*c));
	struct hostconf_parse p = { .file = file,
		.err = err,
		.c = c,
		.addresses = VEC_OF(struct hostconf_address),
		.cas = VEC_OF(struct hostconf_ca),
		.credentials = VEC_OF(struct hostconf_credential) };
	int rc;

	if (c == NULL)
		return -ENOMEM;
	fill_defaults(c);
	rc = text.len > HOSTCONF_TEXT_MAX_BYTES
	    ? err_at(err, file, 0, "larger than 1 MiB")
	    : read_all(&p, text);
	c->addresses = p.addresses.ptr;
	c->address_count = p.addresses.count;
	c->cas = p.cas.ptr;
	c->ca_count = p.cas.count;
	c->credentials = p.credentials.ptr;
	c->credential_count = p.credentials.count;
	if (rc != 0) {
		hostconf_free(c);
		return rc;
	}
	*ret = c;
	return 0;
}

void
hostconf_free(struct hostconf *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->credential_count; i++)
		free(c->credentials[i].def);
	free(c->credentials);
	free(c->cas);
	free(c->addresses);
	free(c);
}
