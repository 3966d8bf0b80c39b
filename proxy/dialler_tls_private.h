/*
 * Between dialler_tls.c, which has the resolvers and their connections, and
 * dialler_tls_query.c, which has the questions. For nobody else.
 */
#ifndef TAPWARD_PROXY_DIALLER_TLS_PRIVATE_H
#define TAPWARD_PROXY_DIALLER_TLS_PRIVATE_H

#include <event2/event.h>
#include <openssl/ssl.h>

#include "proxy/dialler_tls.h"
#include "proxy/dialler_tls_conn.h"

struct dialler_tls_resolver {
	struct dialler_tls *tls;
	struct message_resolver at;
	SSL_CTX *ctx; /* NULL: there is nothing to verify it by */
	struct dialler_tls_owner owner;
	struct dialler_tls_conn *conn; /* NULL: none */
	struct event *idle;
	unsigned int owes;         /* questions */
	unsigned int conn_answers; /* by this connection */
	uint64_t conn_asked;       /* on it */
	uint64_t conn_messages;    /* that came on it */
	uint64_t heard_tick;       /* its last answer */
	bool has_failed;
	uint64_t failed_mono_ms;
	uint64_t rests_until_mono_ms;
	enum dialler_fault fault;
	struct message_resolver_state state;
};

struct dialler_tls {
	struct event_base *base;
	struct event *timer;
	struct event *look;           /* again at those that are down */
	dialler_tls_changed *changed; /* NULL: nobody hears it */
	void *arg;
	uint32_t give_up_ms;
	uint32_t try_ms;
	unsigned int count;
	struct dialler_tls_resolver resolvers[DIALLER_RESOLVERS_MAX];
	TAILQ_HEAD(queries, dialler_query) queries;
	struct dialler_query *by_id[DIALLER_TLS_QUERIES_MAX];
	uint16_t last_id;
	unsigned int open;
	uint64_t timer_mono_ms; /* for when it is set; 0: it is not */
	uint64_t tick; /* what came after what, within a millisecond too */
};

/* dialler_tls.c */
struct timeval dialler_tls_in_ms(uint64_t ms);
/* Its certificate was found right. */
void dialler_tls_note_up(struct dialler_tls_resolver *r);
/* It is of no use now, and text says more of why. */
void dialler_tls_note_down(struct dialler_tls_resolver *r,
    enum dialler_fault fault, const char *text);
/* There is a connection, or one was begun; else r->fault says why not. */
bool dialler_tls_have_conn(struct dialler_tls_resolver *r);
void dialler_tls_close(struct dialler_tls_resolver *r);
/* In a while, if it owes nothing now. */
void dialler_tls_close_when_idle(struct dialler_tls_resolver *r);

/* dialler_tls_query.c */
/* What is due is done, and the timer set anew. */
void dialler_tls_on_timer(evutil_socket_t fd, short what, void *arg);
/* What its connections say. */
struct dialler_tls_owner dialler_tls_owner_of(struct dialler_tls_resolver *r);
void dialler_tls_cancel_all(struct dialler_tls *t);

#endif
