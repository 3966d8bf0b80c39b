/*
 * Resolvers by TLS and their connections, see dialler_tls.h.
 */
#include "proxy/dialler_tls.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <openssl/err.h>

#include "base/clock.h"
#include "base/log.h"
#include "conf/resolver_text.h"
#include "proxy/dialler_tls_private.h"
#include "proxy/tls_context.h"

#define AREA "resolver"

struct timeval
dialler_tls_in_ms(uint64_t ms)
{
	return (struct timeval){ .tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000) * 1000 };
}

/* --- how a resolver is ---------------------------------------------------- */

void
dialler_tls_note_up(struct dialler_tls_resolver *r)
{
	const char *version = dialler_tls_conn_version(r->conn);
	const bool is_news = r->state.state != RESOLVER_UP;

	if (is_news) {
		char name[RESOLVER_NAME_SIZE];

		log_info(AREA, "at=%s up=%s", resolver_text(&r->at, name),
		    version);
	}
	r->has_failed = false;
	r->rests_until_mono_ms = 0;
	r->fault = DIALLER_FAULT_NONE;
	r->state.state = RESOLVER_UP;
	r->state.handshakes++;
	(void)snprintf(r->state.text, sizeof(r->state.text), "%s", version);
	if (is_news && r->tls->changed != NULL)
		r->tls->changed(r->tls->arg);
}

void
dialler_tls_note_down(struct dialler_tls_resolver *r, enum dialler_fault fault,
    const char *text)
{
	const bool is_news =
	    r->state.state != RESOLVER_DOWN || r->fault != fault;
	const struct timeval look = dialler_tls_in_ms(DIALLER_TLS_LOOK_MS);

	r->has_failed = true;
	r->failed_mono_ms = clock_mono_ms();
	r->rests_until_mono_ms = r->failed_mono_ms + DIALLER_TLS_REST_MS;
	r->fault = fault;
	r->state.state = RESOLVER_DOWN;
	(void)snprintf(r->state.text, sizeof(r->state.text), "%s: %s",
	    dialler_fault_word(fault), text);
	if (is_news) {
		char name[RESOLVER_NAME_SIZE];

		log_warn(AREA, "at=%s is of no use: %s",
		    resolver_text(&r->at, name), r->state.text);
		if (r->tls->changed != NULL)
			r->tls->changed(r->tls->arg);
	}
	if (!evtimer_pending(r->tls->look, NULL))
		(void)evtimer_add(r->tls->look, &look);
}

/* --- connections ---------------------------------------------------------- */

bool
dialler_tls_have_conn(struct dialler_tls_resolver *r)
{
	struct dialler_tls *t = r->tls;

	if (r->conn != NULL)
		return true;
	if (r->ctx == NULL) {
		r->fault = DIALLER_FAULT_NO_ROOTS;
		return false;
	}
	if (r->has_failed &&
	    clock_mono_ms() - r->failed_mono_ms < DIALLER_TLS_HOLD_MS)
		return false;
	r->conn_answers = 0;
	r->conn_asked = 0;
	r->conn_messages = 0;
	r->conn = dialler_tls_conn_new(t->base, r->ctx, &r->at,
	    DIALLER_TLS_TRY_MS, &r->owner);
	if (r->conn == NULL) {
		r->fault = DIALLER_FAULT_TOO_MANY;
		return false;
	}
	if (r->state.state == RESOLVER_UNKNOWN)
		r->state.state = RESOLVER_CONNECTING;
	return true;
}

void
dialler_tls_close(struct dialler_tls_resolver *r)
{
	dialler_tls_conn_free(r->conn);
	r->conn = NULL;
	(void)evtimer_del(r->idle);
}

void
dialler_tls_close_when_idle(struct dialler_tls_resolver *r)
{
	const struct timeval tv = dialler_tls_in_ms(DIALLER_TLS_IDLE_MS);

	if (r->owes == 0 && r->conn != NULL)
		(void)evtimer_add(r->idle, &tv);
}

static void
on_idle(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	dialler_tls_close(arg);
}

