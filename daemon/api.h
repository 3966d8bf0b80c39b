/*
 * tapward-api: the control API, HTTP with JSON on a unix socket. It holds no
 * right of its own: each request becomes one checked message to the
 * supervisor, with the uid and gid that the kernel gave (SO_PEERCRED), and
 * descriptors that came along. The supervisor decides.
 *
 * api.c keeps what is open, api_conn.c is one connection, api_route.c turns
 * requests into messages, api_json.c reads and writes JSON.
 */
#ifndef TAPWARD_DAEMON_API_H
#define TAPWARD_DAEMON_API_H

#include <stdbool.h>
#include <stdint.h>

#include "base/message_api.h"

struct event;
struct event_base;
struct chan;
struct api_conn;

/*
 * Callers at once, of all users and of one: a connection may hold
 * API_BODY_MAX_BYTES, and one user must not lock out the others.
 */
#define API_CONNS_MAX 64
#define API_CONNS_PER_USER 24
/* Of them for root alone, so that users together cannot lock it out. */
#define API_CONNS_ROOT 8
/* A policy text of 256 KiB with every byte written as \u00NN, and the rest. */
#define API_BODY_MAX_BYTES (2u << 20)
#define API_HEAD_MAX_BYTES 8192
/* For a whole request to arrive, and for an answer to be taken. */
#define API_IO_TIMEOUT_MS 10000
/* For the supervisor's answer: a create may wait for a gate and the CA. */
#define API_ANSWER_TIMEOUT_MS 30000

struct api {
	struct event_base *base;
	struct chan *supervisor;
	struct event *listener; /* control.sock */
	struct event *metrics;  /* TCP, GET /metrics only; NULL unless set */
	struct api_conn *conns;
	unsigned int conn_count;
	unsigned int refused; /* since it was last told */
	uint64_t refused_ms;
};

void api_init(struct api *a, struct event_base *base);
void api_done(struct api *a);
/* Takes both; metrics_fd -1: none. 0 or -errno. */
int api_listen(struct api *a, int control_fd, int metrics_fd);
/* MSG_API_ANSWER with this id; body and fds as in struct chan_msg. */
int api_on_answer(struct api *a, uint32_t id, struct rd *body, int *fds,
    unsigned int fd_count);
/* MSG_API_EVENT: to everyone who follows and may see it. */
void api_on_event(struct api *a, const struct message_api_event *event);

#endif
