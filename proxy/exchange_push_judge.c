/*
 * What a push asks for, held against the policy, and what git is told of it.
 */
#include <stdio.h>

#include "proxy/push_private.h"

/* Beside what was asked: references shown of one push. */
#define TEXT_REFS 3
/* Updates of one push that are looked for in its pack. */
#define UPDATES_MAX 64

static enum git_operation
operation_of(const struct git_push_command *c)
{
	switch (c->deed) {
	case GIT_PUSH_CREATE:
		return GIT_CREATE;
	case GIT_PUSH_UPDATE:
		return GIT_UPDATE;
	case GIT_PUSH_DELETE:
		return GIT_DELETE;
	}
	return GIT_OPERATION_NONE;
}

static struct verdict
ask(const struct exchange *x, const struct git_push_command *c,
    enum git_operation op)
{
	struct policy_request req = exchange_policy_request(x, x->method);
	struct policy_command cmd = { .operation = op,
		.ref = c->ref,
		.has_options = x->push->list.options > 0 };

	return exchange_answered(x,
	    policy_judge_push(&x->gate->pair, &req, &cmd));
}

/*
 * An update that has to be shown to move forward, because it may not be
 * forced. One to what it is moves nothing.
 */
static bool
is_to_show(const struct exchange *x, const struct git_push_command *c)
{
	return c->deed == GIT_PUSH_UPDATE && !span_eq(c->old_oid, c->new_oid) &&
	    ask(x, c, GIT_FORCE).action != ACTION_ALLOW;
}

static bool
is_shown(struct exchange *x, const struct git_push_command *c)
{
	return x->push->look != NULL &&
	    pack_look_shows(x->push->look, c->new_oid, c->old_oid);
}

static void
note_text(struct exchange_push *p, const struct git_push_command *c, size_t n)
{
	struct wr w = wr_init(p->text, sizeof(p->text) - 1);
	size_t len = c->ref.len < 48 ? c->ref.len : 48;

	w.len = strlen(p->text);
	if (n >= TEXT_REFS) {
		if (n == TEXT_REFS)
			wr_text(&w, ", ...");
	} else {
		if (n > 0)
			wr_text(&w, ", ");
		wr_text(&w, git_operation_name(operation_of(c)));
		wr_u8(&w, ' ');
		wr_bytes(&w, c->ref.ptr, len);
	}
	p->text[w.len] = '\0';
}

static void
take_max(struct exchange_push *p, uint64_t max)
{
	if (max != 0 && (p->max == 0 || max < p->max))
		p->max = max;
}

enum push_verdict
exchange_push_judge(struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct span all = buf_span(&p->hold);
	struct git_push_command c;
	size_t at = 0, to_show = 0, n = 0;
	bool is_denied = false;

	p->text[0] = '\0';
	p->max = 0;
	for (; git_push_next(&p->list, all, &at, &c); n++) {
		struct verdict v = ask(x, &c, operation_of(&c));

		note_text(p, &c, n);
		take_max(p, v.max_push);
		is_denied = is_denied || v.action != ACTION_ALLOW;
		to_show += is_to_show(x, &c) ? 1 : 0;
	}
	p->is_many = to_show > UPDATES_MAX;
	if (is_denied || n != p->list.commands || p->is_many)
		return PUSH_DENIED;
	return to_show > 0 ? PUSH_TO_SHOW : PUSH_ALLOWED;
}

bool
exchange_push_is_large(const struct exchange *x)
{
	const struct exchange_push *p = x->push;
	bool is_told =
	    x->framing == HTTP_FRAMING_LENGTH && p->coding == CODING_NONE;

	return p->max != 0 &&
	    (p->bytes > p->max || (is_told && x->length > p->max));
}

bool
exchange_push_shows(struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct span all = buf_span(&p->hold);
	struct git_push_command c;
	size_t at = 0;

	while (git_push_next(&p->list, all, &at, &c)) {
		if (is_to_show(x, &c) && !is_shown(x, &c))
			return false;
	}
	return true;
}

/* How large it may be is the new policy's to say, too. */
bool
exchange_push_still(const struct exchange *x)
{
	struct exchange_push *p = x->push;
	struct git_push_command c;
	size_t at = 0;

	if (p->is_lfs)
		return exchange_lfs_still(x);
	if (!p->is_out)
		return true;
	p->max = 0;
	while (git_push_next(&p->list, buf_span(&p->hold), &at, &c)) {
		struct verdict v = ask(x, &c, operation_of(&c));

		if (v.action != ACTION_ALLOW ||
		    (is_to_show(x, &c) && !p->is_shown))
			return false;
		take_max(p, v.max_push);
	}
	return !exchange_push_is_large(x);
}

/* --- what git is told --- */

/* " (git-ref, tapward.ini:6)"; of the ceiling only that it was it. */
static void
write_where(struct wr *w, const struct verdict *v)
{
	char code[48];

	wr_fmt(w, " (%s", verdict_code(v, code));
	if (v->by_ceiling)
		wr_text(w, ", the host's ceiling)");
	else
		wr_fmt(w, ", %.60s:%u)", v->file, v->line);
}

