/*
 * Events of the journal about resolvers: one that stopped answering, and that
 * it answers again, as dialler and broker tell. Bounded: what changes back and
 * forth is told once in a while, and how it is in the end is always told.
 */
#ifndef TAPWARD_DAEMON_RESOLVER_WATCH_H
#define TAPWARD_DAEMON_RESOLVER_WATCH_H

#include "base/message_dialler.h"

struct chan;
struct chan_msg;
struct event_base;
struct resolver_watch;
struct supervisor;

/* Between two events of one resolver's being down, for resolver_watch_new(). */
#define RESOLVER_WATCH_PAUSE_MS 30000

enum resolver_role {
	RESOLVER_OF_DIALLER, /* origins' names */
	RESOLVER_OF_BROKER,  /* issuers' names */
	RESOLVER_ROLES
};

/* "dialler", "broker". */
const char *resolver_role_name(enum resolver_role role);
/* 0 or -errno. */
int resolver_watch_new(struct event_base *base, uint32_t pause_ms,
    struct resolver_watch **ret);
void resolver_watch_free(struct resolver_watch *w); /* NULL is fine */
/* These are how they are. Those that are not named are forgotten. */
void resolver_watch_heard(struct resolver_watch *w, enum resolver_role role,
    const struct message_dialler_status *m);
/*
 * What was heard last of the one of this name; UNKNOWN if nothing was, or all
 * is forgotten.
 */
const struct message_resolver_state *
resolver_watch_find(const struct resolver_watch *w, enum resolver_role role,
    const char *name);
/* The process of that role is gone: what it said counts no longer. */
void resolver_watch_forget(struct resolver_watch *w, enum resolver_role role);

#endif
