/* See page_private.h. A table is a row of sections[] and its columns. */
#include <stdbool.h>
#include <string.h>

#include "cli/html.h"
#include "cli/page_private.h"

/* Requests of one refusal that are shown; the rule covers all of them. */
#define ASKED_SHOWN 8

static void
put_left_out(FILE *f, const json_t *r, const char *key)
{
	uint64_t n = page_number(json_object_get(r, "left_out"), key);

	if (n == 0)
		return;
	(void)fputs("<p class=\"note\"><b>", f);
	page_plural(f, n, "more record", "more records");
	(void)fputs("</b> had no room in this table; the sums above hold "
		    "them.</p>\n",
	    f);
}

/* --- what was refused ------------------------------------------------------
 */

static void
put_asked(FILE *f, const json_t *row)
{
	const json_t *asked = json_object_get(row, "asked"), *one;
	uint64_t more = page_number(row, "asked_left_out");
	size_t i;

	if (json_array_size(asked) == 0)
		return;
	(void)fputs("<ul class=\"asked\">", f);
	json_array_foreach(asked, i, one)
	{
		if (i == ASKED_SHOWN)
			break;
		(void)fputs("<li><code>", f);
		html_text(f, page_text(one, "method"));
		(void)fputs(" ", f);
		html_text(f, page_text(one, "path"));
		(void)fputs("</code>", f);
		if (page_number(one, "count") > 1)
			(void)fprintf(f,
			    " <span class=\"meta\">%llu times"
			    "</span>",
			    (unsigned long long)page_number(one, "count"));
		(void)fputs("</li>", f);
	}
	if (json_array_size(asked) > ASKED_SHOWN || more > 0) {
		(void)fputs("<li class=\"meta\">and ", f);
		page_plural(f, json_array_size(asked) - i + more, "other",
		    "others");
		(void)fputs("</li>", f);
	}
	(void)fputs("</ul>\n", f);
}

/* A rule of it has no path, and so lets all of them through. */
static bool
is_wide(const char *remedy)
{
	bool has_path = true;

	for (const char *line = remedy; line != NULL;
	     line = strchr(line, '\n')) {
		line += *line == '\n' ? 1 : 0;
		if (strncmp(line, "path ", 5) == 0)
			has_path = true;
		if (strncmp(line, "[allow ", 7) != 0)
			continue;
		if (!has_path)
			return true;
		has_path = false;
	}
	return !has_path;
}

static void
put_remedy(FILE *f, const json_t *row)
{
	const char *remedy = page_text(row, "remedy");
	const char *advice = page_text(row, "advice");

	if (*advice != '\0') {
		(void)fputs("<p class=\"note\">", f);
		html_text(f, advice);
		(void)fputs("</p>\n", f);
	}
	if (*remedy == '\0')
		return;
	(void)fprintf(f, "<p class=\"note\">%s</p>\n<pre>",
	    is_wide(remedy)
		? "Rules that would allow it; one of them lets any path "
		  "through, since what was asked for cannot be written in a "
		  "policy:"
		: "Rules that would allow it:");
	html_lines(f, remedy, strlen(remedy));
	(void)fputs("</pre>\n", f);
}

static void
put_counts(FILE *f, const json_t *row)
{
	uint64_t requests = page_number(row, "requests");
	uint64_t connections = page_number(row, "connections");

	(void)fputs("<span class=\"count\">", f);
	if (requests > 0 || connections == 0)
		page_plural(f, requests, "request", "requests");
	if (requests > 0 && connections > 0)
		(void)fputs(", ", f);
	if (connections > 0)
		page_plural(f, connections, "connection", "connections");
	(void)fputs("</span>", f);
}

static void
put_refusal(FILE *f, const json_t *row)
{
	const char *at = page_text(row, "at"), *rule = page_text(row, "rule");

	(void)fputs("<div class=\"refusal\">", f);
	put_counts(f, row);
	(void)fputs("<h3><code>", f);
	html_text(f, page_text(row, "host"));
	(void)fprintf(f, ":%llu</code></h3>\n<p>",
	    (unsigned long long)page_number(row, "port"));
	html_text(f, page_text(row, "says"));
	(void)fputs(" <span class=\"chip\">", f);
	html_text(f, page_text(row, "reason"));
	(void)fputs("</span>", f);
	if (*at != '\0' && strcmp(at, "-") != 0) {
		(void)fputs(" <span class=\"meta\">decided at <code>", f);
		html_text(f, at);
		(void)fputs("</code>", f);
		if (strcmp(rule, "-") != 0 && *rule != '\0') {
			(void)fputs(", rule <code>", f);
			html_text(f, rule);
			(void)fputs("</code>", f);
		}
		(void)fputs("</span>", f);
	}
	(void)fputs("</p>\n", f);
	if (*page_text(row, "detail") != '\0') {
		(void)fputs("<p class=\"meta\">", f);
		html_text(f, page_text(row, "detail"));
		(void)fputs("</p>\n", f);
	}
	put_asked(f, row);
	put_remedy(f, row);
	(void)fputs("</div>\n", f);
}

