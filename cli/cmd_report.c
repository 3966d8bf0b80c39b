/*
 * report: what a sandbox did, as a page for whoever reviews it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/new_file.h"
#include "cli/page.h"
#include "cli/report.h"
#include "cli/report_log.h"
#include "cli/report_policy.h"

/* Of each of the options that repeat. */
#define FILES_MAX 16

struct files {
	char *paths[FILES_MAX];
	size_t count;
};

struct report_options {
	const char *name;
	const char *output; /* "-" is standard output */
	bool force;
	bool json;
	struct files policies;
	struct files logs;
	uint64_t generation; /* 0: the last */
};

/* --- out -------------------------------------------------------------------
 */

static int
write_report(FILE *f, const struct report_options *o, const json_t *report)
{
	int rc = 0;

	if (!o->json)
		rc = page_write(f, report);
	else if (json_dumpf(report, f, JSON_INDENT(2) | JSON_ENSURE_ASCII) != 0)
		rc = -EIO;
	else
		(void)fputc('\n', f);
	return rc != 0 || fflush(f) != 0 || ferror(f) != 0 ? -EIO : 0;
}

static int
write_to_file(const struct report_options *o, const json_t *report,
    struct err *err)
{
	struct new_file file;
	FILE *f;
	int rc = o->force ? new_file_replace(o->output, &file, err)
			  : new_file_open(o->output, &file, err);

	if (rc != 0)
		return rc;
	f = fdopen(dup(file.fd), "w");
	rc = f == NULL ? -errno : write_report(f, o, report);
	if (f != NULL && fclose(f) != 0 && rc == 0)
		rc = -errno;
	if (rc != 0)
		(void)err_os(err, rc, "%s", o->output);
	else
		rc = new_file_keep(&file, err);
	new_file_done(&file);
	return rc;
}

static int
put_out(const struct report_options *o, const json_t *report)
{
	struct err err = { "" };
	int rc;

	if (strcmp(o->output, "-") == 0) {
		rc = write_report(stdout, o, report);
		if (rc != 0)
			(void)err_os(&err, rc, "standard output");
	} else {
		rc = write_to_file(o, report, &err);
	}
	return rc == 0 ? 0 : cli_fail(&err, CLI_FAILED);
}

/* --- in --------------------------------------------------------------------
 */

/* The nearest policy is shown if it fits; one that was named must. */
static int
add_policies(const struct report_options *o, json_t *report)
{
	struct err err = { "" };
	int rc = 0;

	if (o->policies.count == 0)
		(void)report_policy_add(report, NULL, &err);
	for (size_t i = 0; rc == 0 && i < o->policies.count; i++)
		rc = report_policy_add(report, o->policies.paths[i], &err);
	if (rc != 0)
		return cli_fail(&err, CLI_FAILED);
	report_policy_review(report);
	return 0;
}

/* A page is made all the same: the status is what a script sees. */
static int
complain(const struct report_log *log, const json_t *report)
{
	if (log->chain == REPORT_CHAIN_BROKEN) {
		(void)fprintf(stderr,
		    "tapward: the audit log is not whole: line %llu: %s; the "
		    "report says so\n",
		    (unsigned long long)log->fault_line,
		    audit_verify_text(log->fault));
		return CLI_FAILED;
	}
	if (json_array_size(json_object_get(report, "losses")) > 0) {
		(void)fprintf(stderr,
		    "tapward: the audit log says that records are missing; "
		    "the report shows where\n");
		return CLI_FAILED;
	}
	return 0;
}

static int
finish(const struct report_options *o, struct report *r,
    const struct report_log *log)
{
	json_t *report = report_finish(r);
	int rc;

	if (report == NULL) {
		(void)fprintf(stderr,
		    "tapward: the log holds no record of %s%s; tapward log "
		    "shows what it holds\n",
		    o->name, o->generation == 0 ? "" : " of that generation");
		return CLI_FAILED;
	}
	(void)json_object_set_new(report, "log", report_log_json(log));
	rc = add_policies(o, report);
	if (rc == 0)
		rc = put_out(o, report);
	if (rc == 0)
		rc = complain(log, report);
	json_decref(report);
	return rc;
}

static int
make(const struct cli *cli, const struct report_options *o)
{
	struct report *r = report_new(o->name, o->generation);
	struct report_log log;
	struct err err = { "" };
	int rc = r == NULL ? CLI_FAILED : 0;

	/* Told before the log is read, which may be long. */
	if (rc == 0 && strcmp(o->output, "-") != 0 && !o->force &&
	    new_file_check(o->output, &err) != 0)
		rc = cli_fail(&err, CLI_FAILED);
	if (rc == 0)
		rc = o->logs.count == 0
		    ? report_log_ask(cli, o->name, r, &log)
		    : report_log_read(o->logs.paths, o->logs.count, r, &log);
	if (rc == 0)
		rc = finish(o, r, &log);
	report_free(r);
	return rc;
}

/* --- options ---------------------------------------------------------------
 */

static bool
add_file(struct files *all, char *path)
{
	if (all->count == FILES_MAX)
		return false;
	all->paths[all->count++] = path;
	return true;
}

static bool
read_generation(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *text >= '1' && *text <= '9';
}

/* False for what is no option, or one that cannot be. */
static bool
take_option(int opt, struct report_options *o)
{
	switch (opt) {
	case 'o':
		o->output = optarg;
		return true;
	case 'f':
		o->force = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	case 'p':
		return add_file(&o->policies, optarg);
	case 'F':
		return add_file(&o->logs, optarg);
	case 'g':
		return read_generation(optarg, &o->generation);
	default:
		return false;
	}
}

int
cmd_report(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "policy", required_argument, NULL, 'p' },
		{ "file", required_argument, NULL, 'F' },
		{ "generation", required_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	struct report_options o = { .name = NULL };
	int opt;

	while ((opt = getopt_long(argc, argv, "o:", options, NULL)) != -1)
		if (!take_option(opt, &o))
			return cli_usage("report", "see tapward(1)");
	o.name = cli_only_name("report", argc, argv, optind);
	if (o.name == NULL)
		return CLI_USAGE;
	if (o.output == NULL && o.json)
		o.output = "-";
	if (o.output == NULL)
		return cli_usage("report",
		    "name the page with -o FILE; - is standard output");
	return make(cli, &o);
}
