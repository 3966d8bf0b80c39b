/*
 * ask: questions of [ask] rules, and answers to them.
 *
 * What a guest wrote comes here as printable ASCII (base/message_ask.h); it is
 * looked at once more before a terminal gets it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/call.h"
#include "cli/cli.h"
#include "cli/duration.h"
#include "cli/output.h"
#include "conf/learn.h"

#define ID_DIGITS 8
/* As the daemon has it: 30 days. */
#define FOR_MAX_S 2592000u
#define REMEMBER_MAX 4096

static void
print_safely(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text >= ' ' && *text <= '~')
			(void)putchar(*text);
		else
			(void)printf("\\x%02x", (unsigned char)*text);
	}
}

static void
print_one(const json_t *a)
{
	const json_t *body = json_object_get(a, "body_bytes");
	const char *credential = output_member(a, "credential");
	const char *by = output_member(a, "by");

	(void)printf("%s  %s  %s  since %s until %s%s%s\n",
	    output_member(a, "id"), output_member(a, "sandbox"),
	    output_member(a, "state"), output_member(a, "since"),
	    output_member(a, "until"), by[0] == '\0' ? "" : " by ", by);
	(void)printf("          %s ", output_member(a, "method"));
	print_safely(output_member(a, "url"));
	(void)printf("\n          [%s] ", output_member(a, "rule"));
	print_safely(output_member(a, "at"));
	if (json_is_true(json_object_get(a, "ceiling")))
		(void)printf(" of the ceiling: root may say yes");
	if (json_is_true(json_object_get(a, "websocket")))
		(void)printf(", opens a WebSocket");
	if (json_is_null(body))
		(void)printf(", with a body");
	else if (json_integer_value(body) > 0)
		(void)printf(", with a body of %lld bytes",
		    (long long)json_integer_value(body));
	if (credential[0] != '\0')
		(void)printf(", credential %s", credential);
	(void)putchar('\n');
}

static bool
is_for(const json_t *a, const char *name)
{
	return name == NULL || strcmp(output_member(a, "sandbox"), name) == 0;
}

static int
read_asks(const struct cli *cli, const char *name, json_t *all)
{
	char path[64] = "/v1/asks";
	bool has_more = true;

	while (has_more) {
		struct reply reply;
		const char *last = "";
		size_t i;
		json_t *a;
		int rc = call_simply(cli, "GET", path, &reply);

		if (rc != 0)
			return rc;
		json_array_foreach(json_object_get(reply.json, "asks"), i, a)
		{
			if (is_for(a, name))
				(void)json_array_append(all, a);
			last = output_member(a, "id");
		}
		has_more = json_is_true(json_object_get(reply.json, "more")) &&
		    last[0] != '\0';
		(void)snprintf(path, sizeof(path), "/v1/asks?after=%s", last);
		reply_done(&reply);
	}
	return 0;
}

static int
list(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	const char *name = NULL;
	bool json = false;
	json_t *all, *a;
	size_t i;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt != 'j')
			return cli_usage("ask", "see tapward(1)");
		json = true;
	}
	if (optind < argc) {
		name = cli_only_name("ask list", argc, argv, optind);
		if (name == NULL)
			return CLI_USAGE;
	}
	all = json_array();
	rc = read_asks(cli, name, all);
	if (rc == 0 && json)
		output_json(all);
	else if (rc == 0)
		json_array_foreach(all, i, a) print_one(a);
	json_decref(all);
	return rc;
}

/* Rules that let this through without asking, for a person to put in. */
static int
print_rules(const json_t *a)
{
	char text[REMEMBER_MAX];
	struct wr w = wr_init(text, sizeof(text));
	struct learn *l = learn_new();
	const struct learn_request r = {
		.host = output_member(a, "host"),
		.port =
		    (uint16_t)json_integer_value(json_object_get(a, "port")),
		.method = output_member(a, "method"),
		.target = output_member(a, "target"),
		.credential = "", /* is written by us */
		.count = 1,
	};
	size_t number = 0;
	int rc = l == NULL ? -ENOMEM : learn_add(l, &r);

	if (rc == 0)
		rc =
		    learn_write_rules(l, output_member(a, "rule"), &number, &w);
	learn_free(l);
	if (rc != 0) {
		(void)fprintf(stderr, "tapward ask: the rule: %s\n",
		    strerror(-rc));
		return CLI_FAILED;
	}
	(void)printf("\n; to let it through unasked put this into ");
	print_safely(output_member(a, "at"));
	(void)printf("'s file, and let [ask %s]\n"
		     "; name it no more: to ask is stronger than to allow\n",
	    output_member(a, "rule"));
	(void)fwrite(text, 1, w.len, stdout);
	if (output_member(a, "credential")[0] != '\0')
		(void)printf("credential = %s\n",
		    output_member(a, "credential"));
	return fflush(stdout) == 0 ? 0 : CLI_FAILED;
}

struct answering {
	const char *id;
	bool is_allowed, remembers, json;
	uint32_t for_s;
};

static int
answer(const struct cli *cli, const struct answering *w)
{
	char path[64];
	json_t *body = json_pack("{s:s, s:I}", "answer",
	    w->is_allowed ? "allow" : "deny", "for", (json_int_t)w->for_s);
	struct call q = { .method = "POST", .path = path, .body = body };
	struct reply reply;
	const json_t *a;
	int rc;

	(void)snprintf(path, sizeof(path), "/v1/asks/%s", w->id);
	rc = call_or_complain(cli, &q, &reply);
	json_decref(body);
	if (rc != 0)
		return rc;
	a = json_array_get(json_object_get(reply.json, "asks"), 0);
	if (w->json) {
		output_json(a);
	} else {
		(void)printf("%s: %s %s ", w->is_allowed ? "allowed" : "denied",
		    output_member(a, "sandbox"), output_member(a, "method"));
		print_safely(output_member(a, "url"));
		(void)putchar('\n');
	}
	if (w->remembers)
		rc = print_rules(a);
	reply_done(&reply);
	return rc;
}

static bool
is_id(const char *text)
{
	return strlen(text) == ID_DIGITS &&
	    strspn(text, "0123456789abcdef") == ID_DIGITS;
}

static int
read_answer(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "for", required_argument, NULL, 'f' },
		{ "remember", no_argument, NULL, 'r' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct answering w = { .is_allowed = strcmp(argv[0], "allow") == 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'r')
			w.remembers = true;
		else if (opt == 'j')
			w.json = true;
		else if (opt != 'f' || !duration_parse(optarg, &w.for_s) ||
		    w.for_s > FOR_MAX_S)
			return cli_usage("ask",
			    "--for is a time from 1s to 30d; see tapward(1)");
	}
	if (optind + 1 != argc || !is_id(argv[optind]))
		return cli_usage("ask",
		    "name one question by its eight digits; tapward ask list "
		    "shows them");
	if (w.remembers && (!w.is_allowed || w.json))
		return cli_usage("ask",
		    "--remember prints the rule of what is allowed, without "
		    "--json");
	w.id = argv[optind];
	return answer(cli, &w);
}

int
cmd_ask(const struct cli *cli, int argc, char **argv)
{
	const char *word = argc < 2 ? "" : argv[1];

	if (strcmp(word, "list") == 0)
		return list(cli, argc - 1, argv + 1);
	if (strcmp(word, "allow") == 0 || strcmp(word, "deny") == 0)
		return read_answer(cli, argc - 1, argv + 1);
	return cli_usage("ask", "list, allow or deny; see tapward(1)");
}
