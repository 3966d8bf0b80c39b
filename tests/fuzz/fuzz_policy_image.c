/*
 * Any bytes as an image: read in bounds, whatever offsets and counts say. The
 * checksum of the header is put right first, or no input would get past it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/image.h"
#include "conf/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool claim)
{
	if (!claim)
		abort();
}

static void
mend_header(uint8_t *image, size_t size)
{
	uint32_t sum;

	if (size < IMAGE_HEADER_BYTES)
		return;
	for (unsigned int i = 0; i < 4; i++) {
		image[8 + i] = (uint8_t)(IMAGE_VERSION >> (8 * i) & 0xff);
		image[12 + i] = (uint8_t)(size >> (8 * i) & 0xff);
	}
	sum = image_header_sum(image);
	for (unsigned int i = 0; i < 4; i++)
		image[16 + i] = (uint8_t)(sum >> (8 * i) & 0xff);
}

static void
check_verdict(const struct verdict *v)
{
	must(v->action <= ACTION_ALLOW && v->reason < REASON_COUNT);
	must(v->scheme <= SCHEME_TCP && v->tls <= TLS_MODE_PASSTHROUGH);
	must(strlen(v->rule) < RULE_NAME_SIZE);
	must(strlen(v->credential) < RULE_NAME_SIZE);
	must(strlen(v->file) < IMAGE_STRING_SIZE);
	must(strlen(v->say) < IMAGE_STRING_SIZE);
	if (v->learned.reason == REASON_NONE)
		return;
	must(v->action != ACTION_DENY && v->credential[0] == '\0');
	must(strlen(v->learned.rule) < RULE_NAME_SIZE);
	must(strlen(v->learned.file) < IMAGE_STRING_SIZE);
}

static void
ask(const struct policy_pair *pair)
{
	static const char *const hosts[] = { "a.example.org", "b.example.org",
		"x.deep.example.org", "db.example.org", "", "." };
	struct policy_request req = { .port = 443,
		.method = span_of("GET"),
		.path = span_of("/a/b"),
		.query = span_of("q=1"),
		.has_query = true };

	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		struct verdict v = policy_judge_connect(pair, hosts[i], 443);

		check_verdict(&v);
		req.host = hosts[i];
		req.has_encoded_slash = i % 2 == 0;
		v = policy_judge_request(pair, &req);
		check_verdict(&v);
		(void)policy_has_credential_at(pair, hosts[i], 443);
		(void)policy_tcp_address(pair, hosts[i]);
	}
}

static void
ask_push(const struct policy_pair *pair)
{
	static const char *const refs[] = { "refs/heads/agent/x",
		"refs/heads/main", "HEAD", "" };
	struct policy_request req = { .host = "a.example.org",
		.port = 443,
		.method = span_of("POST"),
		.path = span_of("/acme/tool/git-receive-pack") };

	for (size_t i = 0; i < 4 * (size_t)GIT_OPERATIONS; i++) {
		struct policy_command cmd = { .operation = (enum git_operation)(
						  i % GIT_OPERATIONS),
			.ref = span_of(refs[i / GIT_OPERATIONS]) };
		struct verdict v = policy_judge_push(pair, &req, &cmd);

		check_verdict(&v);
		must(!v.reads_push || v.action == ACTION_DENY ||
		    (i / GIT_OPERATIONS < 2 &&
			cmd.operation != GIT_OPERATION_NONE));
	}
}

/* What an answer grants, whoever holds it is let through. */
static void
ask_lfs(const struct policy_pair *pair)
{
	static const char *const targets[] = { "a.example.org", "b.example.org",
		"x.a.example.org" };
	struct policy_request req = { .host = "a.example.org",
		.port = 443,
		.method = span_of("POST"),
		.path = span_of("/acme/tool/info/lfs/objects/batch") };
	struct policy_lfs lfs;

	for (size_t i = 0; i < 6; i++) {
		struct policy_request get = { .host = targets[i / 2],
			.port = 443,
			.method = span_of("GET"),
			.path = span_of("/x") };
		struct verdict v;

		v = policy_judge_object(pair, &get);
		check_verdict(&v);
		if (!policy_lfs_grants(pair, &req, get.host, 443, i % 2 == 0,
			&lfs))
			continue;
		must(strlen(lfs.rules[VERDICT_POLICY]) < RULE_NAME_SIZE);
		v = policy_judge_lfs(pair, &get, &lfs);
		check_verdict(&v);
	}
}

static void
ask_lists(const struct policy_pair *pair)
{
	const struct policy *p = pair->policy;
	struct policy_tcp tcp[8];
	uint16_t ports[64];
	struct policy_budget b;
	size_t count;

	for (size_t i = 0; i < BUDGETS_MAX; i++) {
		if (!policy_budget_at(p, i, &b))
			continue;
		must(strlen(b.rule) < RULE_NAME_SIZE);
		must(strlen(b.file) < IMAGE_STRING_SIZE);
		must((b.budget.rate == 0) == (b.budget.rate_s == 0));
	}
	count = policy_tcp_all(pair, tcp, 8);
	for (size_t i = 0; i < 8 && i < count; i++)
		must(strlen(tcp[i].host) < IMAGE_STRING_SIZE);
	(void)policy_tcp_find(pair, 0xc6120001, 5432, &tcp[0]);
	must(policy_ports(pair, ports, 64) <= UINT16_MAX);
	for (size_t i = 0; i < 8; i++)
		must(policy_credential_at(p, i) != NULL);
	must(policy_file(p) != NULL && policy_digest(p) != NULL);
	(void)policy_rule_count(p);
	(void)policy_host_count(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* of the exact size, so that a sanitizer sees the byte after it */
	uint8_t *image = malloc(size > 0 ? size : 1);
	struct policy_pair pair = { NULL, NULL };
	struct policy *p;

	if (image == NULL)
		return 0;
	memcpy(image, data, size);
	mend_header(image, size);
	if (policy_map_bytes(image, size, &p) == 0) {
		pair.policy = p;
		pair.ceiling = p;
		ask(&pair);
		ask_push(&pair);
		ask_lfs(&pair);
		ask_lists(&pair);
		policy_unref(p);
	}
	free(image);
	return 0;
}
