/*
 * A guest and an origin that send anything. Property: whatever reaches the
 * origin begins with one head that is canonical (it parses strictly, and
 * names the host that was judged in our spelling), and a guest never gets
 * more than whole answers: what it sees begins with a head that parses, and is
 * no 101 unless its handshake went out. What comes behind a CONNECT is left
 * for whom it leads to; and bytes that are no handshake are answered by
 * nothing but records of TLS, and dial nobody.
 *
 * Input: one byte of how the guest came (enum front) and how it is cut, the
 * guest's bytes, a byte 0xff, the origin's.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tests/unit/inspect_fixture.h"
#include "wire/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy[] = "[policy]\nversion = 1\n[allow plain]\n"
			     "host = a.example.org\nport = 80\n"
			     "scheme = http\nwebsocket = yes\n"
			     "[allow tunnel]\nhost = b.example.org\n";

enum front { FRONT_HTTP, FRONT_EXPLICIT, FRONT_TLS, FRONT_COUNT };

/* True: it was asked for a WebSocket. */
static bool
check_origin(struct peer *o)
{
	static const char host[] = "\r\nHost: a.example.org\r\n";
	struct http_scan scan = { .at = 0 };
	struct http_request req;
	size_t len;

	if (http_scan(&scan, (struct span){ o->in, o->in_len }, &len) !=
	    HTTP_OK) {
		/* A head is written whole, or not at all. */
		assert(o->in_len == 0);
		return false;
	}
	assert(
	    http_request_parse((struct span){ o->in, len }, &req) == HTTP_OK);
	assert(req.form == HTTP_FORM_ORIGIN || req.form == HTTP_FORM_ASTERISK);
	assert(memmem(o->in, len, host, sizeof(host) - 1) != NULL);
	assert(!req.expects_continue);
	assert(req.has_upgrade == req.is_websocket);
	return req.is_websocket;
}

/* Takes the last field off a head of len bytes; its length then. */
static size_t
drop_field(uint8_t *head, size_t len)
{
	size_t at = len - 4; /* where the field's CRLF begins */

	while (at > 2 && memcmp(head + at - 2, "\r\n", 2) != 0)
		at--;
	memcpy(head + at, "\r\n", 2);
	return at + 2;
}

static void
check_guest(struct peer *g, bool has_asked)
{
	struct http_scan scan = { .at = 0 };
	struct http_response res;
	enum http_status s;
	size_t len;

	if (g->in_len == 0)
		return;
	s = http_scan(&scan, (struct span){ g->in, g->in_len }, &len);
	assert(s == HTTP_OK);
	s = http_response_parse((struct span){ g->in, len }, HTTP_METHOD_GET,
	    has_asked, &res);
	/* Of an origin's 128 fields, and up to two of ours behind them. */
	if (s == HTTP_FIELD_COUNT) {
		len = drop_field(g->in, drop_field(g->in, len));
		s = http_response_parse((struct span){ g->in, len },
		    HTTP_METHOD_GET, has_asked, &res);
	}
	/* An answer to HEAD, or 304, may say a length and have no body. */
	assert(s == HTTP_OK);
}

/*
 * It leads where the head says, and the bytes behind that are all there, on
 * the socket or still to be sent: one byte each, they fill it soon.
 */
static void
check_tunnel(struct fix *f, struct span sent)
{
	static uint8_t left[1 << 20];
	struct http_scan scan = { .at = 0 };
	struct http_request req;
	size_t head = 0;
	ssize_t n =
	    recv(f->conn.fd, left, sizeof(left), MSG_PEEK | MSG_DONTWAIT);

	assert(f->origin_count == 0);
	assert(http_scan(&scan, sent, &head) == HTTP_OK);
	assert((n > 0 ? (size_t)n : 0) + f->guest.out_len - f->guest.out_at ==
	    sent.len - head);
	sent.len = head;
	assert(http_request_parse(sent, &req) == HTTP_OK);
	assert(req.form == HTTP_FORM_AUTHORITY);
	assert(strcmp(f->restarted_host, req.authority.host) == 0);
	assert(f->conn.port == req.authority.port);
}

/* RFC 8446 5.1: type, version 3.x, length. */
static void
check_records(const struct peer *g)
{
	struct rd r = rd_init(g->in, g->in_len);

	while (rd_left(&r) > 0) {
		uint8_t type = rd_u8(&r);

		assert(type >= 20 && type <= 23);
		assert(rd_u16(&r) >> 8 == 3);
		rd_skip(&r, rd_u16(&r));
		assert(rd_ok(&r));
	}
}

static void
open_front(struct fix *f, enum front front)
{
	f->record_count = 0;
	f->has_restarted = false;
	if (front == FRONT_EXPLICIT)
		fix_open_explicit(f);
	else if (front == FRONT_TLS)
		fix_open_tls_raw(f, "b.example.org");
	else
		fix_open_http(f);
}

static void
check_all(struct fix *f, enum front front, struct span sent)
{
	bool has_asked = false;

	if (front == FRONT_TLS) {
		assert(f->origin_count == 0);
		check_records(&f->guest);
		return;
	}
	for (size_t i = 0; i < f->origin_count; i++)
		has_asked = check_origin(&f->origins[i]) || has_asked;
	check_guest(&f->guest, has_asked);
	if (f->has_restarted)
		check_tunnel(f, sent);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fix *f;
	enum front front;
	const uint8_t *cut;
	size_t guest_len;

	if (f == NULL)
		f = fix_new(policy);
	if (size < 2)
		return 0;
	cut = memchr(data + 1, 0xff, size - 1);
	guest_len = cut == NULL ? size - 1 : (size_t)(cut - data) - 1;
	front = (enum front)(data[0] / 64 % FRONT_COUNT);
	open_front(f, front);
	f->guest.burst = data[0] % 8;
	peer_send(&f->guest, data + 1, guest_len);
	fix_settle(f);
	if (f->origin_count > 0 && cut != NULL) {
		f->origins[0].burst = data[0] / 8 % 8;
		peer_send(&f->origins[0], cut + 1, size - guest_len - 2);
		fix_settle(f);
	}
	check_all(f, front, (struct span){ data + 1, guest_len });
	fix_close(f);
	fix_forget_origins(f);
	return 0;
}
