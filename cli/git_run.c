/* See git_run.h. */
#include "cli/git_run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/git_repo.h"

#define ARGS_MAX 32
#define ENV_MAX 24
#define DEPTH_FDS 16
/*
 * A large repository takes seconds; a FIFO that is called .gitignore, for ever.
 */
#define RUN_CPU_S 120
#define RUN_MS 600000
#define LOOK_MS 100
#define SAID_MAX 4096

/* Our own, over whatever the caller's configuration says. */
static const char *const always[] = {
	"-c",
	"core.fsmonitor=false",
	"-c",
	"core.untrackedCache=false",
	"-c",
	"core.hooksPath=/dev/null",
	"-c",
	"core.attributesFile=/dev/null",
	"-c",
	"core.compression=1",
};

/* What of our environment git needs; and what keeps it at home. */
static const char *const kept[] = { "HOME", "XDG_CONFIG_HOME", "PATH" };
static const char *const fixed[] = {
	"LC_ALL=C",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_NO_LAZY_FETCH=1",
	"GIT_ALLOW_PROTOCOL=",
	"GIT_TERMINAL_PROMPT=0",
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path) == -1 && errno != ENOENT ? -1 : 0;
}

void
git_scratch_done(struct git_scratch *s)
{
	if (s->folder[0] == '\0')
		return;
	(void)nftw(s->folder, remove_one, DEPTH_FDS, FTW_DEPTH | FTW_PHYS);
	s->folder[0] = '\0';
	(void)sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
}

int
git_scratch_folders(const struct git_scratch *s, const char *to)
{
	char path[PATH_MAX];
	char *p = path + strlen(s->folder) + 1;
	int rc = git_path_join(path, sizeof(path), s->folder, to);

	for (; rc == 0 && (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(path, 0700) == -1 && errno != EEXIST)
			rc = -errno;
		*p = '/';
	}
	return rc;
}

static int
write_file(const struct git_scratch *s, const char *to, const char *text)
{
	AUTO_CLOSE int fd = -1;
	int rc = git_scratch_create(s, to, &fd);

	return rc == 0 ? fd_write_all(fd, text, strlen(text)) : rc;
}

static int
fill(const struct git_scratch *s, bool is_sha256)
{
	static const char *const folders[] = { "dir/objects/", "dir/refs/",
		"tree/" };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < COUNT(folders); i++)
		rc = git_scratch_folders(s, folders[i]);
	if (rc == 0)
		rc = write_file(s, "dir/HEAD", "ref: refs/heads/none\n");
	if (rc == 0)
		rc = write_file(s, "dir/config",
		    is_sha256 ? "[core]\nrepositoryformatversion = 1\n"
				"[extensions]\nobjectFormat = sha256\n"
			      : "[core]\nrepositoryformatversion = 0\n");
	return rc;
}

int
git_scratch_init(struct git_scratch *s, bool is_sha256, struct err *err)
{
	sigset_t waiting;
	int rc;

	*s = (struct git_scratch){ .folder = "/tmp/tapward-git-XXXXXX" };
	(void)sigemptyset(&waiting);
	(void)sigaddset(&waiting, SIGINT);
	(void)sigaddset(&waiting, SIGTERM);
	(void)sigaddset(&waiting, SIGHUP);
	(void)sigaddset(&waiting, SIGQUIT);
	(void)sigprocmask(SIG_BLOCK, &waiting, &s->signals_before);
	if (mkdtemp(s->folder) == NULL) {
		rc = err_os(err, -errno, "a folder in /tmp");
		(void)sigprocmask(SIG_SETMASK, &s->signals_before, NULL);
		s->folder[0] = '\0';
		return rc;
	}
	(void)snprintf(s->dir, sizeof(s->dir), "%s/dir", s->folder);
	(void)snprintf(s->tree, sizeof(s->tree), "%s/tree", s->folder);
	rc = fill(s, is_sha256);
	if (rc == 0)
		return 0;
	rc = err_os(err, rc, "%s", s->folder);
	git_scratch_done(s);
	return rc;
}

