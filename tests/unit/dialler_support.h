/*
 * A dialler with its supervisor, one gate, the recorder, a nameserver and an
 * origin, all in one process on one event loop.
 */
#ifndef TAPWARD_TESTS_UNIT_DIALLER_SUPPORT_H
#define TAPWARD_TESTS_UNIT_DIALLER_SUPPORT_H

#include "tests/unit/policy_support.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/channel.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/message.h"
#include "base/message_audit.h"
#include "base/message_dial.h"
#include "base/message_done.h"
#include "base/message_gate.h"
#include "proxy/dialler.h"
#include "tests/unit/count_fds.h"
#include "tests/unit/nameserver.h"

#define NAMESERVER "127.0.0.1"
/* Where the origin listens, excepted for **.origin.example. */
#define ORIGIN "127.0.0.2"
/* Listens too, on the same port, and must never be reached. */
#define FORBIDDEN "127.0.0.3"
#define DEADLINE_S 20
#define SEEN_MAX 64

struct answer {
	uint32_t id;
	struct message_dialed m;
	int fd;
};

struct record {
	uint8_t verdict;
	enum reason reason;
	char host[256];
	char detail[64];
	char rule[64];
	char address[ADDRESS_TEXT_SIZE];
	uint32_t line;
};

struct world {
	struct event_base *base;
	struct nameserver *ns;
	struct dialler *dialler;
	struct chan *dialler_end; /* the dialler's end of supervisor */
	struct chan *supervisor;
	struct chan *gate;
	struct chan *recorder;
	int origin, forbidden;
	uint16_t port;
	struct message_dialler_config *config;
	unsigned int news_count; /* of resolvers; the last are in news */
	struct message_dialler_status news;
	unsigned int done_count;
	struct message_done done;
	unsigned int answer_count;
	struct answer answers[SEEN_MAX];
	unsigned int record_count;
	struct record records[SEEN_MAX];
	int fds_before;
	/* Of the next gate; 0: 1. */
	uint64_t generation;
	int gate_room; /* SO_SNDBUF towards the next gate; 0: as it is */
	/* What the proxy's password comes as; NULL: nothing comes. */
	const char *password;
	struct span roots; /* the index of roots; empty: none comes */
};

/* One turn of the loop, which must have something to do. */
static inline void
turn(struct world *w)
{
	const struct timeval deadline = { DEADLINE_S, 0 };

	assert_int_equal(event_base_loopexit(w->base, &deadline), 0);
	assert_int_equal(event_base_loop(w->base, EVLOOP_ONCE), 0);
	assert_false(event_base_got_exit(w->base));
}

static inline void
wait_for_count(struct world *w, const unsigned int *count, unsigned int want)
{
	while (*count < want)
		turn(w);
}

static inline void
wait_for_gate_end(struct world *w)
{
	while (w->gate != NULL)
		turn(w);
}

static inline int
on_done(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct world *w = arg;

	(void)c;
	w->done_count++;
	return message_done_decode(&msg->body, &w->done);
}

static inline int
on_dialed(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct world *w = arg;
	struct answer *a = &w->answers[w->answer_count];

	(void)c;
	assert_true(w->answer_count < SEEN_MAX);
	a->id = msg->id;
	a->fd = -1;
	assert_int_equal(message_dialed_decode(&msg->body, &a->m), 0);
	if (msg->fd_count == 1)
		a->fd = steal_fd(&msg->fds[0]);
	assert_int_equal(a->fd != -1, a->m.reason == REASON_NONE);
	w->answer_count++;
	return 0;
}

static inline void
copy_span(char *to, size_t size, struct span from)
{
	assert_true(from.len < size);
	if (from.len > 0)
		memcpy(to, from.ptr, from.len);
	to[from.len] = '\0';
}

static inline int
on_audit(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct world *w = arg;
	struct record *to = &w->records[w->record_count];
	struct audit_text text;
	struct audit_record r;

	(void)c;
	assert_true(w->record_count < SEEN_MAX);
	assert_int_equal(message_audit_decode(&msg->body, &text, &r), 0);
	assert_int_equal(r.event, AUDIT_CONNECT);
	to->verdict = r.verdict;
	to->reason = r.reason;
	to->line = r.line;
	copy_span(to->host, sizeof(to->host), r.host);
	copy_span(to->detail, sizeof(to->detail), r.detail);
	(void)snprintf(to->rule, sizeof(to->rule), "%s", r.rule);
	(void)snprintf(to->address, sizeof(to->address), "%s", r.address);
	w->record_count++;
	return 0;
}

