/*
 * A gate as the supervisor sees it: a process in a namespace, waiting in the
 * pool or serving a sandbox.
 */
#ifndef TAPWARD_DAEMON_GATE_H
#define TAPWARD_DAEMON_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/message_ask.h"
#include "base/message_gate.h"
#include "daemon/asks.h"
#include "daemon/proc.h"
#include "netfilter/sandbox_net.h"

struct supervisor;
struct gate;

/* To close what is open takes milliseconds; one that was taken over stays. */
#define GATE_STOP_MS 500

struct gate_owner {
	/* It waits for MSG_GATE_START, or, taken up, says what it serves. */
	void (*on_hello)(const struct message_hello *hello, void *arg);
	/* MSG_GATE_READY: it serves. */
	void (*on_started)(void *arg);
	/* MSG_GATE_POLICY_ACK, with the digest of what is in force now. */
	void (*on_policy)(const char *digest, void *arg);
	/* Its sockets come back; taken by setting an entry to -1. */
	void (*on_sockets)(int fds[GATE_SOCKET_COUNT], void *arg);
	/*
	 * It asks, or has no need of an answer any more, by its own number
	 * (question.h). NULL: nobody listens. -errno ends it.
	 */
	int (*on_ask)(uint32_t number, const struct message_ask *m, void *arg);
	void (*on_ask_cancel)(uint32_t number, void *arg);
	/* Dead; the callee calls gate_free(). */
	void (*on_gone)(void *arg);
};

/*
 * Starts one in net's namespace and gives it the sockets; owner is borrowed.
 * 0 or -errno.
 */
int gate_start(struct supervisor *sv, const struct sandbox_net *net,
    const struct gate_owner *owner, void *arg, struct gate **ret);
/* Takes up the one of this sandbox. As proc_adopt(). */
int gate_adopt(struct supervisor *sv, const char *sandbox,
    const struct gate_owner *owner, void *arg, struct gate **ret);
void gate_set_owner(struct gate *g, const struct gate_owner *owner, void *arg);
/* Its socket under run-dir/peer/ gets the sandbox's name. 0 or -errno. */
int gate_name(struct gate *g, const char *sandbox);
/* Ends it; on_gone follows. */
void gate_kill(struct gate *g);
/* Ends it, without on_gone; its uid and socket go. NULL is fine. */
void gate_free(struct gate *g);
/*
 * Tells one that serves to record what is open, and to end. It is the caller's
 * until gate_retire().
 */
void gate_stop(struct gate *g);
/*
 * As gate_free(), but one that was stopped has GATE_STOP_MS to end by itself;
 * its name is free at once. NULL is fine.
 */
void gate_retire(struct gate *g);
/* Waits for those that were retired, as long as they have left. */
void gates_end_retired(struct supervisor *sv);
/* Frees it and lets the process run. */
void gate_leave(struct gate *g);

bool gate_is_ready(const struct gate *g); /* it said MSG_HELLO */
pid_t gate_pid(const struct gate *g);
uid_t gate_uid(const struct gate *g);
uint64_t gate_start_ticks(const struct gate *g);
/*
 * As proc_send(). An answer that was not asked for by one of these ends the
 * gate.
 */
int gate_send(struct gate *g, uint16_t type, const struct wr *body,
    const int *fds, unsigned int fd_count);

/*
 * Asks what it has counted; then gate_status() says it. 0, -EAGAIN while there
 * is none to be asked (g may be NULL), -EBUSY while it owes too many answers,
 * or -errno. done hears of its end, too.
 */
int gate_ask_status(struct gate *g, ask_done *done, void *arg);
/* Whoever is arg no longer wants to hear. NULL is fine. */
void gate_forget_asker(struct gate *g, const void *arg);
/* As it last said; zeros before, and for NULL. Borrows. */
const struct message_gate_status *gate_status(const struct gate *g);

/* To what it asked by this number. */
void gate_answer(struct gate *g, uint32_t number,
    const struct message_asked *m);

#endif
