/*
 * What a guest's questions are answered, by UDP and TCP, and what is recorded.
 */
#include "gate_fixture.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/message.h"
#include "proxy/dns.h"
#include "proxy/synth.h"
#include "wire/dns.h"

#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow site]\nhost = allowed.example.org\n"                           \
	"[allow plain]\nhost = plain.example.org\nport = 80\nscheme = http\n"  \
	"method = GET\n"                                                       \
	"[allow db]\nhost = db.example.org\nport = 5432\nscheme = tcp\n"

#define DYNAMIC_FIRST 0x7f800000u /* 127.128.0.0: upper half of the range */

static int
setup(void **state)
{
	*state = fixture_new(POLICY, NULL);
	return 0;
}

static int
teardown(void **state)
{
	clock_test_release();
	fixture_free(*state);
	return 0;
}

/* A question with an OPT record; its length. */
static size_t
make_question(const char *name, uint16_t type, uint8_t *buf, size_t size)
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
		name += len;
		name += *name == '.' ? 1 : 0;
	}
	wr_u8(&w, 0);
	wr_u16(&w, type);
	wr_u16(&w, 1);
	/* OPT: root, 1232 bytes, nothing else. */
	wr_u8(&w, 0);
	wr_u16(&w, DNS_TYPE_OPT);
	wr_u16(&w, 1232);
	wr_u32(&w, 0);
	wr_u16(&w, 0);
	assert_true(wr_ok(&w));
	return w.len;
}

struct reply {
	unsigned int rcode;
	unsigned int answers;
	uint32_t address;
	uint32_t ttl_s;
	uint8_t bytes[DNS_ANSWER_MAX_BYTES];
	size_t len;
};

/* The address is the last four bytes of an answer that names the question. */
static struct reply
read_reply(const uint8_t *bytes, size_t len)
{
	struct reply p = { .len = len };
	struct rd r = rd_init(bytes, len);

	memcpy(p.bytes, bytes, len);
	assert_int_equal(rd_u16(&r), 0x1234);
	p.rcode = rd_u16(&r) & 15;
	assert_int_equal(rd_u16(&r), 1);
	p.answers = rd_u16(&r);
	rd_skip(&r, 4);
	while (rd_peek(&r) > 0)
		rd_skip(&r, rd_u8(&r));
	rd_skip(&r, 1 + 4);
	if (p.answers == 1) {
		rd_skip(&r, 2 + 2 + 2);
		p.ttl_s = rd_u32(&r);
		assert_int_equal(rd_u16(&r), 4);
		p.address = rd_u32(&r);
	}
	assert_true(rd_ok(&r));
	return p;
}

static struct reply
ask(struct fixture *f, const char *name, uint16_t type)
{
	uint8_t question[512], answer[DNS_ANSWER_MAX_BYTES];
	struct wr w = wr_init(answer, sizeof(answer));
	struct span q = { question,
		make_question(name, type, question, sizeof(question)) };

	assert_true(dns_answer(&f->gate, q, true, &w));
	return read_reply(answer, w.len);
}

static bool
says(const struct reply *p, const char *text)
{
	return memmem(p->bytes, p->len, text, strlen(text)) != NULL;
}