static inline int
on_news(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct world *w = arg;

	(void)c;
	w->news_count++;
	return message_dialler_status_decode(&msg->body, &w->news);
}

/* Only a program says it, not the dialler in our own process. */
static inline int
on_hello(struct chan *c, struct chan_msg *msg, void *arg)
{
	struct message_hello hello;

	(void)c;
	(void)arg;
	return message_hello_decode(&msg->body, &hello);
}

static const struct chan_rule supervisor_rules[] = {
	{ MSG_HELLO, MESSAGE_SMALL_BYTES, 0, 0, on_hello },
	{ MSG_DIALLER_DONE, MESSAGE_SMALL_BYTES, 0, 0, on_done },
	{ MSG_RESOLVERS, MESSAGE_SMALL_BYTES, 0, 0, on_news },
};
static const struct chan_rule gate_rules[] = {
	{ MSG_DIALED, MESSAGE_SMALL_BYTES, 0, 1, on_dialed },
};
static const struct chan_rule recorder_rules[] = {
	{ MSG_AUDIT, AUDIT_BODY_MAX_BYTES, 0, 0, on_audit },
};

static inline void
on_end(struct chan *c, void *arg)
{
	struct world *w = arg;

	if (c == w->gate)
		w->gate = NULL;
	if (c == w->recorder)
		w->recorder = NULL;
	chan_free(c);
}

static inline int
listen_on(const char *address, uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	const int fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd != -1);
	assert_int_equal(inet_pton(AF_INET, address, &sa.sin_addr), 1);
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == -1 ||
	    listen(fd, 16) == -1) {
		(void)close(fd);
		return -1;
	}
	return fd;
}

static inline uint16_t
port_of(int fd)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	return ntohs(sa.sin_port);
}

static inline struct message_range
range(const char *text)
{
	struct prefix p;
	struct message_range r;

	assert_true(prefix_parse(span_of(text), &p));
	r.address.family = (uint8_t)p.address.family;
	memcpy(r.address.bytes, p.address.bytes, 16);
	r.bits = p.length;
	return r;
}

/* What came of it is in w->done. */
static inline void
try_config(struct world *w)
{
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	const unsigned int before = w->done_count;
	int fds[DIALLER_CONFIG_FDS_MAX];
	unsigned int count = 0;

	w->config->proxy.has_password = w->password != NULL;
	if (w->password != NULL)
		assert_int_equal(fd_memfd_sealed("test", w->password,
				     strlen(w->password), &fds[count++]),
		    0);
	w->config->has_roots = w->roots.len > 0;
	if (w->roots.len > 0)
		assert_int_equal(fd_memfd_sealed("test", w->roots.ptr,
				     w->roots.len, &fds[count++]),
		    0);
	message_dialler_config_encode(&body, w->config);
	assert_int_equal(chan_send(w->supervisor, MSG_DIALLER_CONFIG, 1, &body,
			     fds, count),
	    0);
	for (unsigned int i = 0; i < count; i++)
		fd_close(&fds[i]);
	wait_for_count(w, &w->done_count, before + 1);
}

static inline void
send_config(struct world *w)
{
	try_config(w);
	assert_true(w->done.ok);
}

