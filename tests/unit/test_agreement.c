/*
 * Everybody who reads a policy reads the same: what `tapward explain` says is
 * what the gate decides, what it lets through the sets of the ruleset let
 * through to the gate, and what DNS answers fits both.
 */
#include "gate_fixture.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "conf/compile.h"
#include "conf/explain.h"
#include "daemon/policy_set.h"
#include "netfilter/ruleset_build.h"
#include "netfilter/ruleset_rows.h"
#include "proxy/dns.h"
#include "proxy/synth.h"
#include "wire/dns.h"
#include "wire/path.h"

#define WORLDS 250
#define QUESTIONS 400 /* of each: 100,000 tuples */
#define HEAD "[policy]\nversion = 1\n"

static const char *const hosts[] = { "a.x.org", "b.x.org", "c.b.x.org", "x.org",
	"d.c.b.x.org", "db.y.org", "z.org" };
#define HOSTS (sizeof(hosts) / sizeof(hosts[0]))
static const uint16_t ports[] = { 443, 443, 443, 80, 8443, 8080, 5432 };
#define PORTS (sizeof(ports) / sizeof(ports[0]))

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

/* --- random policies ----------------------------------------------------- */

static size_t
random_rule(uint64_t *seed, unsigned int i, char *buf, size_t size)
{
	static const char *const kinds[] = { "allow", "allow", "allow", "deny",
		"ask" };
	static const char *const names[] = { "a.x.org", "b.x.org", "*.x.org",
		"**.x.org", "**.x.org", "*.b.x.org", "z.org" };
	static const char *const methods[] = { "", "method = GET\n",
		"method = GET, POST\n" };
	static const char *const paths[] = { "", "path = /a/**\n",
		"path = /a/*\n", "path = /a/b\npath = /c\n",
		"path = /a/**\nencoded-slash = yes\n" };
	static const char *const more[] = { "", "", "port = 443, 8443\n",
		"query = q=*\n" };
	static const char *const modes[] = {
		"host = b.x.org\ntls = passthrough\n",
		"host = c.b.x.org\nscheme = http\nport = 80, 8080\n",
		"host = a.x.org\nscheme = http\n",
		"host = db.y.org\nscheme = tcp\nport = 5432\n",
		"host = db.y.org, z.org\nscheme = tcp\nport = 5432, 8080\n",
		"host = a.x.org\nwebsocket = yes\n",
	};
	static const char *const repos[] = { "a.x.org/a/b", "b.x.org/**",
		"c.b.x.org:8443/a/*" };

	if (next_random(seed) % 8 == 0)
		return (size_t)snprintf(buf, size, "[git r%u]\nrepo = %s\n", i,
		    PICK(seed, repos));
	if (next_random(seed) % 3 == 0)
		return (size_t)snprintf(buf, size, "[allow r%u]\n%s", i,
		    PICK(seed, modes));
	return (size_t)snprintf(buf, size, "[%s r%u]\nhost = %s\n%s%s%s",
	    PICK(seed, kinds), i, PICK(seed, names), PICK(seed, methods),
	    PICK(seed, paths), PICK(seed, more));
}

static bool
does_compile(const char *text, bool is_ceiling)
{
	static struct compile_result r;
	struct compile_input in = { .display_name = "t.ini",
		.text = span_of(text),
		.is_ceiling = is_ceiling };
	int rc = compile_policy(&in, &r);

	compile_result_done(&r);
	return rc == 0;
}

static void
random_text(uint64_t *seed, bool is_ceiling, char *buf, size_t size)
{
	do {
		size_t len = (size_t)snprintf(buf, size, HEAD);
		unsigned int rules = 2 + next_random(seed) % 6;

		if (is_ceiling && next_random(seed) % 2 == 0)
			len += (size_t)snprintf(buf + len, size - len,
			    "[allow most]\nhost = **.x.org, z.org\n"
			    "port = 443, 8443\n"
			    "[allow db]\nhost = db.y.org\nscheme = tcp\n"
			    "port = 5432\n");
		for (unsigned int i = 0; i < rules; i++)
			len += random_rule(seed, i, buf + len, size - len);
	} while (!does_compile(buf, is_ceiling));
}

/* --- the sets of the ruleset, as they go to the kernel ------------------- */

struct sets {
	bool has_port[UINT16_MAX + 1];
	struct net_reserved reserved[64];
	size_t reserved_count;
};

