/*
 * Whatever is answered fits its limit, repeats id and question, and counts
 * its records right; a host that is read is canonical.
 */
#include "fuzz_wire.h"

#include <string.h>

#include "wire/dns.h"

/* Passes over a name of ours: the question's, a pointer to it, or the root. */
static void
skip_name(struct rd *r)
{
	uint8_t len;

	while ((len = rd_u8(r)) != 0) {
		if (len >> 6 == 3) {
			HOLDS(rd_u8(r) == 0x0c);
			return;
		}
		rd_skip(r, len);
	}
}

static void
skip_records(struct rd *r, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		skip_name(r);
		rd_skip(r, 8);
		rd_skip(r, rd_u16(r));
	}
}

static void
answer_is_sound(const struct dns_query *q, struct span answer, size_t max)
{
	struct rd r = rd_span(answer);
	uint16_t questions;
	unsigned int rest;

	HOLDS(answer.len <= max);
	HOLDS(rd_u16(&r) == q->id);
	HOLDS((rd_u16(&r) & 0x8000) != 0);
	questions = rd_u16(&r);
	rest = rd_u16(&r);
	rest += rd_u16(&r);
	rest += rd_u16(&r);
	HOLDS(questions == (q->question.len > 0));
	HOLDS(span_eq(rd_take(&r, q->question.len), q->question));
	skip_records(&r, rest);
	HOLDS(rd_done(&r));
}

static void
answers(const struct dns_query *q, enum dns_rcode rcode, size_t max)
{
	struct dns_answer a = {
		.rcode = rcode,
		.has_address = q->type == DNS_TYPE_A,
		.address = 0xc6120001,
		.ttl_s = 5,
		.has_ede = true,
		.ede = DNS_EDE_BLOCKED,
		.ede_text = "no rule names this host",
	};
	uint8_t buf[DNS_ANSWER_MAX_BYTES];
	struct wr w = wr_init(buf, sizeof(buf));

	dns_answer_write(q, &a, max, &w);
	HOLDS(wr_ok(&w));
	answer_is_sound(q, (struct span){ buf, w.len }, max);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in = { data, size }, msg;
	struct dns_query q;
	enum dns_status s = dns_query_parse(in, &q);
	char again[HOST_SIZE];
	size_t used;

	if (dns_frame_next(in, &msg, &used))
		HOLDS(used <= size && msg.len + 2 == used);
	HOLDS(dns_status_text(s) != NULL);
	if (s == DNS_DROP)
		return 0;
	HOLDS(q.udp_max_bytes >= DNS_UDP_MIN_BYTES &&
	    q.udp_max_bytes <= DNS_UDP_MAX_BYTES);
	answers(&q, dns_status_rcode(s), q.udp_max_bytes);
	answers(&q, DNS_RCODE_NXDOMAIN, q.udp_max_bytes);
	answers(&q, DNS_RCODE_NOERROR, 300);
	if (s == DNS_OK && host_is_written(q.host_status)) {
		HOLDS(host_parse(span_of(q.host), again) == q.host_status);
		HOLDS(strcmp(q.host, again) == 0);
		HOLDS(strcmp(q.host, q.text) == 0);
	}
	return 0;
}
