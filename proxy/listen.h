/*
 * Accepting on a socket that was bound by the supervisor.
 */
#ifndef TAPWARD_PROXY_LISTEN_H
#define TAPWARD_PROXY_LISTEN_H

struct event_base;
struct listener;

/* Takes fd: non-blocking, close-on-exec. */
typedef void listener_accepted(int fd, void *arg);

/*
 * Accepts on fd, which is borrowed and non-blocking: one connection a turn of
 * the loop, so that connections that are there have their turns too. When
 * descriptors run out it resets what waits and pauses. NULL: no memory.
 */
struct listener *listener_new(struct event_base *base, int fd,
    listener_accepted *on_accepted, void *arg);
void listener_free(struct listener *l); /* NULL is fine */

#endif
