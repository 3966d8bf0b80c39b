/*
 * Answers to the guest in HTTP/1.1: framing is always declared anew. What the
 * exchange tells is only gathered here.
 */
#include "proxy/h1_guest_private.h"

#include <string.h>

#include "wire/http_write.h"

#define HEAD_EXTRA_BYTES 512
/* A record of TLS: less is gathered, so that it shares one. */
#define THROUGH_MIN_BYTES 16384

/* Something is missing from what the guest was to get: nothing may follow. */
static void
break_off(struct h1_guest *h)
{
	h->is_cut = true;
	h->keeps = false;
}

static void
append(struct h1_guest *h, struct span s)
{
	if (buf_append(&h->out, s) != 0)
		break_off(h);
}

static void
on_want_body(void *arg)
{
	struct h1_guest *h = arg;

	/* Not to one that did not wait (RFC 9110 10.1.1). */
	if (h->expects_continue && h->in.len == h->head_len)
		append(h, span_of("HTTP/1.1 100 Continue\r\n\r\n"));
	h->expects_continue = false;
	h1_guest_kick(h);
}

static void
on_resume_body(void *arg)
{
	struct h1_guest *h = arg;

	h->is_up_blocked = false;
	h1_guest_kick(h);
}

static void
write_connection(struct h1_guest *h, struct wr *w)
{
	if (!h->keeps)
		http_write_text(w, "Connection", "close");
	else if (h->minor == 0)
		http_write_text(w, "Connection", "keep-alive");
}

static void
write_framing(struct h1_guest *h, struct wr *w, const struct exchange_head *e)
{
	if (e->has_length)
		http_write_length(w, e->length);
	if (e->body != EXCHANGE_BODY_UNKNOWN)
		return;
	if (h->minor == 0) {
		h->keeps = false; /* the end of the connection tells */
		return;
	}
	h->is_answer_chunked = true;
	http_write_text(w, "Transfer-Encoding", "chunked");
}

static size_t
room_for_fields(const struct http_fields *f)
{
	size_t sum = 0;

	for (size_t i = 0; i < f->count; i++)
		sum += f->at[i].name.len + f->at[i].value.len + 4;
	return sum;
}

static size_t
room_for(const struct exchange_head *e)
{
	return HEAD_EXTRA_BYTES + e->reason.len + room_for_fields(&e->fields);
}

static void
on_head(void *arg, const struct exchange_head *e)
{
	struct h1_guest *h = arg;
	struct wr w = buf_write(&h->out, room_for(e));

	if (e->is_early)
		h->keeps = false;
	http_write_status_line(&w, e->status, e->reason);
	for (size_t i = 0; i < e->fields.count; i++)
		http_write_field(&w, e->fields.at[i].name,
		    e->fields.at[i].value);
	if (e->body == EXCHANGE_BODY_TUNNEL) {
		h1_guest_open_tunnel(h, &w);
	} else {
		write_framing(h, &w, e);
		write_connection(h, &w);
	}
	http_write_end(&w);
	if (buf_write_end(&h->out, &w) != 0)
		break_off(h);
	h1_guest_kick(h);
}

static size_t
room(const struct h1_guest *h)
{
	size_t most = h->gate->limits.wait_bytes;

	return h->out.len >= most ? 0 : most - h->out.len;
}

/* Returns how much was gathered. */
static size_t
gather(struct h1_guest *h, struct span data)
{
	size_t most = room(h);

	if (data.len > most) {
		h->is_down_blocked = true;
		data.len = most;
	}
	if (data.len == 0)
		return 0;
	if (h->is_answer_chunked) {
		uint8_t size[CHUNKED_HEADER_SIZE];

		append(h,
		    (struct span){ size, chunked_header(data.len, size) });
	}
	append(h, data);
	if (h->is_answer_chunked)
		append(h, span_of("\r\n"));
	h1_guest_kick(h);
	return data.len;
}

/*
 * A large piece with nothing before it is written from where it lies. Returns
 * how much was; what went wrong is found again when the rest is written.
 */
