/*
 * See page.h. The order is a reader's: what it did, whether that can be
 * believed, what was refused, what it reached, and then what that was made of.
 */
#include "cli/page.h"

#include <stdbool.h>
#include <string.h>

#include "cli/html.h"
#include "cli/page_plot.h"
#include "cli/page_private.h"
#include "cli/page_style.h"

static void
put_when(FILE *f, const char *time)
{
	/* "2026-01-31T23:59:59.123Z" */
	if (strlen(time) == 24)
		(void)fprintf(f, "%.10s %.8s UTC", time, time + 11);
}

static void
put_title(FILE *f, const json_t *r)
{
	(void)fputs("<p class=\"brand\">tapward report</p>\n<h1>", f);
	html_text(f, page_text(r, "sandbox"));
	(void)fputs("</h1>\n<p class=\"meta\">", f);
	put_when(f, page_text(r, "from"));
	(void)fputs(" to ", f);
	put_when(f, page_text(r, "to"));
	(void)fputs(" &#183; ", f);
	html_span(f, page_number(r, "duration_ms"));
	(void)fprintf(f, " &#183; generation %llu &#183; %s</p>\n",
	    (unsigned long long)page_number(r, "generation"),
	    json_is_true(json_object_get(r, "has_ended"))
		? "it has ended"
		: "its end is not in the log");
}

void
page_plural(FILE *f, uint64_t n, const char *one, const char *many)
{
	html_count(f, n);
	(void)fprintf(f, " %s", n == 1 ? one : many);
}

static void
put_lede(FILE *f, const json_t *r)
{
	const json_t *t = json_object_get(r, "totals");
	uint64_t refused = page_number(t, "refused");

	(void)fputs("<p class=\"lede\">The guest made ", f);
	page_plural(f, page_number(t, "requests"), "request", "requests");
	(void)fputs(" and reached ", f);
	page_plural(f, page_number(t, "hosts"), "host", "hosts");
	(void)fputs(". ", f);
	if (refused + page_number(t, "refused_connections") == 0) {
		(void)fputs("Nothing was refused. ", f);
	} else {
		(void)fputs("<b>", f);
		page_plural(f, refused, "request", "requests");
		if (page_number(t, "refused_connections") > 0) {
			(void)fputs(" and ", f);
			page_plural(f, page_number(t, "refused_connections"),
			    "connection", "connections");
		}
		(void)fputs(" were refused.</b> ", f);
	}
	if (page_number(t, "learned") > 0) {
		(void)fputs("<b>", f);
		page_plural(f, page_number(t, "learned"), "was", "were");
		(void)fputs(" let through by the ceiling alone.</b> ", f);
	}
	html_bytes(f, page_number(t, "down"));
	(void)fputs(" came in, ", f);
	html_bytes(f, page_number(t, "up"));
	(void)fputs(" went out.</p>\n", f);
}

/* --- whether it can be believed --------------------------------------------
 */

static void
put_broken(FILE *f, const json_t *log)
{
	(void)fprintf(f,
	    "<div class=\"bar-note bad\"><b>The audit log is not "
	    "whole.</b> Line %llu: ",
	    (unsigned long long)page_number(log, "fault_line"));
	html_text(f, page_text(log, "fault"));
	(void)fputs(". What this page says rests on a log that was changed, "
		    "cut or damaged.</div>\n",
	    f);
}

static void
put_chain(FILE *f, const json_t *log)
{
	const char *chain = page_text(log, "chain");

	if (strcmp(chain, "broken") == 0) {
		put_broken(f, log);
		return;
	}
	if (strcmp(chain, "whole") != 0) {
		(void)fputs("<div class=\"bar-note doubt\"><b>The chain of the "
			    "audit log was not checked:</b> only root reads "
			    "the records of all sandboxes. <code>tapward log "
			    "--verify</code> checks it.</div>\n",
		    f);
		return;
	}
	(void)fputs("<div class=\"bar-note\">The chain of the audit log is "
		    "unbroken over ",
	    f);
	page_plural(f, page_number(log, "records"), "record", "records");
	if (page_number(log, "first_seq") > 1)
		(void)fprintf(f, ", from number %llu on",
		    (unsigned long long)page_number(log, "first_seq"));
	(void)fputs(". Its head is <code>", f);
	html_text(f, page_text(log, "head"));
	(void)fputs("</code>.</div>\n", f);
}

