/*
 * learn: from what a sandbox asked for to a policy that lets it through.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/names.h"
#include "base/reason.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "conf/learn.h"

struct learning {
	struct learn *learn;
	uint64_t by_ceiling; /* requests that no policy lets through */
	uint64_t others;     /* that a rule of another kind would have to */
};

/* What a rule that names more mends; the rest is refused for what it is. */
static bool
is_mendable(const char *code)
{
	static const enum reason all[] = { REASON_NO_RULE, REASON_PORT,
		REASON_METHOD, REASON_PATH, REASON_QUERY };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(code, reason_code(all[i])) == 0)
			return true;
	return false;
}

static const char *
text_of(const json_t *record, const char *key)
{
	const char *text = json_string_value(json_object_get(record, key));

	return text == NULL ? "" : text;
}

static int
take_record(struct learning *l, const json_t *record)
{
	static const char ceiling[] = "ceiling-";
	const char *reason = text_of(record, "reason");
	const char *path = text_of(record, "path");
	json_int_t port = json_integer_value(json_object_get(record, "port"));

	if (strcmp(text_of(record, "event"), "request") != 0)
		return 0;
	if (strncmp(reason, ceiling, sizeof(ceiling) - 1) == 0) {
		l->by_ceiling++;
		return 0;
	}
	/* A byte that the log had to escape is no byte of a path. */
	if (strcmp(text_of(record, "verdict"), "allow") != 0 &&
	    (!is_mendable(reason) || strchr(path, '\\') != NULL)) {
		l->others++;
		return 0;
	}
	if (port <= 0 || port > UINT16_MAX)
		return 0;
	return learn_add(l->learn, text_of(record, "host"), (uint16_t)port,
	    text_of(record, "method"), path);
}

static int
on_line(char *line, size_t len, void *arg)
{
	json_t *record = json_loadb(line, len, 0, NULL);
	int rc = record == NULL ? 0 : take_record(arg, record);

	json_decref(record);
	if (rc == -E2BIG)
		(void)fprintf(stderr,
		    "tapward: more than %d different requests: learn from a "
		    "shorter run\n",
		    LEARN_REQUESTS_MAX);
	else if (rc != 0)
		(void)fprintf(stderr, "tapward: %s\n", strerror(-rc));
	return rc == 0 ? 0 : CLI_FAILED;
}

static int
print_policy(const struct learning *l)
{
	AUTO_FREE char *text = malloc(LEARN_TEXT_MAX_BYTES);
	struct wr w = wr_init(text, text == NULL ? 0 : LEARN_TEXT_MAX_BYTES);
	int rc = text == NULL ? -ENOMEM : learn_write(l->learn, &w);

	if (rc != 0) {
		(void)fprintf(stderr, "tapward: the policy: %s\n",
		    strerror(-rc));
		return CLI_FAILED;
	}
	(void)fwrite(text, 1, w.len, stdout);
	if (l->by_ceiling > 0)
		(void)printf("\n; %llu requests are not in here: the host's "
			     "ceiling refuses them\n",
		    (unsigned long long)l->by_ceiling);
	if (l->others > 0)
		(void)printf("\n; %llu requests are not in here: a policy "
			     "cannot allow what they were refused for\n",
		    (unsigned long long)l->others);
	return fflush(stdout) == 0 ? 0 : CLI_FAILED;
}

int
cmd_learn(const struct cli *cli, int argc, char **argv)
{
	struct learning l = { .learn = learn_new() };
	const char *name = cli_only_name("learn", argc, argv, 1);
	int rc = CLI_USAGE;

	if (name != NULL && l.learn != NULL) {
		char path[SANDBOX_NAME_SIZE + 32];

		(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s/log",
		    name);
		rc = call_stream(cli, path, false, on_line, &l);
		if (rc == 0)
			rc = print_policy(&l);
	}
	learn_free(l.learn);
	return rc;
}
