/*
 * One caller's connection to the control socket: one request, one answer. An
 * answer may be a stream (a log, metrics, events) and may bring a descriptor.
 */
#ifndef TAPWARD_DAEMON_API_CONN_H
#define TAPWARD_DAEMON_API_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "daemon/api.h"
#include "wire/http.h"

struct event;

/* A namespace, or what a guest is started from; never a policy. */
#define API_CONN_FDS_MAX 3

enum api_conn_state {
	API_CONN_READ,   /* head and body */
	API_CONN_WAIT,   /* for the supervisor */
	API_CONN_WRITE,  /* answer; ends the connection when it is out */
	API_CONN_STREAM, /* from sink_fd, or events, until either end closes */
	API_CONN_CLOSING,
};

struct api_conn {
	struct api *api;
	struct api_conn *next, *prev;
	enum api_conn_state state;
	int fd;
	uint32_t uid, gid;
	bool metrics_only; /* came over TCP */

	uint8_t *in; /* of API_HEAD_MAX_BYTES, grown once for the body */
	size_t in_len, in_size;
	struct http_scan scan;
	size_t head_len;
	size_t body_len;
	int fds[API_CONN_FDS_MAX];
	unsigned int fd_count;

	uint8_t *out;
	size_t out_len, out_at, out_size;
	int out_fd;  /* goes with the first byte of the answer; -1 none */
	int sink_fd; /* read end of what the recorder writes; -1 none */
	bool follows_events;
	struct message_api_request request;
	uint32_t request_id;

	struct event *event; /* on fd */
	struct event *sink_event;
	struct event *timer;
};

/* Takes fd. NULL when memory is short; fd is then closed. */
struct api_conn *api_conn_new(struct api *a, int fd, uint32_t uid, uint32_t gid,
    bool metrics_only);
void api_conn_free(struct api_conn *c);

/* The whole answer: status line, fields, body (borrowed). Takes fd (or -1). */
void api_conn_answer(struct api_conn *c, unsigned int status,
    const char *content_type, struct span body, int fd);
/* A refusal as JSON. */
void api_conn_refuse(struct api_conn *c, unsigned int status, const char *text,
    struct span findings);
/*
 * Begins an answer without an end: what comes from sink_fd (taken; -1: what
 * api_conn_stream_add() brings) is passed on as it comes.
 */
void api_conn_stream(struct api_conn *c, const char *content_type, int sink_fd);
/* Events: dropped, and the connection ended, if the caller does not read. */
void api_conn_stream_add(struct api_conn *c, struct span line);

#endif
