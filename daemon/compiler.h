/*
 * The way to tapward-compile: one process for each text, which then ends. One
 * is kept started, so that a create does not wait for an exec.
 */
#ifndef TAPWARD_DAEMON_COMPILER_H
#define TAPWARD_DAEMON_COMPILER_H

#include <stdbool.h>
#include <sys/queue.h>

#include "daemon/asks.h"

struct supervisor;
struct compile_job;
struct compile_worker;

/* Texts at once; more wait. */
#define COMPILER_WORKERS_MAX 2
/* The next one is started this long after the last, or later. */
#define COMPILER_WARM_MS 10
/* Texts that wait. */
#define COMPILER_JOBS_MAX 256

struct compiler {
	struct supervisor *sv;
	TAILQ_HEAD(, compile_job) waiting;
	unsigned int waiting_count;
	LIST_HEAD(, compile_worker) workers;
	unsigned int worker_count;
	struct event *warm; /* when the one that is kept is started */
};

/* 0 or -ENOMEM. */
int compiler_init(struct compiler *c, struct supervisor *sv);
/* Starts the one that is kept. 0 or -errno. */
int compiler_warm(struct compiler *c);
void compiler_done(struct compiler *c);

struct compile_text {
	int fd; /* sealed; borrowed, kept as a duplicate */
	const char *display_name;
	bool is_ceiling;
	bool learns; /* policy_learns() of the image */
};
/*
 * done hears 0, a->fds[0] the image, a->digest and warnings in a->findings; or
 * -EINVAL and what is wrong in a->findings; or -errno and a->text.
 */
int compiler_ask(struct compiler *c, const struct compile_text *text,
    ask_done *done, void *arg);
/* arg no longer wants to hear. */
void compiler_cancel(struct compiler *c, const void *arg);

#endif
