/*
 * Keys of AWS in the broker: how they are read, what a gate gets of one, and
 * the session of a role.
 */
#include "tests/unit/mint_support.h"

#include <cmocka.h>

#include "base/message_helper.h"
#include "credential-broker/aws_key.h"
#include "credential-broker/sandbox.h"
#include "credential-broker/token.h"
#include "wire/sigv4.h"

#define ID "AKIAIOSFODNN7EXAMPLE"
#define AWS_SECRET "canary/+secret+of+40+characters/00000000"
#define AWS_TOKEN "FwoGZXIvYXdzEBYaD/a+b=="
#define NOW UINT64_C(1796005499000) /* 2026-11-30T01:04:59Z, roughly */

static const struct {
	const char *claim, *file, *want; /* NULL: it is refused */
} files[] = {
	{ "a profile",
	    "[default]\naws_access_key_id = " ID
	    "\naws_secret_access_key = " AWS_SECRET "\n",
	    ID " " AWS_SECRET },
	{ "without a heading, without blanks, with CR",
	    "aws_access_key_id=" ID "\r\naws_secret_access_key=" AWS_SECRET
	    "\r\n",
	    ID " " AWS_SECRET },
	{ "with a session, in another order",
	    "aws_session_token = " AWS_TOKEN "\n# a comment\n\n"
	    "aws_secret_access_key = " AWS_SECRET "\naws_access_key_id = " ID,
	    ID " " AWS_SECRET " " AWS_TOKEN },
	{ "a line", ID " " AWS_SECRET, ID " " AWS_SECRET },
	{ "a line with a session", ID " " AWS_SECRET " " AWS_TOKEN "\n",
	    ID " " AWS_SECRET " " AWS_TOKEN },
	{ "nothing", "", NULL },
	{ "a key without its secret", "aws_access_key_id = " ID "\n", NULL },
	{ "two profiles",
	    "[a]\naws_access_key_id = " ID
	    "\n[b]\naws_secret_access_key = " AWS_SECRET,
	    NULL },
	{ "another key of the file",
	    "aws_access_key_id = " ID "\nrole_arn = x\n", NULL },
	{ "a key twice",
	    "aws_access_key_id = " ID "\naws_access_key_id = " ID "\n"
	    "aws_secret_access_key = " AWS_SECRET,
	    NULL },
	{ "a secret with a blank",
	    "aws_access_key_id = " ID
	    "\naws_secret_access_key = canary of 3 words\n",
	    NULL },
	{ "an id that is none",
	    "aws_access_key_id = AKIA\naws_secret_access_key = " AWS_SECRET,
	    NULL },
	{ "a blank at the end of a line", ID " " AWS_SECRET " ",
	    ID " " AWS_SECRET },
	{ "a secret that is too short", ID " short", NULL },
};

static void
reads_what_awss_own_programs_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		AUTO_SECRET struct secret s = SECRET_NONE;
		const char *fault = aws_key_read(span_of(files[i].file), &s);

		if (files[i].want == NULL
			? fault == NULL || strstr(fault, "canary") != NULL
			: fault != NULL ||
			    !secret_equals(&s, span_of(files[i].want)))
			fail_msg("%s: %s", files[i].claim,
			    fault == NULL ? "taken" : fault);
	}
}

/* The key of the day, as AWS makes it, and nothing to come back by. */
static void
a_gate_gets_what_signs_today(void **state)
{
	AUTO_SECRET struct secret s = SECRET_NONE;
	struct sigv4_scope scope = { "20261130", "eu-west-1", "s3" };
	char want[512], hex[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES];
	struct aws_key k;

	(void)state;
	assert_true(
	    aws_key_split(span_of(ID " " AWS_SECRET " " AWS_TOKEN), &k));
	assert_int_equal(sigv4_derive(span_of(AWS_SECRET), &scope, key), 0);
	digest_hex(key, hex);
	(void)snprintf(want, sizeof(want), "%s 20261130 eu-west-1 s3 %s %s", ID,
	    hex, AWS_TOKEN);
	assert_int_equal(aws_key_derive(&k, "eu-west-1", "s3",
			     UINT64_C(1796003099000), &s),
	    0);
	if (!secret_equals(&s, span_of(want)))
		fail_msg("%.*s", (int)s.len, (const char *)s.ptr);
	assert_null(memmem(s.ptr, s.len, "canary", 6));
	assert_int_equal(aws_key_derive(&k, "eu/west", "s3", NOW, &s), -EINVAL);
	assert_int_equal(aws_key_derive(&k, "eu-west-1", "", NOW, &s), -EINVAL);
	assert_int_equal(aws_key_day_left_ms(UINT64_C(1796003099000)),
	    86400000 - 1796003099000 % 86400000);
}