static int
on_element(struct nftnl_set_elem *e, void *arg)
{
	struct sets *s = arg;
	uint32_t len, address;
	uint16_t port;
	const uint8_t *key = nftnl_set_elem_get(e, NFTNL_SET_ELEM_KEY, &len);

	if (len == sizeof(port)) {
		memcpy(&port, key, sizeof(port));
		s->has_port[ntohs(port)] = true;
		return 0;
	}
	assert_true(len >= sizeof(address) + sizeof(port));
	assert_true(s->reserved_count < 64);
	memcpy(&address, key, sizeof(address));
	memcpy(&port, key + sizeof(address), sizeof(port));
	s->reserved[s->reserved_count++] =
	    (struct net_reserved){ ntohl(address), ntohs(port) };
	return 0;
}

static int
on_set(struct nftnl_set *set, void *arg)
{
	return nftnl_set_elem_foreach(set, on_element, arg);
}

/* Does the ruleset hand TCP to this address and port to the gate? */
static bool
passes(const struct sets *s, uint32_t address, uint16_t port)
{
	for (size_t i = 0; i < s->reserved_count; i++) {
		if (s->reserved[i].address == address &&
		    s->reserved[i].port == port)
			return true;
	}
	return s->has_port[port];
}

/* As the supervisor reads them, beside the ceiling that the gate has. */
static struct sets *
read_sets(const char *text, const struct policy_pair *pair)
{
	struct sets *s = calloc(1, sizeof(*s));
	struct ruleset_sink sink = { .on_set = on_set, .arg = s };
	static struct compile_result r;
	struct compile_input in = { .display_name = "tapward.ini",
		.text = span_of(text),
		.learns = policy_learns(pair->policy) };
	struct policy_set set = POLICY_SET_NONE;
	struct net_opening open;

	assert_non_null(s);
	assert_int_equal(compile_policy(&in, &r), 0);
	assert_int_equal(fd_memfd_sealed("policy", r.image, r.image_len,
			     &set.image_fd),
	    0);
	compile_result_done(&r);
	assert_int_equal(policy_set_map(&set, pair->ceiling), 0);
	open = policy_set_opening(&set, false);
	assert_int_equal(ruleset_build_sets(&open, &sink), 0);
	policy_set_done(&set);
	return s;
}

/* --- DNS ------------------------------------------------------------------ */

struct answer {
	uint32_t address; /* as the policy has it, for a reserved one */
	bool is_blocked;  /* an Extended DNS Error says so */
};

static size_t
make_question(const char *name, uint8_t *buf, size_t size)
{
	struct wr w = wr_init(buf, size);

	wr_u16(&w, 0x1234);
	wr_u16(&w, 0x0100);
	wr_u16(&w, 1);
	wr_u32(&w, 0);
	wr_u16(&w, 1);
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		wr_u8(&w, (uint8_t)len);
		wr_bytes(&w, name, len);
		name += len + (name[len] == '.');
	}
	wr_u8(&w, 0);
	wr_u16(&w, DNS_TYPE_A);
	wr_u16(&w, 1);
	wr_u8(&w, 0); /* OPT: the root, 1232 bytes, nothing else */
	wr_u16(&w, DNS_TYPE_OPT);
	wr_u16(&w, 1232);
	wr_u32(&w, 0);
	wr_u16(&w, 0);
	assert_true(wr_ok(&w));
	return w.len;
}

static struct answer
resolve(struct fixture *f, const char *name)
{
	uint8_t question[512], bytes[DNS_ANSWER_MAX_BYTES];
	struct span q = { question,
		make_question(name, question, sizeof(question)) };
	struct wr w = wr_init(bytes, sizeof(bytes));
	struct answer a;
	struct rd r;
	uint32_t reserved;

	assert_true(dns_answer(&f->gate, q, true, &w));
	r = rd_init(bytes, w.len);
	rd_skip(&r, 6);
	assert_int_equal(rd_u16(&r), 1); /* whatever is said of it */
	rd_skip(&r, 4);
	while (rd_peek(&r) > 0)
		rd_skip(&r, rd_u8(&r));
	rd_skip(&r, 1 + 4 + 2 + 2 + 2 + 4 + 2);
	a.address = rd_u32(&r);
	assert_true(rd_ok(&r) && a.address != 0);
	rd_skip(&r, 1 + 2 + 2 + 4);
	a.is_blocked = rd_u16(&r) > 0; /* options of OPT: the error alone */
	assert_true(rd_ok(&r));
	reserved = synth_to_policy(f->gate.synth, a.address);
	if (policy_tcp_address(&f->gate.pair, name) != 0)
		a.address = reserved;
	return a;
}

