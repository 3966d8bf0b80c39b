/*
 * run: a virtual machine for one command, and nothing left of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/capture.h"
#include "cli/copy.h"
#include "cli/create.h"
#include "cli/guest.h"
#include "cli/learned.h"
#include "cli/new_file.h"
#include "cli/output.h"
#include "cli/refusals.h"

#define IMAGE_DEFAULT "default"
#define COPIES_MAX 32

struct run_options {
	struct create_options create;
	struct guest_options guest;
	struct command_options command;
	struct copy copies[COPIES_MAX]; /* both ways */
	size_t copy_count;
	bool is_git;         /* folders go up as git sees them */
	const char *patch;   /* what was changed of the one, into this file */
	const char *learned; /* what was learned, into this file; or NULL */
	bool keeps;          /* the sandbox goes on */
	bool json; /* one object instead of the command's own output */
	char **argv;
};

/* One run while it goes on. */
struct run {
	const struct cli *cli;
	struct run_options *o;
	const struct copy *patched; /* of which a patch is made; or NULL */
	char name[SANDBOX_NAME_SIZE];
	int hold_fd; /* closed: the sandbox ends */
	struct reply about;
	struct session *session;
	bool is_lost;   /* the session is: nothing more can be asked */
	bool is_shown;  /* progress, on a terminal */
	json_t *result; /* with --json, once the command is over */
};

static void
show(const struct run *r, const char *what)
{
	if (r->is_shown)
		(void)fprintf(stderr, "\r\033[Ktapward: %s", what);
}

static void
show_done(const struct run *r)
{
	if (r->is_shown)
		(void)fputs("\r\033[K", stderr);
}

static void
on_state(const struct frame_state *state, void *arg)
{
	const struct run *r = arg;

	if (state->state == FRAME_VM_BOOTING)
		show(r, "booting");
	else if (state->state == FRAME_VM_READY)
		show_done(r);
}

/* A name that nobody has: NAME, or "run-" and eight digits. */
static int
make_name(struct run *r, struct err *err)
{
	uint32_t number;

	if (r->o->create.name != NULL) {
		(void)snprintf(r->name, sizeof(r->name), "%s",
		    r->o->create.name);
		return 0;
	}
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return err_os(err, -errno, "a name");
	(void)snprintf(r->name, sizeof(r->name), "run-%08x", number);
	return 0;
}

/* The pipe whose end in the daemon reads an end when we are no more. */
static int
make_sandbox(struct run *r)
{
	struct create_options o = r->o->create;
	int fds[2], rc;

	o.name = r->name;
	if (r->o->keeps)
		return create_sandbox(r->cli, &o, &r->about);
	if (pipe2(fds, O_CLOEXEC) == -1)
		return CLI_FAILED;
	r->hold_fd = fds[1];
	o.hold_fd = fds[0];
	rc = create_sandbox(r->cli, &o, &r->about);
	(void)close(fds[0]);
	return rc;
}

static int
start(struct run *r)
{
	struct err err = { "" };
	json_t *about;
	int rc = guest_start(r->cli, r->name, &r->o->guest, &about);

	if (rc == 0) {
		json_decref(r->about.json);
		r->about.json = about;
		rc = session_open(r->cli, r->name, &r->session);
	}
	if (rc != 0)
		return rc;
	rc = session_await_ready(r->session, on_state, r, &err);
	show_done(r);
	return rc == 0 ? 0 : cli_fail(&err, GUEST_STATUS_OURS);
}

static int
copy_all(struct run *r, bool is_upload)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->o->copy_count; i++) {
		struct copy *c = &r->o->copies[i];

		if (c->is_upload == is_upload)
			rc = is_upload ? copy_up(r->session, c)
				       : copy_down(r->session, c);
	}
	return rc;
}

