/*
 * The way to origins: resolvers, and the forward proxy of a company.
 */
#include <stdio.h>
#include <string.h>

#include "conf/hostconf_parse.h"
#include "conf/hostconf_setting.h"
#include "wire/address.h"
#include "wire/authority.h"
#include "wire/host.h"

static bool
starts_with(struct span v, const char *text)
{
	const size_t n = strlen(text);

	return v.len >= n && memcmp(v.ptr, text, n) == 0;
}

/* --- resolvers ------------------------------------------------------------ */

#define DNS_PORT 53
#define DNS_TLS_PORT 853

/* The name behind the '#', if there is one; *address is what is before it. */
static const char *
take_tls_name(struct message_resolver *r, struct span v, struct span *address)
{
	const uint8_t *hash = memchr(v.ptr, '#', v.len);
	struct span text;
	char name[HOST_SIZE];

	*address = v;
	if (hash == NULL)
		return NULL;
	address->len = (size_t)(hash - v.ptr);
	text = (struct span){ hash + 1, v.len - address->len - 1 };
	if (host_parse(text, name) != HOST_NAME)
		return "behind the '#' is the full name that its certificate "
		       "has, as 9.9.9.9#dns.quad9.net";
	(void)snprintf(r->tls_name, sizeof(r->tls_name), "%s", name);
	return NULL;
}

/*
 * One in the clear beside others would be asked when those fail, and whoever
 * can make them fail would read every name.
 */
const char *
hostconf_take_resolver(struct hostconf_parse *p, struct span v)
{
	struct hostconf *c = p->c;
	struct message_resolver r = { .port = 0 };
	struct span endpoint;
	struct address a;
	const char *fault = take_tls_name(&r, v, &endpoint);
	const bool is_tls = r.tls_name[0] != '\0';

	if (fault != NULL)
		return fault;
	if (!hostconf_parse_endpoint(endpoint, is_tls ? DNS_TLS_PORT : DNS_PORT,
		&a, &r.port))
		return "write ADDRESS, ADDRESS:PORT or [IPV6]:PORT, and behind "
		       "it #NAME to ask it by TLS";
	if (c->resolver_count >= DIALLER_RESOLVERS_MAX)
		return "more than 8 resolvers";
	if (c->resolver_count > 0 &&
	    (c->resolvers[0].tls_name[0] != '\0') != is_tls)
		return "some are asked by TLS and some are not: those in the "
		       "clear would be asked when the others fail; give each "
		       "its #NAME, or none";
	r.address = hostconf_address(&a);
	c->resolvers[c->resolver_count++] = r;
	return NULL;
}

/* --- the proxy ------------------------------------------------------------ */

#define PROXY_FORM "write http://HOST:PORT, as http://proxy.corp.example:3128"

/* An address, in the one way we write it, or a canonical name. */
static const char *
take_proxy_host(struct message_proxy *x, struct span host)
{
	char name[HOST_SIZE];
	struct address a;
	const bool has_brackets =
	    host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';

	if (has_brackets)
		host = (struct span){ host.ptr + 1, host.len - 2 };
	if (address_parse(host, &a)) {
		char text[ADDRESS_TEXT_SIZE];

		if (has_brackets != (a.family == ADDRESS_IPV6))
			return "brackets go round an IPv6 address, as "
			       "http://[fd00::1]:3128";
		(void)snprintf(x->host, sizeof(x->host), "%s",
		    address_format(&a, text));
		return NULL;
	}
	if (host_parse(host, name) != HOST_NAME)
		return "its host is neither an address nor a full name, as "
		       "proxy.corp.example";
	(void)snprintf(x->host, sizeof(x->host), "%s", name);
	return NULL;
}

const char *
hostconf_take_proxy(struct hostconf_parse *p, struct span v)
{
	struct message_proxy *x = &p->c->proxy;
	const uint8_t *colon;
	struct span host;

	p->proxy_line = p->key;
	if (starts_with(v, "https://"))
		return "a proxy that is itself spoken to by TLS is not "
		       "supported, since what is handed to a gate is a bare "
		       "connection: name its http:// port";
	if (!starts_with(v, "http://"))
		return PROXY_FORM;
	host = (struct span){ v.ptr + 7, v.len - 7 };
	if (memchr(host.ptr, '@', host.len) != NULL)
		return "name who we are in proxy-user, and where its password "
		       "lies in proxy-password";
	colon = host.len == 0 ? NULL : memrchr(host.ptr, ':', host.len);
	if (colon == NULL)
		return PROXY_FORM;
	host.len = (size_t)(colon - host.ptr);
	if (!authority_parse_port((struct span){ colon + 1,
				      v.len - 7 - host.len - 1 },
		&x->port))
		return PROXY_FORM;
	return take_proxy_host(x, host);
}

const char *
hostconf_take_proxy_user(struct hostconf_parse *p, struct span v)
{
	struct message_proxy *x = &p->c->proxy;

	p->proxy_line = p->key;
	/* RFC 7617 2: what comes after the first ':' is the password. */
	if (memchr(v.ptr, ':', v.len) != NULL)
		return "a user's name has no ':'";
	if (!hostconf_copy(x->user, sizeof(x->user), v))
		return "at most 128 bytes";
	return NULL;
}

const char *
hostconf_take_proxy_password(struct hostconf_parse *p, struct span v)
{
	enum hostconf_source source;
	size_t used;
	const char *fault = hostconf_parse_source(v, &source, &used);

	p->proxy_line = p->key;
	if (fault != NULL)
		return fault;
	if (!hostconf_copy(p->c->proxy_password, sizeof(p->c->proxy_password),
		v))
		return "too long";
	return NULL;
}

const char *
hostconf_take_no_proxy(struct hostconf_parse *p, struct span v)
{
	struct message_proxy *x = &p->c->proxy;
	char pattern[DIALLER_PATTERN_SIZE];
	const char *fault = hostconf_parse_pattern(v, pattern);

	p->proxy_line = p->key;
	if (fault != NULL)
		return fault;
	if (x->direct_count >= DIALLER_DIRECT_MAX)
		return "more than 64 names";
	memcpy(x->direct[x->direct_count++], pattern, sizeof(pattern));
	return NULL;
}

int
hostconf_finish_upstream(struct hostconf_parse *p)
{
	const struct hostconf *c = p->c;

	if (p->proxy_line != 0 && c->proxy.host[0] == '\0')
		return err_at(p->err, p->file, p->proxy_line,
		    "there is no proxy that this is about: name it, as "
		    "`proxy = http://proxy.corp.example:3128`");
	if ((c->proxy.user[0] != '\0') != (c->proxy_password[0] != '\0'))
		return err_at(p->err, p->file, p->proxy_line,
		    "proxy-user and proxy-password go together: name both, or "
		    "neither");
	return 0;
}
