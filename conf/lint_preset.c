/*
 * Rules that a preset would say shorter, and with what redirects lead to. A
 * preset's first rule is what it is for: a rule of the text that holds all of
 * it is meant for the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/cover.h"
#include "conf/lint.h"
#include "conf/parse.h"
#include "conf/presets.h"

/* A line "preset = NAME" for each preset. */
#define TEXT_MAX_BYTES 32768

/* All presets as one model: file 0 is the text that names them. */
static int
read_presets(struct model *ret)
{
	struct compile_result *said = calloc(1, sizeof(*said));
	char *text = malloc(TEXT_MAX_BYTES);
	struct wr w = wr_init(text, TEXT_MAX_BYTES);
	struct compile_input in = { .display_name = "-",
		.is_ceiling = true,
		.preset = presets_find };
	int rc = said == NULL || text == NULL ? -ENOMEM : model_init(ret);

	if (rc == 0) {
		wr_text(&w, "[policy]\nversion = 1\n");
		for (size_t i = 0; presets_all[i].name != NULL; i++)
			wr_fmt(&w, "preset = %s\n", presets_all[i].name);
		in.text = (struct span){ w.buf, w.len };
		rc = parse_policy(&in, ret, said);
	}
	free(text);
	free(said);
	return rc;
}

/* The text names it, or is its own text. */
static bool
is_there(const struct model *m, const char *preset, const char *first_rule)
{
	for (size_t i = 0; i < m->files.count; i++) {
		const uint32_t *off = vec_at(&m->files, i);
		const char *file = model_string(m, *off);

		if (strncmp(file, "preset:", 7) == 0 &&
		    strcmp(file + 7, preset) == 0)
			return true;
	}
	for (size_t i = 0; i < m->rules.count; i++) {
		const struct model_rule *r = model_rule_at(m, i);

		if (strcmp(model_string(m, r->name), first_rule) == 0)
			return true;
	}
	return false;
}

/* Every host of the offered rule holds one of rule number `rule` of m. */
static bool
names_hosts(const struct model *offers, size_t offer, const struct model *m,
    size_t rule)
{
	for (size_t i = 0; i < offers->hosts.count; i++) {
		const struct model_host *want = vec_at(&offers->hosts, i);
		bool is_named = want->rule != offer;

		for (size_t k = 0; k < m->hosts.count && !is_named; k++) {
			const struct model_host *h = vec_at(&m->hosts, k);

			is_named = h->rule == rule &&
			    cover_host((struct cover_host){ offers, want },
				(struct cover_host){ m, h });
		}
		if (!is_named)
			return false;
	}
	return true;
}

static bool
is_same(const struct model *offers, size_t offer, const struct model *m,
    size_t rule)
{
	const struct model_rule *o = model_rule_at(offers, offer);
	const struct model_rule *r = model_rule_at(m, rule);

	return lint_is_own(r) && !r->is_git && r->action == ACTION_ALLOW &&
	    r->credential == 0 && r->scheme == o->scheme && r->tls == o->tls &&
	    cover_request((struct cover_rule){ m, r },
		(struct cover_rule){ offers, o }) &&
	    names_hosts(offers, offer, m, rule);
}

/* All of a host that everybody shares is not meant for one preset. */
static bool
is_of_everybody(const struct compile_result *ret, uint32_t line)
{
	for (size_t i = 0; i < ret->finding_count; i++) {
		const struct finding *f = &ret->findings[i];

		if (f->line == line && f->code != NULL &&
		    strcmp(f->code, "user-content") == 0)
			return true;
	}
	return false;
}

static void
check_offer(const struct model *offers, size_t offer, const char *preset,
    const struct model *m, struct compile_result *ret)
{
	struct preset_about about = presets_about(presets_get(preset));

	for (size_t i = 0; i < m->rules.count; i++) {
		const struct model_rule *r = model_rule_at(m, i);

		if (!is_same(offers, offer, m, i) ||
		    is_of_everybody(ret, r->line))
			continue;
		finding_review(ret, lint_at(m, r), "preset",
		    "[allow %s] is what `preset = %s` is for (%.*s): that "
		    "names what redirects lead to and nothing that writes",
		    model_string(m, r->name), preset, (int)about.title.len,
		    (const char *)about.title.ptr);
		return;
	}
}

int
lint_presets(const struct model *m, struct compile_result *ret)
{
	struct model offers = { .rules = VEC_OF(struct model_rule) };
	uint32_t file = 0;
	int rc;

	/* a ceiling of a million names was not written by hand */
	if (m->hosts.count > POLICY_TEXT_MAX_BYTES)
		return 0;
	rc = read_presets(&offers);
	for (size_t i = 0; i < offers.rules.count && rc == 0; i++) {
		const struct model_rule *o = model_rule_at(&offers, i);
		const uint32_t *off = vec_at(&offers.files, o->file);
		const char *preset = model_string(&offers, *off) + 7;

		if (o->file == file)
			continue;
		file = o->file;
		if (!is_there(m, preset, model_string(&offers, o->name)))
			check_offer(&offers, i, preset, m, ret);
	}
	model_done(&offers);
	return rc;
}
