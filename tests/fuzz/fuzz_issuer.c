/*
 * Any bytes as what an issuer answers, the first of which says to whom: what is
 * believed can be put into a request, ends, and is no more than was asked for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "credential-broker/answer.h"
#include "credential-broker/credential.h"
#include "credential-broker/oauth2.h"
#include "credential-broker/vault.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SCOPES "read write"
#define YEAR_MS UINT64_C(31536000000)

static void
must(bool claim)
{
	if (!claim)
		abort();
}

static void
set(struct credential *c, const char *name, const char *text)
{
	struct message_broker_credential *d = &c->definition;
	struct message_broker_setting *s = &d->settings[d->setting_count++];

	memcpy(s->name, name, strlen(name) + 1);
	memcpy(s->text, text, strlen(text) + 1);
}

static struct credential *
definition(void)
{
	static struct credential c;

	if (c.definition.setting_count > 0)
		return &c;
	set(&c, "vault-policy", "ci");
	set(&c, "field", "token");
	set(&c, "user-field", "login");
	return &c;
}

static void
must_end(uint64_t end_boot_ms)
{
	must(end_boot_ms <= clock_boot_ms() + YEAR_MS);
}

static void
read_oauth2(struct span body)
{
	const struct fetch_answer a = { .fault = MINT_OK,
		.status = 200,
		.body = body };
	struct secret refresh = SECRET_NONE;
	struct minted m = { .not_after_boot_ms = UINT64_MAX };

	if (oauth2_read(&a, SCOPES, 300, &m, &refresh) == MINT_OK) {
		must(m.value.len > 0);
		must_end(m.not_after_boot_ms);
	}
	minted_done(&m);
	secret_done(&refresh);
}

static void
read_token(const struct credential *c, const json_t *j)
{
	struct vault_lease l = { .end_boot_ms = 0 };
	const json_t *policy;
	size_t i;

	if (vault_take_token(j, &l) == MINT_OK) {
		const struct span id = secret_span(&l.id);

		must(id.len > 0 && span_printable(id) == id.len &&
		    memchr(id.ptr, ' ', id.len) == NULL);
		must(l.end_boot_ms > clock_boot_ms());
		must_end(l.end_boot_ms);
	}
	if (vault_is_within(c, j)) {
		json_array_foreach(json_object_get(json_object_get(j, "auth"),
				       "policies"),
		    i, policy)
		{
			const char *name = json_string_value(policy);

			must(strcasecmp(name, "ci") == 0 ||
			    strcmp(name, "default") == 0);
		}
	}
	(void)vault_take_renewal(j, "auth", &l);
	(void)vault_take_renewal(j, NULL, &l);
	vault_lease_done(&l);
}

static void
read_secret(const struct credential *c, const json_t *j)
{
	struct vault_lease l = { .end_boot_ms = 0 };
	struct minted m = { .not_after_boot_ms = kind_not_after(900) };
	const uint64_t most = m.not_after_boot_ms;

	if (vault_take_secret(c, j, &m, &l) == MINT_OK) {
		must(m.not_after_boot_ms > 0 && m.not_after_boot_ms <= most);
		must(strchr(m.user, ':') == NULL);
	}
	/* It goes onto a line of what is kept. */
	must(l.id.len <= VAULT_LEASE_MAX_BYTES);
	must(l.id.len == 0 || memchr(l.id.ptr, '\n', l.id.len) == NULL);
	vault_lease_done(&l);
	minted_done(&m);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct credential *c = definition();
	struct vault v = { .duration_s = 900 };
	struct span body;
	json_t *j;

	if (size == 0)
		return 0;
	body = (struct span){ data + 1, size - 1 };
	if (data[0] == 'o') {
		read_oauth2(body);
		return 0;
	}
	j = answer_parse(body);
	if (j == NULL)
		return 0;
	v.engine = (enum vault_engine)(data[0] % 3);
	c->state = &v;
	read_token(c, j);
	read_secret(c, j);
	json_decref(j);
	return 0;
}
