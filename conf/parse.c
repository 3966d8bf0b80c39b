/*
 * Sections. Errors of meaning are collected, so that a person sees them all
 * at once; an error of form ends the file, for what follows it cannot be
 * trusted to be what it looks like.
 */
#include "conf/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/expect_keys.h"
#include "conf/words.h"

/* Errors after which reading on helps nobody. */
#define PARSE_ERRORS_MAX COMPILE_FINDINGS_MAX

struct section_row {
	const char *kind;
	enum action action; /* of a rule */
	enum parse_section section;
};

static const struct section_row sections[] = {
	{ "policy", ACTION_DENY, SECTION_POLICY },
	{ "allow", ACTION_ALLOW, SECTION_RULE },
	{ "deny", ACTION_DENY, SECTION_RULE },
	{ "ask", ACTION_ASK, SECTION_RULE },
	{ "git", ACTION_ALLOW, SECTION_GIT },
	{ "expect", ACTION_DENY, SECTION_EXPECT },
};
#define SECTIONS (sizeof(sections) / sizeof(sections[0]))

struct place
parse_at(const struct parse *p, uint32_t line)
{
	return (struct place){ p->file, line };
}

struct model_rule *
parse_rule(const struct parse *p)
{
	return model_rule_at(p->m, p->m->rules.count - 1);
}

static void
finish_section(struct parse *p)
{
	if (p->section == SECTION_RULE && p->rc == 0)
		parse_finish_rule(p);
	else if (p->section == SECTION_GIT && p->rc == 0)
		parse_finish_git(p);
	p->section = SECTION_NONE;
}

static void
open_policy(struct parse *p, const struct ini_entry *e)
{
	if (e->name[0] != '\0') {
		finding_error(p->ret, parse_at(p, e->line),
		    "[policy] takes no name");
		return;
	}
	if (p->policy_line != 0) {
		finding_error(p->ret, parse_at(p, e->line),
		    "a second [policy] (first on line %u): join the two",
		    p->policy_line);
		return;
	}
	p->policy_line = e->line;
	p->section = SECTION_POLICY;
}

static void
open_rule(struct parse *p, const struct section_row *row,
    const struct ini_entry *e)
{
	struct model_rule r = { .file = p->file_index,
		.line = e->line,
		.action = row->action,
		.is_git = row->section == SECTION_GIT };

	if (!words_is_name(span_of(e->name))) {
		finding_error(p->ret, parse_at(p, e->line),
		    "[%s NAME] needs a name of letters, digits, '-', '_' and "
		    "'.', at most %d bytes: the audit log shows it",
		    e->kind, WORDS_NAME_MAX);
		return;
	}
	if (!p->in->is_ceiling && p->m->rules.count >= PARSE_RULES_MAX) {
		finding_error(p->ret, parse_at(p, e->line),
		    "more than %d rules", PARSE_RULES_MAX);
		p->rc = -E2BIG;
		return;
	}
	if (model_add_string(p->m, span_of(e->name), &r.name) != 0 ||
	    vec_push(&p->m->rules, &r) != 0) {
		p->rc = -ENOMEM;
		return;
	}
	p->section = row->section;
}

/* What a person expects decides nothing; `tapward test` reads it. */
static void
open_expect(struct parse *p, const struct ini_entry *e)
{
	p->section = SECTION_EXPECT;
	if (p->is_preset)
		finding_error(p->ret, parse_at(p, e->line),
		    "a preset takes no [expect NAME]");
	else if (!words_is_name(span_of(e->name)))
		finding_error(p->ret, parse_at(p, e->line),
		    "[expect NAME] needs a name, which `tapward test` shows");
}

static void
take_key(struct parse *p, const struct ini_entry *e)
{
	if (p->section == SECTION_EXPECT) {
		const char *fault = expect_key_fault(e->key);

		if (fault != NULL)
			finding_error(p->ret, parse_at(p, e->line), "%s: %s",
			    e->key, fault);
	} else if (p->section != SECTION_NONE) {
		parse_take_key(p, e);
	}
}

static void
refuse_section(struct parse *p, const struct ini_entry *e)
{
	const char *near = words_nearest(e->kind, &sections[0].kind, SECTIONS,
	    sizeof(sections[0]));

	if (near != NULL)
		finding_error(p->ret, parse_at(p, e->line),
		    "unknown section [%s]: did you mean [%s]?", e->kind, near);
	else
		finding_error(p->ret, parse_at(p, e->line),
		    "unknown section [%s]: there are [policy], [allow NAME], "
		    "[deny NAME], [ask NAME], [git NAME] and [expect NAME]",
		    e->kind);
}

static void
open_section(struct parse *p, const struct ini_entry *e)
{
	const struct section_row *row = NULL;

	finish_section(p);
	memset(p->key_line, 0, sizeof(p->key_line));
	p->line = e->line;
	p->wildcard_line = 0;
	p->any_depth_line = 0;
	p->repo_port = 0;
	for (size_t i = 0; i < SECTIONS && row == NULL; i++) {
		if (strcmp(sections[i].kind, e->kind) == 0)
			row = &sections[i];
	}
	if (row == NULL)
		refuse_section(p, e);
	else if (row->section == SECTION_POLICY)
		open_policy(p, e);
	else if (row->section == SECTION_EXPECT)
		open_expect(p, e);
	else
		open_rule(p, row, e);
}