static void
answers_by_name_and_type(void **state)
{
	static const struct {
		const char *claim, *name;
		uint16_t type;
		unsigned int rcode;
		bool has_address;
	} rows[] = {
		{ "an allowed name has an address", "allowed.example.org",
		    DNS_TYPE_A, DNS_RCODE_NOERROR, true },
		{ "a denied one too", "evil.example.org", DNS_TYPE_A,
		    DNS_RCODE_NOERROR, true },
		{ "case is no matter", "ALLOWED.example.ORG", DNS_TYPE_A,
		    DNS_RCODE_NOERROR, true },
		{ "no IPv6", "allowed.example.org", DNS_TYPE_AAAA,
		    DNS_RCODE_NOERROR, false },
		{ "no HTTPS record", "allowed.example.org", DNS_TYPE_HTTPS,
		    DNS_RCODE_NOERROR, false },
		{ "no text", "data.evil.example.org", DNS_TYPE_TXT,
		    DNS_RCODE_NOERROR, false },
		{ "ANY is nothing", "allowed.example.org", DNS_TYPE_ANY,
		    DNS_RCODE_NOERROR, false },
		{ "no name for an address", "1.0.64.100.in-addr.arpa",
		    DNS_TYPE_PTR, DNS_RCODE_NOERROR, false },
		{ "a service is nothing", "_http._tcp.example.org",
		    DNS_TYPE_SRV, DNS_RCODE_NOERROR, false },
		{ "nor has it an address", "_http._tcp.example.org", DNS_TYPE_A,
		    DNS_RCODE_NXDOMAIN, false },
		{ "a single label does not exist", "metadata", DNS_TYPE_A,
		    DNS_RCODE_NXDOMAIN, false },
		{ "in no type", "metadata", DNS_TYPE_TXT, DNS_RCODE_NXDOMAIN,
		    false },
		{ "nor does localhost", "localhost", DNS_TYPE_A,
		    DNS_RCODE_NXDOMAIN, false },
		{ "nor what is below it", "a.localhost", DNS_TYPE_A,
		    DNS_RCODE_NXDOMAIN, false },
		{ "an address is no name", "192.0.2.1", DNS_TYPE_A,
		    DNS_RCODE_NXDOMAIN, false },
		{ "nor is an odd one", "0x7f.1", DNS_TYPE_A, DNS_RCODE_NXDOMAIN,
		    false },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct reply p = ask(f, rows[i].name, rows[i].type);

		if (p.rcode != rows[i].rcode ||
		    (p.answers == 1) != rows[i].has_address)
			fail_msg("%s", rows[i].claim);
		if (rows[i].has_address) {
			assert_true(p.address >= DYNAMIC_FIRST);
			assert_int_equal(p.ttl_s, 5);
		}
	}
}

static void
gives_a_name_the_same_address_again(void **state)
{
	struct fixture *f = *state;
	struct reply a = ask(f, "allowed.example.org", DNS_TYPE_A);
	struct reply b = ask(f, "evil.example.org", DNS_TYPE_A);

	assert_true(a.address != b.address);
	assert_int_equal(ask(f, "allowed.example.org", DNS_TYPE_A).address,
	    a.address);
	assert_string_equal(synth_find(f->gate.synth, a.address),
	    "allowed.example.org");
}

static void
gives_a_tcp_host_the_address_that_the_policy_reserves(void **state)
{
	struct fixture *f = *state;
	struct reply p = ask(f, "db.example.org", DNS_TYPE_A);

	assert_true(p.address < DYNAMIC_FIRST);
	assert_int_equal(synth_to_policy(f->gate.synth, p.address),
	    policy_tcp_address(&f->gate.pair, "db.example.org"));
}

static void
says_why_where_it_refuses(void **state)
{
	struct fixture *f = *state;
	struct reply p = ask(f, "evil.example.org", DNS_TYPE_A);

	assert_true(says(&p, "no-rule"));
	p = ask(f, "allowed.example.org", DNS_TYPE_A);
	assert_false(says(&p, "no-rule"));
}

static void
records_what_the_policy_says_of_a_name(void **state)
{
	static const struct {
		const char *name, *rule;
		enum action verdict;
	} rows[] = {
		{ "allowed.example.org", "site", ACTION_ALLOW },
		{ "plain.example.org", "plain", ACTION_ALLOW },
		{ "db.example.org", "db", ACTION_ALLOW },
		{ "evil.example.org", "-", ACTION_DENY },
		{ "metadata", "-", ACTION_DENY },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct fixture_record *rec;

		(void)ask(f, rows[i].name, DNS_TYPE_A);
		rec = fixture_wait_record(f, i + 1);
		assert_int_equal(rec->r.event, AUDIT_DNS);
		assert_string_equal(rec->host, rows[i].name);
		assert_string_equal(rec->r.rule, rows[i].rule);
		assert_int_equal(rec->r.verdict, rows[i].verdict);
		assert_string_equal(rec->detail, "A");
	}
}

static void
records_a_name_once_a_minute(void **state)
{
	struct fixture *f = *state;

	clock_test_set(1000000, 1000000, 1000000);
	for (int i = 0; i < 20; i++)
		(void)ask(f, "evil.example.org", DNS_TYPE_A);
	(void)fixture_wait_record(f, 1);
	fixture_turn(f);
	assert_int_equal(f->record_count, 1);
	clock_test_advance(61000);
	(void)ask(f, "evil.example.org", DNS_TYPE_A);
	(void)fixture_wait_record(f, 2);
}

