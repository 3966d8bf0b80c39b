#include <string.h>

#include "wire/dns.h"

enum {
	FLAG_QR = 0x8000,
	FLAG_TC = 0x0200,
	FLAG_RA = 0x0080,
	FLAGS_ECHOED = 0x7910, /* opcode, RD, CD */
	CLASS_IN = 1,
	QUESTION_NAME = 0xc00c, /* points at the question's name */
	OPTION_EDE = 15,
	EDNS_DO = 0x8000,
	EDE_TEXT_MAX_BYTES = 200,
};

/* How much of an answer is written, tried from the fullest down. */
enum detail {
	DETAIL_QUESTION, /* TC: ask again by TCP */
	DETAIL_RECORDS,  /* an Extended DNS Error without its text */
	DETAIL_ALL,
};

static void
write_record_head(struct wr *w, uint16_t type, uint32_t ttl_s)
{
	wr_u16(w, QUESTION_NAME);
	wr_u16(w, type);
	wr_u16(w, CLASS_IN);
	wr_u32(w, ttl_s);
}

/* RFC 2308 3: the minimum says how long an absence may be kept. */
static void
write_soa(struct wr *w, uint32_t ttl_s)
{
	write_record_head(w, DNS_TYPE_SOA, ttl_s);
	wr_u16(w, 22);
	wr_u8(w, 0); /* both names are the root */
	wr_u8(w, 0);
	wr_u32(w, 1); /* serial */
	wr_u32(w, 3600);
	wr_u32(w, 600);
	wr_u32(w, 86400);
	wr_u32(w, ttl_s);
}

static void
write_address(struct wr *w, const struct dns_answer *a)
{
	write_record_head(w, DNS_TYPE_A, a->ttl_s);
	wr_u16(w, 4);
	wr_u32(w, a->address);
}

/* RFC 8914 2. */
static void
write_ede(struct wr *w, const struct dns_answer *a, enum detail detail)
{
	size_t len = 0;

	if (detail == DETAIL_ALL && a->ede_text != NULL)
		len = strnlen(a->ede_text, EDE_TEXT_MAX_BYTES);
	wr_u16(w, OPTION_EDE);
	wr_u16(w, (uint16_t)(2 + len));
	wr_u16(w, (uint16_t)a->ede);
	wr_bytes(w, a->ede_text, len);
}

/* RFC 6891 6.1.2; the upper eight bits of the rcode are in the "TTL". */
static void
write_opt(struct wr *w, const struct dns_query *q, const struct dns_answer *a,
    enum detail detail)
{
	size_t length_at;

	wr_u8(w, 0);
	wr_u16(w, DNS_TYPE_OPT);
	wr_u16(w, DNS_UDP_MAX_BYTES);
	wr_u8(w, (uint8_t)(a->rcode >> 4));
	wr_u8(w, 0);
	wr_u16(w, q->wants_dnssec ? EDNS_DO : 0);
	length_at = w->len;
	wr_u16(w, 0);
	if (a->has_ede && detail != DETAIL_QUESTION)
		write_ede(w, a, detail);
	if (wr_ok(w))
		wr_patch_u16(w, length_at, (uint16_t)(w->len - length_at - 2));
}

static void
write_answer(struct wr *w, const struct dns_query *q,
    const struct dns_answer *a, enum detail detail)
{
	bool has_records = detail != DETAIL_QUESTION && q->question.len > 0;
	bool has_address =
	    has_records && a->has_address && a->rcode == DNS_RCODE_NOERROR;
	bool has_soa = has_records && !has_address &&
	    (a->rcode == DNS_RCODE_NOERROR || a->rcode == DNS_RCODE_NXDOMAIN);
	unsigned int flags =
	    FLAG_QR | FLAG_RA | (q->flags & FLAGS_ECHOED) | (a->rcode & 0xfU);

	if (detail == DETAIL_QUESTION)
		flags |= FLAG_TC;
	wr_u16(w, q->id);
	wr_u16(w, (uint16_t)flags);
	wr_u16(w, q->question.len > 0);
	wr_u16(w, has_address);
	wr_u16(w, has_soa);
	wr_u16(w, q->has_edns);
	wr_bytes(w, q->question.ptr, q->question.len);
	if (has_address)
		write_address(w, a);
	if (has_soa)
		write_soa(w, a->ttl_s);
	if (q->has_edns)
		write_opt(w, q, a, detail);
}

void
dns_answer_write(const struct dns_query *q, const struct dns_answer *a,
    size_t max_bytes, struct wr *w)
{
	size_t left = w->size - w->len;
	size_t size = left < max_bytes ? left : max_bytes;

	if (!wr_ok(w))
		return;
	for (int detail = DETAIL_ALL; detail >= DETAIL_QUESTION; detail--) {
		struct wr part = wr_init(w->buf + w->len, size);

		write_answer(&part, q, a, (enum detail)detail);
		if (!wr_ok(&part))
			continue;
		w->len += part.len;
		return;
	}
	w->failed = true;
}
