/*
 * Leases, see lease.h. Everything that stands against a request is one row of
 * checks[]: the first that objects decides, and nothing is minted before the
 * last has been asked.
 */
#include "credential-broker/lease.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/message.h"
#include "conf/grant.h"
#include "conf/verdict.h"
#include "credential-broker/aws_key.h"
#include "credential-broker/kind_certificate.h"
#include "credential-broker/token.h"
#include "wire/path.h"

/* Numbers that JSON readers keep whole (RFC 7493 2.2). */
#define LEASE_ID_MASK ((UINT64_C(1) << 53) - 1)

/* One question while it is looked at. */
struct asking {
	struct sandbox *sandbox;
	const struct message_lease_request *req;
	struct verdict verdict;        /* of the sandbox's own policy */
	struct credential *credential; /* NULL: none of this name */
};

/* Why not, and one clause for the record. */
struct objection {
	enum reason reason; /* REASON_NONE: there is none */
	const char *detail;
	const char *guest; /* what the guest reads of it, too */
};

static const struct objection no_objection = { REASON_NONE, "", "" };

static struct objection
misuse(const char *detail)
{
	return (struct objection){ REASON_CREDENTIAL_MISUSE, detail, "" };
}

static struct objection
unavailable(const char *detail)
{
	return (struct objection){ REASON_CREDENTIAL_UNAVAILABLE, detail, "" };
}

/* Of an issuer: what the guest reads is the same word, and no more. */
static struct objection
not_minted(enum mint_fault fault)
{
	const char *word = mint_faults[fault].word;

	return (struct objection){ REASON_CREDENTIAL_UNAVAILABLE, word, word };
}

static struct objection
check_audit(const struct asking *a)
{
	if (!sandbox_can_audit(a->sandbox))
		return (struct objection){ REASON_AUDIT_UNAVAILABLE, "", "" };
	return no_objection;
}

/* A secret goes out in clear to nobody. */
static struct objection
check_scheme(const struct asking *a)
{
	return a->req->scheme == SCHEME_HTTPS ? no_objection : misuse("scheme");
}

static struct objection
check_path(const struct asking *a)
{
	return path_read(a->req->path).is_ambiguous ? misuse("path")
						    : no_objection;
}

/* The gate may have been taken over: it asks for what its policy names only. */
static struct objection
check_policy(const struct asking *a)
{
	if (a->verdict.action != ACTION_ALLOW)
		return misuse("policy");
	if (strcmp(a->verdict.credential, a->req->credential) != 0)
		return misuse("policy-credential");
	return no_objection;
}

static struct objection
check_defined(const struct asking *a)
{
	return a->credential == NULL ? unavailable("not-defined")
				     : no_objection;
}

static struct objection
check_grant(const struct asking *a)
{
	return grant_covers(&a->credential->definition, &a->sandbox->attached)
	    ? no_objection
	    : misuse("not-granted");
}

static struct objection
check_binding(const struct asking *a)
{
	const char *fault = credential_misuse(a->credential, a->req);

	return fault == NULL ? no_objection : misuse(fault);
}

/* Has a word of its own: the guest reads what would have to be said where. */
static struct objection
check_websocket(const struct asking *a)
{
	if (a->req->is_websocket && !a->credential->definition.serves_websocket)
		return (struct objection){ REASON_WEBSOCKET, "definition", "" };
	return no_objection;
}

static bool
names_word(const struct credential *c, const char *key, const char *word)
{
	const char *item;

	for (unsigned int i = 0; (item = credential_item(c, key, i)) != NULL;
	     i++)
		if (strcmp(item, word) == 0)
			return true;
	return false;
}

/* A key to sign with is derived for what the host has named, nothing else. */
static struct objection
check_signed(const struct asking *a)
{
	const char *word = NULL;

	if (a->credential->definition.apply != LEASE_APPLY_SIGV4)
		return no_objection;
	if (a->req->service[0] == '\0')
		word = "not-signed";
	else if (!names_word(a->credential, "region", a->req->region))
		word = "region";
	else if (!names_word(a->credential, "service", a->req->service))
		word = "service";
	return word == NULL
	    ? no_objection
	    : (struct objection){ REASON_CREDENTIAL_MISUSE, word, word };
}

