/*
 * tapward-agent: PID 1 of a guest. It makes the guest out of what the host
 * brought (boot.h), then does what the host asks (serve.h) until it is told to
 * end. It trusts the host and nothing in the guest.
 *
 * In the guest it is a program, too: --probe (probe.h), --connect (connect.h).
 * As an ordinary process, for tests: tapward-agent --serve-fd FD, with
 * --user USER and --workdir PATH; it ends when FD does.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "base/log.h"
#include "vmm/agent/boot.h"
#include "vmm/agent/connect.h"
#include "vmm/agent/lines.h"
#include "vmm/agent/port.h"
#include "vmm/agent/probe.h"
#include "vmm/agent/serve.h"

/* Ends the guest, by one of the two ways that its machine has. */
__attribute__((noreturn)) static void
end_guest(const struct boot *b)
{
	(void)reboot(b->config.reboots ? RB_AUTOBOOT : RB_POWER_OFF);
	_exit(1); /* which panics the kernel, and so ends the guest as well */
}

__attribute__((noreturn)) static void
end_broken(const struct boot *b, const struct err *err)
{
	log_err("agent", "%s", err->text);
	end_guest(b);
}

/* Until the host's end, once lost, is looked for again. */
#define LOST_MS 100

/* Over vsock the host can come back. */
__attribute__((noreturn)) static void
run_as_init(void)
{
	static struct boot b;
	static struct serve s;
	enum serve_end end = SERVE_LOST;
	int signal_fd = -1, fd, rc;
	struct port port;
	struct err err;

	rc = serve_signals(&signal_fd);
	/* ctrl-alt-del, which some machines send to stop, is SIGINT to us */
	(void)reboot(RB_DISABLE_CAD);
	rc = rc == 0 ? boot_run(&b, &err) : err_os(&err, rc, "signals");
	if (rc == 0)
		rc = port_init(&port, &b.config, &err);
	if (rc != 0)
		end_broken(&b, &err);
	s.is_init = true;
	s.defaults.env = b.env;
	s.defaults.user = b.config.user[0] == '\0' ? "root" : b.config.user;
	s.defaults.workdir =
	    b.config.workdir[0] == '\0' ? NULL : b.config.workdir;
	group_init(&s.groups);
	if (!s.groups.is_on)
		log_warn("agent", "no control groups: limits are the guest's");
	while (end == SERVE_LOST) {
		if (port_open(&port, &fd, &err) != 0)
			end_broken(&b, &err);
		end = serve_run(&s, fd, signal_fd);
		if (end == SERVE_LOST)
			(void)poll(NULL, 0, LOST_MS);
	}
	end_guest(&b);
}

static int
run_as_process(int fd, const char *user, const char *workdir)
{
	static struct serve s;
	int signal_fd, rc;

	/* what its commands leave behind comes to it, as to an init */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = serve_signals(&signal_fd);
	if (rc != 0)
		die("agent", "signals: %s", strerrordesc_np(-rc));
	s.defaults.user = user;
	s.defaults.workdir = workdir;
	(void)serve_run(&s, fd, signal_fd);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "serve-fd", required_argument, NULL, 'f' },
		{ "user", required_argument, NULL, 'u' },
		{ "workdir", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	const char *user = "root", *workdir = NULL;
	uint32_t fd = 0;
	int opt;

	log_init("tapward-agent", LOG_LEVEL_INFO);
	if (getpid() == 1)
		run_as_init();
	if (argc > 2 && strcmp(argv[1], "--probe") == 0)
		return probe_run(argc - 2, argv + 2);
	if (argc == 3 && strcmp(argv[1], "--connect") == 0 &&
	    lines_number(span_of(argv[2]), UINT16_MAX, &fd))
		return connect_run((uint16_t)fd);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 'f' && !lines_number(span_of(optarg), 1023, &fd))
			fd = 0;
		else if (opt == 'u')
			user = optarg;
		else if (opt == 'w')
			workdir = optarg;
	}
	if (fd == 0 || optind != argc) {
		(void)fputs("usage: tapward-agent --serve-fd FD [--user USER] "
			    "[--workdir PATH]\n",
		    stderr);
		return 64;
	}
	return run_as_process((int)fd, user, workdir);
}
