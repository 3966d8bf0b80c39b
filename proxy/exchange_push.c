/*
 * A push by git that a [git] rule lets through only in part: what it asks for
 * is read first, held, and judged command by command; nothing of it is sent,
 * looked up or dialled before. What goes on is what was read: in a coding it
 * is decoded, and goes on without. A push of which one command is refused is
 * refused whole. Then the rest of it is read and dropped, since git shows an
 * answer only when it could send all, and it is told in its own protocol.
 *
 * Everything that may end the exchange is done by an event: bytes come from
 * inside the guest's half.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "proxy/push_private.h"

static void
pend(struct exchange_push *p)
{
	p->is_pending = true;
	event_active(&p->event, 0, 0);
}

static void
want_more(struct exchange *x)
{
	x->ops->resume_body(x->arg);
}

static void
drop_hold(struct exchange *x)
{
	struct exchange_push *p = x->push;

	exchange_lfs_drop(x);
	buf_done(&p->hold);
	decode_budget_give(&x->gate->decode, p->held);
	p->held = 0;
	pack_look_free(p->look);
	p->look = NULL;
	decoder_free(p->decoder);
	p->decoder = NULL;
}

/* --- the ends --- */

/* git has sent all that it had, or as much as we read. */
static void
answer(struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct deny d = deny_init(p->reason);

	d.by_ceiling = x->verdict.by_ceiling;
	d.rule = x->verdict.rule;
	d.file = x->verdict.file;
	d.line = x->verdict.line;
	d.detail = p->detail;
	d.say = p->say != NULL ? p->say : "";
	d.report = buf_span(&p->report);
	if (d.report.len > 0)
		d.status = 200;
	exchange_refuse(x, &d);
}

static void
refuse(struct exchange *x, enum reason reason, const char *fault)
{
	struct exchange_push *p = x->push;

	p->is_refused = true;
	if (!p->is_out)
		meter_return(x->gate, &x->meter, METER_UP, p->received);
	if (p->is_lfs) {
		p->reason = reason;
		(void)snprintf(p->detail, sizeof(p->detail), "%s", fault);
	} else {
		exchange_push_report(x, reason, fault);
	}
	drop_hold(x);
	if (x->is_up_whole || p->report.len == 0)
		answer(x);
	else
		want_more(x);
}

static void
refuse_large(struct exchange *x)
{
	char text[RULE_AT_SIZE + 96];
	struct wr w = wr_init(text, sizeof(text) - 1);

	wr_text(&w, "the push is larger than max-push, ");
	wr_decimal(&w, x->push->max);
	wr_fmt(&w, " bytes (%s:%u)", x->verdict.file, x->verdict.line);
	text[w.len] = '\0';
	refuse(x, REASON_LIMIT_UPLOAD, text);
}

/* In the middle of it: an origin acts on nothing that is not whole. */
static void
cut_off(struct exchange *x)
{
	struct origin *o = x->origin;

	if (x->has_answered) {
		exchange_refuse_for(x, REASON_LIMIT_UPLOAD,
		    "the push is larger than max-push");
		return;
	}
	x->push->is_large = false;
	x->origin = NULL;
	origin_free(o);
	exchange_enter(x, EXCHANGE_PUSH);
	refuse_large(x);
}

static void
let_out(struct exchange *x)
{
	struct exchange_push *p = x->push;

	pack_look_free(p->look);
	p->look = NULL;
	p->is_out = true;
	if (p->coding != CODING_NONE) {
		x->framing = HTTP_FRAMING_LENGTH;
		x->length = p->hold.len;
	}
	exchange_proceed(x);
}

/* --- reading --- */

static void
look_at_pack(struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct span all = buf_span(&p->hold);
	bool goes_on = pack_look_feed(p->look,
	    (struct span){ all.ptr + p->looked, all.len - p->looked });
	bool is_last = !goes_on || x->is_up_whole ||
	    all.len - p->list.body_at >= x->gate->limits.push_look_bytes;

	p->looked = all.len;
	if (!is_last && !pack_look_has_news(p->look)) {
		want_more(x);
		return;
	}
	p->is_shown = exchange_push_shows(x);
	if (p->is_shown)
		let_out(x);
	else if (is_last)
		refuse(x, REASON_GIT_REF, NULL);
	else
		want_more(x);
}

