/*
 * A credential that goes into the query. What a guest has there of that name,
 * in whatever spelling, is taken out first: of two parameters origins read
 * the first, the last, or both. Judged, and written down, is the query that the
 * guest sent, which never holds the credential.
 */
#include "proxy/exchange_private.h"

#include "wire/query.h"

static bool
goes(const struct exchange *x, const struct message_lease *l, struct span name)
{
	return grants_strip_parameter(lease_grants(x->gate), x->host, x->port,
		   name) ||
	    (l != NULL && query_is_named(name, l->field));
}

bool
exchange_brings_parameter(const struct exchange *x)
{
	struct query_reader r = { .rest = x->query };
	struct query_piece p;

	while (x->has_query && query_next(&r, &p))
		if (goes(x, NULL, p.name))
			return true;
	return false;
}

/* What of the guest's query goes on. */
static void
write_rest(struct wr *w, const struct exchange *x,
    const struct message_lease *l)
{
	struct query_reader r = { .rest = x->query };
	struct query_piece p;
	bool is_first = true;

	while (x->has_query && query_next(&r, &p)) {
		if (goes(x, l, p.name))
			continue;
		if (!is_first)
			wr_u8(w, p.before);
		wr_bytes(w, p.text.ptr, p.text.len);
		is_first = false;
	}
}

int
exchange_strip_query(struct exchange *x)
{
	struct buf query = { .is_secret = false };
	struct wr w;
	int rc;

	if (!exchange_brings_parameter(x))
		return 0;
	w = buf_write(&query, x->query.len + 1);
	write_rest(&w, x, NULL);
	rc = buf_write_end(&query, &w);
	if (rc == 0)
		rc = exchange_set_query(x, buf_span(&query));
	buf_done(&query);
	return rc;
}

int
exchange_put_parameter(struct exchange *x, const struct message_lease *l)
{
	struct span value = secret_span(&l->value);
	struct buf query = { .is_secret = true };
	struct wr w = buf_write(&query,
	    x->query.len + LEASE_FIELD_NAME_SIZE + 3 * value.len + 3);
	int rc;

	write_rest(&w, x, l);
	if (w.len > 0)
		wr_u8(&w, '&');
	query_write(&w, l->field, value);
	rc = buf_write_end(&query, &w);
	if (rc == 0)
		rc = exchange_set_query(x, buf_span(&query));
	buf_done(&query);
	return rc;
}
