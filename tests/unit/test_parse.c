#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/compile_rows.h"

static void
a_file_is_whole_or_is_not_used(void **state)
{
	static const struct row rows[] = {
		{ "13: an empty file", "", "t.ini: the file is empty" },
		{ "13: blanks only", " \n\t\n", "t.ini: the file is empty" },
		{ "13: comments only", "; nothing\n",
		    "t.ini: no [policy] section" },
		{ "13: no [policy]", "[allow a]\nhost = a.example.org\n",
		    "t.ini: no [policy] section" },
		{ "no version", "[policy]\n[allow a]\nhost = a.example.org\n",
		    "t.ini:1: [policy] without a version" },
		{ "another version", "[policy]\nversion = 2\n",
		    "t.ini:2: version = 2: the only version is 1" },
		{ "two versions", "[policy]\nversion = 1\nversion = 1\n",
		    "t.ini:3: version is given twice (first on line 2)" },
		{ "two [policy]", POLICY_HEAD POLICY_HEAD,
		    "t.ini:3: a second [policy] (first on line 1)" },
		{ "[policy] with a name", "[policy x]\nversion = 1\n",
		    "t.ini:1: [policy] takes no name" },
		{ "[policy] may come last",
		    "[allow a]\nhost = a.example.org\n" POLICY_HEAD, NULL },
		{ "deny only is a policy", POLICY_HEAD, NULL },
		{ "187: a long line",
		    ALLOW
		    "; cccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
		    "ccccccccccccccccccccccccccchost = smuggled.example\n",
		    "t.ini:5: a line of more than 198 bytes" },
		{ "188: an unterminated heading", ALLOW "[deny b\n",
		    "t.ini:5: a section heading without its ']'" },
		{ "188: an indented line", ALLOW "\thost = b.example.org\n",
		    "t.ini:5: an indented line" },
		{ "188: ':' for '='", ALLOW "host: b.example.org\n",
		    "t.ini:5: this is not" },
		{ "188: a key in capitals is another key",
		    ALLOW "Host = b.example.org\n",
		    "t.ini:5: unknown key Host: did you mean host?" },
		{ "188: a section twice does not merge",
		    ALLOW "[allow a]\nhost = b.example.org\n",
		    "t.ini:5: a second rule named a (first at t.ini:3)" },
		{ "11: a name that is not ASCII",
		    POLICY_HEAD "[allow a]\nhost = g\xd1\x96thub.com\n",
		    "t.ini:4: a byte that is not ASCII" },
	};

	(void)state;
	TRY(rows);
}

static void
keys_and_sections_are_known_or_refused(void **state)
{
	static const struct row rows[] = {
		{ "a slip", ALLOW "methd = GET\n",
		    "t.ini:5: unknown key methd: did you mean method?" },
		{ "a key of nothing like it", ALLOW "zzzzzzzzzz = 1\n",
		    "t.ini:5: unknown key zzzzzzzzzz: remove it" },
		{ "a section by a slip", ALLOW "[alow b]\n",
		    "t.ini:5: unknown section [alow]: did you mean [allow]?" },
		{ "an unknown section", ALLOW "[zzzzzzzz]\n",
		    "t.ini:5: unknown section [zzzzzzzz]" },
		{ "a rule's key in [policy]",
		    "[policy]\nversion = 1\nhost = a.example.org\n",
		    "t.ini:3: host does not belong into [policy]" },
		{ "[policy]'s key in a rule", ALLOW "version = 1\n",
		    "t.ini:5: version does not belong into [allow]" },
		{ "a rule without a name", POLICY_HEAD "[allow]\n",
		    "t.ini:3: [allow NAME] needs a name" },
		{ "a rule of one name in two kinds",
		    ALLOW "[deny a]\nhost = b.example.org\n",
		    "t.ini:5: a second rule named a" },
		{ "a rule without a host", POLICY_HEAD "[allow a]\nport = 1\n",
		    "t.ini:3: [allow a] names no host" },
		{ "a single value twice",
		    ALLOW "tls = inspect\ntls = inspect\n",
		    "t.ini:6: tls is given twice (first on line 5)" },
		{ "[ask] of what is never looked into",
		    ALLOW "[ask b]\nhost = b.example.org\n"
			  "tls = passthrough\n",
		    "t.ini:7: [ask] holds requests" },
		{ "[ask] of raw connections",
		    ALLOW "[ask b]\nhost = b.example.org\nscheme = tcp\n"
			  "port = 5432\n",
		    "t.ini:7: [ask] holds requests" },
	};

	(void)state;
	TRY(rows);
}

