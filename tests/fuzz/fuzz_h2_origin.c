/*
 * An origin that sends any frames to two exchanges, one with a body. Property:
 * what a guest is told is in order whatever comes. A head has fields that can
 * be written in either version and that mean nothing to a connection; the body
 * is as long as was said; then comes one end, and nothing behind it. What waits
 * for a guest that takes little is bounded, and what the origin is sent are
 * whole frames.
 *
 * Input: a byte that says what is asked, how the guest takes it and how the
 * input is cut; then the bytes of the origin.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "proxy/exchange.h"
#include "proxy/h2_origin_private.h"
#include "proxy/pool.h"
#include "tests/unit/inspect_fixture.h"
#include "wire/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char policy[] = "[policy]\nversion = 1\n[allow api]\n"
			     "host = a.example.org\n";

static const char *const requests[] = {
	"GET / HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
	"HEAD / HTTP/1.1\r\nHost: a.example.org\r\n\r\n",
	("POST / HTTP/1.1\r\nHost: a.example.org\r\n"
	 "Content-Length: 5\r\n\r\n"),
	("POST / HTTP/1.1\r\nHost: a.example.org\r\n"
	 "Transfer-Encoding: chunked\r\n\r\n"),
};

struct asked {
	struct exchange *x;
	size_t takes; /* of the body, at once */
	bool is_head;
	struct exchange_head head;
	uint64_t got;
	bool has_head, has_trailers, is_ended, is_cut, is_refused, is_over;
};

static bool recorded;

static bool
is_running(const struct asked *a)
{
	return !a->is_ended && !a->is_cut && !a->is_refused && !a->is_over;
}

/* As they stand on the wire of HTTP/1, or in a block of HTTP/2. */
static void
check_fields(const struct http_fields *f)
{
	assert(f->count <= HTTP_FIELDS_MAX);
	for (size_t i = 0; i < f->count; i++) {
		struct span name = f->at[i].name, value = f->at[i].value;

		assert(token_is(name) && !http_is_hop_by_hop(name));
		for (size_t k = 0; k < name.len; k++)
			assert(name.ptr[k] < 'A' || name.ptr[k] > 'Z');
		assert(value.len == 0 || token_is_text(value));
		assert(token_trim(value).len == value.len);
		assert(!span_is(name, "content-length"));
		assert(!span_is(name, "alt-svc"));
	}
}

static void
on_nothing(void *arg)
{
	assert(!((struct asked *)arg)->is_over);
}

static void
on_head(void *arg, const struct exchange_head *h)
{
	struct asked *a = arg;

	assert(is_running(a) && !a->has_head);
	assert(h->status >= 200 && h->status < 600);
	check_fields(&h->fields);
	if (a->is_head || h->status == 204 || h->status == 304)
		assert(h->body == EXCHANGE_BODY_NONE ||
		    (h->body == EXCHANGE_BODY_LENGTH && h->length == 0));
	a->head = *h;
	a->has_head = true;
}

static size_t
on_body(void *arg, struct span data)
{
	struct asked *a = arg;
	size_t taken = data.len < a->takes ? data.len : a->takes;

	assert(is_running(a) && a->has_head && !a->has_trailers);
	assert(data.len > 0 && a->head.body != EXCHANGE_BODY_NONE);
	a->got += taken;
	assert(
	    a->head.body != EXCHANGE_BODY_LENGTH || a->got <= a->head.length);
	return taken;
}

static void
on_trailers(void *arg, const struct http_fields *f)
{
	struct asked *a = arg;

	assert(is_running(a) && a->has_head && !a->has_trailers);
	check_fields(f);
	for (size_t i = 0; i < f->count; i++)
		assert(!http_name_is_reserved(f->at[i].name));
	a->has_trailers = true;
}

static void
on_end(void *arg)
{
	struct asked *a = arg;

	assert(is_running(a) && a->has_head);
	assert(
	    a->head.body != EXCHANGE_BODY_LENGTH || a->got == a->head.length);
	a->is_ended = true;
}

static void
on_cut(void *arg)
{
	struct asked *a = arg;

	assert(is_running(a) && a->has_head);
	a->is_cut = true;
}

static void
on_refuse(void *arg, const struct deny *d)
{
	struct asked *a = arg;

	assert(is_running(a) && !a->has_head && d->reason != REASON_NONE);
	a->is_refused = true;
}

static void
on_over(void *arg)
{
	struct asked *a = arg;

	assert(!a->is_over && (a->is_ended || a->is_cut || a->is_refused));
	a->is_over = true;
	a->x = NULL;
}

static const struct exchange_guest_ops ops = {
	.want_body = on_nothing,
	.resume_body = on_nothing,
	.head = on_head,
	.body = on_body,
	.trailers = on_trailers,
	.end = on_end,
	.cut = on_cut,
	.refuse = on_refuse,
	.over = on_over,
};

