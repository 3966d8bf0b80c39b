/*
 * WebSocket: the request that opens one, the answer that does, and the tunnel
 * behind it, in which both bodies of the exchange go on as bytes, each to its
 * own end. The handshake was checked on both sides before a byte of it is let
 * through: no other status opens a tunnel, and 101 opens no other.
 *
 * The credential of the request goes no further than that request. What the
 * origin then says is searched for it, and a find ends the tunnel: a message
 * with asterisks in it would be another message. So does the end of its lease,
 * unless that is its time: a tunnel may last longer, but nobody may keep what
 * was revoked.
 */
#include "proxy/exchange_private.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "proxy/websocket_scan.h"
#include "wire/websocket.h"

#define SHA1_BYTES 20

struct exchange_tunnel {
	struct websocket_scan scan; /* with a credential */
	bool is_down_whole;         /* all of the origin's is with the guest */
	bool is_up_sent;            /* all of the guest's is with the origin */
};

/* --- the handshake --- */

bool
exchange_tunnel_passes(const struct exchange *x, struct span name)
{
	/* Without a handshake they are nobody's. */
	if (!x->is_websocket || span_is_case(name, "sec-websocket-accept"))
		return false;
	/* Compressed messages could not be searched. */
	return !(x->has_credential &&
	    span_is_case(name, "sec-websocket-extensions"));
}

enum reason
exchange_tunnel_check(const struct http_request *req, const char **ret_detail)
{
	struct span key;
	enum websocket_status s;

	if (!req->is_websocket)
		return REASON_NONE;
	s = websocket_check_request(&req->fields, &key);
	if (s == WEBSOCKET_OK)
		return REASON_NONE;
	*ret_detail = websocket_status_text(s);
	return REASON_BAD_REQUEST;
}

/* base64 of the SHA-1 of the key and the GUID (RFC 6455 4.2.2, 5.4). */
static bool
make_accept(struct span key, char ret[WEBSOCKET_ACCEPT_SIZE])
{
	uint8_t text[WEBSOCKET_KEY_LEN + sizeof(WEBSOCKET_GUID)];
	uint8_t md[EVP_MAX_MD_SIZE];
	struct wr w = wr_init(text, sizeof(text));
	unsigned int len;

	wr_bytes(&w, key.ptr, key.len);
	wr_text(&w, WEBSOCKET_GUID);
	if (!wr_ok(&w) ||
	    EVP_Digest(text, w.len, md, &len, EVP_sha1(), NULL) != 1 ||
	    len != SHA1_BYTES)
		return false;
	return EVP_EncodeBlock((uint8_t *)ret, md, SHA1_BYTES) ==
	    WEBSOCKET_ACCEPT_SIZE - 1;
}

/* By what went out: a lease may have taken fields away. */
static bool
make_offer(const struct exchange *x, struct websocket_offer *ret)
{
	struct span key, other;

	ret->has_protocol =
	    exchange_head_find(x, "sec-websocket-protocol", &other);
	ret->has_extensions =
	    exchange_head_find(x, "sec-websocket-extensions", &other);
	return exchange_head_find(x, "sec-websocket-key", &key) &&
	    make_accept(key, ret->accept);
}

static void
refuse_revoked(struct exchange *x)
{
	exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
	    "its lease was revoked");
}

bool
exchange_tunnel_open(struct exchange *x, const struct http_response *res)
{
	struct websocket_offer offer;
	enum websocket_status s = WEBSOCKET_KEY;

	/* Whoever revoked it was not heard: it was not in the list yet. */
	if (x->has_credential && x->revocations != pool_revocations(x->gate)) {
		refuse_revoked(x);
		return false;
	}
	if (make_offer(x, &offer))
		s = websocket_check_answer(&res->fields, &offer);
	if (s != WEBSOCKET_OK) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    websocket_status_text(s));
		return false;
	}
	x->tunnel = calloc(1, sizeof(*x->tunnel));
	if (x->tunnel == NULL) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE, "out of memory");
		return false;
	}
	x->is_up_whole = false;
	if (x->has_credential)
		TAILQ_INSERT_TAIL(pool_tunnels(x->gate), x, tunnels);
	return true;
}

