/*
 * Answers of nameservers, see dialler_answer.h. Records may come in any
 * order, so each step of the chain walks them all again: at most
 * DIALLER_ANSWER_CNAMES_MAX + 1 times, over at most RECORDS_MAX of them.
 */
#include "proxy/dialler_answer.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "wire/dns.h"
#include "wire/host.h"

#define RECORDS_MAX 256
#define CLASS_IN 1

enum {
	FLAG_QR = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_TC = 0x0200,
	FLAG_RCODE = 0x000f,
};

/* One resource record; rdata may hold a compressed name. */
struct record {
	char name[HOST_SIZE];
	uint16_t type;
	uint16_t class;
	uint32_t ttl_s;
	size_t rdata_at; /* offset in the packet */
	struct span rdata;
};

/* The name we are at, and what the walk over the records found for it. */
struct step {
	char name[HOST_SIZE];
	char target[HOST_SIZE];
	bool has_target;
};

static size_t
offset_of(struct span packet, const struct rd *r)
{
	return packet.len - rd_left(r);
}

/*
 * A label as it may stand in an answer: letters, digits, hyphen, and the
 * underscore that targets of CNAMEs have. Any other byte is what CVE-2021-3672
 * was about. 0x40 and 0x80 are no lengths (RFC 6891 5).
 */
static void
read_label(struct rd *r, size_t len, struct wr *w)
{
	const struct span label = rd_take(r, len);

	if (len > 63)
		rd_fail(r);
	if (w->len > 0)
		wr_u8(w, '.');
	for (size_t i = 0; i < label.len; i++) {
		const uint8_t c = label.ptr[i];

		if (!ascii_is_alnum(c) && c != '-' && c != '_')
			rd_fail(r);
		wr_u8(w, ascii_lower(c));
	}
}

/*
 * Takes the rest of a pointer and puts a reader at its target into *ret. The
 * target lies before *begin, where this run of labels began, and becomes the
 * new one: each jump goes back, so none loops.
 */
static void
read_pointer(struct span packet, struct rd *r, uint8_t first, size_t *begin,
    struct rd *ret)
{
	const size_t to = (size_t)(first & 0x3f) << 8 | rd_u8(r);
	const bool is_ok = rd_ok(r) && to < *begin;

	*ret = rd_span(packet);
	rd_skip(ret, to);
	*begin = to;
	if (!is_ok)
		rd_fail(ret);
}

/* A name at r, lower case, into ret. */
static void
read_name(struct span packet, struct rd *r, char ret[HOST_SIZE])
{
	struct wr w = wr_init(ret, HOST_SIZE - 1);
	size_t begin = offset_of(packet, r);
	struct rd away = *r;
	struct rd *at = r;
	uint8_t len;

	while ((len = rd_u8(at)) != 0) {
		if (len < 0xc0) {
			read_label(at, len, &w);
			continue;
		}
		read_pointer(packet, at, len, &begin, &away);
		at = &away;
	}
	if (!rd_ok(at) || !wr_ok(&w)) {
		rd_fail(r);
		ret[0] = '\0';
		return;
	}
	ret[w.len] = '\0';
}

static void
read_record(struct span packet, struct rd *r, struct record *ret)
{
	uint16_t len;

	read_name(packet, r, ret->name);
	ret->type = rd_u16(r);
	ret->class = rd_u16(r);
	ret->ttl_s = rd_u32(r);
	/* RFC 2181 8: a value with the first bit set means 0. */
	if (ret->ttl_s > INT32_MAX)
		ret->ttl_s = 0;
	len = rd_u16(r);
	ret->rdata_at = offset_of(packet, r);
	ret->rdata = rd_take(r, len);
}

/* The one question: exactly what we asked. */
static bool
question_is(struct span packet, struct rd *r, const char *host, uint16_t type)
{
	char name[HOST_SIZE];
	uint16_t asked_type, asked_class;

	read_name(packet, r, name);
	asked_type = rd_u16(r);
	asked_class = rd_u16(r);
	return rd_ok(r) && strcmp(name, host) == 0 && asked_type == type &&
	    asked_class == CLASS_IN;
}

static bool
take_address(const struct record *rec, struct dialler_answer *ret)
{
	const size_t len = rec->type == DNS_TYPE_A ? 4 : 16;
	struct address a = { .family = rec->type == DNS_TYPE_A ? ADDRESS_IPV4
							       : ADDRESS_IPV6 };

	if (rec->rdata.len != len || ret->count == DIALLER_ANSWER_ADDRESSES_MAX)
		return false;
	memcpy(a.bytes, rec->rdata.ptr, len);
	ret->addresses[ret->count++] = a;
	return true;
}

