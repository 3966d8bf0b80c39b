/*
 * Giving away what a program does not need, see confine.h. Each step dies when
 * it fails and is looked at again at the end: setresuid() that did nothing, or
 * a capability that stayed, must not pass unseen.
 */
#include "base/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <seccomp.h>

#include "base/log.h"

#define AREA "confine"
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* What every program of ours needs once it runs. */
static const struct confine_call common[] = {
	/* memory; what could make code of it is in limited[] */
	{ "brk", "malloc" },
	{ "munmap", "malloc, secrets, mapped policies" },
	{ "mremap", "realloc of a large block" },
	{ "madvise", "free; secrets are left out of core files" },
	{ "sysinfo", "qsort() of glibc asks how much memory there is" },
	{ "mlock", "secrets" },
	{ "munlock", "secrets" },
	/* locks of libc and OpenSSL */
	{ "futex", "locks within the C library" },
	{ "sched_yield", "spinning on such a lock" },
	/* time, where the vDSO cannot tell it */
	{ "clock_gettime", "time" },
	{ "gettimeofday", "time" },
	{ "time", "time" },
	/* the event loop */
	{ "epoll_create1", "an event loop" },
	{ "epoll_ctl", "the event loop" },
	{ "epoll_wait", "the event loop" },
	{ "epoll_pwait", "epoll_wait where the machine has none" },
	{ "epoll_pwait2", "epoll_wait with a finer time-out" },
	{ "eventfd2", "waking an event loop" },
	{ "timerfd_create", "an event loop with precise timers" },
	{ "timerfd_settime", "an event loop with precise timers" },
	/* descriptors we already have */
	{ "read", "any descriptor" },
	{ "readv", "any descriptor" },
	{ "write", "any descriptor, the log" },
	{ "writev", "any descriptor" },
	{ "recvmsg", "channels" },
	{ "recvfrom", "recv() on a socket that was handed to us" },
	{ "getsockopt", "who is at the other end; errors of a socket" },
	{ "close", "any descriptor" },
	{ "lseek", "size of a memfd" },
	{ "fstat", "size of a memfd" },
	{ "newfstatat", "fstat(), as glibc calls it since 2.33" },
	/* the rest */
	{ "getrandom", "keys, ids" },
	{ "getpid", "the C library, in abort()" },
	{ "gettid", "the C library, in abort()" },
	{ "rt_sigaction", "signals" },
	{ "rt_sigprocmask", "signals" },
	{ "rt_sigreturn", "the end of a signal handler" },
	{ "restart_syscall", "a call that a stop signal interrupted" },
	{ "exit", "the end" },
	{ "exit_group", "the end" },
};

/* An int argument: the kernel ignores the register's upper half. */
#define INT_MASK 0xffffffffULL

/*
 * MSG_FASTOPEN makes a connect() of a send: a process that may not connect
 * could, by it, use a connection that has ended to go elsewhere.
 */
static const struct confine_limited limited[] = {
	{ "sendmsg", 2, MSG_FASTOPEN, 0, "channels" },
	{ "sendto", 3, MSG_FASTOPEN, 0, "send() on a socket that we have" },
	{ "mmap", 2, PROT_EXEC, 0, "memory that is not code" },
	{ "mprotect", 2, PROT_EXEC, 0, "memory that is not code" },
	{ "fcntl", 1, INT_MASK, F_GETFD, "descriptors" },
	{ "fcntl", 1, INT_MASK, F_SETFD, "descriptors" },
	{ "fcntl", 1, INT_MASK, F_GETFL, "descriptors" },
	{ "fcntl", 1, INT_MASK, F_SETFL, "non-blocking descriptors" },
	{ "fcntl", 1, INT_MASK, F_DUPFD_CLOEXEC, "descriptors in a queue" },
	{ "fcntl", 1, INT_MASK, F_GET_SEALS, "is a policy sealed?" },
};

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN
#endif