/* In this order: a row may lean on those before it. */
static struct objection (*const checks[])(const struct asking *a) = {
	check_audit,
	check_scheme,
	check_path,
	check_policy,
	check_defined,
	check_grant,
	check_binding,
	check_websocket,
	check_signed,
};

static struct verdict
judge(const struct sandbox *s, const struct message_lease_request *req)
{
	const struct policy_pair pair = { s->policy, s->ceiling };
	const struct path_reading reading = path_read(req->path);
	const struct policy_request r = { .host = req->host,
		.port = req->port,
		.scheme = (enum scheme)req->scheme,
		.method = span_of(req->method),
		.path = req->path,
		.has_query = req->has_query,
		.query = req->query,
		.is_websocket = req->is_websocket,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };

	return asked_request(&s->asked, policy_judge_object(&pair, &r), &r);
}

static void
write_down(const struct asking *a, const struct objection *o, uint64_t lease)
{
	struct audit_record r = audit_record_init(AUDIT_LEASE);

	r.verdict = o->reason == REASON_NONE ? ACTION_ALLOW : ACTION_DENY;
	r.reason = o->reason;
	r.rule = a->verdict.rule;
	r.file = a->verdict.file;
	r.line = a->verdict.line;
	r.host = span_of(a->req->host);
	r.port = a->req->port;
	r.method = span_of(a->req->method);
	r.path = a->req->path;
	r.credential = a->req->credential;
	r.lease = lease;
	r.detail = span_of(o->detail);
	sandbox_audit(a->sandbox, &r);
}

static void
lease_free(struct sandbox *s, struct lease *l)
{
	LIST_REMOVE(l, link);
	s->lease_count--;
	free(l);
}

static void
drop_expired(struct sandbox *s)
{
	const uint64_t now = clock_boot_ms();
	struct lease *l, *next;

	for (l = LIST_FIRST(&s->leases); l != NULL; l = next) {
		next = LIST_NEXT(l, link);
		if (now >= l->expires_boot_ms)
			lease_free(s, l);
	}
}

/* What the answer to one question is made of. */
struct lent {
	const struct secret *value;
	const char *user;       /* "": as defined */
	uint64_t end_boot_ms;   /* UINT64_MAX: none of its own */
	uint64_t token;         /* its number; 0 without one */
	uint64_t renew_boot_ms; /* as in struct message_lease */
};

static struct lease *
find_lease(struct sandbox *s, const struct message_lease_request *req,
    const struct lent *lent)
{
	struct lease *l;

	LIST_FOREACH(l, &s->leases, link)
	if (l->token == lent->token &&
	    strcmp(l->credential, req->credential) == 0 &&
	    strcmp(l->host, req->host) == 0)
		return l;
	return NULL;
}

static int
make_lease(struct asking *a, const struct lent *lent, struct lease **ret)
{
	struct sandbox *s = a->sandbox;
	const uint64_t end =
	    clock_boot_ms() + (uint64_t)s->broker->lease_max_s * 1000;
	struct lease *l;

	if (s->lease_count == SANDBOX_LEASES_MAX)
		return -ENOSPC;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return -ENOMEM;
	if (getrandom(&l->id, sizeof(l->id), 0) != sizeof(l->id)) {
		free(l);
		return -EIO;
	}
	l->id = (l->id & LEASE_ID_MASK) | 1;
	l->expires_boot_ms = end < lent->end_boot_ms ? end : lent->end_boot_ms;
	l->token = lent->token;
	memcpy(l->credential, a->req->credential, sizeof(l->credential));
	memcpy(l->host, a->req->host, sizeof(l->host));
	LIST_INSERT_HEAD(&s->leases, l, link);
	s->lease_count++;
	*ret = l;
	return 0;
}

