/* A change that lets more through widens; what it says is in words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "conf/change.h"
#include "conf/presets.h"
#include "tests/unit/make_policy.h"

static uint8_t text[65536];

static struct change_report
compare(const char *old, const char *new)
{
	struct compile_input was = { .display_name = "old.ini",
		.text = span_of(old),
		.preset = presets_find };
	struct compile_input is = { .display_name = "new.ini",
		.text = span_of(new),
		.preset = presets_find };
	struct wr w = wr_init(text, sizeof(text) - 1);
	struct change_report r;

	assert_int_equal(change_write(&was, &is, &w, NULL, &r), 0);
	text[w.len] = '\0';
	return r;
}

#define A "[allow a]\nhost = a.example.org\n"
#define GET "method = GET\n"
#define W "[git w]\nrepo = git.example.org/acme/w\n"

static void
a_change_is_said_in_words(void **state)
{
	static const struct {
		const char *claim, *old, *new;
		size_t opens, closes;
		const char *want; /* a line of it */
	} rows[] = {
		{ "none", A, A, 0, 0, "" },
		{ "comments and order",
		    A GET "[allow b]\nhost = b.example.org\n",
		    "; x\n[allow b]\nhost = b.example.org\n" A GET, 0, 0, "" },
		{ "a rule more", A, A "[allow b]\nhost = b.example.org\n", 1, 0,
		    "opens  every method of https://b.example.org, every path"
		    "  [allow b] new.ini:5\n" },
		{ "a rule less", A "[allow b]\nhost = b.example.org\n", A, 0, 1,
		    "closes every method of https://b.example.org, every path"
		    "  [allow b] old.ini:5\n" },
		{ "a method more", A GET, A "method = GET, PUT\n", 1, 0,
		    "opens  PUT of https://a.example.org, every path  [allow "
		    "a] new.ini:3\n" },
		{ "a method now named", A, A GET, 0, 1,
		    "closes every method of https://a.example.org" },
		{ "a redirect", A, A "redirect = *.example.net 60s\n", 1, 0,
		    "opens  every method of https://a.example.org, every path,"
		    " redirects too  [allow a] new.ini:3\n" },
		{ "a redirect for longer", A "redirect = *.example.net 60s\n",
		    A "redirect = *.example.net 61s\n", 1, 0, "opens " },
		{ "a redirect to less", A "redirect = **.example.net 60s\n",
		    A "redirect = a.example.net 59s\n", 0, 1, "closes " },
		{ "a path that is wider", A "path = /a/*\n", A "path = /a/**\n",
		    1, 0,
		    "opens  every method of https://a.example.org/a/**  " },
		{ "a path within another", A "path = /a/**, /b\n",
		    A "path = /a/b/*, /b\n", 0, 1, "closes every method" },
		{ "a rule cut in two", A "method = GET, PUT\n",
		    A GET "[allow b]\nhost = a.example.org\nmethod = PUT\n", 0,
		    0, "" },
		{ "a wildcard for a name", A GET,
		    "[allow a]\nhost = *.example.org\n" GET, 1, 0,
		    "opens  GET of https://*.example.org, every path" },
		{ "a port", A, A "port = 443, 8443\n", 1, 0,
		    "opens  every method of https://a.example.org:8443" },
		{ "plain HTTP beside", A,
		    A "[allow b]\nhost = a.example.org\nscheme = http\n", 1, 0,
		    "opens  every method of http://a.example.org, every" },
		{ "passthrough", A, A "tls = passthrough\n", 1, 0,
		    "opens  TLS to a.example.org, never looked into  " },
		{ "inspection", A "tls = passthrough\n", A, 0, 1,
		    "closes TLS to a.example.org" },
		{ "a deny rule less",
		    A "[deny d]\nhost = a.example.org\nmethod = PUT\n", A, 1, 0,
		    "opens  PUT of a.example.org, every path, which was held "
		    "back  [deny d] old.ini:5\n" },
		{ "a deny rule more", A, A "[deny d]\nhost = *.example.org\n",
		    0, 1,
		    "closes every method of *.example.org, every path, which "
		    "is held back now  [deny d] new.ini:5\n" },
		{ "a deny rule that held nothing back",
		    A "[deny d]\nhost = d.example.org\n", A, 0, 0, "" },
		{ "an allow rule under a deny rule",
		    "[deny d]\nhost = a.example.org\n",
		    "[deny d]\nhost = a.example.org\n" A, 0, 0, "" },
		{ "a question in its place", A GET,
		    "[ask a]\nhost = a.example.org\n" GET, 0, 2,
		    "closes GET of https://a.example.org, every path, which "
		    "somebody is asked about now  [ask a] new.ini:3\n" },
		{ "nobody asks any more", "[ask a]\nhost = a.example.org\n" GET,
		    A GET, 2, 0,
		    "which somebody was asked about  [ask a] old.ini:3\n" },
		{ "a question where nothing was let through", A GET,
		    A GET "[ask b]\nhost = b.example.org\n", 1, 0,
		    "if somebody answers  [ask b] new.ini:6\n" },
		{ "a question beside a rule", A GET,
		    A GET "[ask b]\nhost = a.example.org\n", 1, 1, "" },
		{ "a credential", A GET, A GET "credential = c\n", 1, 0,
		    ", every path, with credential c  [allow a] new.ini:3" },
		{ "a WebSocket", A, A "websocket = yes\n", 1, 0,
		    ", WebSockets too  " },
		{ "a preset", A, "preset = opam-read\n" A, 1, 0,
		    "opens  GET, HEAD of https://opam.ocaml.org/**  [allow "
		    "opam-read] preset:opam-read:6\n" },
		{ "what the preset gave",
		    "[allow x]\nhost = opam.ocaml.org\nmethod = GET, HEAD\n"
		    "path = /**\n" A,
		    "preset = opam-read\n" A, 0, 0, "" },
		{ "a reference", W "push = refs/heads/a/*\n",
		    W "push = refs/heads/a/*, refs/tags/*\n", 1, 0,
		    "opens  pushes to refs/tags/* of "
		    "git.example.org/acme/w  [git w] new.ini:3\n" },
		{ "deleting", W "push = refs/heads/*\n",
		    W "push = refs/heads/*\ndelete = yes\n", 1, 0,
		    ", deleting too" },
		{ "LFS", W, W "lfs = yes\n", 1, 0,
		    "opens  fetches of git.example.org/acme/w, with LFS  "
		    "[git w] new.ini:3\n" },
		{ "... of pushes, too", W "push = refs/heads/*\n",
		    W "push = refs/heads/*\nlfs = yes\n", 2, 0,
		    "opens  pushes to refs/heads/* of git.example.org/acme/w, "
		    "with LFS" },
		{ "where its objects are", W "lfs = yes\n",
		    W "lfs = yes\nlfs-host = *.example.net, b.example.com\n", 1,
		    0,
		    ", with LFS, at *.example.net and b.example.com  [git w]" },
		{ "fewer places of them",
		    W "lfs = yes\nlfs-host = *.example.net\n",
		    W "lfs = yes\nlfs-host = x.example.net\n", 0, 1,
		    "closes fetches of git.example.org/acme/w, with LFS, at "
		    "*.example.net" },
		{ "a smaller push", W "push = refs/heads/*\n",
		    W "push = refs/heads/*\nmax-push = 1MB\n", 0, 1,
		    "closes pushes to refs/heads/*" },
		{ "a larger budget", A "max-requests = 10\n",
		    A "max-requests = 20\n", 1, 0,
		    "opens  more in all of what a budget limits or ends  "
		    "[allow a] old.ini:3\n" },
		{ "a smaller one", A "max-requests = 20\nrate = 10/minute\n",
		    A "max-requests = 10\nrate = 9/minute\n", 0, 1,
		    "closes some of what a budget now limits or ends  "
		    "[allow a] new.ini:3\n" },
		{ "one that is gone", A "max-upload = 1MB\n", A, 1, 0,
		    "opens  more in all" },
		{ "one that is gone with its rule",
		    A "[allow b]\nhost = b.example.org\nmax-upload = 1MB\n", A,
		    0, 1, "closes every method of https://b.example.org" },
		{ "one that held another rule back",
		    A "[allow b]\nhost = *.example.org\nmax-upload = 1MB\n", A,
		    1, 1, "[allow b] old.ini:5" },
		{ "one that is now two",
		    "[allow a]\nhost = a.example.org, b.example.org\n"
		    "max-requests = 10\n",
		    A "max-requests = 10\n"
		      "[allow b]\nhost = b.example.org\nmax-requests = 10\n",
		    1, 0, "opens  more in all" },
		{ "two that are now one",
		    A "max-requests = 10\n"
		      "[allow b]\nhost = b.example.org\nmax-requests = 10\n",
		    "[allow a]\nhost = a.example.org, b.example.org\n"
		    "max-requests = 10\n",
		    0, 1, "closes some of what a budget" },
		{ "a later end", A "until = 2099-01-01T00:00Z\n",
		    A "until = 2099-01-02T00:00Z\n", 1, 0, "[allow a] old" },
		{ "a rate over a longer time", A "rate = 10/minute\n",
		    A "rate = 10/hour\n", 0, 1, "closes some" },
		{ "a rate over a shorter time", A "rate = 10/hour\n",
		    A "rate = 10/minute\n", 1, 0, "opens  more in all" },
		{ "pushes that a [git] rule kept back",
		    W "[allow g]\nhost = git.example.org\n",
		    "[allow g]\nhost = git.example.org\n", 1, 1,
		    ": another rule may take pushes now  [git w]" },
	};
	static char old[1024], new[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct change_report r;

		(void)snprintf(old, sizeof(old), POLICY_HEAD "%s", rows[i].old);
		(void)snprintf(new, sizeof(new), POLICY_HEAD "%s", rows[i].new);
		r = compare(old, new);
		if (r.opens != rows[i].opens || r.closes != rows[i].closes ||
		    strstr((char *)text, rows[i].want) == NULL ||
		    change_widens(&r) != (r.opens > 0))
			fail_msg("%s: %zu opened, %zu closed:\n%s",
			    rows[i].claim, r.opens, r.closes, (char *)text);
	}
}

