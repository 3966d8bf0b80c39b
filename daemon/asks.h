/*
 * Questions to a child that wait for their answer.
 */
#ifndef TAPWARD_DAEMON_ASKS_H
#define TAPWARD_DAEMON_ASKS_H

#include <stdint.h>
#include <sys/queue.h>

#include "base/channel.h"

/* Borrowed until the callback returns. */
struct answer {
	const char *text; /* what a person should know; "" */
	struct span findings;
	const char *digest;
	uint32_t count;
	/* taken by setting the entry to -1 */
	int *fds;
	unsigned int fd_count;
};

/* rc 0 or -errno; never from inside the call that asked. */
typedef void ask_done(void *arg, int rc, const struct answer *a);

struct asker {
	ask_done *done;
	void *arg;
};

struct ask;
LIST_HEAD(asks, ask);

void asks_init(struct asks *all);
/* 0 or -ENOMEM. */
int asks_add(struct asks *all, uint32_t id, ask_done *done, void *arg);
/* The answer to id: false if nobody asked, so that the child made it up. */
bool asks_answer(struct asks *all, uint32_t id, int rc, const struct answer *a);
/* Whoever is arg no longer wants to hear; the answers may come all the same. */
void asks_cancel(struct asks *all, const void *arg);
/* The child is gone: everyone hears rc and text. */
void asks_fail(struct asks *all, int rc, const char *text);

#endif