#ifdef HAS_ASAN
/* What the sanitizer's own code calls while the program runs. */
static const struct confine_call sanitizer[] = {
	{ "sigaltstack", "the sanitizer, as a thread ends" },
	{ "prctl", "the sanitizer names its mappings" },
	{ "openat", "the sanitizer writes a report" },
	{ "readlink", "the sanitizer writes a report" },
};
#endif

static void
need(bool is_ok, const char *step)
{
	if (!is_ok)
		die(AREA, "step=%s errno=%s", step, strerrorname_np(errno));
}

static void
enter_root(int root_fd)
{
	if (root_fd == -1)
		return;
	need(fchdir(root_fd) == 0, "fchdir");
	need(chroot(".") == 0, "chroot");
	need(chdir("/") == 0, "chdir");
	/* A folder that stays open is a way to folders. */
	need(close(root_fd) == 0, "close");
}

/* Before the uid goes: dropping from the bounding set wants CAP_SETPCAP. */
static void
drop_bounding_caps(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		need(prctl(PR_CAPBSET_DROP, cap) == 0, "capbset");
}

static void
drop_caps(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
		0 };
	const struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };

	need(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0,
	    "ambient");
	need(syscall(SYS_capset, &head, none) == 0, "capset");
}

static void
take_ids(uid_t uid, gid_t gid)
{
	if (uid == 0 || gid == 0)
		die(AREA, "step=ids uid=%u gid=%u: root is refused", uid, gid);
	need(setgroups(0, NULL) == 0, "setgroups");
	need(setresgid(gid, gid, gid) == 0, "setresgid");
	need(setresuid(uid, uid, uid) == 0, "setresuid");
}

static void
check_ids(uid_t uid, gid_t gid)
{
	uid_t u[3];
	gid_t g[3];

	need(getresuid(&u[0], &u[1], &u[2]) == 0, "getresuid");
	need(getresgid(&g[0], &g[1], &g[2]) == 0, "getresgid");
	for (int i = 0; i < 3; i++)
		need(u[i] == uid && g[i] == gid, "check ids");
	need(setuid(0) == -1 && setgid(0) == -1, "check no way back");
}

/* None, or for whom a service manager started, the one that it has anyway. */
static void
check_groups(bool may_name_own)
{
	gid_t group;
	const int count = getgroups(0, NULL);

	if (may_name_own && count == 1)
		need(getgroups(1, &group) == 1 && group == getgid(),
		    "check own group");
	else
		need(count == 0, "check groups");
}

static void
check_caps(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3,
		0 };
	struct __user_cap_data_struct caps[2] = { { 0 }, { 0 } };

	need(syscall(SYS_capget, &head, caps) == 0, "capget");
	for (int i = 0; i < 2; i++)
		need(caps[i].effective == 0 && caps[i].permitted == 0 &&
			caps[i].inheritable == 0,
		    "check caps");
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		need(prctl(PR_CAPBSET_READ, cap) == 0, "check bounding");
}

static void
check_process(void)
{
	struct rlimit core;

	need(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 &&
		core.rlim_max == 0,
	    "check core");
	need(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "check nnp");
	need(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "check dumpable");
}

void
confine_enter(int root_fd, uid_t uid, gid_t gid)
{
	const struct rlimit none = { 0, 0 };

	(void)umask(077);
	need(setrlimit(RLIMIT_CORE, &none) == 0, "core");
	enter_root(root_fd);
	drop_bounding_caps();
	take_ids(uid, gid);
	drop_caps();
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "nnp");
	/* After the ids: setresuid() sets it anew. */
	need(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
	check_ids(uid, gid);
	check_groups(false);
	check_caps();
	check_process();
}

void
confine_enter_given(void)
{
	const struct rlimit none = { 0, 0 };
	const uid_t uid = getuid();
	const gid_t gid = getgid();

	if (uid == 0 || gid == 0)
		die(AREA,
		    "step=ids: the unit must have a user that is not root");
	(void)umask(077);
	need(setrlimit(RLIMIT_CORE, &none) == 0, "core");
	need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "nnp");
	need(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "dumpable");
	check_ids(uid, gid);
	check_groups(true);
	check_caps();
	check_process();
}

