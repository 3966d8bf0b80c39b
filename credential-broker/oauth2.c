/*
 * Clients and answers of OAuth 2.0, see oauth2.h.
 */
#include "credential-broker/oauth2.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/log.h"
#include "credential-broker/answer.h"

#define AREA "oauth2"
/* A clock that is behind refuses what was made in its future. */
#define BACKDATE_S 30
#define ASSERTION_S 300
#define JWT_BEARER "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/* RFC 6749 5.2, RFC 8693 2.2.2: what may be written into a log. */
static const char *const errors[] = { "invalid_request", "invalid_client",
	"invalid_grant", "unauthorized_client", "unsupported_grant_type",
	"invalid_scope", "invalid_target", "temporarily_unavailable",
	"server_error", "slow_down", "access_denied" };

static void
add_claim(struct jwt_claim *claims, size_t *count, const char *name,
    const char *text)
{
	if (text != NULL)
		claims[(*count)++] = (struct jwt_claim){ name, text, 0 };
}

void
oauth2_assert(const struct oauth2_assertion *a, struct form *f)
{
	const uint64_t now_s = clock_wall_ms() / 1000;
	const uint64_t life_s = a->life_s == 0 ? ASSERTION_S : a->life_s;
	uint64_t id[2] = { 0, 0 };
	char jti[40];
	struct jwt_claim claims[8];
	struct jwt_spec spec = { .alg = a->alg,
		.key_id = a->key_id,
		.x5t_s256 = a->x5t_s256,
		.claims = claims };

	if (a->issuer == NULL || a->key == NULL ||
	    getrandom(id, sizeof(id), 0) != (ssize_t)sizeof(id)) {
		f->failed = true;
		return;
	}
	(void)snprintf(jti, sizeof(jti), "%016" PRIx64 "%016" PRIx64, id[0],
	    id[1]);
	add_claim(claims, &spec.claim_count, "iss", a->issuer);
	add_claim(claims, &spec.claim_count, "sub", a->subject);
	add_claim(claims, &spec.claim_count, "aud", a->audience);
	claims[spec.claim_count++] =
	    (struct jwt_claim){ "iat", NULL, now_s - BACKDATE_S };
	claims[spec.claim_count++] =
	    (struct jwt_claim){ "exp", NULL, now_s + life_s };
	if (a->has_not_before)
		claims[spec.claim_count++] =
		    (struct jwt_claim){ "nbf", NULL, now_s - BACKDATE_S };
	add_claim(claims, &spec.claim_count, "jti", jti);
	add_claim(claims, &spec.claim_count, "scope", a->scope);
	jwt_sign(a->key, &spec, f);
}

static void
prove_basic(const struct oauth2_client *c, struct form *header)
{
	AUTO_FORM struct form pair = form_new();

	form_encoded(&pair, span_of(c->id));
	form_text(&pair, ":");
	form_encoded(&pair, secret_span(c->secret));
	header->failed |= pair.failed;
	form_text(header, "Authorization: Basic ");
	form_base64(header, form_span_of(&pair));
}

void
oauth2_prove(const struct oauth2_client *c, struct form *body,
    struct form *header)
{
	AUTO_FORM struct form jwt = { .len = 0 };
	struct oauth2_assertion assertion;

	switch (c->auth) {
	case OAUTH2_AUTH_BASIC:
		prove_basic(c, header);
		return;
	case OAUTH2_AUTH_POST:
		form_add(body, "client_id", c->id);
		form_add_span(body, "client_secret", secret_span(c->secret));
		return;
	case OAUTH2_AUTH_NONE:
		if (c->id != NULL)
			form_add(body, "client_id", c->id);
		return;
	case OAUTH2_AUTH_JWT:
		jwt = form_new();
		assertion = (struct oauth2_assertion){ .key = c->key,
			.alg = c->alg,
			.key_id = c->key_id,
			.x5t_s256 = c->x5t_s256,
			.issuer = c->id,
			.subject = c->id,
			.audience = c->audience,
			.has_not_before = c->x5t_s256 != NULL };
		oauth2_assert(&assertion, &jwt);
		body->failed |= jwt.failed;
		form_add(body, "client_id", c->id);
		form_add(body, "client_assertion_type", JWT_BEARER);
		form_add_span(body, "client_assertion", form_span_of(&jwt));
		return;
	}
}

/* word is one of the words of list, which blanks part. */
static bool
has_word(const char *list, const char *word, size_t len)
{
	size_t n;

	for (; *list != '\0'; list += n + strspn(list + n, " ")) {
		n = strcspn(list, " ");
		if (n == len && memcmp(list, word, len) == 0)
			return true;
	}
	return false;
}

/* Nothing that was not asked for. Less is told, and for the origin to see. */
static bool
is_within(const char *granted, const char *asked)
{
	size_t n;

	granted += strspn(granted, " ");
	for (; *granted != '\0'; granted += n + strspn(granted + n, " ")) {
		n = strcspn(granted, " ");
		if (!has_word(asked, granted, n))
			return false;
	}
	return true;
}

/* Some say 200 and an error in it. */
static enum mint_fault
read_error(const json_t *j, enum mint_fault fault)
{
	const char *error = j == NULL ? NULL : answer_text(j, "error");

	if (error == NULL)
		return fault;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(error, errors[i]) == 0)
			log_warn(AREA, "error=%s", errors[i]);
	if (strcmp(error, "temporarily_unavailable") == 0 ||
	    strcmp(error, "server_error") == 0)
		return MINT_ISSUER;
	if (strcmp(error, "slow_down") == 0)
		return MINT_RATE;
	return fault == MINT_OK ? MINT_REFUSED : fault;
}

static bool
is_known_type(const char *type)
{
	/* RFC 6749 7.1 compares without case; RFC 8693 2.2.1 has N_A. */
	return type != NULL &&
	    (span_is_case(span_of(type), "bearer") ||
		span_is_case(span_of(type), "n_a"));
}

static enum mint_fault
read_token(const json_t *j, const char *asked, uint64_t default_ttl_s,
    struct minted *ret)
{
	const char *token = answer_text(j, "access_token");
	const char *granted = answer_text(j, "scope");
	uint64_t life_s = default_ttl_s;

	if (token == NULL || !is_known_type(answer_text(j, "token_type")))
		return MINT_ANSWER;
	if (json_object_get(j, "expires_in") != NULL &&
	    !answer_seconds(j, "expires_in", &life_s))
		return MINT_ANSWER;
	if (secret_set(&ret->value, token, strlen(token)) != 0)
		return MINT_LOCAL;
	ret->not_after_boot_ms = kind_not_after(life_s);
	if (granted != NULL && *asked != '\0' && !is_within(granted, asked))
		return MINT_SCOPE;
	return MINT_OK;
}

enum mint_fault
oauth2_read(const struct fetch_answer *a, const char *asked,
    uint64_t default_ttl_s, struct minted *ret, struct secret *ret_refresh)
{
	json_t *j = answer_parse(a->body);
	enum mint_fault fault = read_error(j, a->fault);
	const char *refresh = NULL;

	if (fault == MINT_OK && ret_refresh != NULL && j != NULL)
		refresh = answer_text(j, "refresh_token");
	if (refresh != NULL &&
	    secret_set(ret_refresh, refresh, strlen(refresh)) != 0)
		fault = MINT_LOCAL;
	if (fault == MINT_OK)
		fault = j == NULL ? MINT_ANSWER
				  : read_token(j, asked, default_ttl_s, ret);
	json_decref(j);
	return fault;
}
