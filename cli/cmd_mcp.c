/*
 * mcp: a server of the Model Context Protocol on standard input and output.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/mcp.h"

#define PROTOCOL "2025-06-18"
/* A request of an agent: a file that it writes is in it. */
#define LINE_MAX_BYTES (16u << 20)
#define SANDBOXES_STANDARD 4

/* JSON-RPC 2.0, 5.1 */
enum {
	RPC_PARSE = -32700,
	RPC_REQUEST = -32600,
	RPC_METHOD = -32601,
	RPC_PARAMS = -32602,
};

static void
send_line(json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	if (text != NULL)
		(void)printf("%s\n", text);
	(void)fflush(stdout);
	free(text);
	json_decref(message);
}

static void
answer(json_t *id, json_t *result)
{
	send_line(json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id,
	    "result", result));
}

static void
refuse(json_t *id, int code, const char *text)
{
	json_t *none = json_null();

	send_line(json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
	    id == NULL ? none : id, "error", "code", code, "message", text));
	json_decref(none);
}

static void
initialize(struct mcp *m, json_t *id, const json_t *params)
{
	(void)m;
	(void)params;
	answer(id,
	    json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}}", "protocolVersion",
		PROTOCOL, "capabilities", "tools", "serverInfo", "name",
		"tapward", "version", TAPWARD_VERSION));
}

static void
ping(struct mcp *m, json_t *id, const json_t *params)
{
	(void)m;
	(void)params;
	answer(id, json_object());
}

static void
list_tools(struct mcp *m, json_t *id, const json_t *params)
{
	(void)params;
	answer(id, json_pack("{s:o}", "tools", mcp_tools(m)));
}

/* A tool that fails is told to the agent as a result: it can do better. */
static void
call_tool(struct mcp *m, json_t *id, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	struct err err = { "" };
	json_t *result;

	if (name == NULL || !mcp_offers(m, name)) {
		refuse(id, RPC_PARAMS,
		    name == NULL ? "name: the tool is missing"
				 : "there is no such tool");
		return;
	}
	result = mcp_call(m, name, json_object_get(params, "arguments"), &err);
	if (result == NULL)
		result = json_pack("{s:[{s:s, s:s}], s:b}", "content", "type",
		    "text", "text", err.text, "isError", 1);
	answer(id, result);
}

static const struct {
	const char *name;
	void (*take)(struct mcp *m, json_t *id, const json_t *params);
} methods[] = {
	{ "initialize", initialize },
	{ "ping", ping },
	{ "tools/list", list_tools },
	{ "tools/call", call_tool },
};

static void
take(struct mcp *m, const json_t *request)
{
	const char *method =
	    json_string_value(json_object_get(request, "method"));
	json_t *id = json_object_get(request, "id");

	if (method == NULL) {
		refuse(id, RPC_REQUEST, "this is no request");
		return;
	}
	/* A notification wants no answer. */
	if (id == NULL)
		return;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (strcmp(methods[i].name, method) == 0) {
			methods[i].take(m, id,
			    json_object_get(request, "params"));
			return;
		}
	refuse(id, RPC_METHOD, "there is no such method");
}

/*
 * One line, without its end, into buf of LINE_MAX_BYTES. Its length; -1 at the
 * end of the input, or on a line that is longer: then *ret_too_long.
 */
static ssize_t
read_line(char *buf, bool *ret_too_long)
{
	size_t len = 0;
	int c;

	*ret_too_long = false;
	while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
		if (len == LINE_MAX_BYTES) {
			*ret_too_long = true;
			return -1;
		}
		buf[len++] = (char)c;
	}
	return c == EOF && len == 0 ? -1 : (ssize_t)len;
}

static int
serve(struct mcp *m)
{
	/* Of what is not written to, the kernel gives no page. */
	AUTO_FREE char *line = malloc(LINE_MAX_BYTES);
	bool is_too_long = false;
	ssize_t len;

	if (line == NULL)
		return CLI_FAILED;
	while (!mcp_is_over(m) && (len = read_line(line, &is_too_long)) != -1) {
		json_t *request =
		    json_loadb(line, (size_t)len, JSON_DECODE_ANY, NULL);

		if (request == NULL)
			refuse(NULL, RPC_PARSE, "this is not JSON");
		else
			take(m, request);
		json_decref(request);
	}
	if (is_too_long)
		refuse(NULL, RPC_REQUEST, "the request is too long");
	return is_too_long ? CLI_FAILED : 0;
}

static bool
take_option(struct mcp_options *o, int opt)
{
	char *end;
	unsigned long n;

	switch (opt) {
	case 'p':
		o->create.policy = optarg;
		return true;
	case 'r':
		o->is_read_only = true;
		return true;
	case 's':
		o->sandbox = optarg;
		return sandbox_name_is_valid(optarg);
	case 'd':
		if (o->disabled_count == MCP_DISABLED_MAX)
			return false;
		o->disabled[o->disabled_count++] = optarg;
		return true;
	case 'n':
		n = strtoul(optarg, &end, 10);
		o->sandboxes_max = (unsigned int)n;
		return *end == '\0' && n > 0 && n <= MCP_SANDBOXES_MAX;
	default:
		return guest_take_option(&o->guest, opt, optarg) ||
		    command_take_option(&o->command, opt, optarg);
	}
}

int
cmd_mcp(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "read-only", no_argument, NULL, 'r' },
		{ "sandbox", required_argument, NULL, 's' },
		{ "disable", required_argument, NULL, 'd' },
		{ "max-sandboxes", required_argument, NULL, 'n' },
		GUEST_OPTIONS,
		COMMAND_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	struct mcp_options o = {
		.create = { .hold_fd = -1 },
		.guest = { .image = "default" },
		.sandboxes_max = SANDBOXES_STANDARD,
	};
	struct mcp *m;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!take_option(&o, opt))
			return cli_usage("mcp", "see tapward(1)");
	if (optind != argc)
		return cli_usage("mcp", "takes options only");
	if (o.is_read_only && o.sandbox == NULL)
		return cli_usage("mcp",
		    "--read-only makes no sandbox: name one with --sandbox");
	(void)signal(SIGPIPE, SIG_IGN);
	m = mcp_new(cli, &o);
	if (m == NULL)
		return CLI_FAILED;
	rc = serve(m);
	mcp_free(m);
	command_options_done(&o.command);
	return rc;
}
