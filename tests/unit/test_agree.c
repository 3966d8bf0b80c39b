#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/compile_rows.h"

static void
a_rule_does_not_contradict_itself(void **state)
{
	static const struct row rows[] = {
		{ "method on passthrough",
		    ALLOW "tls = passthrough\nmethod = GET\n",
		    "t.ini:6: method on a passthrough host" },
		{ "path on passthrough", ALLOW "path = /a\ntls = passthrough\n",
		    "t.ini:5: path on a passthrough host" },
		{ "query on passthrough",
		    ALLOW "query = a\ntls = passthrough\n",
		    "t.ini:5: query on a passthrough host" },
		{ "credential on passthrough",
		    ALLOW "credential = c\ntls = passthrough\n",
		    "t.ini:5: credential on a passthrough host" },
		{ "method on tcp",
		    ALLOW "scheme = tcp\nport = 22\nmethod = GET\n",
		    "t.ini:7: method on a tcp host" },
		{ "passthrough and http",
		    ALLOW "scheme = http\ntls = passthrough\n",
		    "t.ini:6: passthrough is for https" },
		{ "tcp without a port", ALLOW "scheme = tcp\n",
		    "t.ini:3: scheme = tcp needs a port" },
		{ "tcp on a wildcard",
		    HOST("*.example.org") "scheme = tcp\nport = 22\n",
		    "t.ini:4: a wildcard host with scheme = tcp" },
		{ "tcp on 443", ALLOW "scheme = tcp\nport = 443\n",
		    "t.ini:6: port 443 speaks TLS" },
		{ "https on 80", ALLOW "port = 80\n",
		    "t.ini:5: port 80 speaks HTTP" },
		{ "http on 443", ALLOW "scheme = http\nport = 80, 443\n",
		    "t.ini:6: port 443 speaks TLS" },
		{ "http on 8080", ALLOW "scheme = http\nport = 80, 8080\n",
		    NULL },
		{ "110: a credential on a wildcard",
		    HOST("*.example.org") "credential = c\n",
		    "t.ini:4: a credential on a wildcard host" },
		{ "103: a credential over http",
		    ALLOW "scheme = http\ncredential = c\n",
		    "t.ini:6: a credential over scheme = http" },
		{ "a deny rule with a credential",
		    POLICY_HEAD "[deny a]\nhost = a.example.org\n"
				"credential = c\n",
		    "t.ini:5: a deny rule sends nothing" },
		{ "a deny rule with tls",
		    POLICY_HEAD "[deny a]\nhost = a.example.org\n"
				"tls = passthrough\n",
		    "t.ini:5: a deny rule denies whatever" },
	};

	(void)state;
	TRY(rows);
}