static void
put_refused(FILE *f, const json_t *r)
{
	const json_t *rows = json_object_get(r, "refused"), *row;
	size_t i;

	(void)fputs("<section id=\"refused\"><h2>What was refused, and "
		    "why</h2>\n",
	    f);
	if (json_array_size(rows) == 0)
		(void)fputs("<p>No request and no connection was "
			    "refused.</p>\n",
		    f);
	json_array_foreach(rows, i, row) put_refusal(f, row);
	put_left_out(f, r, "refused");
	(void)fputs("</section>\n", f);
}

/* Said only of a sandbox that learned. */
static void
put_learned(FILE *f, const json_t *r)
{
	const json_t *rows = json_object_get(r, "learned"), *row;
	size_t i;

	if (json_array_size(rows) == 0)
		return;
	(void)fputs("<section id=\"learned\"><h2>What was let through by the "
		    "ceiling alone</h2>\n<p>The sandbox learned: no rule of "
		    "its policy lets this through, and the host's ceiling "
		    "does. No credential went along.</p>\n",
	    f);
	json_array_foreach(rows, i, row) put_refusal(f, row);
	put_left_out(f, r, "learned");
	(void)fputs("</section>\n", f);
}

/* --- tables ----------------------------------------------------------------
 */

static const struct page_column hosts[] = {
	{ "host", "host", PAGE_PLACE },
	{ "requests", "allowed", PAGE_COUNT },
	{ "refused", "refused", PAGE_REFUSED },
	{ "in", "down", PAGE_BYTES },
	{ "out", "up", PAGE_BYTES },
	{ "2xx", "2xx", PAGE_COUNT },
	{ "3xx", "3xx", PAGE_COUNT },
	{ "4xx", "4xx", PAGE_COUNT },
	{ "5xx", "5xx", PAGE_COUNT },
	{ "tunnels", "tunnels", PAGE_COUNT },
	{ "rules", "rules", PAGE_TEXT },
	{ "credentials", "credentials", PAGE_TEXT },
};
static const struct page_column rules[] = {
	{ "rule", "rule", PAGE_NAME },
	{ "at", "at", PAGE_CODE },
	{ "requests", "allowed", PAGE_COUNT },
	{ "refused", "refused", PAGE_REFUSED },
	{ "in", "down", PAGE_BYTES },
	{ "out", "up", PAGE_BYTES },
	{ "hosts", "hosts", PAGE_TEXT },
};
static const struct page_column credentials[] = {
	{ "credential", "credential", PAGE_NAME },
	{ "requests", "requests", PAGE_COUNT },
	{ "leases", "leases", PAGE_COUNT },
	{ "withheld", "withheld", PAGE_REFUSED },
	{ "answers that repeated it", "leaks", PAGE_REFUSED },
	{ "hosts", "hosts", PAGE_TEXT },
};
static const struct page_column values[] = {
	{ "time", "time", PAGE_WHEN },
	{ "what", "what", PAGE_TEXT },
	{ "fingerprint", "fingerprint", PAGE_CODE },
	{ "scope", "scope", PAGE_CODE },
};
static const struct page_column names[] = {
	{ "name", "host", PAGE_NAME },
	{ "questions", "questions", PAGE_REFUSED },
	{ "types", "types", PAGE_TEXT },
	{ "why", "says", PAGE_TEXT },
};
static const struct page_column packets[] = {
	{ "reason", "reason", PAGE_NAME },
	{ "packets", "packets", PAGE_REFUSED },
	{ "to, among others", "to", PAGE_CODE },
	{ "why", "says", PAGE_TEXT },
};
static const struct page_column asks[] = {
	{ "asked", "time", PAGE_WHEN },
	{ "method", "method", PAGE_CODE },
	{ "host", "host", PAGE_NAME },
	{ "path", "path", PAGE_CODE },
	{ "rule", "rule", PAGE_TEXT },
	{ "answer", "answer", PAGE_TEXT },
	{ "answered", "answered", PAGE_WHEN },
};
static const struct page_column commands[] = {
	{ "ended", "time", PAGE_WHEN },
	{ "what", "kind", PAGE_TEXT },
	{ "command or path", "command", PAGE_CODE },
	{ "took", "ms", PAGE_SPAN },
	{ "how it ended", "detail", PAGE_TEXT },
};
static const struct page_column life[] = {
	{ "time", "time", PAGE_WHEN },
	{ "what", "what", PAGE_TEXT },
	{ "reason", "reason", PAGE_TEXT },
};

#define COLUMNS(array) array, sizeof(array) / sizeof((array)[0])

