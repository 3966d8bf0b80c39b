/*
 * One section at a time: it is asked when the next begins.
 */
#include "conf/expect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/expect_keys.h"
#include "conf/explain.h"
#include "conf/ini.h"
#include "conf/words.h"

#define URL_SIZE 200 /* a line of INI is shorter */
#define METHOD_SIZE 32
#define FAULT_SIZE 256

struct expectation {
	bool is_open;
	uint32_t line;
	char name[INI_NAME_MAX + 1];
	char urls[EXPECT_URLS_MAX][URL_SIZE];
	size_t url_count;
	char methods[EXPECT_METHODS_MAX][METHOD_SIZE];
	size_t method_count;
	char push[URL_SIZE];
	enum git_operation operation;
	char verdict[8];
	char reason[METHOD_SIZE];
	char rule[INI_NAME_MAX + 1];
};

struct run {
	const char *file;
	const struct policy_pair *pair;
	const struct expect_output *out;
	struct expect_report *report;
	struct err *err;
	struct expectation e;
};

static void
copy(char *buf, size_t size, struct span s)
{
	size_t len = s.len < size - 1 ? s.len : size - 1;

	memcpy(buf, s.ptr, len);
	buf[len] = '\0';
}

/* --- asking -------------------------------------------------------------- */

/* What is not as it was expected, in fault; false when all is. */
static bool
differs(const struct expectation *e, const struct explanation *x,
    char fault[FAULT_SIZE])
{
	const struct verdict *v = &x->verdict;
	const char *got = action_name(v->action);

	if (strcmp(got, e->verdict) != 0)
		(void)snprintf(fault, FAULT_SIZE,
		    "%s is expected, %s%s%s it is", e->verdict, got,
		    x->code[0] != '\0' ? " by reason " : "", x->code);
	else if (e->reason[0] != '\0' && strcmp(e->reason, x->code) != 0)
		(void)snprintf(fault, FAULT_SIZE,
		    "reason %s is expected, %s it is", e->reason,
		    x->code[0] != '\0' ? x->code : "none");
	else if (e->rule[0] != '\0' && strcmp(e->rule, v->rule) != 0)
		(void)snprintf(fault, FAULT_SIZE,
		    "rule %s is expected, %s it is", e->rule, v->rule);
	else
		return false;
	return true;
}

static void
tell(const struct run *r, const char *method, const char *url,
    const struct explanation *x, const char *fault)
{
	const struct expectation *e = &r->e;
	const struct verdict *v = &x->verdict;
	struct json *j = r->out->json;
	char at[RULE_AT_SIZE];

	(void)snprintf(at, sizeof(at), "%s:%u", v->file, v->line);
	if (j != NULL) {
		json_open_object(j, NULL);
		json_str(j, "name", e->name);
		json_str(j, "file", r->file);
		json_u64(j, "line", e->line);
		json_str(j, "url", url);
		json_str(j, "method", method);
		json_str(j, "push", e->push);
		json_bool(j, "ok", fault == NULL);
		json_str(j, "verdict", action_name(v->action));
		json_str(j, "reason", x->code);
		json_str(j, "rule", v->rule);
		json_str(j, "at", at);
		json_str(j, "fault", fault != NULL ? fault : "");
		json_close_object(j);
	}
	if (r->out->lines == NULL || fault == NULL)
		return;
	wr_fmt(r->out->lines, "%s:%u: [expect %s] %s %s: %s, by %s (%s)\n",
	    r->file, e->line, e->name, e->push[0] != '\0' ? e->push : method,
	    url, fault, v->rule, at);
	if (x->hint[0] != '\0')
		wr_fmt(r->out->lines, "    to change it: %s\n", x->hint);
}

static int
ask(struct run *r, const char *method, const char *url)
{
	const struct expectation *e = &r->e;
	struct explanation x;
	struct err err = { "" };
	char fault[FAULT_SIZE];
	bool is_wrong;
	int rc = e->push[0] != '\0'
	    ? explain_push(r->pair, url, e->push, e->operation, &x, &err)
	    : explain(r->pair, url, method, &x, &err);

	if (rc != 0)
		return err_at(r->err, r->file, e->line, "[expect %s] %s: %s",
		    e->name, url, err.text);
	is_wrong = differs(e, &x, fault);
	r->report->asked++;
	r->report->failed += is_wrong;
	tell(r, method, url, &x, is_wrong ? fault : NULL);
	return 0;
}

