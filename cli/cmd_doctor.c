/*
 * doctor: the rows, and what they share.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/paths.h"
#include "cli/doctor.h"
#include "cli/output.h"

#define CONFIG_PATH "/etc/tapward/tapward.ini"

/* In this order: what later ones hang on comes first. */
static const struct {
	const char *name;
	void (*run)(struct doctor *d);
} rows[] = {
	{ "programs", doctor_programs },
	{ "configuration", doctor_configuration },
	{ "group", doctor_group },
	{ "uid-range", doctor_uids },
	{ "ceiling", doctor_ceiling },
	{ "credentials", doctor_credentials },
	{ "metrics", doctor_metrics },
	{ "folders", doctor_folders },
	{ "audit log", doctor_log },
	{ "log rotation", doctor_rotation },
	{ "disk space", doctor_space },
	{ "CA store", doctor_roots },
	{ "private CAs", doctor_private_cas },
	{ "clock", doctor_clock },
	{ "tun", doctor_tun },
	{ "kernel", doctor_kernel },
	{ "firewall", doctor_firewall },
	{ "cgroups", doctor_cgroups },
	{ "kvm", doctor_kvm },
	{ "monitor", doctor_monitor },
	{ "control socket", doctor_socket },
	{ "service", doctor_service },
	{ "resolver", doctor_resolvers },
	{ "version", doctor_version },
	{ "processes", doctor_processes },
	{ "health", doctor_health },
};

static const char *const level_words[DOCTOR_LEVELS] = { "ok", "warn", "FAIL" };

void
doctor_say(struct doctor *d, enum doctor_level level, const char *mend,
    const char *fmt, ...)
{
	char found[DOCTOR_TEXT_SIZE], how[DOCTOR_TEXT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(found, sizeof(found), fmt, ap);
	va_end(ap);
	(void)snprintf(how, sizeof(how), "%s", mend);
	/* Names of files and chains are anybody's. */
	output_make_printable(found);
	output_make_printable(how);
	d->counts[level]++;
	if (d->rows != NULL) {
		(void)json_array_append_new(d->rows,
		    json_pack("{s:s, s:s, s:s, s:o}", "row", d->row, "level",
			level_words[level], "found", found, "mend",
			*how == '\0' ? json_null() : json_string(how)));
		return;
	}
	(void)printf("%-4s  %-14s  %s\n", level_words[level], d->row, found);
	if (*how != '\0')
		(void)printf("%-4s  %-14s  mend: %s\n", "", "", how);
	(void)fflush(stdout);
}

void
doctor_cannot(struct doctor *d, const char *what, const char *path, int error)
{
	bool is_hidden = geteuid() != 0 && (error == EACCES || error == EPERM);

	doctor_say(d, is_hidden ? DOCTOR_WARN : DOCTOR_FAIL,
	    is_hidden ? "sudo tapward doctor" : "", "%s %s: %s", what, path,
	    strerror(error));
}

bool
doctor_is_safe(struct doctor *d, const char *what, const char *path,
    mode_t forbidden)
{
	char mend[DOCTOR_TEXT_SIZE];
	struct stat st;
	mode_t extra;

	if (lstat(path, &st) == -1) {
		doctor_cannot(d, what, path, errno);
		return false;
	}
	extra = st.st_mode & forbidden;
	if (st.st_uid != 0) {
		(void)snprintf(mend, sizeof(mend), "chown root %s", path);
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s %s belongs to uid %u, not to root", what, path,
		    (unsigned int)st.st_uid);
		return false;
	}
	if (extra != 0) {
		(void)snprintf(mend, sizeof(mend), "chmod %04o %s",
		    (unsigned int)(st.st_mode & 07777 & ~forbidden), path);
		doctor_say(d, DOCTOR_FAIL, mend,
		    "%s %s has mode %04o: others than root may %s it", what,
		    path, (unsigned int)(st.st_mode & 07777),
		    (extra & 0222) != 0 ? "write" : "read");
		return false;
	}
	return true;
}

static void
run_child(const char *path, const char *argument, int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(out, STDOUT_FILENO) == -1 || dup2(null, STDERR_FILENO) == -1)
		_exit(127);
	(void)execl(path, path, argument, (char *)NULL);
	_exit(127);
}

int
doctor_run(const char *path, const char *argument, char *buf, size_t size)
{
	AUTO_CLOSE int in = -1, out = -1;
	size_t len = 0;
	ssize_t n;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) == -1)
		return -errno;
	in = fds[0];
	out = fds[1];
	pid = fork();
	if (pid == -1)
		return -errno;
	if (pid == 0)
		run_child(path, argument, out);
	fd_close(&out);
	while (len + 1 < size && (n = read(in, buf + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buf[len] = '\0';
	if (waitpid(pid, &status, 0) == -1)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

int
doctor_daemon_path(char *buf, size_t size)
{
	char exe[512], tree[512];
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	int rc;

	if (len == -1)
		return -errno;
	exe[len] = '\0';
	rc = paths_tree(exe, tree, sizeof(tree));
	if (rc != 0)
		return rc;
	return snprintf(buf, size, "%s/sbin/tapwardd", tree) < (int)size
	    ? 0
	    : -ENAMETOOLONG;
}

static int
diagnose(struct doctor *d, bool json)
{
	if (json)
		d->rows = json_array();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		d->row = rows[i].name;
		rows[i].run(d);
	}
	if (json)
		output_json(d->rows);
	else
		(void)printf("%u ok, %u to look at, %u to mend\n",
		    d->counts[DOCTOR_OK], d->counts[DOCTOR_WARN],
		    d->counts[DOCTOR_FAIL]);
	json_decref(d->rows);
	json_decref(d->status);
	hostconf_free(d->host);
	return d->counts[DOCTOR_FAIL] == 0 ? 0 : CLI_FAILED;
}

int
cmd_doctor(const struct cli *cli, int argc, char **argv)
{
	static const struct option options[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct doctor d = { .cli = cli, .config_path = CONFIG_PATH };
	bool json = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'c')
			d.config_path = optarg;
		else if (opt == 'j')
			json = true;
		else
			return cli_usage("doctor", "see tapward(1)");
	}
	if (optind != argc)
		return cli_usage("doctor", "takes no name");
	return diagnose(&d, json);
}
