/*
 * create: a sandbox, with a virtual machine of ours in it or without.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "cli/create.h"
#include "cli/output.h"

static void
print_created(const json_t *s)
{
	(void)printf("%s is ready: %s in namespace %s\n"
		     "  guest  %s  mac %s\n"
		     "  gateway and DNS %s, proxy %s\n"
		     "  CA     %s\n",
	    output_member(s, "name"), output_member(s, "device"),
	    output_member(s, "netns"), output_member(s, "guest_ip"),
	    output_member(s, "guest_mac"), output_member(s, "gateway"),
	    output_member(s, "proxy"), output_member(s, "ca"));
}

/* With a virtual machine of ours there is nothing to attach. */
static void
print_next(const json_t *s, const struct guest_options *g)
{
	const char *name = output_member(s, "name");

	if (g->image != NULL)
		(void)printf("next: tapward exec %s -- CMD...\n", name);
	else
		(void)printf("next: tapward env %s; tapward attach %s -- "
			     "VMM...\n",
		    name, name);
}

/* A sandbox whose machine does not start is of no use to its creator. */
static int
start_or_remove(const struct cli *cli, const char *name,
    const struct guest_options *g)
{
	int rc = guest_start(cli, name, g, NULL);

	if (rc != 0)
		remove_sandbox(cli, name);
	return rc;
}

static int
create(const struct cli *cli, const struct create_options *o,
    const struct guest_options *g, bool json)
{
	struct reply reply;
	int rc = create_sandbox(cli, o, &reply);

	if (rc != 0)
		return rc;
	if (g->image != NULL)
		rc = start_or_remove(cli, o->name, g);
	if (rc == 0 && json) {
		output_json(reply.json);
	} else if (rc == 0) {
		print_created(reply.json);
		if (o->learns)
			(void)puts("  it learns: what no rule of its policy "
				   "decides, the host's ceiling decides alone");
		print_next(reply.json, g);
	}
	reply_done(&reply);
	return rc;
}

int
cmd_create(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "device", required_argument, NULL, 'd' },
		{ "netns", required_argument, NULL, 'n' },
		{ "owner", required_argument, NULL, 'o' },
		{ "ca", required_argument, NULL, 'c' },
		{ "ttl", required_argument, NULL, 't' },
		{ "learn", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' },
		GUEST_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	struct create_options o = { .hold_fd = -1 };
	struct guest_options g = { .image = NULL };
	bool json = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'p':
			o.policy = optarg;
			break;
		case 'd':
			o.device = optarg;
			break;
		case 'n':
			o.netns = optarg;
			break;
		case 'o':
			o.owner = optarg;
			break;
		case 'c':
			o.ca = optarg;
			break;
		case 't':
			o.ttl = optarg;
			break;
		case 'l':
			o.learns = true;
			break;
		case 'j':
			json = true;
			break;
		default:
			if (!guest_take_option(&g, opt, optarg))
				return cli_usage("create", "see tapward(1)");
		}
	}
	o.name = cli_only_name("create", argc, argv, optind);
	if (o.name == NULL)
		return CLI_USAGE;
	if (g.image == NULL && guest_has_options(&g))
		return cli_usage("create",
		    "these options are for a virtual machine: --image names "
		    "what it is started from");
	return create(cli, &o, &g, json);
}