static void
put_losses(FILE *f, const json_t *r)
{
	const json_t *losses = json_object_get(r, "losses"), *one;
	size_t i;

	if (json_array_size(losses) == 0)
		return;
	(void)fputs("<div class=\"bar-note bad\"><b>Records are missing</b>, "
		    "and the log says so: what is counted here is the "
		    "least.<ul>",
	    f);
	json_array_foreach(losses, i, one)
	{
		(void)fputs("<li>", f);
		put_when(f, page_text(one, "time"));
		(void)fputs(": ", f);
		html_text(f, page_text(one, "what"));
		(void)fputs("</li>", f);
	}
	(void)fputs("</ul></div>\n", f);
}

static void
put_trust(FILE *f, const json_t *r)
{
	put_chain(f, json_object_get(r, "log"));
	put_losses(f, r);
	if (!json_is_true(json_object_get(r, "has_begin")))
		(void)fputs("<div class=\"bar-note doubt\"><b>The begin is "
			    "missing:</b> the record of this sandbox's "
			    "creation is not in this log. Older records may "
			    "be in a file that was rotated away; name such "
			    "files with <code>--file</code>.</div>\n",
		    f);
	if (page_number(r, "other_generations") == 0)
		return;
	(void)fputs("<p class=\"note\">The log knows ", f);
	page_plural(f, page_number(r, "other_generations"), "other sandbox",
	    "other sandboxes");
	(void)fputs(" of this name; they are not in here "
		    "(<code>--generation</code>).</p>\n",
	    f);
}

/* --- figures ---------------------------------------------------------------
 */

static void
put_tile(FILE *f, const char *what, uint64_t n, bool is_bytes, bool is_bad)
{
	(void)fprintf(f, "<div class=\"tile%s\"><dt>%s</dt><dd>",
	    is_bad && n > 0 ? " no" : "", what);
	if (is_bytes)
		html_bytes(f, n);
	else
		html_count(f, n);
	(void)fputs("</dd></div>\n", f);
}

static void
put_tiles(FILE *f, const json_t *r)
{
	const json_t *t = json_object_get(r, "totals");

	(void)fputs("<dl class=\"tiles\">\n", f);
	put_tile(f, "requests allowed", page_number(t, "allowed"), false,
	    false);
	put_tile(f, "requests refused", page_number(t, "refused"), false, true);
	put_tile(f, "hosts reached", page_number(t, "hosts"), false, false);
	put_tile(f, "bytes in", page_number(t, "down"), true, false);
	put_tile(f, "bytes out", page_number(t, "up"), true, false);
	put_tile(f, "credentials",
	    json_array_size(json_object_get(r, "credentials")), false, false);
	(void)fputs("</dl>\n", f);
}

static void
put_plots(FILE *f, const json_t *r)
{
	static const struct page_plot plots[] = {
		{ "Requests over time", { 0, 1 }, { "allowed", "refused" },
		    { "let through", "refused" }, false, html_count, "" },
		{ "Bytes over time", { 3, 2 }, { "down", "up" },
		    { "in", "out" }, true, html_bytes, "" },
	};

	page_plot_hatch(f);
	for (size_t i = 0; i < sizeof(plots) / sizeof(plots[0]); i++)
		page_plot_write(f, json_object_get(r, "timeline"), &plots[i]);
	(void)fputs("<p class=\"note\">Times are from the begin. A request "
		    "counts, with its bytes, when it ended.</p>\n",
	    f);
}

/* --- the page --------------------------------------------------------------
 */

static void
put_foot(FILE *f, const json_t *r)
{
	(void)fputs("<footer><p>Made of ", f);
	page_plural(f, page_number(r, "records"), "record", "records");
	(void)fputs(" of the audit log. What a guest chose (names, paths) is "
		    "shown as text; bytes that are no printable ASCII are "
		    "written <code>\\xNN</code>. This page holds no script and "
		    "loads nothing.</p></footer>\n",
	    f);
}

int
page_write(FILE *f, const json_t *r)
{
	int rc;

	(void)fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
		    "charset=\"utf-8\">\n",
	    f);
	rc = page_style_write(f);
	if (rc != 0)
		return rc;
	(void)fputs("<meta name=\"viewport\" content=\"width=device-width, "
		    "initial-scale=1\">\n<meta name=\"referrer\" "
		    "content=\"no-referrer\">\n<title>tapward report: ",
	    f);
	html_text(f, page_text(r, "sandbox"));
	(void)fputs("</title>\n</head>\n<body>\n", f);
	put_title(f, r);
	put_lede(f, r);
	put_trust(f, r);
	put_tiles(f, r);
	put_plots(f, r);
	page_sections_write(f, r);
	put_foot(f, r);
	(void)fputs("</body>\n</html>\n", f);
	return 0;
}
