/*
 * Redirects that a guest may follow: how a Location is read, what both files
 * must say, and that URL only, that long, with nothing along.
 */
#include "side_peer.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proxy/redirect.h"
#include "tests/unit/make_policy.h"

static void
a_location_is_read_in_one_way_or_not_at_all(void **state)
{
	static const struct {
		const char *location, *host, *path, *query; /* host NULL: no */
	} rows[] = {
		{ "https://a.blob.example.net/x/y?sig=a%2Fb&se=1",
		    "a.blob.example.net", "/x/y", "sig=a%2Fb&se=1" },
		{ "HTTPS://A.Blob.Example.NET:443/", "a.blob.example.net", "/",
		    NULL },
		{ "https://a.example.net/x?", "a.example.net", "/x", "" },
		{ "https://a.example.net./x", "a.example.net", "/x", NULL },
		{ "https://a.example.net/a%2fb", "a.example.net", "/a%2fb",
		    NULL },
		{ "https://a.example.net", NULL, NULL, NULL },
		{ "https://a.example.net?x", NULL, NULL, NULL },
		{ "http://a.example.net/", NULL, NULL, NULL },
		{ "https://a.example.net:8443/", NULL, NULL, NULL },
		{ "https://user@a.example.net/", NULL, NULL, NULL },
		{ "https://192.0.2.1/", NULL, NULL, NULL },
		{ "https://[2001:db8::1]/", NULL, NULL, NULL },
		/* hosts and ports that a client may read in another way */
		{ "https://a%2eexample.net/x", NULL, NULL, NULL },
		{ "https://b\xc3\xbc.example.net/x", NULL, NULL, NULL },
		{ "https://2130706433/x", NULL, NULL, NULL },
		{ "https://0x7f.1/x", NULL, NULL, NULL },
		{ "https://a.example.net:/x", NULL, NULL, NULL },
		{ "https://a.example.net:0443/x", NULL, NULL, NULL },
		{ "https://a.example.net:443:443/x", NULL, NULL, NULL },
		{ "https://a.example.net:65979/x", NULL, NULL, NULL },
		{ "https://a.example.net@b.example.net:443/x", NULL, NULL,
		    NULL },
		{ "https://a.example.net;b/x", NULL, NULL, NULL },
		{ "https:///a.example.net/", NULL, NULL, NULL },
		{ "https://a.example.net/x#y", NULL, NULL, NULL },
		{ "https://a.example.net\\@b.example.net/", NULL, NULL, NULL },
		{ "https://a.example.net/../x", NULL, NULL, NULL },
		{ "https://a.example.net/%2e%2e/x", NULL, NULL, NULL },
		{ "https://a.example.net//x", NULL, NULL, NULL },
		{ "https://a.example.net/ x", NULL, NULL, NULL },
		{ "https://a.example.net/\tx", NULL, NULL, NULL },
		{ " https://a.example.net/x", NULL, NULL, NULL },
		{ "//a.example.net/x", NULL, NULL, NULL },
		{ "/x", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct redirect_target t;
		bool is_read = redirect_read(span_of(rows[i].location), &t);

		if (is_read != (rows[i].host != NULL))
			fail_msg("\"%s\"", rows[i].location);
		if (!is_read)
			continue;
		assert_string_equal(t.authority.host, rows[i].host);
		assert_true(span_is(t.path, rows[i].path));
		assert_int_equal(t.has_query, rows[i].query != NULL);
		assert_true(!t.has_query || span_is(t.query, rows[i].query));
	}
}

/* --- what the files say --- */

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow api]\nhost = api.example.org\npath = /**\n"                    \
	"method = GET, HEAD, POST\n"                                           \
	"redirect = *.blob.example.net 60s, **.cdn.example.net 10s\n"          \
	"[allow plain]\nhost = plain.example.org\n"                            \
	"[deny bad]\nhost = bad.blob.example.net\n"                            \
	"[deny secret]\nhost = some.blob.example.net\npath = /secret\n"

static uint32_t
ask_grant(const struct policy_pair *pair, const char *from, const char *to)
{
	struct policy_request req = { .host = from,
		.port = 443,
		.method = span_of("GET"),
		.path = span_of("/"),
		.query = span_of("") };

	return policy_redirect_s(pair, &req, to);
}

static enum action
ask_use(const struct policy_pair *pair, const char *host, uint16_t port,
    const char *method, const char *path)
{
	struct policy_request req = { .host = host,
		.port = port,
		.method = span_of(method == NULL ? "" : method),
		.path = span_of(path),
		.query = span_of("") };

	return policy_judge_redirect(pair, host, port,
	    method == NULL ? NULL : &req)
	    .action;
}

static void
both_files_must_say_so(void **state)
{
	static const char *const ceilings[] = {
		"[allow all]\nhost = **.example.org, **.example.net\n",
		"[allow all]\nhost = **.example.org\n"
		"redirect = **.example.net 20s\n",
		"[allow all]\nhost = **.example.org\n"
		"redirect = **.example.net 20s\n"
		"[deny blobs]\nhost = x.blob.example.net\n",
	};
	struct policy *p = make_policy(POLICY);
	struct policy_pair alone = { p, NULL };

	(void)state;
	assert_int_equal(ask_grant(&alone, "api.example.org",
			     "x.blob.example.net"),
	    60);
	assert_int_equal(ask_grant(&alone, "api.example.org",
			     "x.y.cdn.example.net"),
	    10);
	assert_int_equal(ask_grant(&alone, "api.example.org",
			     "x.y.blob.example.net"),
	    0);
	assert_int_equal(ask_grant(&alone, "api.example.org",
			     "blob.example.net"),
	    0);
	assert_int_equal(ask_grant(&alone, "api.example.org",
			     "xblob.example.net"),
	    0);
	assert_int_equal(ask_grant(&alone, "plain.example.org",
			     "x.blob.example.net"),
	    0);
	assert_int_equal(ask_grant(&alone, "x.example.org",
			     "x.blob.example.net"),
	    0);
	for (size_t i = 0; i < 3; i++) {
		char text[512];
		struct policy *c;
		struct policy_pair pair;

		(void)snprintf(text, sizeof(text), POLICY_HEAD "%s",
		    ceilings[i]);
		c = make_ceiling(text);
		pair = (struct policy_pair){ p, c };
		assert_int_equal(ask_grant(&pair, "api.example.org",
				     "x.blob.example.net"),
		    i == 0 ? 0 : 20);
		assert_int_equal(ask_use(&pair, "x.blob.example.net", 443,
				     "GET", "/"),
		    i == 1 ? ACTION_ALLOW : ACTION_DENY);
		assert_int_equal(ask_use(&pair, "x.blob.example.net", 443, NULL,
				     "/"),
		    i == 1 ? ACTION_ALLOW : ACTION_DENY);
		policy_unref(c);
	}
	policy_unref(p);
}

static void
a_grant_opens_no_more_than_reading_on_443(void **state)
{
	static const struct {
		const char *claim, *host;
		uint16_t port;
		const char *method, *path; /* NULL: a dialler asks */
		enum action want;
	} rows[] = {
		{ "GET", "some.blob.example.net", 443, "GET", "/x",
		    ACTION_ALLOW },
		{ "HEAD", "some.blob.example.net", 443, "HEAD", "/x",
		    ACTION_ALLOW },
		{ "the connection", "some.blob.example.net", 443, NULL, "",
		    ACTION_ALLOW },
		{ "POST", "some.blob.example.net", 443, "POST", "/x",
		    ACTION_DENY },
		{ "another port", "some.blob.example.net", 8443, "GET", "/x",
		    ACTION_DENY },
		{ "another port, by a dialler", "some.blob.example.net", 22,
		    NULL, "", ACTION_DENY },
		{ "a host that no pattern names", "www.example.com", 443, NULL,
		    "", ACTION_DENY },
		{ "a host that is denied", "bad.blob.example.net", 443, "GET",
		    "/x", ACTION_DENY },
		{ "a host that is denied, by a dialler", "bad.blob.example.net",
		    443, NULL, "", ACTION_DENY },
		{ "a path that is denied", "some.blob.example.net", 443, "GET",
		    "/secret", ACTION_DENY },
	};
	struct policy *p = make_policy(POLICY);
	struct policy_pair pair = { p, NULL };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (ask_use(&pair, rows[i].host, rows[i].port, rows[i].method,
			rows[i].path) != rows[i].want)
			fail_msg("%s", rows[i].claim);
	policy_unref(p);
}

