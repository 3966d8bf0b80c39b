/*
 * Every answer closes the connection: callers are command lines, and with one
 * request on each there is no second one to frame. Buffers are bounded by
 * API_HEAD_MAX_BYTES and API_BODY_MAX_BYTES; a stream is read from its sink
 * only while the caller takes it.
 */
#include "daemon/api_conn.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/api_json.h"
#include "daemon/api_route.h"
#include "wire/http_write.h"

/* Room for a head of ours, and of a stream's buffer. */
#define API_OUT_BYTES 65536

static void api_conn_set_events(struct api_conn *c);

/* Frees it on the next turn: the caller may be in one of its callbacks. */
static void
api_conn_close(struct api_conn *c)
{
	const struct timeval now = { 0, 0 };

	c->state = API_CONN_CLOSING;
	(void)event_del(c->event);
	if (c->sink_event != NULL)
		(void)event_del(c->sink_event);
	(void)event_add(c->timer, &now);
}

static void
api_conn_set_timeout(struct api_conn *c, unsigned int ms)
{
	const struct timeval tv = { ms / 1000, (long)(ms % 1000) * 1000 };

	if (ms == 0)
		(void)event_del(c->timer);
	else
		(void)event_add(c->timer, &tv);
}

static void
on_api_timer(evutil_socket_t fd, short what, void *arg)
{
	struct api_conn *c = arg;

	(void)fd;
	(void)what;
	if (c->state == API_CONN_WAIT)
		api_conn_refuse(c, 503,
		    "the supervisor does not answer; see its log",
		    (struct span){ NULL, 0 });
	else
		api_conn_free(c);
}

/* Grows in for a body whose length is known. */
static bool
api_conn_make_room(struct api_conn *c)
{
	size_t want = c->head_len + c->body_len + 1;
	uint8_t *p;

	if (want <= c->in_size)
		return true;
	p = realloc(c->in, want);
	if (p == NULL)
		return false;
	c->in = p;
	c->in_size = want;
	return true;
}

/* 0 when the request is whole, 1 when more is to come, else a status. */
static unsigned int
api_conn_frame(struct api_conn *c)
{
	struct http_request req;

	if (c->head_len == 0) {
		enum http_status s = http_scan(&c->scan,
		    (struct span){ c->in, c->in_len }, &c->head_len);

		if (s == HTTP_MORE)
			return c->in_len < API_HEAD_MAX_BYTES ? 1 : 431;
		if (s != HTTP_OK ||
		    http_request_parse_ours((struct span){ c->in, c->head_len },
			&req) != HTTP_OK)
			return 400;
		if (req.framing == HTTP_FRAMING_CHUNKED)
			return 411;
		if (req.length > API_BODY_MAX_BYTES)
			return 413;
		c->body_len = (size_t)req.length;
		if (!api_conn_make_room(c))
			return 503;
		if (req.expects_continue)
			(void)send(c->fd, "HTTP/1.1 100 Continue\r\n\r\n", 25,
			    MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	return c->in_len < c->head_len + c->body_len ? 1 : 0;
}

static void
api_conn_take_fds(struct api_conn *c, struct msghdr *msg)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(msg); h != NULL;
	     h = CMSG_NXTHDR(msg, h)) {
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[8];

		if (h->cmsg_level != SOL_SOCKET || h->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n && i < 8; i++) {
			memcpy(&fds[i], CMSG_DATA(h) + i * sizeof(int),
			    sizeof(int));
			if (c->fd_count < API_CONN_FDS_MAX)
				c->fds[c->fd_count++] = fds[i];
			else
				(void)close(fds[i]);
		}
	}
}

static ssize_t
api_conn_receive(struct api_conn *c)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(8 * sizeof(int))];
	} control;
	size_t limit =
	    c->head_len == 0 ? API_HEAD_MAX_BYTES : c->head_len + c->body_len;
	struct iovec iov = { c->in + c->in_len, limit - c->in_len };
	struct msghdr msg = { .msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf) };
	ssize_t n = recvmsg(c->fd, &msg, MSG_CMSG_CLOEXEC);

	if (n >= 0)
		api_conn_take_fds(c, &msg);
	return n;
}