/* --- one world: a gate, its sets, what it answers ------------------------ */

struct world {
	struct fixture *f;
	struct sets *sets;
	struct answer answers[HOSTS];
};

static void
check_names(struct world *w)
{
	const struct policy_pair *pair = &w->f->gate.pair;

	for (size_t i = 0; i < HOSTS; i++) {
		char target[64];
		struct explanation e;
		struct err err;
		bool is_open = false;

		w->answers[i] = resolve(w->f, hosts[i]);
		(void)snprintf(target, sizeof(target), "dns://%s", hosts[i]);
		assert_int_equal(explain(pair, target, NULL, &e, &err), 0);
		assert_int_equal(e.verdict.action != ACTION_ALLOW,
		    w->answers[i].is_blocked);
		assert_int_equal(e.address, policy_tcp_address(pair, hosts[i]));
		for (size_t k = 0; k < PORTS; k++)
			is_open = is_open ||
			    policy_judge_connect(pair, hosts[i], ports[k])
				    .action == ACTION_ALLOW;
		assert_int_equal(is_open, !w->answers[i].is_blocked);
	}
}

static void
world_open(struct world *w, uint64_t *seed)
{
	char policy[2048], ceiling[2048];

	random_text(seed, false, policy, sizeof(policy));
	random_text(seed, true, ceiling, sizeof(ceiling));
	if (next_random(seed) % 3 == 0)
		w->f = fixture_new_learning(policy, ceiling);
	else
		w->f = fixture_new(policy,
		    next_random(seed) % 2 == 0 ? NULL : ceiling);
	w->sets = read_sets(policy, &w->f->gate.pair);
	check_names(w);
}

static void
world_close(struct world *w)
{
	fixture_free(w->f);
	free(w->sets);
}

/* --- one tuple ------------------------------------------------------------ */

struct tuple {
	size_t host;
	uint16_t port;
	enum scheme scheme;
	bool is_websocket;
	const char *method;
	const char *path;
	const char *query; /* NULL: none */
};

static struct tuple
random_tuple(uint64_t *seed)
{
	static const char *const methods[] = { "GET", "POST", "PUT" };
	static const char *const paths[] = { "/a/b", "/a/b/c", "/c", "/",
		"/a%2fb", "/a/../c", "/a//b", "/a/b/git-upload-pack",
		"/a/b/git-receive-pack", "/a/b/info/refs" };
	static const char *const queries[] = { NULL, "q=1", "q=1&r=2",
		"service=git-upload-pack" };
	struct tuple t = { .host = next_random(seed) % HOSTS,
		.port = ports[next_random(seed) % PORTS],
		.method = PICK(seed, methods),
		.path = PICK(seed, paths),
		.query = PICK(seed, queries) };

	t.scheme = t.port == 80 || (t.port == 8080 && next_random(seed) % 2)
	    ? SCHEME_HTTP
	    : SCHEME_HTTPS;
	if (t.port == 5432 || next_random(seed) % 16 == 0)
		t.scheme = SCHEME_TCP;
	t.is_websocket = t.scheme != SCHEME_TCP &&
	    strcmp(t.method, "GET") == 0 && next_random(seed) % 8 == 0;
	return t;
}

/* As the gate goes: the connection, and of an inspected one the request. */
static struct verdict
decide(const struct policy_pair *pair, const struct tuple *t)
{
	struct path_reading reading = path_read(span_of(t->path));
	const char *query = t->query != NULL ? t->query : "";
	struct policy_request req = { .host = hosts[t->host],
		.port = t->port,
		.scheme = t->scheme,
		.method = span_of(t->method),
		.path = span_of(t->path),
		.query = span_of(query),
		.has_query = t->query != NULL,
		.is_websocket = t->is_websocket,
		.is_ambiguous = reading.is_ambiguous,
		.has_encoded_slash = reading.has_encoded_slash };
	struct verdict v = policy_judge_connect(pair, hosts[t->host], t->port);

	if (v.action == ACTION_DENY)
		return v;
	if (v.scheme == SCHEME_TCP || t->scheme == SCHEME_TCP ||
	    v.tls == TLS_MODE_PASSTHROUGH) {
		if (v.scheme != t->scheme)
			v.action = ACTION_DENY;
		return v;
	}
	return policy_judge_request(pair, &req);
}

