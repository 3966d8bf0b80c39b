/*
 * Dials that go by a forward proxy, which says what each row tells it to.
 */
#include "tests/unit/dialler_support.h"

#include "base/clock.h"
#include "tests/unit/dialler_zone.h"

#define PROXY "127.0.0.4"
#define OPEN "HTTP/1.1 200 Connection established\r\n\r\n"
#define OUT                                                                    \
	"[policy]\nversion = 1\n"                                              \
	"[allow out]\nhost = **.out.example, **.origin.example\nport = @\n"    \
	"[allow proxy]\nhost = proxy.corp.example\nport = @\n"                 \
	"[allow raw]\nhost = raw.other.example\nport = @\nscheme = tcp\n"

/* One connection to the proxy at a time. */
struct proxy {
	struct event_base *base;
	int listener, fd;
	struct event *accepting, *reading, *writing;
	unsigned int accepted;
	char asked[4096]; /* what came on the last one */
	size_t asked_len;
	const char *says; /* once a head has come; NULL: nothing */
	size_t said;
	bool by_bytes; /* one at a time */
	bool closes;   /* when all is said */
};

static void
proxy_hang_up(struct proxy *p)
{
	if (p->reading != NULL)
		event_free(p->reading);
	if (p->writing != NULL)
		event_free(p->writing);
	p->reading = p->writing = NULL;
	fd_close(&p->fd);
}

static void
on_proxy_write(evutil_socket_t fd, short what, void *arg)
{
	static const struct timeval soon = { 0, 500 };
	struct proxy *p = arg;
	const size_t left = strlen(p->says) - p->said;
	const ssize_t n = send(p->fd, p->says + p->said,
	    p->by_bytes && left > 0 ? 1 : left, MSG_NOSIGNAL);

	(void)fd;
	(void)what;
	if (n > 0)
		p->said += (size_t)n;
	if (n > 0 && p->says[p->said] != '\0')
		(void)evtimer_add(p->writing, &soon);
	else if (p->closes)
		proxy_hang_up(p);
}

static void
on_proxy_read(evutil_socket_t fd, short what, void *arg)
{
	struct proxy *p = arg;
	const ssize_t n = recv(fd, p->asked + p->asked_len,
	    sizeof(p->asked) - 1 - p->asked_len, 0);

	(void)what;
	if (n <= 0) {
		(void)event_del(p->reading);
		return;
	}
	p->asked_len += (size_t)n;
	p->asked[p->asked_len] = '\0';
	if (p->says != NULL && p->said == 0 &&
	    strstr(p->asked, "\r\n\r\n") != NULL)
		event_active(p->writing, EV_TIMEOUT, 0);
}