static void
api_conn_read(struct api_conn *c)
{
	ssize_t n = api_conn_receive(c);
	unsigned int status;

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		api_conn_close(c);
		return;
	}
	c->in_len += (size_t)n;
	status = api_conn_frame(c);
	if (status == 1)
		return;
	if (status != 0) {
		api_conn_refuse(c, status, "the request is not one we take",
		    (struct span){ NULL, 0 });
		return;
	}
	c->state = API_CONN_WAIT;
	api_conn_set_events(c);
	api_conn_set_timeout(c, API_ANSWER_TIMEOUT_MS);
	api_route(c);
}

static ssize_t
api_conn_send(struct api_conn *c)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} control = { .buf = { 0 } };
	struct iovec iov = { c->out + c->out_at, c->out_len - c->out_at };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (c->out_fd != -1) {
		struct cmsghdr *h;

		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		h = CMSG_FIRSTHDR(&msg);
		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(h), &c->out_fd, sizeof(int));
	}
	return sendmsg(c->fd, &msg, MSG_NOSIGNAL);
}

static void
api_conn_write(struct api_conn *c)
{
	if (c->out_at < c->out_len) {
		ssize_t n = api_conn_send(c);

		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			api_conn_close(c);
			return;
		}
		fd_close(&c->out_fd);
		c->out_at += (size_t)n;
	}
	if (c->out_at < c->out_len)
		return;
	c->out_at = c->out_len = 0;
	if (c->state == API_CONN_WRITE)
		api_conn_close(c);
	else
		api_conn_set_events(c);
}

/* A caller that goes away ends its stream and its wait. */
static void
api_conn_drain(struct api_conn *c)
{
	uint8_t buf[256];
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0);

	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
		api_conn_close(c);
}

static void
on_api_event(evutil_socket_t fd, short what, void *arg)
{
	struct api_conn *c = arg;

	(void)fd;
	if (what & EV_WRITE) {
		api_conn_write(c);
		return;
	}
	if (c->state == API_CONN_READ)
		api_conn_read(c);
	else
		api_conn_drain(c);
}

static void
on_api_sink(evutil_socket_t fd, short what, void *arg)
{
	struct api_conn *c = arg;
	ssize_t n =
	    read((int)fd, c->out + c->out_len, c->out_size - c->out_len);

	(void)what;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		fd_close(&c->sink_fd);
		(void)event_del(c->sink_event);
		c->state = API_CONN_WRITE;
		api_conn_set_timeout(c, API_IO_TIMEOUT_MS);
		if (c->out_len == c->out_at) {
			api_conn_close(c);
			return;
		}
	} else {
		c->out_len += (size_t)n;
	}
	api_conn_set_events(c);
}

/* What each state waits for; a full buffer stops the sink. */
static void
api_conn_set_events(struct api_conn *c)
{
	short what = EV_PERSIST;
	bool has_out = c->out_at < c->out_len;

	if (c->state == API_CONN_CLOSING)
		return;
	what |= c->state == API_CONN_WRITE || has_out ? EV_WRITE : EV_READ;
	(void)event_del(c->event);
	(void)event_assign(c->event, c->api->base, c->fd, what, on_api_event,
	    c);
	(void)event_add(c->event, NULL);
	if (c->sink_event == NULL || c->sink_fd == -1)
		return;
	if (has_out)
		(void)event_del(c->sink_event);
	else
		(void)event_add(c->sink_event, NULL);
}

struct api_conn *
api_conn_new(struct api *a, int fd, uint32_t uid, uint32_t gid,
    bool metrics_only)
{
	struct api_conn *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		(void)close(fd);
		return NULL;
	}
	*c = (struct api_conn){ .api = a,
		.fd = fd,
		.uid = uid,
		.gid = gid,
		.metrics_only = metrics_only,
		.out_fd = -1,
		.sink_fd = -1,
		.in_size = API_HEAD_MAX_BYTES };
	c->next = a->conns;
	if (c->next != NULL)
		c->next->prev = c;
	a->conns = c;
	a->conn_count++;
	c->in = malloc(c->in_size);
	c->event =
	    event_new(a->base, fd, EV_READ | EV_PERSIST, on_api_event, c);
	c->timer = event_new(a->base, -1, 0, on_api_timer, c);
	if (c->in == NULL || c->event == NULL || c->timer == NULL ||
	    event_add(c->event, NULL) == -1) {
		api_conn_free(c);
		return NULL;
	}
	api_conn_set_timeout(c, API_IO_TIMEOUT_MS);
	return c;
}

