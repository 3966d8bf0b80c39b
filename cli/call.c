/*
 * Every answer of the daemon ends with its connection, so the end of file is
 * the end of the body.
 */
#include "cli/call.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/fd.h"
#include "wire/http.h"
#include "wire/http_write.h"

/* Longest line of a stream: an audit record has its own, smaller cap. */
#define CALL_LINE_MAX 65536
/* Longest whole answer: a page of the list is far below. */
#define CALL_ANSWER_MAX (8u << 20)
/* From one line of a log to the next, of which few may be wanted. */
#define CALL_PATIENCE_LINE_S 600

void
reply_done(struct reply *r)
{
	json_decref(r->json);
	fd_close(&r->fd);
	*r = (struct reply){ 0, NULL, -1 };
}

static unsigned int
call_patience(unsigned int wanted_s)
{
	const char *text = getenv("TAPWARD_TIMEOUT");
	unsigned long v = text == NULL ? 0 : strtoul(text, NULL, 10);

	if (v > 0 && v < 86400)
		return (unsigned int)v;
	return wanted_s == 0 ? CALL_PATIENCE_S : wanted_s;
}

/* How long connect(2), each read and each write may take; 0: for ever. */
static int
call_set_patience(int fd, unsigned int seconds)
{
	const struct timeval tv = { .tv_sec = (time_t)seconds };

	return setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == -1 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) == -1
	    ? -errno
	    : 0;
}

/* rc, of a call on the socket, in words. */
static int
call_failed(struct err *err, int rc, unsigned int wanted_s, const char *what)
{
	return rc == -EAGAIN
	    ? err_at(err, NULL, 0,
		  "tapwardd has not answered for %u s: is it stopped, or has"
		  " the machine too much to do? (systemctl status tapward;"
		  " TAPWARD_TIMEOUT=SECONDS waits longer)",
		  call_patience(wanted_s))
	    : err_os(err, rc, "%s", what);
}

static int
call_connect(const struct cli *cli, unsigned int patience_s, int *ret_fd,
    struct err *err)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(cli->socket);
	int rc;

	if (fd == -1 || call_set_patience(fd, call_patience(patience_s)) != 0)
		return err_os(err, -errno, "socket");
	if (len >= sizeof(to.sun_path))
		return err_at(err, NULL, 0, "the path %s is too long",
		    cli->socket);
	memcpy(to.sun_path, cli->socket, len);
	rc = connect(fd, (const struct sockaddr *)&to, sizeof(to)) == -1
	    ? -errno
	    : 0;
	if (rc == -EAGAIN)
		return call_failed(err, rc, patience_s, "");
	if (rc != 0)
		return err_at(err, NULL, 0, "%s: %s; %s", cli->socket,
		    strerror(-rc),
		    rc == -EACCES
			? "only members of the daemon's group may use it"
			: "is tapwardd running? (systemctl status tapward)");
	*ret_fd = steal_fd(&fd);
	return 0;
}

/* Sends all of it; the call's descriptors go with the first byte. */
static int
call_send(int to, const uint8_t *buf, size_t len, const struct call *q)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(CALL_FDS_MAX * sizeof(int))];
	} control = { .buf = { 0 } };
	const size_t fds_bytes = q->fd_count * sizeof(int);
	size_t at = 0;

	while (at < len) {
		struct iovec iov = { NULL, len - at };
		struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		memcpy(&iov.iov_base, &(const uint8_t *){ buf + at },
		    sizeof(iov.iov_base));
		if (q->fd_count > 0 && at == 0) {
			struct cmsghdr *h;

			msg.msg_control = control.buf;
			msg.msg_controllen = CMSG_SPACE(fds_bytes);
			h = CMSG_FIRSTHDR(&msg);
			assert(h != NULL);
			h->cmsg_level = SOL_SOCKET;
			h->cmsg_type = SCM_RIGHTS;
			h->cmsg_len = CMSG_LEN(fds_bytes);
			memcpy(CMSG_DATA(h), q->fds, fds_bytes);
		}
		n = sendmsg(to, &msg, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 ? -EPIPE : -errno;
		at += (size_t)n;
	}
	return 0;
}

