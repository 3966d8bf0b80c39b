/*
 * [credential NAME]: what it is bound to, to whom it is granted, and what
 * stands for it in a guest.
 */
#include "hostconf_support.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CREDENTIAL                                                             \
	"[credential c]\nvalue = file:/etc/x\nhost = npm.acme.example\n"       \
	"apply = bearer\ngrant = ci-*\n"

static void
a_credential_is_bound_and_granted(void **state)
{
	static const struct {
		const char *claim, *text, *want;
	} rows[] = {
		{ "no value", "host = a.example.org\n",
		    "h.ini:3: [credential c] needs `value" },
		{ "no host", "value = env:X\n",
		    "h.ini:3: [credential c] needs `host" },
		{ "no apply", "value = env:X\nhost = a.example.org\n",
		    "h.ini:3: [credential c] needs `apply" },
		{ "no grant",
		    "value = env:X\nhost = a.example.org\napply = raw\n",
		    "h.ini:3: [credential c] needs `grant" },
		{ "another kind", "kind = carrier-pigeon\n",
		    "h.ini:4: kind = carrier-pigeon: no kind of this version" },
		{ "the secret itself", "value = npm_s3cr3t\n",
		    "h.ini:4: value = npm_s3cr3t: say where" },
		{ "a helper", "value = exec:/bin/true\n",
		    "h.ini:4: value = exec:/bin/true: a helper program has" },
		{ "a relative file", "value = file:npm\n",
		    "h.ini:4: value = file:npm: file: is followed by" },
		{ "a variable that is none", "value = env:A B\n",
		    "h.ini:4: value = env:A B: env: is followed by" },
		{ "a systemd credential by path", "value = credential:a/b\n",
		    "h.ini:4: value = credential:a/b: credential: is" },
		{ "110: a wildcard host", "host = *.example.org\n",
		    "h.ini:4: host = *.example.org: a credential is for" },
		{ "103: port 80", "port = 80\n",
		    "h.ini:4: port = 80: port 80 is not encrypted" },
		{ "basic without a user", "apply = basic:\n",
		    "h.ini:4: apply = basic:: basic: is followed" },
		{ "a user with ':'", "apply = basic:a:b\n",
		    "h.ini:4: apply = basic:a:b: basic: is followed" },
		{ "a framing field", "apply = header:Content-Length\n",
		    "h.ini:4: apply = header:Content-Length: this field" },
		{ "the host field", "apply = header:Host\n",
		    "h.ini:4: apply = header:Host: this field" },
		{ "a field that is none", "apply = header:X Y\n",
		    "h.ini:4: apply = header:X Y: a header name is" },
		{ "a parameter without a name", "apply = query:\n",
		    "h.ini:4: apply = query:: query: is followed by" },
		{ "a parameter that is two", "apply = query:a&b\n",
		    "h.ini:4: apply = query:a&b: a parameter's name is" },
		{ "sigv4 of another kind than aws",
		    "value = env:X\nhost = a.example.org\napply = sigv4\n"
		    "grant = a\n",
		    "h.ini:3: [credential c]: `apply = sigv4` is for kind "
		    "aws" },
		{ "aws that is no key to sign with",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "apply = bearer\ngrant = a\n",
		    "h.ini:3: [credential c]: `apply = sigv4` is for kind "
		    "aws" },
		{ "aws without a region",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "service = s3\ngrant = a\n",
		    "h.ini:3: [credential c] needs `region" },
		{ "aws without a service",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "region = eu-west-1\ngrant = a\n",
		    "h.ini:3: [credential c] needs `service" },
		{ "aws without a key",
		    "kind = aws\nhost = a.example.org\nregion = a\n"
		    "service = s3\ngrant = a\n",
		    "h.ini:3: [credential c] needs `value" },
		{ "aws by a file and by a program",
		    "kind = aws\nvalue = env:X\ncommand = /bin/key\n"
		    "host = a.example.org\nregion = a\nservice = s3\n"
		    "grant = a\n",
		    "h.ini:3: [credential c] has both `value` and `command`" },
		{ "aws by a program that would assume a role",
		    "kind = aws\ncommand = /bin/key\nhost = a.example.org\n"
		    "region = a\nservice = s3\ngrant = a\n"
		    "role = arn:aws:iam::123456789012:role/a\n",
		    "h.ini:3: [credential c] has both `command` and `role`" },
		{ "aws by a kind for other programs", "protocol = aws\n",
		    "h.ini:4: protocol = aws: what says a key of AWS is" },
		{ "a region that is none", "region = eu/west\n",
		    "h.ini:4: region = eu/west: a name of letters" },
		{ "a role that is none", "role = agent\n",
		    "h.ini:4: role = agent: the ARN of a role" },
		{ "a key id that is none",
		    "kind = aws\nvalue = env:X\nhost = a.example.org\n"
		    "region = a\nservice = s3\ngrant = a\n"
		    "placeholder = placeholder-of-aws\n",
		    "h.ini:3: [credential c]: placeholder: of kind aws it is" },
		{ "a region of another kind",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\nregion = a\n",
		    "h.ini:8: region is no key of kind static" },
		{ "103: TRACE", "method = GET, TRACE\n",
		    "h.ini:4: method = TRACE: a credential never goes out" },
		{ "103: OPTIONS", "method = OPTIONS\n",
		    "h.ini:4: method = OPTIONS: a credential never goes out" },
		{ "a word", "apply = token\n",
		    "h.ini:4: apply = token: apply is" },
		{ "a framing field of answers",
		    "strip-response = Transfer-Encoding\n",
		    "h.ini:4: strip-response = Transfer-Encoding: this field" },
		{ "a field that says how to read a body",
		    "strip-response = content-encoding\n",
		    "h.ini:4: strip-response = content-encoding: without" },
		{ "a field of answers twice",
		    "strip-response = X-A\nstrip-response = x-a\n",
		    "h.ini:5: strip-response = x-a: this field is named" },
		{ "cookies half kept", "set-cookie = some\n",
		    "h.ini:4: set-cookie = some: set-cookie is" },
		{ "cookies kept and stripped",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\nset-cookie = keep\n"
		    "strip-response = Set-Cookie\n",
		    "h.ini:3: [credential c] keeps set-cookie and strips" },
		{ "a short placeholder", "placeholder = abc\n",
		    "h.ini:4: placeholder = abc: a placeholder of less" },
		{ "a method in lower case", "method = get\n",
		    "h.ini:4: method = get" },
		{ "a path that is none", "path = a\n", "h.ini:4: path = a" },
		{ "a path in two readings", "deny-path = /a/../b\n",
		    "h.ini:4: deny-path = /a/../b" },
		{ "a grant to nobody known", "grant = a root\n",
		    "h.ini:4: grant = a root: a grant is" },
		{ "a grant to an empty user", "grant = a user:\n",
		    "h.ini:4: grant = a user:: not a name" },
		{ "a grant to a name that is none", "grant = A_B\n",
		    "h.ini:4: grant = A_B: the name of a sandbox" },
		{ "neither yes nor no", "websocket = on\n",
		    "h.ini:4: websocket = on: websocket is `yes` or" },
		{ "a WebSocket by POST",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\nmethod = POST\nwebsocket = yes\n",
		    "h.ini:3: [credential c] says websocket = yes, but" },
		{ "a field of the handshake",
		    "apply = header:Sec-WebSocket-Key\n",
		    "h.ini:4: apply = header:Sec-WebSocket-Key: this field" },
		{ "one name twice",
		    "value = env:X\nhost = a.example.org\napply = raw\n"
		    "grant = a\n[credential c]\n",
		    "h.ini:8: a second [credential c] (first on line 3)" },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct hostconf *c = NULL;
		struct err err = { "" };
		int rc;

		(void)snprintf(text, sizeof(text),
		    NO_CEILING "[credential c]\n%s", rows[i].text);
		rc = hostconf_parse("h.ini", span_of(text), &c, &err);
		if (rc != -EINVAL ||
		    strncmp(err.text, rows[i].want, strlen(rows[i].want)) != 0)
			fail_msg("%s: rc %d \"%s\"", rows[i].claim, rc,
			    err.text);
	}
	hostconf_free(parse(NO_CEILING CREDENTIAL));
}

