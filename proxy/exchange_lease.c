/*
 * What an exchange needs of the broker: what its sandbox is granted, and the
 * credential that its rule names.
 */
#include "proxy/exchange_private.h"

#include <string.h>

#include "proxy/lease.h"

static void
refuse_untold(struct exchange *x)
{
	exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
	    "the broker has not said what is granted");
}

static void
on_grants(enum reason reason, struct injection *none, void *arg)
{
	struct exchange *x = arg;

	(void)none;
	x->lease = NULL;
	if (reason != REASON_NONE)
		refuse_untold(x);
	else
		exchange_go_out(x);
}

static void
await_grants(struct exchange *x)
{
	exchange_enter(x, EXCHANGE_GRANTS);
	x->lease = lease_await_grants(x->gate, on_grants, x);
	if (x->lease == NULL)
		refuse_untold(x);
}

static void
on_lease(enum reason reason, struct injection *in, void *arg)
{
	struct exchange *x = arg;
	const char *detail = lease_detail(x->gate);

	x->lease = NULL;
	/* The broker asks itself; for a lease that was kept we do. */
	if (reason == REASON_NONE && x->is_websocket &&
	    !in->lease.serves_websocket)
		reason = REASON_WEBSOCKET;
	if (reason == REASON_WEBSOCKET)
		detail = "its definition does not say websocket = yes";
	/* What is held of it is not what is signed. */
	if (reason == REASON_NONE && x->push != NULL &&
	    in->lease.apply == LEASE_APPLY_SIGV4)
		reason = REASON_CREDENTIAL_MISUSE;
	if (reason != REASON_NONE) {
		exchange_refuse_for(x, reason,
		    exchange_sign_detail(x, reason, detail));
		return;
	}
	x->revocations = pool_revocations(x->gate);
	injection_set(&x->injection, in);
	if (exchange_is_signed(x)) {
		exchange_strip_head(x, &in->lease);
		exchange_sign(x);
		return;
	}
	/* Its guest took it for one that is signed. */
	if (x->resign != NULL)
		exchange_strip_range(x);
	if (injection_pair_line(in, buf_span(&x->authorization),
		&x->pair_line) != 0) {
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
		    "out of memory");
		return;
	}
	exchange_strip_head(x, &in->lease);
	if (in->lease.apply == LEASE_APPLY_QUERY &&
	    exchange_put_parameter(x, &in->lease) != 0) {
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
		    "out of memory");
		return;
	}
	exchange_connect(x, NULL);
}

static void
ask_lease(struct exchange *x)
{
	struct message_lease_request req = { .port = x->port,
		.scheme = (uint8_t)x->front.scheme,
		.path = x->path,
		.has_query = x->has_query,
		.query = x->query,
		.is_websocket = x->is_websocket };
	bool is_done = false;
	struct lease_wait *wait;

	if (x->path.len > LEASE_PATH_MAX_BYTES ||
	    x->query.len > LEASE_QUERY_MAX_BYTES) {
		exchange_refuse_for(x, REASON_CREDENTIAL_MISUSE,
		    "the path or the query is too long");
		return;
	}
	memcpy(req.credential, x->verdict.credential, sizeof(req.credential));
	memcpy(req.host, x->host, sizeof(req.host));
	memcpy(req.method, x->method, sizeof(req.method));
	exchange_sign_ask(x, &req);
	exchange_enter(x, EXCHANGE_LEASE);
	wait = lease_get(x->gate, &req, on_lease, x, &is_done);
	/* When it is done, x may be over: the answer came from inside. */
	if (is_done)
		return;
	x->lease = wait;
	if (wait == NULL)
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE, "");
}

void
exchange_proceed(struct exchange *x)
{
	if (lease_grants(x->gate) == NULL)
		await_grants(x);
	else
		exchange_go_out(x);
}

/* The grants are known: nothing of the guest's own is left that may not go. */
void
exchange_go_out(struct exchange *x)
{
	if (exchange_misplaces(x)) {
		exchange_refuse_for(x, REASON_CREDENTIAL_MISUSE,
		    "it holds the placeholder of a credential for another "
		    "host");
		return;
	}
	exchange_strip_granted(x);
	if (exchange_strip_query(x) != 0)
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE,
		    "out of memory");
	else if (x->has_credential)
		ask_lease(x);
	else
		exchange_connect(x, NULL);
}