/* --- asked for by a gate --- */

static struct message_broker_credential *
aws(void)
{
	static struct message_broker_credential m;

	bind_to_host(&m, "free", "free.acme.example");
	m.kind = BROKER_KIND_AWS;
	m.apply = LEASE_APPLY_SIGV4;
	set(&m, "region", "eu-west-1", false);
	set(&m, "region", "us-east-1", false);
	set(&m, "service", "s3", false);
	return &m;
}

static const struct {
	const char *claim, *region, *service;
	enum reason want;
	const char *detail;
} asked[] = {
	{ "what is named", "us-east-1", "s3", REASON_NONE, "" },
	{ "another region", "us-east-2", "s3", REASON_CREDENTIAL_MISUSE,
	    "region" },
	{ "another service", "us-east-1", "iam", REASON_CREDENTIAL_MISUSE,
	    "service" },
	{ "what is not signed", "", "", REASON_CREDENTIAL_MISUSE,
	    "not-signed" },
};

static void
a_gate_is_lent_what_the_host_names(void **state)
{
	struct world *w = world_new();

	(void)state;
	begin_with(w, aws(), ID " " AWS_SECRET "\n");
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		const struct answer *a;
		uint64_t left = aws_key_day_left_ms(clock_wall_ms());

		w->asks_region = asked[i].region;
		w->asks_service = asked[i].service;
		a = ask_free(w);
		if (a->reason != asked[i].want ||
		    strcmp(a->detail, asked[i].detail) != 0)
			fail_msg("%s: %d %s", asked[i].claim, (int)a->reason,
			    a->detail);
		if (a->reason != REASON_NONE)
			continue;
		assert_int_equal(strncmp(a->value, ID " 2", 22), 0);
		assert_non_null(strstr(a->value, " us-east-1 s3 "));
		assert_null(strstr(a->value, "canary"));
		assert_true(a->expires_boot_ms <= clock_boot_ms() + left);
	}
	world_free(w);
}

/* --- the session of a role --- */

#define XML                                                                    \
	"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n"                        \
	"Connection: close\r\n\r\n"
#define SESSION(id, secret, token, end)                                        \
	XML "<AssumeRoleResponse><AssumeRoleResult><AssumedRoleUser>"          \
	    "<Arn>arn</Arn></AssumedRoleUser><Credentials>"                    \
	    "<AccessKeyId>" id "</AccessKeyId><SecretAccessKey>" secret        \
	    "</SecretAccessKey><SessionToken>" token "</SessionToken>"         \
	    "<Expiration>" end "</Expiration></Credentials>"                   \
	    "</AssumeRoleResult></AssumeRoleResponse>"
#define SESSION_ID "ASIAIOSFODNN7SESSION"
#define LATER "2099-01-01T00:00:00Z"

static struct message_broker_credential *
role(const struct issuer *i)
{
	struct message_broker_credential *m = aws();

	set_url(m, "sts-url", i, "/");
	set(m, "cleartext", "yes", false);
	set(m, "role", "arn:aws:iam::123456789012:role/agent", false);
	set(m, "external-id", "e&x", false);
	set(m, "duration", "1800", false);
	return m;
}

static struct world *
world_of(struct issuer *i, const char *const *script)
{
	struct world *w = world_at(i, script);

	begin_with(w, role(i), ID " " AWS_SECRET "\n");
	w->asks_region = "us-east-1";
	w->asks_service = "s3";
	return w;
}

/* What the issuer was asked is signed with the key of the file. */
static void
was_signed(const char *request)
{
	static uint8_t canonical[4096];
	struct wr w = wr_init(canonical, sizeof(canonical));
	const char *end = strstr(request, "\r\n\r\n") + 4;
	char payload[DIGEST_HEX_SIZE], signature[DIGEST_HEX_SIZE];
	uint8_t key[DIGEST_BYTES], digest[DIGEST_BYTES];
	struct http_request req;
	struct sigv4 s;
	static char head[4096];
	const char *host = strstr(request, "Host: 127.0.0.1:");
	struct wr h = wr_init(head, sizeof(head));

	/* Ours names no address; the host itself is what is signed. */
	assert_non_null(host);
	wr_bytes(&h, request, (size_t)(host - request));
	wr_text(&h, "Host: sts.example");
	host += strlen("Host: ");
	wr_bytes(&h, strstr(host, "\r\n"),
	    (size_t)(end - strstr(host, "\r\n")));
	assert_int_equal(http_request_parse((struct span){ (uint8_t *)head,
						h.len },
			     &req),
	    HTTP_OK);
	assert_int_equal(sigv4_parse(&req, &s), SIGV4_OK);
	assert_string_equal(s.key_id, ID);
	assert_string_equal(s.scope.service, "sts");
	assert_int_equal(digest_sha256(end, strlen(end), digest), 0);
	digest_hex(digest, payload);
	for (size_t i = 0; i < req.fields.count; i++)
		if (span_is_case(req.fields.at[i].name, "host"))
			req.fields.at[i].value =
			    (struct span){ (const uint8_t *)host,
				    strcspn(host, "\r") };
	assert_int_equal(sigv4_canonical(&w,
			     &(struct sigv4_subject){ .service = "sts",
				 .method = req.method,
				 .path = req.path,
				 .fields = &req.fields,
				 .host = "",
				 .names = s.names,
				 .payload = span_of(payload) }),
	    SIGV4_OK);
	assert_int_equal(sigv4_derive(span_of(AWS_SECRET), &s.scope, key), 0);
	assert_int_equal(sigv4_sign(key, &s.scope, s.time,
			     (struct span){ canonical, w.len }, signature),
	    0);
	assert_string_equal(signature, s.signature);
}