static void
budgets_are_numbers_that_let_something_through(void **state)
{
	static const struct row rows[] = {
		{ "all of a rule",
		    ALLOW "max-requests = 5\nrate = 100/minute\n"
			  "max-upload = 10MB\nmax-download = 2GiB\n"
			  "max-connections = 4\nuntil = 2099-12-31T18:00Z\n",
		    NULL },
		{ "of the file as a whole",
		    "[policy]\nversion = 1\nmax-requests = 5\n"
		    "until = 2099-12-31T18:00:59Z\n"
		    "[allow a]\nhost = a.example.org\n",
		    NULL },
		{ "nothing at all", ALLOW "max-requests = 0\n",
		    "t.ini:5: max-requests = 0: 0 lets nothing through" },
		{ "no number", ALLOW "max-requests = many\n",
		    "t.ini:5: max-requests = many: a number" },
		{ "a sign", ALLOW "max-upload = -1\n",
		    "t.ini:5: max-upload = -1: bytes" },
		{ "a number that wraps",
		    ALLOW "max-upload = 18446744073709551617\n",
		    "t.ini:5: max-upload" },
		{ "a rate without its span", ALLOW "rate = 100\n",
		    "t.ini:5: rate = 100: write a rate as 100/minute" },
		{ "a rate of nothing", ALLOW "rate = 0/second\n",
		    "t.ini:5: rate = 0/second: a rate is 1 to 1000000" },
		{ "a span that there is not", ALLOW "rate = 1/week\n",
		    "t.ini:5: rate = 1/week: a rate is for each second" },
		{ "an end without a zone", ALLOW "until = 2099-12-31T18:00\n",
		    "t.ini:5: until = 2099-12-31T18:00: write the end in UTC" },
		{ "an end without a time", ALLOW "until = 2099-12-31\n",
		    "t.ini:5: until = 2099-12-31: write the end in UTC" },
		{ "a day that there is not",
		    ALLOW "until = 2099-02-29T18:00Z\n",
		    "t.ini:5: until = 2099-02-29T18:00Z: there is no such" },
		{ "a budget of a deny rule",
		    POLICY_HEAD "[deny a]\nhost = a.example.org\n"
				"max-requests = 5\n",
		    "t.ini:5: a deny rule lets nothing through" },
		{ "one twice", ALLOW "rate = 1/day\nrate = 2/day\n",
		    "t.ini:6: rate is given twice" },
	};
	struct compile_result *r;

	TRY(rows);
	(void)state;
	r = compile_text(ALLOW "until = 2020-01-01T00:00Z\n",
	    strlen(ALLOW "until = 2020-01-01T00:00Z\n"), false);
	assert_non_null(r->image);
	assert_true(has_finding(r, "t.ini:5: warning: this time has come"));
	drop(r);
}

