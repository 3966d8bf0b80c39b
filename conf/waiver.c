/*
 * Comments are nothing to the reader of INI, so their lines are looked for
 * here. Nothing that decides depends on one.
 */
#include "conf/waiver.h"

#include <stdio.h>
#include <string.h>

#include "conf/finding.h"
#include "conf/words.h"

#define MARK "; check:"

const char *const waiver_codes[] = { "deep-wildcard", "git-push", "needless",
	"plain-http", "preset", "private-name", "relay", "shadowed", "stores",
	"unseen", "unstripped", "unused", "user-content", "wide-credential",
	"wide-wildcard", "writes", NULL };

struct waiver {
	uint32_t line;  /* its own */
	uint32_t first; /* lines of the section that it is for */
	uint32_t last;
	struct span codes; /* "a, b" */
	struct span why;
	bool is_used;
};

struct waivers {
	struct waiver all[WAIVERS_MAX];
	size_t count;
	size_t pending;   /* the first that no section has taken yet */
	uint32_t section; /* line of its heading */
	uint32_t line;
};

static struct span
trim_left(struct span s)
{
	while (s.len > 0 && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = (struct span){ s.ptr + 1, s.len - 1 };
	return s;
}

static void
take_waiver(struct waivers *w, struct span rest)
{
	struct waiver *v = &w->all[w->count];
	const uint8_t *colon = memchr(rest.ptr, ':', rest.len);
	size_t len = colon != NULL ? (size_t)(colon - rest.ptr) : rest.len;

	if (w->count == WAIVERS_MAX)
		return;
	*v = (struct waiver){ .line = w->line,
		.first = w->line,
		.last = UINT32_MAX,
		.codes = { rest.ptr, len } };
	if (colon != NULL)
		v->why =
		    trim_left((struct span){ colon + 1, rest.len - len - 1 });
	w->count++;
}

/* A heading ends what was open, and takes what waits for it. */
static void
on_heading(struct waivers *w)
{
	for (size_t i = 0; i < w->count; i++) {
		struct waiver *v = &w->all[i];

		if (i >= w->pending)
			v->first = w->line;
		else if (v->last == UINT32_MAX)
			v->last = w->line - 1;
	}
	w->pending = w->count;
	w->section = w->line;
}

/* What waits belongs to the section above. */
static void
on_key(struct waivers *w)
{
	while (w->pending < w->count)
		w->all[w->pending++].first = w->section;
}

static void
on_line(struct waivers *w, struct span line)
{
	size_t mark = sizeof(MARK) - 1;

	w->line++;
	if (line.len > mark && memcmp(line.ptr, MARK, mark) == 0)
		take_waiver(w,
		    trim_left(
			(struct span){ line.ptr + mark, line.len - mark }));
	else if (line.len > 0 && line.ptr[0] == '[')
		on_heading(w);
	else if (trim_left(line).len > 0 && line.ptr[0] != ';' &&
	    line.ptr[0] != '#')
		on_key(w);
}

static void
read_waivers(struct span text, struct waivers *w)
{
	*w = (struct waivers){ .count = 0 };
	/* most files have none, and a ceiling may be long */
	if (memmem(text.ptr, text.len, MARK, sizeof(MARK) - 1) == NULL)
		return;
	while (text.len > 0) {
		const uint8_t *end = memchr(text.ptr, '\n', text.len);
		size_t len = end != NULL ? (size_t)(end - text.ptr) : text.len;
		size_t used = end != NULL ? len + 1 : len;
		struct span line = { text.ptr, len };

		if (line.len > 0 && line.ptr[line.len - 1] == '\r')
			line.len--;
		on_line(w, line);
		text = (struct span){ text.ptr + used, text.len - used };
	}
	on_key(w);
}

static bool
names_code(const struct waiver *v, const char *code)
{
	struct span list = v->codes, item;

	while (words_next_item(&list, &item)) {
		if (span_is(item, code))
			return true;
	}
	return false;
}

static bool
is_waived(struct waivers *w, const struct finding *f)
{
	for (size_t i = 0; i < w->count; i++) {
		struct waiver *v = &w->all[i];

		if (f->line < v->first || f->line > v->last ||
		    v->why.len == 0 || !names_code(v, f->code))
			continue;
		v->is_used = true;
		return true;
	}
	return false;
}

/* Is it about the text itself, not about a preset that it names? */
static bool
is_of_text(const struct compile_input *in, const struct finding *f)
{
	size_t len = strlen(in->display_name);

	return strncmp(f->text, in->display_name, len) == 0 &&
	    f->text[len] == ':';
}

static bool
is_code(struct span s)
{
	for (size_t i = 0; waiver_codes[i] != NULL; i++) {
		if (span_is(s, waiver_codes[i]))
			return true;
	}
	return false;
}

static void
review(const struct compile_input *in, const struct waiver *v,
    struct compile_result *ret)
{
	struct place at = { in->display_name, v->line };
	struct span list = v->codes, item;

	while (words_next_item(&list, &item)) {
		if (is_code(item))
			continue;
		finding_warning(ret, at,
		    "`check: %.*s` is no code of a warning: they end the "
		    "lines that `tapward check` prints",
		    (int)(item.len < 32 ? item.len : 32),
		    (const char *)item.ptr);
		return;
	}
	if (v->why.len == 0)
		finding_warning(ret, at,
		    "a check is waived without a reason: write `; check: "
		    "CODE: WHY`");
	else if (!v->is_used)
		finding_warning(ret, at,
		    "nothing is waived here any more: remove the comment");
}

void
waiver_apply(const struct compile_input *in, struct compile_result *ret)
{
	bool is_review = in->review != NULL && ret->error_count == 0;
	struct waivers w;
	size_t kept = 0;

	read_waivers(in->text, &w);
	if (w.count == 0)
		return;
	for (size_t i = 0; i < ret->finding_count; i++) {
		const struct finding *f = &ret->findings[i];

		if (f->level == FINDING_WARNING && f->code != NULL &&
		    is_of_text(in, f) && is_waived(&w, f))
			continue;
		if (kept != i)
			ret->findings[kept] = *f;
		kept++;
	}
	ret->finding_count = kept;
	for (size_t i = 0; i < w.count && is_review; i++)
		review(in, &w.all[i], ret);
}