static inline void
send_addresses(struct world *w, const char *const *texts)
{
	static struct message_dialler_addresses m;
	static uint8_t buf[MESSAGE_LARGE_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	const unsigned int before = w->done_count;

	m.count = 0;
	for (; *texts != NULL; texts++)
		m.addresses[m.count++] = range(*texts).address;
	message_dialler_addresses_encode(&body, &m);
	assert_int_equal(chan_send(w->supervisor, MSG_DIALLER_ADDRESSES, 1,
			     &body, NULL, 0),
	    0);
	wait_for_count(w, &w->done_count, before + 1);
	assert_true(w->done.ok);
}

static inline void
default_config(struct world *w)
{
	struct message_dialler_config *c = w->config;
	struct message_exception *e = &c->exceptions[0];

	c->limits = (struct message_dialler_limits){
		.resolve_timeout_ms = 5000,
		.connect_timeout_ms = 5000,
		.in_flight = 16,
		.cache_names = 64,
		.cache_min_s = 60,
		.cache_max_s = 600,
		.cache_negative_s = 30,
	};
	c->resolver_count = 1;
	c->resolvers[0].address = range(NAMESERVER).address;
	c->resolvers[0].port = nameserver_port(w->ns);
	c->own_range_count = 2;
	c->own_ranges[0] = range("100.64.0.0/30");
	c->own_ranges[1] = range("198.18.0.0/15");
	c->exception_count = 1;
	e->host_count = 1;
	(void)snprintf(e->hosts[0], sizeof(e->hosts[0]), "**.origin.example");
	e->range_count = 2;
	e->ranges[0] = range(ORIGIN);
	e->ranges[1] = range("::1");
}

/* The rules of a test's policy; @ stands for the origin's port. */
#define POLICY                                                                 \
	"[policy]\nversion = 1\n"                                              \
	"[allow web]\nhost = **.origin.example\nport = @\n"                    \
	"[allow raw]\nhost = raw.other.example\nport = @\nscheme = tcp\n"

static inline int
policy_of(const struct world *w, const char *with_at, bool is_ceiling)
{
	char text[1024];
	struct wr to = wr_init(text, sizeof(text) - 1);

	for (const char *p = with_at; *p != '\0'; p++) {
		if (*p == '@')
			wr_fmt(&to, "%u", w->port);
		else
			wr_u8(&to, (uint8_t)*p);
	}
	assert_true(wr_ok(&to));
	text[to.len] = '\0';
	return policy_memfd(text, is_ceiling);
}

/* Returns the gate's end of its channel to the dialler. */
static inline int
attach_fd(struct world *w, const char *name, const char *policy,
    const char *ceiling)
{
	struct message_dialler_sandbox m = { .generation = w->generation == 0
		    ? 1
		    : w->generation,
		.has_ceiling = ceiling != NULL };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));
	const unsigned int before = w->done_count;
	int gate[2], recorder[2], fds[4];

	(void)snprintf(m.sandbox, sizeof(m.sandbox), "%s", name);
	message_dialler_sandbox_encode(&body, &m);
	assert_int_equal(chan_pair(gate), 0);
	assert_int_equal(chan_pair(recorder), 0);
	if (w->gate_room != 0)
		assert_int_equal(setsockopt(gate[1], SOL_SOCKET, SO_SNDBUF,
				     &w->gate_room, sizeof(w->gate_room)),
		    0);
	fds[DIALLER_ATTACH_GATE] = gate[1];
	fds[DIALLER_ATTACH_RECORDER] = recorder[1];
	fds[DIALLER_ATTACH_POLICY] = policy_of(w, policy, false);
	if (ceiling != NULL)
		fds[DIALLER_ATTACH_CEILING] = policy_of(w, ceiling, true);
	w->recorder =
	    chan_new(w->base, recorder[0], recorder_rules, 1, on_end, w);
	assert_int_equal(chan_send(w->supervisor, MSG_DIALLER_ATTACH, 2, &body,
			     fds, ceiling != NULL ? 4 : 3),
	    0);
	for (int i = 0; i < (ceiling != NULL ? 4 : 3); i++)
		(void)close(fds[i]);
	wait_for_count(w, &w->done_count, before + 1);
	assert_true(w->done.ok);
	return gate[0];
}

static inline void
attach(struct world *w, const char *name, const char *policy,
    const char *ceiling)
{
	w->gate = chan_new(w->base, attach_fd(w, name, policy, ceiling),
	    gate_rules, 1, on_end, w);
}

static inline void
dial_as(struct world *w, uint32_t id, const char *host, uint16_t port,
    uint8_t scheme)
{
	struct message_dial m = { .port = port, .scheme = scheme };
	uint8_t buf[MESSAGE_SMALL_BYTES];
	struct wr body = wr_init(buf, sizeof(buf));

	(void)snprintf(m.host, sizeof(m.host), "%s", host);
	message_dial_encode(&body, &m);
	assert_int_equal(chan_send(w->gate, MSG_DIAL, id, &body, NULL, 0), 0);
}

