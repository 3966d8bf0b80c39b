/*
 * test: do policies answer as their [expect] sections say?
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/loaded.h"
#include "conf/expect.h"

#define INI ".ini"
#define EXPECT_INI ".expect.ini"

struct test {
	const struct loaded *ceiling; /* NULL: none */
	struct expect_output out;
	struct wr lines;
	struct wr json_text;
	struct json json;
	struct expect_report all;
};

static bool
ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* path without its last cut bytes, and end, into buf. 0, or -1: too long. */
static int
with_end(const char *path, size_t cut, const char *end, char *buf, size_t size)
{
	size_t len = strlen(path) - cut, more = strlen(end);

	if (len + more >= size)
		return -1;
	memcpy(buf, path, len);
	memcpy(buf + len, end, more);
	buf[len + more] = '\0';
	return 0;
}

/* The policy that the expectations at path are about, or path itself. */
static int
policy_path(const char *path, char *buf, size_t size)
{
	return ends_with(path, EXPECT_INI)
	    ? with_end(path, strlen(EXPECT_INI), INI, buf, size)
	    : with_end(path, 0, "", buf, size);
}

/* The file of expectations beside a policy; -1 when it cannot have one. */
static int
beside(const char *path, char *buf, size_t size)
{
	return ends_with(path, INI)
	    ? with_end(path, strlen(INI), EXPECT_INI, buf, size)
	    : -1;
}

static int
run_beside(struct test *t, const struct policy_pair *pair, const char *path)
{
	struct policy_file file;
	struct err err = { "" };
	char name[sizeof(file.path)];
	int rc;

	if (beside(path, name, sizeof(name)) != 0 || access(name, F_OK) != 0)
		return 0;
	if (policy_file_read(name, POLICY_TEXT_MAX_BYTES, &file, &err) != 0)
		return cli_fail(&err, CLI_USAGE);
	rc = expect_run(policy_file_name(&file),
	    (struct span){ (const uint8_t *)file.text, file.len }, pair,
	    &t->out, &t->all, &err);
	policy_file_done(&file);
	return rc == 0 ? 0 : cli_fail(&err, CLI_USAGE);
}

/* path NULL: the nearest tapward.ini. */
static int
test_file(struct test *t, const char *path)
{
	char name[4096];
	struct loaded *l = NULL;
	struct err err = { "" };
	size_t before = t->all.asked;
	int rc = CLI_USAGE;

	if (path == NULL || policy_path(path, name, sizeof(name)) == 0)
		l = loaded_read(path == NULL ? NULL : name, false);
	if (l != NULL) {
		struct policy_pair pair = { l->policy,
			t->ceiling != NULL ? t->ceiling->policy : NULL };

		rc = expect_run(l->input.display_name, l->input.text, &pair,
		    &t->out, &t->all, &err);
		rc = rc == 0 ? run_beside(t, &pair, l->file.path)
			     : cli_fail(&err, CLI_USAGE);
		if (rc == 0 && t->all.asked == before) {
			(void)fprintf(stderr,
			    "tapward: %s: there is no [expect NAME] in it, nor "
			    "in a file NAME%s beside it\n",
			    l->file.path, EXPECT_INI);
			rc = CLI_USAGE;
		}
	}
	loaded_free(l);
	return rc;
}

static int
print_result(struct test *t)
{
	bool is_whole =
	    t->out.json != NULL ? wr_ok(&t->json_text) : wr_ok(&t->lines);

	if (t->out.json != NULL) {
		json_close_array(&t->json);
		json_u64(&t->json, "asked", t->all.asked);
		json_u64(&t->json, "failed", t->all.failed);
		json_close_object(&t->json);
		(void)printf("%.*s\n", (int)t->json_text.len,
		    (const char *)t->json_text.buf);
	} else {
		(void)printf("%.*s%zu expectations, %zu failed\n",
		    (int)t->lines.len, (const char *)t->lines.buf, t->all.asked,
		    t->all.failed);
	}
	if (!is_whole)
		(void)fprintf(stderr,
		    "tapward: more was to be said than is "
		    "shown: test fewer files at once\n");
	return t->all.failed > 0 || !is_whole ? CLI_FAILED : 0;
}

static int
test_files(struct test *t, bool is_json, char *const *files, int count)
{
	AUTO_FREE char *text = malloc(EXPECT_TEXT_MAX_BYTES);
	int worst = 0;

	if (text == NULL)
		return CLI_FAILED;
	t->lines = wr_init(text, EXPECT_TEXT_MAX_BYTES);
	t->json_text = t->lines;
	t->json = json_init(&t->json_text);
	t->out = (struct expect_output){ is_json ? NULL : &t->lines,
		is_json ? &t->json : NULL };
	if (is_json) {
		json_open_object(&t->json, NULL);
		json_open_array(&t->json, "expectations");
	}
	for (int i = 0; i < count || i == 0; i++) {
		int rc = test_file(t, count == 0 ? NULL : files[i]);

		worst = rc > worst ? rc : worst;
	}
	return worst != 0 ? worst : print_result(t);
}

int
cmd_test(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "ceiling", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct test t = { .ceiling = NULL };
	struct loaded *ceiling = NULL;
	const char *path = NULL;
	bool is_json = false;
	int opt, rc;

	(void)cli;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'c')
			path = optarg;
		else if (opt == 'j')
			is_json = true;
		else
			return cli_usage("test", "see tapward(1)");
	}
	if (path != NULL && (ceiling = loaded_read(path, true)) == NULL)
		return CLI_USAGE;
	t.ceiling = ceiling;
	rc = test_files(&t, is_json, argv + optind, argc - optind);
	loaded_free(ceiling);
	return rc;
}