/* What fails again sets the timer again. */
static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct dialler_tls *t = arg;

	(void)fd;
	(void)what;
	for (unsigned int i = 0; i < t->count; i++)
		if (t->resolvers[i].state.state == RESOLVER_DOWN)
			(void)dialler_tls_have_conn(&t->resolvers[i]);
}

/* --- outside -------------------------------------------------------------- */

static void
forget_resolvers(struct dialler_tls *t)
{
	/* First, so that nothing goes on to the next one. */
	dialler_tls_cancel_all(t);
	for (unsigned int i = 0; i < t->count; i++) {
		dialler_tls_close(&t->resolvers[i]);
		event_free(t->resolvers[i].idle);
		SSL_CTX_free(t->resolvers[i].ctx);
	}
	t->count = 0;
	(void)evtimer_del(t->look);
}

int
dialler_tls_new(struct event_base *base, struct dialler_tls **ret)
{
	struct dialler_tls *t;

	/* It reads no files later, and would be killed for trying. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		return -EIO;
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return -ENOMEM;
	t->base = base;
	TAILQ_INIT(&t->queries);
	t->timer = evtimer_new(base, dialler_tls_on_timer, t);
	t->look = evtimer_new(base, on_look, t);
	if (t->timer == NULL || t->look == NULL) {
		if (t->timer != NULL)
			event_free(t->timer);
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

void
dialler_tls_free(struct dialler_tls *t)
{
	if (t == NULL)
		return;
	forget_resolvers(t);
	event_free(t->timer);
	event_free(t->look);
	free(t);
}

void
dialler_tls_watch(struct dialler_tls *t, dialler_tls_changed *changed,
    void *arg)
{
	t->changed = changed;
	t->arg = arg;
}

/* By the roots of its name, which [ca NAME] may have set apart. */
static int
make_context(struct dialler_tls_resolver *r, struct roots *roots)
{
	if (roots == NULL)
		return 0;
	r->ctx = tls_context_new(NULL, TLS_client_method());
	if (r->ctx == NULL ||
	    roots_use(roots, roots_set_for(roots, r->at.tls_name),
		SSL_CTX_get_cert_store(r->ctx)) != 0) {
		ERR_clear_error();
		return -ENOMEM;
	}
	SSL_CTX_set_verify(r->ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_session_cache_mode(r->ctx, SSL_SESS_CACHE_OFF);
	return 0;
}

static int
add_resolver(struct dialler_tls *t, const struct message_resolver *at,
    struct roots *roots)
{
	struct dialler_tls_resolver *r = &t->resolvers[t->count];

	*r = (struct dialler_tls_resolver){ .tls = t,
		.at = *at,
		.owner = dialler_tls_owner_of(r) };
	r->idle = evtimer_new(t->base, on_idle, r);
	if (r->idle == NULL)
		return -ENOMEM;
	t->count++;
	return make_context(r, roots);
}

int
dialler_tls_configure(struct dialler_tls *t,
    const struct message_resolver *resolvers, unsigned int count,
    struct roots *roots, uint32_t give_up_ms)
{
	int rc = 0;

	assert(count <= DIALLER_RESOLVERS_MAX);
	forget_resolvers(t);
	t->give_up_ms = give_up_ms;
	t->try_ms = give_up_ms < DIALLER_TLS_TRY_MS * 10 / 3
	    ? give_up_ms * 3 / 10
	    : DIALLER_TLS_TRY_MS;
	for (unsigned int i = 0; i < count && rc == 0; i++)
		rc = add_resolver(t, &resolvers[i], roots);
	if (rc != 0)
		forget_resolvers(t);
	return rc;
}

void
dialler_tls_probe(struct dialler_tls *t)
{
	for (unsigned int i = 0; i < t->count; i++)
		(void)dialler_tls_have_conn(&t->resolvers[i]);
}

void
dialler_tls_state(const struct dialler_tls *t, unsigned int i,
    struct message_resolver_state *ret)
{
	assert(i < t->count);
	*ret = t->resolvers[i].state;
}
