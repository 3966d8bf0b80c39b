/*
 * LFS under a [git] rule. What is asked of objects and locks is read whole
 * before anything of it goes on, as a push is (exchange_push.c): whether it
 * writes, and of which reference. The answer about objects is read while it
 * goes to the guest, and each URL in it granted before the guest has it
 * (proxy/lfs_grants.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "conf/budget.h"
#include "proxy/lfs_grants.h"
#include "proxy/push_private.h"

/* What tells an origin that an object is there. */
#define VERIFY_MAX_BYTES 65536

/* --- the question --- */

static bool
is_document(const struct http_request *req)
{
	static const struct span type = SPAN(LFS_TYPE);
	const struct http_field *f =
	    http_field_find(&req->fields, "content-type", 0);

	if (f == NULL || f->value.len < type.len ||
	    http_field_find(&req->fields, "content-type", 1) != NULL)
		return false;
	return span_eq_case((struct span){ f->value.ptr, type.len }, type) &&
	    (f->value.len == type.len || f->value.ptr[type.len] == ';');
}

static struct lfs *
document_new(struct exchange *x, enum lfs_document document)
{
	struct lfs *l;

	if (!decode_budget_take(&x->gate->decode, sizeof(*l)))
		return NULL;
	l = calloc(1, sizeof(*l));
	if (l == NULL) {
		decode_budget_give(&x->gate->decode, sizeof(*l));
		return NULL;
	}
	l->document = document;
	l->objects_max = x->gate->limits.lfs_objects;
	return l;
}

void
exchange_lfs_drop(struct exchange *x)
{
	struct exchange_push *p = x->push;

	if (p->document == NULL)
		return;
	decode_budget_give(&x->gate->decode, sizeof(*p->document));
	free(p->document);
	p->document = NULL;
}

const char *
exchange_lfs_begin(struct exchange *x, const struct http_request *req)
{
	struct exchange_push *p = x->push;
	struct span repo;

	p->service = git_service_of(x->path, &repo);
	if (coding_of(&req->fields) != CODING_NONE)
		return "LFS: a body in a coding";
	if (!is_document(req))
		return "LFS: its Content-Type is not " LFS_TYPE;
	return NULL;
}

/* As the record has it. */
static void
note_text(struct exchange_push *p, const struct lfs *l)
{
	static const char *const asked[GIT_SERVICES] = {
		[GIT_SERVICE_LOCKS] = "LFS lock",
		[GIT_SERVICE_OTHERS] = "LFS lock check",
		[GIT_SERVICE_UNLOCK] = "LFS unlock",
	};
	struct wr w = wr_init(p->text, sizeof(p->text) - 1);

	if (l->document == LFS_BATCH)
		wr_fmt(&w, "LFS %s of %zu objects, %llu bytes",
		    l->operation == LFS_UPLOAD ? "upload" : "download",
		    l->objects, (unsigned long long)l->bytes);
	else
		wr_fmt(&w, "%s%s", asked[p->service],
		    l->force ? " by force" : "");
	if (l->ref[0] != '\0') {
		wr_text(&w, " for ");
		wr_bytes(&w, l->ref, strnlen(l->ref, 80));
	}
	p->text[w.len] = '\0';
}

/* What it was found to ask for, under the policy that is in force. */
static struct verdict
ask(const struct exchange *x)
{
	const struct exchange_push *p = x->push;
	struct policy_request req = exchange_policy_request(x, x->method);
	const struct policy_command cmd = { .operation = p->operation,
		.ref = span_of(p->ref) };

	return exchange_answered(x,
	    p->operation == GIT_OPERATION_NONE
		? policy_judge_request(&x->gate->pair, &req)
		: policy_judge_push(&x->gate->pair, &req, &cmd));
}

static enum reason
judge(struct exchange *x, const char **ret_detail)
{
	struct exchange_push *p = x->push;
	struct verdict v = ask(x);

	*ret_detail = p->text;
	if (v.action != ACTION_ALLOW) {
		p->say = v.say;
		exchange_keep_verdict(x, &v);
		return v.reason == REASON_NONE ? REASON_GIT_REF : v.reason;
	}
	if (p->operation != GIT_OPERATION_NONE && v.max_push != 0 &&
	    p->document->document == LFS_BATCH &&
	    (p->document->is_large || p->document->bytes > v.max_push)) {
		*ret_detail = "LFS: the objects are larger than max-push";
		return REASON_LIMIT_UPLOAD;
	}
	return REASON_NONE;
}

