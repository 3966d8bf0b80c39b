/*
 * The origin's half of a WebSocket once it is open: bytes as they come, in two
 * ways that end one after the other. Reading and writing are as for any other
 * body (origin.c, origin_answer.c).
 */
#include "proxy/origin_private.h"

#include "proxy/exchange.h"

void
origin_tunnel_begin(struct origin *o)
{
	o->up_framing = HTTP_FRAMING_TUNNEL;
	o->is_up_whole = false;
	/* The head with the credential is gone; what follows is the guest's. */
	if (o->out.len == 0)
		o->out.is_secret = false;
}

void
origin_tunnel_ended(struct origin *o, bool is_cut)
{
	struct exchange *x = o->x;

	o->is_down_ended = true;
	stream_set_reading(&o->stream, false);
	exchange_origin_end(x);
	/*
	 * A TLS stream that was cut takes nothing more. WebSocket says by
	 * itself whether it was whole, so that is no fault of the answer.
	 */
	if (!is_cut || o->x != x)
		return;
	o->is_write_failed = true;
	buf_done(&o->out);
	origin_tunnel_written(o);
}

void
origin_tunnel_written(struct origin *o)
{
	bool is_over =
	    o->is_up_whole || (o->is_down_ended && o->is_write_failed);

	if (!is_over || o->out.len > 0 || stream_has_unsent(&o->stream) ||
	    o->stream.is_shut)
		return;
	stream_shutdown(&o->stream);
	exchange_origin_sent(o->x);
}
