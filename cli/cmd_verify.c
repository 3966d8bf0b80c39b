/*
 * verify: a fresh guest that tries to get out, and a table of what came of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/call.h"
#include "cli/create.h"
#include "cli/guest.h"
#include "cli/output.h"
#include "cli/verify.h"

#define MEMORY_MIB 256

/* A service of this host that every address leads to. */
static int
listen_everywhere(struct verify *v)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t len = sizeof(any);

	v->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (v->listener == -1 ||
	    bind(v->listener, (const struct sockaddr *)&any, sizeof(any)) ==
		-1 ||
	    listen(v->listener, 8) == -1 ||
	    getsockname(v->listener, (struct sockaddr *)&any, &len) == -1)
		return -errno;
	(void)snprintf(v->port, sizeof(v->port), "%u", ntohs(any.sin_port));
	return 0;
}

static int
make_canary(struct verify *v)
{
	int fd;

	(void)snprintf(v->canary, sizeof(v->canary),
	    "/tmp/tapward-canary-XXXXXX");
	fd = mkstemp(v->canary);
	if (fd == -1)
		return -errno;
	(void)close(fd);
	return 0;
}

/* The policy as a file that is gone when it has been read. */
static int
make_sandbox(struct verify *v, int hold_fd, struct reply *ret)
{
	char path[] = "/tmp/tapward-verify-XXXXXX";
	AUTO_CLOSE int fd = mkstemp(path);
	const struct create_options o = { .name = v->name,
		.policy = path,
		.hold_fd = hold_fd };
	int rc;

	if (fd == -1 ||
	    fd_write_all(fd, VERIFY_POLICY, strlen(VERIFY_POLICY)) != 0)
		return CLI_FAILED;
	rc = create_sandbox(v->cli, &o, ret);
	(void)unlink(path);
	return rc;
}

/* Asked again when the machine runs: it says which process that is. */
static int
ask_about(const struct verify *v, struct reply *ret)
{
	char path[SANDBOX_NAME_SIZE + 32];

	(void)snprintf(path, sizeof(path), "/v1/sandboxes/%s", v->name);
	return call_simply(v->cli, "GET", path, ret);
}

static int
start(struct verify *v, const struct guest_options *g)
{
	struct err err = { "" };
	int rc = guest_start(v->cli, v->name, g, NULL);

	if (rc == 0)
		rc = session_open(v->cli, v->name, &v->session);
	if (rc != 0)
		return rc;
	rc = session_await_ready(v->session, NULL, NULL, &err);
	return rc == 0 ? 0 : cli_fail(&err, CLI_FAILED);
}

/* Every row, whatever became of the one before. The number that failed. */
static unsigned int
try_all(struct verify *v, bool json, json_t *all)
{
	unsigned int failed = 0;

	for (size_t i = 0; i < verify_row_count; i++) {
		const struct verify_row *row = &verify_rows[i];
		char found[VERIFY_FOUND_SIZE] = "";
		bool is_right = row->run(v, row, found);

		failed += is_right ? 0 : 1;
		if (json)
			(void)json_array_append_new(all,
			    json_pack("{s:s, s:s, s:b}", "tried", row->what,
				"found", found, "pass", (int)is_right));
		else
			(void)printf("%-4s  %-50s  %s\n",
			    is_right ? "pass" : "FAIL", row->what, found);
		(void)fflush(stdout);
	}
	return failed;
}

static int
report(struct verify *v, bool json)
{
	json_t *all = json_array();
	unsigned int failed = try_all(v, json, all);

	if (json)
		output_json(all);
	else
		(void)printf("%zu tried, %u failed\n", verify_row_count,
		    failed);
	json_decref(all);
	return failed == 0 ? 0 : CLI_FAILED;
}

static int
verify(struct verify *v, const struct guest_options *g, bool json)
{
	AUTO_CLOSE int theirs = -1;
	struct reply made, about;
	int fds[2], ours, rc;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return CLI_FAILED;
	theirs = fds[0];
	ours = fds[1];
	rc = make_sandbox(v, theirs, &made);
	if (rc != 0) {
		(void)close(ours);
		return rc;
	}
	reply_done(&made);
	rc = start(v, g);
	if (rc == 0)
		rc = ask_about(v, &about);
	if (rc == 0) {
		v->about = about.json;
		rc = report(v, json);
		reply_done(&about);
	}
	session_close(v->session);
	remove_sandbox(v->cli, v->name);
	(void)close(ours);
	return rc;
}

int
cmd_verify(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		GUEST_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	struct guest_options g = { .image = "default", .memory = "256M" };
	struct verify v = { .cli = cli,
		.listener = -1,
		.memory_mib = MEMORY_MIB };
	char name[SANDBOX_NAME_SIZE];
	bool json = false;
	uint32_t number;
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'j')
			json = true;
		else if (!guest_take_option(&g, opt, optarg))
			return cli_usage("verify", "see tapward(1)");
	}
	if (optind != argc ||
	    getrandom(&number, sizeof(number), 0) != sizeof(number))
		return cli_usage("verify", "takes options only");
	(void)snprintf(name, sizeof(name), "verify-%08x", number);
	v.name = name;
	if (listen_everywhere(&v) != 0 || make_canary(&v) != 0) {
		perror("tapward: verify");
		return CLI_FAILED;
	}
	rc = verify(&v, &g, json);
	(void)unlink(v.canary);
	fd_close(&v.listener);
	return rc;
}
