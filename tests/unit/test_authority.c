#include "wire_rows.h"

#include <string.h>

#include "wire/authority.h"

struct row {
	const char *claim;
	struct span in;
	enum authority_status want;
	enum authority_status want_connect;
	const char *host;
	uint16_t port; /* 0: none */
};

/* The same outcome with and without a port asked for. */
#define BOTH(s) (s), (s)

static const struct row rows[] = {
	{ "a host alone", BYTES("a.example"), AUTHORITY_OK, AUTHORITY_NO_PORT,
	    "a.example", 0 },
	{ "a host and a port", BYTES("A.Example:8443"), BOTH(AUTHORITY_OK),
	    "a.example", 8443 },
	{ "row 1: a final dot before the port", BYTES("a.example.:443"),
	    BOTH(AUTHORITY_OK), "a.example", 443 },
	{ "row 3: brackets round a name", BYTES("[evil.example]:443"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: double brackets", BYTES("[[evil.example]]:443"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: brackets round a name with a dot",
	    BYTES("[example.net.]:1337"), BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: brackets round IPv4", BYTES("[127.0.0.1]:80"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: a bracket that does not close", BYTES("[::1"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: a bracket that does not open", BYTES("::1]:443"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: a name before the bracket", BYTES("a.example[::1]:443"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 3: an empty bracket", BYTES("[]:443"), BOTH(AUTHORITY_BRACKET),
	    NULL, 0 },
	{ "row 4: a NUL", BYTES("google.com\0.evil.example:443"),
	    BOTH(AUTHORITY_HOST), NULL, 0 },
	{ "row 5: a zone id in brackets", BYTES("[::1%25.example.com]:80"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 9: a port inside the name", BYTES("evil.com:443.allowed.com"),
	    BOTH(AUTHORITY_PORT), NULL, 0 },
	{ "row 9: junk behind a bracket", BYTES("[::1]junk"),
	    BOTH(AUTHORITY_BRACKET), NULL, 0 },
	{ "row 9: IPv6 without brackets", BYTES("::1:443"),
	    BOTH(AUTHORITY_HOST), NULL, 0 },
	{ "row 9: a leading zero", BYTES("a.example:007"), BOTH(AUTHORITY_PORT),
	    NULL, 0 },
	{ "row 9: a minus", BYTES("a.example:-12"), BOTH(AUTHORITY_PORT), NULL,
	    0 },
	{ "row 9: a plus", BYTES("a.example:+443"), BOTH(AUTHORITY_PORT), NULL,
	    0 },
	{ "row 9: port 0", BYTES("a.example:0"), BOTH(AUTHORITY_PORT), NULL,
	    0 },
	{ "row 9: port 65535", BYTES("a.example:65535"), BOTH(AUTHORITY_OK),
	    "a.example", 65535 },
	{ "row 9: port 65536", BYTES("a.example:65536"), BOTH(AUTHORITY_PORT),
	    NULL, 0 },
	{ "row 9: a port that wraps 64 bits",
	    BYTES("a.example:18446744073709552059"), BOTH(AUTHORITY_PORT), NULL,
	    0 },
	{ "row 9: a name for a port", BYTES("a.example:https"),
	    BOTH(AUTHORITY_PORT), NULL, 0 },
	{ "row 9: an empty port", BYTES("a.example:"), BOTH(AUTHORITY_PORT),
	    NULL, 0 },
	{ "row 17: IPv4", BYTES("1.2.3.4"), AUTHORITY_ADDRESS,
	    AUTHORITY_NO_PORT, NULL, 0 },
	{ "row 17: IPv4 and a port", BYTES("1.2.3.4:443"),
	    BOTH(AUTHORITY_ADDRESS), NULL, 0 },
	{ "row 17: IPv6 and a port", BYTES("[2606:4700::1111]:443"),
	    BOTH(AUTHORITY_ADDRESS), NULL, 0 },
	{ "row 17: IPv6 without a port", BYTES("[2606:4700::1111]"),
	    AUTHORITY_ADDRESS, AUTHORITY_NO_PORT, NULL, 0 },
	{ "row 17: IPv6 and a bad port", BYTES("[::1]:0"), BOTH(AUTHORITY_PORT),
	    NULL, 0 },
	{ "row 18: an odd address is malformed", BYTES("127.1:443"),
	    BOTH(AUTHORITY_HOST), NULL, 0 },
	{ "row 34: localhost parses, and says so", BYTES("localhost:443"),
	    BOTH(AUTHORITY_OK), "localhost", 443 },
	{ "row 64: userinfo", BYTES("allowed.com@evil.com"),
	    BOTH(AUTHORITY_USERINFO), NULL, 0 },
	{ "row 64: userinfo that looks like a port",
	    BYTES("allowed.com:443@evil.com:443"), BOTH(AUTHORITY_USERINFO),
	    NULL, 0 },
	{ "row 64: a backslash", BYTES("evil.com\\.allowed.com"),
	    BOTH(AUTHORITY_HOST), NULL, 0 },
	{ "row 64: a path", BYTES("allowed.com/evil"), BOTH(AUTHORITY_HOST),
	    NULL, 0 },
	{ "row 67: CONNECT with a slash", BYTES("/"), BOTH(AUTHORITY_HOST),
	    NULL, 0 },
	{ "row 67: CONNECT with a scheme", BYTES("http://h.example:80"),
	    BOTH(AUTHORITY_HOST), NULL, 0 },
	{ "empty", BYTES(""), BOTH(AUTHORITY_EMPTY), NULL, 0 },
	{ "a port alone", BYTES(":443"), BOTH(AUTHORITY_EMPTY), NULL, 0 },
	{ "a comma list", BYTES("a.example, b.example"), BOTH(AUTHORITY_HOST),
	    NULL, 0 },
};

static void
check(const struct row *r, enum authority_status got,
    enum authority_status want, const struct authority *a)
{
	row_equal(r->claim, got, want);
	assert_true(strlen(authority_status_text(got)) > 0);
	if (got != AUTHORITY_OK) {
		row_equal(r->claim, (uint64_t)a->host[0], 'u');
		return;
	}
	row_span(r->claim, span_of(a->host), r->host);
	row_equal(r->claim, a->has_port, r->port != 0);
	row_equal(r->claim, a->port, r->port);
	assert_true(host_is_written(a->host_status));
}

static void
gives_each_authority_its_outcome(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct authority a = { .host = "untouched" };
		struct authority b = { .host = "untouched" };

		check(&rows[i], authority_parse(rows[i].in, &a), rows[i].want,
		    &a);
		check(&rows[i], authority_parse_connect(rows[i].in, &b),
		    rows[i].want_connect, &b);
	}
}

static const struct {
	const char *claim;
	struct span a, b;
	uint16_t default_port;
	bool want;
} pairs[] = {
	{ "case and a final dot do not count", BYTES("A.example."),
	    BYTES("a.EXAMPLE"), 443, true },
	{ "a default port does not count", BYTES("a.example:443"),
	    BYTES("a.example"), 443, true },
	{ "another default does", BYTES("a.example:443"), BYTES("a.example"),
	    80, false },
	{ "another port does", BYTES("a.example:8443"), BYTES("a.example:443"),
	    443, false },
	{ "another host does", BYTES("a.example"), BYTES("b.example"), 443,
	    false },
};

static void
compares_host_and_port(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(pairs); i++) {
		struct authority a, b;

		row_equal(pairs[i].claim, authority_parse(pairs[i].a, &a),
		    AUTHORITY_OK);
		row_equal(pairs[i].claim, authority_parse(pairs[i].b, &b),
		    AUTHORITY_OK);
		row_equal(pairs[i].claim,
		    authority_same(&a, &b, pairs[i].default_port),
		    pairs[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_each_authority_its_outcome),
		cmocka_unit_test(compares_host_and_port),
	};

	return cmocka_run_group_tests_name("authority", tests, NULL, NULL);
}
