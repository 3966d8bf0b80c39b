/* Questions over a stream, see dns_ask.h. */
#include "wire/dns_ask.h"

#include <string.h>

enum {
	FLAG_QR = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_RD = 0x0100,
	FLAG_RCODE = 0x000f,
	CLASS_IN = 1,
	HEADER_BYTES = 12,
	OPTION_PADDING = 12,
	/* OPT without options, and the head of the one that pads. */
	OPT_BYTES = 11,
	OPTION_BYTES = 4,
};

static void
put_name(struct wr *w, const char *host)
{
	while (*host != '\0') {
		const size_t len = strcspn(host, ".");

		wr_u8(w, (uint8_t)len);
		wr_bytes(w, host, len);
		host += len;
		if (*host == '.')
			host++;
	}
	wr_u8(w, 0);
}

/* The message is len bytes long by now; OPT, with zeros up to the block. */
static void
put_opt(struct wr *w, size_t len)
{
	const size_t least = len + OPT_BYTES + OPTION_BYTES;
	const size_t blocks =
	    (least + DNS_ASK_BLOCK_BYTES - 1) / DNS_ASK_BLOCK_BYTES;
	const size_t padding = blocks * DNS_ASK_BLOCK_BYTES - least;

	wr_u8(w, 0);
	wr_u16(w, DNS_TYPE_OPT);
	wr_u16(w, DNS_UDP_MAX_BYTES);
	wr_u32(w, 0); /* version 0, no DO */
	wr_u16(w, (uint16_t)(OPTION_BYTES + padding));
	wr_u16(w, OPTION_PADDING);
	wr_u16(w, (uint16_t)padding);
	for (size_t i = 0; i < padding; i++)
		wr_u8(w, 0);
}

void
dns_ask_write(struct wr *w, uint16_t id, const char *host, uint16_t type)
{
	const size_t frame = w->len;

	wr_u16(w, 0);
	wr_u16(w, id);
	wr_u16(w, FLAG_RD);
	wr_u16(w, 1);
	wr_u16(w, 0);
	wr_u16(w, 0);
	wr_u16(w, 1);
	put_name(w, host);
	wr_u16(w, type);
	wr_u16(w, CLASS_IN);
	put_opt(w, w->len - frame - 2);
	if (wr_ok(w))
		wr_patch_u16(w, frame, (uint16_t)(w->len - frame - 2));
}

enum dns_frame
dns_ask_frame(struct span so_far, struct span *ret_msg, size_t *ret_used)
{
	struct rd r = rd_span(so_far);
	const uint16_t len = rd_u16(&r);

	if (!rd_ok(&r))
		return DNS_FRAME_MORE;
	if (len < HEADER_BYTES || len > DNS_ASK_ANSWER_MAX_BYTES)
		return DNS_FRAME_BAD;
	return dns_frame_next(so_far, ret_msg, ret_used) ? DNS_FRAME_WHOLE
							 : DNS_FRAME_MORE;
}

uint16_t
dns_ask_id(struct span msg)
{
	struct rd r = rd_span(msg);

	return rd_u16(&r);
}

/* Not compressed: there is nothing before it to point to. */
static bool
name_is(struct rd *r, const char *host)
{
	for (;;) {
		const size_t len = strcspn(host, ".");

		if (rd_u8(r) != len)
			return false;
		if (len == 0)
			return true;
		if (!span_eq_case(rd_take(r, len),
			(struct span){ (const uint8_t *)host, len }))
			return false;
		host += len;
		if (*host == '.')
			host++;
	}
}

bool
dns_ask_answers(struct span msg, const char *host, uint16_t type,
    uint8_t *ret_rcode)
{
	struct rd r = rd_span(msg);
	uint16_t flags, questions, asked_type, asked_class;
	bool is_ours;

	rd_skip(&r, 2);
	flags = rd_u16(&r);
	questions = rd_u16(&r);
	rd_skip(&r, 6);
	is_ours = (flags & FLAG_QR) != 0 && (flags & FLAG_OPCODE) == 0 &&
	    questions == 1 && name_is(&r, host);
	asked_type = rd_u16(&r);
	asked_class = rd_u16(&r);
	if (!is_ours || !rd_ok(&r) || asked_type != type ||
	    asked_class != CLASS_IN)
		return false;
	*ret_rcode = flags & FLAG_RCODE;
	return true;
}
