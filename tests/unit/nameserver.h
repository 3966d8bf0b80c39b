/*
 * A nameserver with a script, for tests of the dialler: UDP and TCP on a
 * loopback address, on the test's own event loop. It notes every question.
 */
#ifndef TAPWARD_TESTS_UNIT_NAMESERVER_H
#define TAPWARD_TESTS_UNIT_NAMESERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/dns.h"

struct event_base;
struct nameserver;

/* What is odd about the answers for a name. */
enum nameserver_quirk {
	NAMESERVER_PLAIN,
	NAMESERVER_SILENT,
	NAMESERVER_TRUNCATES, /* UDP: TC and nothing else; TCP: all */
	NAMESERVER_SERVFAIL,
	NAMESERVER_EMPTY_FIRST, /* an empty datagram before the answer */
	NAMESERVER_OTHER_FIRST, /* an answer to another question before it */
	NAMESERVER_SILENT_AAAA, /* A is answered */
	NAMESERVER_TWO_QUESTIONS,
};

struct nameserver_row {
	const char *owner;
	const char *type;  /* "A", "AAAA", "CNAME"; NULL: a quirk */
	const char *value; /* text of the address or the target */
	uint32_t ttl_s;
	/* 0: always; n: only in the n-th answer to this name and type */
	unsigned int turn;
	enum nameserver_quirk quirk;
};

/*
 * rows are borrowed and end with an owner of NULL. Fails the test when a
 * socket is not to be had. port 0: any.
 */
struct nameserver *nameserver_new(struct event_base *base, const char *address,
    const struct nameserver_row *rows);
void nameserver_free(struct nameserver *n);
uint16_t nameserver_port(const struct nameserver *n);
/*
 * Questions so far: all but those for the root, which the dialler asks of its
 * own accord, or those for a name ("A" and "AAAA" each count).
 */
size_t nameserver_count(const struct nameserver *n);
size_t nameserver_count_of(const struct nameserver *n, const char *name);
size_t nameserver_count_tcp(const struct nameserver *n);
/* Its answer to a question that came in another way, without a frame. */
void nameserver_answer(struct nameserver *n, const struct dns_query *q,
    struct wr *w);

#endif
