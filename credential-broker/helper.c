/*
 * Helper programs, see helper.h. Two things must have happened before one is
 * over: the end of its output, and the supervisor's word of how it ended.
 */
#include "credential-broker/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/message_helper.h"
#include "credential-broker/broker.h"

struct helper {
	LIST_ENTRY(helper) link;
	helper_done *done;
	void *arg;
	uint32_t id;
	int fd; /* its output; -1: it has come to its end */
	struct event *event;
	bool has_ended;
	enum mint_fault fault;
	struct secret output;
	size_t len;
};

static void
helper_free(struct helper *h)
{
	LIST_REMOVE(h, link);
	if (h->event != NULL)
		event_free(h->event);
	fd_close(&h->fd);
	secret_done(&h->output);
	free(h);
}

static void
finish(struct helper *h)
{
	h->done(h->fault, (struct span){ h->output.ptr, h->len }, h->arg);
	helper_free(h);
}

static void
close_output(struct helper *h)
{
	event_free(h->event);
	h->event = NULL;
	fd_close(&h->fd);
	if (h->has_ended)
		finish(h);
}

static void
on_output(evutil_socket_t fd, short what, void *arg)
{
	struct helper *h = arg;
	ssize_t n;

	(void)what;
	if (h->len == h->output.len) {
		/* Too much: it is cut off, and what it wrote is not used. */
		h->fault = MINT_ANSWER;
		h->len = 0;
		close_output(h);
		return;
	}
	n = read(fd, h->output.ptr + h->len, h->output.len - h->len);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		h->len += (size_t)n;
	else
		close_output(h);
}

static enum mint_fault
fault_of(const struct message_helper_ran *m)
{
	switch ((enum helper_outcome)m->outcome) {
	case HELPER_RAN:
		return m->status == 0 ? MINT_OK : MINT_REFUSED;
	case HELPER_LATE:
		return MINT_TIMEOUT;
	case HELPER_KILLED:
		return MINT_ISSUER;
	case HELPER_NOT_STARTED:
	case HELPER_OUTCOMES:
		break;
	}
	return MINT_LOCAL;
}

static void
end(struct helper *h, enum mint_fault fault)
{
	h->has_ended = true;
	if (h->fault == MINT_OK)
		h->fault = fault;
	/* What it left behind may hold the pipe open: all it had is there. */
	if (h->fd == -1)
		finish(h);
	else if (fault == MINT_TIMEOUT || fault == MINT_LOCAL)
		close_output(h);
}

int
helper_on_ran(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct broker *b = arg;
	struct message_helper_ran m = { 0 };
	struct helper *h;
	int rc = message_helper_ran_decode(&msg->body, &m);

	(void)c;
	if (rc != 0)
		return rc;
	LIST_FOREACH(h, &b->helpers, link)
	if (h->id == msg->id && !h->has_ended)
		break;
	/* NULL: it was cancelled. */
	if (h != NULL)
		end(h, fault_of(&m));
	return 0;
}

void
helper_fail_all(struct broker *b)
{
	struct helper *h, *next;

	for (h = LIST_FIRST(&b->helpers); h != NULL; h = next) {
		next = LIST_NEXT(h, link);
		if (!h->has_ended)
			end(h, MINT_LOCAL);
	}
}

static int
send_run(struct broker *b, struct helper *h, const char *credential,
    const int fds[HELPER_FDS])
{
	struct message_helper_run m = { { 0 } };
	uint8_t buf[128];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)strncpy(m.credential, credential, sizeof(m.credential) - 1);
	message_helper_run_encode(&w, &m);
	h->id = chan_next_id(b->supervisor);
	return chan_send(b->supervisor, MSG_BROKER_RUN, h->id, &w, fds,
	    HELPER_FDS);
}

static int
begin(struct broker *b, struct helper *h, const char *credential,
    struct span in)
{
	AUTO_CLOSE int stdin_fd = -1;
	AUTO_CLOSE int feed = -1;
	AUTO_CLOSE int stdout_fd = -1;
	int input[2], output[2], fds[HELPER_FDS];
	int rc;

	if (pipe2(input, O_CLOEXEC) == -1)
		return -errno;
	stdin_fd = input[0];
	feed = input[1];
	if (pipe2(output, O_CLOEXEC) == -1)
		return -errno;
	h->fd = output[0];
	stdout_fd = output[1];
	rc = fd_write_all(feed, in.ptr, in.len);
	if (rc == 0)
		rc = fd_set_nonblock(h->fd, true);
	if (rc != 0)
		return rc;
	h->event =
	    event_new(b->base, h->fd, EV_READ | EV_PERSIST, on_output, h);
	if (h->event == NULL || event_add(h->event, NULL) == -1)
		return -ENOMEM;
	fds[HELPER_FD_STDIN] = stdin_fd;
	fds[HELPER_FD_STDOUT] = stdout_fd;
	return send_run(b, h, credential, fds);
}

struct helper *
helper_start(struct broker *b, const char *credential, struct span in,
    helper_done *done, void *arg)
{
	struct helper *h;

	if (b->supervisor == NULL || in.len > HELPER_INPUT_MAX_BYTES)
		return NULL;
	h = calloc(1, sizeof(*h));
	if (h == NULL)
		return NULL;
	h->done = done;
	h->arg = arg;
	h->fd = -1;
	LIST_INSERT_HEAD(&b->helpers, h, link);
	if (secret_alloc(&h->output, HELPER_OUTPUT_MAX_BYTES) == 0 &&
	    begin(b, h, credential, in) == 0)
		return h;
	helper_free(h);
	return NULL;
}

void
helper_cancel(struct helper *h)
{
	if (h != NULL)
		helper_free(h);
}