static void
redirects_name_a_host_and_a_time(void **state)
{
	static const struct row rows[] = {
		{ "a wildcard, a name, a list",
		    ALLOW "redirect = *.blob.example.net 60s, "
			  "**.cdn.example.net 1h\n"
			  "redirect = files.example.net 5m\n",
		    NULL },
		{ "no time", ALLOW "redirect = files.example.net\n",
		    "t.ini:5: redirect = files.example.net: write a host" },
		{ "no unit", ALLOW "redirect = files.example.net 60\n",
		    "t.ini:5: redirect = files.example.net 60: a redirect is "
		    "followed for 1s" },
		{ "too long", ALLOW "redirect = files.example.net 2h\n",
		    "t.ini:5: redirect = files.example.net 2h: a redirect" },
		{ "nothing", ALLOW "redirect = files.example.net 0s\n",
		    "t.ini:5: redirect = files.example.net 0s: a redirect" },
		{ "a public suffix", ALLOW "redirect = *.com 60s\n",
		    "t.ini:5: redirect = *.com 60s:" },
		{ "an address", ALLOW "redirect = 192.0.2.1 60s\n",
		    "t.ini:5: redirect = 192.0.2.1 60s:" },
		{ "where nothing inside is seen",
		    ALLOW "tls = passthrough\nredirect = b.example.org 60s\n",
		    "t.ini:6: redirect on a passthrough host" },
		{ "of a deny rule",
		    POLICY_HEAD "[deny a]\nhost = a.example.org\n"
				"redirect = b.example.org 60s\n",
		    "t.ini:5: a deny rule has no answer" },
	};

	(void)state;
	TRY(rows);
}

static void
so_many_rules_have_a_budget_and_no_more(void **state)
{
	char text[8192];
	struct wr w = wr_init(text, sizeof(text));

	(void)state;
	wr_text(&w, "[policy]\nversion = 1\nmax-requests = 1\n");
	for (int i = 0; i < 64; i++) {
		struct compile_result *r;

		wr_fmt(&w,
		    "[allow r%d]\nhost = h%d.example.org\n"
		    "max-requests = 1\n",
		    i, i);
		assert_true(wr_ok(&w));
		r = compile_text(text, w.len, false);
		assert_int_equal(r->error_count, i < 63 ? 0 : 1);
		assert_true(i < 63 ||
		    has_finding(r,
			"t.ini:195: max-requests = 1: more than 64"));
		drop(r);
	}
}

