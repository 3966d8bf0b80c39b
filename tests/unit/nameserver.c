/*
 * The nameserver with a script, see nameserver.h.
 */
#include "tests/unit/nameserver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/bytes.h"
#include "wire/dns.h"

#define QUESTIONS_MAX 8192
#define PACKET_MAX 4096
#define TCP_MAX 16

struct question {
	char name[DNS_TEXT_SIZE];
	uint16_t type;
	bool is_tcp;
};

struct nameserver {
	struct event_base *base;
	const struct nameserver_row *rows;
	int udp, tcp;
	uint16_t port;
	struct event *udp_event, *tcp_event;
	struct event *tcp_events[TCP_MAX];
	unsigned int tcp_count;
	struct question questions[QUESTIONS_MAX];
	size_t count;
};

static uint16_t
type_of(const char *text)
{
	if (strcmp(text, "A") == 0)
		return DNS_TYPE_A;
	return strcmp(text, "AAAA") == 0 ? DNS_TYPE_AAAA : DNS_TYPE_CNAME;
}

static void
put_name(struct wr *w, const char *name)
{
	while (*name != '\0') {
		const size_t len = strcspn(name, ".");

		wr_u8(w, (uint8_t)len);
		wr_bytes(w, name, len);
		name += len;
		if (*name == '.')
			name++;
	}
	wr_u8(w, 0);
}

static void
put_record(struct wr *w, const struct nameserver_row *row)
{
	const uint16_t type = type_of(row->type);
	uint8_t bytes[16];
	size_t len_at;

	put_name(w, row->owner);
	wr_u16(w, type);
	wr_u16(w, 1);
	wr_u32(w, row->ttl_s);
	len_at = w->len;
	wr_u16(w, 0);
	if (type == DNS_TYPE_CNAME) {
		put_name(w, row->value);
	} else {
		assert_int_equal(inet_pton(type == DNS_TYPE_A ? AF_INET
							      : AF_INET6,
				     row->value, bytes),
		    1);
		wr_bytes(w, bytes, type == DNS_TYPE_A ? 4 : 16);
	}
	wr_patch_u16(w, len_at, (uint16_t)(w->len - len_at - 2));
}

static unsigned int
turn_of(const struct nameserver *n, const struct dns_query *q)
{
	unsigned int turn = 0;

	for (size_t i = 0; i < n->count; i++)
		if (n->questions[i].type == q->type &&
		    strcmp(n->questions[i].name, q->text) == 0)
			turn++;
	return turn;
}

/* The records of the chain that begins at the name; false: no such name. */
static bool
put_records(const struct nameserver *n, const struct dns_query *q, struct wr *w,
    uint16_t *ret_count)
{
	const unsigned int turn = turn_of(n, q);
	const char *at = q->text;
	bool is_known = false;

	for (int step = 0; step < 12 && at != NULL; step++) {
		const char *target = NULL;

		for (const struct nameserver_row *r = n->rows; r->owner != NULL;
		     r++) {
			if (strcmp(r->owner, at) != 0)
				continue;
			is_known = true;
			if (r->type == NULL ||
			    (r->turn != 0 && r->turn != turn))
				continue;
			if (type_of(r->type) == DNS_TYPE_CNAME)
				target = r->value;
			else if (type_of(r->type) != q->type)
				continue;
			put_record(w, r);
			(*ret_count)++;
		}
		at = target;
	}
	return is_known;
}

static enum nameserver_quirk
quirk_of(const struct nameserver *n, const char *name)
{
	for (const struct nameserver_row *r = n->rows; r->owner != NULL; r++)
		if (r->type == NULL && strcmp(r->owner, name) == 0)
			return r->quirk;
	return NAMESERVER_PLAIN;
}

/* The whole answer into w. */
static void
put_answer(const struct nameserver *n, const struct dns_query *q,
    enum nameserver_quirk quirk, bool is_tcp, struct wr *w)
{
	uint16_t count = 0, flags = 0x8180;
	const size_t begin = w->len;