static void
a_session_is_asked_for_by_its_sandboxs_name(void **state)
{
	static const char *const script[] = {
		SESSION(SESSION_ID, "canary/the/session/of/its/own", AWS_TOKEN,
		    LATER),
		NULL
	};
	static struct issuer issuer;
	struct world *w = world_of(&issuer, script);
	const struct answer *a = ask_free(w);

	(void)state;
	assert_int_equal(a->reason, REASON_NONE);
	assert_int_equal(strncmp(a->value, SESSION_ID " 2", 22), 0);
	assert_non_null(strstr(a->value, " " AWS_TOKEN));
	assert_null(strstr(a->value, "canary"));
	assert_non_null(strstr(issuer.last,
	    "\r\n\r\nAction=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3A"
	    "iam%3A%3A123456789012%3Arole%2Fagent&RoleSessionName=tapward-ci-"
	    "one&DurationSeconds=1800&ExternalId=e%26x"));
	was_signed(issuer.last);
	/* Another place is signed for by the same session. */
	w->asks_region = "eu-west-1";
	a = ask_free(w);
	assert_non_null(strstr(a->value, " eu-west-1 s3 "));
	assert_int_equal(issuer.count, 1);
	world_end(w, &issuer);
}

static const struct {
	const char *claim, *answer, *detail;
} bad[] = {
	{ "it has ended",
	    SESSION(SESSION_ID, AWS_SECRET, AWS_TOKEN, "2020-01-01T00:00:00Z"),
	    "issuer-sent-expired" },
	{ "no token", SESSION(SESSION_ID, AWS_SECRET, "", LATER),
	    "issuer-bad-answer" },
	{ "no time", SESSION(SESSION_ID, AWS_SECRET, AWS_TOKEN, "later"),
	    "issuer-bad-answer" },
	{ "an id that is none", SESSION("AKIA", AWS_SECRET, AWS_TOKEN, LATER),
	    "issuer-bad-answer" },
	{ "markup in a token", SESSION(SESSION_ID, AWS_SECRET, "a<b/>c", LATER),
	    "issuer-bad-answer" },
	{ "no session", XML "<AssumeRoleResponse/>", "issuer-bad-answer" },
	{ "a refusal",
	    "HTTP/1.1 403 Forbidden\r\nContent-Type: text/xml\r\n"
	    "Connection: close\r\n\r\n<Error/>",
	    "issuer-refused" },
};

static void
what_sts_does_not_give_is_not_lent(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *const script[] = { bad[i].answer, NULL };
		static struct issuer issuer;
		struct world *w = world_of(&issuer, script);
		const struct answer *a = ask_free(w);

		if (a->reason != REASON_CREDENTIAL_UNAVAILABLE ||
		    strcmp(a->detail, bad[i].detail) != 0)
			fail_msg("%s: %d %s", bad[i].claim, (int)a->reason,
			    a->detail);
		world_end(w, &issuer);
	}
}

/* --- what a program says --- */

static const char *output;
static uint8_t status;
static unsigned int runs;

static int
run(struct chan *c, struct chan_msg *msg, void *arg)
{
	const struct message_helper_ran ran = { HELPER_RAN, status };
	struct message_helper_run m;
	uint8_t buf[16];
	struct wr w = wr_init(buf, sizeof(buf));

	(void)arg;
	assert_int_equal(message_helper_run_decode(&msg->body, &m), 0);
	runs++;
	/* Nothing is told. */
	assert_int_equal(read(msg->fds[HELPER_FD_STDIN], buf, 1), 0);
	assert_int_equal(write(msg->fds[HELPER_FD_STDOUT], output,
			     strlen(output)),
	    (ssize_t)strlen(output));
	message_helper_ran_encode(&w, &ran);
	assert_int_equal(chan_send(c, MSG_BROKER_RAN, msg->id, &w, NULL, 0), 0);
	return 0;
}