static int
on_entry(const struct ini_entry *e, void *arg)
{
	struct parse *p = arg;

	if (e->key == NULL)
		open_section(p, e);
	else
		take_key(p, e);
	if (p->rc == 0 && p->ret->error_count >= PARSE_ERRORS_MAX)
		p->rc = -E2BIG;
	return p->rc;
}

static void
check_policy_section(struct parse *p)
{
	if (p->policy_line == 0)
		finding_error(p->ret, parse_at(p, 0),
		    "no [policy] section: start the file with `[policy]` and "
		    "`version = 1`; without it everything is denied");
	else if (p->version_line == 0)
		finding_error(p->ret, parse_at(p, p->policy_line),
		    "[policy] without a version: add `version = 1`");
}

/* Reads one file into the model. Its findings carry its display name. */
static void
read_file(struct parse *p, const char *file, struct span text)
{
	struct err err = { "" };
	uint32_t name;

	p->file = file;
	p->file_index = (uint32_t)p->m->files.count;
	p->section = SECTION_NONE;
	p->policy_line = 0;
	p->version_line = 0;
	if (model_add_string(p->m, span_of(file), &name) != 0 ||
	    vec_push(&p->m->files, &name) != 0) {
		p->rc = -ENOMEM;
		return;
	}
	if (ini_read(text, file, on_entry, p, &err) != 0) {
		/* err holds "file:line: " already */
		if (p->rc == 0)
			finding_text(p->ret, err.text);
		return;
	}
	finish_section(p);
	check_policy_section(p);
}

/* "npm" for npm-read, "openai" for openai-api. */
static void
refuse_preset(struct parse *p, const char *name, struct place at)
{
	static const char *const ends[] = { "-read", "-api" };
	char near[WORDS_NAME_MAX + 8];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		(void)snprintf(near, sizeof(near), "%s%s", name, ends[i]);
		if (p->in->preset == NULL ||
		    p->in->preset(near, p->in->preset_arg).len == 0)
			continue;
		finding_error(p->ret, at, "unknown preset %s: did you mean %s?",
		    name, near);
		return;
	}
	finding_error(p->ret, at,
	    "unknown preset %s: `tapward preset list` names those there are",
	    name);
}

static void
read_preset(struct parse *p, const struct preset_use *use, const char *file)
{
	char name[WORDS_NAME_MAX + 1], display[WORDS_NAME_MAX + 8];
	struct span text = { NULL, 0 };

	(void)snprintf(name, sizeof(name), "%s", model_string(p->m, use->name));
	if (p->in->preset != NULL)
		text = p->in->preset(name, p->in->preset_arg);
	if (text.len == 0) {
		refuse_preset(p, name, (struct place){ file, use->line });
		return;
	}
	(void)snprintf(display, sizeof(display), "preset:%s", name);
	p->is_preset = true;
	read_file(p, display, text);
	p->file = file; /* display ends here */
}

struct named {
	const char *name;
	uint32_t rule;
};

static int
by_name(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (c != 0)
		return c;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

static const char *
rule_file(const struct model *m, const struct model_rule *r)
{
	const uint32_t *off = vec_at(&m->files, r->file);

	return model_string(m, *off);
}

/* A rule's name is what the audit log shows: each is there once. */
static int
check_names(struct parse *p)
{
	size_t n = p->m->rules.count;
	struct named *all = calloc(n > 0 ? n : 1, sizeof(*all));

	if (all == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		all[i].name = model_string(p->m, model_rule_at(p->m, i)->name);
		all[i].rule = (uint32_t)i;
	}
	qsort(all, n, sizeof(*all), by_name);
	for (size_t i = 1; i < n; i++) {
		const struct model_rule *a =
		    model_rule_at(p->m, all[i - 1].rule);
		const struct model_rule *b = model_rule_at(p->m, all[i].rule);

		if (strcmp(all[i - 1].name, all[i].name) != 0)
			continue;
		finding_error(p->ret,
		    (struct place){ rule_file(p->m, b), b->line },
		    "a second rule named %s (first at %s:%u): rename one",
		    all[i].name, rule_file(p->m, a), a->line);
	}
	free(all);
	return 0;
}

static void
warn_of_empty(struct parse *p)
{
	for (size_t i = 0; i < p->m->rules.count; i++) {
		if (model_rule_at(p->m, i)->action != ACTION_DENY)
			return;
	}
	finding_warning(p->ret,
	    (struct place){ p->in->display_name, p->m->line },
	    "no [allow] rule: everything is denied");
}

int
parse_policy(const struct compile_input *in, struct model *m,
    struct compile_result *ret)
{
	struct parse p = { .in = in,
		.ret = ret,
		.m = m,
		.presets = VEC_OF(struct preset_use) };

	m->is_ceiling = in->is_ceiling;
	m->learns = in->learns;
	read_file(&p, in->display_name, in->text);
	m->line = p.policy_line;
	for (size_t i = 0; p.rc == 0 && i < p.presets.count; i++)
		read_preset(&p, vec_at(&p.presets, i), in->display_name);
	if (p.rc == 0)
		p.rc = check_names(&p);
	if (p.rc == 0 && ret->error_count == 0)
		warn_of_empty(&p);
	vec_done(&p.presets);
	return p.rc == -ENOMEM ? -ENOMEM : 0;
}
