/*
 * The guest's half of a WebSocket once it is open. What the guest sent before
 * the answer is in the buffer, as a next request would be, and goes now.
 */
#include "proxy/h1_guest_private.h"

#include "wire/http_write.h"

void
h1_guest_open_tunnel(struct h1_guest *h, struct wr *w)
{
	http_write_text(w, "Upgrade", "websocket");
	http_write_text(w, "Connection", "Upgrade");
	h->keeps = false;
	h->is_down_ended = false;
	h1_guest_enter(h, H1_TUNNEL);
}

bool
h1_guest_step_tunnel(struct h1_guest *h)
{
	if (h->is_down_ended && h->out.len == 0 &&
	    !stream_has_unsent(h->spec.stream))
		stream_shutdown(h->spec.stream);
	if (!exchange_wants_body(h->x) || h->is_up_blocked)
		return h1_guest_pause(h);
	if (h->in.len > 0) {
		size_t taken = exchange_up(h->x, buf_span(&h->in));

		h->is_up_blocked = taken < h->in.len;
		buf_consume(&h->in, taken);
		return true;
	}
	if (h1_guest_fill(h))
		return true;
	if (!h->is_ended)
		return false;
	/* Its way is closed; the origin's may go on. */
	exchange_up_end(h->x);
	return true;
}
