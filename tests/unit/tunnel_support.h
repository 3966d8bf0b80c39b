/*
 * What the tests of open WebSockets share: a policy, a handshake, and its end.
 */
#ifndef TAPWARD_TESTS_UNIT_TUNNEL_SUPPORT_H
#define TAPWARD_TESTS_UNIT_TUNNEL_SUPPORT_H

#include <string.h>

#include "inspect_fixture.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow plain]\nhost = a.example.org\nport = 80\nscheme = http\n"      \
	"[allow ws]\nhost = a.example.org\nport = 80\nscheme = http\n"         \
	"path = /ws, /ws/**\nwebsocket = yes\n"                                \
	"[allow tls]\nhost = t.example.org\nwebsocket = yes\n"

#define HOST "Host: a.example.org\r\n"
#define UPGRADE "Upgrade: websocket\r\nConnection: Upgrade\r\n"
#define KEY                                                                    \
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                      \
	"Sec-WebSocket-Version: 13\r\n"
#define ASK "GET /ws HTTP/1.1\r\n" HOST UPGRADE KEY "\r\n"
#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
#define SWITCH "HTTP/1.1 101 Switching Protocols\r\n"
#define OPEN SWITCH UPGRADE ACCEPT "\r\n"
#define OK2 "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GET "GET /x HTTP/1.1\r\n" HOST "\r\n"

static inline int
setup(void **state)
{
	*state = fix_new(POLICY);
	return 0;
}

static inline int
teardown(void **state)
{
	fix_free(*state);
	return 0;
}

static inline void
came(const struct peer *p, const char *want)
{
	if (p->in_len != strlen(want) || memcmp(p->in, want, p->in_len) != 0)
		fail_msg("%.*s\ninstead of\n%s", (int)p->in_len,
		    p->in_len > 0 ? (char *)p->in : "", want);
}

/* The guest's WebSocket is open; what the origin got is forgotten. */
static inline struct peer *
open_websocket(struct fix *f)
{
	struct peer *o;

	fix_open_http(f);
	o = fix_ask(f, ASK);
	peer_clear(o);
	peer_say(o, OPEN);
	fix_until(f, peer_has(&f->guest, "\r\n\r\n"));
	peer_clear(&f->guest);
	return o;
}

#endif
