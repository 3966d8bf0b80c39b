/*
 * Questions. Answers are in dns_answer.c.
 */
#include "wire/dns.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"

enum {
	FLAG_QR = 0x8000,
	FLAG_OPCODE = 0x7800,
	CLASS_IN = 1,
	EDNS_DO = 0x8000,
	LABEL_MAX = 63,
	NAME_MAX_BYTES = 255, /* RFC 1035 2.3.4, with all length bytes */
};

/* RFC 1035 5.1: what is not plain is written \DDD. */
static void
write_label(struct wr *w, struct span label)
{
	for (size_t i = 0; i < label.len; i++) {
		uint8_t c = ascii_lower(label.ptr[i]);

		if (c > 0x20 && c < 0x7f && c != '.' && c != '\\')
			wr_u8(w, c);
		else
			wr_fmt(w, "\\%03u", (unsigned int)c);
	}
}

/* Fails r on compression (RFC 1035 4.1.4): there is nothing to point to. */
static void
take_name(struct rd *r, char ret[DNS_TEXT_SIZE])
{
	struct wr w = wr_init(ret, DNS_TEXT_SIZE);
	size_t bytes = 1, len;

	while ((len = rd_u8(r)) > 0) {
		bytes += len + 1;
		if (len > LABEL_MAX || bytes > NAME_MAX_BYTES) {
			rd_fail(r);
			return;
		}
		if (w.len > 0)
			wr_u8(&w, '.');
		write_label(&w, rd_take(r, len));
	}
	if (w.len == 0)
		wr_u8(&w, '.');
	wr_u8(&w, '\0');
	assert(wr_ok(&w));
}

static void
take_question(struct rd *r, struct dns_query *q)
{
	struct rd ahead = *r;

	take_name(&ahead, q->text);
	q->type = rd_u16(&ahead);
	q->class = rd_u16(&ahead);
	if (!rd_ok(&ahead)) {
		rd_fail(r);
		return;
	}
	q->question = rd_take(r, rd_left(r) - rd_left(&ahead));
	q->host_status = host_parse(span_of(q->text), q->host);
}

/* RFC 6891 6.1.2; options are passed over, but must fit. */
static void
take_opt(struct rd *r, struct dns_query *q, uint8_t *ret_version)
{
	struct rd options;
	uint16_t payload;

	if (rd_u8(r) != 0 || rd_u16(r) != DNS_TYPE_OPT) {
		rd_fail(r);
		return;
	}
	payload = rd_u16(r);
	rd_skip(r, 1); /* extended rcode */
	*ret_version = rd_u8(r);
	q->wants_dnssec = (rd_u16(r) & EDNS_DO) != 0;
	options = rd_sub(r, rd_u16(r));
	while (rd_left(&options) > 0) {
		rd_skip(&options, 2);
		rd_skip(&options, rd_u16(&options));
	}
	if (!rd_ok(&options))
		rd_fail(r);
	q->has_edns = rd_ok(r);
	if (payload > DNS_UDP_MIN_BYTES)
		q->udp_max_bytes =
		    payload < DNS_UDP_MAX_BYTES ? payload : DNS_UDP_MAX_BYTES;
}

/* All behind the header's second word. */
static enum dns_status
parse_sections(struct rd *r, struct dns_query *q)
{
	uint16_t questions = rd_u16(r), answers = rd_u16(r);
	uint16_t authorities = rd_u16(r), additionals = rd_u16(r);
	uint8_t version = 0;

	if (questions != 1)
		return DNS_FORMERR;
	take_question(r, q);
	if (answers != 0 || authorities != 0 || additionals > 1)
		return DNS_FORMERR;
	if (additionals == 1)
		take_opt(r, q, &version);
	if (!rd_done(r))
		return DNS_FORMERR;
	if (version != 0)
		return DNS_BADVERS;
	return q->class == CLASS_IN ? DNS_OK : DNS_REFUSED;
}

enum dns_status
dns_query_parse(struct span packet, struct dns_query *ret)
{
	struct rd r = rd_span(packet);
	struct dns_query q = { .udp_max_bytes = DNS_UDP_MIN_BYTES,
		.host_status = HOST_EMPTY };
	enum dns_status s = DNS_NOTIMP;

	q.id = rd_u16(&r);
	q.flags = rd_u16(&r);
	if (rd_left(&r) < 8 || (q.flags & FLAG_QR) != 0)
		return DNS_DROP;
	if ((q.flags & FLAG_OPCODE) == 0)
		s = parse_sections(&r, &q);
	*ret = q;
	return s;
}

enum dns_rcode
dns_status_rcode(enum dns_status s)
{
	switch (s) {
	case DNS_OK:
	case DNS_DROP:
	case DNS_STATUS_COUNT:
		break;
	case DNS_FORMERR:
		return DNS_RCODE_FORMERR;
	case DNS_NOTIMP:
		return DNS_RCODE_NOTIMP;
	case DNS_REFUSED:
		return DNS_RCODE_REFUSED;
	case DNS_BADVERS:
		return DNS_RCODE_BADVERS;
	}
	return DNS_RCODE_NOERROR;
}

const char *
dns_status_text(enum dns_status s)
{
	static const char *const texts[] = {
		[DNS_OK] = "a well-formed question",
		[DNS_DROP] = "not a question",
		[DNS_FORMERR] = "the question is malformed",
		[DNS_NOTIMP] = "an operation that is not a question",
		[DNS_REFUSED] = "a class other than IN",
		[DNS_BADVERS] = "an EDNS version other than 0",
	};

	static_assert(sizeof(texts) / sizeof(texts[0]) == DNS_STATUS_COUNT,
	    "a text for each outcome");
	return texts[s];
}

const char *
dns_type_text(uint16_t type, char buf[12])
{
	static const struct {
		uint16_t type;
		const char *text;
	} rows[] = {
		{ DNS_TYPE_A, "A" },
		{ DNS_TYPE_NS, "NS" },
		{ DNS_TYPE_CNAME, "CNAME" },
		{ DNS_TYPE_SOA, "SOA" },
		{ DNS_TYPE_PTR, "PTR" },
		{ DNS_TYPE_TXT, "TXT" },
		{ DNS_TYPE_AAAA, "AAAA" },
		{ DNS_TYPE_SRV, "SRV" },
		{ DNS_TYPE_SVCB, "SVCB" },
		{ DNS_TYPE_HTTPS, "HTTPS" },
		{ DNS_TYPE_ANY, "ANY" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].type == type)
			return rows[i].text;
	(void)snprintf(buf, 12, "TYPE%u", (unsigned int)type);
	return buf;
}

bool
dns_frame_next(struct span so_far, struct span *ret_msg, size_t *ret_used)
{
	struct rd r = rd_span(so_far);
	struct span msg = rd_take(&r, rd_u16(&r));

	if (!rd_ok(&r))
		return false;
	*ret_msg = msg;
	*ret_used = so_far.len - rd_left(&r);
	return true;
}