/* RFC 1034 3.6.2: at most one CNAME at a name. */
static bool
take_target(struct span packet, const struct record *rec, struct step *step)
{
	struct rd r = rd_span(packet);

	if (step->has_target)
		return false;
	rd_skip(&r, rec->rdata_at);
	read_name(packet, &r, step->target);
	step->has_target = true;
	return rd_ok(&r) && step->target[0] != '\0' &&
	    offset_of(packet, &r) == rec->rdata_at + rec->rdata.len;
}

static bool
take_record(struct span packet, const struct record *rec, uint16_t type,
    struct step *step, struct dialler_answer *ret)
{
	bool is_ok;

	if (rec->class != CLASS_IN || strcmp(rec->name, step->name) != 0)
		return true;
	if (rec->type == type)
		is_ok = take_address(rec, ret);
	else if (rec->type == DNS_TYPE_CNAME)
		is_ok = take_target(packet, rec, step);
	else
		return true;
	if (rec->ttl_s < ret->ttl_s)
		ret->ttl_s = rec->ttl_s;
	/* A CNAME and an address at one name (RFC 1034 3.6.2). */
	return is_ok && !(step->has_target && ret->count > 0);
}

/* One step of the chain: all records, for those at step->name. */
static bool
walk_records(struct span packet, struct rd r, unsigned int count, uint16_t type,
    struct step *step, struct dialler_answer *ret)
{
	for (unsigned int i = 0; i < count; i++) {
		struct record rec;

		read_record(packet, &r, &rec);
		if (!rd_ok(&r) || !take_record(packet, &rec, type, step, ret))
			return false;
	}
	return true;
}

/* answers: a reader at the answer section, which holds count records. */
static enum dialler_answer_status
follow_chain(struct span packet, struct rd answers, unsigned int count,
    const char *host, uint16_t type, struct dialler_answer *ret)
{
	struct step step = { .has_target = false };

	(void)strncpy(step.name, host, sizeof(step.name) - 1);
	for (int i = 0; i <= DIALLER_ANSWER_CNAMES_MAX; i++) {
		step.has_target = false;
		if (!walk_records(packet, answers, count, type, &step, ret))
			return DIALLER_ANSWER_BAD;
		if (ret->count > 0)
			return DIALLER_ANSWER_ADDRESSES;
		if (!step.has_target)
			return DIALLER_ANSWER_NONE;
		memcpy(step.name, step.target, sizeof(step.name));
	}
	return DIALLER_ANSWER_BAD;
}

static enum dialler_answer_status
status_of(unsigned int rcode)
{
	if (rcode == DNS_RCODE_NXDOMAIN)
		return DIALLER_ANSWER_NONE;
	return DIALLER_ANSWER_FAILED;
}

/* *r, at the packet's start, is then at its answer section. */
static bool
take_head(struct span packet, struct rd *r, const char *host, uint16_t type,
    uint16_t *ret_flags, uint16_t *ret_answers)
{
	uint16_t questions;

	(void)rd_u16(r); /* the id, which c-ares has matched */
	*ret_flags = rd_u16(r);
	questions = rd_u16(r);
	*ret_answers = rd_u16(r);
	rd_skip(r, 4); /* authority and additional records are not read */
	return rd_ok(r) && (*ret_flags & FLAG_QR) != 0 &&
	    (*ret_flags & FLAG_OPCODE) == 0 && questions == 1 &&
	    question_is(packet, r, host, type);
}

bool
dialler_answer_is_ours(struct span packet, const char *host, uint16_t type)
{
	struct rd r = rd_span(packet);
	uint16_t flags, answers;

	return take_head(packet, &r, host, type, &flags, &answers);
}

enum dialler_answer_status
dialler_answer_parse(struct span packet, const char *host, uint16_t type,
    struct dialler_answer *ret)
{
	struct dialler_answer answer = { .ttl_s = UINT32_MAX };
	struct rd r = rd_span(packet);
	enum dialler_answer_status status;
	uint16_t flags, answers;

	if (!take_head(packet, &r, host, type, &flags, &answers) ||
	    (flags & FLAG_TC) != 0 || answers > RECORDS_MAX)
		return DIALLER_ANSWER_BAD;
	if ((flags & FLAG_RCODE) != DNS_RCODE_NOERROR)
		return status_of(flags & FLAG_RCODE);
	status = follow_chain(packet, r, answers, host, type, &answer);
	if (status == DIALLER_ANSWER_ADDRESSES)
		*ret = answer;
	return status;
}
