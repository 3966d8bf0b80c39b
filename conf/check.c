/*
 * See check.h.
 */
#include "conf/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "conf/compile.h"
#include "conf/finding.h"
#include "conf/hostconf.h"
#include "conf/ini.h"
#include "conf/lint.h"
#include "conf/policy.h"
#include "conf/presets.h"

/* What is to be written, whatever the kind of file. */
struct output {
	const char *name;
	enum check_form form;
	struct wr *w;
	struct check_report report;
};

/* Findings of the text by line; those of presets stay behind. */
static int
by_line(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	bool is_x_far = strncmp(x->text, "preset:", 7) == 0;
	bool is_y_far = strncmp(y->text, "preset:", 7) == 0;

	if (is_x_far != is_y_far)
		return is_x_far ? 1 : -1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return strcmp(x->text, y->text);
}

static void
write_finding_json(struct json *j, const struct finding *f)
{
	json_open_object(j, NULL);
	json_str(j, "level", f->level == FINDING_ERROR ? "error" : "warning");
	json_str(j, "code", f->code != NULL ? f->code : "");
	json_u64(j, "line", f->line);
	json_str(j, "message", f->text + f->message);
	json_str(j, "text", f->text);
	json_close_object(j);
}

static void
write_json(struct output *o, const struct finding *all, size_t count)
{
	struct json j = json_init(o->w);

	json_open_object(&j, NULL);
	json_str(&j, "file", o->name);
	json_bool(&j, "ok", o->report.errors == 0);
	json_u64(&j, "errors", o->report.errors);
	json_u64(&j, "warnings", o->report.warnings);
	json_u64(&j, "rules", o->report.rules);
	json_u64(&j, "hosts", o->report.hosts);
	json_open_array(&j, "findings");
	for (size_t i = 0; i < count; i++)
		write_finding_json(&j, &all[i]);
	json_close_array(&j);
	json_close_object(&j);
	wr_text(o->w, "\n");
}

/* Counts and writes; summary is what is said of a file without an error. */
static void
write_report(struct output *o, const struct finding *all, size_t count,
    const char *summary)
{
	for (size_t i = 0; i < count; i++)
		o->report.warnings += all[i].level == FINDING_WARNING;
	if (o->form == CHECK_JSON) {
		write_json(o, all, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		wr_fmt(o->w, "%s\n", all[i].text);
	if (o->report.errors == 0)
		wr_fmt(o->w, "%s: ok, %s\n", o->name, summary);
}

static int
count_rules(const struct compile_result *r, struct check_report *ret)
{
	struct policy *p;
	int rc = policy_map_bytes(r->image, r->image_len, &p);

	if (rc != 0)
		return rc;
	ret->rules = policy_rule_count(p);
	ret->hosts = policy_host_count(p);
	policy_unref(p);
	return 0;
}

static int
check_policy(struct span text, bool is_ceiling, struct output *o)
{
	struct compile_input in = { .display_name = o->name,
		.text = text,
		.is_ceiling = is_ceiling,
		.preset = presets_find,
		.review = lint_review };
	struct compile_result *r = calloc(1, sizeof(*r));
	char summary[96] = "";
	int rc;

	if (r == NULL)
		return -ENOMEM;
	rc = compile_policy(&in, r);
	o->report.errors = r->error_count;
	if (rc == 0)
		rc = count_rules(r, &o->report);
	(void)snprintf(summary, sizeof(summary),
	    "%zu rules for %zu host patterns", o->report.rules,
	    o->report.hosts);
	qsort(r->findings, r->finding_count, sizeof(r->findings[0]), by_line);
	if (rc == 0 || rc == -EINVAL)
		write_report(o, r->findings, r->finding_count, summary);
	compile_result_done(r);
	free(r);
	return rc == -EINVAL ? 0 : rc;
}

static int
check_hostconf(struct span text, struct output *o)
{
	struct compile_result *r = calloc(1, sizeof(*r));
	struct hostconf *c = NULL;
	struct err err = { "" };
	char summary[96] = "";
	int rc;

	if (r == NULL)
		return -ENOMEM;
	rc = hostconf_parse(o->name, text, &c, &err);
	if (rc == -EINVAL)
		finding_text(r, err.text);
	else if (rc == 0 && !c->has_ceiling)
		finding_warning(r, (struct place){ o->name, 0 },
		    "[ceiling] policy = none: a repository's policy is the "
		    "only limit");
	o->report.errors = r->error_count;
	if (rc == 0)
		(void)snprintf(summary, sizeof(summary), "%zu credentials",
		    c->credential_count);
	if (rc == 0 || rc == -EINVAL)
		write_report(o, r->findings, r->finding_count, summary);
	if (rc == 0)
		hostconf_free(c);
	free(r);
	return rc == -EINVAL ? 0 : rc;
}

/* Stops at the first heading that only the host's configuration has. */
static int
on_heading(const struct ini_entry *e, void *arg)
{
	static const char *const kinds[] = { "daemon", "network", "upstream",
		"address", "ceiling", "credential", "limits" };
	bool *is_hostconf = arg;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (e->key == NULL && strcmp(e->kind, kinds[i]) == 0)
			*is_hostconf = true;
	}
	return *is_hostconf ? -ECANCELED : 0;
}

static enum check_kind
guess(struct span text)
{
	bool is_hostconf = false;

	(void)ini_read(text, "-", on_heading, &is_hostconf, NULL);
	return is_hostconf ? CHECK_HOSTCONF : CHECK_POLICY;
}

int
check_text(const char *display_name, struct span text, enum check_kind kind,
    enum check_form form, struct wr *w, struct check_report *ret)
{
	struct output o = { .name = display_name, .form = form, .w = w };
	int rc;

	if (kind == CHECK_GUESS)
		kind = guess(text);
	rc = kind == CHECK_HOSTCONF
	    ? check_hostconf(text, &o)
	    : check_policy(text, kind == CHECK_CEILING, &o);
	if (rc == 0)
		*ret = o.report;
	return rc;
}