static void
on_proxy_accept(evutil_socket_t fd, short what, void *arg)
{
	struct proxy *p = arg;

	(void)what;
	proxy_hang_up(p);
	p->fd = accept(fd, NULL, NULL);
	assert_true(p->fd != -1);
	assert_int_equal(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
	p->accepted++;
	p->asked_len = p->said = 0;
	p->reading =
	    event_new(p->base, p->fd, EV_READ | EV_PERSIST, on_proxy_read, p);
	p->writing = evtimer_new(p->base, on_proxy_write, p);
	assert_int_equal(event_add(p->reading, NULL), 0);
}

static void
proxy_begin(struct proxy *p, struct world *w)
{
	*p = (struct proxy){ .base = w->base, .fd = -1 };
	p->listener = listen_on(PROXY, 0);
	assert_true(p->listener != -1);
	p->accepting = event_new(w->base, p->listener, EV_READ | EV_PERSIST,
	    on_proxy_accept, p);
	assert_int_equal(event_add(p->accepting, NULL), 0);
	(void)snprintf(w->config->proxy.host, HOST_NAME_SIZE, "%s", PROXY);
	w->config->proxy.port = port_of(p->listener);
	w->config->limits.connect_timeout_ms = 5000;
}

static void
proxy_end(struct proxy *p)
{
	proxy_hang_up(p);
	event_free(p->accepting);
	(void)close(p->listener);
}

static struct world *
world_by_proxy(struct proxy *p, const char *user, const char *password)
{
	static const char *const own[] = { "127.0.0.1", "192.0.2.10", NULL };
	struct world *w = world_new(zone);

	proxy_begin(p, w);
	(void)snprintf(w->config->proxy.user, DIALLER_PROXY_USER_SIZE, "%s",
	    user);
	w->password = password;
	send_config(w);
	send_addresses(w, own);
	attach(w, "one", OUT, NULL);
	return w;
}

static void
world_and_proxy_free(struct world *w, struct proxy *p)
{
	proxy_end(p);
	world_free(w);
}

/* What the origin would send: it comes through fd. */
static void
assert_carries(struct world *w, struct proxy *p, int fd)
{
	char got[8];

	assert_int_equal(send(p->fd, "origin", 6, 0), 6);
	while (recv(fd, got, sizeof(got), MSG_PEEK) < 6)
		turn(w);
	assert_int_equal(recv(fd, got, sizeof(got), 0), 6);
	assert_memory_equal(got, "origin", 6);
	assert_int_equal(send(fd, "guest", 5, 0), 5);
	while (strstr(p->asked, "\r\n\r\nguest") == NULL)
		turn(w);
}

static void
asks_the_proxy_and_no_nameserver(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);
	const struct answer *a;
	char want[256];

	(void)state;
	p.says = OPEN;
	a = dial_and_wait(w, "a.out.example");
	assert_int_equal(a->m.reason, REASON_NONE);
	(void)snprintf(want, sizeof(want),
	    "CONNECT a.out.example:%u HTTP/1.1\r\nHost: a.out.example:%u\r\n"
	    "\r\n",
	    w->port, w->port);
	assert_string_equal(p.asked, want);
	assert_int_equal(nameserver_count(w->ns), 0);
	/* The log says where it went, the gate is not told. */
	assert_string_equal(a->m.address, "");
	assert_string_equal(w->records[0].detail, "proxy");
	assert_int_equal(w->records[0].verdict, ACTION_ALLOW);
	(void)snprintf(want, sizeof(want), PROXY ":%u", port_of(p.listener));
	assert_string_equal(w->records[0].address, want);
	assert_carries(w, &p, a->fd);
	world_and_proxy_free(w, &p);
}

static void
says_who_we_are(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "Aladdin", "open sesame\n");

	(void)state;
	p.says = OPEN;
	assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
	    REASON_NONE);
	/* The example of RFC 7617 2. */
	assert_non_null(strstr(p.asked,
	    "\r\nProxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n"
	    "\r\n"));
	world_and_proxy_free(w, &p);
}

static void
goes_nowhere_without_its_login(void **state)
{
	static const char *const passwords[] = { NULL, "", "a\nb", "a\x7f" };
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	p.says = OPEN;
	(void)snprintf(w->config->proxy.user, DIALLER_PROXY_USER_SIZE, "u");
	for (size_t i = 0; i < sizeof(passwords) / sizeof(passwords[0]); i++) {
		const struct answer *a;

		w->password = passwords[i];
		try_config(w);
		assert_false(w->done.ok);
		a = dial_and_wait(w, "a.out.example");
		assert_int_equal(a->m.reason, REASON_ORIGIN_UNREACHABLE);
		assert_string_equal(w->records[i].detail, "proxy-password");
	}
	assert_int_equal(p.accepted, 0);
	assert_int_equal(nameserver_count(w->ns), 0);
	world_and_proxy_free(w, &p);
}

static void
keeps_named_hosts_direct(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	/* Of an [address] section. */
	assert_origin_reached(w, dial_and_wait(w, "good.origin.example"));
	(void)snprintf(w->config->proxy.direct[0], DIALLER_PATTERN_SIZE,
	    "*.out.example");
	w->config->proxy.direct_count = 1;
	send_config(w);
	assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
	    REASON_RESOLVE_FAILED);
	assert_int_equal(p.accepted, 0);
	p.says = OPEN;
	assert_int_equal(dial_and_wait(w, "b.a.out.example")->m.reason,
	    REASON_NONE);
	assert_int_equal(p.accepted, 1);
	world_and_proxy_free(w, &p);
}

