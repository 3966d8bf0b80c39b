#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <seccomp.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/secret.h"

/* What a child exits with: nothing went wrong, something did, by die(). */
#define FINE 0
#define WRONG 1
#define DIED 70

#define TEST_ID 2147480000

static const struct confine_profile bare = { .program = "test" };

/* Runs act() in a child; its wait status. */
static int
status_of(void (*act)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status;
	pid_t pid = fork();

	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		AUTO_CLOSE int quiet = open("/dev/null", O_WRONLY);

		(void)dup2(quiet, STDERR_FILENO);
		(void)setrlimit(RLIMIT_CORE, &no_core);
		(void)alarm(60);
		act();
		_exit(FINE);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
assert_fine(void (*act)(void))
{
	int status = status_of(act);

	assert_false(WIFSIGNALED(status));
	assert_int_equal(WEXITSTATUS(status), FINE);
}

static void
assert_killed(void (*act)(void), int signo)
{
	int status = status_of(act);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), signo);
}

static void
assert_refused(void (*act)(void))
{
	int status = status_of(act);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), DIED);
}

static void
require(bool claim)
{
	if (!claim)
		_exit(WRONG);
}

/* /proc/self/status has this line. */
static void
require_status(const char *line)
{
	AUTO_CLOSE int fd = open("/proc/self/status", O_RDONLY);
	AUTO_FREE char *text = NULL;
	size_t len;

	require(fd_read_all(fd, 65536, &text, &len) == 0);
	require(strstr(text, line) != NULL);
}

static void
enter_and_look(void)
{
	const gid_t groups[] = { 4, 24 };
	struct rlimit core;

	require(setgroups(2, groups) == 0);
	confine_enter(-1, TEST_ID, TEST_ID + 1);
	require_status("\nUid:\t2147480000\t2147480000\t2147480000\t2147480000"
		       "\n");
	require_status("\nGid:\t2147480001\t2147480001\t2147480001\t2147480001"
		       "\n");
	require_status("\nGroups:\t \n");
	require_status("\nCapInh:\t0000000000000000\n");
	require_status("\nCapPrm:\t0000000000000000\n");
	require_status("\nCapEff:\t0000000000000000\n");
	require_status("\nCapBnd:\t0000000000000000\n");
	require_status("\nCapAmb:\t0000000000000000\n");
	require_status("\nNoNewPrivs:\t1\n");
	require(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0);
	require(umask(0) == 077);
	/* Not dumpable: what would show our memory belongs to root. */
	require(open("/proc/self/mem", O_RDONLY) == -1 && errno == EACCES);
}

static void
entering_gives_all_away(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	assert_fine(enter_and_look);
}

static char empty_dir[] = "/tmp/tapward-confine-XXXXXX";

