/*
 * What question.c and question_hook.c share. For nobody else.
 */
#ifndef TAPWARD_DAEMON_QUESTION_PRIVATE_H
#define TAPWARD_DAEMON_QUESTION_PRIVATE_H

#include "daemon/question.h"

struct helper_run;

struct question {
	LIST_ENTRY(question) link;
	struct sandbox *sandbox;
	uint32_t id;     /* that people name it by */
	uint32_t number; /* that its gate does */
	struct message_ask m;
	uint64_t asked_wall_ms;
	/* It was answered with yes: dialler and broker are being told. */
	bool is_opening, has_failed;
	unsigned int opening;
	char by[ASK_BY_SIZE];
	/* question_hook.c */
	bool is_hook_over; /* it has had its say, or there is none */
	struct helper_run *hook;
	int hook_fd; /* what it says, or -1 */
};

/* Answers it; q is freed when all have been told. */
void question_settle(struct question *q, const struct question_answer *a);
/* The same, and for a->seconds if it says so and there is room for that. */
void question_settle_for(struct question *q, const struct question_answer *a);
/* Ends its hook. */
void question_hook_end(struct question *q);

#endif
