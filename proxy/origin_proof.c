/* Proofs of an origin's handshake, see origin_proof.h. */
#include "proxy/origin_proof.h"

#include <stdlib.h>

#include "proxy/exchange.h"
#include "proxy/lease.h"

struct origin_proof {
	struct origin *origin;
	struct client_key *key;
	struct sign_wait *wait;
	void (*goes_on)(struct origin *o);
};

bool
origin_shows(const struct origin *o)
{
	const struct injection *in = exchange_injection(o->x);

	return in != NULL && in->lease.apply == LEASE_APPLY_CERTIFICATE;
}

static void
on_signed(struct span signature, void *arg)
{
	struct origin_proof *p = arg;

	p->wait = NULL;
	client_key_answer(p->key, signature);
	p->goes_on(p->origin);
}

/* From within the handshake. */
static bool
ask(struct client_key *k, uint16_t scheme, struct span tbs)
{
	struct origin_proof *p = k->arg;
	const struct origin *o = p->origin;

	p->wait = lease_sign(o->gate, o->credential->lease.lease_id, scheme,
	    tbs, on_signed, p);
	return p->wait != NULL;
}

SSL *
origin_proof_begin(struct origin *o, void (*goes_on)(struct origin *o))
{
	struct injection *in = exchange_injection(o->x);
	struct origin_proof *p = calloc(1, sizeof(*p));
	struct tls_certified to;
	SSL *ssl;

	if (p == NULL)
		return NULL;
	p->origin = o;
	p->goes_on = goes_on;
	p->key = client_key_new(ask, p);
	o->proof = p;
	injection_set(&o->credential, in);
	to = (struct tls_certified){ o->key.host, o->key.port,
		!o->key.is_websocket, o->fd, o->key.credential,
		secret_span(&in->lease.value), p->key };
	ssl = p->key == NULL ? NULL
			     : tls_origin_new_certified(o->gate, &to, &o->tls);
	if (ssl == NULL)
		origin_proof_end(o);
	return ssl;
}

bool
origin_proof_waits(const struct origin *o)
{
	return o->proof != NULL && o->proof->key->state == CLIENT_KEY_ASKED;
}

bool
origin_proof_was_refused(const struct origin *o)
{
	return o->proof != NULL && o->proof->key->state == CLIENT_KEY_FAILED;
}

const char *
origin_proof_fault(const struct origin *o)
{
	return o->proof == NULL || o->proof->key->state == CLIENT_KEY_SIGNED
	    ? NULL
	    : "the origin asked for no client certificate of this sort";
}

static void
leave(struct stream *s, struct client_key *k)
{
	client_key_answer(k, (struct span){ NULL, 0 });
	if (client_key_has_stopped(s->ssl))
		(void)stream_handshake(s);
	client_key_done(s->ssl);
}

void
origin_proof_end(struct origin *o)
{
	struct origin_proof *p = o->proof;

	if (p == NULL)
		return;
	o->proof = NULL;
	lease_sign_cancel(p->wait);
	if (o->has_stream && o->stream.ssl != NULL)
		leave(&o->stream, p->key);
	client_key_release(p->key);
	free(p);
}