static inline void
dial(struct world *w, uint32_t id, const char *host)
{
	dial_as(w, id, host, w->port, SCHEME_HTTPS);
}

/* Dials and waits for answer and record. */
static inline const struct answer *
dial_and_wait(struct world *w, const char *host)
{
	const unsigned int before = w->answer_count;

	dial(w, before + 1, host);
	wait_for_count(w, &w->answer_count, before + 1);
	wait_for_count(w, &w->record_count, w->answer_count);
	return &w->answers[before];
}

/*
 * Listeners and nameserver; nothing is configured, and the dialler is to be
 * put at the other end of the supervisor's channel, *ret_fd.
 */
static inline struct world *
world_new_bare(const struct nameserver_row *rows, int *ret_fd)
{
	struct world *w = calloc(1, sizeof(*w));
	int pair[2];

	log_init("test", LOG_LEVEL_ERR);
	assert_non_null(w);
	w->fds_before = count_fds();
	w->base = event_base_new();
	w->config = calloc(1, sizeof(*w->config));
	assert_non_null(w->base);
	assert_non_null(w->config);
	w->ns = nameserver_new(w->base, NAMESERVER, rows);
	w->origin = listen_on(ORIGIN, 0);
	assert_true(w->origin != -1);
	w->port = port_of(w->origin);
	w->forbidden = listen_on(FORBIDDEN, w->port);
	assert_true(w->forbidden != -1);
	assert_int_equal(chan_pair(pair), 0);
	w->supervisor =
	    chan_new(w->base, pair[0], supervisor_rules, 3, on_end, w);
	default_config(w);
	*ret_fd = pair[1];
	return w;
}

/* With a dialler in this process. */
static inline struct world *
world_new(const struct nameserver_row *rows)
{
	int fd;
	struct world *w = world_new_bare(rows, &fd);

	assert_int_equal(dialler_new(w->base, &w->dialler), 0);
	w->dialler_end = chan_new(w->base, fd, dialler_rules,
	    DIALLER_RULE_COUNT, on_end, w->dialler);
	return w;
}

/* Configures it, and attaches one sandbox. */
static inline void
world_configure(struct world *w)
{
	static const char *const own[] = { "127.0.0.1", "192.0.2.10", NULL };

	send_config(w);
	send_addresses(w, own);
	attach(w, "one", POLICY, NULL);
}

static inline struct world *
world_ready(const struct nameserver_row *rows)
{
	struct world *w = world_new(rows);

	world_configure(w);
	return w;
}

static inline void
world_free(struct world *w)
{
	/* The promise that every test of this file ends with. */
	assert_int_equal(accept(w->forbidden, NULL, NULL), -1);
	for (unsigned int i = 0; i < w->answer_count; i++)
		if (w->answers[i].fd != -1)
			(void)close(w->answers[i].fd);
	chan_free(w->supervisor);
	if (w->dialler_end != NULL)
		chan_free(w->dialler_end);
	if (w->gate != NULL)
		chan_free(w->gate);
	if (w->recorder != NULL)
		chan_free(w->recorder);
	dialler_free(w->dialler);
	nameserver_free(w->ns);
	(void)close(w->origin);
	(void)close(w->forbidden);
	event_base_free(w->base);
	assert_int_equal(count_fds(), w->fds_before);
	free(w->config);
	free(w);
}

static inline void
assert_origin_reached(const struct world *w, const struct answer *a)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	char want[ADDRESS_TEXT_SIZE];

	(void)snprintf(want, sizeof(want), ORIGIN ":%u", w->port);
	if (a->m.reason != REASON_NONE)
		fail_msg("%s %s", reason_code(a->m.reason), a->m.address);
	assert_string_equal(a->m.address, want);
	assert_int_equal(getpeername(a->fd, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(ntohs(sa.sin_port), w->port);
	assert_int_equal(sa.sin_addr.s_addr, inet_addr(ORIGIN));
}

#endif