static void
hosts_are_names_and_nothing_else(void **state)
{
	static const struct row rows[] = {
		{ "2: capitals", HOST("API.GitHub.com"), NULL },
		{ "1: a final dot", HOST("api.github.com."), NULL },
		{ "1: two final dots", HOST("api.github.com.."),
		    "t.ini:4: host = api.github.com..: " },
		{ "3: brackets", HOST("[a.example.org]"),
		    "t.ini:4: host = [a.example.org]: an IP address" },
		{ "5: a zone", HOST("*.1.2.3.4%x.org"), "t.ini:4: host" },
		{ "8: a star alone", HOST("*"), "t.ini:4: host = *: a star" },
		{ "8: two stars alone", HOST("**"), "t.ini:4: host = **: a" },
		{ "8: a top-level domain", HOST("*.com"),
		    "t.ini:4: host = *.com: a wildcard on a public suffix" },
		{ "8: ... any depth", HOST("**.com"),
		    "t.ini:4: host = **.com: a wildcard on a public suffix" },
		{ "8: a public suffix", HOST("*.co.uk"),
		    "t.ini:4: host = *.co.uk: a wildcard on a public" },
		{ "8: a private suffix", HOST("*.github.io"),
		    "t.ini:4: host = *.github.io: a wildcard on a public" },
		{ "8: above suffixes", HOST("*.compute.amazonaws.com"),
		    "t.ini:4: host = *.compute.amazonaws.com: a wildcard" },
		{ "8: within a label", HOST("f*.x.com"),
		    "t.ini:4: host = f*.x.com: a star stands in front" },
		{ "8: in the middle", HOST("a.*.com"),
		    "t.ini:4: host = a.*.com: a star stands in front" },
		{ "8: three stars", HOST("***.x.com"),
		    "t.ini:4: host = ***.x.com: a star stands in front" },
		{ "8: a star twice", HOST("*.*.x.com"),
		    "t.ini:4: host = *.*.x.com: a star stands in front" },
		{ "8: a registrable domain", HOST("*.npm.example"), NULL },
		{ "9: a port", HOST("a.example.org:443"),
		    "t.ini:4: host = a.example.org:443: no port here" },
		{ "9: a port within", HOST("evil.com:443.allowed.com"),
		    "t.ini:4: host" },
		{ "9: an address without brackets", HOST("::1:443"),
		    "t.ini:4: host" },
		{ "a URL", HOST("https://a.example.org/"),
		    "t.ini:4: host = https://a.example.org/: this is a URL" },
		{ "12: a percent triplet", HOST("%65vil.example.org"),
		    "t.ini:4: host" },
		{ "16: a leading hyphen", HOST("-x.example.org"),
		    "t.ini:4: host" },
		{ "16: a blank", HOST("a b.example.org"), "t.ini:4: host" },
		{ "16: an underscore", HOST("a_b.example.org"),
		    "t.ini:4: host" },
		{ "16: an empty label", HOST("a..example.org"),
		    "t.ini:4: host" },
		{ "16: 64 bytes in a label",
		    HOST("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			 "aaaaaaaaaaaa.example.org"),
		    "t.ini:4: host" },
		{ "18: 127.1", HOST("127.1"), "t.ini:4: host = 127.1: an IP" },
		{ "18: one number", HOST("2130706433"), "t.ini:4: host" },
		{ "18: hexadecimal", HOST("0x7f.0.0.1"), "t.ini:4: host" },
		{ "18: octal", HOST("0177.0.0.1"), "t.ini:4: host" },
		{ "18: a final dot", HOST("127.0.0.1."), "t.ini:4: host" },
		{ "18: zero", HOST("0"), "t.ini:4: host" },
		{ "17: an address", HOST("1.2.3.4"),
		    "t.ini:4: host = 1.2.3.4: an IP address is no host" },
		{ "an address with a star", HOST("*.1.2.3"), "t.ini:4: host" },
		{ "a single label", HOST("metadata"),
		    "t.ini:4: host = metadata: a single label" },
		{ "34: localhost", HOST("localhost"),
		    "t.ini:4: host = localhost: localhost never" },
		{ "34: below it", HOST("foo.localhost"), "t.ini:4: host" },
		{ "a comma list", HOST("a.example.org, b.example.org"), NULL },
		{ "an empty item", HOST("a.example.org,, b.example.org"),
		    "t.ini:4: host = : an empty item" },
		{ "a comma at the end", HOST("a.example.org,"),
		    "t.ini:4: host = : an empty item" },
	};

	(void)state;
	TRY(rows);
}

static void
values_have_one_form(void **state)
{
	static const struct row rows[] = {
		{ "ports", ALLOW "port = 443, 8443\n", NULL },
		{ "ports on lines", ALLOW "port = 443\nport = 8443\n", NULL },
		{ "port 0", ALLOW "port = 0\n", "t.ini:5: port = 0: a port" },
		{ "9: port 007", ALLOW "port = 007\n", "t.ini:5: port = 007" },
		{ "9: port -12", ALLOW "port = -12\n", "t.ini:5: port = -12" },
		{ "9: port +443", ALLOW "port = +443\n", "t.ini:5: port" },
		{ "9: port 65536", ALLOW "port = 65536\n", "t.ini:5: port" },
		{ "9: port by name", ALLOW "port = https\n", "t.ini:5: port" },
		{ "a range", ALLOW "port = 8000-8010\n", "t.ini:5: port" },
		{ "a port twice", ALLOW "port = 443, 443\n",
		    "t.ini:5: port = 443: this port is named twice" },
		{ "a method in lower case", ALLOW "method = get\n",
		    "t.ini:5: method = get: a method is written in capitals" },
		{ "a star for a method", ALLOW "method = *\n",
		    "t.ini:5: method = *" },
		{ "a long method",
		    ALLOW "method = AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n",
		    "t.ini:5: method" },
		{ "a path", ALLOW "path = /a/*/b, /c/**\n", NULL },
		{ "a path without '/'", ALLOW "path = a\n",
		    "t.ini:5: path = a: a path starts with '/'" },
		{ "a comma within a path", ALLOW "path = /a,b\n",
		    "t.ini:5: path = b: a path starts with '/'" },
		{ "dot segments", ALLOW "path = /a/../b\n",
		    "t.ini:5: path = /a/../b: " },
		{ "an empty segment", ALLOW "path = //a\n",
		    "t.ini:5: path = //a: " },
		{ "three stars", ALLOW "path = /***\n",
		    "t.ini:5: path = /***: " },
		{ "a query in a path", ALLOW "path = /a?b\n",
		    "t.ini:5: path = /a?b: " },
		{ "an encoded letter", ALLOW "path = /%61\n",
		    "t.ini:5: path = /%61: " },
		{ "a query", ALLOW "query = a=b&c=*\n", NULL },
		{ "a query with '?'", ALLOW "query = ?a\n",
		    "t.ini:5: query = ?a: write the query without its '?'" },
		{ "a query with a blank", ALLOW "query = a b\n",
		    "t.ini:5: query" },
		{ "a credential", ALLOW "credential = npm-acme\n", NULL },
		{ "a credential that is none", ALLOW "credential = a/b\n",
		    "t.ini:5: credential = a/b: not a name" },
		{ "tls", ALLOW "tls = off\n", "t.ini:5: tls = off" },
		{ "scheme", ALLOW "scheme = ftp\n", "t.ini:5: scheme = ftp" },
		{ "encoded-slash", ALLOW "path = /**\nencoded-slash = on\n",
		    "t.ini:6: encoded-slash = on" },
		{ "encoded-slash without a path", ALLOW "encoded-slash = yes\n",
		    "t.ini:5: encoded-slash without a path" },
		{ "websocket", ALLOW "websocket = yes\n", NULL },
		{ "websocket where GET is among the methods",
		    ALLOW "method = POST, GET\nwebsocket = yes\n", NULL },
		{ "websocket, neither yes nor no", ALLOW "websocket = on\n",
		    "t.ini:5: websocket = on: write `yes` or `no`" },
		{ "121: a WebSocket without GET",
		    ALLOW "method = POST, HEAD\nwebsocket = yes\n",
		    "t.ini:6: a WebSocket begins with GET" },
		{ "121: a WebSocket that is not seen",
		    ALLOW "tls = passthrough\nwebsocket = yes\n",
		    "t.ini:6: websocket on a passthrough host" },
		{ "121: ... nor over tcp",
		    ALLOW "scheme = tcp\nport = 22\nwebsocket = yes\n",
		    "t.ini:7: websocket on a tcp host" },
		{ "121: a WebSocket that a rule denies alone",
		    POLICY_HEAD "[deny a]\nhost = a.example.org\n"
				"websocket = yes\n",
		    "t.ini:5: a deny rule denies a WebSocket with all" },
		{ "say", ALLOW "say = ask the platform team, please\n", NULL },
		{ "a long say",
		    ALLOW "say = 0123456789012345678901234567890123456789012345"
			  "67890123456789012345678901234567890123456789012345"
			  "6789012345678901234567890\n",
		    "t.ini:5: say" },
	};

	(void)state;
	TRY(rows);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_whole_or_is_not_used),
		cmocka_unit_test(keys_and_sections_are_known_or_refused),
		cmocka_unit_test(hosts_are_names_and_nothing_else),
		cmocka_unit_test(values_have_one_form),
		cmocka_unit_test(
		    budgets_are_numbers_that_let_something_through),
		cmocka_unit_test(redirects_name_a_host_and_a_time),
		cmocka_unit_test(so_many_rules_have_a_budget_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
