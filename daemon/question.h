/*
 * Questions of [ask]: what gates hold until somebody answers, and what was
 * answered for longer than once. Both live in memory alone and belong to one
 * sandbox; another supervisor knows of neither, so that whatever was held is
 * refused, and whatever was granted is asked for anew.
 *
 * A yes goes to the dialler and, with a credential, to the broker before the
 * gate hears it: they open nothing on a gate's word.
 */
#ifndef TAPWARD_DAEMON_QUESTION_H
#define TAPWARD_DAEMON_QUESTION_H

#include <sys/queue.h>

#include "base/message_api.h"
#include "base/message_ask.h"

struct question;
struct sandbox;
struct standing;
struct supervisor;

/* Answers for longer than once, of one sandbox. */
#define QUESTION_STANDING_MAX 64

struct questions {
	LIST_HEAD(, question) waiting;
	LIST_HEAD(, standing) standing;
	unsigned int waiting_count, standing_count;
};

struct question_answer {
	bool is_allowed;
	uint32_t seconds;    /* the same question is answered so; 0: once */
	const char *by;      /* printable */
	bool by_host;        /* may answer for the ceiling */
	bool is_by_standing; /* one from before */
};

/*
 * A gate holds a request, by its number. 0, or -EPROTO: an honest one holds no
 * more than it may, and counts them.
 */
int question_ask(struct sandbox *s, uint32_t number,
    const struct message_ask *m);
/* It does not hold it any more. */
void question_cancel(struct sandbox *s, uint32_t number);
/* Its gate is gone, with all that it held. */
void questions_forget(struct sandbox *s);
/* The sandbox is: what was answered is forgotten, too. */
void questions_done(struct sandbox *s);

/* What somebody answers. */
struct question_reply {
	uint32_t id;
	uint32_t uid; /* whose word it is */
	bool is_allowed;
	uint32_t seconds; /* for which it stands; 0: once */
};

/*
 * Answers the one of this id, waiting or standing (which a no, or a yes for
 * another time, replaces). ret: what it was about. API_OK, or why not, and
 * *ret_text.
 */
enum api_result question_answer(struct supervisor *sv,
    const struct question_reply *reply, struct message_api_ask *ret,
    const char **ret_text);
/* All that uid may see, by id, from the one after this id on. */
void questions_page(const struct supervisor *sv, uint32_t uid, uint32_t after,
    struct message_api_asks *ret);

/* --- question_hook.c --- */
/* Runs the hook for those that still wait for it, as many as may be. */
void question_hooks_go_on(struct supervisor *sv);

#endif
