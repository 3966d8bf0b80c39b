/*
 * Keys of AWS that a program gives out, see aws_process.h.
 */
#include "credential-broker/aws_process.h"

#include "credential-broker/answer.h"
#include "credential-broker/aws_key.h"

#define VERSION 1

/* Of a name that may be missing; false if what it holds is no text. */
static bool
take_text(const json_t *j, const char *name, struct span *ret)
{
	const char *text = answer_text(j, name);
	const json_t *v = json_object_get(j, name);

	if (text == NULL)
		return v == NULL || json_is_null(v);
	*ret = span_of(text);
	return true;
}

static enum mint_fault
take_end(const json_t *j, uint64_t default_ttl_s, struct minted *ret)
{
	uint64_t wall_s;

	if (json_object_get(j, "Expiration") == NULL) {
		ret->not_after_boot_ms = kind_not_after(default_ttl_s);
		return MINT_OK;
	}
	if (!answer_time(j, "Expiration", &wall_s))
		return MINT_ANSWER;
	ret->not_after_boot_ms = kind_not_after_wall(wall_s);
	return ret->not_after_boot_ms == 0 ? MINT_EXPIRED : MINT_OK;
}

static enum mint_fault
take_key(const json_t *j, struct minted *ret)
{
	const json_t *version = json_object_get(j, "Version");
	struct aws_key k = { .token = { NULL, 0 } };

	if (!json_is_integer(version) ||
	    json_integer_value(version) != VERSION ||
	    !take_text(j, "AccessKeyId", &k.id) ||
	    !take_text(j, "SecretAccessKey", &k.secret) ||
	    !take_text(j, "SessionToken", &k.token))
		return MINT_ANSWER;
	return aws_key_mint(&k, &ret->value);
}

enum mint_fault
aws_process_read(struct span output, uint64_t default_ttl_s, struct minted *ret)
{
	json_t *j = answer_parse(output);
	enum mint_fault fault =
	    j == NULL ? MINT_ANSWER : take_end(j, default_ttl_s, ret);

	if (fault == MINT_OK)
		fault = take_key(j, ret);
	json_decref(j);
	return fault;
}
