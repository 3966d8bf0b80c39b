/*
 * How resolvers in the clear are. c-ares does not tell who was silent, so each
 * is asked by itself for the nameservers of the root, which all know, which
 * says nothing of guests, and which no guest can make slow: when the resolvers
 * are told, soon after somebody was silent or failed, and again and again while
 * one is down. Real answers count too.
 */
#ifndef TAPWARD_PROXY_DIALLER_HEALTH_H
#define TAPWARD_PROXY_DIALLER_HEALTH_H

#include "base/message_dialler.h"
#include "proxy/dialler_query.h"

struct event_base;
struct dialler_health;

struct dialler_health_how {
	int wait_ms; /* one that has not answered by then is down */
	/* between one look at them and the next, whatever guests ask */
	uint32_t pause_ms;
};
/*
 * SERVFAIL or REFUSED for the root is no fault of one that serves a company's
 * names alone: it is if guests' questions failed, too, and none was answered
 * for so long.
 */
#define DIALLER_HEALTH_SERVED_MS 60000
/*
 * So many answers in a row that are to no question of ours: it is down,
 * whatever it says of the root. What is in an answer, and that none comes, can
 * be the doing of a guest that has a zone of its own: those say nothing.
 */
#define DIALLER_HEALTH_BAD_MAX 8

typedef void dialler_health_changed(void *arg);

/* Before the process is sealed (dialler_lane.h). 0 or -errno. */
int dialler_health_new(struct event_base *base,
    const struct dialler_health_how *how, struct dialler_health **ret);
void dialler_health_free(struct dialler_health *h); /* NULL is fine */
/* changed is called when a state is another one; it may ask for states. */
void dialler_health_watch(struct dialler_health *h,
    dialler_health_changed *changed, void *arg);
/* These from now on, borrowed until the next call; nothing is known of them. */
void dialler_health_set(struct dialler_health *h,
    const struct message_resolver *resolvers, unsigned int count);
/* Looks at each. */
void dialler_health_look(struct dialler_health *h);
/* A guest's question was answered late, or not by whoever was asked first. */
void dialler_health_suspect(struct dialler_health *h);
/*
 * The resolver of this index gave an answer to a guest's question; is_ours:
 * to that one. An index that is count or more is nobody's.
 */
void dialler_health_answered(struct dialler_health *h, unsigned int i,
    bool is_ours);
/* i is below count. */
void dialler_health_state(const struct dialler_health *h, unsigned int i,
    struct message_resolver_state *ret);

#endif
