/*
 * diff: what a change of a policy opens and closes, for people and for CI.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/loaded.h"
#include "conf/change.h"

static void
print_lines(const struct wr *w, const struct change_report *r)
{
	(void)printf("%.*s", (int)w->len, (const char *)w->buf);
	if (!wr_ok(w))
		(void)puts("... more than is shown");
	if (r->is_cut)
		(void)puts("too many rules to compare all: taken for wider");
	else if (r->opens + r->closes == 0)
		(void)puts("lets through what it did");
	else
		(void)printf("%s: %zu opened, %zu closed\n",
		    change_widens(r) ? "wider" : "not wider", r->opens,
		    r->closes);
}

static int
diff(const struct loaded *old, const struct loaded *new, bool is_json)
{
	AUTO_FREE char *text = malloc(CHANGE_TEXT_MAX_BYTES);
	struct wr w = wr_init(text, CHANGE_TEXT_MAX_BYTES);
	struct json j = json_init(&w);
	struct change_report r;

	if (text == NULL)
		return CLI_USAGE;
	if (is_json) {
		json_open_object(&j, NULL);
		json_open_array(&j, "changes");
	}
	if (change_write(&old->input, &new->input, is_json ? NULL : &w,
		is_json ? &j : NULL, &r) != 0)
		return CLI_USAGE;
	if (is_json) {
		json_close_array(&j);
		json_u64(&j, "opens", r.opens);
		json_u64(&j, "closes", r.closes);
		json_bool(&j, "widens", change_widens(&r));
		json_close_object(&j);
		if (!wr_ok(&w))
			return CLI_USAGE;
		(void)printf("%.*s\n", (int)w.len, text);
	} else {
		print_lines(&w, &r);
	}
	return change_widens(&r) ? CLI_FAILED : 0;
}

/* 1 would mean "wider": what cannot be compared is CLI_USAGE. */
int
cmd_diff(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "ceiling", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	bool is_ceiling = false, is_json = false;
	struct loaded *old, *new = NULL;
	int opt, rc = CLI_USAGE;

	(void)cli;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'c')
			is_ceiling = true;
		else if (opt == 'j')
			is_json = true;
		else
			return cli_usage("diff", "see tapward(1)");
	}
	if (argc - optind != 2)
		return cli_usage("diff", "name the old policy and the new one");
	old = loaded_read(argv[optind], is_ceiling);
	if (old != NULL)
		new = loaded_read(argv[optind + 1], is_ceiling);
	if (new != NULL)
		rc = diff(old, new, is_json);
	loaded_free(new);
	loaded_free(old);
	return rc;
}
