/*
 * What the exchange*.c files share. For nobody else.
 */
#ifndef TAPWARD_PROXY_EXCHANGE_PRIVATE_H
#define TAPWARD_PROXY_EXCHANGE_PRIVATE_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <sys/queue.h>

#include "proxy/buf.h"
#include "proxy/exchange.h"
#include "proxy/hold.h"
#include "proxy/lease.h"
#include "proxy/lfs_grants.h"
#include "proxy/meter.h"
#include "proxy/pool.h"
#include "proxy/redirect.h"
#include "proxy/resign.h"
#include "proxy/sieve.h"

enum exchange_state {
	EXCHANGE_JUDGE,
	EXCHANGE_ASK,
	EXCHANGE_PUSH,
	EXCHANGE_GRANTS,
	EXCHANGE_LEASE,
	EXCHANGE_SIGN,
	EXCHANGE_CONNECT,
	EXCHANGE_OPEN,
	EXCHANGE_OVER,
	EXCHANGE_STATES
};

/* A verdict whose texts are our own: a reload may take the policy away. */
struct exchange_verdict {
	enum action action;
	bool by_ceiling;
	char rule[RULE_NAME_SIZE];
	char file[RULE_AT_SIZE];
	uint32_t line;
	char credential[CREDENTIAL_NAME_SIZE];
	/* as in struct verdict_learned */
	enum reason learned;
	char learned_rule[RULE_NAME_SIZE];
	char learned_file[RULE_AT_SIZE];
	uint32_t learned_line;
};

struct exchange {
	struct grave grave; /* first: a grave is its exchange */
	struct exchange_front front;
	struct gate *gate;
	const struct exchange_guest_ops *ops;
	void *arg;
	enum exchange_state state;
	struct exchange_verdict verdict;
	const char *note; /* for its record, static; or NULL */

	/* the request */
	char method[METHOD_NAME_SIZE];
	char as_method[METHOD_NAME_SIZE]; /* an origin may read it so, or "" */
	enum http_method known_method;
	char host[HOST_NAME_SIZE];
	uint16_t port;
	char *target; /* path, then query */
	struct span path, query;
	bool has_query;
	bool is_websocket;
	enum deny_form form;
	enum http_framing framing;
	uint64_t length;
	bool takes_trailers;
	struct buf head;          /* canonical, up to framing and end */
	struct buf authorization; /* the guest's own, if it may be a pair */
	bool is_up_whole;
	struct exchange_push *push; /* by git, and it is read; else NULL */
	bool is_up_begun; /* something of the body is gone: it is not kept */

	/* signed by the guest for AWS (exchange_sign.c) */
	struct resign *resign; /* NULL: it is not */
	size_t sign_bytes;     /* of limits.sign_memory_bytes */
	bool is_held;          /* its body is, until it is whole and signed */
	const char *up_fault;  /* what is wrong with the body; or NULL */
	bool is_up_large;      /* that is what is wrong */

	/* an [ask] rule holds it, or has */
	struct hold *hold;            /* NULL: it does not */
	bool is_answered;             /* with yes */
	char asked[ASK_BY_SIZE + 16]; /* what was answered; or "" */

	/* the way to the origin */
	bool has_credential; /* one is put in, and looked for in the answer */
	bool was_repeated;
	bool was_renewed; /* sent again, since a lease was answered 401 */
	struct lease_wait *lease;
	uint32_t revocations;        /* when the lease was given */
	struct injection *injection; /* NULL before its lease came */
	struct secret pair_line;     /* in place of injection->line, or empty */
	struct origin *origin;
	bool is_waiting;  /* its origin is not connecting yet */
	bool is_redirect; /* allowed by a grant alone */
	/* allowed by one for an object of LFS, elsewhere or not; or NULL */
	struct lfs_grant *granted;
	uint64_t up_max; /* bytes of its body; UINT64_MAX: any */
	bool is_told;    /* that its origin speaks HTTP/1.1 */
	TAILQ_ENTRY(exchange) waiting;
	char address[ADDRESS_TEXT_SIZE];

