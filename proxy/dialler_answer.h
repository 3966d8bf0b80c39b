/*
 * What we take out of a nameserver's answer (RFC 1035 4.1): the addresses at
 * the end of the chain that begins at the name we asked for. Pure. c-ares has
 * matched id, sender and question; here the bytes are read again as if it had
 * not, since CVE-2021-3672 and CVE-2023-32067 were in just that code.
 */
#ifndef TAPWARD_PROXY_DIALLER_ANSWER_H
#define TAPWARD_PROXY_DIALLER_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/address.h"

/* An answer with more is refused: all are classified, or none is dialled. */
#define DIALLER_ANSWER_ADDRESSES_MAX 64
/* RFC 1034 3.6.2 asks for none at all; real chains have up to 5. */
#define DIALLER_ANSWER_CNAMES_MAX 8

enum dialler_answer_status {
	DIALLER_ANSWER_ADDRESSES, /* one or more */
	DIALLER_ANSWER_NONE,      /* the name, or this type of it, is not */
	DIALLER_ANSWER_FAILED,    /* SERVFAIL, REFUSED and the like */
	/* Not an answer to our question, or one that can be read two ways. */
	DIALLER_ANSWER_BAD,
};

struct dialler_answer {
	unsigned int count;
	struct address addresses[DIALLER_ANSWER_ADDRESSES_MAX];
	/* the least of the chain; of no use unless there are addresses */
	uint32_t ttl_s;
};

/*
 * host is canonical; type is DNS_TYPE_A or DNS_TYPE_AAAA (wire/dns.h). ret is
 * written for DIALLER_ANSWER_ADDRESSES only.
 */
enum dialler_answer_status dialler_answer_parse(struct span packet,
    const char *host, uint16_t type, struct dialler_answer *ret);

/*
 * Whoever sent it answers the question that was asked, well or ill. What is in
 * such an answer is its zone's, which may be a guest's own.
 */
bool dialler_answer_is_ours(struct span packet, const char *host,
    uint16_t type);

#endif
