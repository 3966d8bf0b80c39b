/*
 * A request for what clouds tell their machines (metadata.h): answered here, in
 * the guest's half as any origin's answer would be, and recorded.
 */
#include "proxy/exchange_private.h"

#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "proxy/metadata.h"

bool
exchange_is_metadata(const struct exchange *x)
{
	return metadata_is_asked(lease_grants(x->gate), x->front.scheme,
	    x->host, x->port);
}

/* False: there is no randomness. */
static bool
has_key(struct gate *g)
{
	if (!g->has_metadata_key)
		g->has_metadata_key =
		    getrandom(g->metadata_key, sizeof(g->metadata_key), 0) ==
		    (ssize_t)sizeof(g->metadata_key);
	return g->has_metadata_key;
}

static void
say(struct exchange *x, const struct metadata_answer *a)
{
	struct exchange_head h = { .status = a->status,
		.reason = span_of(a->phrase),
		.body = x->known_method == HTTP_METHOD_HEAD
		    ? EXCHANGE_BODY_NONE
		    : EXCHANGE_BODY_LENGTH,
		.has_length = true,
		.length = a->len };
	const struct http_field fields[] = {
		{ span_of("Content-Type"), span_of(a->type) },
		{ span_of("Cache-Control"), span_of("no-store") },
		/* For whoever wants to know whose it is: `tapward verify`. */
		{ span_of("Tapward-Reason"), span_of("placeholders") },
		{ span_of(a->name == NULL ? "" : a->name),
		    span_of(a->name == NULL ? "" : a->value) },
	};

	h.fields.count = a->name == NULL ? 3 : 4;
	memcpy(h.fields.at, fields, sizeof(fields));
	x->status = a->status;
	x->has_answered = true;
	x->ops->head(x->arg, &h);
	if (h.body == EXCHANGE_BODY_NONE)
		return;
	exchange_went_down(x,
	    x->ops->body(x->arg,
		(struct span){ (const uint8_t *)a->body, a->len }));
	/* It holds 64 KiB, so it has room; if not, that is to be seen. */
	if (x->down < a->len)
		x->ops->cut(x->arg);
}

void
exchange_metadata(struct exchange *x, const struct http_request *req)
{
	const struct metadata_request ask = {
		.method = req->method,
		.is_google_name = strcmp(x->host, METADATA_GOOGLE) == 0,
		.path = x->path,
		.query = x->has_query ? x->query : (struct span){ NULL, 0 },
		.fields = &req->fields,
		.wall_ms = clock_wall_ms(),
		.boot_ms = clock_boot_ms(),
	};
	struct metadata_answer a;

	if (!x->is_up_whole || x->as_method[0] != '\0') {
		exchange_refuse_for(x, REASON_BAD_REQUEST,
		    "the metadata service takes no body and no other method");
		return;
	}
	if (!has_key(x->gate)) {
		exchange_refuse_for(x, REASON_CREDENTIAL_UNAVAILABLE, "");
		return;
	}
	metadata_answer(lease_grants(x->gate), x->gate->metadata_key, &ask, &a);
	say(x, &a);
	x->note = "metadata service: placeholders only";
	exchange_finish(x);
}