	/* the answer */
	bool has_answered; /* its head is with the guest's half */
	bool is_down_ending;
	bool is_end_told;               /* to the guest's half */
	struct exchange_tunnel *tunnel; /* a WebSocket is open */
	TAILQ_ENTRY(exchange) tunnels;  /* of those with a credential */
	struct sieve sieve;      /* its body is searched for the credential */
	struct scan_found found; /* in its head or trailers */
	struct event kick;       /* the search goes on in the next turn */

	struct event timer;
	uint64_t alive_ms;
	uint64_t started_ms;
	unsigned int status;
	uint64_t up, down;
	struct meter meter;
	bool is_up_spent;  /* a budget does not take up_wanted more ... */
	bool is_up_beyond; /* ... or up_max does not */
	uint64_t up_wanted;
};

/*
 * Bytes of a body went to the origin, or to the guest. What the gate has moved
 * in all grows with them, not only when the record of their exchange is made.
 */
static inline void
exchange_went_up(struct exchange *x, size_t bytes)
{
	x->up += bytes;
	x->gate->status.up += bytes;
}

static inline void
exchange_went_down(struct exchange *x, size_t bytes)
{
	x->down += bytes;
	x->gate->status.down += bytes;
}

/* --- exchange.c --- */
void exchange_enter(struct exchange *x, enum exchange_state next);
/* Its origin is ready: sends the head. */
void exchange_open(struct exchange *x);
/*
 * The three ends. refuse: an answer of ours, when none was begun; else the
 * origin's is cut. d is completed from the request.
 */
void exchange_finish(struct exchange *x);
void exchange_refuse(struct exchange *x, struct deny *d);
void exchange_refuse_for(struct exchange *x, enum reason reason,
    const char *detail);

/* --- exchange_lease.c --- */
/* It is allowed: goes on with what is granted, or waits to be told. */
void exchange_proceed(struct exchange *x);
/*
 * It may go, as far as the guest is concerned: without a field that no guest
 * may send, with a lease if it wants one.
 */
void exchange_go_out(struct exchange *x);

/* Nothing more has to be asked: reads its push, or proceeds. */
void exchange_release(struct exchange *x);

/* --- exchange_ask.c --- */
/* Holds it, and asks. */
void exchange_ask(struct exchange *x);
/* v, or an allowing verdict if it asks and the answer was yes. */
struct verdict exchange_answered(const struct exchange *x, struct verdict v);
/* A new policy, which says v, while it is held. */
void exchange_ask_policy_changed(struct exchange *x, const struct verdict *v);

/* --- exchange_push.c --- */
/* Before the head is written. False: memory is short. */
bool exchange_push_new(struct exchange *x, const struct http_request *req,
    bool is_lfs);
/* It is a body of LFS, whose answer is read, too. */
bool exchange_push_is_lfs(const struct exchange *x);
void exchange_push_free(struct exchange_push *p); /* NULL is fine */
/* The exchange is over; what it holds is freed later. */
void exchange_push_close(struct exchange *x);
/* Its commands are wanted, nothing goes on before they were judged. */
void exchange_push_begin(struct exchange *x);
/* Its coding is taken off: what goes on is what was read. */
bool exchange_push_is_coded(const struct exchange *x);
/* The head is with the origin. */
void exchange_push_open(struct exchange *x);
/* The origin takes bytes again. */
void exchange_push_room(struct exchange *x);
bool exchange_push_wants(const struct exchange *x);
/* What still comes of it is dropped. */
bool exchange_push_is_refused(const struct exchange *x);
size_t exchange_push_up(struct exchange *x, struct span data);
void exchange_push_end(struct exchange *x);
/* A new policy: may what was let through go on? */
bool exchange_push_still(const struct exchange *x);
/* What it asks for, in a few words; "" before it was read. */
const char *exchange_push_text(const struct exchange *x);

/* --- exchange_lfs.c --- */
/* v, or what lets through an URL that an answer has granted. */
struct verdict exchange_lfs_find(struct exchange *x, struct verdict v);
/* The same of one that was let through, under a new policy. */
struct verdict exchange_lfs_granted(const struct exchange *x, struct verdict v);
/* Is it the Authorization that came with the grant? */
bool exchange_lfs_passes(const struct exchange *x, const struct http_field *f);
/* An object of LFS is elsewhere: grants that, if the rule names it. */
void exchange_lfs_note_redirect(const struct exchange *x,
    const struct redirect_target *t);
