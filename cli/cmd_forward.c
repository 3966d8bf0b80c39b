/*
 * forward: a port of this host that leads to a port of a guest. Each
 * connection is a command of the agent's, so nothing is opened in the
 * sandbox's network: the guest can begin nothing through it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/names.h"
#include "cli/session.h"

/* The agent, as it is seen in the guest. */
#define AGENT "/proc/1/exe"
#define PORT_TEXT_SIZE 8
#define ACCEPT_WAIT_MS 100

struct forward {
	const char *name;
	char address[64]; /* of ours */
	char port[PORT_TEXT_SIZE], guest_port[PORT_TEXT_SIZE];
};

static bool
is_port(const char *text)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && *end == '\0' && v > 0 &&
	    v <= UINT16_MAX && strlen(text) < PORT_TEXT_SIZE;
}

/* "[ADDR:]PORT:GUESTPORT"; without ADDR this host alone can use it. */
static bool
parse(char *text, struct forward *f)
{
	char *guest = strrchr(text, ':'), *port;

	if (guest == NULL)
		return false;
	*guest++ = '\0';
	port = strrchr(text, ':');
	if (port == NULL) {
		port = text;
		text = NULL;
	} else {
		*port++ = '\0';
	}
	if (!is_port(port) || !is_port(guest))
		return false;
	(void)snprintf(f->port, sizeof(f->port), "%s", port);
	(void)snprintf(f->guest_port, sizeof(f->guest_port), "%s", guest);
	return (size_t)snprintf(f->address, sizeof(f->address), "%s",
		   text == NULL ? "127.0.0.1" : text) < sizeof(f->address);
}

static int
listen_at(const struct forward *f, int *ret_fd, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE };
	AUTO_CLOSE int fd = -1;
	struct addrinfo *a;
	const int on = 1;
	int rc = getaddrinfo(f->address, f->port, &hints, &a);

	if (rc != 0)
		return err_at(err, NULL, 0, "%s: %s", f->address,
		    gai_strerror(rc));
	fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	rc = fd == -1 ||
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ==
		    -1 ||
		bind(fd, a->ai_addr, a->ai_addrlen) == -1 ||
		listen(fd, SOMAXCONN) == -1
	    ? -errno
	    : 0;
	freeaddrinfo(a);
	if (rc != 0)
		return err_os(err, rc, "%s:%s", f->address, f->port);
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* In a process of its own: one connection, to its end. */
__attribute__((noreturn)) static void
serve_one(const struct cli *cli, const struct forward *f, int fd, pid_t parent)
{
	const char *const argv[] = { AGENT, "--connect", f->guest_port, NULL };
	const struct session_command c = { .argv = argv,
		.in_fd = fd,
		.out_fd = fd,
		.err_fd = STDERR_FILENO };
	struct session_end end;
	struct session *s;
	struct err err = { "" };
	int rc;

	/* What is carried ends with whoever carries it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent)
		_exit(EXIT_FAILURE);
	rc = session_open(cli, f->name, &s);
	if (rc == 0)
		rc = session_await_ready(s, NULL, NULL, &err);
	if (rc == 0)
		rc = session_run(s, &c, &end, &err);
	if (rc < 0)
		(void)cli_fail(&err, 0);
	/* What it wrote reaches the other end before the connection closes. */
	(void)shutdown(fd, SHUT_WR);
	_exit(rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int
serve(const struct cli *cli, const struct forward *f, int listener)
{
	const pid_t us = getpid();

	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		pid_t pid;

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (fd == -1 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		/* Until others have ended, without a busy loop. */
		if (fd == -1 && (errno == EMFILE || errno == ENFILE)) {
			(void)poll(NULL, 0, ACCEPT_WAIT_MS);
			continue;
		}
		if (fd == -1) {
			perror("tapward: accept");
			return CLI_FAILED;
		}
		pid = fork();
		if (pid == 0) {
			(void)close(listener);
			serve_one(cli, f, fd, us);
		}
		if (pid == -1)
			perror("tapward: fork");
		(void)close(fd);
	}
}

int
cmd_forward(const struct cli *cli, int argc, char **argv)
{
	struct forward f = { .name = NULL };
	struct session *s = NULL;
	struct err err = { "" };
	int listener = -1, rc;

	if (argc != 3 || !sandbox_name_is_valid(argv[1]) || !parse(argv[2], &f))
		return cli_usage("forward",
		    "name a sandbox, then [ADDRESS:]PORT:GUESTPORT");
	f.name = argv[1];
	/* What can't work is told now, and not to whoever connects. */
	rc = session_open(cli, f.name, &s);
	if (rc != 0)
		return rc;
	session_close(s);
	if (listen_at(&f, &listener, &err) != 0)
		return cli_fail(&err, CLI_FAILED);
	(void)printf("%s:%s leads to port %s of %s\n", f.address, f.port,
	    f.guest_port, f.name);
	(void)fflush(stdout);
	return serve(cli, &f, listener);
}