static const char *
why_not(const struct exchange *x, const struct git_push_command *c,
    enum git_operation op)
{
	static const char *const texts[GIT_OPERATIONS] = {
		[GIT_OPERATION_NONE] = "nothing is asked for",
		[GIT_CREATE] = "no rule lets this be created",
		[GIT_UPDATE] = "no rule lets this be updated",
		[GIT_DELETE] = "no rule lets this be deleted",
		[GIT_FORCE] = "not shown to move forward, nor may it be forced",
	};
	const char *fault = git_ref_fault(c->ref);

	if (fault != NULL)
		return fault;
	if (x->push->list.options > 0)
		return "no rule lets push options go with this";
	return texts[op];
}

/* Why this command is refused, and what refuses it. False: it is not. */
static bool
find_refusal(struct exchange *x, const struct git_push_command *c,
    struct verdict *ret, const char **ret_why)
{
	enum git_operation op = operation_of(c);
	struct verdict v = ask(x, c, op);

	/* Of a push that is refused for another reference nothing was shown. */
	if (v.action == ACTION_ALLOW && is_to_show(x, c) && !is_shown(x, c) &&
	    (x->push->look != NULL || x->push->is_many)) {
		op = GIT_FORCE;
		v = ask(x, c, op);
	}
	*ret = v;
	*ret_why = v.say[0] != '\0' ? v.say : why_not(x, c, op);
	return v.action != ACTION_ALLOW;
}

/* For whoever mends the policy, by hand or by `tapward learn`. */
static void
say_hint(struct exchange *x, struct push_report *r,
    const struct git_push_command *c, const struct verdict *v)
{
	static const char *const more[GIT_OPERATIONS] = {
		[GIT_DELETE] = ", `delete = yes`",
		[GIT_FORCE] = ", `force = yes`",
	};
	enum git_operation op = operation_of(c);
	char text[640];
	struct wr w = wr_init(text, sizeof(text) - 1);

	if (v->by_ceiling || !v->is_git || v->reason != REASON_GIT_REF ||
	    git_ref_fault(c->ref) != NULL)
		return;
	/* An update that a rule would take is one that may be a step back. */
	if (ask(x, c, op).action == ACTION_ALLOW)
		op = GIT_FORCE;
	wr_text(&w, "tapward: `push = ");
	wr_bytes(&w, c->ref.ptr, c->ref.len);
	wr_text(&w, "`");
	if (more[op] != NULL)
		wr_text(&w, more[op]);
	if (x->push->list.options > 0)
		wr_text(&w, ", `push-options = yes`");
	wr_fmt(&w, " in [git %s] (%.60s:%u) would allow it", v->rule, v->file,
	    v->line);
	text[w.len] = '\0';
	push_report_say(r, text);
}

/* "delete refs/heads/main: no rule ...", for the record. */
static void
note_detail(struct exchange_push *p, const struct git_push_command *c,
    const char *why)
{
	struct wr w = wr_init(p->detail, sizeof(p->detail) - 1);

	wr_text(&w, git_operation_name(operation_of(c)));
	wr_u8(&w, ' ');
	for (size_t i = 0; i < c->ref.len && i < 80; i++) {
		uint8_t byte = c->ref.ptr[i];

		wr_u8(&w, byte > ' ' && byte < 0x7f ? byte : '?');
	}
	wr_text(&w, ": ");
	wr_bytes(&w, why, strnlen(why, 80));
	p->detail[w.len] = '\0';
}

static void
refuse_one(struct exchange *x, struct push_report *r,
    const struct git_push_command *c, bool *is_first)
{
	struct verdict v;
	const char *why;
	char text[400];
	struct wr w = wr_init(text, sizeof(text) - 1);

	if (!find_refusal(x, c, &v, &why)) {
		push_report_refuse(r, c->ref,
		    "tapward: not done, for another reference of this push "
		    "is refused");
		return;
	}
	wr_fmt(&w, "tapward: %s", why);
	write_where(&w, &v);
	text[w.len] = '\0';
	push_report_refuse(r, c->ref, text);
	if (!*is_first)
		return;
	*is_first = false;
	exchange_keep_verdict(x, &v);
	note_detail(x->push, c, why);
	say_hint(x, r, c, &v);
}

static void
refuse_all(struct exchange *x, struct push_report *r, const char *fault)
{
	struct exchange_push *p = x->push;
	struct span all = buf_span(&p->hold);
	struct git_push_command c;
	char text[400];
	size_t at = 0;
	bool is_first = true;

	(void)snprintf(text, sizeof(text), "tapward: %s",
	    fault != NULL ? fault : "");
	push_report_begin(r,
	    fault != NULL && p->reason == REASON_BAD_REQUEST ? text : NULL);
	while (git_push_next(&p->list, all, &at, &c)) {
		if (fault != NULL)
			push_report_refuse(r, c.ref, text);
		else
			refuse_one(x, r, &c, &is_first);
	}
}

void
exchange_push_report(struct exchange *x, enum reason reason, const char *fault)
{
	struct exchange_push *p = x->push;
	struct push_report r = { .takes_sideband = p->list.takes_sideband };

	p->reason = reason;
	(void)snprintf(p->detail, sizeof(p->detail), "%s",
	    fault != NULL ? fault : "");
	push_report_say(&r, "tapward: nothing of this push went on");
	refuse_all(x, &r, fault);
	if (!p->list.wants_report || push_report_end(&r, &p->report) != 0)
		buf_done(&p->report);
	push_report_done(&r);
}
