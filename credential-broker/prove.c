/* Proofs, see prove.h. */
#include "credential-broker/prove.h"

#include <string.h>

#include "base/clock.h"
#include "base/message.h"
#include "credential-broker/kind_certificate.h"

/* What is signed with, and for which lease. */
struct proof {
	const struct lease *lease;
	const struct credential *credential;
	const struct tls_scheme *scheme;
};

static const struct lease *
find_lease(const struct sandbox *s, uint64_t id)
{
	const struct lease *l;

	LIST_FOREACH(l, &s->leases, link)
	if (l->id == id && clock_boot_ms() < l->expires_boot_ms)
		return l;
	return NULL;
}

/* An RSA signature takes a millisecond or five of everybody's broker. */
static bool
is_within_rate(struct sandbox *s)
{
	const uint64_t now = clock_boot_ms();
	const uint64_t full = (uint64_t)PROVE_BURST * PROVE_EVERY_MS;

	/* Zeroed, or long ago: the burst is whole. */
	if (s->proofs_until_boot_ms < now)
		s->proofs_until_boot_ms = now;
	if (s->proofs_until_boot_ms - now >= full)
		return false;
	s->proofs_until_boot_ms += PROVE_EVERY_MS;
	return true;
}

/* NULL, or one word on why not. */
static const char *
check(struct sandbox *s, const struct message_sign *m, struct proof *ret)
{
	char host[HOST_SIZE] = "";
	enum tls_proof proof;

	ret->lease = find_lease(s, m->lease_id);
	if (ret->lease == NULL)
		return "no-lease";
	ret->credential =
	    credential_set_find(s->broker->set, ret->lease->credential);
	if (ret->credential == NULL || !ret->credential->is_loaded ||
	    ret->credential->definition.apply != LEASE_APPLY_CERTIFICATE)
		return "no-key";
	ret->scheme = tls_scheme_find(m->scheme);
	proof = tls_proof_read(m->text, host);
	if (ret->scheme == NULL || proof == TLS_PROOF_NONE ||
	    (proof == TLS_PROOF_13 && !ret->scheme->is_tls13))
		return "no-proof";
	if (proof == TLS_PROOF_12 && strcmp(host, ret->lease->host) != 0)
		return "proof-for-another-host";
	return is_within_rate(s) ? NULL : "too-many-proofs";
}

static void
write_refusal(struct sandbox *s, const struct proof *p, const char *why)
{
	struct audit_record r = audit_record_init(AUDIT_LEASE);

	r.verdict = ACTION_DENY;
	r.reason = REASON_CREDENTIAL_MISUSE;
	if (p->lease != NULL) {
		r.host = span_of(p->lease->host);
		r.credential = p->lease->credential;
		r.lease = p->lease->id;
	}
	r.detail = span_of(why);
	sandbox_audit(s, &r);
}

void
prove(struct sandbox *s, uint32_t id, const struct message_sign *m)
{
	struct message_signed answer = { { NULL, 0 } };
	uint8_t signature[SIGN_SIGNATURE_MAX];
	uint8_t buf[SIGNED_BODY_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));
	struct proof p = { .lease = NULL };
	const char *why = check(s, m, &p);
	size_t len = 0;

	if (why == NULL &&
	    certificate_sign(p.credential, p.scheme, m->text, signature,
		&len) != 0)
		why = "another-sort-of-key";
	if (why == NULL)
		answer.signature = (struct span){ signature, len };
	else
		write_refusal(s, &p, why);
	message_signed_encode(&w, &answer);
	/* A gate that is gone, or does not read, loses its channel. */
	(void)chan_send(s->gate, MSG_SIGNED, id, &w, NULL, 0);
}
