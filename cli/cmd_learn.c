/*
 * learn: from what a sandbox asked for to a policy that lets it through.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/learned.h"

int
cmd_learn(const struct cli *cli, int argc, char **argv)
{
	const char *name = cli_only_name("learn", argc, argv, 1);
	AUTO_FREE char *text = NULL;
	int rc = name == NULL ? CLI_USAGE : learned_policy(cli, name, &text);

	if (rc != 0)
		return rc;
	return fputs(text, stdout) >= 0 && fflush(stdout) == 0 ? 0 : CLI_FAILED;
}
