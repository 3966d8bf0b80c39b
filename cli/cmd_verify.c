/*
 * verify: a guest that tries to get out, and a table of what came of it. The
 * guest is a fresh one, or that of a sandbox of the caller's.
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

/* Little, so that taking all of it takes no time. */
#define MEMORY "256M"

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

/* It is gone when the other end of hold_fd is, thus with this process. */
static int
make_sandbox(const struct cli *cli, const char *name, const char *policy,
    int hold_fd)
{
	json_t *body = json_pack("{s:s, s:s, s:s, s:b}", "name", name, "policy",
	    policy, "policy_name", "verify.ini", "tied", 1);
	const struct call q = { .method = "POST",
		.path = "/v1/sandboxes",
		.body = body,
		.fds = { hold_fd },
		.fd_count = 1,
		.hides_findings = true };
	struct reply reply;
	int rc = call_or_complain(cli, &q, &reply);

	json_decref(body);
	if (rc == 0)
		reply_done(&reply);
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
start(struct verify *v, const struct guest_options *g, int hold_fd)
{
	int rc = make_sandbox(v->cli, v->neighbour, VERIFY_NEIGHBOUR_POLICY,
	    hold_fd);

	if (rc == 0 && v->is_fresh)
		rc = make_sandbox(v->cli, v->name, VERIFY_POLICY, hold_fd);
	if (rc == 0 && v->is_fresh)
		rc = guest_start(v->cli, v->name, g, NULL);
	return rc;
}

static int
enter(struct verify *v)
{
	struct err err = { "" };
	int rc = session_open(v->cli, v->name, &v->session);

	if (rc != 0)
		return rc;
	rc = session_await_ready(v->session, NULL, NULL, &err);
	return rc == 0 ? 0 : cli_fail(&err, CLI_FAILED);
}

/* Why a row is not tried; NULL: it is. */
static const char *
why_not(struct verify *v, const struct verify_row *row)
{
	if (v->is_fresh && row->when == VERIFY_ROOT_ONLY && geteuid() != 0)
		return "not tried: root reads the log of what is gone";
	if (v->is_fresh && row->when == VERIFY_CURL_ONLY &&
	    !verify_has(v, "/usr/bin/curl"))
		return "not tried: the image has no /usr/bin/curl";
	if (v->is_fresh)
		return NULL;
	switch (row->when) {
	case VERIFY_POLICY_ONLY:
	case VERIFY_CURL_ONLY:
		return "not tried: it is about the policy of verify";
	case VERIFY_ALONE_ONLY:
	case VERIFY_ROOT_ONLY:
		return "not tried: it would harm what runs in this sandbox";
	case VERIFY_ALWAYS:
		break;
	}
	return NULL;
}

enum outcome { OUTCOME_PASS, OUTCOME_FAIL, OUTCOME_SKIP, OUTCOME_COUNT };

static enum outcome
try_row(struct verify *v, const struct verify_row *row,
    char found[VERIFY_FOUND_SIZE])
{
	const char *why = why_not(v, row);

	if (why == NULL)
		return row->run(v, row, found) ? OUTCOME_PASS : OUTCOME_FAIL;
	(void)snprintf(found, VERIFY_FOUND_SIZE, "%s", why);
	return OUTCOME_SKIP;
}

static const char *const outcome_words[OUTCOME_COUNT] = { "pass", "FAIL",
	"skip" };

static json_t *
row_json(const struct verify_row *row, enum outcome outcome, const char *found)
{
	return json_pack("{s:s, s:s, s:o}", "tried", row->what, "found", found,
	    "pass",
	    outcome == OUTCOME_SKIP ? json_null()
				    : json_boolean(outcome == OUTCOME_PASS));
}

/* Every row, whatever became of the one before. */
static int
report(struct verify *v, bool json)
{
	unsigned int counts[OUTCOME_COUNT] = { 0 };
	json_t *all = json_array();

	for (size_t i = 0; i < verify_row_count; i++) {
		const struct verify_row *row = &verify_rows[i];
		char found[VERIFY_FOUND_SIZE] = "";
		enum outcome outcome = try_row(v, row, found);

		counts[outcome]++;
		if (json)
			(void)json_array_append_new(all,
			    row_json(row, outcome, found));
		else
			(void)printf("%s  %-49s  %s\n", outcome_words[outcome],
			    row->what, found);
		(void)fflush(stdout);
	}
	if (json)
		output_json(all);
	else
		(void)printf("%u passed, %u failed, %u not tried\n",
		    counts[OUTCOME_PASS], counts[OUTCOME_FAIL],
		    counts[OUTCOME_SKIP]);
	json_decref(all);
	return counts[OUTCOME_FAIL] == 0 ? 0 : CLI_FAILED;
}

static int
verify(struct verify *v, const struct guest_options *g, bool json)
{
	/* As long as the second is open, what is tied to them goes on. */
	AUTO_CLOSE int theirs = -1, ours = -1;
	struct reply about;
	int fds[2], rc;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return CLI_FAILED;
	theirs = fds[0];
	ours = fds[1];
	rc = start(v, g, theirs);
	if (rc == 0)
		rc = enter(v);
	if (rc == 0)
		rc = ask_about(v, &about);
	if (rc == 0) {
		v->about = about.json;
		rc = report(v, json);
		reply_done(&about);
	}
	session_close(v->session);
	fd_close(&ours);
	remove_sandbox(v->cli, v->neighbour);
	if (v->is_fresh)
		remove_sandbox(v->cli, v->name);
	return rc;
}

/* Names that are nobody else's. */
static int
make_names(struct verify *v, char fresh[SANDBOX_NAME_SIZE])
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -errno;
	(void)snprintf(fresh, SANDBOX_NAME_SIZE, "verify-%08x", number);
	(void)snprintf(v->neighbour, sizeof(v->neighbour),
	    "verify-%08x-neighbour", number);
	(void)snprintf(v->unheard, sizeof(v->unheard),
	    "unheard-of-%08x.example", number);
	if (v->name == NULL) {
		v->name = fresh;
		v->is_fresh = true;
	}
	return 0;
}

static int
run(struct verify *v, const struct guest_options *g, bool json)
{
	char fresh[SANDBOX_NAME_SIZE];
	int rc = make_names(v, fresh);

	if (rc == 0)
		rc = listen_everywhere(v);
	if (rc == 0)
		rc = make_canary(v);
	if (rc != 0) {
		errno = -rc;
		perror("tapward: verify");
		fd_close(&v->listener);
		return CLI_FAILED;
	}
	rc = verify(v, g, json);
	(void)unlink(v->canary);
	fd_close(&v->listener);
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
	struct guest_options g = { .memory = NULL };
	struct verify v = { .cli = cli, .listener = -1 };
	bool json = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'j')
			json = true;
		else if (!guest_take_option(&g, opt, optarg))
			return cli_usage("verify", "see tapward(1)");
	}
	if (optind < argc) {
		v.name = cli_only_name("verify", argc, argv, optind);
		if (v.name == NULL)
			return CLI_USAGE;
		if (g.image != NULL || guest_has_options(&g))
			return cli_usage("verify",
			    "the machine of %s is there already", v.name);
	}
	if (g.image == NULL)
		g.image = "default";
	if (g.memory == NULL)
		g.memory = MEMORY;
	return run(&v, &g, json);
}