static struct world *
process_world(const char *said)
{
	struct world *w = world_new();
	struct message_broker_credential *m = aws();

	w->run = run;
	runs = 0;
	status = 0;
	output = said;
	m->source[0] = '\0';
	set(m, "command", "/usr/bin/sso-key", false);
	send_definition_from(w, m, -1);
	send_configured(w, 1);
	assert_true(w->done.ok);
	attach(w, "ci-one");
	w->asks_region = "us-east-1";
	w->asks_service = "s3";
	return w;
}

#define SAID(version, id, rest)                                                \
	"{\"Version\":" version ",\"AccessKeyId\":\"" id                       \
	"\",\"SecretAccessKey\":\"" AWS_SECRET "\"" rest "}\n"
#define SESSION_SAID ",\"SessionToken\":\"" AWS_TOKEN "\""
#define END_SAID(end) ",\"Expiration\":\"" end "\""

static const struct {
	const char *claim, *said, *token; /* token NULL: it fails */
	const char *detail;
} said[] = {
	{ "a session",
	    SAID("1", SESSION_ID,
		SESSION_SAID END_SAID("2099-01-01T00:00:00+00:00")),
	    " " AWS_TOKEN, "" },
	{ "a key without an end, and a field of no matter",
	    SAID("1", SESSION_ID, ",\"AccountId\":\"1\""), "", "" },
	{ "a token that is null",
	    SAID("1", SESSION_ID, ",\"SessionToken\":null"), "", "" },
	{ "another version", SAID("2", SESSION_ID, SESSION_SAID), NULL,
	    "issuer-bad-answer" },
	{ "a version in quotes", SAID("\"1\"", SESSION_ID, SESSION_SAID), NULL,
	    "issuer-bad-answer" },
	{ "a session that has ended",
	    SAID("1", SESSION_ID,
		SESSION_SAID END_SAID("2020-01-01T00:00:00Z")),
	    NULL, "issuer-sent-expired" },
	{ "an end that is none",
	    SAID("1", SESSION_ID, SESSION_SAID END_SAID("soon")), NULL,
	    "issuer-bad-answer" },
	{ "an end that is null", SAID("1", SESSION_ID, ",\"Expiration\":null"),
	    NULL, "issuer-bad-answer" },
	{ "an id that is none", SAID("1", "AKIA", ""), NULL,
	    "issuer-bad-answer" },
	{ "a token that is a number",
	    SAID("1", SESSION_ID, ",\"SessionToken\":7"), NULL,
	    "issuer-bad-answer" },
	{ "an id twice", SAID("1", SESSION_ID, ",\"AccessKeyId\":\"" ID "\""),
	    NULL, "issuer-bad-answer" },
	{ "no secret", "{\"Version\":1,\"AccessKeyId\":\"" ID "\"}", NULL,
	    "issuer-bad-answer" },
	{ "nothing", "", NULL, "issuer-bad-answer" },
};

static void
a_program_says_the_key_as_awss_own_ask_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		struct world *w = process_world(said[i].said);
		const struct answer *a = ask_free(w);
		const char *value = strstr(a->value, " us-east-1 s3 ");

		if (said[i].token == NULL
			? strcmp(a->detail, said[i].detail) != 0
			: value == NULL ||
			    strcmp(value + 14 + DIGEST_HEX_SIZE - 1,
				said[i].token) != 0 ||
			    strncmp(a->value, SESSION_ID " ", 21) != 0)
			fail_msg("%s: \"%s\" %s", said[i].claim, a->value,
			    a->detail);
		assert_null(strstr(a->value, "canary"));
		world_free(w);
	}
}

static void
a_program_is_asked_once_for_all_places(void **state)
{
	struct world *w = process_world(SAID("1", SESSION_ID, SESSION_SAID));

	(void)state;
	assert_int_equal(ask_free(w)->reason, REASON_NONE);
	w->asks_region = "eu-west-1";
	assert_int_equal(ask_free(w)->reason, REASON_NONE);
	assert_int_equal(runs, 1);
	world_free(w);
	w = process_world(SAID("1", SESSION_ID, ""));
	status = 255;
	assert_string_equal(ask_free(w)->detail, "issuer-refused");
	world_free(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_awss_own_programs_read),
		cmocka_unit_test(a_gate_gets_what_signs_today),
		cmocka_unit_test(a_gate_is_lent_what_the_host_names),
		cmocka_unit_test(a_session_is_asked_for_by_its_sandboxs_name),
		cmocka_unit_test(what_sts_does_not_give_is_not_lent),
		cmocka_unit_test(a_program_says_the_key_as_awss_own_ask_it),
		cmocka_unit_test(a_program_is_asked_once_for_all_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