enum reason
exchange_lfs_judge(struct exchange *x, struct span all, const char **ret_detail)
{
	struct exchange_push *p = x->push;
	enum lfs_status s;
	struct lfs *l;

	*ret_detail = "out of memory";
	p->document = document_new(x,
	    p->service == GIT_SERVICE_LFS ? LFS_BATCH : LFS_LOCK);
	l = p->document;
	if (l == NULL)
		return REASON_BAD_REQUEST;
	do {
		s = lfs_read(l, &all);
	} while (s == LFS_OBJECT);
	if (s == LFS_MORE || s == LFS_READ)
		s = lfs_end(l);
	if (s != LFS_READ) {
		*ret_detail = lfs_status_text(s);
		return REASON_BAD_REQUEST;
	}
	if (l->document == LFS_LOCK || l->operation == LFS_UPLOAD)
		p->operation = l->force ? GIT_FORCE : GIT_UPDATE;
	memcpy(p->ref, l->ref, sizeof(p->ref));
	note_text(p, l);
	return judge(x, ret_detail);
}

bool
exchange_lfs_still(const struct exchange *x)
{
	return !x->push->is_out || ask(x).action == ACTION_ALLOW;
}

/* --- the answer --- */

bool
exchange_lfs_answer_begin(struct exchange *x, const struct http_response *res)
{
	struct exchange_push *p = x->push;

	if (p == NULL || !p->is_lfs || p->service != GIT_SERVICE_LFS ||
	    res->status != 200)
		return true;
	exchange_lfs_drop(x);
	p->document = document_new(x, LFS_ANSWER);
	if (p->document == NULL) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE, "out of memory");
		return false;
	}
	if (coding_of(&res->fields) != CODING_NONE) {
		exchange_refuse_for(x, REASON_BAD_RESPONSE,
		    "LFS: an answer in a coding");
		return false;
	}
	p->reads_answer = true;
	return true;
}

/* "Z", "+02:00": seconds that the time before it is ahead of UTC. */
static bool
parse_zone(struct span s, int64_t *ret_s)
{
	struct rd r = rd_span(s);
	uint8_t sign = rd_u8(&r), d[5];

	*ret_s = 0;
	if (span_is(s, "Z"))
		return true;
	for (size_t i = 0; i < sizeof(d); i++)
		d[i] = rd_u8(&r);
	if (!rd_done(&r) || (sign != '+' && sign != '-') || d[2] != ':' ||
	    !ascii_is_digit(d[0]) || !ascii_is_digit(d[1]) ||
	    !ascii_is_digit(d[3]) || !ascii_is_digit(d[4]))
		return false;
	*ret_s = ((d[0] - '0') * 10 + (d[1] - '0')) * 3600 +
	    ((d[3] - '0') * 10 + (d[4] - '0')) * 60;
	if (sign == '-')
		*ret_s = -*ret_s;
	return true;
}

/* RFC 3339: "2026-01-31T23:59:59.12+02:00"; fractions are dropped. */
static bool
parse_time(struct span s, uint64_t *ret_s)
{
	static const struct span front = SPAN("2026-01-31T23:59:59");
	char text[32];
	struct wr w = wr_init(text, sizeof(text));
	uint64_t at_s;
	int64_t zone_s;
	size_t skip = front.len;

	if (s.len <= front.len)
		return false;
	wr_bytes(&w, s.ptr, front.len);
	wr_u8(&w, 'Z');
	if (s.ptr[skip] == '.')
		do {
			skip++;
		} while (skip < s.len && ascii_is_digit(s.ptr[skip]));
	if (budget_parse_until((struct span){ w.buf, w.len }, &at_s) != NULL ||
	    !parse_zone((struct span){ s.ptr + skip, s.len - skip }, &zone_s) ||
	    (int64_t)at_s < zone_s)
		return false;
	*ret_s = (uint64_t)((int64_t)at_s - zone_s);
	return true;
}

/* Milliseconds that an action may be used; 0: no more, or it is not known. */
static uint64_t
time_left(const struct exchange *x, const struct lfs_action *a)
{
	/* What Go makes of no time at all. */
	static const char never[] = "0001-01-01T00:00:00Z";
	uint64_t left = x->gate->limits.lfs_grant_s, now_s, at_s;
	struct span at = lfs_text(x->push->document, &a->expires_at);

	if (a->expires) {
		left = a->expires_in < left ? a->expires_in : left;
	} else if (a->expires_at.is_there && !span_is(at, never)) {
		now_s = clock_wall_ms() / 1000;
		if (!parse_time(at, &at_s) || at_s <= now_s)
			return 0;
		left = at_s - now_s < left ? at_s - now_s : left;
	}
	return left * 1000;
}

static void
grant_action(const struct exchange *x, enum lfs_action_kind kind)
{
	const struct lfs *l = x->push->document;
	const struct lfs_action *a = &l->object.actions[kind];
	struct policy_request req = exchange_policy_request(x, x->method);
	struct lfs_grant grant = { .kind = kind, .size = l->object.size };
	struct redirect_target t;
	uint64_t ms = time_left(x, a);

	if (!a->href.is_there || ms == 0 ||
	    !redirect_read_url(lfs_text(l, &a->href), &t) ||
	    !policy_lfs_grants(&x->gate->pair, &req, t.authority.host,
		redirect_port(&t), kind != LFS_ACTION_DOWNLOAD, &grant.rules))
		return;
	grant.has_authorization = a->authorization.is_there &&
	    lfs_authorization_digest(lfs_text(l, &a->authorization),
		grant.authorization);
	grant.until_boot_ms = clock_boot_ms() + ms;
	lfs_grant(x->gate, &t, &grant);
}

