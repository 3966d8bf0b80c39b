/* Who waits for which answer. */
#include "daemon/asks.h"

#include <errno.h>
#include <stdlib.h>

struct ask {
	LIST_ENTRY(ask) entry;
	uint32_t id;
	ask_done *done; /* NULL: nobody wants to hear */
	void *arg;
};

void
asks_init(struct asks *all)
{
	LIST_INIT(all);
}

int
asks_add(struct asks *all, uint32_t id, ask_done *done, void *arg)
{
	struct ask *ask = malloc(sizeof(*ask));

	if (ask == NULL)
		return -ENOMEM;
	ask->id = id;
	ask->done = done;
	ask->arg = arg;
	LIST_INSERT_HEAD(all, ask, entry);
	return 0;
}

static void
end(struct ask *ask, int rc, const struct answer *a)
{
	LIST_REMOVE(ask, entry);
	if (ask->done != NULL)
		ask->done(ask->arg, rc, a);
	free(ask);
}

bool
asks_answer(struct asks *all, uint32_t id, int rc, const struct answer *a)
{
	struct ask *ask;

	LIST_FOREACH(ask, all, entry)
	if (ask->id == id) {
		end(ask, rc, a);
		return true;
	}
	return false;
}

void
asks_cancel(struct asks *all, const void *arg)
{
	struct ask *ask;

	LIST_FOREACH(ask, all, entry)
	if (ask->arg == arg)
		ask->done = NULL;
}

void
asks_fail(struct asks *all, int rc, const char *text)
{
	const struct answer a = { .text = text, .digest = "" };

	while (!LIST_EMPTY(all))
		end(LIST_FIRST(all), rc, &a);
}
