/*
 * Issuers behind the host's forward proxy, by the same rule as origins.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "credential-broker/fetch_private.h"
#include "proxy/dialler_proxy.h"

int
fetch_proxy_load(struct fetcher *f, int fd)
{
	AUTO_SECRET struct secret password = SECRET_NONE;
	int rc;

	secret_done(&f->proxy_password);
	if (f->config->proxy.user[0] == '\0')
		return 0;
	rc = fd == -1 ? -ENOENT : dialler_proxy_password(fd, &password);
	if (rc == 0)
		rc = secret_alloc(&f->proxy_password, password.len + 1);
	if (rc != 0)
		return rc;
	memcpy(f->proxy_password.ptr, password.ptr, password.len);
	f->proxy_password.ptr[password.len] = '\0';
	return 0;
}

bool
fetch_is_literal(const char *host, struct address *ret)
{
	struct span s = span_of(host);

	if (s.len > 2 && s.ptr[0] == '[' && s.ptr[s.len - 1] == ']')
		s = (struct span){ s.ptr + 1, s.len - 2 };
	return address_parse(s, ret);
}

static bool
goes_by_proxy(const struct fetch *t)
{
	struct address literal;

	return strcmp(t->host, "localhost") != 0 &&
	    !fetch_is_literal(t->host, &literal) &&
	    dialler_goes_by_proxy(t->fetcher->config, t->host);
}

/* The environment names no proxy for us. */
static CURLcode
set_direct(struct fetch *t)
{
	CURLcode rc = curl_easy_setopt(t->easy, CURLOPT_PROXY, "");

	memcpy(t->way_host, t->host, sizeof(t->way_host));
	t->way_port = t->port;
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "*");
	return rc;
}

static CURLcode
set_login(struct fetch *t)
{
	const struct fetcher *f = t->fetcher;
	CURLcode rc =
	    curl_easy_setopt(t->easy, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);

	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_PROXYUSERNAME,
		    f->config->proxy.user);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_PROXYPASSWORD,
		    (const char *)f->proxy_password.ptr);
	return rc;
}

/* What the proxy says before the tunnel is there is no issuer's head. */
static CURLcode
set_proxy(struct fetch *t)
{
	const struct message_proxy *p = &t->fetcher->config->proxy;
	const bool is_ipv6 = strchr(p->host, ':') != NULL;
	char url[FETCH_HOST_SIZE + 16];
	CURLcode rc;

	(void)snprintf(t->way_host, sizeof(t->way_host),
	    is_ipv6 ? "[%s]" : "%s", p->host);
	t->way_port = p->port;
	(void)snprintf(url, sizeof(url), "http://%s:%u", t->way_host,
	    (unsigned int)p->port);
	rc = curl_easy_setopt(t->easy, CURLOPT_PROXY, url);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_NOPROXY, "");
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
	if (rc == CURLE_OK)
		rc = curl_easy_setopt(t->easy, CURLOPT_SUPPRESS_CONNECT_HEADERS,
		    1L);
	return rc;
}

CURLcode
fetch_proxy_set(struct fetch *t)
{
	const bool has_login = t->fetcher->config->proxy.user[0] != '\0';
	CURLcode rc;

	if (!goes_by_proxy(t))
		return set_direct(t);
	if (has_login && t->fetcher->proxy_password.ptr == NULL)
		return CURLE_LOGIN_DENIED;
	rc = set_proxy(t);
	if (rc == CURLE_OK && has_login)
		rc = set_login(t);
	return rc;
}