static void
enter_root_and_look(void)
{
	int fd = open(empty_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	require(fd != -1);
	confine_enter(fd, TEST_ID, TEST_ID);
	require(fcntl(fd, F_GETFD) == -1);
	require(access("/", F_OK) == 0);
	require(access("/etc", F_OK) == -1 && errno == ENOENT);
	require(access("/proc", F_OK) == -1 && errno == ENOENT);
	require(access("../../../../etc", F_OK) == -1 && errno == ENOENT);
}

static void
entering_an_empty_root_leaves_no_files(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip();
	assert_non_null(mkdtemp(empty_dir));
	assert_int_equal(chmod(empty_dir, 0755), 0);
	assert_fine(enter_root_and_look);
	assert_int_equal(rmdir(empty_dir), 0);
}

static void
enter_as_root(void)
{
	confine_enter(-1, 0, TEST_ID);
}

static void
enter_as_root_group(void)
{
	confine_enter(-1, TEST_ID, 0);
}

static void
enter_without_a_root(void)
{
	int fd = open("/dev/null", O_RDONLY);

	confine_enter(fd, TEST_ID, TEST_ID);
}

static void
enter_without_privilege(void)
{
	if (getuid() == 0)
		require(setresuid(TEST_ID, TEST_ID, TEST_ID) == 0);
	confine_enter(-1, TEST_ID, TEST_ID);
}

static void
what_cannot_be_confined_does_not_run(void **state)
{
	(void)state;
	assert_refused(enter_as_root);
	assert_refused(enter_as_root_group);
	assert_refused(enter_without_a_root);
	assert_refused(enter_without_privilege);
}

static void
seal(void)
{
	confine_seal(&bare);
}

/* Each makes one call that no program is given. */
static void
call_socket(void)
{
	seal();
	(void)socket(AF_INET, SOCK_STREAM, 0);
}

static void
call_open(void)
{
	seal();
	(void)open("/dev/null", O_RDONLY);
}

static void
map_code(void)
{
	seal();
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void
make_code(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	seal();
	(void)mprotect(p, 4096, PROT_READ | PROT_EXEC);
}

static void
own_a_descriptor_for_signals(void)
{
	seal();
	(void)fcntl(0, F_SETOWN, getppid());
}

static void
signal_another(void)
{
	pid_t parent = getppid();

	seal();
	(void)syscall(SYS_tgkill, parent, parent, 0);
}

static void
set_a_seal(void)
{
	seal();
	(void)fcntl(0, F_ADD_SEALS, F_SEAL_WRITE);
}

/* On no descriptor: sent or not, it must not come to that. */
static void
send_and_connect(void)
{
	seal();
	(void)sendto(-1, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, NULL, 0);
}

static void
send_a_message_and_connect(void)
{
	struct msghdr m = { .msg_iovlen = 0 };

	seal();
	(void)sendmsg(-1, &m, MSG_FASTOPEN);
}

static void
send_without(void)
{
	struct msghdr m = { .msg_iovlen = 0 };

	seal();
	require(sendto(-1, "x", 1, MSG_NOSIGNAL, NULL, 0) == -1);
	require(sendmsg(-1, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == -1);
	require(errno == EBADF);
}

static void
a_send_does_not_connect(void **state)
{
	(void)state;
	assert_killed(send_and_connect, SIGSYS);
	assert_killed(send_a_message_and_connect, SIGSYS);
	assert_fine(send_without);
}

#ifdef __x86_64__
static void
call_x32(void)
{
	seal();
	(void)syscall(0x40000000L | SYS_getpid);
}
#endif

static void
what_is_not_listed_kills(void **state)
{
	(void)state;
	assert_killed(call_socket, SIGSYS);
	assert_killed(map_code, SIGSYS);
	assert_killed(make_code, SIGSYS);
	assert_killed(own_a_descriptor_for_signals, SIGSYS);
	assert_killed(signal_another, SIGSYS);
	assert_killed(set_a_seal, SIGSYS);
#ifdef __x86_64__
	assert_killed(call_x32, SIGSYS);
#endif
	if (!confine_allows(&bare, "openat")) /* a sanitizer wants it */
		assert_killed(call_open, SIGSYS);
}

static int probed;

static void
probe(void)
{
	/* Should it pass after all, it shall do no harm and not wait. */
	if (getuid() == 0)
		require(setresuid(TEST_ID, TEST_ID, TEST_ID) == 0);
	seal();
	(void)syscall(probed, -1L, -1L, -1L, -1L, -1L, -1L);
}

/*
 * uretprobe and uprobe of x86: kernels from 6.14 on never filter them, as they
 * do nothing but for a probe that root has set (kernel/seccomp.c).
 */
static bool
kernel_exempts(int nr)
{
#ifdef __x86_64__
	return nr == 335 || nr == 336;
#else
	(void)nr;
	return false;
#endif
}

static void
nothing_but_what_is_listed_passes(void **state)
{
	int tried = 0;

	(void)state;
	for (probed = 0; probed < 512; probed++) {
		AUTO_FREE char *name =
		    seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, probed);

		if (kernel_exempts(probed) ||
		    (name != NULL && confine_allows(&bare, name)))
			continue;
		if (WTERMSIG(status_of(probe)) != SIGSYS)
			fail_msg("call %d (%s) passed", probed,
			    name != NULL ? name : "without a name");
		tried++;
	}
	assert_in_range(tried, 300, 512);
}

static void
call_what_the_profile_lists(void)
{
	static const struct confine_call calls[] = {
		{ "socket", "the test" },
	};
	static const struct confine_profile profile = { .program = "test",
		.calls = calls,
		.call_count = 1 };

	confine_seal(&profile);
	require(socket(AF_UNIX, SOCK_STREAM, 0) != -1);
}

static void
a_profile_adds_its_calls(void **state)
{
	(void)state;
	assert_fine(call_what_the_profile_lists);
}

static void
list_what_does_not_exist(void)
{
	static const struct confine_call calls[] = { { "sockett", "a slip" } };
	static const struct confine_profile profile = { .program = "test",
		.calls = calls,
		.call_count = 1 };

	confine_seal(&profile);
}

static void
a_slip_in_a_profile_shows(void **state)
{
	(void)state;
	assert_refused(list_what_does_not_exist);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	int *count = arg;

	(void)fd;
	(void)what;
	(*count)++;
}

static void
on_usr1(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)event_base_loopbreak(arg);
}

/* An event loop with a timer, a descriptor and a signal, after sealing. */
static void
run_a_loop(void)
{
	struct event_base *base = event_base_new();
	const struct timeval soon = { 0, 1000 };
	struct event *timer, *sig;
	int count = 0, ends[2];

	require(pipe(ends) == 0);
	seal();
	timer = event_new(base, ends[0], EV_READ, on_time, &count);
	require(event_add(timer, &soon) == 0);
	require(event_base_dispatch(base) >= 0 && count == 1);
	require(write(ends[1], "x", 1) == 1);
	require(event_add(timer, NULL) == 0);
	require(event_base_loop(base, EVLOOP_ONCE) == 0 && count == 2);
	event_free(timer);
	sig = evsignal_new(base, SIGUSR1, on_usr1, base);
	require(event_add(sig, NULL) == 0);
	require(syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1) == 0);
	require(event_base_dispatch(base) == 0);
	event_free(sig);
	event_base_free(base);
}