static int
check(const struct run *r)
{
	const struct expectation *e = &r->e;
	const char *what = NULL;

	if (e->url_count == 0)
		what = "names no url";
	else if (e->verdict[0] == '\0')
		what = "expects nothing: add `verdict = allow`, deny or ask";
	else if (e->push[0] != '\0' && e->method_count > 0)
		what = "has push and method: a push is a POST of git's own";
	else if (e->push[0] == '\0' && e->operation != GIT_OPERATION_NONE)
		what = "has an operation and no push: add `push = REF`";
	if (what == NULL)
		return 0;
	return err_at(r->err, r->file, e->line, "[expect %s] %s", e->name,
	    what);
}

static int
finish(struct run *r)
{
	struct expectation *e = &r->e;
	int rc = e->is_open ? check(r) : 0;

	if (!e->is_open || rc != 0)
		return rc;
	if (e->method_count == 0)
		copy(e->methods[e->method_count++], METHOD_SIZE,
		    span_of(e->push[0] != '\0' ? "POST" : "GET"));
	for (size_t i = 0; i < e->url_count && rc == 0; i++) {
		for (size_t k = 0; k < e->method_count && rc == 0; k++)
			rc = ask(r, e->methods[k], e->urls[i]);
	}
	e->is_open = false;
	return rc;
}

/* --- reading ------------------------------------------------------------- */

static const char *
take_methods(struct expectation *e, struct span list)
{
	struct span item;

	while (words_next_item(&list, &item)) {
		if (!words_is_method(item))
			return "a method is written in capitals";
		if (e->method_count == EXPECT_METHODS_MAX)
			return "more than 16 methods";
		copy(e->methods[e->method_count++], METHOD_SIZE, item);
	}
	return NULL;
}

static const char *
take_operation(struct expectation *e, struct span v)
{
	for (int op = GIT_CREATE; op < GIT_OPERATIONS; op++) {
		if (!span_is(v, git_operation_name((enum git_operation)op)))
			continue;
		e->operation = (enum git_operation)op;
		return NULL;
	}
	return "an operation is create, update, delete or force";
}

static const char *
take_value(struct expectation *e, enum expect_key key, struct span v)
{
	switch (key) {
	case EXPECT_URL:
		if (e->url_count == EXPECT_URLS_MAX)
			return "more than 64 URLs: begin another section";
		copy(e->urls[e->url_count++], URL_SIZE, v);
		return NULL;
	case EXPECT_METHOD:
		return take_methods(e, v);
	case EXPECT_PUSH:
		copy(e->push, sizeof(e->push), v);
		return NULL;
	case EXPECT_OPERATION:
		return take_operation(e, v);
	case EXPECT_VERDICT:
		if (!span_is(v, "allow") && !span_is(v, "deny") &&
		    !span_is(v, "ask"))
			return "a verdict is allow, deny or ask";
		copy(e->verdict, sizeof(e->verdict), v);
		return NULL;
	case EXPECT_REASON:
		copy(e->reason, sizeof(e->reason), v);
		return NULL;
	case EXPECT_RULE:
		copy(e->rule, sizeof(e->rule), v);
		return NULL;
	case EXPECT_KEYS:
		break;
	}
	return expect_key_fault("");
}

static int
on_entry(const struct ini_entry *entry, void *arg)
{
	struct run *r = arg;
	struct expectation *e = &r->e;
	const char *fault;

	if (entry->key == NULL) {
		int rc = finish(r);

		*e = (struct expectation){ .line = entry->line,
			.is_open = strcmp(entry->kind, "expect") == 0 };
		copy(e->name, sizeof(e->name), span_of(entry->name));
		return rc;
	}
	if (!e->is_open)
		return 0;
	fault = take_value(e, expect_key_of(entry->key), span_of(entry->value));
	if (fault == NULL)
		return 0;
	return err_at(r->err, r->file, entry->line, "%s = %s: %s", entry->key,
	    entry->value, fault);
}

int
expect_run(const char *file, struct span text, const struct policy_pair *pair,
    const struct expect_output *out, struct expect_report *report,
    struct err *err)
{
	struct run *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return -ENOMEM;
	r->file = file;
	r->pair = pair;
	r->out = out;
	r->report = report;
	r->err = err;
	rc = ini_read(text, file, on_entry, r, err);
	if (rc == 0)
		rc = finish(r);
	free(r);
	return rc;
}