static void
explain_tuple(const struct policy_pair *pair, const struct tuple *t,
    struct explanation *ret)
{
	static const char *const schemes[] = { [SCHEME_HTTPS] = "https",
		[SCHEME_HTTP] = "http",
		[SCHEME_TCP] = "tcp" };
	const char *scheme = schemes[t->scheme];
	char target[256];
	struct err err = { "" };

	if (t->is_websocket)
		scheme = t->scheme == SCHEME_HTTP ? "ws" : "wss";
	(void)snprintf(target, sizeof(target), "%s://%s:%u%s%s%s", scheme,
	    hosts[t->host], t->port, t->scheme == SCHEME_TCP ? "" : t->path,
	    t->scheme == SCHEME_TCP || t->query == NULL ? "" : "?",
	    t->scheme == SCHEME_TCP || t->query == NULL ? "" : t->query);
	if (explain(pair, target, t->scheme == SCHEME_TCP ? NULL : t->method,
		ret, &err) != 0)
		fail_msg("%s: %s", target, err.text);
}

static void
check_tuple(struct world *w, const struct tuple *t, size_t *allowed)
{
	const struct policy_pair *pair = &w->f->gate.pair;
	const struct answer *a = &w->answers[t->host];
	struct verdict v = decide(pair, t);
	struct explanation e;
	struct policy_tcp tcp;
	bool is_tcp;

	explain_tuple(pair, t, &e);
	if (e.verdict.action != v.action ||
	    strcmp(e.verdict.rule, v.rule) != 0 || e.verdict.line != v.line ||
	    strcmp(e.verdict.credential, v.credential) != 0)
		fail_msg("%s:%u %s: explain says %s by %s, the gate %s by %s",
		    hosts[t->host], t->port, t->path,
		    action_name(e.verdict.action), e.verdict.rule,
		    action_name(v.action), v.rule);
	is_tcp = policy_tcp_find(pair, a->address, t->port, &tcp);
	if (is_tcp)
		assert_string_equal(tcp.host, hosts[t->host]);
	if (e.verdict.action == ACTION_DENY)
		return;
	assert_int_equal(e.verdict.learned.reason, v.learned.reason);
	++*allowed;
	/* the origin's side is open as far as what was allowed needs it */
	assert_true(policy_judge_dial(pair, hosts[t->host], t->port).action >=
	    v.action);
	/* the name was said to be open, and the packet comes to the gate */
	assert_false(a->is_blocked);
	assert_true(passes(w->sets, a->address, t->port));
	assert_int_equal(is_tcp, e.verdict.scheme == SCHEME_TCP);
	/* and there is nothing to mend, but where the policy has yet to say it
	 */
	assert_int_equal(e.hint[0] == '\0', v.learned.reason == REASON_NONE);
}

static void
all_who_read_a_policy_agree(void **state)
{
	uint64_t seed = 20261130;
	size_t tuples = 0, allowed = 0;

	(void)state;
	for (size_t n = 0; n < WORLDS; n++) {
		struct world w;

		world_open(&w, &seed);
		for (size_t i = 0; i < QUESTIONS; i++, tuples++) {
			struct tuple t = random_tuple(&seed);

			check_tuple(&w, &t, &allowed);
		}
		world_close(&w);
	}
	print_message("%zu tuples, %zu let through\n", tuples, allowed);
	assert_true(tuples == 100000 && allowed > 4000);
}

/* What the sets do not hold, no rule of the policy lets through. */
static void
a_port_that_is_not_in_the_sets_is_denied(void **state)
{
	uint64_t seed = 4;
	size_t asked = 0;

	(void)state;
	for (size_t n = 0; n < 40; n++) {
		struct world w;

		world_open(&w, &seed);
		for (uint32_t port = 1; port <= UINT16_MAX; port += 1) {
			if (w.sets->has_port[port])
				continue;
			for (size_t i = 0; i < HOSTS; i++, asked++)
				assert_int_equal(
				    policy_judge_connect(&w.f->gate.pair,
					hosts[i], (uint16_t)port)
					.action,
				    ACTION_DENY);
			port += next_random(&seed) % 97;
		}
		world_close(&w);
	}
	print_message("%zu hosts and ports\n", asked);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_who_read_a_policy_agree),
		cmocka_unit_test(a_port_that_is_not_in_the_sets_is_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
