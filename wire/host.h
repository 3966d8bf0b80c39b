/*
 * Host names in one canonical spelling. Everything that is judged, minted,
 * dialled or logged keys off what host_parse() wrote, never off the bytes a
 * guest sent: two spellings of one name are how an allow-list is passed
 * (CVE-2022-24825: a final dot).
 */
#ifndef TAPWARD_WIRE_HOST_H
#define TAPWARD_WIRE_HOST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"

/* 253 bytes (RFC 1035 2.3.4 without the root's dot) and a NUL. */
#define HOST_SIZE 254

enum host_status {
	/* The three that write a name; only the first may be dialled. */
	HOST_NAME,         /* two labels or more */
	HOST_SINGLE_LABEL, /* "metadata": a search list would complete it */
	HOST_LOCALHOST,    /* localhost and all below it (RFC 6761 6.3) */
	/* An IP literal, which no rule of names can match. */
	HOST_ADDRESS,     /* dotted quad as RFC 3986 3.2.2, or IPv6 */
	HOST_ADDRESS_ODD, /* "127.1", "0x7f.1", "2130706433", "1.2.3.4." */
	/* What is no name at all. */
	HOST_EMPTY,
	HOST_TOO_LONG,       /* over 253 bytes */
	HOST_LABEL_EMPTY,    /* "a..b", ".a", two final dots */
	HOST_LABEL_TOO_LONG, /* over 63 bytes */
	HOST_LABEL_HYPHEN,   /* begins or ends with one */
	HOST_NOT_ASCII,      /* a U-label: write the A-label (xn--...) */
	HOST_BAD_BYTE,       /* not a letter, digit, hyphen or dot; '_' too */
	HOST_STATUS_COUNT
};

/*
 * Lower-cases, takes one final dot off and checks letters-digits-hyphen
 * (RFC 952, RFC 1123 2.1). Underscores are refused: they are no host name,
 * and no certificate may carry one.
 *
 * A last label that is a number (all digits, or 0x and hexadecimal digits)
 * makes the whole an address, since resolvers disagree about those.
 *
 * ret is written, with its NUL, for HOST_NAME, HOST_SINGLE_LABEL and
 * HOST_LOCALHOST only.
 */
enum host_status host_parse(struct span in, char ret[HOST_SIZE]);

/* host_parse() wrote a name. */
bool host_is_written(enum host_status s);
/* One clause for a person: "the name has an empty label". */
const char *host_status_text(enum host_status s);

/*
 * How many labels name has in front of suffix: 2 for a.b.example.org under
 * example.org; 0 for suffix itself and for what is not below it. Both are
 * canonical. The match is by whole labels: evilexample.org is not below.
 */
size_t host_depth_under(const char *name, const char *suffix);
/* host_depth_under() is not 0. */
bool host_is_under(const char *name, const char *suffix);

#endif