/* The answer's head, its bytes, its end. False: it was refused. */
bool exchange_lfs_answer_begin(struct exchange *x,
    const struct http_response *res);
bool exchange_lfs_answer(struct exchange *x, struct span data);
bool exchange_lfs_answer_end(struct exchange *x);
/* So many of those bytes went on. */
void exchange_lfs_answered(struct exchange *x, size_t taken);

/* --- exchange_connect.c --- */
/* May the request be sent a second time, after this? */
bool exchange_may_repeat(const struct exchange *x, enum exchange_fate fate);
/* From the pool or new; NULL when memory is short. */
struct origin *exchange_find_origin(struct exchange *x);
/* o: from the pool or new; NULL finds one. */
void exchange_connect(struct exchange *x, struct origin *o);
void exchange_stop_waiting(struct exchange *x);

/* --- exchange_request.c --- */
/*
 * The canonical head into x->head: what may go on of the request's fields.
 * 0, -ENOMEM, or -EMSGSIZE for what cannot be written.
 */
int exchange_write_head(struct exchange *x, const struct http_request *req);
/* Does it hold a placeholder that is for another host (proxy/grants.h)? */
bool exchange_misplaces(const struct exchange *x);
/* Takes the fields out of x->head that no guest may send to its host. */
void exchange_strip_granted(struct exchange *x);
/* Takes the fields out of x->head that this lease strips. */
void exchange_strip_head(struct exchange *x, const struct message_lease *l);
/* Value of the first field of this name in x->head; false: there is none. */
bool exchange_head_find(const struct exchange *x, const char *name,
    struct span *ret_value);
/*
 * May it be judged at all? Keeps host, port and as_method. REASON_NONE, or why
 * not; *ret_detail says more of it, or "".
 */
enum reason exchange_check(struct exchange *x, const struct http_request *req,
    const char **ret_detail);
struct verdict exchange_judge(const struct exchange *x);
/* As the policy is asked for this method. Borrows from x. */
struct policy_request exchange_policy_request(const struct exchange *x,
    const char *method);
/*
 * As exchange_judge(), and what is denied may be the URL that an answer has
 * granted: then *ret_is_redirect.
 */
struct verdict exchange_judge_all(const struct exchange *x,
    bool *ret_is_redirect);
/* Grants what the answer's Location points to, if the rule says so. */
void exchange_note_redirect(const struct exchange *x,
    const struct http_response *res);
void exchange_keep_verdict(struct exchange *x, const struct verdict *v);

/* Takes out what a new signature replaces: the old one, and dates. */
void exchange_strip_signed(struct exchange *x);
/* Takes out what asks for a part of an answer. */
void exchange_strip_range(struct exchange *x);
/* The fields of x->head; borrows from it. */
void exchange_head_fields(const struct exchange *x, struct http_fields *ret);
/* --- exchange_query.c --- */
/*
 * Takes the parameters out of x->head that no guest may send to its host. 0 or
 * -ENOMEM.
 */
int exchange_strip_query(struct exchange *x);
/* Puts the lease's own in, in place of what the guest has of its name. */
int exchange_put_parameter(struct exchange *x, const struct message_lease *l);
/* Would one of them go? What is signed with it would not fit. */
bool exchange_brings_parameter(const struct exchange *x);

/* Another query in x->head, which holds a secret then. 0 or -errno. */
int exchange_set_query(struct exchange *x, struct span query);

/* --- exchange_sign.c --- */
/* Reads the guest's signature, if it has one. 0 or -ENOMEM. */
int exchange_sign_begin(struct exchange *x, const struct http_request *req);
void exchange_sign_free(struct exchange *x);
/* For the broker: what it is signed for. */
void exchange_sign_ask(const struct exchange *x,
    struct message_lease_request *req);
/* Why there is no lease: what is wrong with its signature, else detail. */
const char *exchange_sign_detail(const struct exchange *x, enum reason reason,
    const char *detail);
