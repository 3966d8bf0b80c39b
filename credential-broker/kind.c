/*
 * The kinds, see kind.h.
 */
#include "credential-broker/kind.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/message_broker.h"

#define YEAR_S 31536000u

static const struct kind *const kinds[] = {
	[BROKER_KIND_STATIC] = &kind_static,
	[BROKER_KIND_OAUTH2] = &kind_oauth2,
	[BROKER_KIND_AWS] = &kind_aws,
	[BROKER_KIND_OCI] = &kind_oci,
	[BROKER_KIND_GITHUB_APP] = &kind_github_app,
	[BROKER_KIND_EXEC] = &kind_exec,
	[BROKER_KIND_VAULT] = &kind_vault,
	[BROKER_KIND_GCP] = &kind_gcp,
	[BROKER_KIND_AZURE] = &kind_azure,
	[BROKER_KIND_CERTIFICATE] = &kind_certificate,
};
static_assert(sizeof(kinds) / sizeof(kinds[0]) == BROKER_KIND_COUNT,
    "each kind has a row");

const struct mint_fault_row mint_faults[MINT_FAULT_COUNT] = {
	[MINT_OK] = { "ok", false },
	[MINT_UNREACHABLE] = { "issuer-unreachable", false },
	[MINT_TIMEOUT] = { "issuer-slow", false },
	[MINT_RATE] = { "issuer-rate-limit", false },
	[MINT_ISSUER] = { "issuer-error", false },
	[MINT_REFUSED] = { "issuer-refused", true },
	[MINT_ANSWER] = { "issuer-bad-answer", false },
	[MINT_EXPIRED] = { "issuer-sent-expired", false },
	[MINT_SCOPE] = { "issuer-sent-wider-scope", true },
	[MINT_BUSY] = { "too-many-mints", false },
	[MINT_LOCAL] = { "not-ready", false },
	[MINT_ENDED] = { "certificate-ended", true },
};

const struct kind *
kind_of(uint8_t kind)
{
	assert(kind < BROKER_KIND_COUNT);
	return kinds[kind];
}

const char *
kind_value_fault(struct span value)
{
	if (value.len == 0)
		return "holds nothing";
	if (value.len < KIND_VALUE_MIN_BYTES)
		return "holds less than 8 bytes";
	if (value.len > KIND_VALUE_MAX_BYTES)
		return "holds more than 16 KiB";
	/* CWE-113: a line end in a value begins another header. */
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] == 0x7f)
			return "holds a line break or another control byte "
			       "before its end";
	if (value.ptr[0] == ' ' || value.ptr[value.len - 1] == ' ')
		return "begins or ends with a blank";
	return NULL;
}

enum mint_fault
kind_take_user(struct minted *ret, struct span user)
{
	if (user.len >= sizeof(ret->user) ||
	    memchr(user.ptr, ':', user.len) != NULL ||
	    span_printable(user) != user.len)
		return MINT_ANSWER;
	memcpy(ret->user, user.ptr, user.len);
	ret->user[user.len] = '\0';
	return MINT_OK;
}

void
kind_put_text(char ret[GRANT_TEXT_SIZE], const char *text, size_t len)
{
	if (len >= GRANT_TEXT_SIZE)
		len = 0;
	memcpy(ret, text, len);
	ret[len] = '\0';
}

uint64_t
kind_not_after(uint64_t life_s)
{
	return clock_boot_ms() + (life_s < YEAR_S ? life_s : YEAR_S) * 1000;
}

uint64_t
kind_not_after_wall(uint64_t wall_s)
{
	const uint64_t now_s = clock_wall_ms() / 1000;

	return wall_s <= now_s ? 0 : kind_not_after(wall_s - now_s);
}

void
minted_done(struct minted *m)
{
	secret_done(&m->value);
	secret_done(&m->revocation);
}

void
mint_end(struct mint *m, enum mint_fault fault, struct minted *result,
    uint32_t retry_after_s)
{
	assert(m->state == NULL);
	m->done(m, fault, result, retry_after_s);
}

void
revoke_end(struct revoke *r, enum mint_fault fault)
{
	assert(r->state == NULL);
	r->done(r, fault);
}