	wr_u16(w, q->id);
	wr_u16(w, flags);
	wr_u16(w, quirk == NAMESERVER_TWO_QUESTIONS ? 2 : 1);
	wr_u16(w, 0);
	wr_u32(w, 0);
	wr_bytes(w, q->question.ptr, q->question.len);
	if (quirk == NAMESERVER_TWO_QUESTIONS)
		wr_bytes(w, q->question.ptr, q->question.len);
	if (quirk == NAMESERVER_SERVFAIL)
		flags |= DNS_RCODE_SERVFAIL;
	else if (quirk == NAMESERVER_TRUNCATES && !is_tcp)
		flags |= 0x0200;
	else if (!put_records(n, q, w, &count))
		flags |= DNS_RCODE_NXDOMAIN;
	wr_patch_u16(w, begin + 2, flags);
	wr_patch_u16(w, begin + 6, count);
	assert_true(wr_ok(w));
}

static void
note(struct nameserver *n, const struct dns_query *q, bool is_tcp)
{
	struct question *to = &n->questions[n->count];

	assert_true(n->count < QUESTIONS_MAX);
	memcpy(to->name, q->text, sizeof(to->name));
	to->type = q->type;
	to->is_tcp = is_tcp;
	n->count++;
}

static void
send_other(int fd, const struct dns_query *q, const struct sockaddr_in *to)
{
	static const struct nameserver_row poison = { "poison.example", "A",
		"192.0.2.66", 60, 0, NAMESERVER_PLAIN };
	uint8_t buf[512];
	struct wr w = wr_init(buf, sizeof(buf));

	wr_u16(&w, q->id);
	wr_u16(&w, 0x8180);
	wr_u16(&w, 1);
	wr_u16(&w, 1);
	wr_u32(&w, 0);
	put_name(&w, poison.owner);
	wr_u16(&w, q->type);
	wr_u16(&w, 1);
	put_record(&w, &poison);
	(void)sendto(fd, buf, w.len, 0, (const struct sockaddr *)to,
	    sizeof(*to));
}

static void
on_udp(evutil_socket_t fd, short what, void *arg)
{
	struct nameserver *n = arg;
	uint8_t in[PACKET_MAX], out[PACKET_MAX];
	struct wr w = wr_init(out, sizeof(out));
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	const ssize_t len = recvfrom(fd, in, sizeof(in), 0,
	    (struct sockaddr *)&from, &from_len);
	enum nameserver_quirk quirk;
	struct dns_query q;

	(void)what;
	assert_true(len > 0);
	if (dns_query_parse((struct span){ in, (size_t)len }, &q) != DNS_OK)
		return;
	note(n, &q, false);
	quirk = quirk_of(n, q.text);
	if (quirk == NAMESERVER_SILENT ||
	    (quirk == NAMESERVER_SILENT_AAAA && q.type == DNS_TYPE_AAAA))
		return;
	if (quirk == NAMESERVER_EMPTY_FIRST)
		(void)sendto(fd, "", 0, 0, (struct sockaddr *)&from, from_len);
	if (quirk == NAMESERVER_OTHER_FIRST)
		send_other(fd, &q, &from);
	put_answer(n, &q, quirk, false, &w);
	(void)sendto(fd, out, w.len, 0, (struct sockaddr *)&from, from_len);
}

/* One question a packet, and one or more of those a connection. */
static void
on_tcp(evutil_socket_t fd, short what, void *arg)
{
	struct nameserver *n = arg;
	uint8_t in[PACKET_MAX], out[PACKET_MAX];
	const ssize_t len = recv(fd, in, sizeof(in), MSG_DONTWAIT);
	struct span left = { in, len < 0 ? 0 : (size_t)len }, msg;
	struct dns_query q;
	size_t used;

	(void)what;
	if (len == 0)
		(void)shutdown(fd, SHUT_RDWR);
	while (dns_frame_next(left, &msg, &used)) {
		struct wr w = wr_init(out, sizeof(out));

		assert_int_equal(dns_query_parse(msg, &q), DNS_OK);
		note(n, &q, true);
		wr_u16(&w, 0);
		put_answer(n, &q, quirk_of(n, q.text), true, &w);
		wr_patch_u16(&w, 0, (uint16_t)(w.len - 2));
		assert_int_equal(send(fd, out, w.len, 0), w.len);
		left = (struct span){ left.ptr + used, left.len - used };
	}
}