static int
run_command(struct run *r)
{
	const char *const *argv = (const char *const *)r->o->argv;
	struct guest_command c = { .env = NULL };
	struct session_end end;
	struct err err = { "" };
	int rc = command_make(&r->o->command, r->about.json, argv, &c, &err);

	if (rc == 0 && r->o->json)
		rc = capture_run(r->session, &c.c, (struct span){ NULL, 0 },
		    &end, &r->result, &err);
	else if (rc == 0)
		rc = session_run(r->session, &c.c, &end, &err);
	command_done(&c);
	if (rc == 0)
		return r->o->json ? session_status(&end)
				  : command_tell(&end, argv[0]);
	r->is_lost = true;
	return rc == -EINTR ? 128 + 2 : cli_fail(&err, GUEST_STATUS_OURS);
}

/* What was refused: to people, or into the object. */
static void
tell_refusals(const struct run *r)
{
	json_t *refusals = refusals_read(r->cli, r->name);

	if (r->result == NULL)
		refusals_tell(refusals);
	else if (refusals != NULL)
		(void)json_object_set(r->result, "refused", refusals);
	json_decref(refusals);
}

static int
keep_learned(const char *path, const char *policy)
{
	struct new_file file;
	struct err err;
	int rc = new_file_open(path, &file, &err);

	if (rc != 0)
		return cli_fail(&err, GUEST_STATUS_OURS);
	rc = fd_write_all(file.fd, policy, strlen(policy));
	rc =
	    rc == 0 ? new_file_keep(&file, &err) : err_os(&err, rc, "%s", path);
	new_file_done(&file);
	return rc == 0 ? 0 : cli_fail(&err, GUEST_STATUS_OURS);
}

/* While there is a log to learn from. */
static int
tell_learned(const struct run *r)
{
	AUTO_FREE char *policy = NULL;

	if (!r->o->create.learns)
		return 0;
	if (learned_policy(r->cli, r->name, &policy) != 0)
		return GUEST_STATUS_OURS;
	if (r->result != NULL)
		(void)json_object_set_new(r->result, "learned",
		    json_string(policy));
	if (r->o->learned != NULL)
		return keep_learned(r->o->learned, policy);
	if (r->result == NULL)
		(void)fprintf(stderr, "tapward: learned:\n%s", policy);
	return 0;
}

static void
print_result(const struct run *r)
{
	if (r->result == NULL)
		return;
	(void)json_object_set_new(r->result, "sandbox", json_string(r->name));
	(void)json_object_set(r->result, "policy_digest",
	    json_object_get(r->about.json, "policy_digest"));
	output_json(r->result);
	json_decref(r->result);
}

/* Before we say that it is over: nothing of it is there any more. */
static void
end_sandbox(struct run *r)
{
	session_close(r->session);
	if (r->about.json == NULL)
		return;
	if (r->o->keeps)
		(void)fprintf(stderr,
		    "tapward: %s goes on; tapward rm %s ends it\n", r->name,
		    r->name);
	else
		remove_sandbox(r->cli, r->name);
	reply_done(&r->about);
	fd_close(&r->hold_fd);
}

/* What can be told before anything is started. */
static int
check(struct run *r)
{
	struct run_options *o = r->o;
	struct err err = { "" };
	int rc = o->patch == NULL ? 0 : new_file_check(o->patch, &err);

	if (rc == 0 && o->learned != NULL)
		rc = new_file_check(o->learned, &err);
	if (rc != 0)
		return cli_fail(&err, GUEST_STATUS_OURS);
	for (size_t i = 0; i < o->copy_count; i++) {
		struct copy *c = &o->copies[i];

		c->is_git = o->is_git;
		c->keeps = o->patch != NULL;
		if (copy_check(c) != 0)
			return GUEST_STATUS_OURS;
		if (c->view == NULL)
			continue;
		if (o->guest.commit == NULL && *copy_commit(c) != '\0')
			o->guest.commit = copy_commit(c);
		if (r->patched != NULL && o->patch != NULL)
			return cli_usage("run",
			    "--patch is of one folder, and two go up");
		r->patched = c;
	}
	return o->patch == NULL || r->patched != NULL
	    ? 0
	    : cli_usage("run",
		  "--patch needs --git and a folder with --upload");
}

