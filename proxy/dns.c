/*
 * What a question is answered, and which questions are written down. A guest
 * can put data into names and ask by the thousand, so a name is recorded once
 * a minute and verdict, and records have a rate; what is left out is counted.
 */
#include "proxy/dns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "conf/siphash.h"
#include "proxy/audit.h"
#include "proxy/bucket.h"
#include "proxy/synth.h"
#include "wire/dns.h"

#define TOLD_SLOTS 512
#define TOLD_MS 60000
#define RECORDS_PER_SECOND 20
/* Between two records that tell what was left out. */
#define SUMMARY_MS 1000

/* A question that was recorded; two that share a slot oust each other. */
struct told {
	uint64_t hash;
	uint64_t at_ms;
};

struct dns {
	struct bucket answers;
	struct bucket refusals; /* over the rate: said so, then silence */
	struct bucket records;
	struct siphash_key key;
	struct told told[TOLD_SLOTS];
	uint64_t unrecorded; /* questions */
	uint64_t over_rate;
	uint64_t summary_ms;
};

int
dns_new(struct gate *g)
{
	struct dns *d = calloc(1, sizeof(*d));
	uint64_t now_ms = clock_mono_ms();

	if (d == NULL)
		return -ENOMEM;
	if (getrandom(&d->key, sizeof(d->key), 0) != sizeof(d->key)) {
		free(d);
		return -EIO;
	}
	d->answers = bucket_init(g->limits.dns_per_second, now_ms);
	d->refusals = d->answers;
	d->records = bucket_init(RECORDS_PER_SECOND, now_ms);
	g->dns = d;
	return 0;
}

void
dns_free(struct gate *g)
{
	free(g->dns);
	g->dns = NULL;
}

/* Was this very thing recorded within the last minute? Notes it if not. */
static bool
told_before(struct dns *d, struct span key, uint64_t now_ms)
{
	uint64_t hash = siphash(&d->key, key);
	struct told *t = &d->told[hash % TOLD_SLOTS];

	if (t->hash == hash && now_ms - t->at_ms < TOLD_MS)
		return true;
	*t = (struct told){ .hash = hash, .at_ms = now_ms };
	return false;
}

static void
record_count(struct gate *g, enum reason reason, uint64_t count)
{
	struct audit_record r = audit_record_init(AUDIT_DNS);
	char text[64];
	struct wr w = wr_init(text, sizeof(text));

	wr_fmt(&w, "%llu further questions", (unsigned long long)count);
	r.reason = reason;
	r.detail = (struct span){ w.buf, w.len };
	audit_send(g, &r);
}

/* Tells what was left out, once a second at most. */
static void
summarize(struct gate *g, uint64_t now_ms)
{
	struct dns *d = g->dns;

	if (now_ms - d->summary_ms < SUMMARY_MS)
		return;
	if (d->over_rate > 0)
		record_count(g, REASON_LIMIT_DNS, d->over_rate);
	if (d->unrecorded > 0)
		record_count(g, REASON_NONE, d->unrecorded);
	d->over_rate = 0;
	d->unrecorded = 0;
	d->summary_ms = now_ms;
}

static void
record(struct gate *g, const struct dns_query *q, const struct verdict *v)
{
	struct audit_record r = audit_record_of(AUDIT_DNS, v);
	uint64_t now_ms = clock_mono_ms();
	char type[12], key[DNS_TEXT_SIZE + 32];
	struct wr w = wr_init(key, sizeof(key));

	r.host = span_of(q->text);
	r.detail = span_of(dns_type_text(q->type, type));
	wr_u32(&w, g->policy_generation);
	wr_u8(&w, (uint8_t)v->action);
	wr_u8(&w, (uint8_t)v->reason);
	/* A denied name is one record, whatever is asked about it. */
	wr_text(&w, q->text);
	/*
	 * An answer asks nobody and opens nothing, so it is given even while
	 * nothing can be written down: the guest then reads in an answer of
	 * HTTP that the audit log is why it is refused.
	 */
	if (!audit_is_ready(g)) {
		g->dns->unrecorded++;
		return;
	}
	if (told_before(g->dns, (struct span){ w.buf, w.len }, now_ms))
		return;
	if (bucket_take(&g->dns->records, now_ms))
		audit_send(g, &r);
	else
		g->dns->unrecorded++;
}