static void
judge(struct exchange *x)
{
	struct exchange_push *p = x->push;

	enum push_verdict v = exchange_push_judge(x);

	if (v == PUSH_DENIED) {
		refuse(x, REASON_GIT_REF, NULL);
		return;
	}
	if (exchange_push_is_large(x)) {
		refuse_large(x);
		return;
	}
	if (v == PUSH_ALLOWED) {
		let_out(x);
		return;
	}
	p->looked = p->list.body_at;
	p->look = pack_look_new(p->list.oid_len);
	if (p->look == NULL)
		refuse(x, REASON_BAD_REQUEST, "out of memory");
	else
		look_at_pack(x);
}

/* A body of LFS is held whole: it is small. */
static void
look_at_lfs(struct exchange *x)
{
	struct span all = buf_span(&x->push->hold);
	const char *detail;
	enum reason r;

	if (all.len > x->gate->limits.lfs_batch_bytes) {
		refuse(x, REASON_BAD_REQUEST,
		    "LFS: it is larger than lfs-batch");
	} else if (!x->is_up_whole) {
		want_more(x);
	} else {
		r = exchange_lfs_judge(x, all, &detail);
		if (r == REASON_NONE)
			let_out(x);
		else
			refuse(x, r, detail);
	}
}

/* A coded push is held whole: it is small, or it would not be coded. */
static void
look_at_list(struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct span all = buf_span(&p->hold);
	enum git_push_status s;

	if (p->coding != CODING_NONE && !x->is_up_whole) {
		want_more(x);
		return;
	}
	s = x->is_up_whole ? git_push_end(&p->list, all)
			   : git_push_read(&p->list, all);
	if (s == GIT_PUSH_READ && p->list.commands == 0)
		let_out(x);
	else if (s == GIT_PUSH_READ)
		judge(x);
	else if (s != GIT_PUSH_MORE)
		refuse(x, REASON_BAD_REQUEST, git_push_status_text(s));
	else if (all.len > x->gate->limits.push_commands_bytes)
		refuse(x, REASON_BAD_REQUEST,
		    "its commands are larger than push-commands");
	else
		want_more(x);
}

static void
on_event(evutil_socket_t fd, short what, void *arg)
{
	struct exchange *x = arg;
	struct exchange_push *p = x->push;

	(void)fd;
	(void)what;
	p->is_pending = false;
	if (p->is_large)
		cut_off(x);
	else if (p->is_refused)
		answer(x);
	else if (p->fault != NULL)
		refuse(x, REASON_BAD_REQUEST, p->fault);
	else if (p->is_lfs)
		look_at_lfs(x);
	else if (p->look != NULL)
		look_at_pack(x);
	else
		look_at_list(x);
}

/* NULL, or why it cannot be held. */
static const char *
hold(struct exchange *x, struct span data)
{
	struct exchange_push *p = x->push;
	size_t most = (size_t)x->gate->limits.push_commands_bytes +
	    x->gate->limits.push_look_bytes;

	if (p->coding != CODING_NONE && p->hold.len + data.len > most)
		return "a push in a coding, and large: send it without";
	if (!decode_budget_take(&x->gate->decode, data.len))
		return "too much is held for others";
	p->held += data.len;
	return buf_append(&p->hold, data) == 0 ? NULL : "out of memory";
}

static const char *
hold_decoded(struct exchange *x, struct span data)
{
	struct exchange_push *p = x->push;
	uint8_t piece[8192];
	enum decode_status s;
	const char *fault = NULL;
	size_t len;

	do {
		s = decoder_run(p->decoder, &data, piece, sizeof(piece), &len);
		if (len > 0)
			fault = hold(x, (struct span){ piece, len });
	} while (s == DECODE_ROOM && fault == NULL);
	if (s == DECODE_BROKEN || s == DECODE_LARGE)
		return "its coding is broken";
	return fault;
}

static size_t
gather(struct exchange *x, struct span data)
{
	struct exchange_push *p = x->push;

	p->bytes += data.len;
	p->received += data.len;
	p->fault = p->decoder != NULL ? hold_decoded(x, data) : hold(x, data);
	pend(p);
	return data.len;
}

static size_t
drop(struct exchange *x, struct span data)
{
	struct exchange_push *p = x->push;

	p->dropped += data.len;
	if (p->dropped > x->gate->limits.push_refused_bytes)
		pend(p);
	return data.len;
}