void
nameserver_answer(struct nameserver *n, const struct dns_query *q, struct wr *w)
{
	note(n, q, true);
	put_answer(n, q, quirk_of(n, q->text), true, w);
}

static void
on_tcp_accept(evutil_socket_t fd, short what, void *arg)
{
	struct nameserver *n = arg;
	const int conn = accept(fd, NULL, NULL);
	struct event *e;

	(void)what;
	assert_true(conn != -1 && n->tcp_count < TCP_MAX);
	e = event_new(n->base, conn, EV_READ | EV_PERSIST, on_tcp, n);
	assert_non_null(e);
	assert_int_equal(event_add(e, NULL), 0);
	n->tcp_events[n->tcp_count++] = e;
}

static int
bind_to(int type, const char *address, uint16_t *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons(*port) };
	socklen_t len = sizeof(sa);
	const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(inet_pton(AF_INET, address, &sa.sin_addr), 1);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == -1) {
		(void)close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*port = ntohs(sa.sin_port);
	return fd;
}

/* A port that both protocols have free. */
static void
bind_both(struct nameserver *n, const char *address)
{
	for (int i = 0; i < 50; i++) {
		n->port = 0;
		n->udp = bind_to(SOCK_DGRAM, address, &n->port);
		assert_true(n->udp != -1);
		n->tcp = bind_to(SOCK_STREAM, address, &n->port);
		if (n->tcp != -1)
			return;
		(void)close(n->udp);
	}
	fail_msg("no port is free for both UDP and TCP");
}

struct nameserver *
nameserver_new(struct event_base *base, const char *address,
    const struct nameserver_row *rows)
{
	struct nameserver *n = calloc(1, sizeof(*n));

	assert_non_null(n);
	n->base = base;
	n->rows = rows;
	bind_both(n, address);
	assert_int_equal(listen(n->tcp, 16), 0);
	n->udp_event = event_new(base, n->udp, EV_READ | EV_PERSIST, on_udp, n);
	n->tcp_event =
	    event_new(base, n->tcp, EV_READ | EV_PERSIST, on_tcp_accept, n);
	assert_non_null(n->udp_event);
	assert_non_null(n->tcp_event);
	assert_int_equal(event_add(n->udp_event, NULL), 0);
	assert_int_equal(event_add(n->tcp_event, NULL), 0);
	return n;
}

void
nameserver_free(struct nameserver *n)
{
	for (unsigned int i = 0; i < n->tcp_count; i++) {
		const int fd = event_get_fd(n->tcp_events[i]);

		event_free(n->tcp_events[i]);
		(void)close(fd);
	}
	event_free(n->udp_event);
	event_free(n->tcp_event);
	(void)close(n->udp);
	(void)close(n->tcp);
	free(n);
}

uint16_t
nameserver_port(const struct nameserver *n)
{
	return n->port;
}

size_t
nameserver_count(const struct nameserver *n)
{
	return n->count - nameserver_count_of(n, ".");
}

size_t
nameserver_count_of(const struct nameserver *n, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < n->count; i++)
		if (strcmp(n->questions[i].name, name) == 0)
			count++;
	return count;
}

size_t
nameserver_count_tcp(const struct nameserver *n)
{
	size_t count = 0;

	for (size_t i = 0; i < n->count; i++)
		if (n->questions[i].is_tcp &&
		    strcmp(n->questions[i].name, ".") != 0)
			count++;
	return count;
}