/* What comes back: files, then what was changed. */
static int
bring_back(struct run *r)
{
	int rc;

	if (r->is_lost)
		return 0;
	rc = copy_all(r, false);
	return rc == 0 && r->o->patch != NULL
	    ? copy_patch(r->session, r->patched, r->o->patch)
	    : rc;
}

static int
run(const struct cli *cli, struct run_options *o)
{
	struct run r = {
		.cli = cli,
		.o = o,
		.hold_fd = -1,
		.about = { .fd = -1 },
		.is_shown = isatty(STDERR_FILENO) == 1,
	};
	struct err err = { "" };
	int status, learned, rc = make_name(&r, &err);

	if (rc != 0)
		return cli_fail(&err, GUEST_STATUS_OURS);
	status = check(&r);
	if (status == 0)
		status = make_sandbox(&r);
	if (status == 0)
		status = start(&r);
	if (status == 0)
		status = copy_all(&r, true);
	if (status != 0) {
		end_sandbox(&r);
		return status == CLI_NO_DAEMON || status == CLI_USAGE
		    ? status
		    : GUEST_STATUS_OURS;
	}
	status = run_command(&r);
	rc = bring_back(&r);
	tell_refusals(&r);
	learned = tell_learned(&r);
	print_result(&r);
	end_sandbox(&r);
	if (rc == 0)
		rc = learned;
	return rc == 0 ? status : rc;
}

static bool
add_copy(struct run_options *o, char *text, bool is_upload)
{
	return o->copy_count < COPIES_MAX &&
	    copy_parse(text, is_upload, &o->copies[o->copy_count++]);
}

/* False for what is no option of ours, or a bad value. */
static bool
take_option(struct run_options *o, int opt)
{
	switch (opt) {
	case 'p':
		o->create.policy = optarg;
		return true;
	case 'n':
		o->create.name = optarg;
		return sandbox_name_is_valid(optarg);
	case 'u':
		return add_copy(o, optarg, true);
	case 'd':
		return add_copy(o, optarg, false);
	case 'k':
		o->keeps = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	case 'g':
		o->is_git = true;
		return true;
	case 'P':
		o->patch = optarg;
		return true;
	case 'l':
		o->create.learns = true;
		o->learned = optarg;
		return true;
	default:
		return guest_take_option(&o->guest, opt, optarg) ||
		    command_take_option(&o->command, opt, optarg);
	}
}

int
cmd_run(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "policy", required_argument, NULL, 'p' },
		{ "name", required_argument, NULL, 'n' },
		{ "upload", required_argument, NULL, 'u' },
		{ "download", required_argument, NULL, 'd' },
		{ "keep", no_argument, NULL, 'k' },
		{ "json", no_argument, NULL, 'j' },
		{ "git", no_argument, NULL, 'g' },
		{ "patch", required_argument, NULL, 'P' },
		{ "learn", optional_argument, NULL, 'l' },
		GUEST_OPTIONS,
		COMMAND_OPTIONS,
		{ NULL, 0, NULL, 0 },
	};
	struct run_options o = { .create = { .hold_fd = -1 },
		.guest = { .image = IMAGE_DEFAULT } };
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "+", options, NULL)) != -1)
		if (!take_option(&o, opt)) {
			command_options_done(&o.command);
			return cli_usage("run", "see tapward(1)");
		}
	if (optind >= argc) {
		command_options_done(&o.command);
		return cli_usage("run", "-- and the command are missing");
	}
	o.argv = argv + optind;
	rc = run(cli, &o);
	for (size_t i = 0; i < o.copy_count; i++)
		copy_done(&o.copies[i]);
	command_options_done(&o.command);
	return rc;
}