static void
a_budget_of_all_is_one_of_policy(void **state)
{
	static const char less[] = POLICY_HEAD "max-requests = 10\n" A;
	static const char more[] = POLICY_HEAD A;
	struct change_report r = compare(less, more);

	(void)state;
	assert_true(r.opens == 1 && r.closes == 0);
	assert_non_null(strstr((char *)text, "ends  [policy] old.ini:1\n"));
	r = compare(more, less);
	assert_true(r.opens == 0 && r.closes == 1);
	r = compare(less, less);
	assert_true(r.opens == 0 && r.closes == 0);
}

/* --- property ------------------------------------------------------------ */

static uint32_t
next_random(uint64_t *seed)
{
	/* Knuth's MMIX constants; the wrap is spelled out */
	uint64_t product;

	(void)__builtin_mul_overflow(*seed, 6364136223846793005ULL, &product);
	(void)__builtin_add_overflow(product, 1442695040888963407ULL, seed);
	return (uint32_t)(*seed >> 33);
}

static const char *
pick(uint64_t *seed, const char *const *words, size_t n)
{
	return words[next_random(seed) % n];
}
#define PICK(seed, words) pick(seed, words, sizeof(words) / sizeof(words[0]))

static size_t
random_rule(uint64_t *seed, unsigned int i, char *buf, size_t size)
{
	static const char *const kinds[] = { "allow", "allow", "allow", "deny",
		"ask" };
	static const char *const hosts[] = { "a.x.org", "b.x.org", "*.x.org",
		"**.x.org", "c.b.x.org", "a.x.org, c.b.x.org" };
	static const char *const methods[] = { "", "method = GET\n",
		"method = GET, POST\n", "method = POST\n" };
	static const char *const paths[] = { "", "path = /a/**\n",
		"path = /a/*\n", "path = /a/b\npath = /c\n", "path = /**\n",
		"path = /a/**\nencoded-slash = yes\n" };
	static const char *const ports[] = { "", "", "port = 443, 8443\n",
		"port = 8443\n" };
	static const char *const queries[] = { "", "", "query = q=*\n",
		"query = q=a\n" };
	static const char *const repos[] = { "a.x.org/a/b", "b.x.org/**",
		"a.x.org/a/*", "c.b.x.org:8443/a/b" };
	static const char *const refs[] = { "", "push = refs/heads/*\n",
		"push = refs/heads/x\ndelete = yes\n", "lfs = yes\n",
		"push = refs/heads/*\nlfs = yes\n" };

	if (next_random(seed) % 5 == 0)
		return (size_t)snprintf(buf, size, "[git r%u]\nrepo = %s\n%s",
		    i, PICK(seed, repos), PICK(seed, refs));
	return (size_t)snprintf(buf, size, "[%s r%u]\nhost = %s\n%s%s%s%s",
	    PICK(seed, kinds), i, PICK(seed, hosts), PICK(seed, methods),
	    PICK(seed, paths), PICK(seed, ports), PICK(seed, queries));
}

