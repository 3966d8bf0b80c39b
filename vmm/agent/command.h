/*
 * One stream as the agent has it: a command, or the process that copies. It is
 * fed by the frames of its stream, and by its process's descriptors.
 */
#ifndef TAPWARD_VMM_AGENT_COMMAND_H
#define TAPWARD_VMM_AGENT_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vmm/agent/group.h"
#include "vmm/agent/run.h"
#include "vmm/frame_queue.h"
#include "vmm/frame_stream.h"

enum command_output { COMMAND_STDOUT, COMMAND_STDERR, COMMAND_OUTPUTS };

struct command {
	uint32_t id;
	struct frame_stream rules;
	uint8_t *opening; /* the body that opened it; request borrows of it */
	union {
		struct frame_exec exec;
		struct frame_copy copy;
	} request;
	char *args; /* of FRAME_ARGS, args_len bytes so far */
	size_t args_len;

	pid_t pid;       /* 0: not started */
	bool is_reaped;  /* status is its end */
	bool is_short;   /* of memory: the kernel killed some of it */
	bool is_running; /* it is what was asked for, not a failed start */
	int status;      /* of waitpid(2) */
	int report_fd;   /* run.h; -1: closed */
	uint8_t report[RUN_REPORT_MAX];
	size_t report_len;

	int in_fd; /* -1: closed, by whomever */
	struct frame_queue input;
	bool input_ends;    /* close in_fd when input is empty */
	uint32_t give_back; /* bytes of FRAME_INPUT that have gone on */

	int out_fds[COMMAND_OUTPUTS];
	bool eof_due[COMMAND_OUTPUTS];
	unsigned int output_turn; /* the one that is read next */

	bool start_due; /* STARTED has not been said */
	bool is_over;   /* end is what EXIT says */
	struct frame_exit end;
	char end_text[FRAME_TEXT_MAX];
};

/*
 * By f, which opens a stream. A fault is f's; FRAME_OK with *ret NULL: no
 * memory.
 */
enum frame_fault command_new(const struct frame *f, struct command **ret);
/* Closes all; what runs, runs on. */
void command_free(struct command *c);

/* Whether all that it needs to start has come, and it has not started. */
bool command_is_whole(const struct command *c);
/* Starts its process. What goes wrong is its end. */
void command_start(struct command *c, const struct run_defaults *defaults,
    const struct groups *groups);

/* f is of its stream and keeps its rules. */
void command_take(struct command *c, const struct frame *f,
    const struct groups *groups);

/* Its descriptors, when they are ready. */
void command_write_input(struct command *c);
void command_read_report(struct command *c);
/* The other end of in_fd is closed: nobody reads what waits. */
void command_drop_input(struct command *c);
/*
 * Up to size bytes of one output. The number of bytes; 0: it has ended, and is
 * closed; -EAGAIN: there is nothing now.
 */
ssize_t command_read_output(struct command *c, enum command_output i,
    uint8_t *buf, size_t size);

/* One of them is open: there may be more. */
bool command_has_outputs(const struct command *c);

/* Its process has ended. */
void command_reap(struct command *c, int status, const struct groups *groups);
/*
 * Its process has ended and what it wrote has been read, as far as it was
 * written by then: what it left running may hold its outputs open. Sets end.
 */
void command_settle(struct command *c);

#endif
