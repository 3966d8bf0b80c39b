/*
 * The frames between a session and a guest: one format on both hops, `tapward`
 * to tapward-vm (a connected SOCK_STREAM socket) and tapward-vm to the guest's
 * agent (a virtio-serial port or a vsock connection). Pure: no I/O.
 *
 * A frame: u32 length of the payload, u8 type, u8 channel, u16 zero, u32
 * stream; then the payload. Big-endian. Three of them join: HOST is the end
 * that asks (`tapward`, and tapward-vm towards the agent), GUEST the one that
 * answers (the agent, and tapward-vm towards `tapward`). tapward-vm relays
 * frames as they are but for the number of the stream, and believes neither.
 *
 * A hop: each side sends HELLO first, without waiting for the other's.
 *
 * A stream is opened by EXEC, PUT or GET of the host with a number greater
 * than that of every stream before on this hop, and lives until the guest's
 * EXIT. What the host sent before it saw the EXIT still arrives: a frame for a
 * number that was used and is gone is ignored. RESET is the last frame of the
 * host; the guest kills what runs, and answers with EXIT as ever.
 *
 * Windows: of each channel's DATA its sender may have sent FRAME_WINDOW bytes
 * that the other has not given back by WINDOW. It is given back when the bytes
 * have gone on, so at most FRAME_WINDOW bytes wait for one channel anywhere.
 */
#ifndef TAPWARD_VMM_FRAME_H
#define TAPWARD_VMM_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FRAME_VERSION 1
#define FRAME_HEAD_BYTES 12
/* Longest payload: one pipe's worth, so that no frame holds up others long. */
#define FRAME_PAYLOAD_MAX 65536
#define FRAME_BYTES_MAX (FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX)
/*
 * Bytes of one channel on their way: 256 KiB at 1 ms there and back is 256
 * MB/s, ten times what a virtio-serial port gives under TCG.
 */
#define FRAME_WINDOW 262144
/*
 * argv and environment of one command with a NUL after each: the first window
 * of their channel, which is never given back. Linux itself takes 128 KiB for
 * one string and, with the usual stack, 2 MiB for all.
 */
#define FRAME_ARGS_MAX_BYTES FRAME_WINDOW
#define FRAME_ARGS_MAX_COUNT 16384
/* Paths as PATH_MAX has them, without the NUL; names as useradd(8) has them. */
#define FRAME_PATH_MAX 4095
#define FRAME_USER_MAX 64
/* Text for people: printable ASCII, or the frame is refused. */
#define FRAME_TEXT_MAX 512
/*
 * Open streams of one VM, over all sessions: an owner's scripts run a few at
 * once, and each may hold two windows of memory in tapward-vm.
 */
#define FRAME_STREAMS_MAX 64

enum frame_type {
	/* on stream 0 */
	FRAME_HELLO = 1,    /* both: struct frame_hello */
	FRAME_STATE = 2,    /* tapward-vm to `tapward`: struct frame_state */
	FRAME_CLOCK = 3,    /* tapward-vm to the agent: u64 us since 1970 */
	FRAME_POWEROFF = 4, /* tapward-vm to the agent: no body */
	/* on a stream, of the host */
	FRAME_EXEC = 16,   /* opens: struct frame_exec */
	FRAME_PUT = 17,    /* opens: struct frame_copy */
	FRAME_GET = 18,    /* opens: struct frame_copy */
	FRAME_SIGNAL = 19, /* u8 number, to the command's process group */
	FRAME_RESIZE = 20, /* u16 rows, u16 columns */
	FRAME_RESET = 21,  /* no body */
	/* on a stream, of the guest */
	FRAME_STARTED = 32, /* u32 process id in the guest; EXEC only, once */
	FRAME_EXIT = 33,    /* struct frame_exit; the stream is gone */
	/* on a stream, of either */
	FRAME_DATA = 48,       /* at least 1 byte */
	FRAME_EOF = 49,        /* no more DATA on this channel */
	FRAME_WINDOW_ADD = 50, /* u32 bytes, not 0: more may be sent */
};