static void
random_text(uint64_t *seed, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, "%s", POLICY_HEAD);
	unsigned int rules = 1 + next_random(seed) % 4;

	for (unsigned int i = 0; i < rules; i++)
		len += random_rule(seed, i, buf + len, size - len);
}

/* The same without one of its lines: most changes are small. */
static void
drop_line(uint64_t *seed, const char *from, char *to, size_t size)
{
	size_t head = strlen(POLICY_HEAD), lines = 0, line = 0, drop,
	       len = head;

	for (const char *c = from + head; *c != '\0'; c++)
		lines += *c == '\n';
	drop = next_random(seed) % lines;
	memcpy(to, from, head);
	for (const char *c = from + head; *c != '\0' && len + 1 < size; c++) {
		if (line != drop)
			to[len++] = *c;
		line += *c == '\n';
	}
	to[len] = '\0';
}

static bool
does_compile(const char *policy)
{
	static struct compile_result r;
	struct compile_input in = { .display_name = "t.ini",
		.text = span_of(policy) };
	int rc = compile_policy(&in, &r);

	compile_result_done(&r);
	return rc == 0;
}

static struct verdict
random_question(uint64_t *seed, const struct policy *p, bool is_push)
{
	static const char *const hosts[] = { "a.x.org", "b.x.org", "d.x.org",
		"c.b.x.org", "x.org" };
	static const char *const methods[] = { "GET", "POST", "PUT" };
	static const char *const paths[] = { "/a/b", "/a/x", "/c", "/a/b/c",
		"/d", "/a%2fb", "/a/../c", "/a/b/git-receive-pack",
		"/a/b/git-upload-pack", "/a/b/info/lfs/objects/batch",
		"/a/b/info/lfs/locks" };
	static const char *const queries[] = { "q=a", "q=b", "z" };
	static const char *const refs[] = { "refs/heads/x", "refs/heads/y",
		"refs/tags/v" };
	struct policy_pair pair = { p, NULL };
	const char *path =
	    is_push ? "/a/b/git-receive-pack" : PICK(seed, paths);
	struct path_reading reading = path_read(span_of(path));
	struct policy_request req = { .host = PICK(seed, hosts),
		.port = next_random(seed) % 3 == 0 ? 8443 : 443,
		.method = span_of(is_push ? "POST" : PICK(seed, methods)),
		.path = span_of(path),
		.query = span_of(PICK(seed, queries)),
		.has_query = next_random(seed) % 2 == 0,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };
	struct policy_command cmd = {
		.operation =
		    (enum git_operation)(GIT_CREATE + next_random(seed) % 4),
		.ref = span_of(PICK(seed, refs)),
	};

	return is_push ? policy_judge_push(&pair, &req, &cmd)
		       : policy_judge_request(&pair, &req);
}

