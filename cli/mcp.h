/*
 * Tools that an agent on the host is offered over the Model Context Protocol
 * (modelcontextprotocol.io, 2025-06-18; JSON-RPC 2.0 a line on stdio). Image,
 * policy, sizes and time-outs are the operator's; the agent chooses commands
 * and files within them.
 */
#ifndef TAPWARD_CLI_MCP_H
#define TAPWARD_CLI_MCP_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/create.h"
#include "cli/guest.h"

#define MCP_SANDBOXES_MAX 16
#define MCP_DISABLED_MAX 16

struct mcp_options {
	struct create_options create;
	struct guest_options guest;
	struct command_options command;
	unsigned int sandboxes_max;
	const char *disabled[MCP_DISABLED_MAX];
	unsigned int disabled_count;
	bool is_read_only;   /* nothing but reading from sandbox */
	const char *sandbox; /* one that is there already; or NULL */
};

struct mcp;

/* NULL without memory. cli and o are borrowed. */
struct mcp *mcp_new(const struct cli *cli, const struct mcp_options *o);
/* Every sandbox that it made is ended. */
void mcp_free(struct mcp *m);

/* For tools/list: an array. */
json_t *mcp_tools(const struct mcp *m);
bool mcp_offers(const struct mcp *m, const char *tool);
/*
 * Calls a tool that is offered. The result is an object for tools/call; NULL,
 * with err set, for arguments that are wrong and for what could not be done.
 */
json_t *mcp_call(struct mcp *m, const char *tool, const json_t *arguments,
    struct err *err);
/* A signal came while a tool was at work, which asks the server to end. */
bool mcp_is_over(const struct mcp *m);

#endif