/* --- requests --- */

#define GO "https://some.blob.example.net/a/b?sig=1%2F2"

/* The guest asks the api, which answers with this Location; then it ends. */
static void
point(struct fix *f, const char *fields)
{
	struct peer *o;

	fix_open_tls(f, "api.example.org");
	o = fix_ask(f, "GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n");
	peer_say(o, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n");
	peer_say(o, fields);
	peer_say(o, "\r\n");
	fix_until(f, peer_has(&f->guest, "302"));
	fix_close(f);
	fix_forget_origins(f);
}

/* Does a request for it get through? What the origin was sent is in *ret. */
static bool
follows(struct fix *f, const char *request, char *ret, size_t size)
{
	bool is_through;

	f->record_count = 0;
	fix_open_tls(f, "some.blob.example.net");
	peer_say(&f->guest, request);
	fix_until(f, f->origin_count > 0 || f->record_count > 0);
	is_through = f->origin_count > 0;
	if (is_through) {
		struct peer *o = fix_origin(f, 0);

		fix_until(f, peer_has(o, "\r\n\r\n"));
		assert_true(o->in_len < size);
		memcpy(ret, o->in, o->in_len);
		ret[o->in_len] = '\0';
		assert_true(f->is_redirect_dialled);
		peer_say(o, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
		fix_until(f, peer_has(&f->guest, "ok"));
	} else {
		assert_true(peer_has(&f->guest, "no-rule") ||
		    (fix_settle(f), peer_has(&f->guest, "Tapward-Reason")));
	}
	fix_close(f);
	fix_forget_origins(f);
	return is_through;
}

#define ASK(method, target, more)                                              \
	method " " target " HTTP/1.1\r\nHost: some.blob.example.net\r\n" more  \
	       "\r\n"
#define EXACT ASK("GET", "/a/b?sig=1%2F2", "")

static void
the_url_is_followed_and_no_other(void **state)
{
	static const struct {
		const char *claim, *request;
		bool want;
	} rows[] = {
		{ "the URL", EXACT, true },
		{ "again", EXACT, true },
		{ "its head", ASK("HEAD", "/a/b?sig=1%2F2", ""), true },
		{ "another path", ASK("GET", "/a/c?sig=1%2F2", ""), false },
		{ "below it", ASK("GET", "/a/b/c?sig=1%2F2", ""), false },
		{ "without its query", ASK("GET", "/a/b", ""), false },
		{ "another spelling", ASK("GET", "/a/b?sig=1%2f2", ""), false },
		{ "more of a query", ASK("GET", "/a/b?sig=1%2F2&x", ""),
		    false },
		{ "another method", ASK("DELETE", "/a/b?sig=1%2F2", ""),
		    false },
		{ "a body",
		    ASK("GET", "/a/b?sig=1%2F2", "Content-Length: 1\r\n") "x",
		    false },
		{ "a method in a field",
		    ASK("GET", "/a/b?sig=1%2F2",
			"X-HTTP-Method-Override: PUT\r\n"),
		    false },
	};
	struct fix *f = fix_new(POLICY);
	char sent[2048];

	(void)state;
	assert_false(follows(f, EXACT, sent, sizeof(sent)));
	point(f, "Location: " GO "\r\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(rows[i].request, "HEAD", 4) != 0 &&
		    follows(f, rows[i].request, sent, sizeof(sent)) !=
			rows[i].want)
			fail_msg("%s: %s", rows[i].claim, fix_guest_text(f));
	fix_free(f);
}

static void
no_key_of_the_guest_goes_along(void **state)
{
	struct fix *f = fix_new(POLICY);
	char sent[2048];

	(void)state;
	point(f, "Location: " GO "\r\n");
	assert_true(follows(f,
	    ASK("GET", "/a/b?sig=1%2F2",
		"Authorization: Bearer x\r\nCookie: a=b\r\n"
		"Proxy-Authorization: Basic eA==\r\nAccept: */*\r\n"),
	    sent, sizeof(sent)));
	assert_null(strstr(sent, "Bearer"));
	assert_null(strstr(sent, "a=b"));
	assert_null(strstr(sent, "Basic"));
	assert_non_null(strstr(sent, "*/*"));
	assert_string_equal(fix_last(f)->rule, "api");
	fix_free(f);
}

static void
a_grant_ends(void **state)
{
	struct fix *f = fix_new(POLICY);
	char sent[2048];

	(void)state;
	point(f, "Location: " GO "\r\n");
	clock_test_set(clock_mono_ms(), clock_boot_ms() + 60001,
	    clock_wall_ms());
	assert_false(redirect_is_granted(&f->gate, "some.blob.example.net",
	    span_of("/a/b"), span_of("sig=1%2F2"), true));
	clock_test_release();
	assert_true(redirect_is_granted(&f->gate, "some.blob.example.net",
	    span_of("/a/b"), span_of("sig=1%2F2"), true));
	fix_set_policy(f, POLICY);
	assert_false(follows(f, EXACT, sent, sizeof(sent)));
	fix_free(f);
}

static void
what_grants_nothing(void **state)
{
	static const char *const fields[] = {
		"Location: " GO "\r\nLocation: https://x.blob.example.net/\r\n",
		"Location: " GO "#x\r\n",
		"Location: //some.blob.example.net/a/b?sig=1%2F2\r\n",
		"Content-Location: " GO "\r\n",
		"Refresh: 0; url=" GO "\r\n",
	};
	char sent[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct fix *f = fix_new(POLICY);

		point(f, fields[i]);
		assert_false(follows(f, EXACT, sent, sizeof(sent)));
		fix_free(f);
	}
}

static void
so_many_are_kept(void **state)
{
	struct fix *f = fix_new(POLICY);
	struct redirect_target t;
	char url[64];

	(void)state;
	for (int i = 0; i < 3 * REDIRECT_GRANTS; i++) {
		(void)snprintf(url, sizeof(url),
		    "https://a.blob.example.net/%d", i);
		assert_true(redirect_read(span_of(url), &t));
		redirect_grant(&f->gate, &t, 60);
	}
	for (int i = 0; i < 3 * REDIRECT_GRANTS; i++) {
		(void)snprintf(url, sizeof(url), "/%d", i);
		assert_int_equal(redirect_is_granted(&f->gate,
				     "a.blob.example.net", span_of(url),
				     span_of(""), false),
		    i >= 2 * REDIRECT_GRANTS);
	}
	fix_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_location_is_read_in_one_way_or_not_at_all),
		cmocka_unit_test(both_files_must_say_so),
		cmocka_unit_test(a_grant_opens_no_more_than_reading_on_443),
		cmocka_unit_test(the_url_is_followed_and_no_other),
		cmocka_unit_test(no_key_of_the_guest_goes_along),
		cmocka_unit_test(a_grant_ends),
		cmocka_unit_test(what_grants_nothing),
		cmocka_unit_test(so_many_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