/* The packet is in locked memory, and wiped when the kernel has it. */
static void
send_lease(struct sandbox *s, uint32_t id, const struct message_lease *m)
{
	struct secret *packet = &s->broker->packet;
	struct wr w = wr_init(packet->ptr, packet->len);

	message_lease_encode(&w, m);
	/* A gate that is gone, or does not read, loses its channel. */
	(void)chan_send(s->gate, MSG_LEASE, id, &w, NULL, 0);
	secret_wipe(packet->ptr, w.len);
}

static void
send_refusal(struct sandbox *s, uint32_t id, const struct objection *o)
{
	struct message_lease m = { .reason = o->reason };

	(void)strncpy(m.detail, o->guest, sizeof(m.detail) - 1);
	send_lease(s, id, &m);
}

static void
send_value(struct sandbox *s, uint32_t id, const struct credential *c,
    const struct lease *l, const struct lent *lent)
{
	const struct message_broker_credential *d = &c->definition;
	/* The value is only lent to the encoder: no copy lies about. */
	struct message_lease m = { .reason = REASON_NONE,
		.lease_id = l->id,
		.expires_boot_ms = l->expires_boot_ms,
		.renew_boot_ms = lent->renew_boot_ms,
		.any_request =
		    c->kind->scope == NULL && credential_serves_any_request(c),
		.serves_websocket = d->serves_websocket,
		.apply = (enum lease_apply)d->apply,
		.strip_count = d->strip_count,
		.strip_response_count = d->strip_response_count,
		.keeps_set_cookie = d->keeps_set_cookie,
		.value = *lent->value };

	memcpy(m.field, d->field, sizeof(m.field));
	memcpy(m.user, *lent->user != '\0' ? lent->user : d->user,
	    sizeof(m.user));
	memcpy(m.placeholder, d->placeholder, sizeof(m.placeholder));
	memcpy(m.strip, d->strip, sizeof(m.strip));
	memcpy(m.strip_response, d->strip_response, sizeof(m.strip_response));
	send_lease(s, id, &m);
}

/*
 * Of a key of AWS a gate gets what it can sign with today, in one place. False:
 * it cannot be made.
 */
static bool
derive(const struct asking *a, struct lent *lent, struct secret *ret)
{
	const uint64_t now_ms = clock_wall_ms();
	const uint64_t end = clock_boot_ms() + aws_key_day_left_ms(now_ms);
	struct aws_key k;

	if (!aws_key_split(secret_span(lent->value), &k) ||
	    aws_key_derive(&k, a->req->region, a->req->service, now_ms, ret) !=
		0)
		return false;
	lent->value = ret;
	if (lent->end_boot_ms > end)
		lent->end_boot_ms = end;
	return true;
}

/* Of a certificate the record says which. */
static const char *
what_is_lent(const struct asking *a)
{
	return a->credential->definition.apply == LEASE_APPLY_CERTIFICATE
	    ? certificate_fingerprint(a->credential)
	    : "grant";
}

/* There is a value. */
static struct objection
lend(struct asking *a, uint32_t id, struct lent *lent)
{
	AUTO_SECRET struct secret derived = SECRET_NONE;
	struct sandbox *s = a->sandbox;
	struct lease *l;

	if (a->credential->definition.apply == LEASE_APPLY_SIGV4 &&
	    !derive(a, lent, &derived))
		return unavailable("derive");
	drop_expired(s);
	l = find_lease(s, a->req, lent);
	/* After its soft end a value is lent once more, until its hard one. */
	if (l == NULL) {
		const int rc = make_lease(a, lent, &l);

		if (rc != 0)
			return unavailable(
			    rc == -ENOSPC ? "too-many-leases" : "memory");
		write_down(a, &(struct objection){ .detail = what_is_lent(a) },
		    l->id);
	}
	send_value(s, id, a->credential, l, lent);
	return no_objection;
}