int
git_scratch_create(const struct git_scratch *s, const char *to, int *ret_fd)
{
	char path[PATH_MAX];
	int rc = git_scratch_folders(s, to);

	if (rc == 0)
		rc = git_path_join(path, sizeof(path), s->folder, to);
	if (rc != 0)
		return rc;
	*ret_fd = open(path,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return *ret_fd == -1 ? -errno : 0;
}

int
git_scratch_copy(const struct git_scratch *s, const char *folder,
    const char *name, size_t max, const char *to)
{
	AUTO_CLOSE int from = -1;
	AUTO_CLOSE int fd = -1;
	AUTO_FREE char *bytes = NULL;
	char path[PATH_MAX];
	struct stat st;
	size_t len;
	int rc = git_path_join(path, sizeof(path), folder, name);

	if (rc != 0)
		return rc;
	from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (from == -1 || fstat(from, &st) == -1)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	rc = fd_read_all(from, max, &bytes, &len);
	if (rc == 0)
		rc = git_scratch_create(s, to, &fd);
	return rc == 0 ? fd_write_all(fd, bytes, len) : rc;
}

/* Of PATH's absolute folders: a relative one may be the repository's. */
static int
find_git(char ret[PATH_MAX])
{
	static const char name[] = "/git";
	const char *path = getenv("PATH");

	for (size_t len; path != NULL && *path != '\0';
	     path += len + (path[len] == ':' ? 1 : 0)) {
		len = strcspn(path, ":");
		if (*path != '/' || len + sizeof(name) > PATH_MAX)
			continue;
		memcpy(ret, path, len);
		memcpy(ret + len, name, sizeof(name));
		if (access(ret, X_OK) == 0)
			return 0;
	}
	return -ENOENT;
}

struct spawned {
	const char *argv[ARGS_MAX];
	char *env[ENV_MAX];
	size_t argc, envc;
};

static bool
add_env(struct spawned *p, const char *name, const char *value)
{
	if (value == NULL)
		return true;
	if (p->envc + 1 == ENV_MAX ||
	    asprintf(&p->env[p->envc], "%s=%s", name, value) == -1)
		return false;
	p->envc++;
	return true;
}

static bool
make_env(struct spawned *p, const struct git_run *g)
{
	bool ok = add_env(p, "GIT_DIR", g->scratch->dir) &&
	    add_env(p, "GIT_WORK_TREE", g->tree);

	if (!g->has_user_config)
		ok = ok && add_env(p, "GIT_CONFIG_GLOBAL", "/dev/null") &&
		    add_env(p, "GIT_CONFIG_NOSYSTEM", "1");
	for (size_t i = 0; i < COUNT(kept); i++)
		ok = ok && add_env(p, kept[i], getenv(kept[i]));
	for (size_t i = 0; ok && i < COUNT(fixed); i++) {
		ok = p->envc + 1 < ENV_MAX &&
		    (p->env[p->envc] = strdup(fixed[i])) != NULL;
		p->envc += ok ? 1 : 0;
	}
	return ok;
}

static void
make_args(struct spawned *p, const struct git_run *g, const char *const *argv)
{
	p->argv[p->argc++] = "git";
	for (size_t i = 0; i < COUNT(always); i++)
		p->argv[p->argc++] = always[i];
	p->argv[p->argc++] = "-C";
	p->argv[p->argc++] = g->folder != NULL ? g->folder : g->scratch->dir;
	for (; *argv != NULL && p->argc + 1 < ARGS_MAX; argv++)
		p->argv[p->argc++] = *argv;
}

/* Its standard streams, no signal blocked, none ignored. */
static int
spawn(const char *program, const struct spawned *p, const int fds[3],
    pid_t *ret_pid)
{
	union {
		const char *const *ours;
		char *const *spawns;
	} args = { .ours = p->argv };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int rc;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attr) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return -ENOMEM;
	}
	(void)posix_spawnattr_setflags(&attr,
	    POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &all);
	rc = 0;
	for (int i = 0; rc == 0 && i < 3; i++)
		rc = posix_spawn_file_actions_adddup2(&actions, fds[i], i);
	if (rc == 0)
		rc = posix_spawn(ret_pid, program, &actions, &attr, args.spawns,
		    p->env);
	(void)posix_spawnattr_destroy(&attr);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -rc;
}