/* A flood of names cannot fill the log, and is told of by its number. */
static bool
has_detail(struct fixture *f, void *arg)
{
	for (size_t i = 0; i < f->record_count; i++)
		if (strcmp(f->records[i].detail, arg) == 0)
			return true;
	return false;
}

static void
counts_what_it_does_not_record(void **state)
{
	char want[] = "60 further questions";
	struct fixture *f = *state;
	char name[64];

	clock_test_set(1000000, 1000000, 1000000);
	for (int i = 0; i < 80; i++) {
		(void)snprintf(name, sizeof(name), "x%d.example.org", i);
		(void)ask(f, name, DNS_TYPE_A);
	}
	(void)fixture_wait_record(f, 20);
	fixture_turn(f);
	assert_int_equal(f->record_count, 20);
	clock_test_advance(1000);
	(void)ask(f, "x0.example.org", DNS_TYPE_A);
	/* Beside it x0 is told again if another name took its slot. */
	fixture_until(f, has_detail, want);
}

static void
refuses_then_is_silent_over_the_rate(void **state)
{
	struct fixture *f = *state;
	uint8_t question[512], answer[DNS_ANSWER_MAX_BYTES];
	struct span q = { question,
		make_question("allowed.example.org", DNS_TYPE_A, question,
		    sizeof(question)) };
	struct wr w = wr_init(answer, sizeof(answer));
	struct reply p;

	clock_test_set(1000000, 1000000, 1000000);
	for (int i = 0; i < 100; i++)
		(void)ask(f, "allowed.example.org", DNS_TYPE_A);
	p = ask(f, "allowed.example.org", DNS_TYPE_A);
	assert_int_equal(p.rcode, DNS_RCODE_REFUSED);
	assert_true(says(&p, "limit-dns"));
	for (int i = 0; i < 99; i++)
		(void)ask(f, "allowed.example.org", DNS_TYPE_A);
	assert_false(dns_answer(&f->gate, q, true, &w));
	clock_test_advance(1000);
	p = ask(f, "allowed.example.org", DNS_TYPE_A);
	assert_int_equal(p.rcode, DNS_RCODE_NOERROR);
	assert_int_equal(fixture_wait_record(f, 2)->r.reason, REASON_LIMIT_DNS);
	assert_string_equal(f->records[1].detail, "101 further questions");
}

static void
answers_while_nothing_can_be_recorded_so_that_http_says_why(void **state)
{
	struct fixture *f = *state;
	uint8_t full = 0;
	struct wr w = { .buf = &full, .size = 1, .len = 1 };
	struct reply p;

	assert_int_equal(chan_send(f->recorder, MSG_AUDIT_STATE, 0, &w, NULL,
			     0),
	    0);
	fixture_turn(f);
	p = ask(f, "allowed.example.org", DNS_TYPE_A);
	assert_int_equal(p.rcode, DNS_RCODE_NOERROR);
	assert_int_equal(f->record_count, 0);
}

/* --- on sockets --- */

static struct sockaddr_in
local(uint32_t address, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(address) } };
}

