/*
 * The body of a ClientHello, out of its records. For tls_hello.c only.
 */
#ifndef TAPWARD_WIRE_TLS_EXTENSIONS_H
#define TAPWARD_WIRE_TLS_EXTENSIONS_H

#include "wire/tls_hello.h"

/*
 * message is a whole handshake message with its header. Fills all of ret but
 * raw_len, for TLS_HELLO_OK only. Never TLS_HELLO_MORE.
 */
enum tls_hello_status tls_extensions_parse(struct span message,
    struct tls_hello *ret);

#endif
