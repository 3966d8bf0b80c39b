/*
 * See run.h. A failure is reported and ends the process: nothing returns.
 */
#include "vmm/agent/run.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "vmm/agent/lines.h"
#include "vmm/agent/user.h"
#include "vmm/archive_read.h"
#include "vmm/archive_write.h"

/* Where the report goes while the work is done. */
#define REPORT_FD 3
/* /etc/passwd of an image has some dozen lines. */
#define ACCOUNTS_MAX_BYTES (1u << 20)
/* As Docker and systemd give; the kernel's own 4096 is few for node. */
#define FILES_MAX 65536
#define STANDARD_PATH                                                          \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define QUOTED_SIZE 400

__attribute__((noreturn, format(printf, 2, 3))) static void
fail(enum frame_end end, const char *fmt, ...)
{
	char report[RUN_REPORT_MAX + 1];
	va_list ap;
	size_t len;

	report[0] = (char)end;
	va_start(ap, fmt);
	(void)vsnprintf(report + 1, sizeof(report) - 1, fmt, ap);
	va_end(ap);
	len = strlen(report + 1) + 1;
	for (size_t i = 1; i < len; i++) /* frame.h wants printable text */
		if (report[i] < 0x20 || report[i] > 0x7e)
			report[i] = '?';
	(void)fd_write_all(REPORT_FD, report, len);
	_exit(1);
}

static const char *
why(int error)
{
	const char *text = strerrordesc_np(error);

	return text == NULL ? "unknown error" : text;
}

__attribute__((noreturn)) static void
fail_path(const char *path, int error)
{
	char quoted[QUOTED_SIZE];

	fail(FRAME_END_FAILED, "%s: %s",
	    log_quote(quoted, sizeof(quoted), span_of(path)), why(error));
}

/* The agent is never chosen when memory ends; what it starts is. */
static void
write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return;
	(void)fd_write_all(fd, text, strlen(text));
	(void)close(fd);
}

static void
reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int
or_null(int fd)
{
	return fd != -1 ? fd : open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* Descriptors 0, 1, 2 and the report; no other of the agent's is left. */
static void
take_fds(const struct run *r)
{
	const int fds[3] = { or_null(r->in_fd), or_null(r->out_fd),
		or_null(r->err_fd) };

	for (int i = 0; i < 3; i++)
		if (dup2(fds[i], i) == -1)
			_exit(1);
	if (r->report_fd != REPORT_FD &&
	    dup3(r->report_fd, REPORT_FD, O_CLOEXEC) == -1)
		_exit(1);
	(void)fd_set_cloexec(REPORT_FD, true);
	if (close_range(REPORT_FD + 1, ~0u, 0) == -1)
		_exit(1);
}

static void
begin(const struct run *r)
{
	const struct rlimit files = { FILES_MAX, FILES_MAX };

	(void)setsid();
	/* first, so that nothing of it is outside */
	if (r->group_fd != -1)
		(void)fd_write_all(r->group_fd, "0", 1);
	write_file("/proc/self/oom_score_adj", "0");
	(void)setrlimit(RLIMIT_NOFILE, &files);
	reset_signals();
	(void)umask(022);
	take_fds(r);
	if (r->tty && ioctl(STDIN_FILENO, TIOCSCTTY, 0) == -1)
		fail(FRAME_END_FAILED, "no controlling terminal: %s",
		    why(errno));
}

/* A file of accounts; one that is not there has none. */
static struct span
load(const char *path, char **ret_text)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	int rc;

	*ret_text = NULL;
	if (fd == -1)
		return (struct span){ NULL, 0 };
	rc = fd_read_all(fd, ACCOUNTS_MAX_BYTES, ret_text, &len);
	if (rc != 0)
		fail(FRAME_END_FAILED, "%s: %s", path, why(-rc));
	return (struct span){ (const uint8_t *)*ret_text, len };
}

static void
find_user(const struct run *r, struct user *ret)
{
	AUTO_FREE char *passwd_text = NULL;
	AUTO_FREE char *group_text = NULL;
	const struct span passwd = load("/etc/passwd", &passwd_text);
	const struct span group = load("/etc/group", &group_text);
	struct span spec = r->user;
	struct err err;

	if (spec.len == 0)
		spec = span_of(r->defaults->user);
	if (user_find(spec, passwd, group, ret, &err) != 0)
		fail(FRAME_END_FAILED, "%s", err.text);
}

static void
become(const struct run *r, struct user *u)
{
	find_user(r, u);
	/* for mesg(1), and whoever opens the terminal by its name */
	if (r->tty && fchown(STDIN_FILENO, u->uid, (gid_t)-1) == -1)
		fail(FRAME_END_FAILED, "the terminal: %s", why(errno));
	/* an agent that is not root (a test) can be itself only */
	if (geteuid() != 0 && geteuid() == u->uid)
		return;
	if (setgroups(u->group_count, u->groups) == -1 ||
	    setresgid(u->gid, u->gid, u->gid) == -1 ||
	    setresuid(u->uid, u->uid, u->uid) == -1)
		fail(FRAME_END_FAILED, "cannot become user %u: %s", u->uid,
		    why(errno));
}

