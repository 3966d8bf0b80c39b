/*
 * Records of minted values, see record.h.
 */
#include "credential-broker/record.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/digest.h"
#include "conf/verdict.h"
#include "credential-broker/credential.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"

static const char *const words[RECORD_EVENT_COUNT] = {
	[RECORD_MINT] = "mint",
	[RECORD_REFRESH] = "refresh",
	[RECORD_INVALIDATE] = "invalidate",
	[RECORD_REVOKE] = "revoke",
};

static const uint8_t *
boot_key(void)
{
	static uint8_t key[32];
	static bool is_made;

	if (!is_made)
		is_made = getrandom(key, sizeof(key), 0) == sizeof(key);
	return is_made ? key : NULL;
}

void
record_fingerprint(struct span value, char ret[RECORD_FINGERPRINT_SIZE])
{
	const uint8_t *key = boot_key();
	uint8_t mac[EVP_MAX_MD_SIZE] = { 0 };
	unsigned int len = 0;

	if (key == NULL ||
	    HMAC(EVP_sha256(), key, 32, value.ptr, value.len, mac, &len) ==
		NULL) {
		memcpy(ret, "--------", RECORD_FINGERPRINT_SIZE);
		return;
	}
	(void)snprintf(ret, RECORD_FINGERPRINT_SIZE, "%02x%02x%02x%02x",
	    (unsigned int)mac[0], (unsigned int)mac[1], (unsigned int)mac[2],
	    (unsigned int)mac[3]);
}

static void
write_down(const struct token *t, uint8_t verdict, enum reason reason,
    const char *detail)
{
	struct audit_record r = audit_record_init(AUDIT_LEASE);

	r.verdict = verdict;
	r.reason = reason;
	r.credential = t->credential->definition.name;
	r.detail = span_of(detail);
	sandbox_audit(t->sandbox, &r);
}

void
record_minted(const struct token *t, enum record_event what)
{
	char text[RECORD_TEXT_SIZE], fp[RECORD_FINGERPRINT_SIZE];
	uint8_t digest[DIGEST_BYTES];
	const bool is_end = what == RECORD_INVALIDATE || what == RECORD_REVOKE;

	record_fingerprint(secret_span(&t->minted.value), fp);
	if (t->scope[0] != '\0' &&
	    digest_sha256(t->scope, strlen(t->scope), digest) == 0)
		(void)snprintf(text, sizeof(text),
		    "%s fp=%s scope=%02x%02x%02x%02x", words[what], fp,
		    (unsigned int)digest[0], (unsigned int)digest[1],
		    (unsigned int)digest[2], (unsigned int)digest[3]);
	else
		(void)snprintf(text, sizeof(text), "%s fp=%s", words[what], fp);
	write_down(t, is_end ? ACTION_DENY : ACTION_ALLOW, REASON_NONE, text);
}

void
record_failed(const struct token *t, enum mint_fault fault)
{
	char text[RECORD_TEXT_SIZE];

	(void)snprintf(text, sizeof(text), "mint: %s", mint_faults[fault].word);
	write_down(t, ACTION_DENY, REASON_CREDENTIAL_UNAVAILABLE, text);
}