void
exchange_tunnel_close(struct exchange *x)
{
	if (x->tunnel != NULL && x->has_credential)
		TAILQ_REMOVE(pool_tunnels(x->gate), x, tunnels);
}

void
exchange_tunnel_free(struct exchange_tunnel *t)
{
	if (t == NULL)
		return;
	websocket_scan_done(&t->scan);
	free(t);
}

void
exchange_tunnels_revoke(struct gate *g, const char *credential)
{
	struct exchange *x, *next;

	for (x = TAILQ_FIRST(pool_tunnels(g)); x != NULL; x = next) {
		next = TAILQ_NEXT(x, tunnels);
		if (credential == NULL ||
		    strcmp(credential, x->verdict.credential) == 0)
			refuse_revoked(x);
	}
}

/* --- the tunnel --- */

static void
settle(struct exchange *x)
{
	if (x->tunnel->is_down_whole && x->tunnel->is_up_sent)
		exchange_finish(x);
}

static size_t
give(struct exchange *x, struct span s)
{
	size_t taken = s.len == 0 ? 0 : x->ops->body(x->arg, s);

	exchange_went_down(x, taken);
	return taken;
}

/* True: nothing is left that may go. */
static bool
give_searched(struct exchange *x)
{
	struct websocket_scan *s = &x->tunnel->scan;

	websocket_scan_consume(s, give(x, websocket_scan_clean(s)));
	return websocket_scan_clean(s).len == 0;
}

static void
refuse_frames(struct exchange *x, enum websocket_scan_result r)
{
	switch (r) {
	case WEBSOCKET_SCAN_OK:
		return;
	case WEBSOCKET_SCAN_LEAK:
		x->found = x->tunnel->scan.found;
		exchange_refuse_leak(x, "in its WebSocket");
		return;
	case WEBSOCKET_SCAN_BROKEN:
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    websocket_scan_text(&x->tunnel->scan));
		return;
	case WEBSOCKET_SCAN_NO_MEMORY:
		exchange_refuse_for(x, REASON_BAD_RESPONSE, "out of memory");
		return;
	}
}

static size_t
searched_down(struct exchange *x, struct span data)
{
	const struct scan_forms *forms = &x->injection->forms;
	struct websocket_scan *s = &x->tunnel->scan;
	size_t most = websocket_scan_room(s, forms);
	enum websocket_scan_result r;

	if (data.len > most)
		data.len = most;
	r = websocket_scan_feed(s, forms, data);
	if (r != WEBSOCKET_SCAN_OK) {
		refuse_frames(x, r);
		return 0;
	}
	if (websocket_scan_is_stuck(s, forms)) {
		exchange_refuse_for(x, REASON_CREDENTIAL_LEAK,
		    "what may be it goes on without end");
		return 0;
	}
	(void)give_searched(x);
	return data.len;
}

size_t
exchange_tunnel_down(struct exchange *x, struct span data)
{
	return exchange_is_searched(x) ? searched_down(x, data) : give(x, data);
}

/* The origin has said all that it will. */
static void
end_down(struct exchange *x)
{
	if (!websocket_scan_is_empty(&x->tunnel->scan)) {
		exchange_refuse_for(x, REASON_CREDENTIAL_LEAK,
		    "its WebSocket ends in what may be it");
		return;
	}
	x->tunnel->is_down_whole = true;
	x->is_end_told = true;
	x->ops->end(x->arg);
	settle(x);
}

void
exchange_tunnel_origin_end(struct exchange *x)
{
	x->is_down_ending = true;
	if (give_searched(x))
		end_down(x);
}

void
exchange_tunnel_resume(struct exchange *x)
{
	bool is_empty = give_searched(x);

	if (!x->is_down_ending)
		origin_resume(x->origin);
	else if (is_empty && !x->tunnel->is_down_whole)
		end_down(x);
}

void
exchange_origin_sent(struct exchange *x)
{
	x->tunnel->is_up_sent = true;
	settle(x);
}
