/*
 * The forward proxy of the host's configuration: which names go by it, and how
 * we prove to it who we are. Its password is here and, for questions to
 * issuers, in the broker; no gate is told that there is a proxy.
 */
#ifndef TAPWARD_PROXY_DIALLER_PROXY_H
#define TAPWARD_PROXY_DIALLER_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/message_dialler.h"
#include "base/secret.h"
#include "proxy/dialler_tunnel.h"
#include "wire/address.h"

/*
 * There is a proxy, and neither `no-proxy` nor the hosts of an [address]
 * section name host (canonical): what is private stays direct, since the proxy
 * would have to resolve it and we could not classify what came out.
 */
bool dialler_goes_by_proxy(const struct message_dialler_config *c,
    const char *host);
/*
 * The proxy's address when the configuration holds one; false: it is a name,
 * which is to be looked up.
 */
bool dialler_proxy_literal(const struct message_proxy *p, struct address *ret);

/*
 * What fd (borrowed) holds, if it can be sent: 0, or -errno and said in the
 * log.
 */
int dialler_proxy_password(int fd, struct secret *ret);
/*
 * Value of Proxy-Authorization (RFC 7617), of what fd (borrowed) holds. With a
 * proxy that wants no login ret is made empty, and fd may be -1. 0 or -errno;
 * ret is empty then, too, and nothing may be sent to the proxy.
 */
int dialler_proxy_login(const struct message_proxy *p, int fd,
    struct secret *ret);

#define DIALLER_PROXY_WORD_SIZE 48
/* What the audit log says of a tunnel that did not open: "proxy-407". */
void dialler_proxy_word(enum dialler_tunnel_end end, unsigned int status,
    char ret[DIALLER_PROXY_WORD_SIZE]);

#endif