/* Whatever passes now and did not before, the change was said to widen. */
static void
what_lets_more_through_widens(void **state)
{
	char old[2048], new[2048];
	uint64_t seed = 11;
	size_t tries = 0, pairs = 0, asked = 0, wider = 0, more = 0, same = 0;

	(void)state;
	while (pairs < 2500) {
		struct policy *p, *q;
		struct change_report r;

		random_text(&seed, old, sizeof(old));
		if (tries++ % 4 == 0)
			random_text(&seed, new, sizeof(new));
		else
			drop_line(&seed, old, new, sizeof(new));
		if (!does_compile(old) || !does_compile(new))
			continue;
		p = make_policy(old);
		q = make_policy(new);
		assert_true(p != NULL && q != NULL);
		pairs++;
		r = compare(old, new);
		wider += change_widens(&r);
		same += r.opens + r.closes == 0;
		for (size_t i = 0; i < 40; i++, asked++) {
			uint64_t again = seed;
			bool is_push = i % 4 == 0;
			struct verdict was = random_question(&seed, p, is_push);
			struct verdict is = random_question(&again, q, is_push);

			if (is.action <= was.action)
				continue;
			more++;
			if (!change_widens(&r))
				fail_msg("not wider, but %s of %s lets more "
					 "through than\n%s\n%s",
				    is.rule, new, old, (char *)text);
		}
		policy_unref(p);
		policy_unref(q);
	}
	print_message("%zu pairs, %zu wider, %zu the same; %zu questions, %zu "
		      "let more through\n",
	    pairs, wider, same, asked, more);
	assert_true(wider < pairs && more > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_is_said_in_words),
		cmocka_unit_test(a_budget_of_all_is_one_of_policy),
		cmocka_unit_test(what_lets_more_through_widens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