/* Which DATA: channel of DATA, EOF and WINDOW_ADD; 0 in every other frame. */
enum frame_channel {
	FRAME_INPUT = 0,  /* to the guest: stdin of EXEC, the archive of PUT */
	FRAME_OUTPUT = 1, /* from it: stdout of EXEC, the archive of GET */
	FRAME_ERROR = 2,  /* from it: stderr of EXEC without a terminal */
	/*
	 * To the guest: argv, then NAME=VALUE, each with a NUL after it;
	 * args_bytes of EXEC in all, and neither EOF nor WINDOW_ADD. The
	 * command starts when all are there.
	 */
	FRAME_ARGS = 3,
	FRAME_CHANNELS
};

enum frame_side {
	FRAME_HOST,
	FRAME_GUEST,
};

/* Why a frame was refused; frame_fault_text() says it to people. */
enum frame_fault {
	FRAME_OK,
	FRAME_BAD_TYPE,    /* unknown, or not this side's to send */
	FRAME_BAD_LENGTH,  /* longer or shorter than its type can be */
	FRAME_BAD_CHANNEL, /* not one of this type, side or kind of stream */
	FRAME_BAD_STREAM,  /* 0 where it must not be, never opened, in use */
	FRAME_BAD_BODY,    /* a value or a text that cannot be */
	FRAME_BAD_ORDER,   /* not now: before HELLO, after EOF, twice */
	FRAME_BAD_WINDOW, /* more than there was room for, or more given back */
};

struct frame_head {
	uint32_t len; /* of the payload */
	uint8_t type; /* enum frame_type, a known one */
	uint8_t channel;
	uint32_t stream;
};

/* A whole frame; body borrows. */
struct frame {
	struct frame_head head;
	struct span body;
};

struct frame_hello {
	uint32_t version;  /* FRAME_VERSION, or the other is refused */
	uint32_t features; /* none yet; unknown ones are ignored */
};

enum frame_vm_state {
	FRAME_VM_BOOTING = 1,
	FRAME_VM_READY,    /* the agent has said HELLO */
	FRAME_VM_STOPPING, /* it was asked to power off */
	FRAME_VM_ENDED,
};

/* Which limit ended it; all but MEMORY are tapward-vm's to say. */
enum frame_limit {
	FRAME_LIMIT_NONE,
	FRAME_LIMIT_TIMEOUT,  /* timeout_ms of EXEC */
	FRAME_LIMIT_OUTPUT,   /* output_max of EXEC */
	FRAME_LIMIT_MEMORY,   /* the guest's memory: its kernel killed some */
	FRAME_LIMIT_DURATION, /* the VM's longest life */
};

struct frame_state {
	enum frame_vm_state state;
	enum frame_limit limit; /* of FRAME_VM_ENDED */
	uint32_t elapsed_ms;    /* since the VM was started */
	struct span text;       /* the reason, or empty */
};

#define FRAME_EXEC_TTY 1u /* a terminal of its own: OUTPUT only */

/*
 * The command's environment is the guest's own (/tapward/env), HOME, USER and
 * so on of its user, and over both what FRAME_ARGS brings.
 */
struct frame_exec {
	uint32_t flags;      /* FRAME_EXEC_... */
	uint16_t rows, cols; /* with FRAME_EXEC_TTY; 0: as the kernel has it */
	uint16_t argc;       /* at least 1 */
	uint16_t envc;
	uint32_t args_bytes; /* on FRAME_ARGS, from argc + envc up */
	uint32_t timeout_ms; /* 0: none. tapward-vm keeps it, not the agent */
	uint64_t
	    output_max;   /* bytes of OUTPUT and ERROR; 0: no limit. As above */
	struct span cwd;  /* empty: the image's, else the user's home */
	struct span user; /* NAME, UID, NAME:GROUP or UID:GID; empty: root */
};

#define FRAME_COPY_MERGE 1u /* PUT onto what is there, else it must not be */

