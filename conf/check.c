/*
 * See check.h.
 */
#include "conf/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/compile.h"
#include "conf/hostconf.h"
#include "conf/ini.h"
#include "conf/policy.h"
#include "conf/presets.h"

static void
write_findings(struct wr *w, const struct compile_result *r,
    struct check_report *ret)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		wr_fmt(w, "%s\n", r->findings[i].text);
		if (r->findings[i].level == FINDING_WARNING)
			ret->warnings++;
	}
	ret->errors = r->error_count;
}

static int
write_summary(struct wr *w, const char *name, const struct compile_result *r,
    struct check_report *ret)
{
	struct policy *p;
	int rc = policy_map_bytes(r->image, r->image_len, &p);

	if (rc != 0)
		return rc;
	ret->rules = policy_rule_count(p);
	ret->hosts = policy_host_count(p);
	wr_fmt(w, "%s: ok, %zu rules for %zu host patterns\n", name, ret->rules,
	    ret->hosts);
	policy_unref(p);
	return 0;
}

static int
check_policy(const char *name, struct span text, bool is_ceiling, struct wr *w,
    struct check_report *ret)
{
	struct compile_input in = { .display_name = name,
		.text = text,
		.is_ceiling = is_ceiling,
		.preset = presets_find };
	struct compile_result *r = calloc(1, sizeof(*r));
	int rc;

	if (r == NULL)
		return -ENOMEM;
	rc = compile_policy(&in, r);
	write_findings(w, r, ret);
	if (rc == 0)
		rc = write_summary(w, name, r, ret);
	compile_result_done(r);
	free(r);
	return rc == -EINVAL ? 0 : rc;
}

static int
check_hostconf(const char *name, struct span text, struct wr *w,
    struct check_report *ret)
{
	struct hostconf *c;
	struct err err;
	int rc = hostconf_parse(name, text, &c, &err);

	if (rc == -EINVAL) {
		ret->errors = 1;
		wr_fmt(w, "%s\n", err.text);
		return 0;
	}
	if (rc != 0)
		return rc;
	if (!c->has_ceiling) {
		ret->warnings = 1;
		wr_fmt(w,
		    "%s: warning: [ceiling] policy = none: a "
		    "repository's policy is the only limit\n",
		    name);
	}
	wr_fmt(w, "%s: ok, %zu credentials\n", name, c->credential_count);
	hostconf_free(c);
	return 0;
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
    struct wr *w, struct check_report *ret)
{
	struct check_report report = { 0, 0, 0, 0 };
	int rc;

	if (kind == CHECK_GUESS)
		kind = guess(text);
	rc = kind == CHECK_HOSTCONF
	    ? check_hostconf(display_name, text, w, &report)
	    : check_policy(display_name, text, kind == CHECK_CEILING, w,
		  &report);
	if (rc == 0)
		*ret = report;
	return rc;
}