static void
on_ready(struct stream *s, void *arg)
{
	(void)s;
	(void)arg;
}

/* A connection without TLS, which would be most of the time, in the pool. */
static void
connect_origin(struct fix *f)
{
	const struct origin_key key = { .scheme = SCHEME_HTTPS,
		.host = "a.example.org",
		.port = 443 };
	struct origin *o = origin_new(&f->gate, &key);
	int fds[2];

	assert(o != NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
		abort();
	(void)fd_set_nonblock(fds[0], true);
	peer_init(&f->origins[f->origin_count++], fds[1], NULL);
	memcpy(o->address, "192.0.2.1:443", sizeof("192.0.2.1:443"));
	o->fd = fds[0];
	stream_init(&o->stream, f->gate.base, o->fd, NULL, on_ready, o);
	o->has_stream = true;
	o->state = ORIGIN_READY;
	if (h2_origin_start(o) != 0)
		abort();
	origin_free(o);
}

static void
start(struct fix *f, struct asked *a, const char *text)
{
	const struct exchange_front front = { .gate = &f->gate,
		.scheme = SCHEME_HTTPS,
		.host = "a.example.org",
		.port = 443,
		.is_h2 = true,
		.is_recorded = &recorded };
	static struct http_request req;

	assert(http_request_parse(span_of(text), &req) == HTTP_OK);
	assert(exchange_start(&front, &req, &ops, a, &a->x) == 0);
	fix_settle(f);
	if (a->x != NULL && exchange_wants_body(a->x) &&
	    req.framing != HTTP_FRAMING_NONE) {
		assert(exchange_up(a->x, span_of("hello")) == 5);
		exchange_up_end(a->x);
	}
	fix_settle(f);
}

/* What stands between two peers of which one is slow. */
static void
check_bounds(struct fix *f)
{
	struct h2_origin *c;
	struct origin *o;

	TAILQ_FOREACH(c, pool_h2(&f->gate), link)
	{
		assert(c->stream_count <= f->gate.limits.streams);
		assert(c->h2.out.size <= 4 * 65536);
		TAILQ_FOREACH(o, &c->streams, link)
		{
			assert(o->held.len <= f->gate.limits.wait_bytes +
				f->gate.limits.large_bytes);
			assert(o->out.len <= f->gate.limits.wait_bytes);
			assert(o->head.bytes <= f->gate.limits.head_max_bytes);
		}
	}
}

static void
check_frames(const struct peer *p)
{
	struct rd r = rd_init(p->in, p->in_len);

	if (p->in_len == 0)
		return;
	rd_skip(&r, HTTP2_PREFACE_BYTES);
	while (rd_left(&r) > 0) {
		uint32_t len = rd_u24(&r);

		assert(len <= 16384 && rd_u8(&r) < 10);
		rd_skip(&r, 5 + (size_t)len);
	}
	assert(rd_done(&r));
}

static void
resume(struct fix *f, struct asked *a)
{
	a->takes = SIZE_MAX;
	if (a->x != NULL)
		exchange_resume(a->x);
	fix_settle(f);
}

static void
finish(struct fix *f, struct asked *a, size_t count)
{
	for (size_t i = 0; i < count; i++)
		resume(f, &a[i]);
	check_bounds(f);
	for (size_t i = 0; i < f->origin_count; i++)
		peer_drop(&f->origins[i]);
	fix_settle(f);
	/* One that was not looked at is sent again, to nobody. */
	for (size_t i = 0; i < count; i++)
		if (a[i].x != NULL)
			exchange_abort(a[i].x, REASON_NONE, "over");
	fix_settle(f);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fix *f;
	struct asked a[2];

	if (f == NULL)
		f = fix_new(policy);
	if (size < 1)
		return 0;
	memset(a, 0, sizeof(a));
	f->record_count = 0;
	f->dial_refusal = REASON_TIMEOUT;
	connect_origin(f);
	for (size_t i = 0; i < 2; i++) {
		size_t what = (size_t)(data[0] >> i) % 4;

		a[i].takes = (data[0] & 8) != 0 ? 3 : SIZE_MAX;
		a[i].is_head = what == 1;
		start(f, &a[i], requests[what]);
	}
	assert(f->origin_count == 1);
	/* Small pieces of what is small: each costs a turn of all. */
	f->origins[0].burst = data[0] / 16 == 0 ? 0 : size / 64 + data[0] / 16;
	peer_send(&f->origins[0], data + 1, size - 1);
	fix_settle(f);
	check_bounds(f);
	finish(f, a, 2);
	check_frames(&f->origins[0]);
	fix_forget_origins(f);
	pool_flush(&f->gate);
	fix_settle(f);
	assert(TAILQ_EMPTY(pool_h2(&f->gate)));
	return 0;
}
