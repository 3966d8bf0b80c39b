/*
 * A guest that sends any frames. Property: whatever reaches an origin is one
 * request of HTTP/1.1 behind the other, each head byte for byte the canonical
 * one of what it says, with the host that was judged in our spelling; what the
 * guest is sent are whole frames; and what it can make us keep is bounded.
 *
 * Input: one byte of how it is cut and what the origin answers, then the
 * bytes behind the preface.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/h2_guest_private.h"
#include "tests/unit/inspect_fixture.h"
#include "wire/chunked.h"
#include "wire/http_write.h"

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

/* Byte for byte what we would write of what it says. */
static void
check_head(struct span head, const struct http_request *req)
{
	static char text[2 * HTTP_HEAD_MAX_BYTES];
	struct wr w = wr_init(text, sizeof(text));

	assert(req->form == HTTP_FORM_ORIGIN);
	assert(span_is(req->path, "/") || span_is(req->path, "/x"));
	assert(span_is(req->fields.at[0].name, "Host"));
	assert(span_is(req->fields.at[0].value, "a.example.org"));
	assert(!req->expects_continue && !req->has_upgrade);
	http_write_request_line(&w, req->method, req->path, req->has_query,
	    req->query);
	for (size_t i = 0; i < req->fields.count; i++)
		http_write_field(&w, req->fields.at[i].name,
		    req->fields.at[i].value);
	http_write_end(&w);
	assert(wr_ok(&w));
	assert(span_eq(head, (struct span){ w.buf, w.len }));
}

/* Takes the body off; false: it is not whole, and nothing is behind it. */
static bool
take_body(const struct http_request *req, struct span *in)
{
	struct chunked c = { .left = 0 };
	enum chunked_status s = CHUNKED_DATA;
	struct span data;
	size_t len;

	if (req->framing == HTTP_FRAMING_CHUNKED) {
		while (s == CHUNKED_DATA)
			s = chunked_feed(&c, in, &data);
		assert(s == CHUNKED_MORE || s == CHUNKED_DONE);
		return s == CHUNKED_DONE;
	}
	len = req->framing == HTTP_FRAMING_NONE ? 0 : req->length;
	if (len > in->len)
		return false;
	in->ptr += len;
	in->len -= len;
	return true;
}

/* Requests of one kind, one behind the other, and nothing else. */
static void
check_origin(const struct peer *o)
{
	static struct http_request req;
	struct span in = { o->in, o->in_len };

	while (in.len > 0) {
		struct http_scan scan = { .at = 0 };
		struct span head = { in.ptr, 0 };

		/* A head is written whole, or not at all. */
		assert(http_scan(&scan, in, &head.len) == HTTP_OK);
		assert(http_request_parse(head, &req) == HTTP_OK);
		check_head(head, &req);
		in.ptr += head.len;
		in.len -= head.len;
		if (!take_body(&req, &in))
			return;
	}
}

/* What a guest can make us keep. */
static void
check_bounds(const struct fix *f)
{
	const struct h2_stream *s;
	size_t count = 0;

	if (guest == NULL)
		return;
	assert(guest->link.out.size <= 4 * 65536);
	TAILQ_FOREACH(s, &guest->streams, link)
	{
		count++;
		assert(s->in.len <=
		    f->gate.limits.wait_bytes + f->gate.limits.large_bytes);
		assert(s->out.len <= f->gate.limits.wait_bytes + DENY_BODY_MAX);
		assert(s->head.bytes <= f->gate.limits.head_max_bytes);
		assert(s->trailers.bytes <= f->gate.limits.head_max_bytes);
	}
	assert(count == guest->stream_count && count <= f->gate.limits.streams);
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
	check_bounds(f);
	for (size_t i = 0; i < f->origin_count; i++)
		peer_say(&f->origins[i], answers[data[0] % 4]);
	fix_settle(f);
	check_bounds(f);
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