/*
 * path is absolute and names the very file or directory (vmm/archive.h: the
 * root of the archive) that is made or read. PUT makes the directories above.
 */
struct frame_copy {
	uint32_t flags; /* FRAME_COPY_... */
	struct span path;
	struct span user; /* as in EXEC: who reads, and who owns what is made */
};

enum frame_end {
	FRAME_END_CODE = 1,  /* value: exit code, 0..255 */
	FRAME_END_SIGNAL,    /* value: signal number */
	FRAME_END_NOT_FOUND, /* no such command: 127 in a shell */
	FRAME_END_NOT_RUN,   /* it cannot be executed: 126 in a shell */
	FRAME_END_FAILED,    /* anything else that text says */
};

struct frame_exit {
	enum frame_end end;
	uint32_t value; /* 0 unless said above */
	enum frame_limit limit;
	struct span text; /* why; empty with CODE and SIGNAL */
};

const char *frame_fault_text(enum frame_fault fault);
/* "EXEC"; borrows. "?" for what is none. */
const char *frame_type_text(uint8_t type);

/*
 * Heads. Decoding checks what needs no knowledge of the stream: type, bounds
 * of the length, channel, the zero field, whether stream may be 0.
 */
void frame_head_encode(struct wr *w, const struct frame_head *h);
enum frame_fault frame_head_decode(const uint8_t in[FRAME_HEAD_BYTES],
    struct frame_head *ret);

/*
 * The first whole frame of in. *ret_used is the bytes it takes, 0 when more of
 * it must come first. A fault: nothing of in can be trusted from here on.
 */
enum frame_fault frame_decode(struct span in, struct frame *ret,
    size_t *ret_used);

/* Whole frames, head included. A writer of FRAME_BYTES_MAX holds any. */
void frame_hello_encode(struct wr *w, const struct frame_hello *m);
void frame_state_encode(struct wr *w, const struct frame_state *m);
void frame_clock_encode(struct wr *w, uint64_t us);
void frame_exec_encode(struct wr *w, uint32_t stream,
    const struct frame_exec *m);
/* type: FRAME_PUT or FRAME_GET. */
void frame_copy_encode(struct wr *w, uint8_t type, uint32_t stream,
    const struct frame_copy *m);
void frame_signal_encode(struct wr *w, uint32_t stream, uint8_t number);
void frame_resize_encode(struct wr *w, uint32_t stream, uint16_t rows,
    uint16_t cols);
void frame_started_encode(struct wr *w, uint32_t stream, uint32_t pid);
void frame_exit_encode(struct wr *w, uint32_t stream,
    const struct frame_exit *m);
void frame_data_encode(struct wr *w, uint32_t stream, uint8_t channel,
    struct span data);
void frame_window_encode(struct wr *w, uint32_t stream, uint8_t channel,
    uint32_t bytes);
/* Without a body: POWEROFF (stream and channel 0), RESET, EOF. */
void frame_bare_encode(struct wr *w, uint8_t type, uint32_t stream,
    uint8_t channel);

/* Bodies; spans in the result borrow from body. */
enum frame_fault frame_hello_decode(struct span body, struct frame_hello *ret);
enum frame_fault frame_state_decode(struct span body, struct frame_state *ret);
enum frame_fault frame_clock_decode(struct span body, uint64_t *ret_us);
enum frame_fault frame_exec_decode(struct span body, struct frame_exec *ret);
enum frame_fault frame_copy_decode(struct span body, struct frame_copy *ret);
enum frame_fault frame_signal_decode(struct span body, uint8_t *ret);
enum frame_fault frame_resize_decode(struct span body, uint16_t *ret_rows,
    uint16_t *ret_cols);
enum frame_fault frame_started_decode(struct span body, uint32_t *ret_pid);
enum frame_fault frame_exit_decode(struct span body, struct frame_exit *ret);
enum frame_fault frame_window_decode(struct span body, uint32_t *ret);

#endif
