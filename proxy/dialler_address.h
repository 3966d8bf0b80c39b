/*
 * Which addresses may be dialled for a name: global ones, and what an
 * [address] section of the host's configuration excepts (DESIGN 10).
 */
#ifndef TAPWARD_PROXY_DIALLER_ADDRESS_H
#define TAPWARD_PROXY_DIALLER_ADDRESS_H

#include <stdbool.h>

#include "base/message_dialler.h"
#include "wire/address.h"

/* What the host says; both borrowed, neither NULL. */
struct dialler_host {
	const struct message_dialler_config *config;
	const struct message_dialler_addresses *addresses;
};

struct address address_of_message(const struct message_address *m);

/*
 * NULL when a may be dialled for host (canonical), else one word that says
 * what it is: "metadata", "resolver", "proxy", "guest-range", "own", or the
 * name of its class.
 *
 * Never dialled, whatever a section says: metadata services, resolvers, the
 * forward proxy (which would take a guest anywhere), the
 * ranges that guests see, addresses that carry another one inside, multicast
 * and the like. Loopback and the host's own addresses are excepted only by a
 * range of a single address: 127.0.0.0/8 in a file is a slip, not a wish.
 */
const char *dialler_address_refusal(const struct dialler_host *h,
    const char *host, const struct address *a);

/* The hosts of some [address] section have host (canonical) among them. */
bool dialler_address_names(const struct message_dialler_config *c,
    const char *host);

/* The pattern "*.x" is one label below x, "**.x" any number, else exact. */
bool dialler_pattern_matches(const char *pattern, const char *host);

/* The host has an IPv6 address that reaches beyond it. */
bool dialler_host_has_ipv6(const struct message_dialler_addresses *m);

#endif