/* A value that is minted: now, or once its flight is over. */
static struct objection
lend_token(struct asking *a, uint32_t id)
{
	enum mint_fault fault;
	struct token *t;

	switch (token_get(a->sandbox, a->credential, a->req, &t, &fault)) {
	case TOKEN_HERE:
		break;
	case TOKEN_WAITS:
		return token_wait(t, id, a->req) == 0 ? no_objection
						      : not_minted(MINT_BUSY);
	case TOKEN_FAILED:
		return not_minted(fault);
	}
	return lend(a, id,
	    &(struct lent){ &t->minted.value, t->minted.user,
		token_lease_end(t), t->number, token_renew_from(t) });
}

/* Nothing stands against it. */
static struct objection
grant(struct asking *a, uint32_t id)
{
	const struct credential *c = a->credential;
	const struct secret *held;
	uint64_t end_boot_ms = UINT64_MAX;

	if (!c->is_loaded || a->sandbox->broker->is_leaving)
		return not_minted(MINT_LOCAL);
	held = c->kind->held == NULL ? NULL : c->kind->held(c);
	if (held == NULL)
		return lend_token(a, id);
	if (c->definition.apply == LEASE_APPLY_CERTIFICATE)
		end_boot_ms = certificate_end_boot_ms(c);
	if (end_boot_ms <= clock_boot_ms())
		return not_minted(MINT_ENDED);
	return lend(a, id, &(struct lent){ held, "", end_boot_ms, 0, 0 });
}

void
lease_request(struct sandbox *s, uint32_t id,
    const struct message_lease_request *req)
{
	struct asking a = { .sandbox = s,
		.req = req,
		.verdict = judge(s, req),
		.credential =
		    credential_set_find(s->broker->set, req->credential) };
	struct objection o = no_objection;

	for (size_t i = 0;
	     i < sizeof(checks) / sizeof(checks[0]) && o.reason == REASON_NONE;
	     i++)
		o = checks[i](&a);
	if (o.reason == REASON_NONE)
		o = grant(&a, id);
	if (o.reason == REASON_NONE)
		return;
	write_down(&a, &o, 0);
	send_refusal(s, id, &o);
}

static void
write_revoked(struct sandbox *s, const struct lease *l)
{
	struct audit_record r = audit_record_init(AUDIT_LEASE);

	r.verdict = ACTION_DENY;
	r.host = span_of(l->host);
	r.credential = l->credential;
	r.lease = l->id;
	r.detail = span_of("revoke");
	sandbox_audit(s, &r);
}

static void
tell_revoked(struct sandbox *s, const char *credential)
{
	struct message_lease_revoked m = { { 0 } };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	if (s->gate == NULL)
		return;
	if (credential != NULL)
		(void)strncpy(m.credential, credential,
		    sizeof(m.credential) - 1);
	message_lease_revoked_encode(&w, &m);
	(void)chan_send(s->gate, MSG_LEASE_REVOKED, 0, &w, NULL, 0);
}

void
lease_revoke(struct sandbox *s, const char *credential)
{
	struct lease *l, *next;

	drop_expired(s);
	for (l = LIST_FIRST(&s->leases); l != NULL; l = next) {
		next = LIST_NEXT(l, link);
		if (credential != NULL &&
		    strcmp(l->credential, credential) != 0)
			continue;
		write_revoked(s, l);
		lease_free(s, l);
	}
	/* Without one, too: see lease.h. */
	tell_revoked(s, credential);
}

void
lease_reject(struct sandbox *s, uint64_t lease_id)
{
	char credential[CREDENTIAL_NAME_SIZE];
	const struct lease *l;

	LIST_FOREACH(l, &s->leases, link)
	if (l->id == lease_id)
		break;
	if (l == NULL || l->token == 0 || !token_reject(s, l->token))
		return;
	/* l is among those that end. */
	memcpy(credential, l->credential, sizeof(credential));
	lease_revoke(s, credential);
}
