/*
 * A host for the guest's agent: it asks for commands and copies, feeds and
 * hears all of them at once, and keeps what they say.
 */
#ifndef TAPWARD_TESTS_UNIT_AGENT_PEER_H
#define TAPWARD_TESTS_UNIT_AGENT_PEER_H

#include "wire_rows.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/agent/serve.h"
#include "vmm/frame_link.h"
#include "vmm/frame_stream.h"

#define DEADLINE_MS 30000
#define TASKS_MAX 70

/* One stream as its host has it. */
struct task {
	uint32_t id;
	struct frame_stream rules;
	struct span input; /* what is still to be sent */
	bool input_ends;   /* EOF when it is */
	bool keeps;        /* does not give output back: it does not read */
	uint32_t pid;
	uint8_t *out[2]; /* OUTPUT, ERROR; a NUL after it */
	size_t len[2];
	struct frame_exit end;
	char text[FRAME_TEXT_MAX + 1];
};

struct host {
	struct frame_link link;
	pid_t pid; /* of the agent */
	uint32_t last_id;
	struct task tasks[TASKS_MAX];
	unsigned int count;
};

static struct host host;

static inline void
host_start(void)
{
	static char user[16];
	int fds[2], signal_fd;

	memset(&host, 0, sizeof(host));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
			     fds),
	    0);
	host.pid = fork();
	assert_true(host.pid != -1);
	if (host.pid == 0) {
		struct serve s = { .defaults = { .workdir = "/" } };

		(void)close(fds[0]);
		(void)snprintf(user, sizeof(user), "%u", geteuid());
		s.defaults.user = user;
		if (env_set(&s.defaults.env, "BASE", "base") != 0 ||
		    serve_signals(&signal_fd) != 0)
			_exit(2);
		_exit(serve_run(&s, fds[1], signal_fd) == SERVE_POWEROFF);
	}
	(void)close(fds[1]);
	assert_int_equal(frame_link_init(&host.link, fds[0]), 0);
}

