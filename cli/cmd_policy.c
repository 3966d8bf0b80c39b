/*
 * check and explain: what a policy says, without a daemon. Both ask the code
 * that the gate asks.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/loaded.h"
#include "cli/policy_file.h"
#include "conf/check.h"
#include "conf/explain.h"
#include "conf/hostconf.h"
#include "conf/policy.h"

static int
check_file(const char *path, enum check_form form, char *text, size_t size)
{
	struct policy_file file;
	struct check_report report;
	struct err err = { "" };
	struct wr w = wr_init(text, size - 1);
	int rc = policy_file_read(path, LOADED_CEILING_MAX_BYTES, &file, &err);

	if (rc != 0)
		return cli_fail(&err, CLI_FAILED);
	rc = check_text(file.path,
	    (struct span){ (const uint8_t *)file.text, file.len }, CHECK_GUESS,
	    form, &w, &report);
	policy_file_done(&file);
	if (rc != 0) {
		(void)err_os(&err, rc, "%s", path);
		return cli_fail(&err, CLI_FAILED);
	}
	text[w.len] = '\0';
	(void)fputs(text, stdout);
	return report.errors > 0 ? CLI_FAILED : 0;
}

int
cmd_check(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	AUTO_FREE char *text = malloc(CHECK_TEXT_MAX_BYTES);
	enum check_form form = CHECK_LINES;
	int worst = 0, opt;

	(void)cli;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return cli_usage("check", "see tapward(1)");
		form = CHECK_JSON;
	}
	if (optind == argc)
		return cli_usage("check", "name the files to check");
	if (text == NULL)
		return CLI_FAILED;
	for (int i = optind; i < argc; i++) {
		int rc = check_file(argv[i], form, text, CHECK_TEXT_MAX_BYTES);

		worst = rc > worst ? rc : worst;
	}
	return worst;
}

/* What the host's configuration adds. */
static void
print_host_json(struct json *j, const struct hostconf_ca *ca)
{
	json_open_object(j, "ca");
	json_str(j, "name", ca->set.name);
	json_str(j, "at", ca->set.at);
	json_str(j, "file", ca->set.file);
	json_bool(j, "only", ca->set.is_only);
	json_close_object(j);
}

static void
print_explanation_json(const struct explanation *e,
    const struct hostconf_ca *ca)
{
	char text[EXPLAIN_TEXT_MAX_BYTES];
	struct wr w = wr_init(text, sizeof(text));
	struct json j = json_init(&w);
	char at[RULE_AT_SIZE];

	(void)snprintf(at, sizeof(at), "%s:%u", e->verdict.file,
	    e->verdict.line);
	json_open_object(&j, NULL);
	json_str(&j, "verdict", action_name(e->verdict.action));
	json_str(&j, "reason", e->code);
	json_str(&j, "rule", e->verdict.rule);
	json_str(&j, "at", at);
	if (e->verdict.learned.reason != REASON_NONE) {
		(void)snprintf(at, sizeof(at), "%s:%u", e->verdict.learned.file,
		    e->verdict.learned.line);
		json_str(&j, "learned", reason_code(e->verdict.learned.reason));
		json_str(&j, "learned_rule", e->verdict.learned.rule);
		json_str(&j, "learned_at", at);
	}
	json_str(&j, "host", e->host);
	json_u64(&j, "port", e->port);
	json_str(&j, "scheme", scheme_name(e->scheme));
	json_bool(&j, "websocket", e->is_websocket);
	json_str(&j, "credential", e->verdict.credential);
	json_bool(&j, "inspected", e->is_inside_seen);
	if (e->address != 0) {
		(void)snprintf(at, sizeof(at), "%u.%u.%u.%u", e->address >> 24,
		    e->address >> 16 & 0xff, e->address >> 8 & 0xff,
		    e->address & 0xff);
		json_str(&j, "address", at);
	}
	if (ca != NULL)
		print_host_json(&j, ca);
	json_str(&j, "hint", e->hint);
	json_close_object(&j);
	(void)printf("%.*s\n", (int)w.len, text);
}

static void
print_explanation(const struct explanation *e, const struct hostconf_ca *ca)
{
	char text[EXPLAIN_TEXT_MAX_BYTES];
	struct wr w = wr_init(text, sizeof(text));

	explain_write(&w, e);
	(void)printf("%.*s", (int)w.len, text);
	if (ca != NULL)
		(void)printf("note:    its certificate is to be signed by a CA "
			     "of "
			     "%s%s, which [ca %s] names (%s)\n",
		    ca->set.file,
		    ca->set.is_only ? " alone" : " or a public one",
		    ca->set.name, ca->set.at);
}

struct explain_options {
	const char *policy;
	const char *ceiling;
	const char *method;
	const char *push; /* a reference; then the target is a repository */
	enum git_operation operation;
	const char *config; /* the host's, or NULL */
	bool learns;
	bool json;
};