static void
enter_folder(const struct run *r, const struct user *u)
{
	char path[FRAME_PATH_MAX + 1];
	const char *workdir = r->defaults->workdir;

	if (r->cwd.len == 0 && workdir == NULL) {
		/* a home that is not there is usual in an image */
		if (chdir(u->home) == -1 && chdir("/") == -1)
			fail(FRAME_END_FAILED, "/: %s", why(errno));
		return;
	}
	if (r->cwd.len == 0)
		(void)snprintf(path, sizeof(path), "%s", workdir);
	else if (!lines_copy(r->cwd, path, sizeof(path)))
		fail(FRAME_END_FAILED, "the folder's name is too long");
	if (chdir(path) == -1)
		fail_path(path, errno);
}

static void
make_env(const struct run *r, const struct user *u, struct env *e)
{
	int rc = env_set(e, "PATH", STANDARD_PATH);

	if (rc == 0)
		rc = env_put_all(e, &r->defaults->env);
	if (rc == 0)
		rc = env_set(e, "HOME", u->home);
	if (rc == 0 && u->name[0] != '\0')
		rc = env_set(e, "USER", u->name);
	if (rc == 0 && u->name[0] != '\0')
		rc = env_set(e, "LOGNAME", u->name);
	if (rc == 0 && u->shell[0] != '\0')
		rc = env_set(e, "SHELL", u->shell);
	for (size_t i = 0; i < r->var_count && rc == 0; i++)
		rc = env_put(e, span_of(r->vars[i]));
	if (rc != 0)
		fail(FRAME_END_FAILED, "the environment: %s",
		    rc == -EINVAL ? "not NAME=VALUE" : why(-rc));
}

void
run_command(const struct run *r)
{
	char quoted[QUOTED_SIZE];
	struct env e = { .vars = NULL };
	struct user u;
	const char *name = r->argv[0];
	int error;

	begin(r);
	become(r, &u);
	make_env(r, &u, &e);
	enter_folder(r, &u);
	environ = e.vars; /* execvp() looks along the new PATH */
	(void)execvp(name, r->argv);
	error = errno;
	(void)log_quote(quoted, sizeof(quoted), span_of(name));
	if (error == ENOENT && strchr(name, '/') != NULL &&
	    access(name, F_OK) == 0)
		fail(FRAME_END_NOT_RUN, "%s: its interpreter is not there",
		    quoted);
	if (error == ENOENT)
		fail(FRAME_END_NOT_FOUND, "%s: no such command", quoted);
	fail(FRAME_END_NOT_RUN, "%s: %s", quoted, why(error));
}

/* Path without the slashes at its end. */
static void
copy_path(const struct run *r, char path[FRAME_PATH_MAX + 1])
{
	size_t len;

	if (!lines_copy(r->path, path, FRAME_PATH_MAX + 1))
		fail(FRAME_END_FAILED, "the path is too long");
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
}

/* Each directory above the last name of path; those that are there stay. */
static void
make_above(char *path)
{
	for (char *p = strchr(path + 1, '/'); p != NULL;
	     p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, 0755) == -1 && errno != EEXIST)
			fail_path(path, errno);
		*p = '/';
	}
}

static struct archive_reader *
open_reader(const struct run *r, char *path)
{
	static const struct archive_limits trusted = {
		.entries_max = UINT64_MAX,
		.bytes_max = UINT64_MAX,
		.links = ARCHIVE_LINKS_ANY,
	};
	struct archive_limits limits = trusted;
	struct archive_reader *reader;
	char *name = strrchr(path, '/');
	int fd, rc;

	make_above(path);
	*name++ = '\0';
	fd = open(path[0] == '\0' ? "/" : path,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		fail_path(path, errno);
	limits.merge = r->merge;
	rc = archive_reader_new(fd, name, &limits, NULL, NULL, &reader);
	if (rc == -EINVAL)
		fail(FRAME_END_FAILED, "the path names no file or directory");
	if (rc != 0)
		fail_path(name, -rc);
	return reader;
}

void
run_put(const struct run *r)
{
	static uint8_t buf[FRAME_PAYLOAD_MAX];
	char path[FRAME_PATH_MAX + 1];
	struct archive_reader *reader;
	struct user u;
	struct err err;
	ssize_t n;
	int rc = 0;

	begin(r);
	become(r, &u);
	copy_path(r, path);
	reader = open_reader(r, path);
	while (rc == 0 && (n = read(STDIN_FILENO, buf, sizeof(buf))) > 0)
		rc = archive_reader_feed(reader,
		    (struct span){ buf, (size_t)n }, &err);
	if (rc == 0)
		rc = archive_reader_end(reader, &err);
	archive_reader_free(reader);
	if (rc != 0)
		fail(FRAME_END_FAILED, "%s", err.text);
	_exit(0);
}

void
run_get(const struct run *r)
{
	static uint8_t buf[FRAME_PAYLOAD_MAX];
	char path[FRAME_PATH_MAX + 1];
	struct archive_writer *writer;
	struct user u;
	struct err err;
	size_t len = 1;
	int fd, rc;

	begin(r);
	become(r, &u);
	copy_path(r, path);
	/* were it a FIFO, the open must not wait */
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd == -1)
		fail_path(path, errno);
	rc = archive_writer_new(fd, NULL, NULL, &writer);
	if (rc == -EINVAL)
		fail(FRAME_END_FAILED, "it is neither a file nor a directory");
	if (rc != 0)
		fail_path(path, -rc);
	while (len > 0) {
		rc = archive_writer_fill(writer, buf, sizeof(buf), &len, &err);
		if (rc != 0)
			fail(FRAME_END_FAILED, "%s", err.text);
		rc = fd_write_all(STDOUT_FILENO, buf, len);
		if (rc != 0)
			_exit(1);
	}
	_exit(0);
}