static size_t
send_on(struct exchange *x, struct span data)
{
	struct exchange_push *p = x->push;
	size_t taken;

	if (p->max != 0 && data.len > p->max - p->bytes) {
		p->is_large = true;
		pend(p);
		return data.len;
	}
	taken = origin_send_body(x->origin, data);
	exchange_went_up(x, taken);
	p->bytes += taken;
	return taken;
}

/* --- told by the exchange --- */

bool
exchange_push_new(struct exchange *x, const struct http_request *req,
    bool is_lfs)
{
	struct exchange_push *p = calloc(1, sizeof(*p));
	int rc;

	if (p == NULL)
		return false;
	rc = event_assign(&p->event, x->gate->base, -1, 0, on_event, x);
	assert(rc == 0);
	x->push = p;
	p->is_lfs = is_lfs;
	if (is_lfs) {
		p->fault = exchange_lfs_begin(x, req);
		return true;
	}
	p->coding = coding_of(&req->fields);
	if (p->coding == CODING_GZIP)
		p->decoder = decoder_new(p->coding, &x->gate->decode);
	if (p->coding != CODING_NONE && p->decoder == NULL)
		p->fault = "a push in a coding that is not read";
	return true;
}

bool
exchange_push_is_lfs(const struct exchange *x)
{
	return x->push != NULL && x->push->is_lfs;
}

bool
exchange_push_is_coded(const struct exchange *x)
{
	return x->push != NULL && x->push->coding != CODING_NONE;
}

void
exchange_push_close(struct exchange *x)
{
	if (x->push == NULL)
		return;
	(void)event_del(&x->push->event);
	drop_hold(x);
}

void
exchange_push_free(struct exchange_push *p)
{
	if (p == NULL)
		return;
	buf_done(&p->report);
	free(p);
}

void
exchange_push_begin(struct exchange *x)
{
	exchange_enter(x, EXCHANGE_PUSH);
	if (x->is_up_whole || x->push->fault != NULL)
		pend(x->push);
	else
		x->ops->want_body(x->arg);
}

/* All of it is with the origin: a new policy may ask for the commands. */
static void
keep_commands(struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct buf kept = { .len = 0 };
	size_t len = p->list.body_at;

	if (p->held <= len ||
	    buf_append(&kept, (struct span){ buf_span(&p->hold).ptr, len }) !=
		0)
		return;
	buf_done(&p->hold);
	p->hold = kept;
	decode_budget_give(&x->gate->decode, p->held - len);
	p->held = len;
}

static void
flush(struct exchange *x)
{
	struct exchange_push *p = x->push;

	while (p->sent < p->hold.len) {
		struct span all = buf_span(&p->hold);
		size_t taken = origin_send_body(x->origin,
		    (struct span){ all.ptr + p->sent, all.len - p->sent });

		if (taken == 0)
			return;
		p->sent += taken;
		exchange_went_up(x, taken);
		x->is_up_begun = true;
	}
	p->is_flushed = true;
	keep_commands(x);
	if (x->is_up_whole)
		origin_send_end(x->origin);
	else
		want_more(x);
}

void
exchange_push_open(struct exchange *x)
{
	x->push->sent = 0;
	x->push->is_flushed = false;
	flush(x);
}

void
exchange_push_room(struct exchange *x)
{
	if (x->state != EXCHANGE_OPEN)
		return;
	if (!x->push->is_flushed)
		flush(x);
	else if (exchange_push_wants(x))
		want_more(x);
}

bool
exchange_push_wants(const struct exchange *x)
{
	const struct exchange_push *p = x->push;

	if (x->is_up_whole || p->is_pending)
		return false;
	return x->state == EXCHANGE_PUSH ||
	    (x->state == EXCHANGE_OPEN && p->is_flushed);
}

bool
exchange_push_is_refused(const struct exchange *x)
{
	return x->push->is_refused;
}

size_t
exchange_push_up(struct exchange *x, struct span data)
{
	if (x->push->is_refused)
		return drop(x, data);
	return x->state == EXCHANGE_OPEN ? send_on(x, data) : gather(x, data);
}

void
exchange_push_end(struct exchange *x)
{
	struct exchange_push *p = x->push;

	if (x->state == EXCHANGE_OPEN)
		origin_send_end(x->origin);
	else if (x->state == EXCHANGE_PUSH)
		pend(p);
}

const char *
exchange_push_text(const struct exchange *x)
{
	return x->push != NULL ? x->push->text : "";
}