void
api_conn_free(struct api_conn *c)
{
	if (c->prev != NULL)
		c->prev->next = c->next;
	else
		c->api->conns = c->next;
	if (c->next != NULL)
		c->next->prev = c->prev;
	c->api->conn_count--;
	if (c->event != NULL)
		event_free(c->event);
	if (c->sink_event != NULL)
		event_free(c->sink_event);
	if (c->timer != NULL)
		event_free(c->timer);
	for (unsigned int i = 0; i < c->fd_count; i++)
		fd_close(&c->fds[i]);
	fd_close(&c->out_fd);
	fd_close(&c->sink_fd);
	fd_close(&c->fd);
	free(c->in);
	free(c->out);
	free(c);
}

static const char *
api_reason_phrase(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *text;
	} rows[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 409, "Conflict" },
		{ 411, "Length Required" },
		{ 413, "Content Too Large" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 503, "Service Unavailable" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].status == status)
			return rows[i].text;
	return "Internal Server Error";
}

/* Writes the head and room for body bytes; false when memory is short. */
static bool
api_conn_head(struct api_conn *c, unsigned int status, const char *content_type,
    bool has_length, size_t body_len)
{
	struct wr w;

	c->out_size = API_HEAD_MAX_BYTES + body_len;
	free(c->out);
	c->out = malloc(c->out_size);
	c->out_at = c->out_len = 0;
	if (c->out == NULL)
		return false;
	w = wr_init(c->out, c->out_size);
	http_write_status_line(&w, status, span_of(api_reason_phrase(status)));
	http_write_text(&w, "Content-Type", content_type);
	http_write_text(&w, "Connection", "close");
	if (has_length)
		http_write_length(&w, body_len);
	http_write_end(&w);
	c->out_len = w.len;
	return wr_ok(&w);
}

void
api_conn_answer(struct api_conn *c, unsigned int status,
    const char *content_type, struct span body, int fd)
{
	c->out_fd = fd;
	if (!api_conn_head(c, status, content_type, true, body.len)) {
		api_conn_close(c);
		return;
	}
	memcpy(c->out + c->out_len, body.ptr, body.len);
	c->out_len += body.len;
	c->state = API_CONN_WRITE;
	api_conn_set_events(c);
	api_conn_set_timeout(c, API_IO_TIMEOUT_MS);
}

void
api_conn_refuse(struct api_conn *c, unsigned int status, const char *text,
    struct span findings)
{
	json_t *json = api_json_error(text, findings);
	char *body = json == NULL ? NULL : json_dumps(json, JSON_COMPACT);

	json_decref(json);
	if (body == NULL) {
		api_conn_close(c);
		return;
	}
	api_conn_answer(c, status, "application/json", span_of(body), -1);
	free(body);
}

void
api_conn_stream(struct api_conn *c, const char *content_type, int sink_fd)
{
	c->sink_fd = sink_fd;
	if (!api_conn_head(c, 200, content_type, false, API_OUT_BYTES)) {
		api_conn_close(c);
		return;
	}
	c->state = API_CONN_STREAM;
	api_conn_set_timeout(c, 0);
	if (sink_fd == -1) {
		c->follows_events = true;
	} else {
		c->sink_event = event_new(c->api->base, sink_fd,
		    EV_READ | EV_PERSIST, on_api_sink, c);
		if (c->sink_event == NULL ||
		    fd_set_nonblock(sink_fd, true) != 0) {
			api_conn_close(c);
			return;
		}
	}
	api_conn_set_events(c);
}

void
api_conn_stream_add(struct api_conn *c, struct span line)
{
	if (c->out_len + line.len > c->out_size) {
		api_conn_close(c);
		return;
	}
	memcpy(c->out + c->out_len, line.ptr, line.len);
	c->out_len += line.len;
	api_conn_set_events(c);
}
