#include "proxy/dialler_proxy.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/ascii.h"
#include "base/log.h"
#include "base/source.h"
#include "proxy/dialler_address.h"

#define AREA "proxy"
#define BASIC "Basic "

bool
dialler_goes_by_proxy(const struct message_dialler_config *c, const char *host)
{
	if (c->proxy.host[0] == '\0' || dialler_address_names(c, host))
		return false;
	for (unsigned int i = 0; i < c->proxy.direct_count; i++)
		if (dialler_pattern_matches(c->proxy.direct[i], host))
			return false;
	return true;
}

bool
dialler_proxy_literal(const struct message_proxy *p, struct address *ret)
{
	return address_parse(span_of(p->host), ret);
}

/* No byte that could end the field, or that RFC 7617 2 forbids. */
static bool
is_sendable(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
			return false;
	return true;
}

/* "Basic " and the base64 of "USER:PASSWORD". */
static int
make_login(const char *user, struct span password, struct secret *ret)
{
	AUTO_SECRET struct secret pair = SECRET_NONE;
	AUTO_SECRET struct secret value = SECRET_NONE;
	const size_t user_len = strlen(user);
	const size_t prefix = sizeof(BASIC) - 1;
	int rc = secret_alloc(&pair, user_len + 1 + password.len);

	if (rc != 0)
		return rc;
	memcpy(pair.ptr, user, user_len);
	pair.ptr[user_len] = ':';
	memcpy(pair.ptr + user_len + 1, password.ptr, password.len);
	/* EVP_EncodeBlock() writes a NUL behind. */
	rc = secret_alloc(&value, prefix + (pair.len + 2) / 3 * 4 + 1);
	if (rc != 0)
		return rc;
	memcpy(value.ptr, BASIC, prefix);
	(void)EVP_EncodeBlock(value.ptr + prefix, pair.ptr, (int)pair.len);
	value.len--;
	*ret = secret_steal(&value);
	return 0;
}

int
dialler_proxy_password(int fd, struct secret *ret)
{
	AUTO_SECRET struct secret password = SECRET_NONE;
	struct err err;
	int rc = source_load(fd, "proxy-password", &password, &err);

	if (rc != 0) {
		log_err(AREA, "%s", err.text);
		return rc;
	}
	if (password.len > DIALLER_PROXY_PASSWORD_MAX ||
	    !is_sendable(secret_span(&password))) {
		log_err(AREA,
		    "proxy-password holds more than %d bytes, or one that no "
		    "password has",
		    DIALLER_PROXY_PASSWORD_MAX);
		return -EINVAL;
	}
	secret_done(ret);
	*ret = secret_steal(&password);
	return 0;
}

int
dialler_proxy_login(const struct message_proxy *p, int fd, struct secret *ret)
{
	AUTO_SECRET struct secret password = SECRET_NONE;
	int rc;

	secret_done(ret);
	if (p->user[0] == '\0')
		return 0;
	rc = fd == -1 ? -ENOENT : dialler_proxy_password(fd, &password);
	if (rc != 0)
		return rc;
	return make_login(p->user, secret_span(&password), ret);
}

void
dialler_proxy_word(enum dialler_tunnel_end end, unsigned int status,
    char ret[DIALLER_PROXY_WORD_SIZE])
{
	static const char *const words[] = {
		[DIALLER_TUNNEL_OPEN] = "proxy",
		[DIALLER_TUNNEL_BAD] = "proxy-bad-answer",
		[DIALLER_TUNNEL_CLOSED] = "proxy-closed",
		[DIALLER_TUNNEL_LATE] = "proxy-timeout",
		[DIALLER_TUNNEL_LOCAL] = "proxy-ENOMEM",
	};

	if (end == DIALLER_TUNNEL_REFUSED)
		(void)snprintf(ret, DIALLER_PROXY_WORD_SIZE, "proxy-%u",
		    status);
	else
		(void)snprintf(ret, DIALLER_PROXY_WORD_SIZE, "%s", words[end]);
}