static void
rules_agree_where_they_meet(void **state)
{
	static const struct row rows[] = {
		{ "tls of one host",
		    ALLOW "[allow b]\nhost = a.example.org\n"
			  "tls = passthrough\n",
		    "t.ini:5: [allow b] and [allow a] (t.ini:3) both cover "
		    "a.example.org port 443, but differ in scheme or tls" },
		{ "tls of a name and *. above it",
		    ALLOW "[allow b]\nhost = *.example.org\n"
			  "tls = passthrough\n",
		    "t.ini:5: [allow b] and [allow a] (t.ini:3) both cover" },
		{ "tls of a name and **. above it",
		    HOST("a.b.example.org") "[allow b]\nhost = "
					    "**.example.org\n"
					    "tls = passthrough\n",
		    "t.ini:5: [allow b] and [allow a] (t.ini:3) both cover" },
		{ "tls of *. and **. of one name",
		    HOST("*.example.org") "[allow b]\nhost = **.example.org\n"
					  "tls = passthrough\n",
		    "t.ini:5: [allow b] and [allow a] (t.ini:3) both cover" },
		{ "tls of **. above *.",
		    HOST("*.b.example.org") "[allow b]\nhost = "
					    "**.example.org\n"
					    "tls = passthrough\n",
		    "t.ini:5: [allow b] and [allow a] (t.ini:3) both cover" },
		{ "tls of **. above **.",
		    HOST("**.b.example.org") "[allow b]\nhost = "
					     "**.example.org\n"
					     "tls = passthrough\n",
		    "t.ini:5: [allow b] and [allow a] (t.ini:3) both cover" },
		{ "*. and a name two below do not meet",
		    HOST("a.b.example.org") "[allow b]\nhost = *.example.org\n"
					    "tls = passthrough\n",
		    NULL },
		{ "*. and *. below do not meet",
		    HOST("*.b.example.org") "[allow b]\nhost = *.example.org\n"
					    "tls = passthrough\n",
		    NULL },
		{ "a name and *. of itself do not meet",
		    HOST("example.org") "[allow b]\nhost = *.example.org\n"
					"tls = passthrough\n",
		    NULL },
		{ "other ports do not meet",
		    ALLOW "[allow b]\nhost = a.example.org\nport = 8443\n"
			  "tls = passthrough\n",
		    NULL },
		{ "scheme of one port",
		    ALLOW "port = 8080\n[allow b]\nhost = a.example.org\n"
			  "port = 8080\nscheme = http\n",
		    "t.ini:6: [allow b] and [allow a] (t.ini:3) both cover "
		    "a.example.org port 8080, but differ in scheme" },
		{ "two credentials for one request",
		    ALLOW "credential = c\n[allow b]\nhost = a.example.org\n"
			  "credential = d\n",
		    "t.ini:6: [allow b] and [allow a] (t.ini:3) both cover "
		    "a.example.org port 443, and can match one request" },
		{ "one credential and none",
		    ALLOW "credential = c\n[allow b]\nhost = a.example.org\n",
		    NULL },
		{ "credentials parted by method",
		    ALLOW "credential = c\nmethod = GET\n[allow b]\n"
			  "host = a.example.org\ncredential = d\n"
			  "method = PUT\n",
		    NULL },
		{ "credentials parted by path",
		    ALLOW "credential = c\npath = /a/**\n[allow b]\n"
			  "host = a.example.org\ncredential = d\n"
			  "path = /b/**, /c\n",
		    NULL },
		{ "credentials not parted by path",
		    ALLOW "credential = c\npath = /a/**\n[allow b]\n"
			  "host = a.example.org\ncredential = d\n"
			  "path = /*/x\n",
		    "t.ini:7: [allow b] and [allow a]" },
		{ "a deny rule by path on passthrough",
		    ALLOW "tls = passthrough\n[deny b]\nhost = *.example.org\n"
			  "path = /x\n",
		    "t.ini:6: [deny b] and [allow a] (t.ini:3) both cover "
		    "a.example.org port 443, where nothing inside is seen" },
		{ "a whole deny rule on passthrough",
		    ALLOW "tls = passthrough\n[deny b]\n"
			  "host = *.example.org\n",
		    NULL },
	};

	(void)state;
	TRY(rows);
}

/* Patterns made to be slow to compare end in an error, not in hours. */
static void
patterns_made_to_be_slow_are_given_up(void **state)
{
	char *text = malloc(400000);
	size_t len = (size_t)sprintf(text, POLICY_HEAD);
	struct compile_result *r;

	(void)state;
	for (int rule = 0; rule < 8; rule++) {
		len += (size_t)sprintf(text + len,
		    "[allow r%d]\nhost = a.example.org\ncredential = c%d\n",
		    rule, rule);
		for (int i = 0; i < 256 && len < 250000; i++) {
			len += (size_t)sprintf(text + len, "path = /");
			for (int k = 0; k < 55; k++)
				len += (size_t)sprintf(text + len, "**a");
			len += (size_t)sprintf(text + len, "%d%d\n", rule, i);
		}
	}
	r = compile_text(text, len, false);
	assert_true(has_finding(r, "t.ini: too many rules with patterns"));
	drop(r);
	free(text);
}

static void
too_many_rules_on_one_host_are_refused(void **state)
{
	char *text = malloc(200000);
	size_t len = (size_t)sprintf(text, POLICY_HEAD);
	struct compile_result *r;

	(void)state;
	for (int i = 0; i < 513; i++)
		len += (size_t)sprintf(text + len,
		    "[allow r%d]\nhost = a.example.org\npath = /%d\n", i, i);
	r = compile_text(text, len, false);
	assert_true(has_finding(r,
	    "t.ini: 513 rules name the host a.example.org, at most 512"));
	drop(r);
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_does_not_contradict_itself),
		cmocka_unit_test(rules_agree_where_they_meet),
		cmocka_unit_test(patterns_made_to_be_slow_are_given_up),
		cmocka_unit_test(too_many_rules_on_one_host_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