static const struct {
	const char *claim, *host, *prefix;
	size_t len; /* 0: any */
} shapes[] = {
	{ "of GitHub", "api.github.com", "ghp_", 40 },
	{ "of Anthropic", "api.anthropic.com", "sk-ant-api03-", 108 },
	{ "of OpenAI", "api.openai.com", "sk-proj-", 56 },
	{ "of GitLab", "gitlab.com", "glpat-", 26 },
	{ "of a host that only ends alike", "notgithub.com", "tapward-c-", 0 },
	{ "of nobody known", "api.acme.example", "tapward-c-", 34 },
};

static void
a_placeholder_has_the_shape_that_clients_look_for(void **state)
{
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct hostconf *c, *again;
		const char *p;

		(void)snprintf(text, sizeof(text),
		    NO_CEILING "[credential c]\nvalue = env:X\nhost = %s\n"
			       "apply = bearer\ngrant = a\n",
		    shapes[i].host);
		c = parse(text);
		again = parse(text);
		p = c->credentials[0].def->placeholder;
		if (strncmp(p, shapes[i].prefix, strlen(shapes[i].prefix)) !=
			0 ||
		    (shapes[i].len > 0 && strlen(p) != shapes[i].len))
			fail_msg("%s: %s", shapes[i].claim, p);
		assert_string_equal(p, again->credentials[0].def->placeholder);
		hostconf_free(c);
		hostconf_free(again);
	}
}

/* A key id of AWS, to sign with; another name has another. */
static void
a_key_of_aws_has_one_to_sign_with(void **state)
{
	static const char aws[] = NO_CEILING
	    "[credential c]\nkind = aws\nvalue = env:X\n"
	    "host = s3.example.org\nregion = eu-west-1, us-east-1\n"
	    "service = s3\ngrant = a\n"
	    "[credential d]\nkind = aws\nvalue = env:X\n"
	    "host = s3.example.org\nregion = eu-west-1\nservice = s3\n"
	    "apply = sigv4\ngrant = a\n";
	struct hostconf *c = parse(aws);
	const struct message_broker_credential *d = c->credentials[0].def;
	const char *p = d->placeholder;

	(void)state;
	assert_int_equal(d->apply, LEASE_APPLY_SIGV4);
	assert_int_equal(d->setting_count, 3);
	assert_int_equal(strncmp(p, "AKIA", 4), 0);
	assert_int_equal(strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), 20);
	assert_int_equal(strlen(p), 20);
	assert_string_not_equal(p, c->credentials[1].def->placeholder);
	hostconf_free(c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_credential_is_bound_and_granted),
		cmocka_unit_test(
		    a_placeholder_has_the_shape_that_clients_look_for),
		cmocka_unit_test(a_key_of_aws_has_one_to_sign_with),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
