/*
 * Any text as a policy: what compiles maps, is asked without leaving its
 * bounds, names a rule and a line for each verdict, and is never wider with a
 * ceiling than without: not at all with an empty one.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conf/compile.h"
#include "conf/lint.h"
#include "conf/policy.h"
#include "conf/presets.h"
#include "wire/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char ceiling_text[] = "[policy]\nversion = 1\n";

static void
must(bool claim)
{
	if (!claim)
		abort();
}

/* It says where, and where its words begin. */
static void
check_finding(const struct finding *f)
{
	must(strncmp(f->text, "fuzz.ini", 8) == 0 ||
	    strncmp(f->text, "preset:", 7) == 0);
	must(f->message > 0 && f->message < strlen(f->text));
	must(f->code == NULL || f->level == FINDING_WARNING);
}

static struct policy *
compile(struct span text, bool is_ceiling, struct compile_result *r)
{
	struct compile_input in = { .display_name = "fuzz.ini",
		.text = text,
		.is_ceiling = is_ceiling,
		.preset = presets_find };
	struct policy *p = NULL;
	int rc;

	/* it reads all presets, each time */
	if (text.len % 16 == 0)
		in.review = lint_review;
	rc = compile_policy(&in, r);

	must((rc == 0) == (r->image != NULL));
	must((rc == -EINVAL) == (r->error_count > 0));
	for (size_t i = 0; i < r->finding_count; i++)
		check_finding(&r->findings[i]);
	if (rc == 0)
		must(policy_map_bytes(r->image, r->image_len, &p) == 0);
	return p;
}

static void
check_verdict(const struct verdict *v)
{
	must(v->rule != NULL && v->file != NULL && v->say != NULL &&
	    v->credential != NULL);
	must(strlen(v->rule) < RULE_NAME_SIZE && v->rule[0] != '\0');
	must((v->action == ACTION_DENY) == (v->reason != REASON_NONE));
	must(v->line > 0 || v->reason == REASON_NO_POLICY);
	must(v->action != ACTION_DENY || v->credential[0] == '\0');
}

static struct verdict
ask(const struct policy_pair *pair, const char *host, uint16_t port,
    const char *path)
{
	struct path_reading reading = path_read(span_of(path));
	struct policy_request req = { .host = host,
		.port = port,
		.scheme = port == 80 ? SCHEME_HTTP : SCHEME_HTTPS,
		.method = span_of("GET"),
		.path = span_of(path),
		.query = span_of("service=git-upload-pack&x=%31"),
		.has_query = true,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };
	struct verdict v = policy_judge_request(pair, &req);

	check_verdict(&v);
	return v;
}

/* What a push may do is never more than asking for it. */
static void
ask_push(const struct policy_pair *pair, const char *host)
{
	struct policy_request req = { .host = host,
		.port = 443,
		.method = span_of("POST"),
		.path = span_of("/acme/tool/git-receive-pack") };
	struct verdict whole = policy_judge_request(pair, &req);

	for (int op = 0; op < GIT_OPERATIONS; op++) {
		struct policy_command cmd = { .operation =
						  (enum git_operation)op,
			.ref = span_of("refs/heads/agent/x") };
		struct verdict v = policy_judge_push(pair, &req, &cmd);

		check_verdict(&v);
		must(v.action <= whole.action);
		must(!whole.reads_push || op != GIT_OPERATION_NONE ||
		    v.action == ACTION_DENY);
	}
}

static void
ask_all(struct policy *p, const struct policy *empty)
{
	static const char *const hosts[] = { "a.example.org", "x.a.example.org",
		"example.org", "api.github.com", "x.npmjs.org" };
	static const char *const paths[] = { "/", "/a/b", "/a%2fb", "/a/../b" };
	static const uint16_t ports[] = { 443, 80, 8443 };
	struct policy_pair alone = { p, NULL }, both = { p, empty };
	struct policy_pair same = { p, p };

	for (size_t i = 0; i < 5; i++)
		ask_push(&same, hosts[i]);
	for (size_t i = 0; i < 5 * 4 * 3; i++) {
		const char *host = hosts[i % 5], *path = paths[i / 5 % 4];
		uint16_t port = ports[i / 20];
		struct verdict v = ask(&alone, host, port, path);

		must(ask(&both, host, port, path).action == ACTION_DENY);
		must(ask(&same, host, port, path).action == v.action);
		must(v.action == ACTION_DENY ||
		    policy_judge_connect(&alone, host, port).action !=
			ACTION_DENY);
		must(v.credential[0] == '\0' ||
		    policy_has_credential_at(&alone, host, port));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct compile_result result, ceiling_result;
	struct policy *p = compile((struct span){ data, size }, false, &result);
	struct policy *empty =
	    compile(span_of(ceiling_text), true, &ceiling_result);

	if (p != NULL)
		ask_all(p, empty);
	policy_unref(p);
	policy_unref(empty);
	compile_result_done(&result);
	compile_result_done(&ceiling_result);
	return 0;
}
