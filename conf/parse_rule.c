/*
 * What must hold within one rule, once its section has ended.
 */
#include <errno.h>
#include <string.h>

#include "conf/parse.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443

static void
add_port(struct parse *p, uint16_t port)
{
	struct model_rule *r = parse_rule(p);

	r->ports.at = (uint32_t)p->m->ports.count;
	r->ports.count = 1;
	if (vec_push(&p->m->ports, &port) != 0)
		p->rc = -ENOMEM;
}

static bool
names_port(const struct parse *p, uint16_t port)
{
	const struct model_rule *r = parse_rule(p);

	for (uint32_t i = 0; i < r->ports.count; i++) {
		const uint16_t *at = vec_at(&p->m->ports, r->ports.at + i);

		if (*at == port)
			return true;
	}
	return false;
}

void
parse_refuse_if(struct parse *p, enum parse_key key, const char *why)
{
	if (p->key_line[key] != 0)
		finding_error(p->ret, parse_at(p, p->key_line[key]), "%s", why);
}

static void
check_deny(struct parse *p)
{
	static const char modes[] =
	    "a deny rule denies whatever is spoken there: remove tls and "
	    "scheme";
	static const enum parse_key budgets[] = { KEY_UNTIL, KEY_MAX_REQUESTS,
		KEY_MAX_UPLOAD, KEY_MAX_DOWNLOAD, KEY_RATE,
		KEY_MAX_CONNECTIONS };

	parse_refuse_if(p, KEY_CREDENTIAL,
	    "a deny rule sends nothing, so it takes no credential");
	parse_refuse_if(p, KEY_TLS, modes);
	parse_refuse_if(p, KEY_SCHEME, modes);
	for (size_t i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++)
		parse_refuse_if(p, budgets[i],
		    "a deny rule lets nothing through that could be counted: "
		    "remove it");
	parse_refuse_if(p, KEY_REDIRECT,
	    "a deny rule has no answer that could point anywhere: remove "
	    "redirect");
	parse_refuse_if(p, KEY_WEBSOCKET,
	    "a deny rule denies a WebSocket with all else: remove websocket");
}

/* Ports by scheme: what is spoken on 80 and 443 is fixed. */
static void
check_ports(struct parse *p)
{
	const struct model_rule *r = parse_rule(p);
	uint32_t line = p->key_line[KEY_PORT];
	struct place at = parse_at(p, line != 0 ? line : p->line);

	if (r->scheme == SCHEME_TCP && line == 0) {
		finding_error(p->ret, at, "scheme = tcp needs a port");
		return;
	}
	if (line == 0)
		add_port(p, r->scheme == SCHEME_HTTP ? PORT_HTTP : PORT_HTTPS);
	if (r->scheme != SCHEME_HTTP && names_port(p, PORT_HTTP))
		finding_error(p->ret, at,
		    "port 80 speaks HTTP: a rule for it says scheme = http, "
		    "and one for 443 stands apart");
	if (r->scheme != SCHEME_HTTPS && names_port(p, PORT_HTTPS))
		finding_error(p->ret, at,
		    "port 443 speaks TLS: a rule for it has scheme https, the "
		    "default");
}

static void
check_uninspected(struct parse *p, const char *mode)
{
	static const enum parse_key keys[] = { KEY_METHOD, KEY_PATH, KEY_QUERY,
		KEY_CREDENTIAL, KEY_WEBSOCKET, KEY_REDIRECT };
	static const char *const names[] = { "method", "path", "query",
		"credential", "websocket", "redirect" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint32_t line = p->key_line[keys[i]];

		if (line != 0)
			finding_error(p->ret, parse_at(p, line),
			    "%s on a %s host: nothing inside is seen there, "
			    "so it cannot hold; remove one of the two",
			    names[i], mode);
	}
}

static void
warn_of_mode(struct parse *p)
{
	const struct model_rule *r = parse_rule(p);

	if (p->is_preset)
		return; /* was looked at when it was made */
	if (r->scheme == SCHEME_TCP)
		finding_review(p->ret, parse_at(p, p->key_line[KEY_SCHEME]),
		    "unseen",
		    "scheme = tcp judges name and port only, and sees nothing "
		    "of what is sent");
	else if (r->tls == TLS_MODE_PASSTHROUGH)
		finding_review(p->ret, parse_at(p, p->key_line[KEY_TLS]),
		    "unseen",
		    "passthrough judges the name only, and sees nothing of "
		    "what is sent");
	else if (r->scheme == SCHEME_HTTP)
		finding_review(p->ret, parse_at(p, p->key_line[KEY_SCHEME]),
		    "plain-http",
		    "scheme = http crosses the network in the clear: anybody "
		    "on the way can answer");
}

