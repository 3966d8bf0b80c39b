#include "wire/proxy_answer.h"

/*
 * What comes behind the head is no business of the search for its end: the
 * limit is on the head alone, so that it does not depend on what came with it.
 */
static struct span
at_most(struct span s, size_t max)
{
	return (struct span){ s.ptr, s.len < max ? s.len : max };
}

static enum proxy_answer_status
read_head(struct proxy_answer *a, struct span head)
{
	struct http_response res;

	if (http_response_parse(head, HTTP_METHOD_CONNECT, false, &res) !=
	    HTTP_OK)
		return PROXY_ANSWER_BAD;
	/* An interim answer, or a 2xx that says that there is nothing. */
	if (res.framing != HTTP_FRAMING_TUNNEL && res.status < 300)
		return PROXY_ANSWER_BAD;
	a->status = res.status;
	a->head_len = head.len;
	return res.framing == HTTP_FRAMING_TUNNEL ? PROXY_ANSWER_OPEN
						  : PROXY_ANSWER_REFUSED;
}

enum proxy_answer_status
proxy_answer_read(struct proxy_answer *a, struct span so_far)
{
	const struct span s = at_most(so_far, PROXY_ANSWER_MAX_BYTES);
	enum http_status status;
	size_t len;

	if (!http_response_begins(s))
		return PROXY_ANSWER_BAD;
	status = http_scan(&a->scan, s, &len);
	if (status == HTTP_MORE)
		return s.len == PROXY_ANSWER_MAX_BYTES ? PROXY_ANSWER_BAD
						       : PROXY_ANSWER_MORE;
	return status == HTTP_OK ? read_head(a, (struct span){ s.ptr, len })
				 : PROXY_ANSWER_BAD;
}
