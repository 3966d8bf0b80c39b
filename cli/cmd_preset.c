/*
 * preset: what is shipped, for people who choose one and for programs.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "conf/describe.h"
#include "conf/presets.h"

static void
write_about(struct json *j, const struct preset *p)
{
	struct preset_about about = presets_about(p);

	json_str(j, "name", p->name);
	json_bytes(j, "group", about.group, about.group.len);
	json_bytes(j, "title", about.title, about.title.len);
}

static int
list_json(char *text, size_t size)
{
	struct wr w = wr_init(text, size);
	struct json j = json_init(&w);

	json_open_array(&j, NULL);
	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		json_open_object(&j, NULL);
		write_about(&j, p);
		json_close_object(&j);
	}
	json_close_array(&j);
	if (!wr_ok(&w))
		return CLI_FAILED;
	(void)printf("%.*s\n", (int)w.len, text);
	return 0;
}

/* Is p the first of its group? The groups are few, and the table is short. */
static bool
opens_group(const struct preset *p)
{
	struct span group = presets_about(p).group;

	for (const struct preset *q = presets_all; q != p; q++) {
		if (span_eq(presets_about(q).group, group))
			return false;
	}
	return true;
}

static void
list_group(struct span group)
{
	(void)printf("%.*s\n", (int)group.len, (const char *)group.ptr);
	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		struct preset_about about = presets_about(p);

		if (span_eq(about.group, group))
			(void)printf("  %-24s %.*s\n", p->name,
			    (int)about.title.len,
			    (const char *)about.title.ptr);
	}
}

static int
list(bool is_json)
{
	AUTO_FREE char *text = malloc(DESCRIBE_TEXT_MAX_BYTES);

	if (text == NULL)
		return CLI_FAILED;
	if (is_json)
		return list_json(text, DESCRIBE_TEXT_MAX_BYTES);
	for (const struct preset *p = presets_all; p->name != NULL; p++) {
		if (opens_group(p))
			list_group(presets_about(p).group);
	}
	(void)puts("");
	(void)puts(
	    "In a policy: `preset = NAME` below [policy]; `tapward preset "
	    "show NAME` prints one.");
	return 0;
}

static int
show_json(const struct preset *p)
{
	AUTO_FREE char *text = malloc(DESCRIBE_TEXT_MAX_BYTES);
	struct compile_input in = { .display_name = p->name,
		.text = { p->text, p->len } };
	struct wr w = wr_init(text, DESCRIBE_TEXT_MAX_BYTES);
	struct json j = json_init(&w);

	if (text == NULL)
		return CLI_FAILED;
	json_open_object(&j, NULL);
	write_about(&j, p);
	if (describe_policy(&in, &j) != 0)
		return CLI_FAILED;
	json_bytes(&j, "text", in.text, in.text.len);
	json_close_object(&j);
	if (!wr_ok(&w))
		return CLI_FAILED;
	(void)printf("%.*s\n", (int)w.len, text);
	return 0;
}

static int
show(const char *name, bool is_json)
{
	const struct preset *p = presets_get(name);

	if (p == NULL) {
		(void)fprintf(stderr,
		    "tapward: there is no preset %s: `tapward preset list` "
		    "names them\n",
		    name);
		return CLI_FAILED;
	}
	if (is_json)
		return show_json(p);
	return fwrite(p->text, 1, p->len, stdout) == p->len ? 0 : CLI_FAILED;
}

int
cmd_preset(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	bool is_json = false;
	int opt;

	(void)cli;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return cli_usage("preset", "see tapward(1)");
		is_json = true;
	}
	argc -= optind;
	argv += optind;
	if (argc == 1 && strcmp(argv[0], "list") == 0)
		return list(is_json);
	if (argc == 2 && strcmp(argv[0], "show") == 0)
		return show(argv[1], is_json);
	return cli_usage("preset", "`list`, or `show` and one name");
}