/* The agent ends when its host does: 0, or 1 after POWEROFF. */
static inline int
host_end(void)
{
	int status = -1;

	frame_link_done(&host.link);
	assert_int_equal(waitpid(host.pid, &status, 0), host.pid);
	for (unsigned int i = 0; i < host.count; i++)
		for (unsigned int k = 0; k < 2; k++)
			free(host.tasks[i].out[k]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* w holds frames of the host; t is the stream they are of, or NULL. */
static inline void
host_send(const struct wr *w, struct task *t)
{
	struct span in = { w->buf, w->len };
	struct frame f;
	size_t used;

	assert_true(wr_ok(w));
	while (t != NULL && in.len > 0) {
		assert_int_equal(frame_decode(in, &f, &used), FRAME_OK);
		if (f.head.type < FRAME_EXEC || f.head.type > FRAME_GET)
			assert_int_equal(frame_stream_pass(&t->rules,
					     FRAME_HOST, &f),
			    FRAME_OK);
		else
			assert_int_equal(frame_stream_open(&t->rules, &f),
			    FRAME_OK);
		in.ptr += used;
		in.len -= used;
	}
	frame_link_put(&host.link, w);
}

#define host_say(t, encoder, ...)                                              \
	do {                                                                   \
		struct wr say_w = frame_link_writer(&host.link);               \
                                                                               \
		encoder(&say_w, __VA_ARGS__);                                  \
		host_send(&say_w, t);                                          \
	} while (0)

static inline void
host_hello(void)
{
	host_say(NULL, frame_hello_encode,
	    &(struct frame_hello){ FRAME_VERSION, 0 });
}

static inline void
task_keep(struct task *t, unsigned int i, struct span s)
{
	t->out[i] = realloc(t->out[i], t->len[i] + s.len + 1);
	assert_non_null(t->out[i]);
	memcpy(t->out[i] + t->len[i], s.ptr, s.len);
	t->len[i] += s.len;
	t->out[i][t->len[i]] = '\0';
}

static inline void
task_hear(struct task *t, const struct frame *f)
{
	const enum frame_fault fault =
	    frame_stream_pass(&t->rules, FRAME_GUEST, f);

	if (fault != FRAME_OK)
		fail_msg("the agent sent %s: %s", frame_type_text(f->head.type),
		    frame_fault_text(fault));
	if (f->head.type == FRAME_DATA) {
		task_keep(t, f->head.channel == FRAME_ERROR, f->body);
		if (!t->keeps)
			host_say(t, frame_window_encode, t->id, f->head.channel,
			    f->head.len);
	} else if (f->head.type == FRAME_STARTED) {
		(void)frame_started_decode(f->body, &t->pid);
	} else if (f->head.type == FRAME_EXIT) {
		(void)frame_exit_decode(f->body, &t->end);
		if (t->end.text.len > 0)
			memcpy(t->text, t->end.text.ptr, t->end.text.len);
	}
}

static inline void
task_feed(struct task *t)
{
	uint32_t credit = t->rules.credit[FRAME_INPUT];
	size_t len = t->input.len;

	if (t->rules.exited || t->rules.reset)
		return;
	if (len > credit)
		len = credit;
	if (len > FRAME_PAYLOAD_MAX)
		len = FRAME_PAYLOAD_MAX;
	if (frame_link_room(&host.link) < FRAME_BYTES_MAX)
		return;
	if (len > 0) {
		host_say(t, frame_data_encode, t->id, FRAME_INPUT,
		    (struct span){ t->input.ptr, len });
		t->input.ptr += len;
		t->input.len -= len;
	} else if (t->input.len == 0 && t->input_ends) {
		host_say(t, frame_bare_encode, FRAME_EOF, t->id, FRAME_INPUT);
		t->input_ends = false;
	}
}

/* Hears what there is and feeds what can be fed, waiting a moment for it. */
static inline void
host_turn(void)
{
	struct pollfd pfd = { .fd = host.link.fd, .events = POLLIN };
	struct frame f;
	bool has = true;
	int rc;

	for (unsigned int i = 0; i < host.count; i++)
		task_feed(&host.tasks[i]);
	if (frame_link_write(&host.link) == -EAGAIN)
		pfd.events |= POLLOUT;
	(void)poll(&pfd, 1, 20);
	rc = frame_link_read(&host.link);
	if (rc == -EPIPE)
		fail_msg("the agent is gone");
	while (rc == 0 && frame_link_room(&host.link) > FRAME_BYTES_MAX) {
		assert_int_equal(frame_link_next(&host.link, &f, &has),
		    FRAME_OK);
		if (!has)
			break;
		for (unsigned int i = 0; i < host.count; i++)
			if (host.tasks[i].id == f.head.stream)
				task_hear(&host.tasks[i], &f);
	}
}

#define until(claim)                                                           \
	do {                                                                   \
		const uint64_t end_ms = clock_mono_ms() + DEADLINE_MS;         \
                                                                               \
		while (!(claim)) {                                             \
			if (clock_mono_ms() > end_ms)                          \
				fail_msg("%s: not in time", #claim);           \
			host_turn();                                           \
		}                                                              \
	} while (0)

static inline struct task *
task_new(void)
{
	struct task *t = &host.tasks[host.count++];

	assert_true(host.count <= TASKS_MAX);
	t->id = ++host.last_id;
	return t;
}

/* argv ends with NULL; vars too, and may be NULL. e has the rest. */
static inline struct task *
exec_with(struct frame_exec e, const char *const *argv, const char *const *vars)
{
	static uint8_t args[FRAME_PAYLOAD_MAX];
	struct wr w = wr_init(args, sizeof(args));
	struct task *t = task_new();

	for (; *argv != NULL; argv++, e.argc++)
		wr_bytes(&w, *argv, strlen(*argv) + 1);
	for (; vars != NULL && *vars != NULL; vars++, e.envc++)
		wr_bytes(&w, *vars, strlen(*vars) + 1);
	assert_true(wr_ok(&w));
	e.args_bytes = (uint32_t)w.len;
	host_say(t, frame_exec_encode, t->id, &e);
	host_say(t, frame_data_encode, t->id, FRAME_ARGS,
	    (struct span){ args, w.len });
	return t;
}

static inline struct task *
shell(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	return exec_with((struct frame_exec){ .flags = 0 }, argv, NULL);
}

static inline struct task *
shell_tty(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	return exec_with((struct frame_exec){ .flags = FRAME_EXEC_TTY,
			     .rows = 40,
			     .cols = 100 },
	    argv, NULL);
}

static inline struct task *
copy_with(uint8_t type, const char *path, uint32_t flags)
{
	struct task *t = task_new();

	host_say(t, frame_copy_encode, type, t->id,
	    &(struct frame_copy){ .flags = flags, .path = span_of(path) });
	return t;
}

static inline const char *
out_of(const struct task *t)
{
	return t->out[0] == NULL ? "" : (const char *)t->out[0];
}

#endif
