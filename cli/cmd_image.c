/*
 * image build, list, rm: what guests are started from. All of it is the
 * caller's own; the daemon has no part in it.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "vmm/vm_image_build.h"

static int
build(int argc, char **argv)
{
	static const struct option options[] = {
		{ "from", required_argument, NULL, 'f' },
		{ "kernel", required_argument, NULL, 'k' },
		{ "tag", required_argument, NULL, 't' },
		{ NULL, 0, NULL, 0 },
	};
	struct vm_image_recipe r = {
		.source = "host",
		.kernel = "installed",
		.tag = "default",
	};
	char digest[DIGEST_TEXT_SIZE];
	struct err err = { "" };
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'f')
			r.source = optarg;
		else if (opt == 'k')
			r.kernel = optarg;
		else if (opt == 't')
			r.tag = optarg;
		else
			return cli_usage("image", "see tapward(1)");
	}
	if (!vm_image_tag_is_valid(r.tag))
		return cli_usage("image",
		    "--tag takes a name: letters, digits,"
		    " '.', '_' and '-'");
	r.packages = (const char *const *)argv + optind;
	if (vm_image_build(&r, digest, &err) != 0)
		return cli_fail(&err, CLI_FAILED);
	(void)printf("%s %s\n", r.tag, digest);
	return 0;
}

/* "81 MiB" */
static long long
size_mib(const json_t *manifest)
{
	json_int_t sum = 0;

	for (unsigned int f = 0; f < VM_IMAGE_FILES; f++) {
		const json_t *file = json_object_get(manifest,
		    vm_image_file_key((enum vm_image_file)f));

		sum += json_integer_value(json_object_get(file, "size"));
	}
	return (long long)(sum >> 20);
}

static void
print_one(const char *digest, const char *tags, const json_t *manifest,
    void *arg)
{
	(void)arg;
	(void)printf("%-24s %.12s %6lld MiB  %-24s %s\n",
	    *tags == '\0' ? "-" : tags, digest, size_mib(manifest),
	    output_member(manifest, "created"),
	    manifest == NULL ? "damaged: build it anew"
			     : output_member(manifest, "source"));
}

static void
gather_one(const char *digest, const char *tags, const json_t *manifest,
    void *arg)
{
	json_t *one = json_pack("{s:s, s:s}", "digest", digest, "tags", tags);

	if (manifest != NULL)
		(void)json_object_set_new(one, "manifest",
		    json_deep_copy(manifest));
	(void)json_array_append_new(arg, one);
}

static int
list(int argc, char **argv)
{
	bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
	json_t *all = json_array();
	struct err err = { "" };
	int rc = 0;

	if (argc > 1 && !json)
		rc = cli_usage("image", "list takes --json or nothing");
	else if (json)
		rc = vm_image_list(gather_one, all, &err);
	else
		rc = vm_image_list(print_one, NULL, &err);
	if (rc < 0)
		rc = cli_fail(&err, CLI_FAILED);
	else if (rc == 0 && json)
		output_json(all);
	json_decref(all);
	return rc;
}

static int
rm(int argc, char **argv)
{
	struct err err = { "" };

	if (argc < 2)
		return cli_usage("image", "name the images to remove");
	for (int i = 1; i < argc; i++)
		if (vm_image_remove(argv[i], &err) != 0)
			return cli_fail(&err, CLI_FAILED);
	return 0;
}

int
cmd_image(const struct cli *cli, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} verbs[] = {
		{ "build", build },
		{ "list", list },
		{ "rm", rm },
	};

	(void)cli;
	for (size_t i = 0; argc > 1 && i < sizeof(verbs) / sizeof(verbs[0]);
	     i++)
		if (strcmp(argv[1], verbs[i].name) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	return cli_usage("image", "build, list or rm");
}
