/*
 * What is done to sandboxes, each in a file of its own name: create.c,
 * replace.c, reload.c, adopt.c, remove.c; and how they bear the loss of a
 * service (jobs.c). All work through the steps in connect.h.
 */
#ifndef TAPWARD_DAEMON_JOBS_H
#define TAPWARD_DAEMON_JOBS_H

#include "base/message_api.h"
#include "daemon/sandbox.h"
#include "daemon/service.h"

/* Whole jobs, waiting included. */
#define JOB_CREATE_MS 20000
#define JOB_REPLACE_MS 15000
#define JOB_RELOAD_MS 15000
#define JOB_ADOPT_MS 10000
/* Between attempts to replace a gate. */
#define JOB_RETRY_MIN_MS 20
#define JOB_RETRY_MAX_MS 5000

/* What create needs beside the request; both taken. */
struct create_fds {
	int text;
	int netns; /* -1: none */
	int hold;  /* of a tied one; -1: none */
};
/*
 * Makes a sandbox; the request is answered when it is done. Everything about
 * it but the policy's text was checked (api_requests.c).
 */
void create_start(struct supervisor *sv, const struct message_api_request *m,
    const struct sandbox_request *to, struct create_fds *fds);

/*
 * The steps of create. Undone from the last to the first they are also how a
 * sandbox is removed (sandbox_free()), so that there is one way back.
 */
extern const struct step create_steps[];
extern const size_t create_step_count;

/*
 * Gives it a new policy; takes text_fd. The old one stays if it is bad. While
 * its gate is being replaced it waits for that attempt, whatever comes of it:
 * the next gate begins with the new policy.
 */
void reload_start(struct sandbox *s, const struct message_api_request *m,
    const struct sandbox_request *to, int text_fd);
/* Begins with what waits, if any does. */
bool reload_waiting_start(struct sandbox *s);
/* It comes to nothing: text says why. */
void reload_waiting_refuse(struct sandbox *s, const char *text);
#define STEP_GATE_POLICY "gate policy"
/* Its gate says which policy it has. */
void reload_on_gate(struct sandbox *s, const char *digest);
/* A reload is what its job is. */
bool reload_is_on(const struct sandbox *s);
/* Pushes the policy it has, with a ceiling that changed. */
void reload_push(struct sandbox *s);

/* Starts another gate. Tried again until it works. */
void replace_start(struct sandbox *s);
/*
 * Its gate is dead: the same, at once, or after a pause that grows if the one
 * before lived for less than REPLACE_STABLE_MS: a guest that can end its gate
 * must not keep the host busy.
 */
#define REPLACE_STABLE_MS 5000
void replace_after_death(struct sandbox *s);

/* Ends it, at once or when its job is over, and says so. */
void remove_sandbox(struct sandbox *s, const char *why);

/* Takes up every sandbox of an earlier supervisor, sweeps away the rest. */
void adopt_all(struct supervisor *sv);

/* s is one of recorder, broker, dialler; which are the wires to it. */
void jobs_on_service_up(struct service *s, unsigned int which);
void jobs_on_service_down(struct service *s);
/* There is another ceiling; may end the sandbox. */
void jobs_on_ceiling(struct sandbox *s);
/* A job of the sandbox is over: what had to wait for that. */
void jobs_after(struct sandbox *s);

/* What a sandbox's gate says and does goes to its job. */
extern const struct gate_owner jobs_gate_owner;

/* startup.c: something that it may wait for has happened. */
void startup_progress(struct supervisor *sv);

#endif