static int
call_request(int to, const struct call *q, struct err *err)
{
	AUTO_FREE char *text =
	    q->body == NULL ? NULL : json_dumps(q->body, JSON_COMPACT);
	size_t len = text == NULL ? 0 : strlen(text);
	AUTO_FREE uint8_t *buf = malloc(len + 2048);
	struct span target = span_of(q->path);
	const char *query = strchr(q->path, '?');
	struct wr w;
	int rc;

	if (buf == NULL || (q->body != NULL && text == NULL))
		return err_os(err, -ENOMEM, "the request");
	if (query != NULL)
		target.len = (size_t)(query - q->path);
	w = wr_init(buf, len + 2048);
	http_write_request_line(&w, span_of(q->method), target, query != NULL,
	    query != NULL ? span_of(query + 1) : span_of(""));
	http_write_text(&w, "Host", "tapward");
	http_write_length(&w, len);
	http_write_end(&w);
	wr_bytes(&w, text, len);
	if (!wr_ok(&w))
		return err_at(err, NULL, 0, "the request has no such form");
	rc = call_send(to, buf, w.len, q);
	return rc == 0
	    ? 0
	    : call_failed(err, rc, q->patience_s, "sending to tapwardd");
}

/* The end of an answer's head in buf, 0 while it is not there. */
static size_t
call_head_length(const uint8_t *buf, size_t len, struct http_response *ret)
{
	struct http_scan scan = { 0 };
	size_t head = 0;

	if (http_scan(&scan, (struct span){ buf, len }, &head) != HTTP_OK)
		return 0;
	return http_response_parse((struct span){ buf, head }, HTTP_METHOD_GET,
		   false, ret) == HTTP_OK
	    ? head
	    : 0;
}