/* Its lease is a key to sign with. */
bool exchange_is_signed(const struct exchange *x);
/* The lease is there: checks, waits for the body if need be, and goes on. */
void exchange_sign(struct exchange *x);
/* What the guest's half brought about is told in a turn of its own. */
void exchange_sign_on_kick(struct exchange *x);
/* Is the body, or a chunk of it, held here? Then exchange_up() and so on: */
bool exchange_holds_body(const struct exchange *x);
size_t exchange_sign_up(struct exchange *x, struct span data);
void exchange_sign_up_end(struct exchange *x);
void exchange_sign_room(struct exchange *x);
/* The head was sent. */
void exchange_sign_open(struct exchange *x);
/* --- exchange_metadata.c --- */
/* It asks for what clouds tell their machines, and some of it is granted. */
bool exchange_is_metadata(const struct exchange *x);
/* Answers it from here; it is over then. */
void exchange_metadata(struct exchange *x, const struct http_request *req);

/* --- exchange_meter.c --- */
/* As exchange_refuse(), in the name of the budget's rule. */
void exchange_refuse_budget(struct exchange *x,
    const struct meter_refusal *why);
/* Of what v lets through. False: a budget does not; it is refused. */
bool exchange_meter_begin(struct exchange *x, const struct verdict *v);
/* May so much go up? False: not a byte; it is refused in the next turn. */
bool exchange_meter_up(struct exchange *x, uint64_t bytes);
/* That turn. False: it was refused. */
bool exchange_meter_kick(struct exchange *x);
/* May so much go down? False: it was refused. */
bool exchange_meter_down(struct exchange *x, uint64_t bytes);
/* The answer's head, and the body that it announces. False: as above. */
bool exchange_meter_head(struct exchange *x, const struct exchange_head *h);
uint64_t exchange_meter_fields(const struct http_fields *f);

/* --- exchange_search.c --- */
/* Of a name, a value or a reason phrase, whole: a form of it is in there. */
bool exchange_holds_secret(struct exchange *x, struct span s);
/* For a record: what was found, and where; never a byte of it. */
#define EXCHANGE_LEAK_SIZE 64
void exchange_leak_text(const struct exchange *x, const char *where,
    char buf[EXCHANGE_LEAK_SIZE]);
/* Ends it: what is not with the guest does not get there. */
void exchange_refuse_leak(struct exchange *x, const char *where);
/* What comes back could repeat a secret: not so of a client certificate. */
static inline bool
exchange_is_searched(const struct exchange *x)
{
	return x->has_credential && injection_has_forms(x->injection);
}
/* Of its head. False: it was refused, since its body cannot be searched. */
bool exchange_search_begin(struct exchange *x, const struct http_response *res);
/* The body is whole. False: it is over. */
bool exchange_search_end(struct exchange *x);
void exchange_search_on_kick(evutil_socket_t fd, short what, void *arg);
/* Body bytes of an answer with a credential; returns how many were taken. */
size_t exchange_search_body(struct exchange *x, struct span data);
/* Gives the guest's half what was searched; true when nothing is left. */
bool exchange_give(struct exchange *x);

/* --- exchange_tunnel.c --- */
/* May this field of the handshake go on, as the request is? */
bool exchange_tunnel_passes(const struct exchange *x, struct span name);
/* REASON_NONE, or REASON_BAD_REQUEST for a handshake that is none, and why. */
enum reason exchange_tunnel_check(const struct http_request *req,
    const char **ret_detail);
/* A 101 came: opens x->tunnel. False: it is refused, and over. */
bool exchange_tunnel_open(struct exchange *x, const struct http_response *res);
/* Bytes of the origin; returns how many were taken. */
size_t exchange_tunnel_down(struct exchange *x, struct span data);
void exchange_tunnel_origin_end(struct exchange *x);
void exchange_tunnel_resume(struct exchange *x);
/* The exchange is over; what it holds is freed later. */
void exchange_tunnel_close(struct exchange *x);
void exchange_tunnel_free(struct exchange_tunnel *t); /* NULL is fine */

/* --- exchange_audit.c --- */
void exchange_audit(struct exchange *x, enum reason reason, bool by_ceiling,
    const char *detail);

#endif