static size_t
write_through(struct h1_guest *h, struct span data)
{
	size_t len;

	if (data.len < THROUGH_MIN_BYTES || h->out.len > 0 ||
	    h->is_answer_chunked || h->is_cut)
		return 0;
	if (stream_write(h->spec.stream, data, &len) != STREAM_OK)
		return 0;
	return len;
}

static size_t
on_body(void *arg, struct span data)
{
	struct h1_guest *h = arg;
	size_t written = write_through(h, data);

	data.ptr += written;
	data.len -= written;
	return written + gather(h, data);
}

/*
 * To whoever asked for them, behind a body that has room for them; else
 * dropped, as intermediaries may (RFC 9110 6.5.1). Body bytes may still come.
 */
static void
on_trailers(void *arg, const struct http_fields *f)
{
	struct h1_guest *h = arg;
	struct wr w;

	if (!h->is_answer_chunked || !h->takes_trailers)
		return;
	w = buf_write(&h->trailers, room_for_fields(f));
	for (size_t i = 0; i < f->count; i++)
		http_write_field(&w, f->at[i].name, f->at[i].value);
	if (buf_write_end(&h->trailers, &w) != 0)
		break_off(h);
}

static void
on_end(void *arg)
{
	struct h1_guest *h = arg;

	if (h->is_answer_chunked) {
		append(h, span_of(CHUNKED_LAST));
		append(h, buf_span(&h->trailers));
		append(h, span_of("\r\n"));
		buf_done(&h->trailers);
	}
	h->is_down_ended = true;
	h1_guest_kick(h);
}

static void
on_cut(void *arg)
{
	struct h1_guest *h = arg;

	break_off(h);
	h1_guest_kick(h);
}

/*
 * May another request follow an answer of ours? Not after one whose body is
 * still to come, nor one that was read in two ways.
 */
static bool
keeps_after(const struct h1_guest *h, enum reason reason)
{
	return h->keeps && h->is_whole && reason != REASON_BAD_REQUEST &&
	    reason != REASON_HOST_MISMATCH;
}

static void
on_refuse(void *arg, const struct deny *d)
{
	struct h1_guest *h = arg;

	h1_guest_write_deny(h, d, keeps_after(h, d->reason));
	h1_guest_kick(h);
}

static void
on_over(void *arg)
{
	struct h1_guest *h = arg;

	h->x = NULL;
	h1_guest_kick(h);
}

const struct exchange_guest_ops h1_guest_ops = {
	.want_body = on_want_body,
	.resume_body = on_resume_body,
	.head = on_head,
	.body = on_body,
	.trailers = on_trailers,
	.end = on_end,
	.cut = on_cut,
	.refuse = on_refuse,
	.over = on_over,
};

void
h1_guest_write_deny(struct h1_guest *h, const struct deny *d, bool keeps)
{
	struct deny_answer a;
	struct span content;
	struct wr w;

	deny_answer(d, &a);
	h->keeps = keeps;
	content = deny_content(&a);
	w = buf_write(&h->out, HEAD_EXTRA_BYTES + sizeof(a) + content.len);
	http_write_status_line(&w, a.status, span_of(a.phrase));
	http_write_text(&w, "Content-Type", a.content_type);
	http_write_length(&w, content.len);
	http_write_text(&w, "Cache-Control", "no-store");
	http_write_text(&w, "X-Content-Type-Options", "nosniff");
	http_write_text(&w, "Tapward-Reason", a.code);
	http_write_text(&w, "Proxy-Status", a.proxy_status);
	if (a.has_retry_after) {
		char text[16];
		struct wr t = wr_init(text, sizeof(text));

		wr_fmt(&t, "%u", a.retry_after_s);
		http_write_field(&w, span_of("Retry-After"),
		    (struct span){ t.buf, t.len });
	}
	write_connection(h, &w);
	http_write_end(&w);
	if (h->method != HTTP_METHOD_HEAD)
		wr_bytes(&w, content.ptr, content.len);
	if (buf_write_end(&h->out, &w) != 0)
		break_off(h);
}
