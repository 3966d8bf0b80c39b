/*
 * Pipes, see pipes.h.
 */
#include "proxy/pipes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"

struct pipes {
	struct pipe_pair idle[PIPES_MAX];
	size_t idle_count;
	size_t lent;
};

struct pipes *
pipes_new(void)
{
	return calloc(1, sizeof(struct pipes));
}

static void
pair_close(struct pipe_pair *pair)
{
	fd_close(&pair->in);
	fd_close(&pair->out);
}

void
pipes_free(struct pipes *p)
{
	if (p == NULL)
		return;
	assert(p->lent == 0);
	while (p->idle_count > 0)
		pair_close(&p->idle[--p->idle_count]);
	free(p);
}

int
pipes_take(struct pipes *p, struct pipe_pair *ret)
{
	int fds[2];

	if (p->idle_count > 0) {
		*ret = p->idle[--p->idle_count];
		p->lent++;
		return 0;
	}
	if (p->lent == PIPES_MAX)
		return -EAGAIN;
	if (pipe2(fds, O_NONBLOCK | O_CLOEXEC) == -1)
		return -errno;
	*ret = (struct pipe_pair){ .in = fds[1], .out = fds[0] };
	p->lent++;
	return 0;
}

void
pipes_put(struct pipes *p, struct pipe_pair *pair, size_t left_bytes)
{
	assert(p->lent > 0);
	p->lent--;
	if (left_bytes == 0)
		p->idle[p->idle_count++] = *pair;
	else
		pair_close(pair);
	*pair = (struct pipe_pair){ -1, -1 };
}

size_t
pipes_lent(const struct pipes *p)
{
	return p->lent;
}