static void
never_asks_the_proxy_for_what_is_denied(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	p.says = OPEN;
	assert_int_equal(dial_and_wait(w, "denied.example")->m.reason,
	    REASON_NO_RULE);
	/* Nor for itself, though a rule names it. */
	(void)snprintf(w->config->proxy.host, HOST_NAME_SIZE,
	    "proxy.corp.example");
	send_config(w);
	assert_int_equal(dial_and_wait(w, "proxy.corp.example")->m.reason,
	    REASON_PRIVATE_ADDRESS);
	assert_string_equal(w->records[1].detail, "proxy");
	assert_int_equal(p.accepted, 0);
	assert_int_equal(nameserver_count(w->ns), 0);
	world_and_proxy_free(w, &p);
}

static void
finds_a_proxy_by_name(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	p.says = OPEN;
	(void)snprintf(w->config->proxy.host, HOST_NAME_SIZE,
	    "proxy.corp.example");
	send_config(w);
	assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
	    REASON_NONE);
	assert_int_equal(nameserver_count_of(w->ns, "proxy.corp.example"), 2);
	assert_int_equal(nameserver_count(w->ns), 2);
	(void)snprintf(w->config->proxy.host, HOST_NAME_SIZE,
	    "nothing.corp.example");
	send_config(w);
	assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
	    REASON_ORIGIN_UNREACHABLE);
	assert_string_equal(w->records[1].detail, "proxy-unresolved");
	world_and_proxy_free(w, &p);
}

static const struct {
	const char *claim, *says;
	bool by_bytes, closes;
	uint8_t scheme;
	const char *host;
	enum reason want;
	const char *detail;
} answer_rows[] = {
	{ "a wrong login", "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno",
	    false, false, SCHEME_HTTPS, "a.out.example",
	    REASON_ORIGIN_UNREACHABLE, "proxy-407" },
	{ "CONNECT is refused", "HTTP/1.1 403 Forbidden\r\n\r\n", false, false,
	    SCHEME_HTTPS, "a.out.example", REASON_ORIGIN_UNREACHABLE,
	    "proxy-403" },
	{ "it finds no origin", "HTTP/1.0 502 Bad Gateway\r\n\r\n", false,
	    false, SCHEME_HTTPS, "a.out.example", REASON_ORIGIN_UNREACHABLE,
	    "proxy-502" },
	{ "an origin that is slow", "HTTP/1.1 504 Timeout\r\n\r\n", false,
	    false, SCHEME_HTTPS, "a.out.example", REASON_TIMEOUT, "proxy-504" },
	{ "garbage", "\x15\x03\x03\r\n\r\n", false, false, SCHEME_HTTPS,
	    "a.out.example", REASON_ORIGIN_UNREACHABLE, "proxy-bad-answer" },
	{ "bytes one by one", OPEN, true, false, SCHEME_HTTPS, "a.out.example",
	    REASON_NONE, "proxy" },
	{ "it hangs up in its answer", "HTTP/1.1 200 OK\r\n", false, true,
	    SCHEME_HTTPS, "a.out.example", REASON_ORIGIN_UNREACHABLE,
	    "proxy-closed" },
	{ "it hangs up without one", "", false, true, SCHEME_HTTPS,
	    "a.out.example", REASON_ORIGIN_UNREACHABLE, "proxy-closed" },
	{ "an answer to what nobody asked yet",
	    OPEN "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, false,
	    SCHEME_HTTPS, "a.out.example", REASON_ORIGIN_UNREACHABLE,
	    "proxy-bad-answer" },
	{ "where the origin speaks first, its greeting", OPEN "220 mail\r\n",
	    false, false, SCHEME_TCP, "raw.other.example", REASON_NONE,
	    "proxy" },
};

static void
takes_only_a_tunnel_for_one(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	for (size_t i = 0; i < sizeof(answer_rows) / sizeof(answer_rows[0]);
	     i++) {
		p.says = answer_rows[i].says;
		p.by_bytes = answer_rows[i].by_bytes;
		p.closes = answer_rows[i].closes;
		dial_as(w, (uint32_t)i + 1, answer_rows[i].host, w->port,
		    answer_rows[i].scheme);
		wait_for_count(w, &w->answer_count, (unsigned int)i + 1);
		wait_for_count(w, &w->record_count, (unsigned int)i + 1);
		if (w->answers[i].m.reason != answer_rows[i].want)
			fail_msg("%s: %s", answer_rows[i].claim,
			    reason_code(w->answers[i].m.reason));
		assert_string_equal(w->records[i].detail,
		    answer_rows[i].detail);
		assert_string_equal(w->answers[i].m.address, "");
	}
	world_and_proxy_free(w, &p);
}