/* The number of a call; a name that nobody knows is a slip in a table. */
static int
number_of(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	if (nr == __NR_SCMP_ERROR)
		die(AREA, "step=resolve call=%s", name);
	return nr;
}

static void
allow(scmp_filter_ctx ctx, const struct confine_call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int rc = seccomp_rule_add(ctx, SCMP_ACT_ALLOW,
		    number_of(calls[i].name), 0);

		if (rc != 0)
			die(AREA, "step=allow call=%s rc=%d", calls[i].name,
			    rc);
	}
}

static void
allow_if(scmp_filter_ctx ctx, const struct confine_limited *l)
{
	const struct scmp_arg_cmp cmp = { .arg = l->arg,
		.op = SCMP_CMP_MASKED_EQ,
		.datum_a = l->mask,
		.datum_b = l->value };
	int rc = seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, number_of(l->name),
	    1, &cmp);

	if (rc != 0)
		die(AREA, "step=allow call=%s rc=%d", l->name, rc);
}

/*
 * The C library reads the time zone when a time is first taken apart, which
 * OpenSSL does to make and to check a certificate; that would be an open().
 */
static void
load_time_zone(void)
{
	need(setenv("TZ", "UTC0", 1) == 0, "setenv");
	tzset();
}

static uint32_t
refusal(void)
{
#ifdef TAPWARD_SECCOMP_LOG
	const char *mode = getenv("TAPWARD_SECCOMP");

	if (mode != NULL && strcmp(mode, "log") == 0) {
		log_warn(AREA, "the system call filter only logs");
		return SCMP_ACT_LOG;
	}
#endif
	return SCMP_ACT_KILL_PROCESS;
}

void
confine_seal(const struct confine_profile *profile)
{
	const uint32_t action = refusal();
	const struct confine_limited abort_self = { "tgkill", 0, INT_MASK,
		(uint64_t)getpid(), "abort()" };
	scmp_filter_ctx ctx = seccomp_init(action);
	int rc;

	load_time_zone();
	if (ctx == NULL)
		die(AREA, "step=seccomp_init program=%s", profile->program);
	/* Calls of another ABI have other numbers for the same names. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, action);
	/* A tree instead of a list: fewer steps in each call. */
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc != 0)
		die(AREA, "step=seccomp_attr rc=%d", rc);
	allow(ctx, common, COUNT(common));
	allow(ctx, profile->calls, profile->call_count);
	for (size_t i = 0; i < COUNT(limited); i++)
		allow_if(ctx, &limited[i]);
	for (size_t i = 0; i < profile->limited_count; i++)
		allow_if(ctx, &profile->limited[i]);
	allow_if(ctx, &abort_self);
#ifdef HAS_ASAN
	allow(ctx, sanitizer, COUNT(sanitizer));
#endif
	rc = seccomp_load(ctx);
	if (rc != 0)
		die(AREA, "step=seccomp_load program=%s rc=%d",
		    profile->program, rc);
	seccomp_release(ctx);
}

static bool
has_call(const struct confine_call *calls, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(calls[i].name, name) == 0)
			return true;
	return false;
}

bool
confine_allows(const struct confine_profile *profile, const char *name)
{
	for (size_t i = 0; i < COUNT(limited); i++)
		if (strcmp(limited[i].name, name) == 0)
			return true;
	for (size_t i = 0; i < profile->limited_count; i++)
		if (strcmp(profile->limited[i].name, name) == 0)
			return true;
#ifdef HAS_ASAN
	if (has_call(sanitizer, COUNT(sanitizer), name))
		return true;
#endif
	return has_call(common, COUNT(common), name) ||
	    has_call(profile->calls, profile->call_count, name) ||
	    strcmp(name, "tgkill") == 0;
}