/* What is to be done with an object that was asked about for this. */
static void
grant_object(const struct exchange *x)
{
	if (x->push->operation == GIT_OPERATION_NONE) {
		grant_action(x, LFS_ACTION_DOWNLOAD);
		return;
	}
	grant_action(x, LFS_ACTION_UPLOAD);
	grant_action(x, LFS_ACTION_VERIFY);
}

static bool
refuse_answer(struct exchange *x, const char *why)
{
	x->push->reads_answer = false;
	exchange_refuse_for(x, REASON_BAD_RESPONSE, why);
	return false;
}

bool
exchange_lfs_answer(struct exchange *x, struct span data)
{
	struct exchange_push *p = x->push;
	enum lfs_status s;

	if (p == NULL || !p->reads_answer || data.len <= p->ahead)
		return true;
	data = (struct span){ data.ptr + p->ahead, data.len - p->ahead };
	p->ahead += data.len;
	p->answered += data.len;
	if (p->answered > x->gate->limits.lfs_batch_bytes)
		return refuse_answer(x, "LFS: it is larger than lfs-batch");
	while ((s = lfs_read(p->document, &data)) == LFS_OBJECT)
		grant_object(x);
	return s == LFS_MORE || s == LFS_READ ||
	    refuse_answer(x, lfs_status_text(s));
}

void
exchange_lfs_answered(struct exchange *x, size_t taken)
{
	struct exchange_push *p = x->push;

	if (p != NULL && p->reads_answer)
		p->ahead -= taken < p->ahead ? taken : p->ahead;
}

bool
exchange_lfs_answer_end(struct exchange *x)
{
	struct exchange_push *p = x->push;

	if (p == NULL || !p->reads_answer || lfs_end(p->document) == LFS_READ)
		return true;
	return refuse_answer(x, lfs_status_text(LFS_SHORT));
}

/* --- what was granted --- */

static struct redirect_url
url_of(const struct exchange *x)
{
	return (struct redirect_url){ NULL, x->host, x->port, x->path, x->query,
		x->has_query };
}

struct verdict
exchange_lfs_granted(const struct exchange *x, struct verdict v)
{
	struct policy_request req = exchange_policy_request(x, x->method);

	return x->granted == NULL
	    ? v
	    : policy_judge_lfs(&x->gate->pair, &req, &x->granted->rules);
}

static uint64_t
most_up(const struct lfs_grant *grant)
{
	switch (grant->kind) {
	case LFS_ACTION_UPLOAD:
		return grant->size;
	case LFS_ACTION_VERIFY:
		return VERIFY_MAX_BYTES;
	case LFS_ACTION_DOWNLOAD:
	case LFS_ACTIONS:
		break;
	}
	return 0;
}

struct verdict
exchange_lfs_find(struct exchange *x, struct verdict v)
{
	struct redirect_url url = url_of(x);
	struct lfs_grant grant;

	if (v.action != ACTION_DENY || x->as_method[0] != '\0' ||
	    !lfs_grant_find(x->gate, x->method, &url, &grant))
		return v;
	x->granted = calloc(1, sizeof(*x->granted));
	if (x->granted == NULL)
		return v;
	*x->granted = grant;
	v = exchange_lfs_granted(x, v);
	if (v.action != ACTION_ALLOW) {
		free(x->granted);
		x->granted = NULL;
		return v;
	}
	x->is_redirect = !grant.rules.is_own;
	x->up_max = most_up(&grant);
	x->note = "an object of LFS";
	return v;
}

bool
exchange_lfs_passes(const struct exchange *x, const struct http_field *f)
{
	uint8_t digest[REDIRECT_DIGEST_BYTES];

	return x->granted != NULL && !x->has_credential &&
	    x->granted->has_authorization &&
	    span_is_case(f->name, "authorization") &&
	    lfs_authorization_digest(f->value, digest) &&
	    memcmp(digest, x->granted->authorization, sizeof(digest)) == 0;
}

void
exchange_lfs_note_redirect(const struct exchange *x,
    const struct redirect_target *t)
{
	struct policy_request req = { .host = t->authority.host,
		.port = redirect_port(t),
		.scheme = SCHEME_HTTPS,
		.method = span_of(x->method),
		.path = t->path,
		.query = t->query,
		.has_query = t->has_query };
	struct lfs_grant grant = *x->granted;

	if (grant.kind != LFS_ACTION_DOWNLOAD || !grant.rules.is_own)
		return;
	grant.rules.is_own = false;
	grant.has_authorization = false;
	if (policy_judge_lfs(&x->gate->pair, &req, &grant.rules).action ==
	    ACTION_ALLOW)
		lfs_grant(x->gate, t, &grant);
}
