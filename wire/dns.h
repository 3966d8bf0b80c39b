/*
 * DNS questions of guests and our answers to them (RFC 1035, EDNS RFC 6891,
 * Extended DNS Errors RFC 8914). Only what the gate speaks: answers of
 * upstream nameservers are c-ares' business, in another process.
 */
#ifndef TAPWARD_WIRE_DNS_H
#define TAPWARD_WIRE_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/host.h"

/* 255 bytes of name, each as \DDD at worst, and a NUL. */
#define DNS_TEXT_SIZE 1024
/* Smallest and largest answer by UDP (RFC 1035 4.2.1; DNS flag day 2020). */
#define DNS_UDP_MIN_BYTES 512
#define DNS_UDP_MAX_BYTES 1232
/* Room that dns_answer_write() needs at most. */
#define DNS_ANSWER_MAX_BYTES 1024

enum {
	DNS_TYPE_A = 1,
	DNS_TYPE_NS = 2,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_TXT = 16,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_SRV = 33,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_SVCB = 64,
	DNS_TYPE_HTTPS = 65,
	DNS_TYPE_ANY = 255,
};

enum dns_rcode {
	DNS_RCODE_NOERROR = 0, /* with no address: NODATA */
	DNS_RCODE_FORMERR = 1,
	DNS_RCODE_SERVFAIL = 2,
	DNS_RCODE_NXDOMAIN = 3,
	DNS_RCODE_NOTIMP = 4,
	DNS_RCODE_REFUSED = 5,
	DNS_RCODE_BADVERS = 16,
};

/* RFC 8914 4; those that we send. */
enum dns_ede {
	DNS_EDE_OTHER = 0,
	DNS_EDE_BLOCKED = 15,
	DNS_EDE_PROHIBITED = 18,
	DNS_EDE_NOT_SUPPORTED = 21,
	DNS_EDE_INVALID = 24,
};

enum dns_status {
	DNS_OK,
	DNS_DROP,    /* no header, or itself an answer: say nothing */
	DNS_FORMERR, /* answer with the rcode of the same name */
	DNS_NOTIMP,  /* opcode other than QUERY */
	DNS_REFUSED, /* class other than IN */
	DNS_BADVERS, /* EDNS version other than 0 */
	DNS_STATUS_COUNT
};

struct dns_query {
	uint16_t id;
	uint16_t flags;       /* the query's second header word */
	struct span question; /* as sent, to be echoed with its case; empty
			       * when it could not be parsed */
	uint16_t type;
	uint16_t class;
	/* Presentation form, lower case, no final dot; "." for the root. */
	char text[DNS_TEXT_SIZE];
	char host[HOST_SIZE]; /* canonical if host_is_written(host_status) */
	enum host_status host_status;
	bool has_edns;
	bool wants_dnssec;    /* DO */
	size_t udp_max_bytes; /* answers by UDP may be this long */
};

/*
 * One question, nothing else but an OPT record (RFC 9619: QDCOUNT is 1); no
 * compression in it, nothing after it. For every outcome but DNS_DROP, ret
 * holds what an answer needs: id, flags, and the question if it was read;
 * only for DNS_OK the rest.
 */
enum dns_status dns_query_parse(struct span packet, struct dns_query *ret);
/* The rcode to answer with; NOERROR for DNS_OK and DNS_DROP. */
enum dns_rcode dns_status_rcode(enum dns_status s);
const char *dns_status_text(enum dns_status s);
/* "AAAA"; "TYPE123" (RFC 3597) for those without a row. buf holds 12. */
const char *dns_type_text(uint16_t type, char buf[12]);

struct dns_answer {
	enum dns_rcode rcode;
	bool has_address;
	uint32_t address; /* IPv4, host byte order */
	uint32_t ttl_s;   /* of the address, or of its absence */
	bool has_ede;
	enum dns_ede ede;
	const char *ede_text; /* ASCII; NULL for none; cut at 200 bytes */
};

/*
 * Appends the answer to w. max_bytes: q->udp_max_bytes by UDP, 65535 by TCP.
 * NXDOMAIN and NODATA carry a SOA so that they may be kept for ttl_s. An
 * Extended DNS Error goes only to who sent OPT; if the whole does not fit,
 * first its text goes, then everything but the question, with TC set. w fails
 * when it is smaller than that.
 */
void dns_answer_write(const struct dns_query *q, const struct dns_answer *a,
    size_t max_bytes, struct wr *w);

/*
 * The first message of a TCP stream (RFC 1035 4.2.2: u16 length before it).
 * True: ret_msg borrows it and ret_used is how much of the stream it took.
 * False: more bytes are needed.
 */
bool dns_frame_next(struct span so_far, struct span *ret_msg, size_t *ret_used);

#endif