static void
leaves_what_comes_behind_the_head(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);
	char got[64];

	(void)state;
	for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
		const unsigned int i = w->answer_count;

		p.says = OPEN "220 mail.example\r\n";
		p.by_bytes = by_bytes != 0;
		dial_as(w, i + 1, "raw.other.example", w->port, SCHEME_TCP);
		wait_for_count(w, &w->answer_count, i + 1);
		assert_int_equal(w->answers[i].m.reason, REASON_NONE);
		for (size_t have = 0; have < 18;) {
			const ssize_t n = recv(w->answers[i].fd, got + have,
			    sizeof(got) - have, 0);

			if (n > 0)
				have += (size_t)n;
			else
				turn(w);
		}
		assert_memory_equal(got, "220 mail.example\r\n", 18);
	}
	world_and_proxy_free(w, &p);
}

static void
has_an_end_for_a_huge_head(void **state)
{
	static char huge[65536];
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	memset(huge, 'a', sizeof(huge) - 1);
	memcpy(huge, "HTTP/1.1 200 OK\r\nX: ", 20);
	p.says = huge;
	assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
	    REASON_ORIGIN_UNREACHABLE);
	assert_string_equal(w->records[0].detail, "proxy-bad-answer");
	world_and_proxy_free(w, &p);
}

/* Each byte begins no new time-out. */
static void
gives_up_on_a_slow_proxy(void **state)
{
	static char slow[8000];
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);
	const uint64_t begin = clock_mono_ms();

	(void)state;
	w->config->limits.connect_timeout_ms = 150;
	send_config(w);
	memset(slow, 'a', sizeof(slow) - 1);
	memcpy(slow, "HTTP/1.1 200 OK\r\nX: ", 20);
	p.by_bytes = true;
	for (unsigned int i = 0; i < 2; i++) {
		p.says = i == 0 ? slow : NULL;
		assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
		    REASON_TIMEOUT);
		assert_string_equal(w->records[i].detail, "proxy-timeout");
	}
	assert_true(clock_mono_ms() - begin < 5000);
	world_and_proxy_free(w, &p);
}

static void
says_that_the_proxy_is_away(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	proxy_end(&p);
	assert_int_equal(dial_and_wait(w, "a.out.example")->m.reason,
	    REASON_ORIGIN_UNREACHABLE);
	assert_string_equal(w->records[0].detail, "proxy-ECONNREFUSED");
	world_free(w);
}

static void
forgets_a_tunnel_that_nobody_wants(void **state)
{
	struct proxy p;
	struct world *w = world_by_proxy(&p, "", NULL);

	(void)state;
	dial(w, 1, "a.out.example");
	while (p.asked_len == 0)
		turn(w);
	assert_int_equal(chan_send(w->gate, MSG_DIAL_CANCEL, 1, NULL, NULL, 0),
	    0);
	wait_for_count(w, &w->record_count, 1);
	assert_string_equal(w->records[0].detail, "cancelled");
	/* Nor one whose gate is gone. */
	dial(w, 2, "a.out.example");
	while (p.accepted < 2 || p.asked_len == 0)
		turn(w);
	chan_free(w->gate);
	w->gate = NULL;
	wait_for_count(w, &w->record_count, 2);
	world_and_proxy_free(w, &p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asks_the_proxy_and_no_nameserver),
		cmocka_unit_test(says_who_we_are),
		cmocka_unit_test(goes_nowhere_without_its_login),
		cmocka_unit_test(keeps_named_hosts_direct),
		cmocka_unit_test(never_asks_the_proxy_for_what_is_denied),
		cmocka_unit_test(finds_a_proxy_by_name),
		cmocka_unit_test(takes_only_a_tunnel_for_one),
		cmocka_unit_test(leaves_what_comes_behind_the_head),
		cmocka_unit_test(has_an_end_for_a_huge_head),
		cmocka_unit_test(gives_up_on_a_slow_proxy),
		cmocka_unit_test(says_that_the_proxy_is_away),
		cmocka_unit_test(forgets_a_tunnel_that_nobody_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