struct section {
	const char *key, *title, *note;
	const struct page_column *columns;
	size_t count;
};

static const struct section reached = { "hosts", "By host",
	"Hosts are in order of bytes; the bar shows in and out against the "
	"first. Statuses are those of requests that were let through.",
	COLUMNS(hosts) };
static const struct section sections[] = {
	{ "rules", "By rule", "Which rule of the policy decided, and for what.",
	    COLUMNS(rules) },
	{ "asks", "Held until somebody answered",
	    "Requests that an ask rule matched, and what became of them.",
	    COLUMNS(asks) },
	{ "names", "Names that were asked for, and nothing more",
	    "Questions of DNS that no rule covers and that no connection "
	    "followed. Nothing was looked up for them.",
	    COLUMNS(names) },
	{ "packets", "Packets that were dropped or refused",
	    "By the rules of the sandbox's network, before any proxy.",
	    COLUMNS(packets) },
	{ "commands", "What was run", "Commands and copies in the guest.",
	    COLUMNS(commands) },
	{ "life", "Life of the sandbox", "", COLUMNS(life) },
};

static void
put_section(FILE *f, const json_t *r, const struct section *s)
{
	const json_t *rows = json_object_get(r, s->key);

	if (json_array_size(rows) == 0)
		return;
	(void)fprintf(f, "<section id=\"%s\"><h2>%s</h2>\n", s->key, s->title);
	if (*s->note != '\0')
		(void)fprintf(f, "<p class=\"note\">%s</p>\n", s->note);
	page_table_write(f, rows, s->columns, s->count);
	put_left_out(f, r, s->key);
	(void)fputs("</section>\n", f);
}

static void
put_unused(FILE *f, const json_t *r)
{
	const json_t *unused = json_object_get(r, "unused_rules"), *one;
	size_t i;

	if (json_array_size(unused) == 0)
		return;
	(void)fputs("<p>Rules of the policy that decided nothing in this run: ",
	    f);
	json_array_foreach(unused, i, one)
	{
		(void)fputs(i == 0 ? "<code>" : ", <code>", f);
		html_text(f, json_string_value(one));
		(void)fputs("</code>", f);
	}
	(void)fputs(".</p>\n", f);
}

static void
put_credentials(FILE *f, const json_t *r)
{
	const json_t *rows = json_object_get(r, "credentials"), *row;
	size_t i;

	if (json_array_size(rows) == 0)
		return;
	(void)fputs("<section id=\"credentials\"><h2>Credentials</h2>\n<p "
		    "class=\"note\">By name; no value is in the log. Minted "
		    "values are told apart by a fingerprint whose key is "
		    "forgotten with the broker; a fixed value has none.</p>\n",
	    f);
	page_table_write(f, rows, COLUMNS(credentials));
	json_array_foreach(rows, i, row)
	{
		const json_t *all = json_object_get(row, "values");

		if (json_array_size(all) == 0)
			continue;
		(void)fputs("<h3>Values of <code>", f);
		html_text(f, page_text(row, "credential"));
		(void)fputs("</code></h3>\n", f);
		page_table_write(f, all, COLUMNS(values));
	}
	put_left_out(f, r, "credentials");
	(void)fputs("</section>\n", f);
}

static void
put_policy(FILE *f, const json_t *row)
{
	const json_t *text = json_object_get(row, "text");

	(void)fputs("<h3>", f);
	if (text != NULL) {
		(void)fputs("<code>", f);
		html_text(f, page_text(row, "file"));
		(void)fputs("</code>, ", f);
	}
	(void)fputs("SHA-256 <code>", f);
	html_text(f, page_text(row, "digest"));
	(void)fputs("</code></h3>\n<p class=\"note\">", f);
	page_plural(f, page_number(row, "records"), "record", "records");
	(void)fputs(" were made under it. ", f);
	if (text == NULL)
		(void)fputs("The log holds its digest alone; name the file "
			    "with <code>--policy</code> to have its text "
			    "here.",
		    f);
	(void)fputs("</p>\n", f);
	if (text == NULL)
		return;
	(void)fputs("<pre class=\"policy\">", f);
	html_lines(f, json_string_value(text), json_string_length(text));
	(void)fputs("</pre>\n", f);
}

static void
put_policies(FILE *f, const json_t *r)
{
	const json_t *row;
	size_t i;

	(void)fputs("<section id=\"policy\"><h2>Policy</h2>\n", f);
	json_array_foreach(json_object_get(r, "policies"), i, row)
	    put_policy(f, row);
	(void)fputs("</section>\n", f);
}

void
page_sections_write(FILE *f, const json_t *r)
{
	put_refused(f, r);
	put_learned(f, r);
	put_section(f, r, &reached);
	put_credentials(f, r);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		put_section(f, r, &sections[i]);
		if (i == 0)
			put_unused(f, r);
	}
	put_policies(f, r);
}