static int
bound_socket(int type, uint16_t *ret_port)
{
	struct sockaddr_in at = local(INADDR_ANY, 0);
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

static void
answers_by_udp_from_the_address_that_was_asked(void **state)
{
	struct fixture *f = *state;
	uint16_t port, own;
	int server = bound_socket(SOCK_DGRAM, &port);
	int guest = bound_socket(SOCK_DGRAM, &own);
	struct dns_udp *u = dns_udp_start(&f->gate, server);
	struct sockaddr_in to = local(0x7f4d0007, port), from;
	socklen_t from_len = sizeof(from);
	uint8_t buf[1024];
	size_t len =
	    make_question("allowed.example.org", DNS_TYPE_A, buf, sizeof(buf));
	ssize_t n = -1;

	assert_non_null(u);
	assert_int_equal(sendto(guest, buf, len, 0, (struct sockaddr *)&to,
			     sizeof(to)),
	    (ssize_t)len);
	while (n == -1) {
		fixture_turn(f);
		n = recvfrom(guest, buf, sizeof(buf), 0,
		    (struct sockaddr *)&from, &from_len);
	}
	assert_int_equal(from.sin_addr.s_addr, to.sin_addr.s_addr);
	assert_int_equal(from.sin_port, to.sin_port);
	assert_int_equal(read_reply(buf, (size_t)n).answers, 1);
	dns_udp_stop(u);
	(void)close(server);
	(void)close(guest);
}

struct tcp_server {
	int fd;
	uint16_t port;
	struct dns_tcp *tcp;
};

static struct tcp_server
tcp_server(struct fixture *f)
{
	struct tcp_server s;

	s.fd = bound_socket(SOCK_STREAM, &s.port);
	assert_int_equal(listen(s.fd, 128), 0);
	s.tcp = dns_tcp_start(&f->gate, s.fd);
	assert_non_null(s.tcp);
	return s;
}

static void
tcp_server_end(struct tcp_server *s)
{
	dns_tcp_stop(s->tcp);
	(void)close(s->fd);
}

static size_t
framed_question(const char *name, uint8_t *buf, size_t size)
{
	size_t len = make_question(name, DNS_TYPE_A, buf + 2, size - 2);

	buf[0] = (uint8_t)(len >> 8);
	buf[1] = (uint8_t)len;
	return len + 2;
}

static struct reply
read_framed(struct fixture *f, int fd)
{
	uint8_t head[2], body[DNS_ANSWER_MAX_BYTES];
	size_t len;

	assert_int_equal(fixture_read(f, fd, head, 2), 2);
	len = (size_t)head[0] << 8 | head[1];
	assert_true(len <= sizeof(body));
	assert_int_equal(fixture_read(f, fd, body, len), (ssize_t)len);
	return read_reply(body, len);
}

static void
answers_by_tcp_one_after_another(void **state)
{
	struct fixture *f = *state;
	struct tcp_server s = tcp_server(f);
	int guest = fixture_guest(INADDR_LOOPBACK, s.port);
	uint8_t buf[512], all[2048];
	size_t len = framed_question("allowed.example.org", buf, sizeof(buf));

	for (size_t i = 0; i < 10; i++)
		memcpy(all + i * len, buf, len);
	fixture_write(guest, all, 10 * len);
	for (int i = 0; i < 10; i++)
		assert_int_equal(read_framed(f, guest).answers, 1);
	/* And byte by byte. */
	for (size_t i = 0; i < len; i++) {
		fixture_write(guest, buf + i, 1);
		fixture_turn(f);
	}
	assert_int_equal(read_framed(f, guest).answers, 1);
	(void)close(guest);
	tcp_server_end(&s);
}

static void
ends_a_tcp_guest_that_sends_too_much_for_a_question(void **state)
{
	struct fixture *f = *state;
	struct tcp_server s = tcp_server(f);
	int guest = fixture_guest(INADDR_LOOPBACK, s.port);
	static uint8_t huge[4096];
	uint8_t got[1];

	memset(huge, 0xff, sizeof(huge));
	fixture_write(guest, huge, sizeof(huge));
	assert_true(fixture_read(f, guest, got, 1) <= 0);
	(void)close(guest);
	tcp_server_end(&s);
}

static void
takes_new_tcp_guests_in_the_place_of_the_oldest(void **state)
{
	struct fixture *f = *state;
	struct tcp_server s = tcp_server(f);
	int guests[20];
	uint8_t buf[512], got[1];
	size_t len = framed_question("allowed.example.org", buf, sizeof(buf));

	for (size_t i = 0; i < 20; i++) {
		guests[i] = fixture_guest(INADDR_LOOPBACK, s.port);
		fixture_write(guests[i], buf, len);
		assert_int_equal(read_framed(f, guests[i]).answers, 1);
	}
	assert_true(fixture_read(f, guests[0], got, 1) <= 0);
	for (size_t i = 0; i < 20; i++)
		(void)close(guests[i]);
	tcp_server_end(&s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers_by_name_and_type),
		TEST(gives_a_name_the_same_address_again),
		TEST(gives_a_tcp_host_the_address_that_the_policy_reserves),
		TEST(says_why_where_it_refuses),
		TEST(records_what_the_policy_says_of_a_name),
		TEST(records_a_name_once_a_minute),
		TEST(counts_what_it_does_not_record),
		TEST(refuses_then_is_silent_over_the_rate),
		TEST(
		    answers_while_nothing_can_be_recorded_so_that_http_says_why),
		TEST(answers_by_udp_from_the_address_that_was_asked),
		TEST(answers_by_tcp_one_after_another),
		TEST(ends_a_tcp_guest_that_sends_too_much_for_a_question),
		TEST(takes_new_tcp_guests_in_the_place_of_the_oldest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
