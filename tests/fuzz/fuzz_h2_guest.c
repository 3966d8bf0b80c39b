/*
 * A guest that sends any frames. Property: whatever reaches an origin is one
 * canonical head of HTTP/1.1 that names the host which was judged in our
 * spelling; and what the guest is sent are whole frames.
 *
 * Input: one byte of how it is cut and what the origin answers, then the
 * bytes behind the preface.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/h2_guest.h"
#include "proxy/pool.h"
#include "tests/unit/inspect_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy[] = "[policy]\nversion = 1\n[allow plain]\n"
			     "host = a.example.org\nport = 80\n"
			     "scheme = http\npath = /, /x\n";

static const char *const answers[] = {
	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
	("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	 "2\r\nok\r\n0\r\n\r\n"),
	"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
	"HTTP/1.1 200 OK\r\n\r\nhello",
};

static struct stream stream;
static struct h2_guest *guest;
static bool is_recorded;

static void
on_done(void *arg)
{
	struct fix *f = arg;

	h2_guest_free(guest);
	guest = NULL;
	stream_done(&stream);
	fd_close(&f->conn.fd);
}

static void
on_ready(struct stream *s, void *arg)
{
	(void)s;
	(void)arg;
	h2_guest_on_ready(guest);
}

static void
begin(struct fix *f)
{
	struct h2_guest_spec spec = {
		.front = { .gate = &f->gate,
		    .scheme = SCHEME_HTTP,
		    .host = "a.example.org",
		    .port = 80,
		    .is_recorded = &is_recorded },
		.stream = &stream,
		.on_done = on_done,
		.arg = f,
	};
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		abort();
	(void)fd_set_nonblock(fds[0], true);
	f->conn.fd = fds[0];
	peer_init(&f->guest, fds[1], NULL);
	stream_init(&stream, f->gate.base, fds[0], NULL, on_ready, f);
	guest = h2_guest_new(&spec);
	assert(guest != NULL);
	h2_guest_run(guest);
}

static void
check_origin(struct peer *o)
{
	static const char host[] = "\r\nHost: a.example.org\r\n";
	struct http_scan scan = { .at = 0 };
	struct http_request req;
	size_t len;

	if (http_scan(&scan, (struct span){ o->in, o->in_len }, &len) !=
	    HTTP_OK) {
		/* A head is written whole, or not at all. */
		assert(o->in_len == 0);
		return;
	}
	assert(
	    http_request_parse((struct span){ o->in, len }, &req) == HTTP_OK);
	assert(req.form == HTTP_FORM_ORIGIN);
	assert(span_is(req.path, "/") || span_is(req.path, "/x"));
	assert(memmem(o->in, len, host, sizeof(host) - 1) != NULL);
	assert(!req.expects_continue && !req.has_upgrade);
}

static void
check_guest(struct peer *g)
{
	struct rd r = rd_init(g->in, g->in_len);

	while (rd_left(&r) > 0) {
		uint32_t len = rd_u24(&r);

		assert(len <= 16384 && rd_u8(&r) < 10);
		rd_skip(&r, 5 + (size_t)len);
	}
	assert(rd_done(&r));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fix *f;

	if (f == NULL)
		f = fix_new(policy);
	if (size < 1)
		return 0;
	f->record_count = 0;
	begin(f);
	f->guest.burst = data[0] / 4 % 16;
	peer_say(&f->guest, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	peer_send(&f->guest, data + 1, size - 1);
	fix_settle(f);
	for (size_t i = 0; i < f->origin_count; i++)
		peer_say(&f->origins[i], answers[data[0] % 4]);
	fix_settle(f);
	for (size_t i = 0; i < f->origin_count; i++)
		check_origin(&f->origins[i]);
	check_guest(&f->guest);
	if (guest != NULL)
		on_done(f);
	peer_done(&f->guest);
	fix_forget_origins(f);
	pool_flush(&f->gate);
	return 0;
}
