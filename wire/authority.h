/*
 * host[:port], as in a Host field, an absolute-form target and CONNECT
 * (RFC 9110 4.2, 7.2; RFC 3986 3.2; RFC 9112 3.2.3). Userinfo is refused
 * (RFC 9110 4.2.4).
 */
#ifndef TAPWARD_WIRE_AUTHORITY_H
#define TAPWARD_WIRE_AUTHORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/host.h"

enum authority_status {
	AUTHORITY_OK,
	AUTHORITY_ADDRESS, /* well-formed, but an IPv4 or [IPv6] literal */
	AUTHORITY_EMPTY,
	AUTHORITY_USERINFO, /* there is an '@' */
	AUTHORITY_BRACKET,  /* brackets that do not hold an IPv6 literal */
	AUTHORITY_HOST,     /* host_parse() refuses the host */
	AUTHORITY_PORT,     /* empty, 0, over 65535, leading zero, sign, text */
	AUTHORITY_NO_PORT,  /* authority_parse_connect() only */
	AUTHORITY_STATUS_COUNT
};

struct authority {
	char host[HOST_SIZE];         /* canonical */
	enum host_status host_status; /* one that host_is_written() */
	bool has_port;
	uint16_t port; /* 0 without has_port */
};

/* ret is written for AUTHORITY_OK only. */
enum authority_status authority_parse(struct span in, struct authority *ret);
/* As authority_parse(); the port must be there (RFC 9110 9.3.6). */
enum authority_status authority_parse_connect(struct span in,
    struct authority *ret);
/*
 * in is this IPv4 literal, to the byte, perhaps with a port: ret then names
 * it (HOST_ADDRESS). For a service that is known by its address; false else.
 */
bool authority_is_address(struct span in, const char *address,
    struct authority *ret);
const char *authority_status_text(enum authority_status s);

/* 1..65535 in decimal without sign or leading zero. */
bool authority_parse_port(struct span in, uint16_t *ret_port);

/*
 * Both name the same host and port; a missing port counts as default_port
 * (443 for https).
 */
bool authority_same(const struct authority *a, const struct authority *b,
    uint16_t default_port);

#endif