/* Reads to the end; the one descriptor that may come is kept. */
static int
call_receive(int from, size_t max, uint8_t **ret_buf, size_t *ret_len,
    int *ret_fd)
{
	AUTO_FREE uint8_t *buf = malloc(max);
	size_t len = 0;

	while (buf != NULL && len < max) {
		union {
			struct cmsghdr align;
			char buf[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec iov = { buf + len, max - len };
		struct msghdr msg = { .msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = control.buf,
			.msg_controllen = sizeof(control.buf) };
		ssize_t n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
		const struct cmsghdr *h;

		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -errno;
		if (n == 0)
			break;
		h = CMSG_FIRSTHDR(&msg);
		if (h != NULL && h->cmsg_type == SCM_RIGHTS && *ret_fd == -1)
			memcpy(ret_fd, CMSG_DATA(h), sizeof(int));
		len += (size_t)n;
	}
	if (buf == NULL)
		return -ENOMEM;
	*ret_len = len;
	*ret_buf = buf;
	buf = NULL;
	return 0;
}

/*
 * 0, or -EINVAL or another -errno with err set when there was no answer; an
 * answer that refuses is a success here.
 */
static int
call_exchange(const struct cli *cli, const struct call *q, struct reply *ret,
    struct err *err)
{
	AUTO_CLOSE int to = -1;
	AUTO_FREE uint8_t *buf = NULL;
	struct http_response head;
	size_t len = 0, at;
	int rc = call_connect(cli, q->patience_s, &to, err);

	*ret = (struct reply){ 0, NULL, -1 };
	if (rc == 0)
		rc = call_request(to, q, err);
	if (rc != 0)
		return rc;
	rc = call_receive(to, CALL_ANSWER_MAX, &buf, &len, &ret->fd);
	if (rc != 0)
		return call_failed(err, rc, q->patience_s,
		    "reading tapwardd's answer");
	at = call_head_length(buf, len, &head);
	if (at == 0) {
		reply_done(ret);
		return err_at(err, NULL, 0,
		    "tapwardd closed the connection without an answer;"
		    " see its log");
	}
	ret->status = head.status;
	ret->json = json_loadb((const char *)buf + at, len - at, 0, NULL);
	return 0;
}

static void
call_print_findings(const json_t *json)
{
	const json_t *findings = json_object_get(json, "findings");
	size_t i;
	json_t *line;

	json_array_foreach(findings, i, line)(void)
	    fprintf(stderr, "%s\n", json_string_value(line));
}

static int
call_complain(unsigned int status, const json_t *json)
{
	const char *text = json_string_value(json_object_get(json, "error"));

	call_print_findings(json);
	if (text != NULL && *text != '\0')
		(void)fprintf(stderr, "tapward: %s\n", text);
	else
		(void)fprintf(stderr, "tapward: tapwardd answered %u\n",
		    status);
	return CLI_FAILED;
}

int
call_or_complain(const struct cli *cli, const struct call *q, struct reply *ret)
{
	struct err err = { "" };
	int rc = call_exchange(cli, q, ret, &err);

	if (rc != 0)
		return cli_fail(&err, CLI_NO_DAEMON);
	if (ret->status < 400) {
		if (!q->hides_findings)
			call_print_findings(ret->json);
		return 0;
	}
	rc = call_complain(ret->status, ret->json);
	reply_done(ret);
	return rc;
}

int
call_simply(const struct cli *cli, const char *method, const char *path,
    struct reply *ret)
{
	const struct call q = { .method = method, .path = path };

	return call_or_complain(cli, &q, ret);
}

int
call_refused(const struct cli *cli, const struct call *q, struct reply *ret)
{
	struct err ignored;

	if (call_exchange(cli, q, ret, &ignored) != 0)
		return CLI_NO_DAEMON;
	if (ret->status >= 400 && ret->status < 500)
		return 0;
	reply_done(ret);
	return CLI_FAILED;
}

int
call_quietly(const struct cli *cli, const char *method, const char *path,
    struct reply *ret)
{
	const struct call q = { .method = method, .path = path };

	return call_quietly_for(cli, &q, ret);
}

int
call_quietly_for(const struct cli *cli, const struct call *q, struct reply *ret)
{
	struct err ignored;

	if (call_exchange(cli, q, ret, &ignored) != 0)
		return CLI_NO_DAEMON;
	if (ret->status < 400)
		return 0;
	reply_done(ret);
	return CLI_FAILED;
}

/* What stood still for too long is told; true then. */
static bool
call_stream_stands(FILE *f, unsigned int wanted_s)
{
	struct err err;

	if (ferror(f) == 0 || errno != EAGAIN)
		return false;
	(void)call_failed(&err, -EAGAIN, wanted_s, "");
	(void)cli_fail(&err, CLI_NO_DAEMON);
	return true;
}

/* Reads the head of a stream; what came after it stays unread in f. */
static int
call_stream_head(FILE *f)
{
	struct http_response head;
	struct http_scan scan = { 0 };
	uint8_t buf[8192];
	size_t len = 0, end = 0;
	int c;

	errno = 0;
	while (len < sizeof(buf) && (c = fgetc(f)) != EOF) {
		buf[len++] = (uint8_t)c;
		if (http_scan(&scan, (struct span){ buf, len }, &end) !=
		    HTTP_MORE)
			break;
	}
	if (call_stream_stands(f, 0))
		return CLI_NO_DAEMON;
	if (end == 0 ||
	    http_response_parse((struct span){ buf, end }, HTTP_METHOD_GET,
		false, &head) != HTTP_OK) {
		(void)fprintf(stderr,
		    "tapward: tapwardd closed the connection without an"
		    " answer; see its log\n");
		return CLI_NO_DAEMON;
	}
	if (head.status >= 400) {
		json_t *json = json_loadf(f, 0, NULL);
		int rc = call_complain(head.status, json);

		json_decref(json);
		return rc;
	}
	return 0;
}

int
call_stream(const struct cli *cli, const char *path, bool follows,
    call_line *on_line, void *arg)
{
	const struct call q = { .method = "GET", .path = path };
	AUTO_FREE char *line = malloc(CALL_LINE_MAX);
	struct err err = { "" };
	int fd = -1;
	int rc = call_connect(cli, 0, &fd, &err);
	FILE *f;

	if (rc == 0)
		rc = call_request(fd, &q, &err);
	if (rc != 0 || line == NULL) {
		fd_close(&fd);
		return cli_fail(&err, CLI_NO_DAEMON);
	}
	f = fdopen(fd, "r");
	if (f == NULL) {
		fd_close(&fd);
		return CLI_FAILED;
	}
	rc = call_stream_head(f);
	if (rc == 0)
		(void)call_set_patience(fileno(f),
		    follows ? 0 : call_patience(CALL_PATIENCE_LINE_S));
	while (rc == 0 && fgets(line, CALL_LINE_MAX, f) != NULL) {
		size_t len = strcspn(line, "\n");

		line[len] = '\0';
		rc = on_line(line, len, arg);
	}
	if (rc == 0 && call_stream_stands(f, CALL_PATIENCE_LINE_S))
		rc = CLI_NO_DAEMON;
	(void)fclose(f);
	return rc;
}