static uint32_t
address_of(struct gate *g, const char *host)
{
	uint32_t reserved = policy_tcp_address(&g->pair, host);

	if (reserved != 0)
		reserved = synth_from_policy(g->synth, reserved);
	return reserved != 0 ? reserved : synth_take(g->synth, host);
}

static void
answer_name(struct gate *g, const struct dns_query *q, const struct verdict *v,
    char code[48], struct dns_answer *ret)
{
	ret->rcode = DNS_RCODE_NOERROR;
	if (q->type != DNS_TYPE_A)
		return;
	ret->address = address_of(g, q->host);
	ret->has_address = ret->address != 0;
	if (!ret->has_address)
		ret->rcode = DNS_RCODE_SERVFAIL;
	if (v->action == ACTION_ALLOW)
		return;
	ret->has_ede = true;
	ret->ede = DNS_EDE_BLOCKED;
	ret->ede_text = verdict_code(v, code);
}

/*
 * No host name. Single labels and localhost do not exist; of other names that
 * cannot be a host only an address is refused: services have names with
 * underscores, and asking for them is no error.
 */
static void
answer_no_name(const struct dns_query *q, struct dns_answer *ret)
{
	bool is_address = q->type == DNS_TYPE_A || q->type == DNS_TYPE_AAAA;

	ret->rcode = DNS_RCODE_NOERROR;
	if (!host_is_written(q->host_status) && !is_address)
		return;
	ret->rcode = DNS_RCODE_NXDOMAIN;
	ret->has_ede = true;
	ret->ede = DNS_EDE_BLOCKED;
	ret->ede_text = host_status_text(q->host_status);
}

static void
refuse(struct dns_answer *ret, enum dns_rcode rcode, enum reason reason)
{
	ret->rcode = rcode;
	ret->has_ede = true;
	ret->ede = DNS_EDE_PROHIBITED;
	ret->ede_text = reason_code(reason);
}

static void
answer_question(struct gate *g, const struct dns_query *q,
    struct dns_answer *ret, char code[48])
{
	struct verdict none = { .reason = REASON_NO_RULE,
		.rule = "-",
		.file = "",
		.say = "",
		.credential = "" };
	struct verdict v;

	if (q->host_status != HOST_NAME) {
		answer_no_name(q, ret);
		record(g, q, &none);
		return;
	}
	v = policy_judge_name(&g->pair, q->host);
	answer_name(g, q, &v, code, ret);
	record(g, q, &v);
}

/* False: so far over the rate that silence is the answer. */
static bool
within_rate(struct gate *g, struct dns_answer *ret, bool *ret_is_over)
{
	struct dns *d = g->dns;
	uint64_t now_ms = clock_mono_ms();

	summarize(g, now_ms);
	*ret_is_over = false;
	if (bucket_take(&d->answers, now_ms))
		return true;
	d->over_rate++;
	*ret_is_over = true;
	refuse(ret, DNS_RCODE_REFUSED, REASON_LIMIT_DNS);
	return bucket_take(&d->refusals, now_ms);
}

bool
dns_answer(struct gate *g, struct span packet, bool is_udp, struct wr *out)
{
	struct dns_answer a = { .ttl_s = DNS_TTL_S };
	struct dns_query q;
	enum dns_status status;
	char code[48];
	bool is_over;

	if (!within_rate(g, &a, &is_over))
		return false;
	status = dns_query_parse(packet, &q);
	if (status == DNS_DROP)
		return false;
	if (status != DNS_OK)
		a = (struct dns_answer){ .rcode = dns_status_rcode(status) };
	else if (!is_over)
		answer_question(g, &q, &a, code);
	dns_answer_write(&q, &a,
	    is_udp && status == DNS_OK ? q.udp_max_bytes : DNS_UDP_MIN_BYTES,
	    out);
	return wr_ok(out);
}