static void
do_daily_work(void)
{
	struct secret s = SECRET_NONE;
	char text[CLOCK_TEXT_SIZE];
	char *big, *bigger;
	time_t now = 86400;
	struct tm tm;

	seal();
	require(gmtime_r(&now, &tm) != NULL && tm.tm_mday == 2);
	require(localtime_r(&now, &tm) != NULL && tm.tm_hour == 0);
	require(mktime(&tm) == now);
	(void)clock_text(clock_wall_ms(), text);
	log_init("test", LOG_LEVEL_INFO);
	log_info("test", "time=%s", text);
	require(secret_set(&s, "token", 5) == 0);
	secret_done(&s);
	big = malloc(1 << 20);
	require(big != NULL);
	bigger = realloc(big, 1 << 24);
	require(bigger != NULL);
	free(bigger);
	require(fcntl(0, F_DUPFD_CLOEXEC, 10) != -1);
	require(fd_set_nonblock(0, true) == 0);
}

static void
call_abort(void)
{
	seal();
	abort();
}

static void
what_every_program_needs_passes(void **state)
{
	(void)state;
	assert_fine(run_a_loop);
	assert_fine(do_daily_work);
	assert_killed(call_abort, SIGABRT);
}

static void
only_a_development_build_logs_instead(void **state)
{
	int status;

	(void)state;
	assert_int_equal(setenv("TAPWARD_SECCOMP", "log", 1), 0);
	status = status_of(call_socket);
	assert_int_equal(unsetenv("TAPWARD_SECCOMP"), 0);
	if (TEST_SECCOMP_LOG)
		assert_true(WIFEXITED(status));
	else
		assert_int_equal(WTERMSIG(status), SIGSYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entering_gives_all_away),
		cmocka_unit_test(entering_an_empty_root_leaves_no_files),
		cmocka_unit_test(what_cannot_be_confined_does_not_run),
		cmocka_unit_test(what_is_not_listed_kills),
		cmocka_unit_test(a_send_does_not_connect),
		cmocka_unit_test(nothing_but_what_is_listed_passes),
		cmocka_unit_test(a_profile_adds_its_calls),
		cmocka_unit_test(a_slip_in_a_profile_shows),
		cmocka_unit_test(what_every_program_needs_passes),
		cmocka_unit_test(only_a_development_build_logs_instead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
