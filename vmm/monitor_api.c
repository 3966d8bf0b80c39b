/* See monitor_api.h. */
#include "vmm/monitor_api.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/process.h"
#include "vmm/pair.h"

#define ANSWER_MAX 8192
#define POLL_MS 5

static int
dial(const char *path, int *ret_fd)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const struct timeval patience = {
		.tv_sec = MONITOR_API_ANSWER_MS / 1000,
	};
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1)
		return -errno;
	if (strlen(path) >= sizeof(to.sun_path))
		return -ENAMETOOLONG;
	memcpy(to.sun_path, path, strlen(path) + 1);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		sizeof(patience)) == -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		sizeof(patience)) == -1 ||
	    connect(fd, (const struct sockaddr *)&to, sizeof(to)) == -1)
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}

/*
 * Until somebody listens at path; ends early when the process of pidfd does.
 * 0, -ETIMEDOUT, -ECHILD when it has ended, or -errno.
 */
static int
await(const char *path, int pidfd, struct err *err)
{
	const uint64_t end_ms = clock_mono_ms() + MONITOR_API_LISTEN_MS;
	struct pollfd death = { .fd = pidfd, .events = POLLIN };

	for (;;) {
		AUTO_CLOSE int fd = -1;
		int rc = dial(path, &fd);

		if (rc == 0)
			return 0;
		if (rc != -ENOENT && rc != -ECONNREFUSED)
			return err_os(err, rc, "%s", path);
		if (clock_mono_ms() >= end_ms)
			return err_os(err, -ETIMEDOUT,
			    "the monitor does not answer");
		if (poll(&death, 1, POLL_MS) == 1) {
			(void)err_at(err, NULL, 0,
			    "the monitor ended as it was started");
			return -ECHILD;
		}
	}
}

int
monitor_api_start(const char *const *argv, const char *name, const char *socket,
    struct monitor *ret, struct err *err)
{
	const int fds[] = { VM_FD_ROOT };
	AUTO_CLOSE int theirs = -1;
	struct process_spec p = { .path = argv[0],
		.argv = argv,
		.fds = fds,
		.fd_count = 1,
		.netns_fd = -1 };
	int rc = driver_needs_kvm(argv[0], name, err);

	if (rc == 0)
		rc = pair_make(&ret->console_fd, &theirs);
	if (rc != 0)
		return rc;
	p.stdout_fd = theirs;
	p.has_stdout = true;
	p.stderr_fd = theirs;
	rc = process_spawn(&p, &ret->pid, &ret->pidfd);
	if (rc != 0)
		return err_os(err, rc, "%s", argv[0]);
	ret->has_kvm = true;
	return await(socket, ret->pidfd, err);
}

static int
send_request(int to, const struct wr *w, int fd)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = { .buf = { 0 } };
	struct iovec iov = { w->buf, w->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (fd != -1) {
		struct cmsghdr *h;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &fd, sizeof(int));
	}
	n = sendmsg(to, &msg, MSG_NOSIGNAL);
	if (n == -1)
		return -errno;
	/* A request is far below what a socket takes at once. */
	return (size_t)n == w->len ? 0 : -EIO;
}

/* Value of a field of the head, "" without it. Borrows. */
static const char *
field(const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	return at == NULL ? "" : at + strlen(name);
}

/* The whole answer with a NUL behind it. 0 or -errno. */
static int
read_answer(int from, char buf[ANSWER_MAX + 1])
{
	size_t len = 0, want = 0;

	while (want == 0 || len < want) {
		ssize_t n;
		const char *end;

		if (len == ANSWER_MAX)
			return -EMSGSIZE;
		n = recv(from, buf + len, ANSWER_MAX - len, 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		buf[len] = '\0';
		end = strstr(buf, "\r\n\r\n");
		if (end != NULL && want == 0)
			want = (size_t)(end - buf) + 4 +
			    strtoul(field(buf, "\r\nContent-Length:"), NULL,
				10);
	}
	buf[len] = '\0';
	return len == 0 ? -EPIPE : 0;
}

/* "HTTP/1.1 204 ..." */
static bool
is_success(const char *answer)
{
	return strncmp(answer, "HTTP/1.", 7) == 0 && answer[7] != '\0' &&
	    answer[8] == ' ' && answer[9] == '2';
}

/* What a person is told: Firecracker names it, Cloud Hypervisor lists it. */
static int
complain(const struct monitor_call *c, char *answer, struct err *err)
{
	char *body = strstr(answer, "\r\n\r\n");
	json_t *json =
	    body == NULL ? NULL : json_loads(body + 4, JSON_DECODE_ANY, NULL);
	const char *fault =
	    json_string_value(json_object_get(json, "fault_message"));
	char text[256];
	size_t len = 0;

	if (fault == NULL)
		fault = body == NULL ? answer : body + 4;
	for (; len < sizeof(text) - 1 && fault[len] != '\0'; len++)
		text[len] =
		    (char)(fault[len] >= 0x20 && fault[len] <= 0x7e ? fault[len]
								    : ' ');
	text[len] = '\0';
	json_decref(json);
	(void)err_at(err, NULL, 0, "the monitor refuses %s %s: %s", c->method,
	    c->path, text);
	return -EREMOTEIO;
}

int
monitor_api_call(const struct monitor_call *c, struct err *err)
{
	AUTO_CLOSE int to = -1;
	AUTO_FREE char *text =
	    c->body == NULL ? NULL : json_dumps(c->body, JSON_COMPACT);
	uint8_t buf[4096];
	struct wr w = wr_init(buf, sizeof(buf));
	char answer[ANSWER_MAX + 1];
	int rc;

	wr_fmt(&w,
	    "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n",
	    c->method, c->path);
	if (text != NULL)
		wr_fmt(&w,
		    "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		    strlen(text));
	wr_text(&w, "\r\n");
	wr_text(&w, text == NULL ? "" : text);
	json_decref(c->body);
	if (!wr_ok(&w))
		return err_os(err, -EMSGSIZE, "%s %s", c->method, c->path);
	rc = dial(c->socket, &to);
	if (rc == 0)
		rc = send_request(to, &w, c->fd);
	if (rc == 0)
		rc = read_answer(to, answer);
	if (rc != 0)
		return err_os(err, rc, "the monitor: %s %s", c->method,
		    c->path);
	return is_success(answer) ? 0 : complain(c, answer, err);
}

json_t *
monitor_api_rate(uint64_t bytes, uint32_t operations)
{
	const int refill_ms = 1000;

	return json_pack("{s:{s:I, s:i}, s:{s:I, s:i}}", "bandwidth", "size",
	    (json_int_t)bytes, "refill_time", refill_ms, "ops", "size",
	    (json_int_t)operations, "refill_time", refill_ms);
}