static bool
parse_operation(const char *text, enum git_operation *ret)
{
	for (int op = GIT_CREATE; op < GIT_OPERATIONS; op++) {
		if (strcmp(git_operation_name((enum git_operation)op), text) ==
		    0) {
			*ret = (enum git_operation)op;
			return true;
		}
	}
	return false;
}

static int
ask(const struct explain_options *o, const struct policy_pair *pair,
    const char *target, struct explanation *ret, struct err *err)
{
	return o->push != NULL
	    ? explain_push(pair, target, o->push, o->operation, ret, err)
	    : explain(pair, target, o->method, ret, err);
}

/* 0, or -EINVAL and err: the configuration that was named cannot be read. */
static int
read_host(const char *path, struct hostconf **ret, struct err *err)
{
	struct policy_file file;
	int rc;

	*ret = NULL;
	if (path == NULL)
		return 0;
	rc = policy_file_read(path, HOSTCONF_TEXT_MAX_BYTES, &file, err);
	if (rc != 0)
		return rc;
	rc = hostconf_parse(path,
	    (struct span){ (const uint8_t *)file.text, file.len }, ret, err);
	policy_file_done(&file);
	return rc;
}

/* Who has to sign for it; NULL without an answer, or for the public ones. */
static const struct hostconf_ca *
ca_of(const struct hostconf *host, const struct explanation *e)
{
	return host == NULL || e->scheme != SCHEME_HTTPS || !e->is_inside_seen
	    ? NULL
	    : hostconf_ca_for(host, e->host);
}

/* A client certificate is no field of a request: it is told here. */
static void
print_shown(const struct hostconf *host, const struct explanation *e)
{
	for (size_t i = 0; host != NULL && i < host->credential_count; i++) {
		const struct message_broker_credential *d =
		    host->credentials[i].def;

		if (d->apply == LEASE_APPLY_CERTIFICATE &&
		    strcmp(d->name, e->verdict.credential) == 0)
			(void)printf("note:    [credential %s] shows a client "
				     "certificate to it in TLS\n",
			    d->name);
	}
}

/* 1 would mean "deny": what cannot be judged is CLI_USAGE. */
static int
explain_url(const struct explain_options *o, const char *url)
{
	struct loaded *(*read)(const char *path, bool is_ceiling) =
	    o->learns ? loaded_read_learning : loaded_read;
	struct loaded *policy = read(o->policy, false);
	struct loaded *ceiling =
	    o->ceiling == NULL ? NULL : read(o->ceiling, true);
	struct hostconf *host = NULL;
	struct explanation e;
	struct err err = { "" };
	int rc = CLI_USAGE;

	if (policy != NULL && (ceiling != NULL || o->ceiling == NULL)) {
		struct policy_pair pair = { policy->policy,
			ceiling == NULL ? NULL : ceiling->policy };

		if (read_host(o->config, &host, &err) != 0 ||
		    ask(o, &pair, url, &e, &err) != 0) {
			rc = cli_fail(&err, CLI_USAGE);
		} else {
			(o->json ? print_explanation_json
				 : print_explanation)(&e, ca_of(host, &e));
			if (!o->json)
				print_shown(host, &e);
			rc = explain_status(&e);
		}
	}
	hostconf_free(host);
	loaded_free(ceiling);
	loaded_free(policy);
	return rc;
}

/* NULL, or what is wrong with it. */
static const char *
take_explain_option(struct explain_options *o, int opt, const char *arg)
{
	switch (opt) {
	case 'p':
		o->policy = arg;
		return NULL;
	case 'c':
		o->ceiling = arg;
		return NULL;
	case 'C':
		o->config = arg;
		return NULL;
	case 'm':
		o->method = arg;
		return NULL;
	case 'P':
		o->push = arg;
		return NULL;
	case 'o':
		return parse_operation(arg, &o->operation)
		    ? NULL
		    : "an operation is create, update, delete or force";
	case 'l':
		o->learns = true;
		return NULL;
	case 'j':
		o->json = true;
		return NULL;
	default:
		return "see tapward(1)";
	}
}

int
cmd_explain(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "ceiling", required_argument, NULL, 'c' },
		{ "config", required_argument, NULL, 'C' },
		{ "method", required_argument, NULL, 'm' },
		{ "push", required_argument, NULL, 'P' },
		{ "operation", required_argument, NULL, 'o' },
		{ "learn", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct explain_options o = { .policy = NULL };
	const char *fault = NULL;
	int opt;

	(void)cli;
	while (fault == NULL &&
	    (opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		fault = take_explain_option(&o, opt, optarg);
	if (fault == NULL && argc - optind != 1)
		fault = "name one URL";
	if (fault == NULL &&
	    (o.push == NULL ? o.operation != GIT_OPERATION_NONE
			    : o.method != NULL))
		fault = "--operation goes with --push, and --method without";
	if (fault == NULL && o.learns && o.ceiling == NULL)
		fault =
		    "a sandbox that learns is bounded by --ceiling: name it";
	return fault == NULL ? explain_url(&o, argv[optind])
			     : cli_usage("explain", "%s", fault);
}
