/*
 * tapward-broker itself, sealed: each way that a lease can take is gone once
 * under its system call filter, and what holds the value is out of reach.
 */
#include "tests/unit/mint_support.h"
#include "tests/unit/program_support.h"

#include <signal.h>
#include <sys/wait.h>

static void
assert_refused(pid_t pid, const char *file)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	assert_int_equal(seteuid(2130000002), 0);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(fd, -1);
}

static void
leases_under_its_filter(void **state)
{
	int fd;
	struct world *w = world_new_bare(&fd);
	struct program p = program_start(TAPWARD_BROKER_PROGRAM, fd);

	(void)state;
	configure(w, CANARY "\n");
	attach(w, "ci-one");
	assert_string_equal(ask_npm(w)->value, CANARY);
	assert_string_equal(ask_free(w)->value, CANARY "-free");
	assert_int_equal(ask(w, "npm", "two.acme.example", "/")->reason,
	    REASON_CREDENTIAL_MISUSE);
	send_definition_from(w, npm(), file_with_mode(0644));
	send_configured(w, 1);
	assert_false(w->done.ok);
	send_definition_from(w, npm(), file_with_mode(0400));
	send_configured(w, 1);
	assert_true(w->done.ok);
	assert_string_equal(ask_npm(w)->value, CANARY);
	send_configured(w, 0);
	wait_for_count(w, &w->revoked_count, 2);
	assert_refused(p.pid, "mem");
	assert_refused(p.pid, "maps");
	assert_refused(p.pid, "environ");
	program_end(&p);
	world_free(w);
}

static struct program
program_with(struct world *w, int fd, struct issuer *issuer,
    const char *const *script, const int files[2])
{
	struct program p = program_start(TAPWARD_BROKER_PROGRAM, fd);

	issuer_init(issuer, w->base, script);
	send_journal(w, files);
	send_upstream(w);
	send_definition(w, minted(issuer), SECRET "\n");
	send_configured(w, 1);
	assert_true(w->done.ok);
	return p;
}

/* By itself, and with 0: no call that its filter lacks, on the way out. */
static void
assert_ends(struct program *p)
{
	siginfo_t info = { 0 };

	assert_int_equal(waitid(P_PIDFD, (id_t)p->pidfd, &info,
			     WEXITED | WNOWAIT),
	    0);
	assert_int_equal(info.si_code, CLD_EXITED);
	assert_int_equal(info.si_status, 0);
	program_end(p);
}

static const char *const life[] = { TOKEN("token-number-one", "600"),
	"HTTP/1.1 200 OK\r\n\r\n", NULL };

/* With its own sockets, and back to the issuer when it is told to end. */
static void
mints_under_its_filter_and_gives_back_at_its_end(void **state)
{
	int fd, files[2];
	struct issuer issuer;
	struct program p;
	struct world *w;

	(void)state;
	journal_files(files);
	w = world_new_bare(&fd);
	p = program_with(w, fd, &issuer, life, files);
	attach(w, "ci-one");
	assert_string_equal(ask_free(w)->value, "token-number-one");
	assert_int_equal(kill(p.pid, SIGTERM), 0);
	wait_for_count(w, &issuer.count, 2);
	assert_non_null(strstr(issuer.last, "token=token-number-one"));
	assert_ends(&p);
	issuer_done(&issuer);
	world_free(w);
	(void)close(files[0]);
	(void)close(files[1]);
}

/* As `systemctl restart` has it: gates are left to wait for the next one. */
static void
ends_with_a_sandbox_and_its_lease(void **state)
{
	int fd;
	struct world *w = world_new_bare(&fd);
	struct program p = program_start(TAPWARD_BROKER_PROGRAM, fd);

	(void)state;
	configure(w, CANARY "\n");
	attach(w, "ci-one");
	assert_string_equal(ask_npm(w)->value, CANARY);
	assert_int_equal(kill(p.pid, SIGTERM), 0);
	assert_ends(&p);
	world_free(w);
}

/* kill -9: the one that follows gives back what this one had. */
static void
gives_back_what_a_killed_one_had(void **state)
{
	static const char *const back[] = { "HTTP/1.1 200 OK\r\n\r\n", NULL };
	int fd, files[2];
	struct issuer issuer;
	struct program p;
	struct world *w;

	(void)state;
	journal_files(files);
	w = world_new_bare(&fd);
	p = program_with(w, fd, &issuer, life, files);
	attach(w, "ci-one");
	assert_string_equal(ask_free(w)->value, "token-number-one");
	assert_int_equal(issuer.count, 1);
	program_end(&p);
	issuer_done(&issuer);
	world_free(w);
	for (int i = 0; i < 2; i++)
		assert_int_equal(lseek(files[i], 0, SEEK_SET), 0);
	w = world_new_bare(&fd);
	p = program_with(w, fd, &issuer, back, files);
	/* Sealed by the secrets of the same credential, whose port differs. */
	wait_for_count(w, &issuer.count, 1);
	assert_non_null(strstr(issuer.last, "POST /revoke "));
	assert_non_null(strstr(issuer.last, "token=token-number-one"));
	program_end(&p);
	issuer_done(&issuer);
	world_free(w);
	(void)close(files[0]);
	(void)close(files[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    mints_under_its_filter_and_gives_back_at_its_end),
		cmocka_unit_test(gives_back_what_a_killed_one_had),
		cmocka_unit_test(leases_under_its_filter),
		cmocka_unit_test(ends_with_a_sandbox_and_its_lease),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