static void
check_modes(struct parse *p)
{
	const struct model_rule *r = parse_rule(p);

	if (r->tls == TLS_MODE_PASSTHROUGH && r->scheme != SCHEME_HTTPS)
		parse_refuse_if(p, KEY_TLS,
		    "passthrough is for https: with http or tcp there is no "
		    "TLS to pass");
	if (r->scheme == SCHEME_TCP)
		check_uninspected(p, "tcp");
	else if (r->tls == TLS_MODE_PASSTHROUGH)
		check_uninspected(p, "passthrough");
	if (r->action == ACTION_ASK &&
	    (r->scheme == SCHEME_TCP || r->tls == TLS_MODE_PASSTHROUGH))
		finding_error(p->ret,
		    parse_at(p,
			p->key_line[r->scheme == SCHEME_TCP ? KEY_SCHEME
							    : KEY_TLS]),
		    "[ask] holds requests, and of this connection none is "
		    "seen: allow it, or deny it");
	if (r->scheme == SCHEME_TCP && p->wildcard_line != 0)
		finding_error(p->ret, parse_at(p, p->wildcard_line),
		    "a wildcard host with scheme = tcp: each such host has an "
		    "address of its own, so name them one by one");
	warn_of_mode(p);
}

static bool
takes_get(const struct parse *p, const struct model_rule *r)
{
	for (uint32_t i = 0; i < r->methods.count; i++) {
		const uint32_t *at = vec_at(&p->m->methods, r->methods.at + i);

		if (strcmp(model_string(p->m, *at), "GET") == 0)
			return true;
	}
	return r->methods.count == 0;
}

static void
check_websocket(struct parse *p)
{
	const struct model_rule *r = parse_rule(p);
	struct place at = parse_at(p, p->key_line[KEY_WEBSOCKET]);

	if ((r->widen & WIDEN_WEBSOCKET) == 0)
		return;
	if (!takes_get(p, r))
		finding_error(p->ret, at,
		    "a WebSocket begins with GET, which this rule does not "
		    "allow: add `method = GET`");
	else if (!p->is_preset)
		finding_review(p->ret, at, "unseen",
		    "websocket judges the request that opens one, and sees "
		    "nothing of what is sent then");
}

void
parse_check_credential(struct parse *p)
{
	const struct model_rule *r = parse_rule(p);
	uint32_t line = p->key_line[KEY_CREDENTIAL];

	if (line == 0)
		return;
	if (p->in->is_ceiling)
		finding_error(p->ret, parse_at(p, line),
		    "a ceiling hands out no credential: grant it in "
		    "[credential NAME] of the host's configuration");
	if (p->wildcard_line != 0)
		finding_error(p->ret, parse_at(p, p->wildcard_line),
		    "a credential on a wildcard host: name the host that it "
		    "is for");
	if (r->scheme == SCHEME_HTTP)
		finding_error(p->ret, parse_at(p, line),
		    "a credential over scheme = http would cross the network "
		    "in the clear: use https");
}

void
parse_finish_rule(struct parse *p)
{
	const struct model_rule *r = parse_rule(p);

	if (p->key_line[KEY_HOST] == 0)
		finding_error(p->ret, parse_at(p, p->line),
		    "[%s %s] names no host: add `host = NAME`",
		    action_name(r->action), model_string(p->m, r->name));
	if (p->key_line[KEY_PATH] == 0)
		parse_refuse_if(p, KEY_ENCODED_SLASH,
		    "encoded-slash without a path: a rule without a path "
		    "matches every path as it is; add `path = /**`");
	if (p->any_depth_line != 0 && r->action != ACTION_DENY && !p->is_preset)
		finding_review(p->ret, parse_at(p, p->any_depth_line),
		    "deep-wildcard",
		    "**. names every host below, however deep: *. names one "
		    "label only");
	if (r->action == ACTION_DENY) {
		check_deny(p);
		return;
	}
	check_modes(p);
	check_ports(p);
	check_websocket(p);
	parse_check_credential(p);
}