/* The last line of what it said, or how it ended. */
static int
tell(int said_fd, int status, struct err *err)
{
	char said[SAID_MAX + 1];
	ssize_t n = pread(said_fd, said, SAID_MAX, 0);
	const char *line;
	size_t end = n > 0 ? (size_t)n : 0;

	while (end > 0 && said[end - 1] == '\n')
		end--;
	said[end] = '\0';
	line = strrchr(said, '\n');
	line = line == NULL ? said : line + 1;
	if (*line == '\0')
		(void)err_at(err, NULL, 0, "git ended with %s %d",
		    WIFSIGNALED(status) ? "signal" : "status",
		    WIFSIGNALED(status) ? WTERMSIG(status)
					: WEXITSTATUS(status));
	else
		(void)err_at(err, NULL, 0, "git: %s", line);
	for (char *c = err->text; *c != '\0'; c++)
		if (*c < 0x20 || *c > 0x7e)
			*c = '?';
	return -EIO;
}

/* One of the caller's signals waits until it is over. */
static bool
is_unwanted(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	    (sigismember(&pending, SIGINT) == 1 ||
		sigismember(&pending, SIGTERM) == 1 ||
		sigismember(&pending, SIGHUP) == 1 ||
		sigismember(&pending, SIGQUIT) == 1);
}

/* Ends it if it takes too long, or if nobody wants it any more. */
static void
attend(pid_t pid)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int ms = 0; fd != -1 && ms < RUN_MS && !is_unwanted();
	     ms += LOOK_MS)
		if (poll(&p, 1, LOOK_MS) == 1)
			return;
	(void)kill(pid, SIGKILL);
}

static int
await(pid_t pid, int said_fd, int fine, struct err *err)
{
	const struct rlimit cpu = { RUN_CPU_S, RUN_CPU_S };
	int status;

	(void)prlimit(pid, RLIMIT_CPU, &cpu, NULL);
	attend(pid);
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return err_os(err, -errno, "git");
	if (WIFEXITED(status) && WEXITSTATUS(status) <= fine)
		return 0;
	return tell(said_fd, status, err);
}

int
git_run(const struct git_run *g, const char *const *argv, struct err *err)
{
	AUTO_CLOSE int said = memfd_create("tapward-git", MFD_CLOEXEC);
	AUTO_CLOSE int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[3] = { g->in_fd == -1 ? nothing : g->in_fd, g->out_fd,
		said };
	struct spawned p = { .argc = 0 };
	char program[PATH_MAX];
	pid_t pid = -1;
	int rc = find_git(program);

	if (rc != 0)
		return err_at(err, NULL, 0, "there is no git on this machine");
	if (said == -1 || nothing == -1)
		return err_os(err, -errno, "git");
	make_args(&p, g, argv);
	rc = make_env(&p, g) ? spawn(program, &p, fds, &pid) : -ENOMEM;
	rc = rc == 0 ? await(pid, said, g->fine, err)
		     : err_os(err, rc, "%s", program);
	for (size_t i = 0; i < p.envc; i++)
		free(p.env[i]);
	return rc;
}

int
git_file_new(int *ret_fd, struct err *err)
{
	int fd = open("/var/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd == -1) {
		char path[] = "/var/tmp/tapward-git-XXXXXX";

		fd = mkostemp(path, O_CLOEXEC);
		if (fd != -1)
			(void)unlink(path);
	}
	if (fd == -1)
		return err_os(err, -errno, "a file in /var/tmp");
	*ret_fd = fd;
	return 0;
}
