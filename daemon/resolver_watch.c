/* How resolvers are, and what is told of it, see resolver_watch.h. */
#include "daemon/resolver_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/log_event.h"

/* What the journal was told of one. */
struct told {
	char name[RESOLVER_NAME_SIZE];
	bool is_down;
	bool was_told;
	uint64_t told_mono_ms; /* that it was down */
};

struct resolver_watch {
	struct event *timer;
	uint32_t pause_ms;
	struct message_dialler_status heard[RESOLVER_ROLES];
	struct told told[RESOLVER_ROLES][DIALLER_RESOLVERS_MAX];
};

const char *
resolver_role_name(enum resolver_role role)
{
	static const char *const names[RESOLVER_ROLES] = {
		[RESOLVER_OF_DIALLER] = "dialler",
		[RESOLVER_OF_BROKER] = "broker",
	};

	return names[role];
}

static void
tell(enum resolver_role role, struct told *t,
    const struct message_resolver_state *s)
{
	const struct log_about about = { .role = resolver_role_name(role),
		.reason = t->is_down ? "resolve-failed" : NULL };

	if (t->is_down) {
		t->was_told = true;
		t->told_mono_ms = clock_mono_ms();
		log_event(LOG_EVENT_RESOLVER_DOWN, &about, "resolver",
		    "at=%s role=%s down: %s", t->name, resolver_role_name(role),
		    s->text);
	} else {
		log_event(LOG_EVENT_RESOLVER_UP, &about, "resolver",
		    "at=%s role=%s answers again", t->name,
		    resolver_role_name(role));
	}
}

/* How long until it may be told; 0: it was, or there is nothing to tell. */
static uint64_t
look_at(const struct resolver_watch *w, enum resolver_role role, struct told *t,
    const struct message_resolver_state *s)
{
	const uint64_t now = clock_mono_ms();

	if (s->state != RESOLVER_UP && s->state != RESOLVER_DOWN)
		return 0;
	if ((s->state == RESOLVER_DOWN) == t->is_down)
		return 0;
	if (!t->is_down && t->was_told && now - t->told_mono_ms < w->pause_ms)
		return t->told_mono_ms + w->pause_ms - now;
	t->is_down = s->state == RESOLVER_DOWN;
	tell(role, t, s);
	return 0;
}

static void
look_at_all(struct resolver_watch *w)
{
	uint64_t next = 0;

	for (int role = 0; role < RESOLVER_ROLES; role++)
		for (unsigned int i = 0; i < w->heard[role].resolver_count;
		     i++) {
			const uint64_t ms = look_at(w, (enum resolver_role)role,
			    &w->told[role][i], &w->heard[role].resolvers[i]);

			if (ms != 0 && (next == 0 || ms < next))
				next = ms;
		}
	if (next != 0) {
		const struct timeval tv = { .tv_sec = (time_t)(next / 1000),
			.tv_usec = (suseconds_t)(next % 1000) * 1000 };

		(void)evtimer_add(w->timer, &tv);
	}
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	look_at_all(arg);
}

int
resolver_watch_new(struct event_base *base, uint32_t pause_ms,
    struct resolver_watch **ret)
{
	struct resolver_watch *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return -ENOMEM;
	w->pause_ms = pause_ms;
	w->timer = evtimer_new(base, on_timer, w);
	if (w->timer == NULL) {
		free(w);
		return -ENOMEM;
	}
	*ret = w;
	return 0;
}

void
resolver_watch_free(struct resolver_watch *w)
{
	if (w == NULL)
		return;
	event_free(w->timer);
	free(w);
}

/* What was told of those that stay is known by their names. */
void
resolver_watch_heard(struct resolver_watch *w, enum resolver_role role,
    const struct message_dialler_status *m)
{
	struct told before[DIALLER_RESOLVERS_MAX];

	memcpy(before, w->told[role], sizeof(before));
	memset(w->told[role], 0, sizeof(w->told[role]));
	for (unsigned int i = 0; i < m->resolver_count; i++) {
		for (unsigned int k = 0; k < DIALLER_RESOLVERS_MAX; k++)
			if (strcmp(before[k].name, m->names[i]) == 0)
				w->told[role][i] = before[k];
		memcpy(w->told[role][i].name, m->names[i], sizeof(m->names[i]));
	}
	w->heard[role] = *m;
	look_at_all(w);
}

const struct message_resolver_state *
resolver_watch_find(const struct resolver_watch *w, enum resolver_role role,
    const char *name)
{
	static const struct message_resolver_state unknown = {
		.state = RESOLVER_UNKNOWN
	};
	const struct message_dialler_status *m = &w->heard[role];

	for (unsigned int i = 0; i < m->resolver_count; i++)
		if (strcmp(m->names[i], name) == 0)
			return &m->resolvers[i];
	return &unknown;
}

void
resolver_watch_forget(struct resolver_watch *w, enum resolver_role role)
{
	for (unsigned int i = 0; i < w->heard[role].resolver_count; i++)
		w->heard[role].resolvers[i] =
		    (struct message_resolver_state){ .state =
							 RESOLVER_UNKNOWN };
}
